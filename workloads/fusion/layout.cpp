#include "workloads/fusion/layout.h"

#include <algorithm>
#include <map>
#include <set>

#include "workloads/expression/expression.h"

namespace heddle::fusion {
namespace {

using trace::Op;
using trace::OpId;
using trace::OpKind;
using trace::Tensor;
using trace::TensorId;
using trace::TensorRole;
using trace::Trace;
using Shape = std::vector<std::int64_t>;

/// [N, C, space...] as [N, space..., C].
Shape channels_last(Shape shape) {
    std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
    return shape;
}
/// Permutations of a copy: axis i of the result is axis [i] of the operand.
Shape to_last(std::size_t axes) {
    Shape order(axes);
    for (std::size_t i = 0; i < axes; ++i) order[i] = static_cast<std::int64_t>(i);
    return channels_last(order);
}
Shape to_first(std::size_t axes) {
    Shape order{0, static_cast<std::int64_t>(axes) - 1};
    for (std::size_t i = 1; i + 1 < axes; ++i) order.push_back(static_cast<std::int64_t>(i));
    return order;
}
/// Where an axis of [N, C, space...] is in [N, space..., C].
std::int64_t moved(std::int64_t axis, std::size_t axes) {
    if (axis == 0) return 0;
    return axis == 1 ? static_cast<std::int64_t>(axes) - 1 : axis - 1;
}

bool is_image(const Shape& shape) {
    return shape.size() == 3 || shape.size() == 4;
}
/// Lies the same both ways: one channel, or one pixel.
bool lies_both_ways(const Shape& shape) {
    std::int64_t space = 1;
    for (std::size_t i = 2; i < shape.size(); ++i) space *= shape[i];
    return shape[1] == 1 || space == 1;
}
/// Ones in front, up to so many axes.
Shape padded(const Shape& shape, std::size_t axes) {
    Shape result(axes - shape.size(), 1);
    result.insert(result.end(), shape.begin(), shape.end());
    return result;
}

bool is_convolution(OpKind kind) {
    return kind == OpKind::convolution || kind == OpKind::convolution_data_grad ||
           kind == OpKind::convolution_weight_grad;
}
bool slides(const Op& op) {
    return is_convolution(op.kind) || op.kind == OpKind::pooling || op.kind == OpKind::pooling_grad;
}
bool is_batch_norm(OpKind kind) {
    return kind == OpKind::batch_norm || kind == OpKind::batch_norm_grad;
}
bool is_plain_copy(const Trace& trace, const Op& op) {
    return op.kind == OpKind::copy && op.attributes.empty() &&
           trace.tensor(op.inputs.at(0)).shape == trace.tensor(op.outputs.at(0)).shape;
}
bool has_views(const Op& op) {
    return std::any_of(op.attributes.begin(), op.attributes.end(), [](const auto& attribute) {
        return attribute.first.ends_with("_strides") || attribute.first.ends_with("_offset");
    });
}
bool counts_elements(const std::string& text) {
    using expression::Operator;
    const expression::Expression parsed = expression::parse(text);
    return std::any_of(parsed.nodes.begin(), parsed.nodes.end(), [](const expression::Node& node) {
        return node.op == Operator::random || node.op == Operator::philox || node.op == Operator::position;
    });
}

class LayoutAssignment {
  public:
    explicit LayoutAssignment(const Trace& trace) : trace_(trace) {
        for (const Tensor& tensor : trace_.tensors) last_storage_ = std::max(last_storage_, tensor.storage);
    }

    bool assign() {
        find_candidates();
        for (const Op& op : trace_.ops) seed(op);
        for (bool more = !assigned_.empty(); more;) {
            more = false;
            for (const Op& op : trace_.ops) more = propagate(op) || more;
        }
        return !assigned_.empty() ||
               std::any_of(trace_.ops.begin(), trace_.ops.end(), [&](const Op& op) { return asks(op); });
    }

