#include "isa/sass/timing.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "isa/common/error.h"
#include "isa/sass/machine_instruction.h"

namespace heddle::sass {
namespace {

constexpr unsigned kBarriers = 6;

/// Positions of instructions that may follow each one.
class Successors {
  public:
    explicit Successors(std::span<const Instruction> code, const MachineFunction& function) : code_(code) {
        for (std::size_t i = 0; i < code.size(); ++i) at_[code[i].address] = i;
        for (const auto& [from, targets] : function.branch_targets)
            for (const std::uint64_t target : targets) indirect_[from].push_back(target);
        for (std::size_t i = 0; i < code.size(); ++i)
            if (code[i].mnemonic == "CALL" && i + 1 < code.size()) returns_.push_back(i + 1);
    }
    std::vector<std::size_t> of(std::size_t i) const {
        const Instruction& n = code_[i];
        const bool conditional = n.guard_kind != OperandKind::none;
        std::vector<std::size_t> result;
        if (n.mnemonic == "EXIT" || n.mnemonic == "KILL") return conditional ? next(i) : result;
        if (n.mnemonic == "RET") {
            result = returns_;
        } else if (n.mnemonic == "BRA" || n.mnemonic == "CALL" || n.mnemonic == "JMP" || n.mnemonic == "BRX" || n.mnemonic == "JMX" ||
                   n.mnemonic == "WARPSYNC") {
            for (const Operand& operand : n.operands)
                if (operand.kind == OperandKind::target) add(static_cast<std::uint64_t>(operand.value), result);
            if (const auto found = indirect_.find(n.address); found != indirect_.end())
                for (const std::uint64_t target : found->second) add(target, result);
            // A branch may have a condition among its operands, too: BRA P0, target; BRA.DIV UR4, target.
            const bool always = n.mnemonic == "BRA" && !conditional && n.operands.size() == 1 && n.modifiers.empty();
            if (always || ((n.mnemonic == "BRX" || n.mnemonic == "JMX") && !conditional)) return result;
        }
        for (const std::size_t one : next(i)) result.push_back(one);
        return result;
    }

  private:
    std::vector<std::size_t> next(std::size_t i) const {
        if (i + 1 < code_.size()) return {i + 1};
        return {};
    }
    void add(std::uint64_t address, std::vector<std::size_t>& to) const {
        if (const auto found = at_.find(address); found != at_.end()) to.push_back(found->second);
    }

