// Parameters that affect a device's area and price but not its time: process, units that are built and
// disabled, links, memory interfaces, and the price of an hour.
#pragma once

#include <cstdint>

#include "models/common/parameter.h"

namespace heddle::sim {

/// Families of manufacturing processes, from which densities follow (sim/area/technology.h).
enum class Process : std::uint8_t { nm28, nm16, nm12, nm8, nm7, nm5, nm3 };
enum class MemoryInterface : std::uint8_t { hbm, gddr, ddr };

/// Parameters of a die. The defaults describe an H100.
struct DieConfig {
    Process process = Process::nm5;
    MemoryInterface memory = MemoryInterface::hbm;
    std::uint32_t dies = 1;         ///< GPU: dies of the device; what is counted elsewhere is of all of them
    std::uint32_t stacks = 5;       ///< stacks of HBM, chips of GDDR or channels of DDR that are used
    double stacks_enabled = 0.833;  ///< fraction of the memory interfaces on the die that is used
    double sms_enabled = 0.917;     ///< GPU: fraction of the SMs on the die that is enabled
    double l2_enabled = 0.833;      ///< GPU: fraction of the L2 on the die that is enabled
    std::uint32_t links = 18;       ///< GPU: number of links to other chips (NVLink)
    /// GPU: 1 where the die has raster, texture and ray-tracing units, display and video.
    std::uint32_t graphics = 0;
    double price_per_hour = 12.29;  ///< US dollars for an hour of one device; 0: not known
};

/// Adds the fields that this kind of device has to `list`.
void describe(DieConfig& config, bool gpu, models::ParameterList& list);

}  // namespace heddle::sim
