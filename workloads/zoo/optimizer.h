// The optimizers: SGD with momentum, Adam and AdamW, with an optional loss scale that adapts itself.
#pragma once

#include "workloads/zoo/tape.h"

namespace heddle::zoo {

/// The optimizer and its parameters.
struct OptimizerOptions {
    enum class Kind : std::uint8_t { sgd, adamw, adam } kind = Kind::sgd;
    double learning_rate = 0.1;
    double momentum = 0;                        ///< SGD; 0: no state
    double beta1 = 0.9, beta2 = 0.999;          ///< Adam and AdamW
    double epsilon = 1e-8, weight_decay = 0.1;  ///< the same; decay of parameters with two axes or more
    double loss_scale = 1;                      ///< gradients were multiplied by it
    /// The scale is kept on the device, begins at 65,536 and halves when a gradient is not finite, which
    /// leaves the step out; after `growth_interval` steps without, it doubles (Micikevicius et al., 2018).
    bool dynamic_loss_scale = false;
    double growth_interval = 2000;
    /// Gradients are multiplied by min(1, clip_norm / (norm + 1e-6)), `norm` being that of all of them, as
    /// PyTorch's clip_grad_norm_ does. 0: they are not.
    double clip_norm = 0;
    /// Updates, norms and clipping work on lists: one kernel handles many tensors, as in PyTorch's fused and
    /// foreach optimizers.
    bool lists = false;
};

/// Throws heddle::Error naming "<model> option <key>" when a number makes no sense.
void check(const OptimizerOptions& options, const std::string& model);

/// Records updates in place of f32 parameters.
class Optimizer {
  public:
    Optimizer(Tape& tape, const OptimizerOptions& options) : tape_(tape), options_(options) {}

    /// Checks gradients before the first update, with dynamic_loss_scale: records one op for each gradient
    /// that finds elements which are not finite, and one that combines their results. `scale` is the number
    /// by which the loss was multiplied.
    void look_for_infinities(const std::vector<TensorId>& gradients, TensorId scale);
    /// Adapts the loss scale after the last update, with dynamic_loss_scale.
    void adapt_scale();
    /// Returns the clipped gradients, with clip_norm. It must be called after look_for_infinities() and
    /// before the first update.
    std::vector<TensorId> clip(const std::vector<TensorId>& gradients);
    /// Whether the parameter belongs to the first of two lists, which makes the lists longest: first the
    /// parameters that decay, then the others.
    bool in_first_list(TensorId parameter) const {
        return !options_.lists || tape_.tensor(parameter).shape.size() >= 2;
    }

    /// Call in Phase::optimizer. SGD: p -= rate (momentum v + g). AdamW (Loshchilov and Hutter, Decoupled
    /// Weight Decay Regularization, 2019): m and v are running means of g and g^2, divided by 1 - beta^t to
    /// correct their bias; p -= rate (m / (sqrt(v) + epsilon) + decay p). Adam (Kingma and Ba, 2015) takes
    /// g + decay p for the gradient instead.
    void update(TensorId parameter, const Gradient& gradient);

  private:
    void sgd(TensorId parameter, TensorId gradient);
    void adamw(TensorId parameter, TensorId gradient);
    TensorId state(const std::string& name, Shape shape);
    void listed(std::int64_t list) {
        if (options_.lists) tape_.put_in_list(list);
    }
    void count_step();

    /// Records "target = formula" for each target, or the target as it was when a gradient was not finite.
    /// Formulas read x0 ..., s0 ... and, as `g`, the unscaled gradient, which is operand `gradient`.
    void change(const std::string& name, const std::vector<std::string>& formulas,
                std::vector<TensorId> operands, std::size_t gradient, const std::vector<TensorId>& targets,
                std::vector<double> scalars);

    Tape& tape_;
    OptimizerOptions options_;
    std::optional<TensorId> scale_, found_;
    /// 1 - beta1^t and 1 - beta2^t: kept on the device, as every step is the same trace.
    std::optional<TensorId> correction1_, correction2_;
};

}  // namespace heddle::zoo
