// Which registers an instruction reads at once from the register file.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "isa/ptx/execution.h"

namespace heddle::ptx {

/// Of a sub-core's register file: a register lies in the bank of its number's remainder ("Analyzing Modern
/// NVIDIA GPU cores", MICRO 2025).
inline constexpr unsigned kRegisterBanks = 2;
inline constexpr unsigned kOperandPositions = 3;

/// By position in the machine instruction; LoadedKernel::kNoRegister where there is none.
using RegisterOperands = std::array<std::uint16_t, kOperandPositions>;

/// Of instructions of fixed latency that read registers of 32 bits in one operation; nothing for all others.
/// `home`: what stands for each scoreboard identifier, kNoRegister for those that are not in the file
/// (LoadedKernel::register_assignment()).
std::vector<RegisterOperands> register_operands(std::span<const InstructionInfo> instructions,
                                                std::span<const std::uint16_t> home);

}  // namespace heddle::ptx
