#include "workloads/importers/kineto_operands.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "isa/common/error.h"
#include "workloads/importers/operations.h"

namespace heddle::importers {
namespace {

using trace::JsonView;

std::optional<Shape> shape_of(const JsonView& list) {
    if (!list.is_list()) return std::nullopt;
    Shape shape;
    for (const JsonView extent : list) {
        if (extent.kind() != JsonView::Kind::integer) return std::nullopt;
        shape.push_back(extent.integer(0));
    }
    if (!possible_shape(shape)) return std::nullopt;
    return shape;
}

RecordedTensor tensor_like(ElementType type, Shape shape) {
    RecordedTensor tensor;
    tensor.type = type;
    tensor.strides = trace::broadcast_strides(shape, shape);
    tensor.shape = std::move(shape);
    return tensor;
}

/// A number or list that was recorded as text; texts that are neither stay texts.
Literal concrete(std::string_view text) {
    if (text.empty()) return {};
    try {
        return parse_literal(std::string(text));
    } catch (const Error&) {
        return {std::string(text)};
    }
}

JsonView at(const JsonView& list, std::size_t index) {
    std::size_t i = 0;
    for (const JsonView item : list) {
        if (i++ == index) return item;
    }
    return {};
}

/// Strides as recorded, when they address memory in a way that a tensor can.
void take_strides(RecordedTensor& tensor, const JsonView& recorded) {
    const auto strides = shape_of(recorded);
    if (strides && strides->size() == tensor.shape.size() && !strides->empty()) tensor.strides = *strides;
}

}  // namespace

std::vector<Argument> kineto_inputs(const JsonView& arguments) {
    const JsonView dims =
        arguments["Input Dims"].exists() ? arguments["Input Dims"] : arguments["Input dims"];
    const JsonView types = arguments["Input type"], numbers = arguments["Concrete Inputs"],
                   strides = arguments["Input Strides"];
    std::vector<Argument> result;
    if (!dims.is_list()) return result;
    std::size_t i = 0;
    for (const JsonView dim : dims) {
        Argument argument;
        const std::string type(at(types, i).text());
        const auto element = torch_element_type(type);
        const auto shape = shape_of(dim);
        const std::string_view number = at(numbers, i).text();
        if (element && shape) {
            argument.tensor = tensor_like(*element, *shape);
            take_strides(*argument.tensor, at(strides, i));
            // Numbers that Python wraps as tensors of no axes stay on the host.
            if (shape->empty() && (*element == ElementType::f64 || *element == ElementType::i64)) {
                argument.tensor.reset();
                argument.value = concrete(number);
            }
        } else if (type == "TensorList" || type == "GenericList") {
            // The element type is not recorded; f32 until a neighbour says otherwise.
            for (const JsonView part : dim) {
                if (const auto each = shape_of(part))
                    argument.tensors.push_back(tensor_like(ElementType::f32, *each));
            }
        } else {
            argument.value = concrete(number);
        }
        result.push_back(std::move(argument));
        ++i;
    }
    return result;
}

namespace {

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
    Shape result(std::max(a.size(), b.size()), 1);
    for (std::size_t i = 0; i < result.size(); ++i) {
        const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1,
                           y = i < b.size() ? b[b.size() - 1 - i] : 1;
        if (x != y && x != 1 && y != 1) return std::nullopt;
        result[result.size() - 1 - i] = x == 1 ? y : x;
    }
    return result;
}

std::vector<RecordedTensor> pointwise_results(const Call& call) {
    Shape shape;
    std::optional<ElementType> type;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
        const RecordedTensor* tensor = call.gpu_tensor(i);
        if (tensor == nullptr) continue;
        const auto wider = broadcast(shape, tensor->shape);
        if (!wider) return {};
        shape = *wider;
        const bool condition = tensor->type == ElementType::boolean && i == 0 && call.name == "where";
        if (!condition && (!type || *type == ElementType::boolean)) type = tensor->type;
    }
    if (!type) return {};
    return {tensor_like(makes_booleans(call.name) ? ElementType::boolean : *type, shape)};
}

std::vector<RecordedTensor> product_results(const Call& call) {
    const bool added = call.name == "addmm" || call.name == "baddbmm" || call.name == "_addmm_activation";
    const RecordedTensor *a = call.gpu_tensor(added ? 1 : 0), *b = call.gpu_tensor(added ? 2 : 1);
    if (a == nullptr || b == nullptr || a->shape.size() < 2 || b->shape.size() < 2) return {};
    Shape shape = a->shape;
    shape.back() = call.name == "linear" ? b->shape[b->shape.size() - 2] : b->shape.back();
    return {tensor_like(a->type, shape)};
}

