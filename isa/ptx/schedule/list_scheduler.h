// The order of the instructions within basic blocks.
#pragma once

#include "isa/ptx/module.h"

namespace heddle::ptx {

/// Reorders every block so that results have time to arrive: loads early, chains of one latency side by side.
/// No block needs more registers than `limit` or than it needed before, whichever is more; a block that would
/// gain little stays as it is.
void schedule_blocks(Kernel& kernel, unsigned limit);

/// Registers that a thread may have so that no fewer thread blocks fit on a multiprocessor than with
/// `needed`: to the next allocation unit, or as many as full occupancy leaves; never more than .maxnreg.
unsigned register_limit(const Kernel& kernel, unsigned needed);

}  // namespace heddle::ptx
