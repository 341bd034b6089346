// Which lines of a kernel its time is spent on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/ptx/execution.h"
#include "models/gpu/kernel_result.h"

namespace heddle::kernel {

/// Sub-core cycles of one line of PTX, or of CUDA.
struct LineCycles {
    std::string place;  ///< "1234" in PTX, "gemm.cu:56" in CUDA
    std::string text;   ///< the line itself; empty for CUDA
    models::gpu::InstructionCycles cycles{};
    std::uint64_t total() const;
};

struct LineProfile {
    std::vector<LineCycles> ptx, cuda;  ///< by falling total; `cuda` is empty without -lineinfo
    std::uint64_t all_cycles = 0;       ///< of all sub-cores that held a warp
};

/// Adds up the cycles of instructions (KernelResult::profile) that stand in one line of `ptx_text`.
LineProfile profile_lines(const ptx::LoadedKernel& kernel, const models::gpu::KernelResult& result,
                          const std::string& ptx_text);

/// Two tables for people, of the `shown` lines that take the most. `width`: of the lines, 0: no limit.
std::string format_profile(const LineProfile& profile, std::size_t shown, std::size_t width = 0);

}  // namespace heddle::kernel
