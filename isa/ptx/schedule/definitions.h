// Where registers get their values: what every pass over a kernel asks before it moves or replaces anything.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/ptx/decode/data_flow.h"
#include "isa/ptx/module.h"

namespace heddle::ptx {

/// Gives every web of a register (the definitions that reach common uses) a register of its own, so that
/// temporaries which a text uses again and again no longer order the instructions. Registers that calls name
/// stay as they are.
void split_webs(Kernel& kernel);

/// Definitions and uses of a kernel as it is now. Anything that changes the kernel makes it stale.
class Definitions {
  public:
    explicit Definitions(const Kernel& kernel);

    /// The register uses, control flow and liveness that the definitions were computed from; see data_flow.h.
    const RegisterUse& uses(std::uint32_t instruction) const { return uses_[instruction]; }
    const std::vector<RegisterUse>& uses() const { return uses_; }
    const ControlFlow& flow() const { return flow_; }
    const Liveness& liveness() const { return liveness_; }

    /// The one instruction that writes the register, without a guard and on every path to a use;
    /// kNoInstruction when there is no such instruction.
    std::uint32_t only(std::uint32_t reg) const { return only_[reg]; }
    /// The unguarded instruction whose value the register has at `place`: only(), or an earlier one of the
    /// same block. kNoInstruction when it is not known.
    std::uint32_t reaching(std::uint32_t reg, std::uint32_t place) const;
    /// Whether the register holds the same value at both places; `from` comes first on every way to `to`.
    bool unchanged(std::uint32_t reg, std::uint32_t from, std::uint32_t to) const;
    /// Instructions that read the register; an instruction that reads it twice counts twice.
    std::uint32_t use_count(std::uint32_t reg) const { return use_count_[reg]; }
    /// Whether nobody reads what `instruction` writes into the register but `reader`, once.
    bool read_only_by(std::uint32_t reg, std::uint32_t instruction, std::uint32_t reader) const;

  private:
    std::vector<RegisterUse> uses_;
    ControlFlow flow_;
    Liveness liveness_;
    std::vector<std::uint32_t> only_, use_count_;
    std::vector<bool> guarded_;                                  // [instruction]
    std::vector<std::vector<std::uint32_t>> writers_, readers_;  // in order
};

/// Which blocks all ways to another one pass.
class DominatorTree {
  public:
    /// `flow` has blocks.
    explicit DominatorTree(const ControlFlow& flow);
    /// Whether all ways from the entry to `b` pass `a`; a block that is not reached is passed by itself
    /// alone.
    bool dominates(std::uint32_t a, std::uint32_t b) const {
        return a == b || (first_[b] != kNoInstruction && first_[a] <= first_[b] && first_[b] <= last_[a]);
    }

  private:
    std::vector<std::uint32_t> first_, last_;  // [block] numbers of it and of the last one below
};

}  // namespace heddle::ptx
