// How large is a die, and what takes the area? A model of few densities (technology.h) over what the hardware
// file says there is: what is built, enabled or not.
#pragma once

#include <string>
#include <vector>

#include "models/gpu/gpu_config.h"
#include "models/tpu/tpu_config.h"
#include "sim/config/die_config.h"

namespace heddle::sim {

struct AreaPart {
    std::string name;   ///< "tensor", "l2", ...: `area.NAME` in constraints
    double mm2 = 0;     ///< of the whole die
    std::string holds;  ///< what was counted: "144 SMs of 2048 fp16 multiply-accumulates"
    double spare = 0;   ///< mm2 of it that is built and switched off
};

/// Units that are built and not enabled, so that a die with a defect in one of them still sells.
struct SpareUnits {
    std::string of;  ///< "SMs", "MiB of L2", "stacks of HBM"
    double built = 0, enabled = 0;
    std::string parameter;  ///< that says how much is enabled: "die.sms_enabled"
};

struct DieArea {
    std::vector<AreaPart> parts;
    std::vector<SpareUnits> spare_units;  ///< of die_area() alone, which knows what is enabled
    double total() const;
    double spare() const;                      ///< mm2 of all parts that are switched off
    double of(const std::string& part) const;  ///< 0 where there is none of it
};

/// What there is of a GPU's die, as the model counts it; die_area() makes it of a device. Published dies that
/// have no hardware file can be described so, too.
struct GpuDie {
    Process process = Process::nm5;
    double sms = 0;                                       ///< built, as are all numbers here
    double fp32 = 0, integer = 0, fp64 = 0, special = 0;  ///< lanes of an SM
    double tensor_f16 = 0, tensor_f64 = 0;                ///< multiply-accumulates per cycle of an SM
    double registers_bytes = 0, l1_bytes = 0, instruction_bytes = 0;  ///< of an SM
    double l2_bytes = 0;
    MemoryInterface memory = MemoryInterface::hbm;
    double stacks = 0, links = 0;
    bool graphics = false;
};

GpuDie die_of(const models::gpu::GpuConfig& config, const DieConfig& die);
DieArea area_of(const GpuDie& die);
/// Of the die as it is built, more than the hardware file's counts where part of it is switched off.
DieArea die_area(const models::gpu::GpuConfig& config, const DieConfig& die);
DieArea die_area(const models::TpuConfig& config, const DieConfig& die);

}  // namespace heddle::sim
