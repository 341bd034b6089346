// How gradients change parameters: SGD with momentum, and AdamW.
#pragma once

#include "workloads/zoo/tape.h"

namespace heddle::zoo {

struct OptimizerOptions {
    enum class Kind : std::uint8_t { sgd, adamw } kind = Kind::sgd;
    double learning_rate = 0.1;
    double momentum = 0;                        ///< SGD; 0: no state
    double beta1 = 0.9, beta2 = 0.999;          ///< AdamW
    double epsilon = 1e-8, weight_decay = 0.1;  ///< AdamW; decay of parameters with two axes or more
    double loss_scale = 1;                      ///< gradients were multiplied by it
};

/// Throws heddle::Error naming "<model> option <key>" when a number makes no sense.
void check(const OptimizerOptions& options, const std::string& model);

/// Records updates in place of f32 parameters.
class Optimizer {
  public:
    Optimizer(Tape& tape, const OptimizerOptions& options) : tape_(tape), options_(options) {}

    /// Call in Phase::optimizer. SGD: p -= rate (momentum v + g). AdamW (Loshchilov and Hutter, Decoupled
    /// Weight Decay Regularization, 2019): m and v are running means of g and g^2, divided by 1 - beta^t to
    /// correct their bias; p -= rate (m / (sqrt(v) + epsilon) + decay p).
    void update(TensorId parameter, const Gradient& gradient);

  private:
    void sgd(TensorId parameter, TensorId gradient);
    void adamw(TensorId parameter, TensorId gradient);
    TensorId state(const std::string& name, Shape shape);
    void count_step();

    Tape& tape_;
    OptimizerOptions options_;
    /// 1 - beta1^t and 1 - beta2^t: kept on the device, as every step is the same trace.
    std::optional<TensorId> correction1_, correction2_;
};

}  // namespace heddle::zoo
