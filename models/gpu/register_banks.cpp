#include "models/gpu/register_banks.h"

#include <algorithm>
#include <array>
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

constexpr unsigned kPositions = 3;  // of operands; the reuse cache has an entry for each, in each bank
constexpr std::uint16_t kNothing = 0xFFFF;

/// Registers that an instruction reads from the banks, by position.
using Operands = std::array<std::uint16_t, kPositions>;

std::vector<Operands> operands_of(const ptx::LoadedKernel& kernel) {
    const std::span<const ptx::InstructionInfo> instructions = kernel.instructions();
    const std::vector<std::uint8_t> words = ptx::register_words(kernel);
    std::vector<Operands> result(instructions.size());
    for (std::size_t i = 0; i < instructions.size(); ++i) {
        result[i].fill(kNothing);
        if (!reads_in_one_operation(instructions[i])) continue;
        unsigned position = 0;
        for (const std::uint16_t r : instructions[i].reads) {
            if (words[r] != 0 && position < kPositions) result[i][position++] = r;
        }
    }
    return result;
}

/// Those that read something, in the order of the code.
std::vector<const Operands*> readers_of(const std::vector<Operands>& operands) {
    std::vector<const Operands*> readers;
    for (const Operands& one : operands) {
        if (one[0] != kNothing) readers.push_back(&one);
    }
    return readers;
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
    const std::vector<const Operands*> readers = readers_of(operands);
    for (std::size_t i = 0; i < readers.size(); ++i) {
        const Operands& one = *readers[i];
        // Whatever one of the two instructions before read at the same position is probably held.
        const auto held = [&](unsigned p) {
            return (i >= 1 && (*readers[i - 1])[p] == one[p]) || (i >= 2 && (*readers[i - 2])[p] == one[p]);
        };
        for (unsigned p = 0; p < kPositions; ++p) {
            const std::uint16_t r = one[p];
            if (r == kNothing) continue;
            if (!seen[r]) order.push_back(r);
            seen[r] = true;
            for (unsigned q = 0; q < p; ++q) {
                if (one[q] != r && !held(p) && !held(q)) meetings.add(r, one[q]);
            }
            // It would drive out what the next instruction reads again.
            if (i >= 1 && i + 1 < readers.size() && (*readers[i - 1])[p] == (*readers[i + 1])[p] &&
                (*readers[i - 1])[p] != r && (*readers[i - 1])[p] != kNothing)
                meetings.add(r, (*readers[i - 1])[p]);
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
    std::array<Operands, kRegisterBanks> held;  // the reuse cache, while one warp issues
    for (Operands& entries : held) entries.fill(kNothing);
    for (std::size_t i = 0; i < result.size(); ++i) {
        if (kernel.instructions()[i].operation == Operation::branch) {
            for (Operands& entries : held) entries.fill(kNothing);
        }
        for (unsigned p = 0; p < kPositions; ++p) {
            const std::uint16_t r = operands[i][p];
            if (r == kNothing) continue;
            ++result[i].all[bank[r]];
            if (held[bank[r]][p] != r) ++result[i].after_own[bank[r]];
            held[bank[r]][p] = r;
        }
    }
    return result;
}

}  // namespace heddle::models::gpu
