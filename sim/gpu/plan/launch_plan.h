// From a GPU program to the list of kernels to simulate: canonical buffer layout, L2 residency and keys.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "isa/program/program.h"
#include "isa/ptx/execution.h"

namespace heddle::sim {

/// A buffer of one launch in the canonical layout: buffers are allocated in the order in which the arguments
/// first name them, so a kernel's time does not depend on where a step happened to place its tensors.
struct PlannedBuffer {
    program::BufferId buffer = 0;
    std::uint64_t resident_bytes = 0;  ///< bytes at its end that previous kernels left in L2
    bool dirty = false;                ///< those bytes have not been written to memory yet
    /// The buffer consists of this many equal parts; the resident bytes are divided over the ends of the
    /// parts.
    unsigned parts = 1;
};

/// One launch with everything that determines its time.
struct PlannedLaunch {
    const program::KernelLaunch* launch = nullptr;
    std::vector<PlannedBuffer> buffers;
    /// Fraction of the L2 lines that belong to other launches' data and are dirty. Nothing: those lines are
    /// empty.
    std::optional<double> others_dirty;
    ptx::Assembly assembly = ptx::Assembly::scheduled;
    /// For programmatic launches: the cycle in which the previous launch has ended (models::gpu::RunOptions).
    std::uint64_t dependency_release = 0;
    std::string key;  ///< everything that its time depends on except the device
};

/// Returns the same launch with another dependency_release; its key changes accordingly.
PlannedLaunch released_at(const PlannedLaunch& planned, std::uint64_t cycle);

/// Plans every launch of the program in order. The residency pass assumes an empty L2 of `l2_bytes` at the
/// start.
std::vector<PlannedLaunch> plan_launches(const program::GpuProgram& program, std::uint64_t l2_bytes,
                                         ptx::Assembly assembly = ptx::Assembly::scheduled);

/// The buffers, among those that its arguments name, that a launch reads and writes.
struct LaunchUse {
    std::set<program::BufferId> reads, writes;
};

/// L2 as a step finds it that runs between other steps: full. Kernels that use several buffers leave a part
/// of each. A line that is brought in replaces a line of another kernel's result, which is written to memory
/// first, and over a step as many bytes are written to memory as are stored. Therefore the number of dirty
/// lines among those that a launch replaces is taken to be the number that it dirties itself.
struct L2InUse {
    std::uint64_t bytes_per_partition = 0;
    unsigned partitions = 1;
    std::vector<LaunchUse> uses;  ///< one for each launch
};

/// Plans every launch of the program in order, with an L2 that is in use.
std::vector<PlannedLaunch> plan_launches(const program::GpuProgram& program, const L2InUse& l2,
                                         ptx::Assembly assembly = ptx::Assembly::scheduled);

/// Returns the contents of a steering buffer of `bytes` bytes, whose values determine addresses or branches
/// and are therefore needed in timing mode.
std::vector<std::byte> steering_values(const program::SteeringFill& fill, std::uint64_t bytes);

}  // namespace heddle::sim
