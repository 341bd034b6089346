#include "workloads/zoo/step.h"

#include "isa/common/error.h"
#include "workloads/zoo/network.h"

namespace heddle::zoo {
namespace {

/// Sums of the gradients of several micro-batches.
class Sums {
  public:
    Sums(Tape& tape, bool needed) : tape_(tape), needed_(needed) {}

    void add(TensorId parameter, const Gradient& gradient) {
        const auto [place, fresh] = sums_.try_emplace(parameter, gradient);
        const std::string name = "sum of d " + tape_.tensor(parameter).name;
        if (fresh) {
            if (needed_) place->second = {first(name, gradient, parameter), 0};
            return;
        }
        const TensorId more = tape_.materialise(gradient, name, parameter);
        const TensorId sum = *place->second.tensor;
        place->second.tensor =
            tape_.update_in_place("add to " + name, "y0 = x0 + x1", {sum, more}, {sum}, {})[0];
    }
    const Gradient& at(TensorId parameter) const { return sums_.at(parameter); }

  private:
    /// The first micro-batch's gradient becomes the sum where it is f32 and nobody else's.
    TensorId first(const std::string& name, const Gradient& gradient, TensorId parameter) {
        const TensorId id = tape_.materialise(gradient, name, parameter);
        const bool own = taken_.insert(tape_.storage_number(id)).second;
        return own && tape_.tensor(id).type == ElementType::f32 ? id : tape_.cast(name, id, ElementType::f32);
    }

    Tape& tape_;
    bool needed_;
    std::map<TensorId, Gradient> sums_;
    std::set<std::uint64_t> taken_;
};

}  // namespace

void check(const StepOptions& options, const std::string& model) {
    const auto bad = [&](const std::string& key, const std::string& problem) {
        throw Error(problem, {.key = model + " option " + key});
    };
    if (options.type != ElementType::f32 && options.type != ElementType::f16 &&
        options.type != ElementType::bf16 && options.type != ElementType::tf32) {
        bad("type", "must be f32, tf32, f16 or bf16");
    }
    if (options.fp8 && bytes_of(options.type) != 2) bad("fp8", "goes with type f16 or bf16");
    if (!options.fp8 && options.fp8_recipe != Fp8Recipe::delayed) bad("fp8_recipe", "goes with fp8=1");
    if (options.micro_batches < 1) bad("micro_batches", "must be at least 1");
    if (!(options.dropout >= 0 && options.dropout < 1)) bad("dropout", "must be from 0 to below 1");
    if (options.attention == AttentionForm::fused && bytes_of(options.type) != 2 && options.dropout > 0)
        bad("attention", "fused attention with dropout needs f16 or bf16");
    if (options.tensor > 1 && options.optimizer.clip_norm > 0)
        bad("clip_norm", "is the norm of one device's gradients: not with layers that several devices share");
    if (options.tensor < 1) bad("tensor", "must be at least 1");
    if (options.expert < 1) bad("expert", "must be at least 1");
    if (options.context < 1) bad("context", "must be at least 1");
    if (!(options.expert_skew >= 0 && options.expert_skew <= 8))
        bad("expert_skew", "must be from 0 (all alike) to 8");
    check(options.optimizer, model);
}

trace::Trace record_step(const std::string& name, const StepOptions& options,
                         const std::function<TensorId(Network&)>& forward) {
    check(options, name);
    Network network(name, options);
    Tape& tape = network.tape();
    const auto parts = static_cast<double>(options.micro_batches);
    const double static_scale = options.optimizer.dynamic_loss_scale ? 1 : options.optimizer.loss_scale;
    Sums sums(tape, options.micro_batches > 1);
    std::optional<TensorId> total;
    for (std::int64_t i = 0; i < options.micro_batches; ++i) {
        network.micro_batch_ = i;
        network.more_losses_.clear();
        const auto first = static_cast<trace::OpId>(tape.trace().ops.size());
        tape.set_phase(Phase::forward);
        tape.set_part(0);
        const TensorId loss = forward(network);
        tape.end_segment();
        if (options.micro_batches > 1) {
            const std::string so_far = i + 1 == options.micro_batches ? "loss" : "loss so far";
            total = total ? tape.elementwise(so_far, "y0 = x0 + s0 * x1", {*total, loss}, {}, {1 / parts})
                          : tape.elementwise(so_far, "y0 = s0 * x0", {loss}, {}, {1 / parts});
        }
        std::vector<TensorId> wanted;
        for (const TensorId id : network.masters_) wanted.push_back(network.read_.at(tape.tensor(id).name));
        const auto gradients = tape.backward(loss, wanted, BackwardOptions{static_scale / parts, first});
        for (std::size_t k = 0; k < wanted.size(); ++k)
            sums.add(network.masters_[k], gradients.at(wanted[k]));
        if (i == 1) tape.expect_again(first, options.micro_batches - 2);
    }
    tape.set_phase(Phase::optimizer);
    Optimizer optimizer(tape, options.optimizer);
    std::map<TensorId, Gradient> final_gradients;
    for (const TensorId id : network.masters_) final_gradients.emplace(id, sums.at(id));
    if (options.optimizer.dynamic_loss_scale || options.optimizer.clip_norm > 0) {
        std::vector<TensorId> gradients;
        for (const TensorId id : network.masters_)
            gradients.push_back(tape.materialise(sums.at(id), "d " + tape.tensor(id).name, id));
        if (options.optimizer.dynamic_loss_scale)
            optimizer.look_for_infinities(gradients, network.loss_scale());
        if (options.optimizer.clip_norm > 0) gradients = optimizer.clip(gradients);
        for (std::size_t k = 0; k < gradients.size() && options.optimizer.clip_norm > 0; ++k)
            final_gradients[network.masters_[k]] = {gradients[k], 0};
    }
    for (const bool first : {true, false}) {
        for (const TensorId id : network.masters_) {
            if (optimizer.in_first_list(id) != first) continue;
            tape.set_part(network.part_of_master_.at(id));
            optimizer.update(id, final_gradients.at(id));
        }
    }
    if (options.optimizer.dynamic_loss_scale) optimizer.adapt_scale();
    if (options.fp8 && options.fp8_recipe == Fp8Recipe::delayed) network.adapt_scales();
    trace::Trace trace = tape.finish();
    if (options.type == ElementType::tf32) {
        for (Op& op : trace.ops) {
            if (op.kind == OpKind::matmul) op.set(keys::any.compute_type, "tf32");
        }
    }
    return trace;
}

}  // namespace heddle::zoo
