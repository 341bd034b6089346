// Which class of machine operations an instruction belongs to.
#pragma once

#include "isa/ptx/module.h"
#include "isa/ptx/operation.h"

namespace heddle::ptx {

/// The class of the machine operation that the instruction becomes; where it becomes several, the class of
/// most of them.
Operation operation_of(const Instruction& instruction);

}  // namespace heddle::ptx
