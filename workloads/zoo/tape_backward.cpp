// The backward pass: gradients op by op from the last to the first, and what was thrown away computed again.
#include <algorithm>

#include "isa/common/error.h"
#include "workloads/zoo/gradient_context.h"
#include "workloads/zoo/tape.h"

namespace heddle::zoo {

TensorId Tape::materialise(const Gradient& gradient, const std::string& name, TensorId like) {
    if (gradient.tensor) return *gradient.tensor;
    return fill(name, tensor(like).type, tensor(like).shape, gradient.uniform);
}

Gradient Tape::add_gradients(const Gradient& a, const Gradient& b, TensorId of) {
    if (!a.tensor && !b.tensor) return {{}, a.uniform + b.uniform};
    const std::string name = "d " + tensor(of).name + ".sum";
    if (a.tensor && b.tensor) return {elementwise(name, "y0 = x0 + x1", {*a.tensor, *b.tensor}), 0};
    const Gradient& varying = a.tensor ? a : b;
    const double number = a.tensor ? b.uniform : a.uniform;
    return {elementwise(name, "y0 = x0 + s0", {*varying.tensor}, {}, {number}), 0};
}

TensorId Tape::root(TensorId id) const {
    for (auto found = view_of_.find(id); found != view_of_.end(); found = view_of_.find(id))
        id = found->second;
    return id;
}

Gradient Tape::shaped(const Gradient& gradient, TensorId as) {
    if (!gradient.tensor || tensor(*gradient.tensor).shape == tensor(as).shape) return gradient;
    return {view("d " + tensor(as).name, *gradient.tensor, tensor(as).shape), 0};
}

void Tape::differentiate_as_one(Composite composite) {
    composites_[static_cast<trace::OpId>(trace_.ops.size() - 1)] = std::move(composite);
}

void Tape::begin_segment(Recompute recompute) {
    open_segment_ = -1;
    ++part_;
    if (recompute == Recompute::none) return;
    open_segment_ = static_cast<int>(segments_.size());
    segments_.push_back({recompute, {}, false});
}

/// Of a segment that is recomputed selectively: whether the op's results stay.
bool Tape::kept(const Op& op) const {
    for (const TensorId id : op.outputs) {
        const std::uint64_t storage = tensor(id).storage;
        if (storage != 0 && buffers_.contains(owner_.at(storage))) return true;
    }
    if (op.kind == OpKind::matmul) {
        // Products of two activations, as in attention, grow with the square of the sequence.
        return std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
            return !made_in_segment_.contains(root(id)) && !part_of_.contains(root(id));
        });
    }
    const LayerRule* layer = layer_rule(op.kind);
    return layer != nullptr && layer->kept;
}

TensorId Tape::now(TensorId id) {
    if (const auto known = now_.find(id); known != now_.end()) return known->second;
    if (const auto seen = view_of_.find(id); seen != view_of_.end()) {
        const TensorId whole = now(seen->second);
        if (whole == seen->second) return id;
        return now_[id] = view(tensor(id).name, whole, tensor(id).shape);
    }
    if (const auto part = part_of_.find(id); part != part_of_.end()) {
        const TensorId whole = now(part->second);
        if (whole == part->second) return id;
        return now_[id] = part_of(tensor(id).name, whole, tensor(id).shape);
    }
    const auto maker = made_in_segment_.find(id);
    if (maker == made_in_segment_.end()) return id;
    const Segment& segment = segments_[static_cast<std::size_t>(segment_of_.at(maker->second))];
    if (segment.recompute == Recompute::full || remade_.contains(maker->second)) return id;
    if (kept(trace_.ops[maker->second])) return id;
    remake(maker->second);
    const auto made = now_.find(id);
    return made == now_.end() ? id : made->second;
}

/// Records an op of the forward pass again. What it updates in place it does not update twice.
void Tape::remake(trace::OpId index) {
    remade_.insert(index);
    Op op = trace_.ops[index];
    const std::vector<TensorId> before = op.outputs;
    op.name += " again";
    op.outputs.clear();
    op.dependencies.clear();
    if (op.kind == OpKind::batch_norm) op.inputs.resize(std::min<std::size_t>(op.inputs.size(), 3));
    std::vector<Tensor> outputs;
    for (const TensorId id : before) {
        Tensor again = tensor(id);
        again.name += " again";
        if (again.storage != 0 && owner_.at(again.storage) != id) {
            const TensorId owner = owner_.at(again.storage);
            if (!buffers_.contains(owner) || !made_in_segment_.contains(owner)) break;
            auto place = now_.find(owner);
            if (place == now_.end()) {
                const Tensor whole = tensor(owner);
                place = now_.emplace(owner, buffer(whole.name + " again", whole.type, whole.shape)).first;
            }
            again.storage = storage_number(place->second);
        } else {
            again.storage = 0;
        }
        outputs.push_back(std::move(again));
    }
    const std::vector<TensorId> made = record(std::move(op), std::move(outputs));
    for (std::size_t i = 0; i < made.size(); ++i) {
        trace_.tensors[made[i]].role = tensor(before[i]).role;
        now_[before[i]] = made[i];
    }
}

