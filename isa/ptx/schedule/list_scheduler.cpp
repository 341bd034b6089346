#include "isa/ptx/schedule/list_scheduler.h"

#include <algorithm>
#include <cstdint>

#include "isa/ptx/schedule/block_values.h"
#include "isa/ptx/schedule/dependences.h"
#include "isa/ptx/schedule/effects.h"

namespace heddle::ptx {
namespace {

using Order = std::vector<std::uint32_t>;
using RegisterWeights = std::vector<unsigned>;

/// One block's instructions, numbered from 0.
class BlockScheduler {
  public:
    /// `scratch`: as in find_block_values().
    BlockScheduler(const Kernel& kernel, const Definitions& definitions, const RegisterWeights& weights,
                   std::uint32_t block, std::vector<std::uint32_t>& scratch)
        : kernel_(kernel),
          block_(definitions.flow().blocks[block]),
          values_(find_block_values(kernel, definitions, weights, block, scratch)),
          waits_for_(find_dependences(kernel, definitions, block)),
          size_(static_cast<std::uint32_t>(waits_for_.size())) {
        followers_.resize(size_);
        for (std::uint32_t n = 0; n < size_; ++n) {
            for (const Dependence& d : waits_for_[n]) followers_[d.before].push_back({n, d.latency});
        }
        find_heights();
    }

    /// A better order, or none.
    Order run(unsigned limit) {
        Order written(size_);
        for (std::uint32_t n = 0; n < size_; ++n) written[n] = n;
        const unsigned before = peak(written);
        const Order order = schedule(std::max(limit, before));
        if (peak(order) > std::max(limit, before)) return {};
        // One warp alone says little of many: a small gain is no reason to leave the order of the text.
        return cycles(order) * 100 < cycles(written) * 97 ? order : Order{};
    }

  private:
    const Instruction& instruction(std::uint32_t n) const { return kernel_.instructions[block_.first + n]; }

    // Cycles from the issue of each instruction to the end of the block.
    void find_heights() {
        height_.assign(size_, 0);
        for (std::uint32_t n = size_; n-- > 0;) {
            height_[n] = std::max(issue_slots(instruction(n)), expected_latency(instruction(n)));
            for (const Dependence& f : followers_[n])
                height_[n] = std::max(height_[n], f.latency + height_[f.before]);
        }
    }

    /// Follows the values that are live while instructions are issued in some order.
    struct Pressure {
        std::vector<std::uint32_t> reads;  // of each value, still to come
        unsigned now = 0;
    };

    Pressure start() const { return {values_.readers, values_.live_at_start}; }

    /// What issuing the instruction adds to the live registers.
    int change(std::uint32_t n, const Pressure& pressure) const {
        int change = 0;
        for (const std::uint32_t v : values_.begun[n]) change += static_cast<int>(values_.weights[v]);
        for (const std::uint32_t v : values_.read[n]) {
            if (pressure.reads[v] == 1) change -= static_cast<int>(values_.weights[v]);
        }
        return change;
    }

    /// Returns the peak while the instruction is performed: results may take the place of operands.
    unsigned issue(std::uint32_t n, Pressure& pressure) const {
        for (const std::uint32_t v : values_.read[n]) {
            if (--pressure.reads[v] == 0) pressure.now -= values_.weights[v];
        }
        for (const std::uint32_t v : values_.begun[n]) pressure.now += values_.weights[v];
        const unsigned peak = pressure.now;
        for (const std::uint32_t v : values_.begun[n]) {  // written in vain
            if (pressure.reads[v] == 0) pressure.now -= values_.weights[v];
        }
        return peak;
    }

    unsigned peak(const Order& order) const {
        Pressure pressure = start();
        unsigned highest = pressure.now;
        for (const std::uint32_t n : order) highest = std::max(highest, issue(n, pressure));
        return highest;
    }

    /// Cycles of one warp alone that issues in this order.
    std::uint64_t cycles(const Order& order) const {
        std::vector<std::uint64_t> issued(size_, 0);
        std::uint64_t now = 0, end = 0;
        for (const std::uint32_t n : order) {
            std::uint64_t ready = now;
            for (const Dependence& d : waits_for_[n]) ready = std::max(ready, issued[d.before] + d.latency);
            issued[n] = ready;
            if (issue_slots(instruction(n)) != 0) now = ready + issue_slots(instruction(n));
            end = std::max(end, ready + expected_latency(instruction(n)));
        }
        return std::max(end, now);
    }

