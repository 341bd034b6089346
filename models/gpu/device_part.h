// A part of a GPU in which thread blocks take the time that they take in the whole one: a share of its SMs,
// and the same share of all that SMs have in common.
#pragma once

#include <optional>

#include "models/gpu/gpu_config.h"

namespace heddle::models::gpu {

/// A configuration with fewer SMs, and the factor that relates its counts to those of the whole device.
struct DevicePart {
    GpuConfig config;  ///< complete: a Gpu can be made of it
    double share = 1;  ///< its SMs, of those of the whole device
};

/// About a quarter of the device; none when that is too small to behave alike, or when the user's own DRAM
/// model is behind it. Bandwidths of L2, memory, GPC ports and of the scheduler of thread blocks are exactly
/// this share of the whole device's; counts of slices and channels are rounded. For launches without
/// clusters.
std::optional<DevicePart> part_of(const GpuConfig& whole);

}  // namespace heddle::models::gpu
