#include "isa/sass/translate/translate.h"

#include <algorithm>

#include "isa/common/error.h"
#include "isa/ptx/parser.h"
#include "isa/ptx/schedule/definitions.h"
#include "isa/sass/translate/rows.h"

namespace heddle::sass {
namespace {

constexpr std::uint64_t kInstructionBytes = 16;

bool always(const Instruction& instruction) {
    return instruction.guard_kind == OperandKind::none || (instruction.guard == kTruePredicate && !instruction.guard_negated);
}

/// Whether control never comes to the next instruction.
bool ends_path(std::span<const Instruction> code, std::size_t index) {
    const Instruction& n = code[index];
    if (!always(n)) return false;
    if (n.mnemonic == "CALL") return is_jump(code, index);
    if (n.mnemonic == "EXIT" || n.mnemonic == "RET" || n.mnemonic == "BRX" || n.mnemonic == "BRXU" || n.mnemonic == "JMX" || n.mnemonic == "JMXU" || n.mnemonic == "KILL") {
        return std::none_of(n.operands.begin(), n.operands.end(), [](const Operand& o) { return o.kind == OperandKind::predicate || o.kind == OperandKind::uniform_predicate; });
    }
    if (n.mnemonic != "BRA" && n.mnemonic != "JMP") return false;
    if (n.has("DIV") || n.has("CONV")) return false;
    return std::none_of(n.operands.begin(), n.operands.end(), [](const Operand& o) {
        return (o.kind == OperandKind::predicate || o.kind == OperandKind::uniform_predicate) && !(o.index == kTruePredicate && !o.negated);
    });
}

/// Where a branch may go within its function; not where a call goes.
std::vector<std::uint64_t> targets_of(const MachineFunction& function, std::span<const Instruction> code, std::size_t index) {
    const Instruction& n = code[index];
    std::vector<std::uint64_t> result;
    // Lanes that have not met go to a copy of the work under .DIV: here they meet first, but for lanes that differ.
    if (((n.mnemonic == "BRA" || n.mnemonic == "JMP") && (!n.has("DIV") || goes_where_lanes_differ(n))) || is_jump(code, index)) {
        for (const Operand& operand : n.operands) {
            if (operand.kind == OperandKind::target && operand.name.empty()) result.push_back(static_cast<std::uint64_t>(operand.value));
        }
    }
    for (const auto& [address, targets] : function.branch_targets) {
        if (address == n.address) result.insert(result.end(), targets.begin(), targets.end());
    }
    return result;
}

/// Which instructions are come to from `entry`, and from those of `others`.
std::vector<bool> reachable(const MachineFunction& function, std::span<const Instruction> code, std::uint64_t entry, const std::vector<std::uint64_t>& others = {}) {
    std::vector<bool> result(code.size(), false);
    std::vector<std::uint64_t> work = others;
    work.push_back(entry);
    while (!work.empty()) {
        std::uint64_t address = work.back();
        work.pop_back();
        for (;; address += kInstructionBytes) {
            const std::size_t index = address / kInstructionBytes;
            if (address % kInstructionBytes != 0 || index >= code.size())
                throw Error("machine code of " + function.name + ": control goes to byte " + std::to_string(address) + ", where there is no instruction");
            if (result[index]) break;
            result[index] = true;
            const std::vector<std::uint64_t> targets = targets_of(function, code, index);
            work.insert(work.end(), targets.begin(), targets.end());
            if (ends_path(code, index)) break;
        }
    }
    return result;
}

/// A subroutine that knows itself where it returns to is come to by a call that is a jump, and leaves by a RET in the kernel's own
/// body. Gives the places behind such calls; none when nothing returns.
std::vector<std::uint64_t> returns_of_jumps(std::span<const Instruction> code, const std::vector<bool>& used) {
    std::vector<std::uint64_t> result;
    bool returns = false;
    for (std::size_t i = 0; i < code.size(); ++i) {
        if (!used[i]) continue;
        returns = returns || code[i].mnemonic == "RET";
        if (code[i].mnemonic == "CALL" && is_jump(code, i)) result.push_back(code[i].address + kInstructionBytes);
    }
    return returns ? result : std::vector<std::uint64_t>{};
}

void translate_one(Emitter& emitter, const Instruction& instruction, std::uint32_t index) {
    emitter.begin(instruction, index);
    const Row* row = find_row(instruction.mnemonic);
    if (row == nullptr) emitter.refuse("this instruction is not known");
    row->translate(emitter, instruction);
    emitter.end();
}

void translate_body(Emitter& emitter, const BodyContext& body, std::uint64_t entry) {
    std::vector<bool> used = reachable(*body.function, body.code, entry);
    BodyContext with_returns = body;
    if (body.clone == 0) with_returns.returns_to = returns_of_jumps(body.code, used);
    if (!with_returns.returns_to.empty()) used = reachable(*body.function, body.code, entry, with_returns.returns_to);
    emitter.begin_body(with_returns);
    for (std::size_t i = 0; i < body.code.size(); ++i) {
        if (used[i]) translate_one(emitter, body.code[i], static_cast<std::uint32_t>(i));
    }
}

}  // namespace

bool is_jump(std::span<const Instruction> code, std::size_t call) {
    const Instruction& n = code[call];
    if (n.mnemonic != "CALL" || !n.has("REL") || n.operands.empty() || n.operands.back().kind != OperandKind::target || !n.operands.back().name.empty()) return false;
    const auto next = static_cast<std::int64_t>(n.address + kInstructionBytes);
    for (std::size_t i = call; i-- > 0 && call - i <= 64;) {
        for (const Operand& operand : code[i].operands) {
            if (operand.kind == OperandKind::integer && operand.value == next) return false;
        }
    }
    return true;
}

bool goes_where_lanes_differ(const Instruction& n) {
    return n.has("DIV") && !always(n);
}

const Row* find_row(std::string_view mnemonic) {
    for (const auto rows : {integer_rows, float_rows, half_rows, conversion_rows, move_rows, memory_rows, control_rows, warp_rows, tensor_rows,
                            asynchronous_rows, texture_rows, cluster_rows}) {
        for (const Row& row : rows()) {
            if (row.mnemonic == mnemonic) return &row;
        }
    }
    return nullptr;
}

ptx::Module module_of(const Translation& translation, const std::string& file_name) {
    ptx::Module module = ptx::parse(translation.ptx, file_name, ptx::Dialect::machine_code);
    for (ptx::Kernel& kernel : module.kernels) ptx::split_webs(kernel);
    return module;
}

bool has_translation(std::string_view mnemonic) {
    return find_row(mnemonic) != nullptr;
}

Translation translate(const Cubin& cubin, const MachineFunction& kernel, std::span<const Instruction> code) {
    Emitter emitter(cubin, kernel);
    emitter.keep_code(kernel, code);
    BodyContext body;
    body.function = &kernel;
    body.code = code;
    translate_body(emitter, body, 0);
    PendingBody pending;
    while (emitter.take_pending(pending)) translate_body(emitter, pending.context, pending.entry);
    emitter.write_return_blocks();
    return emitter.finish();
}

std::string why_untranslatable(const Instruction& instruction, unsigned compute_capability) {
    Cubin cubin;
    cubin.compute_capability = compute_capability;
    cubin.constant3.resize(65536);
    MachineFunction& kernel = cubin.functions.emplace_back();
    kernel.name = "kernel";
    kernel.parameter_base = compute_capability >= 100 ? 0x380 : compute_capability >= 90 ? 0x210 : 0x160;
    kernel.parameter_bytes = 4096;
    kernel.parameters.push_back({0, 0, 4096});
    kernel.constant2.resize(65536);
    Emitter emitter(cubin, kernel);
    try {
        translate_one(emitter, instruction, 0);
    } catch (const Error& error) {
        return error.problem();
    }
    return "";
}

}  // namespace heddle::sass
