// Ops of PyTorch by schema: collectives of a process group (c10d), where no kernel of NCCL says which it was.
#include <algorithm>
#include <array>

#include "workloads/importers/operations.h"

namespace heddle::importers {
namespace {

struct Collective {
    const char* name;
    const char* kind;
};
constexpr std::array<Collective, 9> collectives{{
    {"c10d::allreduce_", "all_reduce"},
    {"c10d::allreduce_coalesced_", "all_reduce"},
    {"c10d::broadcast_", "broadcast"},
    {"c10d::reduce_", "reduce"},
    {"c10d::_allgather_base_", "all_gather"},
    {"c10d::_reduce_scatter_base_", "reduce_scatter"},
    {"c10d::alltoall_base_", "all_to_all"},
    {"c10d::send", "send_receive"},
    {"c10d::recv_", "send_receive"},
}};

/// (tensors, ...), or (result, operand, ...) where the sides differ in size.
void collective(Builder& builder, const Launch& launch, const Call& call) {
    const auto row = std::find_if(collectives.begin(), collectives.end(),
                                  [&call](const Collective& c) { return call.name == c.name; });
    std::vector<RecordedTensor> tensors;
    if (!call.inputs.empty()) tensors = call.inputs[0].tensors;
    const RecordedTensor* result = call.gpu_tensor(0);
    const RecordedTensor* source = call.gpu_tensor(1);
    if (result != nullptr) tensors.push_back(*result);
    if (tensors.empty()) throw NotUnderstood{"no tensors of " + call.full_name + " were recorded"};
    Op op;
    op.kind = OpKind::collective;
    op.set(keys::collective.collective, std::string(row->kind));
    std::int64_t bytes = 0;
    for (const RecordedTensor& tensor : tensors) {
        add_bytes(bytes, tensor);
        builder.input(op, source != nullptr ? *source : tensor);
        builder.output(op, tensor);
    }
    if (source != nullptr) bytes = std::max(bytes, source->elements() * bytes_of(source->type));
    op.set(keys::collective.bytes, bytes);
    if (call.ranks > 0) op.set(keys::collective.ranks, call.ranks);
    builder.add(std::move(op), launch, &call);
}

}  // namespace

const OperationTable& collective_operations() {
    static const OperationTable table = [] {
        OperationTable made;
        for (const Collective& row : collectives) made[row.name] = collective;
        return made;
    }();
    return table;
}

}  // namespace heddle::importers