    Trace rewrite(LayoutCount& count) {
        result_.name = trace_.name;
        result_.tensors = trace_.tensors;
        for (TensorId id = 0; id < trace_.tensors.size(); ++id) {
            if (!is_assigned(id)) continue;
            result_.tensors[id].shape = channels_last(trace_.tensors[id].shape);
            ++count.images;
        }
        for (OpId i = 0; i < trace_.ops.size(); ++i) emit(i);
        count.transposes = transposes_;
        result_.check();
        return std::move(result_);
    }

  private:
    std::uint64_t storage(TensorId id) const {
        const std::uint64_t shared = trace_.tensor(id).storage;
        return shared != 0 ? shared : (std::uint64_t{1} << 40) + id;
    }
    const Shape& shape(TensorId id) const { return trace_.tensor(id).shape; }
    bool is_assigned(TensorId id) const { return assigned_.contains(storage(id)); }

    /// Storages that the step alone sees, all of it in one shape and type, in which the order matters.
    void find_candidates() {
        std::map<std::uint64_t, TensorId> first;
        std::set<std::uint64_t> refused, written;
        for (TensorId id = 0; id < trace_.tensors.size(); ++id) {
            const Tensor& tensor = trace_.tensor(id);
            const auto [known, fresh] = first.try_emplace(storage(id), id);
            const Tensor& other = trace_.tensor(known->second);
            if (!is_image(tensor.shape) || lies_both_ways(tensor.shape) || tensor.shape != other.shape ||
                tensor.type != other.type || tensor.elements() == 0 ||
                (tensor.role != TensorRole::activation && tensor.role != TensorRole::gradient))
                refused.insert(storage(id));
        }
        for (const Op& op : trace_.ops) {
            const bool views = has_views(op) || op.kind == OpKind::unknown || op.kind == OpKind::collective ||
                               op.kind == OpKind::host_copy;
            for (const TensorId id : op.inputs)
                if (views || !written.contains(storage(id))) refused.insert(storage(id));
            for (const TensorId id : op.outputs) {
                if (views) refused.insert(storage(id));
                written.insert(storage(id));
            }
        }
        // What is written and never read again is what the step leaves behind.
        for (OpId i = 0; i < trace_.ops.size(); ++i) {
            for (const TensorId id : trace_.ops[i].inputs) last_read_[storage(id)] = i;
            for (const TensorId id : trace_.ops[i].outputs) last_write_[storage(id)] = i;
        }
        for (const auto& [place, op] : last_write_) {
            const auto read = last_read_.find(place);
            if (read == last_read_.end() || read->second <= op) refused.insert(place);
        }
        for (const std::uint64_t place : written)
            if (!refused.contains(place)) candidates_.insert(place);
    }

    // ---- Who asks, who follows ----

    /// A convolution or pooling whose channels come first, and matter.
    bool asks(const Op& op) const {
        if (!slides(op) || op.text("layout", "nchw") != "nchw" || has_views(op)) return false;
        bool matters = false;
        for (const std::vector<TensorId>* const list : {&op.inputs, &op.outputs}) {
            for (std::size_t k = 0; k < list->size(); ++k) {
                if (!is_image_operand(op, list == &op.outputs, k)) continue;
                if (!is_image(shape((*list)[k]))) return false;
                matters = matters || !lies_both_ways(shape((*list)[k]));
            }
        }
        return matters;
    }

    /// Of an op that follows a layout: operand `k` is [N, C, space...]; others stay as they are.
    bool is_image_operand(const Op& op, bool output, std::size_t k) const {
        if (op.kind == OpKind::convolution) return output ? k == 0 : k < 2;
        if (is_convolution(op.kind)) return output ? k == 0 : true;
        if (op.kind == OpKind::batch_norm) return k == 0;
        if (op.kind == OpKind::batch_norm_grad) return output ? k == 0 : k < 2;
        if (op.kind == OpKind::reduce) return !output;
        return true;
    }

