// What decides about a step but not about a kernel: the host, and how much memory there is. Of GPUs.
#pragma once

#include <cstdint>

#include "models/common/parameter.h"

namespace heddle::sim {

struct StepConfig {
    std::uint64_t memory_bytes = 81559ull << 20;  ///< what programs can ask for, their contexts included
    std::uint64_t context_bytes = 520ull << 20;   ///< taken by a process before it has a tensor
    /// Allowance: free memory that an allocator cannot use, as a part of what is used.
    double fragmentation = 0.05;
    double dispatch = 5e-6;        ///< seconds of a framework's work for an op, in eager mode
    double launch = 2e-6;          ///< seconds of the driver's call that launches a kernel or starts a copy
    double graph_launch = 2.5e-6;  ///< seconds of the call that launches a CUDA graph
    /// Seconds that the end of a kernel waits while a collective beside it writes 100 GB/s to other devices:
    /// the flush at a kernel's end waits for all writes on their way, those of others too (CUDA Programming
    /// Guide, 4.14.1 "Memory Fence Interference"), and how many are on their way grows with the rate.
    double peer_flush = 0;
    /// The same, while a copy between host and device runs beside the kernel.
    double host_flush = 0;
};

/// Lists every field with its path, unit, range and meaning.
void describe(StepConfig& config, models::ParameterList& list);

}  // namespace heddle::sim
