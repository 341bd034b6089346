// Trace -> GPU program: each op becomes launches of generated PTX kernels over device buffers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "isa/program/program.h"
#include "isa/target/target.h"
#include "workloads/kernels/gemm_choice.h"
#include "workloads/trace/trace.h"

namespace heddle::lowering {

/// What became of one op.
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

/// Which kernel does a product of f16, bf16, f32 or f64.
using GemmPicker =
    std::function<kernels::GemmChoice(const kernels::GemmShape&, kernels::ElementType,
                                      const target::GpuTarget&, const kernels::GemmAlignment&)>;

/// Chooses kernels and geometry for every op. Ops that no kernel carries out are marked, with the reason;
/// nothing is skipped silently. Views and zero-sized ops take no launch. Without `pick_gemm` the estimate
/// decides (kernels::choose_gemm), or the tile that the op's recorded kernel had.
GpuLowering lower_for_gpu(const trace::Trace& trace, const target::GpuTarget& target,
                          const GemmPicker& pick_gemm = {});

}  // namespace heddle::lowering
