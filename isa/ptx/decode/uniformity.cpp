#include "isa/ptx/decode/uniformity.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "isa/ptx/decode/operation_class.h"

namespace heddle::ptx {
namespace {

bool same_for_a_warp(SpecialRegister special) {
    switch (special) {
        case SpecialRegister::ntid_x:
        case SpecialRegister::ntid_y:
        case SpecialRegister::ntid_z:
        case SpecialRegister::ctaid_x:
        case SpecialRegister::ctaid_y:
        case SpecialRegister::ctaid_z:
        case SpecialRegister::nctaid_x:
        case SpecialRegister::nctaid_y:
        case SpecialRegister::nctaid_z:
        case SpecialRegister::envreg1:
        case SpecialRegister::envreg2:
            return true;
        default:
            return false;
    }
}

/// Reads nothing but registers and what is the same for all threads of a warp.
bool has_uniform_sources(const Instruction& n) {
    for (const Operand& operand : n.operands) {
        if (operand.kind == Operand::Kind::special &&
            !same_for_a_warp(static_cast<SpecialRegister>(operand.index)))
            return false;
        if (operand.kind == Operand::Kind::variable) return false;
    }
    return true;
}

bool is_integer_work(Operation operation) {
    return operation == Operation::integer || operation == Operation::integer_compare ||
           operation == Operation::move || operation == Operation::multiply ||
           operation == Operation::multiply_wide;
}

/// Its results are the same for all threads when its registers are.
bool keeps_uniform(const Instruction& n) {
    if (!has_uniform_sources(n) || n.opcode == Opcode::call) return false;
    const bool parameter = n.opcode == Opcode::ld && n.space == StateSpace::parameter;
    const Operation operation = operation_of(n);
    return parameter || operation == Operation::none || is_integer_work(operation);
}

class Uniformity {
  public:
    Uniformity(const Kernel& kernel, std::span<const RegisterUse> uses, const ControlFlow& flow)
        : kernel_(kernel), uses_(uses), flow_(flow) {
        varies_.assign(kernel.registers.size() + 1, false);
        varies_.back() = true;  // the carry flag
        apart_.assign(flow.blocks.size(), false);
        seen_from_.assign(flow.blocks.size(), kNoInstruction);
        spread();
    }

    bool holds(std::size_t i) const {
        const Instruction& n = kernel_.instructions[i];
        return keeps_uniform(n) && !apart_[flow_.block_of[i]] && !reads_varying(i);
    }

  private:
    bool reads_varying(std::size_t i) const {
        return std::any_of(uses_[i].reads.begin(), uses_[i].reads.end(),
                           [this](std::uint32_t r) { return varies_[r]; });
    }

    // What varies makes its results vary, and branches on it part the threads.
    void spread() {
        std::vector<std::vector<std::uint32_t>> readers(varies_.size());
        std::vector<std::uint32_t> work;
        std::vector<bool> queued(uses_.size(), true);
        std::priority_queue<std::pair<std::uint32_t, std::uint32_t>> branches;  // by reach()
        for (std::uint32_t i = 0; i < uses_.size(); ++i) {
            for (const std::uint32_t r : uses_[i].reads) readers[r].push_back(i);
            work.push_back(i);
        }
        std::reverse(work.begin(), work.end());
        const auto look_again = [&](std::uint32_t i) {
            if (!queued[i]) work.push_back(i);
            queued[i] = true;
        };
        while (!work.empty()) {
            const std::uint32_t i = work.back();
            work.pop_back();
            queued[i] = false;
            if (!holds(i)) {
                for (const std::uint32_t r : uses_[i].writes) {
                    if (!varies_[r]) std::for_each(readers[r].begin(), readers[r].end(), look_again);
                    varies_[r] = true;
                }
            }
            if ((flow_.reconvergence[i] != kNoInstruction || is_branch(i)) && reads_varying(i))
                branches.emplace(reach(i), i);
            // The widest first: others within it have nothing to add.
            for (; work.empty() && !branches.empty(); branches.pop()) {
                for (const std::uint32_t b : part(branches.top().second)) {
                    for (std::uint32_t k = flow_.blocks[b].first; k <= flow_.blocks[b].last; ++k)
                        look_again(k);
                }
            }
        }
    }

    bool is_branch(std::size_t i) const {
        const Opcode opcode = kernel_.instructions[i].opcode;
        return opcode == Opcode::bra || opcode == Opcode::brx;
    }

    /// Instructions of the text between the places to which a branch leads, and it.
    std::uint32_t reach(std::uint32_t i) const {
        std::uint32_t first = i, last = i;
        for (const std::uint32_t s : flow_.blocks[flow_.block_of[i]].successors) {
            first = std::min(first, flow_.blocks[s].first);
            last = std::max(last, flow_.blocks[s].first);
        }
        return last - first;
    }

    /// The threads part at instruction `i` and meet where the branch reconverges. Returns the blocks in which
    /// they had not parted before. Where they had before the branch, they had behind it, up to a place that
    /// comes after this one's.
    std::vector<std::uint32_t> part(std::uint32_t i) {
        std::vector<std::uint32_t> found;
        const std::uint32_t own = flow_.block_of[i], meeting = flow_.reconvergence[i];
        if (apart_[own]) return found;
        std::vector<std::uint32_t> waiting = flow_.blocks[own].successors;
        while (!waiting.empty()) {
            const std::uint32_t block = waiting.back();
            waiting.pop_back();
            if (seen_from_[block] == i || flow_.blocks[block].first == meeting) continue;
            seen_from_[block] = i;
            if (!apart_[block]) found.push_back(block);
            apart_[block] = true;
            const auto& next = flow_.blocks[block].successors;
            waiting.insert(waiting.end(), next.begin(), next.end());
        }
        return found;
    }

    const Kernel& kernel_;
    std::span<const RegisterUse> uses_;
    const ControlFlow& flow_;
    std::vector<bool> varies_;              // by register
    std::vector<bool> apart_;               // by block: threads of a warp may come here without the others
    std::vector<std::uint32_t> seen_from_;  // by block: the branch from which it was last looked at
};

}  // namespace

std::vector<bool> find_uniform(const Kernel& kernel, std::span<const RegisterUse> uses,
                               const ControlFlow& flow) {
    std::vector<bool> result(kernel.instructions.size(), false);
    if (!kernel.functions.empty()) return result;  // a caller may have parted the threads
    const Uniformity uniformity(kernel, uses, flow);
    for (std::size_t i = 0; i < result.size(); ++i)
        result[i] = is_integer_work(operation_of(kernel.instructions[i])) && uniformity.holds(i);
    return result;
}

}  // namespace heddle::ptx
