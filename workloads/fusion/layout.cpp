#include "workloads/fusion/layout.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "workloads/fusion/layout_assignment.h"
#include "workloads/trace/turns.h"

namespace heddle::fusion {
namespace {

using trace::Op;
using trace::OpId;
using trace::OpKind;
using trace::Tensor;
using trace::TensorId;
using trace::TensorRole;
using trace::Trace;

/// Where an axis of [N, C, space...] is in [N, space..., C].
std::int64_t moved(std::int64_t axis, std::size_t axes) {
    if (axis == 0) return 0;
    return axis == 1 ? static_cast<std::int64_t>(axes) - 1 : axis - 1;
}

/// The step with the images turned that an assignment says.
class LayoutRewriter {
  public:
    LayoutRewriter(const Trace& trace, const LayoutAssignment& layout) : trace_(trace), layout_(layout) {
        for (const Tensor& tensor : trace_.tensors) last_storage_ = std::max(last_storage_, tensor.storage);
    }

    Trace rewrite(LayoutCount& count) {
        result_.name = trace_.name;
        result_.tensors = trace_.tensors;
        for (TensorId id = 0; id < trace_.tensors.size(); ++id) {
            if (!layout_.is_assigned(id)) continue;
            result_.tensors[id].shape = channels_last(trace_.tensors[id].shape);
            ++count.images;
        }
        for (OpId i = 0; i < trace_.ops.size(); ++i) emit(i);
        count.transposes = transposes_;
        result_.check();
        return std::move(result_);
    }

  private:
    TensorId add(const std::string& name, TensorId like, Shape shape, std::uint64_t storage = 0) {
        Tensor tensor = result_.tensors[like];
        tensor.name = name;
        tensor.shape = std::move(shape);
        tensor.storage = storage;
        if (tensor.role != TensorRole::gradient) tensor.role = TensorRole::activation;
        return result_.add(std::move(tensor));
    }
    /// The same memory with another shape.
    TensorId view(TensorId id, const Shape& shape) {
        const auto [known, fresh] = views_.try_emplace(std::pair(id, shape), 0);
        if (!fresh) return known->second;
        Tensor& tensor = result_.tensors[id];
        if (tensor.storage == 0) tensor.storage = ++last_storage_;
        return known->second = add(tensor.name, id, shape, tensor.storage);
    }
    /// The last op that wrote the tensor.
    const Op* maker_of(TensorId id) const {
        const auto made = std::find_if(result_.ops.rbegin(), result_.ops.rend(), [&](const Op& op) {
            return std::find(op.outputs.begin(), op.outputs.end(), id) != op.outputs.end();
        });
        return made == result_.ops.rend() ? nullptr : &*made;
    }
    void transpose(const Op& beside, TensorId from, TensorId to, const Shape& order) {
        Op copy;
        copy.kind = OpKind::copy;
        copy.name = result_.tensor(from).name + " turned";
        // A gradient that the optimizer reads is turned by the backward pass.
        const Op* const maker = maker_of(from);
        copy.phase = maker != nullptr ? maker->phase : beside.phase;
        copy.stream = beside.stream;
        copy.inputs = {from};
        copy.outputs = {to};
        copy.set(keys::copy.permutation, order);
        copy.attributes.copy(keys::any.turns, beside.attributes);
        copy.dependencies = now(beside.dependencies);
        result_.add(std::move(copy));
        ++transposes_;
    }

    /// The tensor, and whether the backward pass asks. What the forward pass turned is turned again by the
    /// backward pass: kept, the same numbers would be held twice from one to the other.
    using TwinKey = std::pair<TensorId, bool>;
    static TwinKey twin_key(const Op& op, TensorId id) { return {id, op.phase == trace::Phase::backward}; }