/// (size + padding - dilation (window - 1) - 1) / stride + 1
std::vector<RecordedTensor> window_results(const Call& call) {
    const RecordedTensor *x = call.gpu_tensor(0), *w = call.gpu_tensor(1);
    const bool pooling = call.name.rfind("max_pool", 0) == 0 || call.name.rfind("avg_pool", 0) == 0;
    const bool cudnn = call.name == "cudnn_convolution";
    if (x == nullptr || x->shape.size() < 3 || (!pooling && w == nullptr)) return {};
    const std::size_t space = x->shape.size() - 2;
    const auto list = [&](std::size_t i, std::int64_t fallback) {
        std::vector<std::int64_t> values =
            call.literal(i) != nullptr ? call.literal(i)->integers() : std::vector<std::int64_t>{};
        if (values.empty()) values = {fallback};
        values.resize(space, values[0]);
        return values;
    };
    // Without recorded strides nothing follows.
    if (call.literal(cudnn || !pooling ? 3 : 1) == nullptr ||
        call.literal(cudnn || !pooling ? 3 : 1)->integers().empty())
        return {};
    std::vector<std::int64_t> window(space), stride, padding, dilation;
    if (pooling) {
        window = list(1, 1);
        stride = call.literal(2) != nullptr && !call.literal(2)->integers().empty() ? list(2, 1) : window;
        padding = list(3, 0);
        dilation = call.name.rfind("max_pool", 0) == 0 ? list(4, 1) : std::vector<std::int64_t>(space, 1);
    } else {
        if (w->shape.size() != x->shape.size()) return {};
        for (std::size_t i = 0; i < space; ++i) window[i] = w->shape[i + 2];
        stride = list(3, 1);
        padding = list(cudnn ? 2 : 4, 0);
        dilation = list(cudnn ? 4 : 5, 1);
    }
    Shape shape{x->shape[0], pooling ? x->shape[1] : w->shape[0]};
    for (std::size_t i = 0; i < space; ++i) {
        const std::int64_t reach = x->shape[i + 2] + 2 * padding[i] - dilation[i] * (window[i] - 1) - 1;
        if (reach < 0 || stride[i] < 1) return {};
        shape.push_back(reach / stride[i] + 1);
    }
    std::vector<RecordedTensor> results{tensor_like(x->type, shape)};
    if (call.name == "max_pool2d_with_indices") results.push_back(tensor_like(ElementType::i64, shape));
    return results;
}

std::vector<RecordedTensor> like(const Call& call, std::initializer_list<std::size_t> inputs) {
    std::vector<RecordedTensor> results;
    for (const std::size_t i : inputs) {
        const RecordedTensor* tensor = call.gpu_tensor(i);
        if (tensor == nullptr) break;
        results.push_back(tensor_like(tensor->type, tensor->shape));
    }
    return results;
}

std::vector<RecordedTensor> norm_results(const Call& call) {
    const RecordedTensor* x = call.gpu_tensor(0);
    if (x == nullptr) return {};
    std::vector<RecordedTensor> results{tensor_like(x->type, x->shape)};
    if (call.name == "native_layer_norm") {
        const RecordedTensor* gamma = call.gpu_tensor(2);
        if (gamma == nullptr || gamma->shape.size() > x->shape.size()) return {};
        const Shape rows(x->shape.begin(), x->shape.end() - static_cast<std::ptrdiff_t>(gamma->shape.size()));
        for (int i = 0; i < 2; ++i) results.push_back(tensor_like(ElementType::f32, rows));
    } else if (x->shape.size() >= 2) {
        for (int i = 0; i < 2; ++i) results.push_back(tensor_like(ElementType::f32, {x->shape[1]}));
    }
    return results;
}

std::vector<RecordedTensor> lookup_results(const Call& call) {
    const bool select = call.name == "index_select";
    const RecordedTensor *table = call.gpu_tensor(0), *indices = call.gpu_tensor(select ? 2 : 1);
    if (table == nullptr || indices == nullptr || table->shape.empty()) return {};
    if (call.name == "gather")
        return {tensor_like(table->type,
                            call.gpu_tensor(2) != nullptr ? call.gpu_tensor(2)->shape : indices->shape)};
    Shape shape = indices->shape;
    shape.insert(shape.end(), table->shape.begin() + 1, table->shape.end());
    return {tensor_like(table->type, shape)};
}