    template <class Visit>
    void for_each_image(const Op& op, Visit visit) const {
        for (std::size_t k = 0; k < op.inputs.size(); ++k)
            if (is_image_operand(op, false, k)) visit(op.inputs[k]);
        for (std::size_t k = 0; k < op.outputs.size(); ++k)
            if (is_image_operand(op, true, k)) visit(op.outputs[k]);
    }

    void assign(const Op& op) {
        for_each_image(op, [&](TensorId id) {
            if (candidates_.contains(storage(id))) assigned_.insert(storage(id));
        });
    }

    void seed(const Op& op) {
        if (asks(op)) assign(op);
        // A program's own transposes between its images and those that a convolution reads or writes.
        if (op.kind != OpKind::copy || op.attributes.size() != 1 || !is_image(shape(op.inputs.at(0)))) return;
        const Shape order = op.integers("permutation");
        const std::size_t axes = shape(op.inputs[0]).size();
        if (order == to_last(axes) && beside_window(op.outputs[0], true)) assign_one(op.inputs[0]);
        if (order == to_first(axes) && beside_window(op.inputs[0], false)) assign_one(op.outputs[0]);
    }
    void assign_one(TensorId id) {
        if (candidates_.contains(storage(id))) assigned_.insert(storage(id));
    }
    bool beside_window(TensorId id, bool reads) const {
        return std::any_of(trace_.ops.begin(), trace_.ops.end(), [&](const Op& op) {
            const auto& list = reads ? op.inputs : op.outputs;
            return slides(op) && std::find(list.begin(), list.end(), id) != list.end();
        });
    }

    bool propagate(const Op& op) {
        if (!touches(op) || !follows(op)) return false;
        const std::size_t before = assigned_.size();
        assign(op);
        return assigned_.size() != before;
    }
    bool touches(const Op& op) const {
        bool any = false;
        for_each_image(op, [&](TensorId id) { any = any || is_assigned(id); });
        return any;
    }

    /// Can be carried out with channels last, and would not turn more than it leaves in place.
    bool follows(const Op& op) const {
        if (slides(op)) return asks(op);
        if (has_views(op)) return false;
        switch (op.kind) {
            case OpKind::elementwise:
                return maps(op, shape(op.outputs.at(0))) && !counts_elements(op.text("expression"));
            case OpKind::copy:
                return is_plain_copy(trace_, op) && maps(op, shape(op.inputs[0]));
            case OpKind::fill:
                return op.real("step", 0) == 0 && maps(op, shape(op.outputs.at(0)));
            case OpKind::batch_norm:
            case OpKind::batch_norm_grad:
                return is_image(shape(op.inputs.at(0)));
            case OpKind::concat: {
                bool images = true;
                for_each_image(op, [&](TensorId id) { images = images && is_image(shape(id)); });
                return images && pays(op, shape(op.outputs[0]).size());
            }
            case OpKind::reduce:
                return reduces(op);
            default:
                return false;
        }
    }

    /// All operands have the shape, or repeat along it in a way that lies the same both ways.
    bool maps(const Op& op, const Shape& whole) const {
        if (!is_image(whole)) return false;
        bool fits = true;
        for (const TensorId id : op.outputs) fits = fits && shape(id) == whole;
        for (const TensorId id : op.inputs) {
            if (shape(id).size() > whole.size()) return false;
            const Shape all = padded(shape(id), whole.size());
            fits = fits && (all == whole || lies_both_ways(all));
        }
        return fits && pays(op, whole.size());
    }

    /// Bytes of operands that would have to be turned against those that are, or can be, channels last.
    bool pays(const Op& op, std::size_t axes) const {
        std::uint64_t turned = 0, kept = 0;
        for_each_image(op, [&](TensorId id) {
            if (shape(id).size() != axes || lies_both_ways(shape(id))) return;
            (candidates_.contains(storage(id)) ? kept : turned) += trace_.tensor(id).bytes();
        });
        return kept >= turned;
    }