    std::span<const Instruction> code_;
    std::map<std::uint64_t, std::size_t> at_;
    std::map<std::uint64_t, std::vector<std::uint64_t>> indirect_;
    std::vector<std::size_t> returns_;
};

/// For each barrier the places that may be counting in it.
using InFlight = std::array<std::set<std::uint16_t>, kBarriers>;

bool join(InFlight& into, const InFlight& from) {
    bool grown = false;
    for (unsigned b = 0; b < kBarriers; ++b)
        for (const std::uint16_t place : from[b]) grown = into[b].insert(place).second || grown;
    return grown;
}

/// The counter among the operands of DEPBAR is a wait for a barrier, too.
unsigned waited_for(const Instruction& n) {
    unsigned mask = n.control.wait_mask;
    if (n.mnemonic == "DEPBAR")
        for (const Operand& operand : n.operands)
            if (operand.kind == OperandKind::scoreboard && operand.index < kBarriers) mask |= 1u << operand.index;
    return mask;
}

bool names_destination(const Instruction& n) {
    return !n.operands.empty() && n.operands.front().kind == OperandKind::general;
}

std::string opcode_of(const Instruction& n) {
    std::string text = n.mnemonic;
    for (const std::string& one : n.modifiers) text += "." + one;
    return text;
}

[[noreturn]] void report_unknown(const Cubin& cubin, const MachineFunction& function, const Instruction& n) {
    throw Error("no timing is known for the machine instruction " + n.mnemonic,
                {cubin.file_name, 0, function.name + " byte " + std::to_string(n.address) + ", " + text_of(n)},
                "compile the kernel to PTX (-gencode arch=compute_NN,code=compute_NN), which runs in its place");
}

/// Pipeline, operation and operands by the table of opcodes.
void set_operation(const Cubin& cubin, const MachineFunction& function, const Instruction& n, ptx::MachineTiming& timing) {
    const Mnemonic* const known = find_mnemonic(n.mnemonic);
    if (known == nullptr) report_unknown(cubin, function, n);
    const std::string opcode = opcode_of(n);
    std::vector<std::uint8_t> sources;
    unsigned position = 0;
    const std::size_t first = names_destination(n) ? 1 : 0;
    for (std::size_t i = first; i < n.operands.size(); ++i) {
        const Operand& operand = n.operands[i];
        if (operand.kind == OperandKind::predicate || operand.kind == OperandKind::uniform_predicate) continue;
        if (operand.kind == OperandKind::general) {
            sources.push_back(static_cast<std::uint8_t>(operand.index));
            if (position < timing.operands.size()) {
                timing.operands[position] = static_cast<std::uint8_t>(operand.index);
                timing.reuse[position] = operand.reuse;
            }
        } else if (operand.kind == OperandKind::address) {
            sources.push_back(static_cast<std::uint8_t>(operand.base));
        }
        ++position;
    }
    WrittenInstruction written;
    written.opcode = opcode;
    written.writes = first == 1;
    written.destination = first == 1 ? static_cast<std::uint8_t>(n.operands.front().index) : kNoGeneralRegister;
    written.sources = sources;
    const std::optional<MachineInstruction> machine = decode(written);
    timing.operation = machine ? machine->info.operation : known->operation;
    timing.pipeline = machine ? machine->info.pipeline : pipeline_of(known->operation);
    timing.uniform = timing.operation == ptx::Operation::uniform;
}

}  // namespace

ptx::MachineCode timing_of(const Cubin& cubin, const MachineFunction& function, std::span<const Instruction> instructions) {
    ptx::MachineCode result;
    result.registers = function.registers;
    std::size_t places = 0;
    for (const Instruction& n : instructions) {
        ptx::MachineTiming timing;
        timing.text = text_of(n);
        timing.stall = std::max<std::uint8_t>(1, n.control.stall);
        set_operation(cubin, function, n, timing);
        if (n.control.write_barrier < kBarriers) timing.results.push_back(static_cast<std::uint16_t>(places++));
        if (n.control.read_barrier < kBarriers) timing.operands_read = static_cast<std::uint16_t>(places++);
        result.instructions.push_back(std::move(timing));
    }
    result.first_parameter_place = static_cast<std::uint16_t>(places);
    result.places = places + (function.parameter_bytes + 3) / 4;
    if (result.places >= ptx::kNoScoreboard)
        throw Error("the function sets barriers at more than 65000 places", {cubin.file_name, 0, function.name}, "split the kernel");

    // Which places may count in which barrier before each instruction.
    const Successors successors(instructions, function);
    std::vector<InFlight> before(instructions.size());
    std::vector<bool> queued(instructions.size(), true);
    std::vector<std::size_t> work(instructions.size());
    for (std::size_t i = 0; i < work.size(); ++i) work[i] = work.size() - 1 - i;
    while (!work.empty()) {
        const std::size_t i = work.back();
        work.pop_back();
        queued[i] = false;
        const Instruction& n = instructions[i];
        InFlight after = before[i];
        const unsigned waits = waited_for(n);
        for (unsigned b = 0; b < kBarriers; ++b)
            if ((waits >> b & 1u) != 0) after[b].clear();
        if (n.control.write_barrier < kBarriers) after[n.control.write_barrier].insert(result.instructions[i].results.front());
        if (n.control.read_barrier < kBarriers) after[n.control.read_barrier].insert(result.instructions[i].operands_read);
        for (const std::size_t next : successors.of(i)) {
            if (!join(before[next], after) || queued[next]) continue;
            queued[next] = true;
            work.push_back(next);
        }
    }
    for (std::size_t i = 0; i < instructions.size(); ++i) {
        ptx::MachineTiming& timing = result.instructions[i];
        const Instruction& n = instructions[i];
        const unsigned waits = waited_for(n);
        for (unsigned b = 0; b < kBarriers; ++b)
            if ((waits >> b & 1u) != 0) timing.waits.insert(timing.waits.end(), before[i][b].begin(), before[i][b].end());
        for (const Operand& operand : n.operands) {
            if (operand.kind != OperandKind::constant || operand.bank != 0 || operand.value < function.parameter_base) continue;
            const std::uint64_t word = (static_cast<std::uint64_t>(operand.value) - function.parameter_base) / 4;
            if (word < (function.parameter_bytes + 3) / 4)
                timing.waits.push_back(static_cast<std::uint16_t>(result.first_parameter_place + word));
        }
    }
    std::size_t line = 0;
    for (std::size_t i = 0; i < instructions.size() && !function.lines.empty(); ++i) {
        while (line + 1 < function.lines.size() && function.lines[line + 1].address <= instructions[i].address) ++line;
        if (function.lines[line].address > instructions[i].address) continue;
        result.instructions[i].file = function.lines[line].file;
        result.instructions[i].line = function.lines[line].line;
    }
    return result;
}

}  // namespace heddle::sass
