#include "models/gpu/register_banks.h"

#include <algorithm>
#include <span>
#include <unordered_map>

#include "isa/ptx/register_words.h"

namespace heddle::models::gpu {
namespace {

using ptx::Operation;

bool reads_in_one_operation(const ptx::InstructionInfo& info) {
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

/// Registers that an instruction reads from the banks.
struct Operands {
    std::vector<std::uint16_t> all, after_own;
};

std::vector<Operands> operands_of(const ptx::LoadedKernel& kernel) {
    const std::span<const ptx::InstructionInfo> instructions = kernel.instructions();
    const std::vector<std::uint8_t> words = ptx::register_words(kernel);
    std::vector<Operands> result(instructions.size());
    const std::vector<std::uint16_t> nothing;
    const std::vector<std::uint16_t>* before = &nothing;  // read by the instruction before
    for (std::size_t i = 0; i < instructions.size(); ++i) {
        if (instructions[i].machine_operations == 0) continue;
        if (!reads_in_one_operation(instructions[i])) {
            before = &nothing;
            continue;
        }
        for (const std::uint16_t r : instructions[i].reads) {
            if (words[r] == 0) continue;
            result[i].all.push_back(r);
            if (std::find(before->begin(), before->end(), r) == before->end())
                result[i].after_own.push_back(r);
        }
        before = &result[i].all;
    }
    return result;
}

/// How often two registers are read together, by pairs.
class Meetings {
  public:
    explicit Meetings(std::size_t registers) : with_(registers) {}
    void add(std::uint16_t a, std::uint16_t b) {
        ++with_[a][b];
        ++with_[b][a];
    }
    /// Of `r` with registers of each bank.
    std::array<unsigned, kRegisterBanks> count(std::uint16_t r, const std::vector<std::uint8_t>& bank) const {
        std::array<unsigned, kRegisterBanks> sums{};
        for (const auto& [other, times] : with_[r]) {
            if (bank[other] < kRegisterBanks) sums[bank[other]] += times;
        }
        return sums;
    }

  private:
    std::vector<std::unordered_map<std::uint16_t, unsigned>> with_;
};

std::vector<std::uint8_t> choose_banks(const ptx::LoadedKernel& kernel,
                                       const std::vector<Operands>& operands) {
    constexpr std::uint8_t kNone = kRegisterBanks;
    std::vector<std::uint8_t> bank(kernel.scoreboard_size(), kNone);
    Meetings meetings(bank.size());
    std::vector<std::uint16_t> order;
    std::vector<bool> seen(bank.size(), false);
    for (const Operands& one : operands) {
        for (std::size_t a = 0; a < one.after_own.size(); ++a)
            for (std::size_t b = 0; b < a; ++b) meetings.add(one.after_own[a], one.after_own[b]);
        for (const std::uint16_t r : one.all) {
            if (!seen[r]) order.push_back(r);
            seen[r] = true;
        }
    }
    std::array<unsigned, kRegisterBanks> used{};
    constexpr int kRounds = 8;
    bool changed = true;
    for (int round = 0; round < kRounds && changed; ++round) {
        changed = false;
        for (const std::uint16_t r : order) {
            const auto sums = meetings.count(r, bank);
            const std::uint8_t fewer_used = used[1] < used[0] ? 1 : 0;
            std::uint8_t best = sums[0] < sums[1] ? 0 : sums[1] < sums[0] ? 1 : fewer_used;
            if (bank[r] != kNone && sums[bank[r]] == sums[best]) continue;
            if (bank[r] != kNone) --used[bank[r]];
            ++used[best];
            bank[r] = best;
            changed = true;
        }
    }
    return bank;
}

}  // namespace

void describe(RegisterBanksConfig& config, ParameterList& list) {
    list.add("register_banks.enabled", config.enabled, Quantity::count, 0, 1,
             "true: operands that meet in one of the two register banks of a sub-core cost cycles.");
}

std::vector<RegisterReads> register_reads(const ptx::LoadedKernel& kernel,
                                          const RegisterBanksConfig& config) {
    std::vector<RegisterReads> result(kernel.instructions().size());
    if (!config.enabled) return result;
    const std::vector<Operands> operands = operands_of(kernel);
    const std::vector<std::uint8_t> bank = choose_banks(kernel, operands);
    for (std::size_t i = 0; i < result.size(); ++i) {
        for (const std::uint16_t r : operands[i].all) ++result[i].all[bank[r]];
        for (const std::uint16_t r : operands[i].after_own) ++result[i].after_own[bank[r]];
    }
    return result;
}

}  // namespace heddle::models::gpu
