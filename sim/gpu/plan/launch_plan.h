// From a GPU program to the list of distinct kernels to simulate: canonical buffer layout, L2 residency,
// keys.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "isa/program/program.h"
#include "isa/ptx/execution.h"

namespace heddle::sim {

/// A buffer of one launch, in the canonical layout: buffers are allocated in the order in which the arguments
/// name them first, so a kernel's time does not depend on where a step happened to put its tensors.
struct PlannedBuffer {
    program::BufferId buffer = 0;
    std::uint64_t resident_bytes = 0;  ///< its tail that previous kernels left in L2
    bool dirty = false;                ///< those bytes are still to be written to memory
    /// They lie at the ends of so many equal parts of the buffer.
    unsigned parts = 1;
};

struct PlannedLaunch {
    const program::KernelLaunch* launch = nullptr;
    std::vector<PlannedBuffer> buffers;
    /// Lines of L2 in which nothing of `buffers` lies hold what others read and wrote: the part that is still
    /// to be written to memory. None: these lines are empty.
    std::optional<double> others_dirty;
    ptx::Assembly assembly = ptx::Assembly::scheduled;
    /// Programmatic: the cycle in which the launch before has ended (models::gpu::RunOptions).
    std::uint64_t dependency_release = 0;
    std::string key;  ///< everything that its time depends on, but for the device
};

/// The same launch, released in another cycle; its key follows.
PlannedLaunch released_at(const PlannedLaunch& planned, std::uint64_t cycle);

/// Plans every launch of the program in order. `l2_bytes` is the capacity for the residency pass.
std::vector<PlannedLaunch> plan_launches(const program::GpuProgram& program, std::uint64_t l2_bytes,
                                         ptx::Assembly assembly = ptx::Assembly::scheduled);

/// What a launch does with the buffers that its arguments name.
struct LaunchUse {
    std::set<program::BufferId> reads, writes;
};

/// L2 in the midst of a step. It is full. Kernels that go through several buffers leave a part of each. Who
/// brings lines in takes the place of results of others, which go to memory first; and over a step as much
/// goes to memory as is written. So of the lines that a launch replaces as many are taken to be still to be
/// written as it makes dirty itself: each pays for as much as it writes.
struct L2InUse {
    std::uint64_t bytes_per_partition = 0;
    unsigned partitions = 1;
    std::vector<LaunchUse> uses;  ///< by launch
};
std::vector<PlannedLaunch> plan_launches(const program::GpuProgram& program, const L2InUse& l2,
                                         ptx::Assembly assembly = ptx::Assembly::scheduled);

/// Fills a steering buffer as declared.
std::vector<std::byte> steering_values(const program::SteeringFill& fill, std::uint64_t bytes);

}  // namespace heddle::sim
