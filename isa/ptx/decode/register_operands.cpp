#include "isa/ptx/register_operands.h"

#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {
namespace {

bool reads_in_one_operation(const InstructionInfo& info) {
    if (info.machine_operations != 1 || info.uniform) return false;
    switch (info.operation) {
        case Operation::fp32:
        case Operation::fp32_compare:
        case Operation::integer:
        case Operation::integer_compare:
        case Operation::move:
        case Operation::multiply:
        case Operation::half:
        case Operation::bf16:
        case Operation::half_conversion:
            return true;
        default:
            return false;
    }
}

}  // namespace

std::vector<RegisterOperands> register_operands(std::span<const InstructionInfo> instructions,
                                                std::span<const std::uint16_t> home) {
    std::vector<RegisterOperands> result(instructions.size());
    for (std::size_t i = 0; i < instructions.size(); ++i) {
        result[i].fill(LoadedKernel::kNoRegister);
        if (!reads_in_one_operation(instructions[i])) continue;
        unsigned position = 0;
        for (const std::uint16_t r : instructions[i].reads) {
            const bool in_file = r < home.size() && home[r] != LoadedKernel::kNoRegister;
            if (in_file && position < kOperandPositions) result[i][position++] = home[r];
        }
    }
    return result;
}

std::vector<MachineOperands> machine_operands(const LoadedKernel& kernel) {
    constexpr std::uint8_t kNoOperand = 255;
    const Kernel& translated = kernel.implementation().kernel;
    std::vector<MachineOperands> result(translated.instructions.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
        result[i].operands.fill(LoadedKernel::kNoRegister);
        if (!translated.instructions[i].carries_time || !reads_in_one_operation(kernel.instructions()[i])) continue;
        const MachineTiming& timing = translated.machine_code->instructions[translated.instructions[i].machine - 1];
        for (unsigned p = 0; p < kOperandPositions; ++p) {
            if (timing.operands[p] == kNoOperand) continue;
            result[i].operands[p] = timing.operands[p];
            result[i].reuse[p] = timing.reuse[p];
        }
    }
    return result;
}

}  // namespace heddle::ptx
