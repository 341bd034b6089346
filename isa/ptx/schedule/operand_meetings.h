// Which registers should lie in different banks of the register file.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "isa/ptx/register_operands.h"

namespace heddle::ptx {

/// Counts how often two registers are read together. A register that one of the two instructions before has
/// read at the same position is probably held by the reuse cache and does not count; a register that would
/// evict one that the next instruction reads again counts as read together with that one.
class OperandMeetings {
  public:
    OperandMeetings(std::span<const RegisterOperands> operands, std::size_t registers);

    /// Whether register `r` is read together with another one anywhere.
    bool any(std::uint32_t r) const { return !with_[r].empty(); }
    /// How often `r` is read together with registers of each bank, if `physical` says where the registers
    /// lie.
    std::array<unsigned, kRegisterBanks> count(std::uint32_t r,
                                               std::span<const std::uint16_t> physical) const;

  private:
    std::vector<std::vector<std::pair<std::uint16_t, unsigned>>> with_;
};

}  // namespace heddle::ptx
