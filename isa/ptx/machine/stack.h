// alloca, stacksave, stackrestore: local memory that a thread takes at run time. It lies behind the kernel's
// own local variables and behind the frames of called functions, as many bytes as LaunchContext::stack_bytes
// says.
#pragma once

#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {

/// nullptr for other instructions.
Handler select_stack(const Instruction& instruction);

/// Whether the kernel has one of these instructions, so that its local memory may grow.
bool uses_stack(const Kernel& kernel);

}  // namespace heddle::ptx
