// Which class of machine operations an instruction belongs to.
#pragma once

#include "isa/ptx/module.h"
#include "isa/ptx/operation.h"

namespace heddle::ptx {

/// Of an instruction that becomes several machine operations: the class of most of them.
Operation operation_of(const Instruction& instruction);

}  // namespace heddle::ptx
