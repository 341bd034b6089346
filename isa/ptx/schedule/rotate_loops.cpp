#include <algorithm>

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

struct Loop {
    std::uint32_t first, test, last;  // test: the guarded branch out; last: the branch back
};

// head: ...pure...; @p bra behind; body; bra head; behind:
bool find_loop(const Kernel& kernel, std::uint32_t last, Loop& loop) {
    const Instruction& back = kernel.instructions[last];
    if (!is_jump(back) || back.guard >= 0 || back.operands[0].index >= last) return false;
    loop.first = back.operands[0].index;
    loop.last = last;
    for (std::uint32_t i = loop.first; i < last && i - loop.first <= kLongestTest; ++i) {
        const Instruction& n = kernel.instructions[i];
        if (is_jump(n)) {
            loop.test = i;
            return n.guard >= 0 && n.operands[0].index == last + 1 && i + 1 < last;
        }
        if (effect_of(n) != Effect::none || n.guard >= 0) return false;
    }
    return false;
}

bool is_entered_inside(const Kernel& kernel, const Loop& loop) {
    for (const Instruction& n : kernel.instructions) {
        for (const Operand& operand : n.operands) {
            if (operand.kind == Operand::Kind::label && operand.index > loop.first &&
                operand.index <= loop.test)
                return true;
        }
    }
    return false;
}

// The branch back becomes a copy of the test with a branch behind it.
void rotate(Kernel& kernel, const Loop& loop) {
    const std::uint32_t added = loop.test - loop.first;
    std::vector<Instruction> test(kernel.instructions.begin() + loop.first,
                                  kernel.instructions.begin() + loop.test);
    Instruction branch = kernel.instructions[loop.test];
    branch.guard_negated = !branch.guard_negated;
    branch.operands[0].index = loop.test + 1;
    test.push_back(branch);
    for (Instruction& n : kernel.instructions) {
        for (Operand& operand : n.operands) {
            if (operand.kind == Operand::Kind::label && operand.index > loop.last) operand.index += added;
        }
    }
    const auto place = kernel.instructions.begin() + loop.last;
    *place = test.front();
    kernel.instructions.insert(place + 1, test.begin() + 1, test.end());
}

// ...; @p bra behind; pure...; bra head; behind: - the way out is turned into the way back.
bool find_late_test(const Kernel& kernel, const Definitions& definitions, std::uint32_t last, Loop& loop) {
    const Instruction& back = kernel.instructions[last];
    if (!is_jump(back) || back.guard >= 0 || back.operands[0].index >= last) return false;
    loop.first = back.operands[0].index;
    loop.last = last;
    const std::vector<std::uint32_t>& block_of = definitions.flow().block_of;
    if (last + 1 >= block_of.size()) return false;
    const std::vector<bool>& live_behind = definitions.liveness().live_in[block_of[last + 1]];
    for (std::uint32_t i = last; i-- > loop.first && last - i <= 2 * kLongestTest;) {
        const Instruction& n = kernel.instructions[i];
        if (is_jump(n)) {
            loop.test = i;
            if (n.guard < 0 || n.operands[0].index != last + 1) return false;
            const auto guard = static_cast<std::uint32_t>(n.guard);
            for (std::uint32_t k = i + 1; k < last; ++k) {
                const std::vector<std::uint32_t>& writes = definitions.uses(k).writes;
                if (std::find(writes.begin(), writes.end(), guard) != writes.end()) return false;
            }
            return true;
        }
        if (effect_of(n) != Effect::none) return false;
        for (const std::uint32_t r : definitions.uses(i).writes) {
            if (live_behind[r]) return false;
        }
    }
    return false;
}

bool is_entered_behind_test(const Kernel& kernel, const Loop& loop) {
    for (const Instruction& n : kernel.instructions) {
        for (const Operand& operand : n.operands) {
            if (operand.kind == Operand::Kind::label && operand.index > loop.test &&
                operand.index <= loop.last)
                return true;
        }
    }
    return false;
}

void move_test_to_end(Kernel& kernel, const Loop& loop) {
    Instruction branch = kernel.instructions[loop.test];
    branch.guard_negated = !branch.guard_negated;
    branch.operands[0].index = loop.first;
    kernel.instructions[loop.last] = branch;
    std::vector<bool> removed(kernel.instructions.size(), false);
    removed[loop.test] = true;
    remove_instructions(kernel, removed);
}

}  // namespace

bool rotate_loops(Kernel& kernel) {
    bool changed = false;
    for (std::uint32_t i = 0; i < kernel.instructions.size(); ++i) {
        const Instruction& n = kernel.instructions[i];
        if (!is_jump(n) || n.guard >= 0 || n.operands[0].index >= i) continue;
        Loop loop{};
        if (!find_late_test(kernel, Definitions(kernel), i, loop) || is_entered_behind_test(kernel, loop))
            continue;
        move_test_to_end(kernel, loop);
        changed = true;
    }
    for (std::uint32_t i = 0; i < kernel.instructions.size(); ++i) {
        Loop loop{};
        if (!find_loop(kernel, i, loop) || is_entered_inside(kernel, loop)) continue;
        rotate(kernel, loop);
        changed = true;
    }
    return changed;
}

}  // namespace heddle::ptx
