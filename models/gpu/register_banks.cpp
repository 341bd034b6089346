#include "models/gpu/register_banks.h"

namespace heddle::models::gpu {

void describe(RegisterBanksConfig& config, ParameterList& list) {
    list.add("register_banks.enabled", config.enabled, Quantity::count, 0, 1,
             "true: operands that meet in one of the two register banks of a sub-core cost cycles.");
}

namespace {

// Machine code says itself what the reuse cache keeps.
std::vector<RegisterReads> reads_of_machine_code(const ptx::LoadedKernel& kernel) {
    const std::vector<ptx::MachineOperands> operands = ptx::machine_operands(kernel);
    std::vector<RegisterReads> result(operands.size());
    ptx::MachineOperands before;
    before.operands.fill(ptx::LoadedKernel::kNoRegister);
    for (std::size_t i = 0; i < operands.size(); ++i) {
        if (kernel.instructions()[i].pipeline == ptx::Pipeline::none) continue;
        for (unsigned p = 0; p < ptx::kOperandPositions; ++p) {
            const std::uint16_t r = operands[i].operands[p];
            if (r == ptx::LoadedKernel::kNoRegister) continue;
            const unsigned bank = r % ptx::kRegisterBanks;
            ++result[i].all[bank];
            if (!(before.reuse[p] && before.operands[p] == r)) ++result[i].after_own[bank];
        }
        before = operands[i];
    }
    return result;
}

}  // namespace

std::vector<RegisterReads> register_reads(const ptx::LoadedKernel& kernel,
                                          const RegisterBanksConfig& config) {
    std::vector<RegisterReads> result(kernel.instructions().size());
    if (!config.enabled) return result;
    if (kernel.machine_code() != nullptr) return reads_of_machine_code(kernel);
    constexpr std::uint16_t kNothing = ptx::LoadedKernel::kNoRegister;
    const std::vector<ptx::RegisterOperands> operands =
        ptx::register_operands(kernel.instructions(), kernel.register_assignment());
    // The reuse cache, while one warp issues: an entry for each position of an operand, in each bank.
    std::array<ptx::RegisterOperands, ptx::kRegisterBanks> held;
    for (ptx::RegisterOperands& entries : held) entries.fill(kNothing);
    for (std::size_t i = 0; i < result.size(); ++i) {
        if (kernel.instructions()[i].operation == ptx::Operation::branch) {
            for (ptx::RegisterOperands& entries : held) entries.fill(kNothing);
        }
        for (unsigned p = 0; p < ptx::kOperandPositions; ++p) {
            const std::uint16_t r = operands[i][p];
            if (r == kNothing) continue;
            const unsigned bank = r % ptx::kRegisterBanks;
            ++result[i].all[bank];
            if (held[bank][p] != r) ++result[i].after_own[bank];
            held[bank][p] = r;
        }
    }
    return result;
}

}  // namespace heddle::models::gpu
