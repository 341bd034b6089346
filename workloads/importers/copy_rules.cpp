// Copies and casts, concatenation, copies between host and device, memset, collectives.
#include <algorithm>

#include "workloads/importers/operands.h"
#include "workloads/importers/rules.h"

namespace heddle::importers {
namespace {

void pointwise_copy(Builder& builder, const Launch& launch) {
    // copy_(self, source)
    const Call& call = need(launch.enclosing({"copy", "_to_copy", "clone", "contiguous"}), "copy");
    Op op;
    op.kind = OpKind::copy;
    const bool in_place = call.name == "copy";
    builder.input(op, need(call.gpu_tensor(in_place ? 1 : 0), "source of the copy"));
    builder.output(op, need(in_place ? call.gpu_tensor(0) : call.output_tensor(0), "target of the copy"));
    if (launch.name.function == "vectorized_elementwise_kernel") {
        op.set(keys::any.vector_width, launch.name.integer(0).value_or(1));
    } else if (launch.name.function == "elementwise_kernel") {
        op.set(keys::any.vector_width, 1);
        op.set(keys::any.elements_per_thread, launch.name.integer(1).value_or(1));
        op.set(keys::any.strided, 1);
        op.set(keys::any.in_turn, 1);
    } else {
        op.set(keys::any.vector_width, 1);
        op.set(keys::any.elements_per_thread, 4);
        op.set(keys::any.strided, !launch.name.contains("TrivialOffsetCalculator"));
        op.set(keys::any.casting, launch.name.contains("LoadWithCast"));
    }
    builder.add(std::move(op), launch, &call);
}

RecordedTensor flat(const RecordedTensor& tensor) {
    RecordedTensor result = tensor;
    result.shape = {tensor.elements()};
    result.strides = {1};
    return result;
}

const Call* concatenating_call(const Launch& launch) {
    for (const Call* call : launch.recording.enclosing(launch.kernel)) {
        const bool named = call->name == "cat" || call->name == "concat" || call->name == "stack" ||
                           call->name == "flatten_dense_tensors";
        if (named && !call->inputs.empty() && !call->inputs[0].tensors.empty()) return call;
    }
    return nullptr;
}

/// One launch takes at most as many tensors as its template says; longer lists take several launches in
/// order.
void concatenate(Builder& builder, const Launch& launch) {
    const Call& call = need(concatenating_call(launch), "concatenation");
    std::vector<RecordedTensor> tensors = call.inputs[0].tensors;
    RecordedTensor result = need(call.output_tensor(0), "result of the concatenation");
    std::int64_t axis = integer_operand(call, 1, 0);
    if (axis < 0) axis += static_cast<std::int64_t>(result.shape.size());
    if (call.name == "flatten_dense_tensors" || call.name == "stack") {
        if (axis != 0) throw NotUnderstood{"stacking along an inner axis"};
        for (RecordedTensor& tensor : tensors) tensor = flat(tensor);
        result = flat(result);
    }
    const auto turn = launch.turn_in(call);
    const auto batch = static_cast<std::size_t>(launch.name.integer(3).value_or(128));
    if (turn.count > 1) {
        if (axis != 0) throw NotUnderstood{"a concatenation of several launches along an inner axis"};
        const auto scalar = [](const RecordedTensor& tensor) { return tensor.shape.empty(); };
        if (scalar(result) || std::any_of(tensors.begin(), tensors.end(), scalar))
            throw NotUnderstood{"joined scalars"};
        const std::size_t first = turn.index * batch, last = std::min(first + batch, tensors.size());
        if (first >= tensors.size()) throw NotUnderstood{"more launches than tensors"};
        const std::int64_t row = result.shape[0] > 0 ? result.elements() / result.shape[0] : 0;
        std::int64_t skipped = 0, taken = 0;
        for (std::size_t i = 0; i < last; ++i) (i < first ? skipped : taken) += tensors[i].shape[0];
        tensors = {tensors.begin() + static_cast<std::ptrdiff_t>(first),
                   tensors.begin() + static_cast<std::ptrdiff_t>(last)};
        result.offset += skipped * row;
        result.shape[0] = taken;
    }
    Op op;
    op.kind = OpKind::concat;
    op.set(keys::concat.axis, axis);
    for (const RecordedTensor& tensor : tensors) builder.input(op, tensor);
    builder.output(op, result);
    builder.add(std::move(op), launch, &call);
}

/// FBGEMM moves the columns of pooled embeddings, feature by feature, to where another order of features or
/// another device wants them (permute_pooled_embedding_ops.cu, layout_transform_ops.cu): every element is
/// read once and written once, by vectors of four floats where a feature begins at such an address.
void moved_columns(Builder& builder, const Launch& launch) {
    const Call& call = need(launch.recording.parent(launch.kernel), "call that moves columns");
    const RecordedTensor& source = need(call.gpu_tensor(0), "embeddings to move");
    const RecordedTensor& target = need(call.output_tensor(0), "moved embeddings");
    if (source.elements() != target.elements()) throw NotUnderstood{"columns are moved and not all kept"};
    Op op;
    op.kind = OpKind::copy;
    op.set(keys::any.vector_width, 4);
    assume(op, "columns in the order in which they were: the order of features was not recorded");
    builder.input(op, source);
    builder.output(op, target);
    builder.add(std::move(op), launch, &call);
}

/// A copy of recorded size whose ends were not recorded.
void copy_of_bytes(Builder& builder, const Launch& launch, const Call& call) {
    const std::int64_t bytes = launch.kernel.copied_bytes;
    if (bytes <= 0) throw NotUnderstood{"neither what was copied nor its size was recorded"};
    const bool words = bytes % 4 == 0;
    const ElementType type = words ? ElementType::f32 : ElementType::u8;
    const Shape shape{words ? bytes / 4 : bytes};
    Op op;
    op.kind = OpKind::copy;
    assume(op, "memory of its own, of the recorded size");
    builder.input(op, builder.invented(type, shape));
    builder.output(op, builder.invented(type, shape));
    builder.add(std::move(op), launch, &call);
}

/// Source and target of a memory copy: copy_(target, source), a scalar read back, or a list copied piece by
/// piece.
void memory_copy(Builder& builder, const Launch& launch) {
    const std::string& name = launch.kernel.full_name;
    const bool to_device = name.find("HtoD") != std::string::npos,
               to_host = name.find("DtoH") != std::string::npos;
    Op op;
    op.kind = to_device || to_host ? OpKind::host_copy : OpKind::copy;
    if (to_device) op.set(keys::host_copy.direction, "host_to_device");
    if (to_host) op.set(keys::host_copy.direction, "device_to_host");
    if (op.kind == OpKind::host_copy) {
        const bool pinned = name.find("Pinned") != std::string::npos;
        op.set(keys::host_copy.host_memory, pinned ? "pinned" : "pageable");
    }
    const Call* call = launch.enclosing({"copy", "_local_scalar_dense"});
    if (call == nullptr && !to_device && !to_host) {
        call = concatenating_call(launch);
        if (call == nullptr) {
            copy_of_bytes(builder, launch, need(launch.enclosing({"cat", "concat"}), "call that copies"));
            return;
        }
        const auto turn = launch.turn_in(*call);
        const auto& parts = call->inputs[0].tensors;
        if (turn.index >= parts.size()) throw NotUnderstood{"more copies than tensors"};
        // The kernel hangs under the view of the result that it fills.
        const Call& view = need(launch.recording.parent(launch.kernel), "view of the result");
        RecordedTensor target = need(view.output_tensor(0), "part of the result");
        builder.input(op, parts[turn.index]);
        builder.output(op, target);
        builder.add(std::move(op), launch, call);
        return;
    }
    const Call& copying = need(call, "call that copies");
    if (copying.name == "_local_scalar_dense") {
        builder.input(op, need(copying.gpu_tensor(0), "scalar"));
    } else {
        if (!to_device) builder.input(op, need(copying.gpu_tensor(1), "source of the copy"));
        if (!to_host) builder.output(op, need(copying.gpu_tensor(0), "target of the copy"));
    }
    builder.add(std::move(op), launch, &copying);
}

void memory_set(Builder& builder, const Launch& launch) {
    const Call& call =
        need(launch.enclosing({"zero", "fill", "zeros", "zeros_like"}), "call that clears memory");
    const RecordedTensor* target = call.gpu_tensor(0) != nullptr ? call.gpu_tensor(0) : call.output_tensor(0);
    Op op;
    op.kind = OpKind::fill;
    op.set(keys::fill.value, 0.0);
    builder.output(op, need(target, "cleared tensor"));
    builder.add(std::move(op), launch, &call);
}

}  // namespace

bool copy_rule(Builder& builder, const Launch& launch) {
    const std::string& name = launch.kernel.full_name;
    if (name.rfind("Memcpy", 0) == 0) {
        memory_copy(builder, launch);
    } else if (name.rfind("Memset", 0) == 0) {
        memory_set(builder, launch);
    } else if (launch.name.function.rfind("CatArrayBatchedCopy", 0) == 0) {
        concatenate(builder, launch);
    } else if (launch.name.function == "permute_pooled_embs_kernel" ||
               launch.name.function == "recat_copy_async_kernel" ||
               launch.name.function == "recat_copy_kernel") {
        moved_columns(builder, launch);
    } else if (launch.name.contains("direct_copy_kernel")) {
        pointwise_copy(builder, launch);
    } else {
        return false;
    }
    return true;
}

bool collective_rule(Builder& builder, const Launch& launch) {
    const std::string& name = launch.kernel.full_name;
    if (name.rfind("nccl", 0) != 0) return false;
    static constexpr std::pair<const char*, const char*> kinds[] = {
        {"AllReduce", "all_reduce"}, {"ReduceScatter", "reduce_scatter"},
        {"AllGather", "all_gather"}, {"Broadcast", "broadcast"},
        {"Reduce", "reduce"},        {"SendRecv", "send_receive"},
        {"AllToAll", "all_to_all"},
    };
    Op op;
    op.kind = OpKind::collective;
    for (const auto& [part, kind] : kinds) {
        if (!op.has(keys::collective.collective) && name.find(part) != std::string::npos) {
            op.set(keys::collective.collective, std::string(kind));
        }
    }
    if (!op.has(keys::collective.collective)) throw NotUnderstood{"NCCL kernel of an unknown collective"};
    // record_param_comms(tensors, sequence, [group, description], rank, name, ..., start, stride, size of the
    // group)
    const Call* comms = launch.enclosing({"record_param_comms"});
    const Call* call = launch.recording.parent(launch.kernel);
    if (call == nullptr) call = &launch.kernel;
    std::int64_t bytes = 0;
    for (const Argument& argument : call->inputs) {
        std::vector<RecordedTensor> tensors = argument.tensors;
        if (argument.tensor) tensors.push_back(*argument.tensor);
        for (const RecordedTensor& tensor : tensors) {
            if (!tensor.on_gpu()) continue;
            add_bytes(bytes, tensor);
            builder.input(op, tensor);
            builder.output(op, tensor);
        }
    }
    bytes = launch.kernel.collective_bytes >= 0 ? launch.kernel.collective_bytes : bytes;
    if (bytes <= 0) throw NotUnderstood{"the size of the collective was not recorded"};
    op.set(keys::collective.bytes, bytes);
    std::int64_t blocks = launch.kernel.grid.empty() ? 0 : 1;
    for (const std::int64_t extent : launch.kernel.grid) blocks *= extent;
    if (blocks > 0) op.set(keys::collective.thread_blocks, blocks);
    if (comms != nullptr && !comms->inputs.empty()) {
        const std::int64_t ranks = integer_operand(*comms, comms->inputs.size() - 1, 0);
        if (comms->inputs.size() >= 9 && ranks > 0) op.set(keys::collective.ranks, ranks);
        if (comms->inputs.size() > 2 && comms->inputs[2].value.list() != nullptr &&
            !comms->inputs[2].value.list()->empty() &&
            comms->inputs[2].value.list()->front().text() != nullptr) {
            op.set(keys::collective.group, *comms->inputs[2].value.list()->front().text());
        }
    }
    // A group of one has no kernel: what says so is of another run.
    if (op.get(keys::collective.ranks, 1) <= 1 && launch.kernel.ranks > 1)
        op.set(keys::collective.ranks, launch.kernel.ranks);
    builder.add(std::move(op), launch, call);
    return true;
}

}  // namespace heddle::importers
