// Which tensors the calls of a profile read.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "workloads/importers/kineto_operands.h"
#include "workloads/importers/operations.h"

namespace heddle::importers {
namespace {

/// Whether reducing some axes of `from` gives `to`, kept as extents of 1 or dropped.
bool reduces_to(const Shape& from, const Shape& to) {
    if (to.size() == from.size()) {
        bool less = false;
        for (std::size_t i = 0; i < from.size(); ++i) {
            if (to[i] != from[i] && to[i] != 1) return false;
            less = less || to[i] != from[i];
        }
        return less;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < from.size() && kept < to.size(); ++i)
        if (from[i] == to[kept]) ++kept;
    return to.size() < from.size() && kept == to.size();
}

class Inference {
  public:
    explicit Inference(Recording& recording) : recording_(recording) {}

    void run() {
        for (std::size_t i = 0; i < recording_.calls().size(); ++i) {
            Call& call = recording_.call(i);
            close_all_but_callers(call);
            if (call.on_gpu) continue;
            look_at_node(call);
            adopt_joined(call);
            taken_.clear();
            for (Argument& argument : call.inputs) {
                if (argument.tensor) place(*argument.tensor);
                for (RecordedTensor& tensor : argument.tensors) {
                    if (tensor.storage == 0) tensor.type = last_type_;
                    place(tensor);
                }
            }
            if (const RecordedTensor* first = call.gpu_tensor(0); first != nullptr) last_type_ = first->type;
            make_results(call);
            open_.push_back(i);
        }
    }

  private:
    using Key = std::pair<ElementType, Shape>;
    /// Results of one shape and type that are remembered: the longest list that one kernel joins.
    static constexpr std::size_t kRemembered = 128;

    static Key key_of(const RecordedTensor& tensor) { return {tensor.type, tensor.shape}; }

    /// The autograd node that makes this call, and the forward call that the node differentiates: what the
    /// node reads beside its gradient was saved by that call.
    void look_at_node(const Call& call) {
        const Call* node = nullptr;
        const Call* up = recording_.parent(call);
        // What the engine does itself is that it adds the gradients of a tensor that several calls have read.
        adds_gradients_ = up != nullptr && call.name == "add" && evaluates(*up);
        in_backward_ = false;
        if (is_node(call)) last_node_ = &call;
        const Call* below = &call;
        for (int depth = 0; up != nullptr && node == nullptr && depth < 100; ++depth) {
            if (is_node(*up)) node = up;
            // The engine sums the gradient of a broadcast operand once the node has handed it out.
            if (evaluates(*up) && below->name == "sum" && last_node_ != nullptr &&
                recording_.parent(*last_node_) == up)
                node = last_node_;
            in_backward_ = in_backward_ || node != nullptr || evaluates(*up);
            below = up;
            up = recording_.parent(*up);
        }
        if (node == node_) return;
        node_ = node;
        forward_ = node != nullptr ? recording_.forward_of(*node) : nullptr;
        read_in_node_.clear();
    }

    static bool is_node(const Call& call) {
        return call.sequence >= 0 && call.name.find("Backward") != std::string::npos &&
               !call.inputs.empty() && !evaluates(call);
    }

    /// The engine of autograd, around a node and what it does with the node's results.
    static bool evaluates(const Call& call) {
        return call.name.find("autograd::engine::evaluate_function") != std::string::npos;
    }

    /// The gradient of a split joins the gradients of its parts, which are the node's inputs, along the axis
    /// that makes them what was split. PyTorch 1 recorded neither the list of `cat` nor the axis.
    void adopt_joined(Call& call) const {
        if (call.name != "cat" || call.inputs.empty() || !call.inputs[0].tensors.empty()) return;
        if (node_ == nullptr || forward_ == nullptr || recording_.parent(call) != node_ ||
            node_->name.find("Split") == std::string::npos)
            return;
        const RecordedTensor* whole = forward_->gpu_tensor(0);
        std::vector<RecordedTensor> parts;
        for (const Argument& argument : node_->inputs) {
            if (!argument.tensor || !argument.tensor->on_gpu()) return;
            parts.push_back(*argument.tensor);
        }
        const auto axis = whole != nullptr ? joined_axis(parts, whole->shape) : std::nullopt;
        if (!axis) return;
        call.inputs[0].tensors = std::move(parts);
        if (call.inputs.size() < 2) call.inputs.resize(2);
        call.inputs[1].tensor.reset();
        call.inputs[1].value = {static_cast<std::int64_t>(*axis)};
    }

