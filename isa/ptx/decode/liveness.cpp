#include "isa/ptx/decode/data_flow.h"

namespace heddle::ptx {
namespace {

/// Blocks of each register, in the order of the code.
using Blocks = std::vector<std::vector<std::uint32_t>>;

void note(Blocks& blocks, std::uint32_t r, std::uint32_t block) {
    if (blocks[r].empty() || blocks[r].back() != block) blocks[r].push_back(block);
}

}  // namespace

// One register after the other, backwards from the blocks that read what comes to them: that takes as long as
// the lives are, whatever else there is.
Liveness analyze_liveness(std::span<const RegisterUse> uses, const Kernel& kernel, const ControlFlow& flow) {
    const auto registers = static_cast<std::uint32_t>(kernel.registers.size() + 1);
    const auto count = static_cast<std::uint32_t>(flow.blocks.size());
    Blocks reads(registers), kills(registers);
    for (std::uint32_t b = 0; b < count; ++b) {
        for (std::uint32_t i = flow.blocks[b].first; i <= flow.blocks[b].last; ++i) {
            for (const std::uint32_t r : uses[i].reads) {
                if (kills[r].empty() || kills[r].back() != b) note(reads, r, b);
            }
            if (kernel.instructions[i].guard >= 0) continue;
            for (const std::uint32_t r : uses[i].writes) note(kills, r, b);
        }
    }
    Liveness liveness{std::vector<RegisterSet>(count), std::vector<RegisterSet>(count)};
    // Of each block, the last register that it kills, that is live where it begins, and where it ends.
    std::vector<std::uint32_t> killed(count, registers), in = killed, out = killed, work;
    for (std::uint32_t r = 0; r < registers; ++r) {
        for (const std::uint32_t b : kills[r]) killed[b] = r;
        const auto enter = [&](std::uint32_t b) {
            if (in[b] == r) return;
            in[b] = r;
            liveness.live_in[b].append(r);
            work.push_back(b);
        };
        for (const std::uint32_t b : reads[r]) enter(b);
        while (!work.empty()) {
            const std::uint32_t b = work.back();
            work.pop_back();
            for (const std::uint32_t p : flow.blocks[b].predecessors) {
                if (out[p] == r) continue;
                out[p] = r;
                liveness.live_out[p].append(r);
                if (killed[p] != r) enter(p);
            }
        }
    }
    return liveness;
}

}  // namespace heddle::ptx
