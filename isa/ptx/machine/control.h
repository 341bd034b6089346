// Branches, exits and barriers: the instructions that change which lanes run and where.
#pragma once

#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {

/// The handler of bra, brx, ret, exit, trap, bar and barrier; nullptr for other instructions.
Handler select_control(const Instruction& instruction);
/// bar and barrier of a CTA, barrier.cluster and wgmma.wait_group.
Handler select_barrier(const Instruction& instruction);

}  // namespace heddle::ptx
