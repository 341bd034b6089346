#include "isa/ptx/schedule/assemble.h"

#include "isa/ptx/schedule/definitions.h"
#include "isa/ptx/schedule/fuse.h"
#include "isa/ptx/schedule/list_scheduler.h"
#include "isa/ptx/schedule/simplify.h"

namespace heddle::ptx {

void assemble(Kernel& kernel) {
    constexpr unsigned kRounds = 4;
    // Scoreboards number registers with 16 bits.
    constexpr std::size_t kMostRegisters = 30000;
    if (!kernel.functions.empty() || kernel.registers.size() > kMostRegisters) return;
    rotate_loops(kernel);
    split_webs(kernel);
    for (unsigned round = 0; round < kRounds; ++round) {
        bool changed = propagate_values(kernel);
        changed = merge_common_values(kernel) || changed;
        changed = remove_dead_code(kernel) || changed;
        changed = rewrite_pairs(kernel) || changed;
        if (!changed) break;
    }
    mark_absorbed(kernel);
    const Definitions definitions(kernel);
    const unsigned needed =
        count_registers(kernel, definitions.uses(), definitions.flow(), definitions.liveness());
    constexpr unsigned kReserved = 4;
    const unsigned limit = register_limit(kernel, needed);
    schedule_blocks(kernel, limit > kReserved ? limit - kReserved : limit);
}

}  // namespace heddle::ptx