std::vector<RecordedTensor> joined_results(const Call& call) {
    if (call.inputs.empty() || call.inputs[0].tensors.empty()) return {};
    const std::vector<RecordedTensor>& parts = call.inputs[0].tensors;
    RecordedTensor result = tensor_like(parts[0].type, parts[0].shape);
    const auto rank = static_cast<std::int64_t>(result.shape.size());
    auto axis = static_cast<std::int64_t>(number_operand(call, 1, 0));
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return {};
    result.shape[static_cast<std::size_t>(axis)] = 0;
    for (const RecordedTensor& part : parts) {
        if (part.shape.size() != result.shape.size()) return {};
        result.shape[static_cast<std::size_t>(axis)] += part.shape[static_cast<std::size_t>(axis)];
    }
    return {tensor_like(result.type, result.shape)};
}

}  // namespace

std::vector<RecordedTensor> results_of(const Call& call) {
    const std::string& name = call.name;
    const bool in_place = call.full_name.ends_with("_") && !call.full_name.ends_with("__");
    if (in_place && call.gpu_tensor(0) != nullptr) return {*call.gpu_tensor(0)};
    if (name == "mm" || name == "bmm" || name == "addmm" || name == "baddbmm" || name == "linear" ||
        name == "_addmm_activation")
        return product_results(call);
    if (name == "t" && call.gpu_tensor(0) != nullptr && call.gpu_tensor(0)->shape.size() == 2) {
        RecordedTensor seen = *call.gpu_tensor(0);
        std::swap(seen.shape[0], seen.shape[1]);
        std::swap(seen.strides[0], seen.strides[1]);
        return {seen};
    }
    if (name == "native_layer_norm" || name == "native_batch_norm" || name == "cudnn_batch_norm")
        return norm_results(call);
    if (name == "native_layer_norm_backward") return like(call, {1, 5, 6});
    if (name == "cudnn_batch_norm_backward") return like(call, {0, 2, 2});
    if (name == "native_batch_norm_backward") return like(call, {1, 2, 2});
    if (name == "convolution_backward") return like(call, {1, 2});
    if (name == "max_pool2d_with_indices_backward" || name == "avg_pool2d_backward") return like(call, {1});
    if (is_window_operation(name)) return window_results(call);
    if (name == "embedding" || name == "index_select" || name == "gather") return lookup_results(call);
    if (name == "cat") return joined_results(call);
    if (name == "native_dropout" || name == "_fused_dropout") {
        std::vector<RecordedTensor> results = like(call, {0, 0});
        if (results.size() > 1) results[1].type = ElementType::boolean;
        return results;
    }
    if (name == "_softmax_backward_data" || name == "_log_softmax_backward_data") return like(call, {1});
    if (name == "_softmax" || name == "_log_softmax" || name == "clone" || name == "contiguous" ||
        name == "empty_like" || name == "zeros_like" || name == "ones_like" || name == "_to_copy" ||
        name == "detach" || name == "alias" || name == "flip" || name == "cumsum")
        return like(call, {0});
    if (is_pointwise_operation(name)) return pointwise_results(call);
    return {};
}

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
            taken_.clear();
            for (Argument& argument : call.inputs) {
                if (argument.tensor) place(*argument.tensor);
                for (RecordedTensor& tensor : argument.tensors) {
                    tensor.type = last_type_;
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
        for (int depth = 0; up != nullptr && node == nullptr && depth < 100; ++depth) {
            if (up->sequence >= 0 && up->name.find("Backward") != std::string::npos && !up->inputs.empty())
                node = up;
            up = recording_.parent(*up);
        }
        if (node == node_) return;
        node_ = node;
        forward_ = node != nullptr ? recording_.forward_of(*node) : nullptr;
        read_in_node_.clear();
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
            if (result.storage == 0) result.id = result.storage = ++last_storage_;
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
    std::map<Key, std::deque<RecordedTensor>> made_;  ///< the newest last
    std::vector<std::uint64_t> taken_;                ///< storages of the operands of the call at hand
    const Call* node_ = nullptr;                      ///< of autograd, around the call at hand
    const Call* forward_ = nullptr;                   ///< that it differentiates
    std::set<std::uint64_t> read_in_node_;            ///< storages
    std::map<Key, std::size_t> made_by_;
    std::uint64_t last_storage_ = 0;
    ElementType last_type_ = ElementType::f32;
};

}  // namespace

void infer_results(Recording& recording) {
    Inference(recording).run();
}

}  // namespace heddle::importers
