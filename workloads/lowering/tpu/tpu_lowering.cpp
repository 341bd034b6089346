#include "workloads/lowering/tpu/tpu_lowering.h"

#include <array>

#include "isa/common/error.h"
#include "workloads/lowering/tpu/attention_common.h"
#include "workloads/lowering/tpu/channel_norm.h"
#include "workloads/lowering/tpu/convolution.h"
#include "workloads/lowering/tpu/lstm_cell.h"
#include "workloads/lowering/tpu/map.h"
#include "workloads/lowering/tpu/matmul.h"
#include "workloads/lowering/tpu/pooling.h"
#include "workloads/lowering/tpu/program_builder.h"
#include "workloads/lowering/tpu/reduce.h"
#include "workloads/lowering/tpu/rows_by_index.h"
#include "workloads/lowering/tpu/rowwise.h"
#include "workloads/lowering/tpu/selection.h"

namespace heddle::lowering {
namespace {

using on_tpu::ProgramBuilder;
using on_tpu::Unsupported;

void lower_host_copy(ProgramBuilder&) {
    throw Unsupported{"a copy between host and device is not the core's work"};
}

void lower_collective(ProgramBuilder&) {
    throw Unsupported{"a collective is the network's work"};
}

void lower_unknown(ProgramBuilder&) {
    throw Unsupported{"nobody knows what this op computes"};
}

/// A function that carries out an op, with the options or without.
struct Lowering {
    constexpr Lowering(void (*function)(ProgramBuilder&)) : plain(function) {}
    constexpr Lowering(void (*function)(ProgramBuilder&, const TpuLoweringOptions&))
        : with_options(function) {}
    void (*plain)(ProgramBuilder&) = nullptr;
    void (*with_options)(ProgramBuilder&, const TpuLoweringOptions&) = nullptr;
};

void lower_kind(ProgramBuilder& program, const TpuLoweringOptions& options) {
    using namespace on_tpu;
#define HEDDLE_ROW(kind, ...) Lowering(lower_##kind),
    static constexpr std::array<Lowering, trace::kOpKinds> kinds{HEDDLE_OP_KINDS(HEDDLE_ROW)};
#undef HEDDLE_ROW
    const Lowering& lowering = kinds.at(static_cast<std::size_t>(program.op().kind));
    if (lowering.plain != nullptr) return lowering.plain(program);
    lowering.with_options(program, options);
}

}  // namespace

LoweredOp lower(const trace::Trace& trace, trace::OpId op, const target::TpuTarget& target,
                const TensorPlacement& placement, const TpuLoweringOptions& options) {
    if (options.matmul_passes != 1 && options.matmul_passes != 3 && options.matmul_passes != 6) {
        throw Error("matrix products in " + std::to_string(options.matmul_passes) + " passes", {},
                    "1, 3 or 6");
    }
    trace.check_op(op);
    LoweredOp lowered;
    try {
        ProgramBuilder program(trace, op, target, placement);
        lower_kind(program, options);
        lowered.program = program.finish();
        lowered.schedule = program.schedule();
        lowered.workspace_bytes = program.workspace_bytes();
        lowered.supported = true;
    } catch (const Unsupported& unsupported) {
        lowered.reason_if_not = unsupported.reason;
    }
    return lowered;
}

LoweredOp lower(const trace::Trace& trace, trace::OpId op, const target::TpuTarget& target,
                const TpuLoweringOptions& options) {
    const std::array<trace::OpId, 1> only{op};
    return lower(trace, op, target, TensorPlacement(trace, target, only), options);
}

}  // namespace heddle::lowering
