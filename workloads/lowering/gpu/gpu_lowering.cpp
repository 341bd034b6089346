#include "workloads/lowering/gpu/gpu_lowering.h"

#include <array>

#include "isa/common/error.h"
#include "workloads/lowering/gpu/builder.h"
#include "workloads/lowering/gpu/lists.h"

namespace heddle::lowering {
namespace {

void lower_op(GpuProgramBuilder& builder) {
#define HEDDLE_ROW(kind, ...) lower_##kind,
    static constexpr std::array<void (*)(GpuProgramBuilder&), trace::kOpKinds> kinds{
        HEDDLE_OP_KINDS(HEDDLE_ROW)};
#undef HEDDLE_ROW
    kinds.at(static_cast<std::size_t>(builder.op().kind))(builder);
}

/// False, and nothing launched, where the ops must go one by one.
bool lowered_as_list(GpuProgramBuilder& builder, std::size_t first, std::size_t count) {
    const std::uint32_t before = builder.launches();
    try {
        lower_list(builder, static_cast<trace::OpId>(first), count);
        return true;
    } catch (const Unsupported&) {
        builder.drop_launches(before);
        return false;
    }
}

}  // namespace

void lower_host_copy(GpuProgramBuilder&) {
    throw Unsupported{"host copy"};
}

void lower_collective(GpuProgramBuilder&) {
    throw Unsupported{"collective"};
}

void lower_unknown(GpuProgramBuilder&) {
    throw Unsupported{"not understood"};
}

GpuLowering lower_for_gpu(const trace::Trace& trace, const target::GpuTarget& target,
                          const GemmPicker& pick_gemm) {
    GpuProgramBuilder builder(trace, target, pick_gemm);
    GpuLowering lowering;
    lowering.ops.resize(trace.ops.size());
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
        GpuLoweredOp& lowered = lowering.ops[i];
        lowered.first_launch = builder.launches();
        const std::size_t together = list_length(trace, i);
        if (together > 1 && lowered_as_list(builder, i, together)) {
            lowered.launch_count = builder.launches() - lowered.first_launch;
            for (std::size_t k = 1; k < together; ++k) lowering.ops[i + k].first_launch = builder.launches();
            i += together - 1;
            continue;
        }
        builder.begin_op(static_cast<trace::OpId>(i));
        try {
            lower_op(builder);
            lowered.launch_count = builder.launches() - lowered.first_launch;
        } catch (const Unsupported& unsupported) {
            builder.drop_launches(lowered.first_launch);
            lowered.unsupported = unsupported.reason;
        } catch (const Error& error) {  // a generator has no kernel of this kind: of a type, or a size
            builder.drop_launches(lowered.first_launch);
            lowered.unsupported = error.problem();
        }
    }
    lowering.buffer_of_tensor = builder.buffers_of_tensors();
    lowering.program = builder.take_program();
    return lowering;
}

}  // namespace heddle::lowering
