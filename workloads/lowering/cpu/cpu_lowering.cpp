#include "workloads/lowering/cpu/cpu_lowering.h"

#include <array>

#include "workloads/lowering/cpu/builder.h"

namespace heddle::lowering {
namespace on_cpu {
namespace {

// Kinds without a program: the run estimates them by a formula, and says so.
[[noreturn]] void refuse(const char* what) {
    throw Unsupported{what};
}
void lower_group_norm(Builder&) { refuse("normalisation of groups of channels"); }
void lower_group_norm_grad(Builder&) { refuse("normalisation of groups of channels"); }
void lower_quantise(Builder&) { refuse("numbers of 8 bits: no CPU here has them"); }
void lower_top_k(Builder&) { refuse("selection of the largest"); }
void lower_expert_slots(Builder&) { refuse("slots of experts, which are given in order"); }
void lower_cumulative_sum(Builder&) { refuse("running sums"); }
void lower_host_copy(Builder&) { refuse("a copy between host and device"); }
void lower_collective(Builder&) { refuse("a collective is the network's work"); }
void lower_unknown(Builder&) { refuse("nobody knows what this op computes"); }

void lower_kind(Builder& builder) {
#define HEDDLE_ROW(kind, ...) lower_##kind,
    static constexpr std::array<void (*)(Builder&), trace::kOpKinds> kinds{HEDDLE_OP_KINDS(HEDDLE_ROW)};
#undef HEDDLE_ROW
    kinds.at(static_cast<std::size_t>(builder.op().kind))(builder);
}

}  // namespace
}  // namespace on_cpu

std::uint64_t cpu_storage(const trace::Trace& trace, trace::TensorId tensor) {
    const std::uint64_t storage = trace.tensor(tensor).storage;
    return storage != 0 ? storage : (std::uint64_t{1} << 63) + tensor;
}

CpuLoweredOp lower_for_cpu(const trace::Trace& trace, trace::OpId op, const CpuTarget& target) {
    trace.check_op(op);
    try {
        on_cpu::Builder builder(trace, trace.ops.at(op), target);
        on_cpu::lower_kind(builder);
        return builder.finish();
    } catch (const on_cpu::Unsupported& unsupported) {
        CpuLoweredOp lowered;
        lowered.reason_if_not = unsupported.reason;
        return lowered;
    }
}

}  // namespace heddle::lowering
