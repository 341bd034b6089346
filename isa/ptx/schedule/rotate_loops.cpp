#include <algorithm>
#include <optional>

#include "isa/ptx/schedule/definitions.h"
#include "isa/ptx/schedule/edit.h"
#include "isa/ptx/schedule/effects.h"
#include "isa/ptx/schedule/fuse.h"

namespace heddle::ptx {
namespace {

constexpr std::uint32_t kLongestTest = 6;  // instructions that are worth repeating

bool is_jump(const Instruction& n) {
    return n.opcode == Opcode::bra && n.operands.size() == 1;
}

bool jumps_back(const Instruction& n, std::uint32_t from) {
    return is_jump(n) && n.guard < 0 && n.operands[0].index < from;
}

struct Loop {
    std::uint32_t first, test, last;  // test: the guarded branch out; last: the branch back
};

/// How many branches lead to each instruction, in sums of ranges (a Fenwick tree).
class Targets {
  public:
    explicit Targets(const Kernel& kernel) : sums_(kernel.instructions.size() + 2, 0) {
        for (const Instruction& n : kernel.instructions) {
            for (const Operand& operand : n.operands) {
                if (operand.kind == Operand::Kind::label) add(operand.index, 1);
            }
        }
    }
    void add(std::uint32_t target, std::int32_t count) {
        for (std::size_t i = target + std::size_t{1}; i < sums_.size(); i += i & (~i + 1)) sums_[i] += count;
    }
    /// Whether something leads to (after, last].
    bool any(std::uint32_t after, std::uint32_t last) const { return up_to(last) != up_to(after); }

  private:
    std::int32_t up_to(std::uint32_t target) const {
        std::int32_t sum = 0;
        for (std::size_t i = target + std::size_t{1}; i != 0; i &= i - 1) sum += sums_[i];
        return sum;
    }
    std::vector<std::int32_t> sums_;
};

/// ...; @p bra behind; pure...; bra head; behind: - the way out is turned into the way back. All loops are
/// looked at as the kernel was written, with what has been done noted: registers are live where they were.
class LateTests {
  public:
    explicit LateTests(Kernel& kernel)
        : kernel_(kernel), targets_(kernel), removed_(kernel.instructions.size(), false) {}

    bool run() {
        bool changed = false;
        for (std::uint32_t i = 0; i < kernel_.instructions.size(); ++i) {
            Loop loop{};
            if (!jumps_back(kernel_.instructions[i], i) || !find(i, loop) ||
                targets_.any(loop.test, loop.last))
                continue;
            move_to_end(loop);
            changed = true;
            ++i;  // a loop that ends right behind another one stays as it is
        }
        if (changed) remove_instructions(kernel_, removed_);
        return changed;
    }

  private:
    bool find(std::uint32_t last, Loop& loop) {
        loop.first = kernel_.instructions[last].operands[0].index;
        loop.last = last;
        if (last + 1 >= kernel_.instructions.size()) return false;
        std::uint32_t seen = 0;
        for (std::uint32_t i = last; i-- > loop.first && seen < 2 * kLongestTest;) {
            const Instruction& n = kernel_.instructions[i];
            if (removed_[i]) continue;
            ++seen;
            if (is_jump(n)) {
                loop.test = i;
                return n.guard >= 0 && n.operands[0].index == last + 1 && !writes_guard(loop);
            }
            if (effect_of(n) != Effect::none || writes_live(i, last + 1)) return false;
        }
        return false;
    }

    bool writes_guard(const Loop& loop) {
        const auto guard = static_cast<std::uint32_t>(kernel_.instructions[loop.test].guard);
        for (std::uint32_t k = loop.test + 1; k < loop.last; ++k) {
            const std::vector<std::uint32_t>& writes = definitions().uses(k).writes;
            if (!removed_[k] && std::find(writes.begin(), writes.end(), guard) != writes.end()) return true;
        }
        return false;
    }

    /// Something that is live at `place`.
    bool writes_live(std::uint32_t i, std::uint32_t place) {
        const RegisterSet& live = definitions().liveness().live_in[definitions().flow().block_of[place]];
        const std::vector<std::uint32_t>& writes = definitions().uses(i).writes;
        return std::any_of(writes.begin(), writes.end(),
                           [&live](std::uint32_t r) { return live.contains(r); });
    }

    void move_to_end(const Loop& loop) {
        Instruction branch = kernel_.instructions[loop.test];
        targets_.add(branch.operands[0].index, -1);
        branch.guard_negated = !branch.guard_negated;
        branch.operands[0].index = loop.first;
        kernel_.instructions[loop.last] = std::move(branch);
        removed_[loop.test] = true;
    }

    /// Of the kernel before the first change.
    const Definitions& definitions() {
        if (!definitions_) definitions_.emplace(kernel_);
        return *definitions_;
    }

    Kernel& kernel_;
    Targets targets_;
    std::vector<bool> removed_;
    std::optional<Definitions> definitions_;
};

/// head: ...pure...; @p bra behind; body; bra head; behind: - the branch back becomes a copy of the test with
/// a branch behind it.
class EarlyTests {
  public:
    explicit EarlyTests(Kernel& kernel)
        : kernel_(kernel), targets_(kernel), test_of_(kernel.instructions.size(), kNoInstruction) {}

    bool run() {
        bool changed = false;
        for (std::uint32_t i = 0; i < kernel_.instructions.size(); ++i) {
            Loop loop{};
            if (!find(i, loop) || targets_.any(loop.first, loop.test)) continue;
            test_of_[i] = loop.test;
            targets_.add(loop.first, -1);
            targets_.add(loop.test + 1, 1);
            changed = true;
        }
        if (changed) write();
        return changed;
    }

  private:
    bool find(std::uint32_t last, Loop& loop) const {
        const Instruction& back = kernel_.instructions[last];
        if (!jumps_back(back, last)) return false;
        loop.first = back.operands[0].index;
        loop.last = last;
        for (std::uint32_t i = loop.first; i < last && i - loop.first <= kLongestTest; ++i) {
            const Instruction& n = kernel_.instructions[i];
            if (is_jump(n)) {
                loop.test = i;
                return n.guard >= 0 && n.operands[0].index == last + 1 && i + 1 < last;
            }
            if (effect_of(n) != Effect::none || n.guard >= 0) return false;
        }
        return false;
    }

    void write() {
        std::vector<Instruction> written;
        std::vector<std::uint32_t> place;
        for (std::uint32_t i = 0; i < kernel_.instructions.size(); ++i) {
            place.push_back(static_cast<std::uint32_t>(written.size()));
            if (test_of_[i] == kNoInstruction) {
                written.push_back(kernel_.instructions[i]);
                continue;
            }
            const auto begin = kernel_.instructions.begin();
            written.insert(written.end(), begin + kernel_.instructions[i].operands[0].index,
                           begin + test_of_[i] + 1);
            written.back().guard_negated = !written.back().guard_negated;
            written.back().operands[0].index = test_of_[i] + 1;
        }
        place.push_back(static_cast<std::uint32_t>(written.size()));
        for (Instruction& n : written) {
            for (Operand& operand : n.operands) {
                if (operand.kind == Operand::Kind::label) operand.index = place[operand.index];
            }
        }
        kernel_.instructions = std::move(written);
    }

    Kernel& kernel_;
    Targets targets_;
    std::vector<std::uint32_t> test_of_;  // [instruction] the test that is copied there
};

}  // namespace

bool rotate_loops(Kernel& kernel) {
    const bool late = LateTests(kernel).run();
    return EarlyTests(kernel).run() || late;
}

}  // namespace heddle::ptx