    /// Axes that are left keep their order.
    bool reduces(const Op& op) const {
        const Shape& whole = shape(op.inputs.at(0));
        if (!is_image(whole) || op.integer("argument", 0) != 0) return false;
        if (op.attributes.contains("expression") && counts_elements(op.text("expression"))) return false;
        for (const TensorId id : op.inputs) {
            if (shape(id).size() > whole.size()) return false;
            const Shape all = padded(shape(id), whole.size());
            if (all != whole && !lies_both_ways(all)) return false;
        }
        if (!pays(op, whole.size())) return false;
        if (!op.attributes.contains("axes")) return true;
        const Shape axes = op.integers("axes");
        const auto left = [&](std::int64_t axis) {
            return std::find(axes.begin(), axes.end(), axis) == axes.end();
        };
        for (std::int64_t axis = 2; axis < static_cast<std::int64_t>(whole.size()); ++axis)
            if (left(1) && left(axis)) return false;
        return true;
    }

    // ---- The new step ----

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
        copy.attributes["permutation"] = order;
        copy.dependencies = now(beside.dependencies);
        result_.add(std::move(copy));
        ++transposes_;
    }

    /// The operand in the other order, made now if nobody has yet.
    TensorId turned(const Op& op, TensorId id) {
        const auto [known, fresh] = twins_[storage(id)].try_emplace(id, 0);
        if (!fresh) return known->second;
        return known->second = turn(op, id);
    }
    TensorId turn(const Op& op, TensorId id) {
        const std::size_t axes = shape(id).size();
        const TensorId twin = new_twin(id);
        transpose(op, id, twin, is_assigned(id) ? to_first(axes) : to_last(axes));
        return twin;
    }
    TensorId new_twin(TensorId id) {
        const std::string& name = trace_.tensor(id).name;
        return is_assigned(id) ? add(name + ".channels_first", id, shape(id))
                               : add(name + ".channels_last", id, channels_last(shape(id)));
    }
    /// What was kept in the other order is no longer what the storage holds.
    void forget(const Op& op) {
        for (const TensorId id : op.outputs) twins_.erase(storage(id));
    }

    /// The ops of the new step that do the work of these.
    std::vector<OpId> now(const std::vector<OpId>& ops) const {
        std::set<OpId> all;
        for (const OpId op : ops) all.insert(place_[op].begin(), place_[op].end());
        return {all.begin(), all.end()};
    }

    void emit(OpId number) {
        const Op& op = trace_.ops[number];
        const bool last = asks(op) || (touches(op) && follows(op));
        if (!last && becomes_view(op, number)) return;
        if (!last && turns_itself(op)) return;
        Op changed = op;
        changed.dependencies = now(op.dependencies);
        std::vector<std::pair<TensorId, TensorId>> results;  // (made by the op, wanted)
        for (std::size_t k = 0; k < op.inputs.size(); ++k)
            changed.inputs[k] =
                operand(op, op.inputs[k], last && is_image_operand(op, false, k), axes_of(op));
        for (std::size_t k = 0; k < op.outputs.size(); ++k) {
            const TensorId id = op.outputs[k];
            const bool image = last && is_image_operand(op, true, k);
            if (image == is_assigned(id) || (image && lies_both_ways(padded(shape(id), axes_of(op))))) {
                changed.outputs[k] =
                    image && !is_assigned(id) ? view(id, channels_last(padded(shape(id), axes_of(op)))) : id;
            } else {
                changed.outputs[k] = new_twin(id);
                results.emplace_back(changed.outputs[k], id);
            }
        }
        if (last) adapt(op, changed);
        forget(op);
        place_.push_back({result_.add(std::move(changed))});
        for (const auto& [made, wanted] : results) {
            const std::size_t axes = shape(wanted).size();
            transpose(op, made, wanted, is_assigned(wanted) ? to_last(axes) : to_first(axes));
            twins_[storage(wanted)][wanted] = made;
            place_.back().push_back(static_cast<OpId>(result_.ops.size() - 1));
        }
    }

