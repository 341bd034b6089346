// The area of a die and its parts. The model applies a few densities (technology.h) to the counts of units in
// the hardware file, including units that are built and not enabled.
#pragma once

#include <string>
#include <vector>

#include "models/gpu/gpu_config.h"
#include "models/tpu/tpu_config.h"
#include "sim/config/die_config.h"

namespace heddle::sim {

/// One part of a die's area.
struct AreaPart {
    std::string name;   ///< "tensor", "l2", ...: `area.NAME` in constraints
    double mm2 = 0;     ///< area on the whole die
    std::string holds;  ///< what was counted: "144 SMs of 2048 fp16 multiply-accumulates"
    double spare = 0;   ///< mm2 of it that are built and switched off
};

/// Units that are built and not enabled, so that a die with a defect in one of them can still be sold.
struct SpareUnits {
    std::string of;  ///< "SMs", "MiB of L2", "stacks of HBM"
    double built = 0, enabled = 0;
    std::string parameter;  ///< parameter that says how much is enabled: "die.sms_enabled"
};

/// The area of a die in mm2, divided into parts.
struct DieArea {
    std::vector<AreaPart> parts;
    std::vector<SpareUnits> spare_units;  ///< set by die_area() only, which knows what is enabled
    /// Sum of all parts in mm2.
    double total() const;
    double spare() const;                      ///< mm2 of all parts that are switched off
    double of(const std::string& part) const;  ///< mm2 of the part with this name; 0 where there is none
};

/// The units of a GPU's die. die_of() derives them from a device; published dies without a hardware file can
/// be described in the same way. All counts are of what is built.
struct GpuDie {
    Process process = Process::nm5;
    double sms = 0;                                       ///< number of SMs
    double fp32 = 0, integer = 0, fp64 = 0, special = 0;  ///< lanes of an SM
    double tensor_f16 = 0, tensor_f64 = 0;                ///< multiply-accumulates per cycle of an SM
    double registers_bytes = 0, l1_bytes = 0, instruction_bytes = 0;  ///< bytes of an SM
    double tensor_memory_bytes = 0;  ///< bytes of an SM, beside the tensor cores
    double l2_bytes = 0;
    unsigned dies = 1;  ///< each has an uncore
    MemoryInterface memory = MemoryInterface::hbm;
    double stacks = 0, links = 0;
    bool graphics = false;
};

/// Derives the units of a die from a device: counts that are enabled are scaled up to those that are built.
GpuDie die_of(const models::gpu::GpuConfig& config, const DieConfig& die);
/// Computes the area of these units.
DieArea area_of(const GpuDie& die);
/// Return the area of the die as it is built, which is larger than the counts in the hardware file suggest
/// where a part of it is switched off.
DieArea die_area(const models::gpu::GpuConfig& config, const DieConfig& die);
DieArea die_area(const models::TpuConfig& config, const DieConfig& die);

}  // namespace heddle::sim
