#include "isa/ptx/register_operands.h"

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

}  // namespace heddle::ptx
