#include "isa/ptx/schedule/block_values.h"

#include <algorithm>

namespace heddle::ptx {
namespace {

class Numbering {
  public:
    Numbering(const Definitions& definitions, const std::vector<unsigned>& weights, std::uint32_t block,
              std::vector<std::uint32_t>& current)
        : definitions_(definitions), weights_(weights), current_(current) {
        definitions.liveness().live_in[block].for_each([&](std::uint32_t r) {
            if (weights[r] == 0) return;
            add(r);
            result_.live_at_start += weights[r];
        });
    }

    void visit(std::uint32_t instruction, bool guarded) {
        std::vector<std::uint32_t> read, begun;
        const RegisterUse& use = definitions_.uses(instruction);
        for (const std::uint32_t r : use.reads) note_read(r, read);
        for (const std::uint32_t r : use.writes) {
            if (weights_[r] == 0) continue;
            if (guarded && current_[r] != kNoInstruction) {
                note_read(r, read);  // stays in the lanes that do not write
            } else {
                begun.push_back(add(r));
            }
        }
        result_.read.push_back(std::move(read));
        result_.begun.push_back(std::move(begun));
    }

    BlockValues take(const RegisterSet& live_out) {
        live_out.for_each([&](std::uint32_t r) {
            if (current_[r] != kNoInstruction) ++result_.readers[current_[r]];
        });
        for (const std::uint32_t r : registers_) current_[r] = kNoInstruction;
        return std::move(result_);
    }

  private:
    std::uint32_t add(std::uint32_t r) {
        current_[r] = static_cast<std::uint32_t>(result_.weights.size());
        registers_.push_back(r);
        result_.weights.push_back(weights_[r]);
        result_.readers.push_back(0);
        return current_[r];
    }

    void note_read(std::uint32_t r, std::vector<std::uint32_t>& read) {
        const std::uint32_t value = current_[r];
        if (value == kNoInstruction || std::find(read.begin(), read.end(), value) != read.end()) return;
        read.push_back(value);
        ++result_.readers[value];
    }

    const Definitions& definitions_;
    const std::vector<unsigned>& weights_;
    std::vector<std::uint32_t>& current_;   // [register] the value that it holds
    std::vector<std::uint32_t> registers_;  // [value]
    BlockValues result_;
};

}  // namespace

BlockValues find_block_values(const Kernel& kernel, const Definitions& definitions,
                              const std::vector<unsigned>& weights, std::uint32_t block,
                              std::vector<std::uint32_t>& current) {
    const BasicBlock& range = definitions.flow().blocks[block];
    Numbering numbering(definitions, weights, block, current);
    for (std::uint32_t i = range.first; i <= range.last; ++i)
        numbering.visit(i, kernel.instructions[i].guard >= 0);
    return numbering.take(definitions.liveness().live_out[block]);
}

}  // namespace heddle::ptx
