#include "isa/ptx/decode/data_flow.h"

#include <algorithm>
#include <array>

#include "isa/ptx/decode/dominators.h"
#include "isa/ptx/instruction_table.h"

namespace heddle::ptx {
namespace {

void collect(const OperandPattern& pattern, const Operand& operand, RegisterUse& use) {
    if (operand.kind == Operand::Kind::vector) {
        for (const Operand& element : operand.elements) collect(pattern, element, use);
    } else if (operand.kind == Operand::Kind::address) {
        for (const Operand& coordinate : operand.elements) {
            if (coordinate.kind != Operand::Kind::reg) continue;
            use.reads.push_back(coordinate.index);
            use.address_reads.push_back(coordinate.index);
        }
        if (operand.base != Operand::Kind::reg) return;
        use.reads.push_back(operand.index);
        use.address_reads.push_back(operand.index);
    } else if (operand.kind == Operand::Kind::reg) {
        (pattern.written ? use.writes : use.reads).push_back(operand.index);
        if (pattern.updated) use.reads.push_back(operand.index);
    }
}

// D = A B + D reads D, D = A B (scale-d is the constant 0) does not.
bool ignores_old_value(const Instruction& instruction) {
    if (instruction.opcode != Opcode::wgmma) return false;
    return std::any_of(instruction.operands.begin(), instruction.operands.end(), [](const Operand& operand) {
        return operand.kind == Operand::Kind::immediate && operand.type == Type::pred && operand.bits == 0;
    });
}

bool ends_thread(const Instruction& instruction) {
    return instruction.opcode == Opcode::ret || instruction.opcode == Opcode::exit ||
           instruction.opcode == Opcode::trap;
}

bool is_branch(const Instruction& instruction) {
    return instruction.opcode == Opcode::bra || instruction.opcode == Opcode::brx;
}

}  // namespace

namespace {

void add_registers(const std::vector<Operand>& operands, std::vector<std::uint32_t>& registers) {
    for (const Operand& operand : operands) {
        if (operand.kind == Operand::Kind::reg) registers.push_back(operand.index);
    }
}

// The registers of a function are written where it is called and read where it returns: seen from inside, its
// arguments are live at its start, and its results are read by `ret`.
void collect_call(const Kernel& kernel, const Instruction& instruction, RegisterUse& use) {
    if (instruction.opcode == Opcode::ret && !instruction.operands.empty()) {
        add_registers(kernel.functions[instruction.operands[0].bits].results, use.reads);
    }
    if (instruction.opcode != Opcode::call) return;
    const CallSite& site = kernel.calls[instruction.operands[0].bits];
    add_registers(site.arguments, use.reads);
    add_registers(site.results, use.writes);
    if (site.kind == CallSite::Kind::pointer) use.reads.push_back(site.pointer);
    if (site.caller >= 0)
        use.reads.push_back(kernel.functions[static_cast<std::size_t>(site.caller)].frame_register);
}

}  // namespace

std::vector<RegisterUse> register_uses(const Kernel& kernel) {
    const auto carry = static_cast<std::uint32_t>(kernel.registers.size());
    std::vector<RegisterUse> uses(kernel.instructions.size());
    for (std::size_t i = 0; i < uses.size(); ++i) {
        const Instruction& instruction = kernel.instructions[i];
        std::array<OperandPattern, kMaximumOperands> patterns;
        const std::size_t count = operand_patterns(*instruction.form, instruction, patterns);
        if (ignores_old_value(instruction)) patterns[0].updated = false;
        for (std::size_t o = 0; o < count; ++o) {
            if (patterns[o].carry)
                (patterns[o].written ? uses[i].writes : uses[i].reads).push_back(carry);
            else
                collect(patterns[o], instruction.operands[o], uses[i]);
        }
        collect_call(kernel, instruction, uses[i]);
        if (instruction.guard >= 0) uses[i].reads.push_back(static_cast<std::uint32_t>(instruction.guard));
    }
    return uses;
}

namespace {

std::vector<std::uint32_t> block_starts(const Kernel& kernel) {
    const auto size = static_cast<std::uint32_t>(kernel.instructions.size());
    std::vector<bool> starts(size + 1, false);
    starts[0] = true;
    for (std::uint32_t i = 0; i < size; ++i) {
        const Instruction& instruction = kernel.instructions[i];
        if (is_branch(instruction)) {
            for (const Operand& operand : instruction.operands) {
                if (operand.kind == Operand::Kind::label) starts[operand.index] = true;
            }
            starts[i + 1] = true;
        } else if (ends_thread(instruction)) {
            starts[i + 1] = true;
        }
    }
    std::vector<std::uint32_t> firsts;
    for (std::uint32_t i = 0; i < size; ++i) {
        if (starts[i]) firsts.push_back(i);
    }
    return firsts;
}

std::vector<BasicBlock> build_blocks(const Kernel& kernel, std::vector<std::uint32_t>& block_of) {
    const auto size = static_cast<std::uint32_t>(kernel.instructions.size());
    const std::vector<std::uint32_t> firsts = block_starts(kernel);
    std::vector<BasicBlock> blocks(firsts.size());
    block_of.resize(size);
    for (std::uint32_t b = 0; b < blocks.size(); ++b) {
        blocks[b].first = firsts[b];
        blocks[b].last = (b + 1 < firsts.size() ? firsts[b + 1] : size) - 1;
        for (std::uint32_t i = blocks[b].first; i <= blocks[b].last; ++i) block_of[i] = b;
    }
    for (std::uint32_t b = 0; b < blocks.size(); ++b) {
        const Instruction& end = kernel.instructions[blocks[b].last];
        const bool conditional = end.guard >= 0;
        std::vector<std::uint32_t>& successors = blocks[b].successors;
        for (const Operand& operand : end.operands) {
            if (operand.kind == Operand::Kind::label) successors.push_back(block_of[operand.index]);
        }
        const bool falls_through = conditional || (!is_branch(end) && !ends_thread(end));
        if (falls_through && b + 1 < blocks.size()) successors.push_back(b + 1);
        std::sort(successors.begin(), successors.end());
        successors.erase(std::unique(successors.begin(), successors.end()), successors.end());
        blocks[b].exits = blocks[b].successors.empty();
        for (const std::uint32_t s : blocks[b].successors) blocks[s].predecessors.push_back(b);
    }
    return blocks;
}

// Reconvergence points. Lanes that leave the kernel must not keep the others from meeting again: `if (c)
// return;` inside an `if` would otherwise move the meeting point of the outer `if` to the kernel's end.
// Hardware behaves the same way, as exited lanes are taken out of its convergence barriers. So edges to
// blocks that only exit do not count, and of the other exits only the one that most blocks can reach is a
// place to meet.
class PostDominators {
  public:
    PostDominators(const Kernel& kernel, const std::vector<BasicBlock>& blocks)
        : kernel_(kernel), blocks_(blocks), exit_(static_cast<std::uint32_t>(blocks.size())) {
        prune_edges();
        restore_loop_exits();
        choose_main_exit();
        solve();
    }

