// What the parts of the instruction table have in common.
//
// Machine operations: what ptxas 13.0 -O3 emits for sm_80 and sm_90, counted in the machine code of chains of
// the instruction. Of sequences with a rare slow path (division, square root, reciprocal) the part that runs
// for ordinary numbers is counted; those that call a subroutine (16-bit and 64-bit division) are estimates.
// The pipeline is the one that does most of the work.
#pragma once

#include "isa/ptx/instruction_table.h"
#include "isa/target/generation.h"

namespace heddle::ptx::forms {

using enum Opcode;
using target::Generation;
/// Short, since every row of the table names a pipeline.
using P = Pipeline;

}  // namespace heddle::ptx::forms
