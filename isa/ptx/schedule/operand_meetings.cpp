#include "isa/ptx/schedule/operand_meetings.h"

#include <algorithm>

namespace heddle::ptx {
namespace {

constexpr std::uint16_t kNothing = LoadedKernel::kNoRegister;

}  // namespace

OperandMeetings::OperandMeetings(std::span<const RegisterOperands> operands, std::size_t registers)
    : with_(registers) {
    std::vector<const RegisterOperands*> readers;  // in the order of the code
    for (const RegisterOperands& one : operands) {
        if (one[0] != kNothing) readers.push_back(&one);
    }
    std::vector<std::pair<std::uint16_t, std::uint16_t>> pairs;
    const auto add = [&pairs](std::uint16_t a, std::uint16_t b) {
        pairs.emplace_back(a, b);
        pairs.emplace_back(b, a);
    };
    for (std::size_t i = 0; i < readers.size(); ++i) {
        const RegisterOperands& one = *readers[i];
        const auto held = [&](unsigned p) {
            return (i >= 1 && (*readers[i - 1])[p] == one[p]) || (i >= 2 && (*readers[i - 2])[p] == one[p]);
        };
        for (unsigned p = 0; p < kOperandPositions && one[p] != kNothing; ++p) {
            for (unsigned q = 0; q < p; ++q) {
                if (one[q] != one[p] && !held(p) && !held(q)) add(one[p], one[q]);
            }
            if (i == 0 || i + 1 == readers.size()) continue;
            const std::uint16_t before = (*readers[i - 1])[p];
            if (before == (*readers[i + 1])[p] && before != one[p] && before != kNothing) add(one[p], before);
        }
    }
    std::sort(pairs.begin(), pairs.end());
    for (const auto& [from, to] : pairs) {
        auto& list = with_[from];
        if (list.empty() || list.back().first != to) list.emplace_back(to, 0u);
        ++list.back().second;
    }
}

std::array<unsigned, kRegisterBanks> OperandMeetings::count(std::uint32_t r,
                                                            std::span<const std::uint16_t> physical) const {
    std::array<unsigned, kRegisterBanks> sums{};
    for (const auto& [other, times] : with_[r]) {
        if (physical[other] != kNothing) sums[physical[other] % kRegisterBanks] += times;
    }
    return sums;
}

}  // namespace heddle::ptx