    /// The axis along which `parts` make `whole`; nothing when none does, or several do.
    static std::optional<std::size_t> joined_axis(const std::vector<RecordedTensor>& parts,
                                                  const Shape& whole) {
        std::optional<std::size_t> found;
        for (std::size_t axis = 0; axis < whole.size(); ++axis) {
            Shape sum = whole;
            sum[axis] = 0;
            const bool fit = std::all_of(parts.begin(), parts.end(), [&](const RecordedTensor& part) {
                if (part.shape.size() != whole.size()) return false;
                sum[axis] += part.shape[axis];
                if (sum[axis] > whole[axis]) return false;
                Shape other = part.shape;
                other[axis] = whole[axis];
                return other == whole;
            });
            if (!fit || sum != whole) continue;
            if (found) return std::nullopt;
            found = axis;
        }
        return found;
    }

    bool is_taken(const RecordedTensor& tensor) const {
        return std::find(taken_.begin(), taken_.end(), tensor.storage) != taken_.end();
    }

    /// Of the tensors that a call had as operands or made: one that is none of the operands placed so far;
    /// `fresh`: and that no other call of this node has read.
    const RecordedTensor* of_call(const Call& call, const RecordedTensor& wanted, bool fresh) const {
        for (const auto* arguments : {&call.inputs, &call.outputs}) {
            for (const Argument& argument : *arguments) {
                if (!argument.tensor || argument.tensor->storage == 0 || is_taken(*argument.tensor) ||
                    key_of(*argument.tensor) != key_of(wanted))
                    continue;
                if (fresh && read_in_node_.count(argument.tensor->storage) != 0) continue;
                return &*argument.tensor;
            }
        }
        return nullptr;
    }

    /// What an operand of this shape and type is taken to be. Two operands of a call are two tensors.
    const RecordedTensor* likely(const RecordedTensor& wanted) const {
        if (node_ != nullptr) {
            if (const RecordedTensor* gradient = of_call(*node_, wanted, false)) return gradient;
        }
        if (forward_ != nullptr) {
            for (const bool fresh : {true, false})
                if (const RecordedTensor* saved = of_call(*forward_, wanted, fresh)) return saved;
        }
        const auto found = made_.find(key_of(wanted));
        if (found == made_.end()) return nullptr;
        if (adds_gradients_) {
            for (auto made = found->second.rbegin(); made != found->second.rend(); ++made)
                if (!is_taken(*made) && gradients_.count(made->storage) != 0) return &*made;
        }
        for (auto made = found->second.rbegin(); made != found->second.rend(); ++made)
            if (!is_taken(*made)) return &*made;
        return nullptr;
    }

    void place(RecordedTensor& tensor) {
        if (tensor.storage != 0) return;
        if (const RecordedTensor* found = likely(tensor)) {
            const bool recorded_strides = !tensor.is_contiguous();
            tensor.id = found->id;
            tensor.storage = found->storage;
            tensor.offset = found->offset;
            if (!recorded_strides) tensor.strides = found->strides;
        } else {
            tensor.id = tensor.storage = ++last_storage_;
        }
        taken_.push_back(tensor.storage);
        if (node_ != nullptr) read_in_node_.insert(tensor.storage);
    }

    void make_results(Call& call) {
        std::vector<RecordedTensor> results = results_of(call);
        if (results.empty() && (call.name == "transpose" || call.name == "permute"))
            results = permuted_results(call);
        if (results.empty() && reduces(call)) results = reduction_results(call);
        for (RecordedTensor& result : results) {
            if (result.storage == 0) {
                result.id = result.storage = ++last_storage_;
                if (in_backward_) gradients_.insert(result.storage);
            }
            Argument argument;
            argument.tensor = result;
            call.outputs.push_back(std::move(argument));
        }
    }

    static bool reduces(const Call& call) {
        return call.name == "sum" || call.name == "mean" || call.name == "amax" || call.name == "amin" ||
               call.name == "norm" || call.name == "linalg_vector_norm" || call.name == "argmax" ||
               call.name == "max" || call.name == "min";
    }

    /// A view of the same elements with its axes in another order. Which order is not recorded: the next call
    /// that reads these extents in another order tells.
    std::vector<RecordedTensor> permuted_results(const Call& call) const {
        constexpr std::size_t kReaders = 24;
        const RecordedTensor* x = call.gpu_tensor(0);
        if (x == nullptr || x->shape.size() < 2) return {};
        for (std::size_t i = call.position + 1, seen = 0; i < recording_.calls().size() && seen < kReaders;
             ++i) {
            const Call& next = recording_.calls()[i];
            if (next.on_gpu || is_caller(call.position, next)) continue;
            ++seen;
            for (std::size_t k = 0; k < next.inputs.size(); ++k) {
                const RecordedTensor* read = next.gpu_tensor(k);
                if (read == nullptr || read->type != x->type || read->shape == x->shape) continue;
                if (const auto seen_so = permuted(*x, read->shape)) return {*seen_so};
            }
        }
        return {};
    }

