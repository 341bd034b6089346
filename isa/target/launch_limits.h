// What no GPU launches, whatever the kernel is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace heddle::target {

/// Thread blocks of the grid, threads of a thread block, thread blocks of a cluster: in x, y and z.
struct LaunchExtents {
    std::array<std::uint64_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};  ///< x, y, z
};

/// The first limit that a launch breaks.
struct LaunchFault {
    const char* part;     ///< "grid", "block" or "cluster"
    std::string problem;  ///< "a grid has at most 65535 blocks in y, this has 2147483648"
};

/// The first of CUDA's limits that the launch breaks: those that hold for every compute capability (CUDA C++
/// Programming Guide, "Technical Specifications per Compute Capability"), and clusters of at most 16 thread
/// blocks that fill the grid. Nothing: it can be launched. For launches that others wrote down; those that
/// Heddle makes of ops may have more blocks in y and z than one launch on a GPU.
std::optional<LaunchFault> fault_of(const LaunchExtents& launch);

}  // namespace heddle::target
