#include "isa/ptx/schedule/definitions.h"

#include <algorithm>

namespace heddle::ptx {

Definitions::Definitions(const Kernel& kernel)
    : uses_(register_uses(kernel)),
      flow_(analyze_control_flow(kernel)),
      liveness_(analyze_liveness(uses_, kernel, flow_)) {
    const std::size_t registers = kernel.registers.size() + 1;
    writers_.resize(registers);
    readers_.resize(registers);
    for (std::uint32_t i = 0; i < uses_.size(); ++i) {
        guarded_.push_back(kernel.instructions[i].guard >= 0);
        for (const std::uint32_t r : uses_[i].writes) writers_[r].push_back(i);
        for (const std::uint32_t r : uses_[i].reads) readers_[r].push_back(i);
    }
    only_.assign(registers, kNoInstruction);
    use_count_.assign(registers, 0);
    for (std::uint32_t r = 0; r < registers; ++r) {
        use_count_[r] = static_cast<std::uint32_t>(readers_[r].size());
        if (writers_[r].size() != 1 || liveness_.live_in[0][r] || guarded_[writers_[r][0]]) continue;
        only_[r] = writers_[r][0];
    }
}

std::uint32_t Definitions::reaching(std::uint32_t reg, std::uint32_t place) const {
    if (only_[reg] != kNoInstruction) return only_[reg];
    const std::vector<std::uint32_t>& writers = writers_[reg];
    const auto after = std::lower_bound(writers.begin(), writers.end(), place);
    if (after == writers.begin()) return kNoInstruction;
    const std::uint32_t writer = *(after - 1);
    const bool near = flow_.block_of[writer] == flow_.block_of[place] && !guarded_[writer];
    return near ? writer : kNoInstruction;
}

bool Definitions::unchanged(std::uint32_t reg, std::uint32_t from, std::uint32_t to) const {
    if (only_[reg] != kNoInstruction) return true;
    if (flow_.block_of[from] != flow_.block_of[to] || from > to) return false;
    const std::vector<std::uint32_t>& writers = writers_[reg];
    const auto next = std::lower_bound(writers.begin(), writers.end(), from);
    return next == writers.end() || *next >= to;
}

bool Definitions::read_only_by(std::uint32_t reg, std::uint32_t instruction, std::uint32_t reader) const {
    const std::vector<std::uint32_t>& readers = readers_[reg];
    if (only_[reg] == instruction) return readers.size() == 1 && readers[0] == reader;
    // One of several definitions: this one must end where the block, or the next definition, ends it.
    const std::uint32_t block = flow_.block_of[instruction];
    if (block != flow_.block_of[reader] || instruction >= reader) return false;
    std::uint32_t end = flow_.blocks[block].last + 1;
    const auto next = std::upper_bound(writers_[reg].begin(), writers_[reg].end(), instruction);
    if (next != writers_[reg].end() && *next < end && !guarded_[*next]) {
        end = *next + 1;  // the writer may read it first
    } else if (liveness_.live_out[block][reg]) {
        return false;
    }
    const auto first = std::upper_bound(readers.begin(), readers.end(), instruction);
    const auto last = std::lower_bound(readers.begin(), readers.end(), end);
    return last - first == 1 && *first == reader;
}

std::vector<std::uint32_t> immediate_dominators(const ControlFlow& flow) {
    // Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm".
    const auto count = static_cast<std::uint32_t>(flow.blocks.size());
    std::vector<std::uint32_t> order, number(count, kNoInstruction), immediate(count, kNoInstruction);
    std::vector<std::pair<std::uint32_t, std::size_t>> stack{{0, 0}};
    std::vector<bool> seen(count, false);
    seen[0] = true;
    while (!stack.empty()) {
        auto& [block, edge] = stack.back();
        const std::vector<std::uint32_t>& successors = flow.blocks[block].successors;
        if (edge < successors.size()) {
            const std::uint32_t s = successors[edge++];
            if (!seen[s]) {
                seen[s] = true;
                stack.emplace_back(s, 0);
            }
        } else {
            number[block] = static_cast<std::uint32_t>(order.size());
            order.push_back(block);
            stack.pop_back();
        }
    }
    immediate[0] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t n = order.size(); n-- > 0;) {
            const std::uint32_t b = order[n];
            if (b == 0) continue;
            std::uint32_t meet = kNoInstruction;
            for (const std::uint32_t p : flow.blocks[b].predecessors) {
                if (immediate[p] == kNoInstruction) continue;
                std::uint32_t a = p;
                if (meet == kNoInstruction) {
                    meet = a;
                    continue;
                }
                while (a != meet) {
                    while (number[a] < number[meet]) a = immediate[a];
                    while (number[meet] < number[a]) meet = immediate[meet];
                }
            }
            if (meet != kNoInstruction && immediate[b] != meet) {
                immediate[b] = meet;
                changed = true;
            }
        }
    }
    return immediate;
}

}  // namespace heddle::ptx
