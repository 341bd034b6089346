// The lines of a kernel on which its time is spent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/ptx/execution.h"
#include "models/gpu/kernel_result.h"

namespace heddle::kernel {

/// Sub-core cycles of one line of PTX or CUDA.
struct LineCycles {
    std::string place;  ///< "1234" in PTX, "gemm.cu:56" in CUDA
    std::string text;   ///< the line itself; empty for CUDA
    models::gpu::InstructionCycles cycles{};
    std::uint64_t total() const;
};

/// All lines with cycles, the largest total first.
struct LineProfile {
    std::vector<LineCycles> ptx, cuda;  ///< `cuda` is empty without -lineinfo
    std::uint64_t all_cycles = 0;       ///< cycles of all sub-cores that held a warp
};

/// Sums the cycles of instructions (KernelResult::profile) by line of `ptx_text`, and by line of CUDA where
/// the module has such information.
LineProfile profile_lines(const ptx::LoadedKernel& kernel, const models::gpu::KernelResult& result,
                          const std::string& ptx_text);

/// Returns two tables for people with the `shown` lines that take the most cycles. `width` is the largest
/// number of columns of a line; 0: no limit.
std::string format_profile(const LineProfile& profile, std::size_t shown, std::size_t width = 0);

}  // namespace heddle::kernel