    /// The operand in the other order, made now if nobody has yet.
    TensorId turned(const Op& op, TensorId id) {
        const auto [known, fresh] = twins_[layout_.storage(id)].try_emplace(twin_key(op, id), 0);
        if (!fresh) return known->second;
        return known->second = turn(op, id);
    }
    TensorId turn(const Op& op, TensorId id) {
        const std::size_t axes = layout_.shape(id).size();
        const TensorId twin = new_twin(id);
        transpose(op, id, twin, layout_.is_assigned(id) ? to_first(axes) : to_last(axes));
        return twin;
    }
    TensorId new_twin(TensorId id) {
        const std::string& name = trace_.tensor(id).name;
        return layout_.is_assigned(id) ? add(name + ".channels_first", id, layout_.shape(id))
                                       : add(name + ".channels_last", id, channels_last(layout_.shape(id)));
    }
    /// What was kept in the other order is no longer what the storage holds.
    void forget(const Op& op) {
        for (const TensorId id : op.outputs) twins_.erase(layout_.storage(id));
    }

    /// The ops of the new step that do the work of these.
    std::vector<OpId> now(const std::vector<OpId>& ops) const {
        std::set<OpId> all;
        for (const OpId op : ops) all.insert(place_[op].begin(), place_[op].end());
        return {all.begin(), all.end()};
    }

    void emit(OpId number) {
        const Op& op = trace_.ops[number];
        const bool last = layout_.asks(op) || (layout_.touches(op) && layout_.follows(op));
        if (!last && becomes_view(op, number)) return;
        if (!last && turns_itself(op)) return;
        Op changed = op;
        changed.dependencies = now(op.dependencies);
        std::vector<std::pair<TensorId, TensorId>> results;  // (made by the op, wanted)
        for (std::size_t k = 0; k < op.inputs.size(); ++k)
            changed.inputs[k] =
                operand(op, op.inputs[k], last && layout_.is_image_operand(op, false, k), axes_of(op));
        for (std::size_t k = 0; k < op.outputs.size(); ++k) {
            const TensorId id = op.outputs[k];
            const bool image = last && layout_.is_image_operand(op, true, k);
            if (image == layout_.is_assigned(id) ||
                (image && lies_both_ways(padded(layout_.shape(id), axes_of(op))))) {
                changed.outputs[k] = image && !layout_.is_assigned(id)
                                         ? view(id, channels_last(padded(layout_.shape(id), axes_of(op))))
                                         : id;
            } else {
                changed.outputs[k] = new_twin(id);
                results.emplace_back(changed.outputs[k], id);
            }
        }
        if (last) adapt(op, changed);
        forget(op);
        place_.push_back({result_.add(std::move(changed))});
        for (const auto& [made, wanted] : results) {
            const std::size_t axes = layout_.shape(wanted).size();
            transpose(op, made, wanted, layout_.is_assigned(wanted) ? to_last(axes) : to_first(axes));
            twins_[layout_.storage(wanted)][twin_key(op, wanted)] = made;
            place_.back().push_back(static_cast<OpId>(result_.ops.size() - 1));
        }
    }

    std::size_t axes_of(const Op& op) const {
        return op.kind == OpKind::reduce || op.outputs.empty() ? layout_.shape(op.inputs.at(0)).size()
                                                               : layout_.shape(op.outputs[0]).size();
    }

    TensorId operand(const Op& op, TensorId id, bool image, std::size_t axes) {
        if (image && !layout_.is_assigned(id)) {
            const Shape all =
                padded(layout_.shape(id), is_convolution(op.kind) ? layout_.shape(id).size() : axes);
            if (lies_both_ways(all)) return view(id, channels_last(all));
        }
        return image == layout_.is_assigned(id) ? id : turned(op, id);
    }

