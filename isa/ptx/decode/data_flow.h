// What the instructions of a kernel read and write, where control goes, and which registers are live.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "isa/ptx/module.h"

namespace heddle::ptx {

/// Registers of one instruction, as indices of Kernel::registers. The guard is among the reads. The hidden
/// carry flag has the index kernel.registers.size().
struct RegisterUse {
    std::vector<std::uint32_t> reads, writes;  ///< each at most once for each operand
    std::vector<std::uint32_t> address_reads;  ///< those of `reads` that form an address
};
std::vector<RegisterUse> register_uses(const Kernel& kernel);

inline constexpr std::uint32_t kNoInstruction = 0xFFFFFFFFu;

/// Straight-line code: [first, last] of Kernel::instructions.
struct BasicBlock {
    std::uint32_t first = 0, last = 0;                    ///< indices of instructions, both included
    std::vector<std::uint32_t> successors, predecessors;  ///< indices in ControlFlow::blocks
    bool exits = false;  ///< ends with an unconditional ret, exit or trap, or runs off the end
};

/// The control flow graph of a kernel and of the functions behind it.
struct ControlFlow {
    std::vector<BasicBlock> blocks;       ///< in order of their first instructions
    std::vector<std::uint32_t> block_of;  ///< of each instruction
    /// For each branch: the first instruction at which all lanes that have not exited meet again (the
    /// immediate post-dominator); kNoInstruction when there is none, and for other instructions.
    std::vector<std::uint32_t> reconvergence;
};
/// Calls of functions go on behind the call; a body that is called is a graph of its own.
ControlFlow analyze_control_flow(const Kernel& kernel);

/// Some of a kernel's registers. Kernels have thousands of registers and of blocks, most of them alive in few
/// blocks: what is held are the words of 64 that are not empty.
class RegisterSet {
  public:
    /// `r` comes after all that are in the set.
    void append(std::uint32_t r) {
        if (words_.empty() || words_.back().place != r / 64) words_.push_back({r / 64, 0});
        words_.back().bits |= std::uint64_t{1} << (r % 64);
    }
    bool contains(std::uint32_t r) const {
        const auto word = std::partition_point(words_.begin(), words_.end(),
                                               [r](const Word& one) { return one.place < r / 64; });
        return word != words_.end() && word->place == r / 64 && (word->bits >> (r % 64) & 1) != 0;
    }
    /// Lowest first.
    template <class Visit>
    void for_each(const Visit& visit) const {
        for (const Word& word : words_) {
            for (std::uint64_t bits = word.bits; bits != 0; bits &= bits - 1)
                visit(word.place * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
        }
    }

  private:
    struct Word {
        std::uint32_t place = 0;
        std::uint64_t bits = 0;
    };
    std::vector<Word> words_;
};

/// Registers, and the carry flag, that are live where each block begins and where it ends. A write under a
/// guard does not end a life.
struct Liveness {
    std::vector<RegisterSet> live_in, live_out;  ///< by block
};
Liveness analyze_liveness(std::span<const RegisterUse> uses, const Kernel& kernel, const ControlFlow& flow);

/// 32-bit registers that each register and, last, the carry flag needs: none for predicates and for values
/// that are only kernel parameters, which lie in the constant bank.
std::vector<unsigned> register_weights(const Kernel& kernel, std::span<const RegisterUse> uses);

/// Peak of live 32-bit registers per thread, with what the hardware reserves, rounded up to 8. Values that
/// are only kernel parameters lie in the constant bank and cost none.
unsigned count_registers(const Kernel& kernel, std::span<const RegisterUse> uses, const ControlFlow& flow,
                         const Liveness& liveness);

}  // namespace heddle::ptx