    // The immediate post-dominator of a block, or blocks.size() when only the exit is one.
    std::uint32_t of(std::uint32_t block) const { return immediate_[block]; }

  private:
    bool only_exits(std::uint32_t block) const {
        return blocks_[block].exits && blocks_[block].first == blocks_[block].last &&
               ends_thread(kernel_.instructions[blocks_[block].first]);
    }

    void prune_edges() {
        successors_.resize(blocks_.size() + 1);
        predecessors_.resize(blocks_.size() + 1);
        for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
            for (const std::uint32_t s : blocks_[b].successors) {
                if (only_exits(s)) continue;
                successors_[b].push_back(s);
                predecessors_[s].push_back(b);
            }
            exits_.push_back(successors_[b].empty());
        }
    }

    // A loop that is followed by nothing but `ret` has lost its way out: give it back to the last block that
    // had one.
    void restore_loop_exits() {
        std::vector<bool> reaches(blocks_.size(), false);
        for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
            if (exits_[b]) add_reaching(b, reaches);
        }
        for (std::uint32_t b = exit_; b-- > 0;) {
            if (reaches[b] || successors_[b].size() == blocks_[b].successors.size()) continue;
            exits_[b] = true;
            add_reaching(b, reaches);
        }
    }

    /// Adds the blocks from which `target` can be reached.
    void add_reaching(std::uint32_t target, std::vector<bool>& reaches) const {
        if (reaches[target]) return;
        reaches[target] = true;
        std::vector<std::uint32_t> work{target};
        while (!work.empty()) {
            const std::uint32_t b = work.back();
            work.pop_back();
            for (const std::uint32_t p : predecessors_[b]) {
                if (reaches[p]) continue;
                reaches[p] = true;
                work.push_back(p);
            }
        }
    }