    /// `tensor` with its axes in the order that gives `shape`; nothing when none does. Of axes of the same
    /// extent the earlier comes first.
    static std::optional<RecordedTensor> permuted(const RecordedTensor& tensor, const Shape& shape) {
        if (shape.size() != tensor.shape.size()) return std::nullopt;
        RecordedTensor result = tensor;
        std::vector<bool> used(shape.size());
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            std::size_t from = 0;
            while (from < shape.size() && (used[from] || tensor.shape[from] != shape[axis])) ++from;
            if (from == shape.size()) return std::nullopt;
            used[from] = true;
            result.shape[axis] = tensor.shape[from];
            result.strides[axis] = tensor.strides[from];
        }
        return result;
    }

    /// By the axes where they were recorded, otherwise by what the next calls read.
    std::vector<RecordedTensor> reduction_results(const Call& call) const {
        const RecordedTensor* x = call.gpu_tensor(0);
        if (x == nullptr) return {};
        const std::size_t at = call.name == "norm" || call.name == "linalg_vector_norm" ? 2 : 1;
        const Literal* axes = call.literal(at);
        const ElementType type = call.name == "argmax" ? ElementType::i64 : x->type;
        if (axes != nullptr && !axes->integers().empty()) {
            std::vector<std::int64_t> reduced = axes_operand(call, at, x->shape.size());
            const bool keep = number_operand(call, at + 1, 0) != 0;
            Shape shape;
            for (std::size_t i = 0; i < x->shape.size(); ++i) {
                const bool gone =
                    std::find(reduced.begin(), reduced.end(), static_cast<std::int64_t>(i)) != reduced.end();
                if (!gone) shape.push_back(x->shape[i]);
                if (gone && keep) shape.push_back(1);
            }
            return {tensor_like(type, shape)};
        }
        // sum() without axes has one operand; with axes unrecorded it has more.
        if (call.inputs.size() > 2) {
            for (std::size_t i = call.position + 1, seen = 0; i < recording_.calls().size() && seen < 12;
                 ++i) {
                const Call& next = recording_.calls()[i];
                if (next.on_gpu || next.parent == call.position) continue;
                ++seen;
                for (std::size_t k = 0; k < next.inputs.size(); ++k) {
                    const RecordedTensor* read = next.gpu_tensor(k);
                    if (read != nullptr && read->type == type && !read->shape.empty() &&
                        reduces_to(x->shape, read->shape))
                        return {tensor_like(type, read->shape)};
                }
            }
            return {};
        }
        return {tensor_like(type, {})};
    }

    /// Results can be read once the call that makes them has ended.
    void close_all_but_callers(const Call& call) {
        while (!open_.empty()) {
            if (call.parent && is_caller(open_.back(), call)) return;
            const Call& done = recording_.calls()[open_.back()];
            open_.pop_back();
            for (const Argument& output : done.outputs) {
                if (!output.tensor) continue;
                // What a call within has made is the result of the call around it.
                const Key key{output.tensor->type, output.tensor->shape};
                const auto found = made_by_.find(key);
                const bool inner = found != made_by_.end() && found->second > done.position;
                if (inner) continue;
                std::deque<RecordedTensor>& made = made_[key];
                // Changed in place, or seen through a view: the same tensor again.
                const auto same = std::find_if(made.begin(), made.end(), [&](const RecordedTensor& earlier) {
                    return earlier.storage == output.tensor->storage;
                });
                if (same != made.end()) made.erase(same);
                made.push_back(*output.tensor);
                if (made.size() > kRemembered) made.pop_front();
                made_by_[key] = done.position;
            }
        }
    }

    bool is_caller(std::size_t position, const Call& call) const {
        const Call* up = recording_.parent(call);
        for (int depth = 0; up != nullptr && depth < 100; ++depth, up = recording_.parent(*up))
            if (up->position == position) return true;
        return false;
    }

    Recording& recording_;
    std::vector<std::size_t> open_;
    std::map<Key, std::deque<RecordedTensor>> made_;     ///< the newest last
    std::vector<std::uint64_t> taken_;                   ///< storages of the operands of the call at hand
    const Call* node_ = nullptr;                         ///< of autograd, around the call at hand
    const Call* last_node_ = nullptr;                    ///< the newest, whether it is still open or not
    const Call* forward_ = nullptr;                      ///< that it differentiates
    std::set<std::uint64_t> read_in_node_;               ///< storages
    bool in_backward_ = false, adds_gradients_ = false;  ///< the call at hand
    std::set<std::uint64_t> gradients_;                  ///< storages that a backward pass made
    std::map<Key, std::size_t> made_by_;
    std::uint64_t last_storage_ = 0;
    ElementType last_type_ = ElementType::f32;
};

}  // namespace

void infer_results(Recording& recording) {
    Inference(recording).run();
}

}  // namespace heddle::importers