    /// What else changes in an op whose images have channels last now.
    void adapt(const Op& op, Op& changed) {
        if (slides(op)) changed.set(keys::convolution.layout, "nhwc");
        const auto axes = axes_of(op);
        if (op.kind == OpKind::concat) changed.set(keys::concat.axis, moved(op.get(keys::concat.axis), axes));
        if (op.kind == OpKind::reduce && op.has(keys::reduce.axes)) {
            Shape moved_axes;
            for (const std::int64_t axis : op.get(keys::reduce.axes)) moved_axes.push_back(moved(axis, axes));
            std::sort(moved_axes.begin(), moved_axes.end());
            changed.set(keys::reduce.axes, moved_axes);
        }
        if (!is_batch_norm(op.kind)) return;
        // A row for each pixel.
        const auto rows = [&](TensorId& id) {
            const Shape whole = result_.tensor(id).shape;
            id = view(id, {trace::Tensor{"", {}, whole}.elements() / whole.back(), whole.back()});
        };
        for (std::size_t k = 0; k < changed.inputs.size(); ++k)
            if (layout_.is_image_operand(op, false, k)) rows(changed.inputs[k]);
        rows(changed.outputs[0]);
    }

    /// A transpose of the program from an image that is laid out so already, or to one: nothing is left to do
    /// where both can be one memory.
    bool becomes_view(const Op& op, OpId number) {
        if (op.kind != OpKind::copy || op.attributes.size() != 1) return false;
        const TensorId from = op.inputs.at(0), to = op.outputs.at(0);
        if (!is_image(layout_.shape(from)) || layout_.is_assigned(from) == layout_.is_assigned(to))
            return false;
        const Shape order = op.get(keys::copy.permutation);
        if (order != (layout_.is_assigned(from) ? to_last(layout_.shape(from).size())
                                                : to_first(layout_.shape(from).size())))
            return false;
        forget(op);
        const OpId* const writes_to = layout_.last_writer(to);
        const OpId* const writes_from = layout_.last_writer(from);
        const bool alone = trace_.tensor(to).storage == 0 &&
                           trace_.tensor(from).type == trace_.tensor(to).type && writes_to != nullptr &&
                           *writes_to == number && (writes_from == nullptr || *writes_from < number);
        if (alone) {
            Tensor& source = result_.tensors[from];
            if (source.storage == 0) source.storage = ++last_storage_;
            result_.tensors[to].storage = source.storage;
            place_.push_back(now(op.dependencies));
            return true;
        }
        Op plain = op;
        plain.attributes.clear();
        plain.dependencies = now(op.dependencies);
        place_.push_back({result_.add(std::move(plain))});
        return true;
    }

    /// A cast between an image that is laid out anew and one that is not turns it on the way.
    bool turns_itself(const Op& op) {
        if (!is_plain_copy(trace_, op)) return false;
        const TensorId from = op.inputs[0], to = op.outputs[0];
        if (layout_.is_assigned(from) == layout_.is_assigned(to)) return false;
        forget(op);
        transpose(
            op, from, to,
            layout_.is_assigned(to) ? to_last(layout_.shape(to).size()) : to_first(layout_.shape(to).size()));
        result_.ops.back().name = op.name;
        place_.push_back({static_cast<OpId>(result_.ops.size() - 1)});
        return true;
    }

    const Trace& trace_;
    const LayoutAssignment& layout_;
    Trace result_;
    std::uint64_t last_storage_ = 0;
    std::vector<std::vector<OpId>> place_;  ///< by op of the given step: who does its work
    std::map<std::uint64_t, std::map<TwinKey, TensorId>> twins_;  ///< by storage: tensors in the other order
    std::map<std::pair<TensorId, Shape>, TensorId> views_;
    std::size_t transposes_ = 0;
};

}  // namespace

Trace lay_out_images(const Trace& trace, LayoutCount* count) {
    LayoutCount counted;
    LayoutAssignment layout(trace);
    Trace result = layout.assign() ? LayoutRewriter(trace, layout).rewrite(counted) : trace;
    if (count != nullptr) *count = counted;
    return result;
}

}  // namespace heddle::fusion
