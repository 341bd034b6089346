// The width of a kernel's registers.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/ptx/execution.h"

namespace heddle::ptx {

/// For each scoreboard identifier the registers of 32 bits that it takes: 0 for predicates, the carry flag,
/// and values that are operands from the constant bank.
std::vector<std::uint8_t> register_words(const LoadedKernel& kernel);

}  // namespace heddle::ptx
