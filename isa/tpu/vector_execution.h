// Values of vector instructions. VMEM is given as bytes; operands must have been validated.
#pragma once

#include <cstddef>
#include <span>

#include "isa/tpu/instruction.h"

namespace heddle::tpu {

/// Both perform one instruction for one iteration of the repeats around it.
void execute(const Vector& vector, const LoopCounters& counters, std::span<std::byte> vmem);
void execute(const Transpose& transpose, const LoopCounters& counters, std::span<std::byte> vmem);

}  // namespace heddle::tpu
