// setmaxnreg: what ptxas makes of it.
#pragma once

#include "isa/ptx/module.h"

namespace heddle::ptx {

/// Registers per thread with which the kernel starts, when it has setmaxnreg and ptxas keeps it; else 0. What
/// ptxas 13.0 does, found by assembling kernels of all numbers of threads, sizes of wgmma and counts:
/// - It must know how many registers the kernel starts with, and says "ignored; unable to determine register
///   count at entry" where it does not. It knows by .maxnreg; by the number of threads with .minnctapersm;
///   and by the number of threads alone when the kernel's largest wgmma needs so many registers that a
///   multiprocessor holds one thread block.
/// - The kernel then gets all of these registers, but no more than its largest setmaxnreg.inc asks for.
/// - Where a wgmma would be performed with fewer registers than it needs, it ignores setmaxnreg as well ("to
///   maintain minimum register requirements").
unsigned registers_at_entry(const Kernel& kernel);

}  // namespace heddle::ptx
