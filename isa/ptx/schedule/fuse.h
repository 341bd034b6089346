// Machine instructions do more than PTX instructions.
#pragma once

#include "isa/ptx/module.h"

namespace heddle::ptx {

/// Rewrites what PTX has an instruction for: multiply and add, chains of logic, conversions of two numbers.
/// Every bit stays the same; floating point is never contracted. True when something has changed.
bool rewrite_pairs(Kernel& kernel);

/// Sets Instruction::operations of pairs that one machine instruction does and PTX has no instruction for:
/// one of them keeps its operations and the other takes none.
void mark_absorbed(Kernel& kernel);

/// A loop that is entered at its test gets a second test at its end, so that an iteration has one branch.
bool rotate_loops(Kernel& kernel);

}  // namespace heddle::ptx
