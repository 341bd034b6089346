#include "isa/ptx/schedule/register_allocation.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>

namespace heddle::ptx {
namespace {

/// Where a value is live: from its write (odd) to its last read (even), both included. Instruction i reads at
/// 2i and writes at 2i + 1.
struct Segment {
    std::uint32_t first, last;
};
using Segments = std::vector<Segment>;

/// Values that lie side by side; most are alone.
struct Group {
    std::vector<std::uint32_t> members;
    unsigned words = 0, alignment = 1;
    std::uint32_t start = 0, end = 0;  ///< of the lives of all
    std::uint32_t length = 0;          ///< of the longest life, without its gaps
};

class LiveSegments {
  public:
    LiveSegments(const Kernel& kernel, std::span<const RegisterUse> uses, const ControlFlow& flow,
                 const Liveness& liveness, const std::vector<unsigned>& weights)
        : kernel_(kernel), uses_(uses), weights_(weights), segments_(weights.size()) {
        end_.assign(weights.size(), kNoInstruction);
        first_write_.assign(weights.size(), 0);
        for (std::size_t b = flow.blocks.size(); b-- > 0;)
            walk(flow.blocks[b], liveness.live_in[b], liveness.live_out[b]);
        for (Segments& segments : segments_) std::reverse(segments.begin(), segments.end());
    }
    std::vector<Segments> take() { return std::move(segments_); }

  private:
    void walk(const BasicBlock& block, const RegisterSet& live_in, const RegisterSet& live_out) {
        open_.clear();
        live_out.for_each([&](std::uint32_t r) { open(r, 2 * block.last + 1); });
        for (std::uint32_t i = block.last + 1; i-- > block.first;) {
            for (const std::uint32_t r : uses_[i].writes) first_write_[r] = i;
        }
        for (std::uint32_t i = block.last + 1; i-- > block.first;) {
            for (const std::uint32_t r : uses_[i].writes) {
                open(r, 2 * i + 1);  // or written in vain
                // Under a guard a value from before the write is kept in some lanes.
                if (kernel_.instructions[i].guard >= 0 && (live_in.contains(r) || first_write_[r] < i))
                    continue;
                close(r, 2 * i + 1);
            }
            for (const std::uint32_t r : uses_[i].reads) open(r, 2 * i);
        }
        for (const std::uint32_t r : open_) {
            if (end_[r] != kNoInstruction) close(r, 2 * block.first);
        }
    }

    /// Going backwards: the register is live up to here, unless that is known.
    void open(std::uint32_t r, std::uint32_t last) {
        if (end_[r] != kNoInstruction || weights_[r] == 0) return;
        end_[r] = last;
        open_.push_back(r);
    }

    void close(std::uint32_t r, std::uint32_t first) {
        if (weights_[r] == 0) return;
        Segments& segments = segments_[r];
        if (!segments.empty() && segments.back().first == end_[r] + 1)
            segments.back().first = first;
        else
            segments.push_back({first, end_[r]});
        end_[r] = kNoInstruction;
    }

    const Kernel& kernel_;
    std::span<const RegisterUse> uses_;
    const std::vector<unsigned>& weights_;
    std::vector<Segments> segments_;
    std::vector<std::uint32_t> end_;   // [register] of the segment at hand, kNoInstruction: there is none
    std::vector<std::uint32_t> open_;  // registers that have had one in this block
    std::vector<std::uint32_t> first_write_;  // [register] in the last block that writes it
};

/// The lives that share a physical register, without overlap.
class Lives {
  public:
    bool overlap(const Segments& segments) const {
        return std::any_of(segments.begin(), segments.end(), [this](const Segment& segment) {
            const auto after = lasts_.upper_bound(segment.last);
            return after != lasts_.begin() && std::prev(after)->second >= segment.first;
        });
    }
    void add(const Segments& segments) {
        for (const Segment& segment : segments) lasts_.emplace(segment.first, segment.last);
    }
    void remove(const Segments& segments) {
        for (const Segment& segment : segments) lasts_.erase(segment.first);
    }

