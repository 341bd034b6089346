// Which registers an instruction reads at once from the register file.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "isa/ptx/execution.h"

namespace heddle::ptx {

/// Banks of a sub-core's register file: register r lies in bank r modulo kRegisterBanks ("Analyzing Modern
/// NVIDIA GPU cores", MICRO 2025).
inline constexpr unsigned kRegisterBanks = 2;
inline constexpr unsigned kOperandPositions = 3;

/// The registers that an instruction reads, by position of the operand in the machine instruction;
/// LoadedKernel::kNoRegister where there is none.
using RegisterOperands = std::array<std::uint16_t, kOperandPositions>;

/// The registers that instructions of fixed latency read in one operation, for registers of 32 bits; none for
/// all other instructions. `home`: what stands for each scoreboard identifier, kNoRegister for those that are
/// not in the file (LoadedKernel::register_assignment()).
std::vector<RegisterOperands> register_operands(std::span<const InstructionInfo> instructions,
                                                std::span<const std::uint16_t> home);

/// The same of a kernel that was translated from machine code, and whether the reuse cache holds each operand for the warp's next
/// instruction.
struct MachineOperands {
    RegisterOperands operands{};                    ///< general registers; LoadedKernel::kNoRegister: none
    std::array<bool, kOperandPositions> reuse{};    ///< by position
};
std::vector<MachineOperands> machine_operands(const LoadedKernel& kernel);

}  // namespace heddle::ptx
