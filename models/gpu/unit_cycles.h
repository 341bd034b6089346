// How long the units of an SM have worked.
#pragma once

#include "models/gpu/gpu_config.h"
#include "models/gpu/sm.h"

namespace heddle::models::gpu {

/// Cycles up to now in which an SM's units worked: those of its sub-cores together, and those that they
/// share.
struct UnitCycles {
    double tensor = 0, fp32 = 0, issue = 0;  ///< of all sub-cores
    double shared_memory = 0;                ///< with L1, and operands that tensor cores fetch

    UnitCycles() = default;
    UnitCycles(const Sm& sm, const GpuConfig& config);
    /// Part of the `cycles` since `before` in which the busiest kind worked: 0..1.
    double busiest(const UnitCycles& before, double cycles, const GpuConfig& config) const;
};

}  // namespace heddle::models::gpu
