// What the timing model wants to know of an instruction, from its text alone.
#pragma once

#include "isa/ptx/decode/data_flow.h"
#include "isa/ptx/execution.h"
#include "isa/ptx/module.h"

namespace heddle::ptx {

/// Pipeline, machine operations, memory, synchronisation and matrix work. `compute_capability` decides where
/// generations differ; what follows from the kernel around the instruction is left for its caller.
InstructionInfo describe(const Instruction& instruction, const RegisterUse& use, unsigned compute_capability);

}  // namespace heddle::ptx
