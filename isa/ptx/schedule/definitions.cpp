#include "isa/ptx/schedule/definitions.h"

#include <algorithm>

#include "isa/ptx/decode/dominators.h"

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
        if (writers_[r].size() != 1 || liveness_.live_in[0].contains(r) || guarded_[writers_[r][0]]) continue;
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
    } else if (liveness_.live_out[block].contains(reg)) {
        return false;
    }
    const auto first = std::upper_bound(readers.begin(), readers.end(), instruction);
    const auto last = std::lower_bound(readers.begin(), readers.end(), end);
    return last - first == 1 && *first == reader;
}

DominatorTree::DominatorTree(const ControlFlow& flow) {
    const auto count = static_cast<std::uint32_t>(flow.blocks.size());
    Edges successors, predecessors, children(count);
    for (const BasicBlock& block : flow.blocks) {
        successors.push_back(block.successors);
        predecessors.push_back(block.predecessors);
    }
    const std::vector<std::uint32_t> immediate = immediate_dominators(0, successors, predecessors);
    for (std::uint32_t b = 1; b < count; ++b) {
        if (immediate[b] != kNoInstruction) children[immediate[b]].push_back(b);
    }
    // The blocks below one are numbered right behind it.
    first_.assign(count, kNoInstruction);
    last_.assign(count, 0);
    std::vector<std::pair<std::uint32_t, std::size_t>> stack{{0, 0}};
    std::uint32_t next = 0;
    while (!stack.empty()) {
        auto& [block, child] = stack.back();
        if (child == 0) first_[block] = next++;
        if (child == children[block].size()) {
            last_[block] = next - 1;
            stack.pop_back();
        } else {
            const std::uint32_t below = children[block][child++];
            stack.emplace_back(below, 0);
        }
    }
}

}  // namespace heddle::ptx