  private:
    std::map<std::uint32_t, std::uint32_t> lasts_;  // by the first place of each segment
};

class Allocator {
  public:
    Allocator(const Kernel& kernel, const std::vector<unsigned>& weights, std::vector<Segments> segments)
        : kernel_(kernel), weights_(weights), segments_(std::move(segments)) {
        group_of_.assign(weights.size(), false);
    }

    /// No order of placing is best for all kernels: the one that needs the fewest registers.
    RegisterAllocation run(const OperandMeetings* meetings) {
        collect_vectors();
        for (std::uint32_t r = 0; r < weights_.size(); ++r) {
            if (!group_of_[r] && weights_[r] != 0 && !segments_[r].empty()) groups_.push_back(alone(r));
        }
        using Compare = bool (*)(const Group&, const Group&);
        constexpr Compare kOrders[] = {
            [](const Group& a, const Group& b) {
                return a.alignment != b.alignment ? a.alignment > b.alignment : a.start < b.start;
            },
            [](const Group& a, const Group& b) {
                return a.alignment != b.alignment ? a.alignment > b.alignment : a.length > b.length;
            },
            [](const Group& a, const Group& b) {
                return a.start != b.start ? a.start < b.start : a.alignment > b.alignment;
            },
            [](const Group& a, const Group& b) { return a.length > b.length; },
            [](const Group& a, const Group& b) { return a.end > b.end; },
        };
        RegisterAllocation best;
        for (const Compare order : kOrders) {
            std::stable_sort(groups_.begin(), groups_.end(), order);
            taken_.clear();
            result_ = {};
            result_.physical.assign(weights_.size(), RegisterAllocation::kNone);
            for (const Group& group : groups_) place(group);
            if (best.physical.empty() || result_.count < best.count) best = std::move(result_);
        }
        if (meetings == nullptr) return best;
        result_ = std::move(best);
        spread_over_banks(*meetings);
        return std::move(result_);
    }

  private:
    static constexpr std::size_t kStackPointer = 1;

    Group alone(std::uint32_t r) const {
        return {{r},         weights_[r], weights_[r], segments_[r].front().first, segments_[r].back().last,
                length_of(r)};
    }

    std::uint32_t length_of(std::uint32_t r) const {
        std::uint32_t length = 0;
        for (const Segment& segment : segments_[r]) length += segment.last - segment.first + 1;
        return length;
    }

    // The largest vectors first: a register can lie beside others in one way only. Where a text puts it into
    // two different vectors the machine needs a move, which is not counted.
    void collect_vectors() {
        std::vector<const Operand*> vectors;
        for (const Instruction& n : kernel_.instructions) {
            if (n.opcode == Opcode::mov) continue;
            for (const Operand& operand : n.operands) {
                if (operand.kind == Operand::Kind::vector && operand.elements.size() > 1)
                    vectors.push_back(&operand);
            }
        }
        std::stable_sort(vectors.begin(), vectors.end(), [](const Operand* a, const Operand* b) {
            return a->elements.size() > b->elements.size();
        });
        for (const Operand* vector : vectors) add_vector(*vector);
    }

    void add_vector(const Operand& vector) {
        Group group;
        group.start = kNoInstruction;
        for (const Operand& element : vector.elements) {
            if (element.kind != Operand::Kind::reg || group_of_[element.index] ||
                weights_[element.index] == 0)
                return;
            const auto& members = group.members;
            if (std::find(members.begin(), members.end(), element.index) != members.end()) return;
            if (segments_[element.index].empty() || bits_of(kernel_.registers[element.index].type) < 32)
                return;
            group.members.push_back(element.index);
            group.words += weights_[element.index];
            group.start = std::min(group.start, segments_[element.index].front().first);
            group.end = std::max(group.end, segments_[element.index].back().last);
            group.length = std::max(group.length, length_of(element.index));
        }
        group.alignment = std::min(8u, std::bit_ceil(group.words));
        for (const std::uint32_t r : group.members) group_of_[r] = true;
        groups_.push_back(std::move(group));
    }

    bool fits(const Group& group, std::size_t base) const {
        std::size_t word = base;
        for (const std::uint32_t r : group.members) {
            for (unsigned w = 0; w < weights_[r]; ++w, ++word) {
                if (word == kStackPointer || (word < taken_.size() && taken_[word].overlap(segments_[r])))
                    return false;
            }
        }
        return true;
    }

