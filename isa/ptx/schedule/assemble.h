// What ptxas does between PTX and the machine, as far as time is concerned: fewer instructions in a better
// order, with every bit of the results as it was.
#pragma once

#include "isa/ptx/module.h"

namespace heddle::ptx {

/// Rewrites the kernel in place. Instructions keep the lines they came from. Kernels with functions that are
/// called when they run stay as they are.
void assemble(Kernel& kernel);

}  // namespace heddle::ptx
