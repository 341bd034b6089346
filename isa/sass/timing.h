// What machine code says of its own time: the control words of a function as places of a scoreboard.
//
// A warp has six barriers. An instruction of variable latency sets one that counts until its results are there, and one that
// counts until its operands have been read; others wait until barriers have come down to zero. Here each instruction that sets a
// barrier has a place of its own for it, and one that waits for a barrier waits for the places of those instructions that may
// have set it on the way there. Fixed latencies are the compiler's stall cycles.
#pragma once

#include <span>

#include "isa/ptx/module.h"
#include "isa/sass/cubin.h"

namespace heddle::sass {

/// The times of a function's instructions, by their order in `instructions`. `function` says where parameters and source lines
/// are. Throws heddle::Error that names the instruction and its byte when its opcode has no row in opcode_table.h.
ptx::MachineCode timing_of(const Cubin& cubin, const MachineFunction& function, std::span<const Instruction> instructions);

}  // namespace heddle::sass