    void place(const Group& group) {
        std::size_t base = 0;
        while (!fits(group, base)) base += group.alignment;
        taken_.resize(std::max(taken_.size(), base + group.words));
        result_.count = std::max(result_.count, static_cast<unsigned>(base + group.words));
        std::size_t word = base;
        for (const std::uint32_t r : group.members) {
            result_.physical[r] = static_cast<std::uint16_t>(word);
            for (unsigned w = 0; w < weights_[r]; ++w, ++word) taken_[word].add(segments_[r]);
        }
    }

    // Each single value in turn goes to the bank in which it meets fewer operands, to a free register or in
    // exchange for another value, and over again while that helps.
    void spread_over_banks(const OperandMeetings& meetings) {
        constexpr unsigned kRounds = 8;
        std::vector<std::uint32_t> single;
        taken_.assign(result_.count, {});
        for (std::uint32_t r = 0; r < weights_.size(); ++r) {
            if (result_.physical[r] == RegisterAllocation::kNone) continue;
            for (unsigned w = 0; w < weights_[r]; ++w) taken_[result_.physical[r] + w].add(segments_[r]);
            if (weights_[r] == 1 && !group_of_[r]) single.push_back(r);
        }
        bool changed = true;
        for (unsigned round = 0; round < kRounds && changed; ++round) {
            changed = false;
            for (const std::uint32_t r : single) {
                if (meetings.any(r) && gain_of_other_bank(meetings, r) > 0)
                    changed = move_to_other_bank(meetings, single, r) || changed;
            }
        }
    }

    int gain_of_other_bank(const OperandMeetings& meetings, std::uint32_t r) const {
        const auto sums = meetings.count(r, result_.physical);
        const unsigned bank = result_.physical[r] % kRegisterBanks;
        return static_cast<int>(sums[bank]) - static_cast<int>(sums[1 - bank]);
    }

    bool move_to_other_bank(const OperandMeetings& meetings, const std::vector<std::uint32_t>& single,
                            std::uint32_t r) {
        const std::uint16_t old = result_.physical[r];
        taken_[old].remove(segments_[r]);
        for (unsigned to = 1 - old % kRegisterBanks; to < result_.count; to += kRegisterBanks) {
            if (to == kStackPointer || taken_[to].overlap(segments_[r])) continue;
            put(r, static_cast<std::uint16_t>(to));
            return true;
        }
        const int gain = gain_of_other_bank(meetings, r);
        for (const std::uint32_t other : single) {
            const std::uint16_t to = result_.physical[other];
            if (to % kRegisterBanks == old % kRegisterBanks ||
                gain + gain_of_other_bank(meetings, other) <= 0)
                continue;
            taken_[to].remove(segments_[other]);
            if (!taken_[to].overlap(segments_[r]) && !taken_[old].overlap(segments_[other])) {
                put(r, to);
                put(other, old);
                return true;
            }
            taken_[to].add(segments_[other]);
        }
        put(r, old);
        return false;
    }

    void put(std::uint32_t r, std::uint16_t to) {
        result_.physical[r] = to;
        taken_[to].add(segments_[r]);
    }

    const Kernel& kernel_;
    const std::vector<unsigned>& weights_;
    std::vector<Segments> segments_;
    std::vector<bool> group_of_;
    std::vector<Group> groups_;
    std::vector<Lives> taken_;  // of each physical register
    RegisterAllocation result_;
};

}  // namespace

RegisterAllocation allocate_registers(const Kernel& kernel, std::span<const RegisterUse> uses,
                                      const ControlFlow& flow, const Liveness& liveness,
                                      const OperandMeetings* meetings) {
    const std::vector<unsigned> weights = register_weights(kernel, uses);
    return Allocator(kernel, weights, LiveSegments(kernel, uses, flow, liveness, weights).take())
        .run(meetings);
}

RegisterAllocation allocate_registers(const Kernel& kernel) {
    const std::vector<RegisterUse> uses = register_uses(kernel);
    const ControlFlow flow = analyze_control_flow(kernel);
    return allocate_registers(kernel, uses, flow, analyze_liveness(uses, kernel, flow));
}

}  // namespace heddle::ptx
