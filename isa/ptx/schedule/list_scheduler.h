// The order of the instructions within basic blocks.
#pragma once

#include "isa/ptx/module.h"

namespace heddle::ptx {

/// Reorders every block so that results have time to arrive: loads early, chains of one latency side by side.
/// No block needs more registers than `register_limit` or than it needed before, whichever is more; a block
/// that would gain nothing stays as it is.
void schedule_blocks(Kernel& kernel, unsigned register_limit);

/// Registers that a thread may have without fewer thread blocks fitting on a multiprocessor than with
/// `needed`; never more than .maxnreg.
unsigned register_limit(const Kernel& kernel, unsigned needed);

}  // namespace heddle::ptx
