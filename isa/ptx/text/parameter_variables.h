// What becomes of variables of parameter space when calls have been copied in place. Internal to the parser.
#pragma once

#include "isa/ptx/text/local_memory.h"

namespace heddle::ptx {

/// A scalar that is only accessed whole becomes a register; the others get places in local memory.
void replace_parameter_variables(Kernel& kernel, LocalMemory& local);

}  // namespace heddle::ptx
