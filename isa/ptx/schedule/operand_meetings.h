// Which registers should lie in different banks of the register file.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "isa/ptx/register_operands.h"

namespace heddle::ptx {

/// How often two registers are read together, by pairs. What one of the two instructions before reads at the
/// same position is probably held by the reuse cache, and does not count; a register that would drive out
/// what the next instruction reads again meets that one.
class OperandMeetings {
  public:
    OperandMeetings(std::span<const RegisterOperands> operands, std::size_t registers);

    /// Whether register `r` is read together with another one anywhere.
    bool any(std::uint32_t r) const { return !with_[r].empty(); }
    /// Of `r` with registers in each bank, where `physical` holds registers.
    std::array<unsigned, kRegisterBanks> count(std::uint32_t r,
                                               std::span<const std::uint16_t> physical) const;

  private:
    std::vector<std::vector<std::pair<std::uint16_t, unsigned>>> with_;
};

}  // namespace heddle::ptx
