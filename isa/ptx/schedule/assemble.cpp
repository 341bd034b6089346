#include "isa/ptx/schedule/assemble.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "isa/ptx/schedule/definitions.h"
#include "isa/ptx/schedule/fuse.h"
#include "isa/ptx/schedule/list_scheduler.h"
#include "isa/ptx/schedule/register_allocation.h"
#include "isa/ptx/schedule/simplify.h"
#include "isa/ptx/schedule/spill.h"

namespace heddle::ptx {

namespace {

// The order may cost no thread block its place: as many registers as before, to the next allocation unit.
// Peak of live values and count differ by what alignment and gaps cost, so the limit is lowered until the
// count fits.
void order_within_registers(Kernel& kernel, unsigned limit) {
    constexpr unsigned kTries = 4;
    unsigned live = limit - 1;  // without the stack pointer
    for (unsigned t = 0; t < kTries; ++t) {
        std::vector<Instruction> ordered = schedule_blocks(kernel, live);
        std::swap(kernel.instructions, ordered);
        const unsigned count = allocate_registers(kernel).count;
        if (count <= limit) return;
        std::swap(kernel.instructions, ordered);
        live -= std::min(live, count - limit);
    }
}

/// Values that the assembled kernel may need registers for, at most.
std::size_t most_values(const Kernel& kernel) {
    std::size_t count = kernel.registers.size();
    for (const RegisterUse& use : register_uses(kernel)) count += 2 * (use.reads.size() + use.writes.size());
    return count;
}

void rewrite(Kernel& kernel) {
    constexpr unsigned kRounds = 4;
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
    const unsigned ceiling = register_ceiling(kernel);
    const unsigned needed = allocate_registers(kernel).count;
    order_within_registers(kernel, std::min(ceiling, register_limit(kernel, needed)));
    if (needed <= ceiling) return;
    // Loads of what is spilled move ahead of their readers where registers are left.
    if (spill_registers(kernel, ceiling)) order_within_registers(kernel, ceiling);
}

}  // namespace

void assemble(Kernel& kernel) {
    constexpr std::size_t kMostRegisters = 30000;
    if (!kernel.functions.empty() || kernel.registers.size() > kMostRegisters) return;
    std::optional<Kernel> written;
    if (most_values(kernel) > kMostScoreboardRegisters) written = kernel;
    rewrite(kernel);
    if (written && kernel.registers.size() > kMostScoreboardRegisters) kernel = *std::move(written);
}

}  // namespace heddle::ptx
