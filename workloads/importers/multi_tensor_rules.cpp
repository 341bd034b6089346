// Kernels that walk over lists of tensors: Apex and Transformer Engine's multi_tensor_apply, PyTorch's
// _foreach_ ops.
//
// All launch in the same way: tensors are cut into chunks of 65,536 elements, and a launch takes chunks until
// it has 320 of them or its table of tensors is full (apex csrc/multi_tensor_apply.cuh;
// aten/src/ATen/native/cuda/MultiTensorApply.cuh: 110, 64, 48, 36, 30 tensors for lists of depth 1 to 5). So
// the list of tensors says how much each launch works on.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>

#include "workloads/importers/rules.h"

namespace heddle::importers {
namespace {

constexpr std::int64_t chunk_elements = 65536;
constexpr std::size_t most_chunks = 320;

std::size_t most_tensors(std::int64_t depth) {
    static constexpr std::size_t limits[] = {110, 64, 48, 36, 30};
    return limits[std::clamp<std::int64_t>(depth, 1, 5) - 1];
}

/// One launch: elements in all, and the tensor and element that it starts with.
struct Piece {
    std::int64_t elements = 0;
    std::int64_t largest_chunk = 0;
    std::size_t first_tensor = 0;
    std::int64_t first_element = 0;
};

std::vector<Piece> launches(const std::vector<RecordedTensor>& tensors, std::int64_t depth) {
    std::vector<Piece> result;
    Piece piece;
    std::size_t chunks = 0, table = 0;
    bool open = false;
    for (std::size_t t = 0; t < tensors.size(); ++t) {
        const std::int64_t elements = tensors[t].elements();
        ++table;
        for (std::int64_t at = 0; at < elements; at += chunk_elements) {
            if (!open) piece = {0, 0, t, at};
            open = true;
            const std::int64_t chunk = std::min(chunk_elements, elements - at);
            piece.elements += chunk;
            piece.largest_chunk = std::max(piece.largest_chunk, chunk);
            const bool ends = at + chunk_elements >= elements;
            const bool last = ends && t + 1 == tensors.size();
            if (++chunks == most_chunks || (ends && table == most_tensors(depth)) || last) {
                result.push_back(piece);
                chunks = 0;
                table = ends ? 0 : 1;
                open = false;
            }
        }
    }
    if (open) result.push_back(piece);  // the last tensor of the list is empty
    return result;
}

/// Groups of a list that are launched one after another: all in one, or (parameter groups of an optimizer,
/// whose gradients lie in buffers of their own) one per run of the same storage.
std::vector<std::vector<RecordedTensor>> by_storage(const std::vector<RecordedTensor>& tensors) {
    std::vector<std::vector<RecordedTensor>> groups;
    for (const RecordedTensor& tensor : tensors) {
        if (groups.empty() || groups.back().back().storage != tensor.storage) groups.emplace_back();
        groups.back().push_back(tensor);
    }
    return groups;
}

struct Plan {
    std::vector<Piece> pieces;
    std::vector<RecordedTensor> tensors;  ///< of the piece with the same index: the tensor that it starts in
    std::string source;
};

Plan plan_of(const std::vector<std::vector<RecordedTensor>>& groups, std::int64_t depth) {
    Plan plan;
    for (const auto& group : groups) {
        for (const Piece& piece : launches(group, depth)) {
            plan.pieces.push_back(piece);
            RecordedTensor start = group[piece.first_tensor];
            start.offset += piece.first_element;
            plan.tensors.push_back(start);
        }
    }
    return plan;
}

/// The tensor list that explains the recorded number of launches: the call's own, or the nearest list of
/// tensors recorded around it.
Plan find_plan(const Launch& launch, const Call& call, std::size_t count, std::int64_t depth) {
    for (const Argument& argument : call.inputs) {
        if (argument.tensors.empty()) continue;
        Plan plan = plan_of({argument.tensors}, depth);
        if (plan.pieces.size() == count) return plan;
    }
    const auto& calls = launch.recording.calls();
    const auto try_call = [&](const Call& candidate) -> std::optional<Plan> {
        for (const Argument& argument : candidate.inputs) {
            if (argument.tensors.size() < 2 || candidate.on_gpu) continue;
            const std::vector<std::vector<RecordedTensor>> together{argument.tensors};
            for (const auto& groups : {together, by_storage(argument.tensors)}) {
                Plan plan = plan_of(groups, depth);
                if (plan.pieces.size() != count) continue;
                plan.source = "tensor list of node " + std::to_string(candidate.id) + " (" +
                              candidate.full_name + ", " + std::to_string(argument.tensors.size()) +
                              " tensors in " + std::to_string(groups.size()) +
                              (groups.size() == 1 ? " group)" : " groups)");
                return plan;
            }
        }
        return std::nullopt;
    };
    for (std::size_t distance = 1; distance < calls.size(); ++distance) {
        const std::size_t here = launch.kernel.position;
        if (distance <= here) {
            if (auto plan = try_call(calls[here - distance])) return *plan;
        }
        if (here + distance < calls.size()) {
            if (auto plan = try_call(calls[here + distance])) return *plan;
        }
    }
    throw NotUnderstood{"no list of tensors explains " + std::to_string(count) + " launches"};
}

/// Kernels of the launch's function under `call`, in order.
std::vector<const Call*> all_launches(const Launch& launch, const Call& call) {
    std::vector<const Call*> found;
    std::vector<std::size_t> pending{call.position};
    std::set<std::size_t> seen;
    while (!pending.empty()) {
        const std::size_t position = pending.back();
        pending.pop_back();
        if (!seen.insert(position).second) continue;
        const Call& inner = launch.recording.call(position);
        if (inner.on_gpu && parse_kernel_name(inner.full_name).function == launch.name.function)
            found.push_back(&inner);
        for (const std::size_t child : launch.recording.children(inner)) pending.push_back(child);
    }
    std::sort(found.begin(), found.end(),
              [](const Call* a, const Call* b) { return a->position < b->position; });
    return found;
}

/// An optimizer's list where none was recorded: it updates what gradients were accumulated for since its last
/// step. Their chunks must be as many as the launches have thread blocks, within 2 % (other optimizers may
/// have a few of the tensors). In which order the tensors stand is not known: a launch has the elements of
/// its share of the chunks.
std::optional<Plan> plan_of_gradients(const Launch& launch, const Call& call) {
    if (call.full_name.rfind("Optimizer.step", 0) != 0) return std::nullopt;
    constexpr std::int64_t kMostElements = std::int64_t{1} << 40;  // no device holds more
    std::int64_t elements = 0, chunks = 0, blocks = 0, tensors = 0;
    const auto& calls = launch.recording.calls();
    for (std::size_t i = call.position; i-- > 0;) {
        const Call& earlier = calls[i];
        if (earlier.on_gpu) continue;
        if (earlier.full_name == call.full_name) break;
        if (earlier.full_name != "torch::autograd::AccumulateGrad" || earlier.gpu_tensor(0) == nullptr)
            continue;
        const std::int64_t own = earlier.gpu_tensor(0)->elements();
        if (own < 0 || own > kMostElements - elements) return std::nullopt;
        ++tensors;
        elements += own;
        chunks += (own + chunk_elements - 1) / chunk_elements;
    }
    const std::vector<const Call*> kernels = all_launches(launch, call);
    for (const Call* kernel : kernels) {
        if (kernel->grid.empty() || kernel->grid[0] < 0 || kernel->grid[0] > 1 << 20) return std::nullopt;
        blocks += kernel->grid[0];
    }
    if (chunks == 0 || std::abs(chunks - blocks) * 50 > blocks) return std::nullopt;
    Plan plan;
    for (const Call* kernel : kernels) {
        const std::int64_t share = std::max<std::int64_t>(1, elements * kernel->grid[0] / chunks);
        plan.pieces.push_back({share, chunk_elements, 0, 0});
    }
    plan.source = std::to_string(tensors) + " gradients accumulated before (" + std::to_string(elements) +
                  " elements), spread over the launches as their thread blocks";
    return plan;
}

/// The piece as one flat tensor that starts where the first of its tensors does.
RecordedTensor flat(const RecordedTensor& start, std::int64_t elements) {
    RecordedTensor result = start;
    result.shape = {elements};
    result.strides = {1};
    return result;
}

/// Adam as in Apex (ADAM_MODE_1: decoupled weight decay): lists of gradients, parameters, first and second
/// moments.
void adam(Builder& builder, Op& op, const RecordedTensor& gradients) {
    op.kind = OpKind::elementwise;
    op.set(keys::elementwise.expression,
           "y1 = s1 * x2 + (1 - s1) * x0; y2 = s2 * x3 + (1 - s2) * x0 * x0; "
           "y0 = x1 - s0 * (y1 / s3 / (sqrt(y2 / s4) + s5) + s6 * x1)");
    op.set(keys::elementwise.scalars, {1e-4, 0.9, 0.999, 0.1, 0.001, 1e-8, 0.01});
    assume(op,
           "learning rate, decays, bias corrections, epsilon and weight decay of the first step with usual "
           "values");
    const auto made = [&] { return builder.invented(ElementType::f32, gradients.shape); };
    const RecordedTensor parameters = made(), first = made(), second = made();
    for (const RecordedTensor* tensor : {&gradients, &parameters, &first, &second})
        builder.input(op, *tensor);
    for (const RecordedTensor* tensor : {&parameters, &first, &second}) builder.output(op, *tensor);
}

/// Blocks add up squares; every launch adds into one buffer, which the call allocated before (f32, 320 or
/// more).
void squared_norm(Builder& builder, Op& op, const RecordedTensor& tensors, const RecordedTensor& sums) {
    op.kind = OpKind::reduce;
    op.set(keys::reduce.reduction, "sum");
    op.set(keys::reduce.expression, "y0 = x0 * x0");
    op.set(keys::reduce.partials, sums.elements());
    builder.input(op, tensors);
    RecordedTensor total = sums;
    total.shape = {};
    total.strides = {};
    builder.output(op, total);
}

/// The buffer of partial sums: the last one-dimensional f32 tensor of at least 320 elements allocated before
/// the kernel.
RecordedTensor partial_sums(const Launch& launch) {
    const auto& calls = launch.recording.calls();
    for (std::size_t i = launch.kernel.position; i-- > 0;) {
        const RecordedTensor* made = calls[i].name == "empty" ? calls[i].output_tensor(0) : nullptr;
        if (made != nullptr && made->on_gpu() && made->type == ElementType::f32 && made->shape.size() == 1 &&
            made->shape[0] >= static_cast<std::int64_t>(most_chunks) && made->shape[0] % most_chunks == 0) {
            return *made;
        }
        if (launch.kernel.position - i > 2000) break;
    }
    throw NotUnderstood{"no buffer of partial sums was recorded"};
}

void norm_cleanup(Builder& builder, const Launch& launch) {
    const RecordedTensor sums = partial_sums(launch);
    const Call& call = need(launch.recording.parent(launch.kernel), "call around the cleanup");
    Op op;
    op.kind = OpKind::reduce;
    op.set(keys::reduce.reduction, "sum");
    builder.input(op, sums);
    const RecordedTensor* result = call.output_tensor(0);
    if (result == nullptr || result->elements() != 1)
        throw NotUnderstood{"result of the norm was not recorded"};
    builder.output(op, *result);
    assume(op, "the square root of the sum is taken in the same kernel");
    builder.add(std::move(op), launch, &call);
}

std::string arithmetic(const KernelName& name) {
    if (name.contains("std::plus")) return " + ";
    if (name.contains("std::minus")) return " - ";
    if (name.contains("std::divides")) return " / ";
    if (name.contains("std::multiplies") || name.contains("ScaleFunctor")) return " * ";
    throw NotUnderstood{"functor over lists of tensors is not known"};
}

/// The piece of another list that goes with `like`, which starts in tensor `index` of the call's first list.
RecordedTensor beside(const std::vector<RecordedTensor>& list, std::size_t index, const RecordedTensor& start,
                      std::int64_t elements) {
    if (index >= list.size()) throw NotUnderstood{"lists of tensors have different lengths"};
    RecordedTensor other = flat(list[index], elements);
    other.offset += start.offset;
    return other;
}

/// _foreach_mul_(self, tensor), _foreach_add_(self, other, alpha), multi_tensor_scale: with a number or a
/// second list. PyTorch's functors name <type, depth, lists read, list written>.
void foreach_op(Builder& builder, Op& op, const Launch& launch, const Call& call, const Plan& plan,
                std::size_t turn) {
    const std::string symbol = arithmetic(launch.name);
    const std::int64_t elements = plan.pieces[turn].elements;
    const RecordedTensor list = flat(plan.tensors[turn], elements);
    op.kind = OpKind::elementwise;
    builder.input(op, list);
    const bool two_lists = launch.name.contains("BinaryOpListAlphaFunctor");
    const RecordedTensor* scalar = call.gpu_tensor(1);
    const std::size_t first = plan.pieces[turn].first_tensor;
    RecordedTensor start = list;
    start.offset = plan.pieces[turn].first_element;
    if (two_lists) {
        if (call.inputs.size() < 2) throw NotUnderstood{"the second list was not recorded"};
        builder.input(op, beside(call.inputs[1].tensors, first, start, elements));
        const double alpha = call.literal(2) != nullptr ? call.literal(2)->number(1) : 1;
        op.set(keys::elementwise.expression,
               "y0 = x0" + symbol + (alpha == 1 ? "x1" : number_text(alpha) + " * x1"));
    } else if (scalar != nullptr && scalar->elements() == 1) {
        op.set(keys::elementwise.expression, "y0 = x0" + symbol + "x1");
        builder.input(op, *scalar);
    } else if (const Literal* number = call.literal(1); number != nullptr && number->is_number()) {
        op.set(keys::elementwise.expression, "y0 = x0" + symbol + number_text(number->number(1)));
    } else {
        op.set(keys::elementwise.expression, "y0 = x0" + symbol + "s0");
        op.set(keys::elementwise.scalars, {1});
        assume(op, "value 1 of a number that was not recorded");
    }
    const bool in_place =
        call.full_name.ends_with("_") || call.outputs.empty() || call.outputs[0].tensors.empty();
    builder.output(op, in_place ? list : beside(call.outputs[0].tensors, first, start, elements));
}

}  // namespace

bool multi_tensor_rule(Builder& builder, const Launch& launch) {
    if (launch.name.full.rfind("cleanup(", 0) == 0) {
        norm_cleanup(builder, launch);
        return true;
    }
    if (launch.name.function != "multi_tensor_apply_kernel") return false;
    const Call& call = need(launch.recording.parent(launch.kernel), "call that launched it");
    const auto lists = template_arguments(launch.name.full, "TensorListMetadata");
    const std::int64_t depth = lists.empty() ? 1 : integer_argument(lists[0]).value_or(1);
    const auto turn = launch.turn_in(call);
    const bool is_adam = launch.name.contains("AdamFunctor");
    std::optional<Plan> gradients;
    if (is_adam && call.inputs.empty()) gradients = plan_of_gradients(launch, call);
    const Plan plan = gradients ? *gradients : find_plan(launch, call, turn.count, depth);
    const std::int64_t elements = plan.pieces[turn.index].elements;
    const RecordedTensor tensors =
        gradients ? builder.invented(ElementType::f32, {elements}) : flat(plan.tensors[turn.index], elements);
    Op op;
    if (is_adam) {
        adam(builder, op, tensors);
    } else if (launch.name.contains("L2NormFunctor")) {
        squared_norm(builder, op, tensors, partial_sums(launch));
    } else {
        foreach_op(builder, op, launch, call, plan, turn.index);
    }
    // Small tensors make small chunks; a CTA takes whole turns of 2,048 elements.
    const std::int64_t largest = plan.pieces[turn.index].largest_chunk;
    op.set(keys::any.chunk_elements, std::max<std::int64_t>(1, (largest + 2047) / 2048) * 2048);
    // Blocks of 512 threads; a turn is four elements of a thread, in one vector but for Apex's Adam.
    op.set(keys::any.threads, 512);
    op.set(keys::any.elements_per_thread, 4);
    op.set(keys::any.vector_width, is_adam ? 1 : 4);
    if (!plan.source.empty()) assume(op, plan.source);
    builder.add(std::move(op), launch, &call);
    return true;
}

}  // namespace heddle::importers
