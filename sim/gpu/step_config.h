// Parameters of a GPU that affect a step but not a single kernel: the host, and the size of the memory.
#pragma once

#include <cstdint>

#include "models/common/parameter.h"

namespace heddle::sim {

/// The host's costs in seconds and the memory in bytes. The defaults are those of an H100 with 80 GB.
struct StepConfig {
    /// Bytes that programs can allocate, including their contexts.
    std::uint64_t memory_bytes = 81559ull << 20;
    std::uint64_t context_bytes = 520ull << 20;  ///< bytes that a process occupies before it has a tensor
    /// Allowance for free memory that an allocator cannot use, as a fraction of what is used.
    double fragmentation = 0.05;
    double dispatch = 5e-6;        ///< seconds that a framework works for each op in eager mode
    double launch = 2e-6;          ///< seconds of the driver's call that launches a kernel or starts a copy
    double graph_launch = 2.5e-6;  ///< seconds of the call that launches a CUDA graph
    /// Seconds by which the end of a kernel is delayed while a collective beside it writes 100 GB/s to other
    /// devices; the delay is proportional to the rate. The flush at a kernel's end waits for all writes in
    /// flight, including those of others (CUDA Programming Guide, 4.14.1 "Memory Fence Interference"), and
    /// their number grows with the rate.
    double peer_flush = 0;
    /// The same delay while a copy between host and device runs beside the kernel.
    double host_flush = 0;
};

/// Adds every field to `list` with its path, unit, range and meaning.
void describe(StepConfig& config, models::ParameterList& list);

}  // namespace heddle::sim