    std::size_t axes_of(const Op& op) const {
        return op.kind == OpKind::reduce || op.outputs.empty() ? shape(op.inputs.at(0)).size()
                                                               : shape(op.outputs[0]).size();
    }

    TensorId operand(const Op& op, TensorId id, bool image, std::size_t axes) {
        if (image && !is_assigned(id)) {
            const Shape all = padded(shape(id), is_convolution(op.kind) ? shape(id).size() : axes);
            if (lies_both_ways(all)) return view(id, channels_last(all));
        }
        return image == is_assigned(id) ? id : turned(op, id);
    }

    /// What else changes in an op whose images have channels last now.
    void adapt(const Op& op, Op& changed) {
        if (slides(op)) changed.attributes["layout"] = std::string("nhwc");
        const auto axes = axes_of(op);
        if (op.kind == OpKind::concat) changed.attributes["axis"] = moved(op.integer("axis", 0), axes);
        if (op.kind == OpKind::reduce && op.attributes.contains("axes")) {
            Shape moved_axes;
            for (const std::int64_t axis : op.integers("axes")) moved_axes.push_back(moved(axis, axes));
            std::sort(moved_axes.begin(), moved_axes.end());
            changed.attributes["axes"] = moved_axes;
        }
        if (!is_batch_norm(op.kind)) return;
        // A row for each pixel.
        const auto rows = [&](TensorId& id) {
            const Shape whole = result_.tensor(id).shape;
            id = view(id, {trace::Tensor{"", {}, whole}.elements() / whole.back(), whole.back()});
        };
        for (std::size_t k = 0; k < changed.inputs.size(); ++k)
            if (is_image_operand(op, false, k)) rows(changed.inputs[k]);
        rows(changed.outputs[0]);
    }

    /// A transpose of the program from an image that is laid out so already, or to one: nothing is left to do
    /// where both can be one memory.
    bool becomes_view(const Op& op, OpId number) {
        if (op.kind != OpKind::copy || op.attributes.size() != 1) return false;
        const TensorId from = op.inputs.at(0), to = op.outputs.at(0);
        if (!is_image(shape(from)) || is_assigned(from) == is_assigned(to)) return false;
        const Shape order = op.integers("permutation");
        if (order != (is_assigned(from) ? to_last(shape(from).size()) : to_first(shape(from).size())))
            return false;
        forget(op);
        const bool alone = trace_.tensor(to).storage == 0 &&
                           trace_.tensor(from).type == trace_.tensor(to).type &&
                           last_write_[storage(to)] == number &&
                           (!last_write_.contains(storage(from)) || last_write_[storage(from)] < number);
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
        if (is_assigned(from) == is_assigned(to)) return false;
        forget(op);
        transpose(op, from, to, is_assigned(to) ? to_last(shape(to).size()) : to_first(shape(to).size()));
        result_.ops.back().name = op.name;
        place_.push_back({static_cast<OpId>(result_.ops.size() - 1)});
        return true;
    }

    const Trace& trace_;
    Trace result_;
    std::set<std::uint64_t> candidates_, assigned_;
    std::uint64_t last_storage_ = 0;
    std::map<std::uint64_t, OpId> last_read_, last_write_;  ///< by storage
    std::vector<std::vector<OpId>> place_;                  ///< by op of the given step: who does its work
    std::map<std::uint64_t, std::map<TensorId, TensorId>> twins_;  ///< by storage: tensors in the other order
    std::map<std::pair<TensorId, Shape>, TensorId> views_;
    std::size_t transposes_ = 0;
};

}  // namespace

Trace lay_out_images(const Trace& trace, LayoutCount* count) {
    LayoutCount counted;
    LayoutAssignment layouts(trace);
    Trace result = layouts.assign() ? layouts.rewrite(counted) : trace;
    if (count != nullptr) *count = counted;
    return result;
}

}  // namespace heddle::fusion