void Tape::remake_segment_of(trace::OpId op) {
    const auto place = segment_of_.find(op);
    if (place == segment_of_.end()) return;
    Segment& segment = segments_[static_cast<std::size_t>(place->second)];
    if (segment.remade || segment.recompute != Recompute::full) return;
    segment.remade = true;
    const std::vector<trace::OpId> ops = segment.ops;
    for (const trace::OpId id : ops) remake(id);
}

/// What depends on a wanted tensor: only that needs a gradient. Views stand for what they look at.
std::set<TensorId> Tape::reached_from(const std::vector<TensorId>& wanted, trace::OpId first) const {
    std::set<TensorId> reached;
    for (const TensorId id : wanted) reached.insert(root(id));
    const auto any = [&](const std::vector<TensorId>& ids) {
        return std::any_of(ids.begin(), ids.end(), [&](TensorId id) { return reached.contains(root(id)); });
    };
    for (trace::OpId i = first; i < trace_.ops.size(); ++i) {
        const Op& op = trace_.ops[i];
        if (any(op.inputs)) {
            for (const TensorId id : op.outputs) reached.insert(root(id));
        }
        const auto composite = composites_.find(i);
        if (composite != composites_.end() && any(composite->second.inputs))
            reached.insert(root(composite->second.output));
    }
    return reached;
}

std::map<TensorId, Gradient> Tape::backward(TensorId loss, const std::vector<TensorId>& wanted,
                                            const BackwardOptions& options) {
    open_segment_ = -1;
    set_phase(Phase::backward);
    const std::set<TensorId> reached = reached_from(wanted, options.first);
    const std::size_t forward_ops = trace_.ops.size();
    // Gradients of roots. A view has the same elements in the same order, so its gradient is only seen
    // differently.
    std::map<TensorId, Gradient> gradients;
    gradients[root(loss)] = {{}, options.scale};
    const auto flow = [&](const std::vector<TensorId>& inputs, const std::vector<bool>& needed,
                          const std::vector<std::optional<Gradient>>& results) {
        for (std::size_t k = 0; k < inputs.size(); ++k) {
            if (!needed[k] || !results.at(k)) continue;
            const TensorId target = root(inputs[k]);
            const Gradient gradient = shaped(*results[k], target);
            const auto [place, fresh] = gradients.try_emplace(target, gradient);
            if (!fresh) place->second = add_gradients(place->second, gradient, target);
        }
    };
    for (std::size_t i = forward_ops; i-- > options.first;) {
        const auto index = static_cast<trace::OpId>(i);
        const Op op = trace_.ops[i];
        const auto composite = composites_.find(index);
        const bool as_one = composite != composites_.end();
        const std::vector<TensorId>& inputs = as_one ? composite->second.inputs : op.inputs;
        const std::vector<TensorId> outputs =
            as_one ? std::vector<TensorId>{composite->second.output} : op.outputs;
        std::vector<std::optional<Gradient>> upstream;
        bool flows = false;
        for (const TensorId id : outputs) {
            const auto found = gradients.find(root(id));
            upstream.push_back(found == gradients.end() ? std::nullopt
                                                        : std::optional<Gradient>(shaped(found->second, id)));
            flows = flows || upstream.back().has_value();
        }
        std::vector<bool> needed;
        needed.reserve(inputs.size());
        for (const TensorId id : inputs) needed.push_back(reached.contains(root(id)));
        if (!flows || std::find(needed.begin(), needed.end(), true) == needed.end()) continue;
        part_ = part_of_op_[i];
        remake_segment_of(index);
        if (as_one) {
            const TensorId dy = materialise(*upstream[0], "d " + tensor(outputs[0]).name, outputs[0]);
            flow(inputs, needed, composite->second.derive(*this, dy, needed));
        } else {
            flow(inputs, needed, gradient_rule(*this, op, upstream, needed));
        }
    }
    std::map<TensorId, Gradient> result;
    for (const TensorId id : wanted) {
        const auto found = gradients.find(root(id));
        if (found == gradients.end())
            throw Error("the loss does not depend on it", {.key = "tensor " + tensor(id).name});
        result[id] = shaped(found->second, id);
    }
    return result;
}

}  // namespace heddle::zoo