    Order schedule(unsigned limit) {
        Order order;
        Pressure pressure = start();
        std::vector<std::uint32_t> missing(size_);
        std::vector<std::uint64_t> earliest(size_, 0);
        std::vector<std::uint32_t> ready;
        for (std::uint32_t n = 0; n < size_; ++n) {
            missing[n] = static_cast<std::uint32_t>(waits_for_[n].size());
            if (missing[n] == 0) ready.push_back(n);
        }
        std::uint64_t now = 0;
        const auto place = [&](std::uint32_t n, std::uint64_t at) {
            order.push_back(n);
            issue(n, pressure);
            for (const Dependence& f : followers_[n]) {
                earliest[f.before] = std::max(earliest[f.before], at + f.latency);
                if (--missing[f.before] == 0) ready.push_back(f.before);
            }
        };
        while (!ready.empty()) {
            const std::size_t chosen = choose(ready, earliest, now, limit, pressure);
            const std::uint32_t n = ready[chosen];
            ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(chosen));
            const std::uint64_t at = std::max(now, earliest[n]);
            const std::uint32_t slots = issue_slots(instruction(n));
            place(n, slots == 0 ? earliest[n] : at);
            if (slots != 0) now = at + slots;
        }
        return order;
    }

    /// Of those that can issue now the one with the most behind it; else the one that can issue first. Near
    /// the limit those first that free registers, then the order of the text.
    std::size_t choose(const Order& ready, const std::vector<std::uint64_t>& earliest, std::uint64_t now,
                       unsigned limit, const Pressure& pressure) const {
        std::size_t best = ready.size();
        const auto better = [&](std::uint32_t a, std::uint32_t b) {
            const bool tight_a = does_not_fit(a, limit, pressure), tight_b = does_not_fit(b, limit, pressure);
            if (tight_a != tight_b) return tight_b;
            if (tight_a) return a < b;
            const std::uint64_t at_a = std::max(now, earliest[a]), at_b = std::max(now, earliest[b]);
            if (at_a != at_b) return at_a < at_b;
            if (height_[a] != height_[b]) return height_[a] > height_[b];
            return a < b;
        };
        for (std::size_t k = 0; k < ready.size(); ++k) {
            if (best == ready.size() || better(ready[k], ready[best])) best = k;
        }
        return best;
    }

    bool does_not_fit(std::uint32_t n, unsigned limit, const Pressure& pressure) const {
        const int delta = change(n, pressure);
        return delta > 0 && pressure.now + static_cast<unsigned>(delta) > limit;
    }

    const Kernel& kernel_;
    const BasicBlock& block_;
    BlockValues values_;
    std::vector<std::vector<Dependence>> waits_for_, followers_;
    std::uint32_t size_;
    std::vector<std::uint32_t> height_;
};

}  // namespace

namespace {

constexpr unsigned kFullOccupancy = 32;  // 65536 registers for 2048 threads
constexpr unsigned kAllocationUnit = 8, kMost = 255;

}  // namespace

unsigned register_limit(const Kernel& kernel, unsigned needed) {
    const unsigned rounded = (needed + kAllocationUnit - 1) / kAllocationUnit * kAllocationUnit;
    const unsigned limit = std::min(std::max(rounded, kFullOccupancy), kMost);
    return kernel.maximum_registers != 0 ? std::min(limit, kernel.maximum_registers) : limit;
}

std::vector<Instruction> schedule_blocks(const Kernel& kernel, unsigned limit) {
    const Definitions definitions(kernel);
    const RegisterWeights weights = register_weights(kernel, definitions.uses());
    std::vector<Instruction> scheduled = kernel.instructions;
    std::vector<std::uint32_t> scratch(weights.size(), kNoInstruction);
    for (std::uint32_t b = 0; b < definitions.flow().blocks.size(); ++b) {
        const BasicBlock& block = definitions.flow().blocks[b];
        if (block.last - block.first < 2) continue;
        const Order order = BlockScheduler(kernel, definitions, weights, b, scratch).run(limit);
        for (std::uint32_t n = 0; n < order.size(); ++n)
            scheduled[block.first + n] = kernel.instructions[block.first + order[n]];
    }
    return scheduled;
}

}  // namespace heddle::ptx
