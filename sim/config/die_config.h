// What decides about a device's area and price but not about its time: process, what is built and not
// enabled, links, memory interfaces, and what an hour of it costs.
#pragma once

#include <cstdint>

#include "models/common/parameter.h"

namespace heddle::sim {

/// Families of processes: area follows from them (sim/area/technology.h).
enum class Process : std::uint8_t { nm28, nm16, nm12, nm8, nm7, nm5, nm3 };
enum class MemoryInterface : std::uint8_t { hbm, gddr, ddr };

/// The defaults describe an H100.
struct DieConfig {
    Process process = Process::nm5;
    MemoryInterface memory = MemoryInterface::hbm;
    std::uint32_t stacks = 5;    ///< of HBM, or chips of GDDR, or channels of DDR, that are used
    double stacks_enabled = 0.833;  ///< of the interfaces on the die, the part that is used
    double sms_enabled = 0.917;     ///< GPU: of the SMs on the die
    double l2_enabled = 0.833;      ///< GPU: of the L2 on the die
    std::uint32_t links = 18;    ///< GPU: to other chips (NVLink)
    std::uint32_t graphics = 0;  ///< GPU: 1: with raster, texture and ray-tracing units, display and video
    double price_per_hour = 12.29;  ///< US dollars; 0: not for rent
};

/// Lists the fields that this kind of device has.
void describe(DieConfig& config, bool gpu, models::ParameterList& list);

}  // namespace heddle::sim