    void choose_main_exit() {
        // Looking at the last 64 exits bounds the work for odd texts; a reader's kernel has a handful.
        constexpr std::size_t kLimit = 64;
        std::size_t best = 0, looked_at = 0;
        std::uint32_t main = exit_;
        std::vector<bool> reaches(blocks_.size(), false);
        for (std::uint32_t b = exit_; b-- > 0 && looked_at < kLimit;) {
            if (!exits_[b]) continue;
            ++looked_at;
            std::vector<bool> seen(blocks_.size(), false);
            add_reaching(b, seen);
            const auto count = static_cast<std::size_t>(std::count(seen.begin(), seen.end(), true));
            if (count <= best || only_exits(b)) continue;
            best = count;
            reaches = seen;
            main = b;
        }
        // Side exits do not count where a block can also go on to the main exit.
        for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
            if (!reaches[b]) continue;
            if (b != main) exits_[b] = false;
            auto& edges = successors_[b];
            edges.erase(
                std::remove_if(edges.begin(), edges.end(), [&](std::uint32_t s) { return !reaches[s]; }),
                edges.end());
        }
    }

    // Dominators on the reversed graph, from the virtual exit.
    void solve() {
        for (auto& list : predecessors_) list.clear();
        for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
            if (exits_[b]) successors_[b].push_back(exit_);
            for (const std::uint32_t s : successors_[b]) predecessors_[s].push_back(b);
        }
        immediate_ = immediate_dominators(exit_, predecessors_, successors_);
        // Blocks of endless loops reach no exit.
        std::replace(immediate_.begin(), immediate_.end(), kNoInstruction, exit_);
    }

    const Kernel& kernel_;
    const std::vector<BasicBlock>& blocks_;
    std::uint32_t exit_;
    Edges successors_, predecessors_;
    std::vector<bool> exits_;  // has an edge to the virtual exit
    std::vector<std::uint32_t> immediate_;
};

}  // namespace

namespace {

// Of a kernel, or a function, by itself.
ControlFlow analyze_body(const Kernel& kernel) {
    ControlFlow flow;
    flow.reconvergence.assign(kernel.instructions.size(), kNoInstruction);
    if (kernel.instructions.empty()) return flow;
    flow.blocks = build_blocks(kernel, flow.block_of);
    const PostDominators post_dominators(kernel, flow.blocks);
    for (std::uint32_t b = 0; b < flow.blocks.size(); ++b) {
        const std::uint32_t last = flow.blocks[b].last;
        const Instruction& end = kernel.instructions[last];
        if (end.opcode != Opcode::brx && (end.opcode != Opcode::bra || end.guard < 0)) continue;
        const std::uint32_t meet = post_dominators.of(b);
        if (meet < flow.blocks.size()) flow.reconvergence[last] = flow.blocks[meet].first;
    }
    return flow;
}

// The instructions [first, last], their labels counted from `first`.
Kernel cut_out(const Kernel& kernel, std::uint32_t first, std::uint32_t last) {
    Kernel part;
    part.instructions.assign(kernel.instructions.begin() + first, kernel.instructions.begin() + last + 1);
    for (Instruction& n : part.instructions) {
        for (Operand& operand : n.operands) {
            if (operand.kind == Operand::Kind::label) operand.index -= first;
        }
    }
    return part;
}

void append(ControlFlow& flow, ControlFlow part) {
    const auto instruction = static_cast<std::uint32_t>(flow.block_of.size());
    const auto block = static_cast<std::uint32_t>(flow.blocks.size());
    for (BasicBlock& b : part.blocks) {
        b.first += instruction;
        b.last += instruction;
        for (std::uint32_t& s : b.successors) s += block;
        for (std::uint32_t& p : b.predecessors) p += block;
        flow.blocks.push_back(std::move(b));
    }
    for (const std::uint32_t b : part.block_of) flow.block_of.push_back(b + block);
    for (const std::uint32_t meet : part.reconvergence)
        flow.reconvergence.push_back(meet == kNoInstruction ? meet : meet + instruction);
}

}  // namespace

ControlFlow analyze_control_flow(const Kernel& kernel) {
    if (kernel.functions.empty()) return analyze_body(kernel);
    ControlFlow flow = analyze_body(cut_out(kernel, 0, kernel.functions[0].first_instruction - 1));
    for (const CalledFunction& function : kernel.functions)
        append(flow, analyze_body(cut_out(kernel, function.first_instruction, function.last_instruction)));
    return flow;
}

}  // namespace heddle::ptx
