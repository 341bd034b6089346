// Branches, exits and barriers: the instructions that change which lanes run and where.
#pragma once

#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {

/// The handler of bra, ret, exit, trap, bar and barrier; nullptr for other instructions.
Handler select_control(const Instruction& instruction);

/// Goes on with the lanes that wait where the present path has arrived, or with another path when no lane is
/// left. Ends the warp when there is none.
void resume_waiting_path(Warp::State& warp);

}  // namespace heddle::ptx
