// Lowering of a Trace to a GPU program: each op becomes launches of generated PTX kernels over device
// buffers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "isa/program/program.h"
#include "isa/target/target.h"
#include "workloads/kernels/gemm_choice.h"
#include "workloads/trace/trace.h"

namespace heddle::lowering {

/// The result of lowering one op.
struct GpuLoweredOp {
    std::uint32_t first_launch = 0;
    std::uint32_t launch_count = 0;  ///< 0 too where the launches of an op before it carry it out (lists.h)
    std::string unsupported;         ///< why there is no kernel for it; empty when there is
};

/// The program of a step, and which launches belong to which op.
struct GpuLowering {
    program::GpuProgram program;
    std::vector<GpuLoweredOp> ops;                    ///< one per op of the trace
    std::vector<program::BufferId> buffer_of_tensor;  ///< tensors of one storage share a buffer
};

/// Chooses the kernel for a product of f16, bf16, f32 or f64.
using GemmPicker =
    std::function<kernels::GemmChoice(const kernels::GemmShape&, kernels::ElementType,
                                      const target::GpuTarget&, const kernels::GemmAlignment&)>;

/// Chooses kernels and geometry for every op. Ops without a kernel are marked with the reason; nothing is
/// skipped silently. Views and zero-sized ops have no launch. Without `pick_gemm`, the kernel follows from
/// the estimate (kernels::choose_gemm) or from the tile of the op's recorded kernel.
GpuLowering lower_for_gpu(const trace::Trace& trace, const target::GpuTarget& target,
                          const GemmPicker& pick_gemm = {});

}  // namespace heddle::lowering
