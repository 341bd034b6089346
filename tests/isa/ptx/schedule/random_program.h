// Random PTX kernels that any two correct assemblers must agree on: no races, no traps, every address valid.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "isa/ptx/machine/machine.h"

namespace heddle::ptx::test {

inline constexpr unsigned kRandomThreads = 64;       ///< of the one block that runs such a kernel
inline constexpr unsigned kRandomSliceBytes = 512;   ///< of global and of shared memory, for each thread
inline constexpr unsigned kRandomResultBytes = 256;  ///< that each thread writes at the end

/// A module with the kernel `test(.u64 data, .u64 results)`: `data` are kRandomThreads slices, `results`
/// kRandomThreads times kRandomResultBytes. Branches diverge, loops turn up to four times.
std::string random_module(std::uint32_t seed);

/// What a run leaves in `data` and `results`.
struct RandomRun {
    std::vector<std::uint32_t> data, results;
    bool operator==(const RandomRun&) const = default;
};

/// Runs such a kernel on data that follow from `seed`.
RandomRun run_random(const LoadedKernel& kernel, std::uint32_t seed);

}  // namespace heddle::ptx::test
