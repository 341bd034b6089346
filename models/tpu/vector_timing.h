// How long the vector unit and its cross-lane unit take for an instruction.
#pragma once

#include "models/common/cycle.h"
#include "models/tpu/on_chip_memory.h"
#include "models/tpu/tpu_config.h"

namespace heddle::models {

/// Times of one instruction on the unit that carries it out.
struct VectorTiming {
    Cycle cycles = 0;              ///< from the first to the last cycle, both included
    OnChipRate rate;               ///< mean bytes per cycle
    std::uint64_t operations = 0;  ///< ALU and transcendental operations on whole registers
};

/// A tile of rows x columns is ceil(rows / 8) x ceil(columns / 128) registers. Each needs the kernel's loads,
/// stores, ALU and transcendental operations; the slot that is needed most sets the pace (the code is a
/// software pipeline). bf16 tiles are packed: half the loads and stores of fp32. A broadcast row is loaded
/// once per 128 columns, a broadcast column once per 8 rows. Reductions over lanes cost the cross-lane unit
/// per 8 rows, over sublanes per 128 columns.
VectorTiming time_of(const tpu::Vector& vector, const VectorUnitConfig& config);
VectorTiming time_of(const tpu::Transpose& transpose, const VectorUnitConfig& config);

}  // namespace heddle::models
