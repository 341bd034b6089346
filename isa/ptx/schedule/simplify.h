// Values: the same ones, from fewer instructions.
#pragma once

#include "isa/ptx/module.h"

namespace heddle::ptx {

/// Copies and constants go to where they are used, constants are folded, and additions of a constant go into
/// the offsets of addresses. True when something has changed.
bool propagate_values(Kernel& kernel);

/// Instructions that compute what an earlier one, which every way to them passes, has computed become moves.
bool merge_common_values(Kernel& kernel);

/// Leaves out instructions whose results nobody reads, and branches to the next instruction.
bool remove_dead_code(Kernel& kernel);

}  // namespace heddle::ptx
