// From a GPU program to the list of distinct kernels to simulate: canonical buffer layout, L2 residency,
// keys.
#pragma once

#include <cstdint>
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

/// Fills a steering buffer as declared.
std::vector<std::byte> steering_values(const program::SteeringFill& fill, std::uint64_t bytes);

}  // namespace heddle::sim
