// Values that find no register: they lie in local memory, as ptxas puts them there.
#pragma once

#include "isa/ptx/module.h"

namespace heddle::ptx {

/// Registers that a thread of the kernel may have: by .maxnreg, by .maxntid with .minnctapersm, by the
/// machine. A kernel with setmaxnreg (register_changes.h) gets more while it runs: what the machine allows.
unsigned register_ceiling(const Kernel& kernel);

/// The same by .maxntid with .minnctapersm alone; or with `ctas` thread blocks on a multiprocessor.
unsigned launch_bound_registers(const Kernel& kernel);
unsigned launch_bound_registers(const Kernel& kernel, unsigned ctas);

/// Puts values into local memory until the allocation needs at most `limit` registers: those that cost the
/// fewest loads and stores, weighed by the depth of their loops, for the most crowded instructions that they
/// span. Each value gets a slot of its own, is stored where it is written and loaded where it is read, once
/// for reads between which registers are left. What cannot be spilled (operands of wgmma, results that
/// another instruction absorbs) keeps its register. Where the limit cannot be reached so, nothing is spilled at
/// all and the kernel stays above it: ptxas, which moves and computes again more freely, gets such kernels in
/// with a few bytes. Returns whether anything was spilled.
bool spill_registers(Kernel& kernel, unsigned limit);

}  // namespace heddle::ptx
