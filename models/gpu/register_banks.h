// Register banks of a sub-core: which operands an instruction reads from which bank, and when their ports
// have time for it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "isa/ptx/register_operands.h"
#include "models/common/parameter.h"

namespace heddle::models::gpu {

using ptx::kRegisterBanks;

/// Whether operands that lie in one bank delay the issue.
struct RegisterBanksConfig {
    bool enabled = true;  ///< false: reading operands takes no time
};
/// Lists the fields for hardware files.
void describe(RegisterBanksConfig& config, ParameterList& list);

/// Warp registers of 32 bits that an instruction reads, by bank.
struct RegisterReads {
    std::array<std::uint8_t, kRegisterBanks> all{};  ///< all operands of the instruction
    /// Those that the reuse cache does not hold when the same warp issued the instruction before.
    std::array<std::uint8_t, kRegisterBanks> after_own{};
};

/// One read port of 1024 bits per bank. An instruction of fixed latency reserves, two cycles after issue,
/// all its reads within a window of three cycles; one that cannot is held up, and whatever issues behind it.
/// This rule and its constants are the model of the MICRO 2025 paper, section 5.3.
class RegisterPorts {
  public:
    /// An instruction issues in cycle `now`. Returns the cycles for which it holds up the sub-core.
    std::uint32_t read(const std::array<std::uint8_t, kRegisterBanks>& reads, std::uint32_t now) {
        std::uint32_t start = now;
        for (unsigned bank = 0; bank < kRegisterBanks; ++bank) {
            const std::uint32_t end = free_[bank] + reads[bank];
            if (reads[bank] != 0 && end > start + kWindow) start = end - kWindow;
        }
        for (unsigned bank = 0; bank < kRegisterBanks; ++bank) {
            if (reads[bank] != 0) free_[bank] = std::max(start, free_[bank]) + reads[bank];
        }
        return start - now;
    }

  private:
    static constexpr std::uint32_t kWindow = 3;
    std::array<std::uint32_t, kRegisterBanks> free_{};  ///< first cycle in which the port has nothing to do
};

/// The reads of each instruction of the kernel, by the banks of its registers: for the operands of
/// ptx::register_operands, and zeros for all other instructions. The register allocation makes it rare that
/// operands share a bank.
std::vector<RegisterReads> register_reads(const ptx::LoadedKernel& kernel, const RegisterBanksConfig& config);

}  // namespace heddle::models::gpu
