// The order of the instructions within basic blocks.
#pragma once

#include <vector>

#include "isa/ptx/module.h"

namespace heddle::ptx {

/// The instructions in an order in which results have time to arrive: loads early, chains of one latency side
/// by side. Blocks stay where they are.
/// No block has more live registers than `limit` or than it had before, whichever is more; a block that would
/// gain little stays as it is.
std::vector<Instruction> schedule_blocks(const Kernel& kernel, unsigned limit);

/// Registers that a thread may have so that no fewer thread blocks fit on a multiprocessor than with
/// `needed`: to the next allocation unit, or as many as full occupancy leaves; never more than .maxnreg.
unsigned register_limit(const Kernel& kernel, unsigned needed);

}  // namespace heddle::ptx
