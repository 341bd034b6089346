// What ptxas does between PTX and the machine, as far as time is concerned: fewer instructions in a better
// order, with every bit of the results as it was.
#pragma once

#include "isa/ptx/module.h"

namespace heddle::ptx {

/// Registers of a kernel, at most: scoreboards number them, and the carry flag, with 16 bits.
inline constexpr std::size_t kMostScoreboardRegisters = 65534;

/// Rewrites the kernel in place. Instructions keep the lines they came from. Kernels with functions that are
/// called when they run stay as they are, and so do those with more values than scoreboards number.
void assemble(Kernel& kernel);

}  // namespace heddle::ptx
