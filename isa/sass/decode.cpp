// From the bits of machine code to instructions: by the table (see decode_table.h), and by nvdisasm what the table lacks.
#include <cstdio>

#include "isa/common/error.h"
#include "isa/common/hexadecimal.h"
#include "isa/sass/cubin.h"
#include "isa/sass/decode_table.h"
#include "isa/sass/disassembler.h"

namespace heddle::sass {
namespace {

Control control_of(const std::array<std::uint64_t, 2>& code) {
    // Bits 105 and up of the instruction: 41 and up of its upper half.
    const std::uint64_t bits = code[1] >> 41;
    Control control;
    control.stall = static_cast<std::uint8_t>(bits & 15u);
    control.yield = (bits >> 4 & 1u) == 0;  // 0 lets others go first
    control.write_barrier = static_cast<std::uint8_t>(bits >> 5 & 7u);
    control.read_barrier = static_cast<std::uint8_t>(bits >> 8 & 7u);
    control.wait_mask = static_cast<std::uint8_t>(bits >> 11 & 63u);
    return control;
}

/// The text says of a NaN only that it is one. Its bits are those of the immediate: bits 32 to 63.
void restore_nans(const std::array<std::uint64_t, 2>& code, Instruction& instruction) {
    const auto bits = static_cast<std::uint32_t>(code[0] >> 32);
    std::size_t count = 0;
    for (const Operand& operand : instruction.operands) count += operand.kind == OperandKind::floating ? 1 : 0;
    for (Operand& operand : instruction.operands) {
        if (operand.kind != OperandKind::floating || count != 1) continue;
        const auto value = static_cast<std::uint32_t>(operand.value);
        const bool single = (value & 0x7F800000u) == 0x7F800000u && (value & 0x7FFFFFu) != 0;
        if (single) operand.value = bits;
    }
}

/// Puts what a linker left open into operands: which function a call calls, and where a call returns to.
void relocate(const MachineFunction& function, std::vector<Instruction>& code) {
    // Types of relocations, as nvdisasm's listings of such code show: bits 32 to 63 hold the lower or upper half of an address, and
    // bits 34 to 80 a position in code.
    constexpr std::uint32_t kLowerHalf = 56, kUpperHalf = 57, kPosition = 58;
    for (const Relocation& relocation : function.relocations) {
        const std::size_t index = relocation.offset / 16;
        if (index >= code.size() || code[index].operands.empty()) continue;
        Operand& last = code[index].operands.back();
        if (relocation.type == kPosition && last.kind == OperandKind::target) {
            last.name = relocation.symbol;
            last.value += relocation.addend;
        } else if ((relocation.type == kLowerHalf || relocation.type == kUpperHalf) && last.kind == OperandKind::integer && relocation.symbol == function.name) {
            last.value = relocation.type == kLowerHalf ? relocation.addend : 0;
        } else if ((relocation.type == kLowerHalf || relocation.type == kUpperHalf) && last.kind == OperandKind::integer) {
            last = Operand{};
            last.kind = OperandKind::target;
            last.name = relocation.symbol;
            last.value = relocation.addend;
            last.suffixes = {relocation.type == kLowerHalf ? "LO" : "HI"};
        } else {
            // Not known: a word that no translation takes.
            last = Operand{};
            last.kind = OperandKind::word;
            last.name = "relocation(" + std::to_string(relocation.type) + "," + relocation.symbol + ")";
        }
    }
}

std::string code_text(const std::array<std::uint64_t, 2>& code) {
    char text[40];
    std::snprintf(text, sizeof text, "0x%016llx%016llx", static_cast<unsigned long long>(code[1]), static_cast<unsigned long long>(code[0]));
    return text;
}

}  // namespace

std::vector<Instruction> decode(const Cubin& cubin, const MachineFunction& function, DecodeReport* report) {
    constexpr std::uint64_t kInstructionBytes = 16;
    std::vector<Instruction> result(function.code.size());
    std::vector<std::size_t> lacking;
    for (std::size_t i = 0; i < result.size(); ++i) {
        if (!decode_by_table(function.code[i], cubin.compute_capability, i * kInstructionBytes, result[i])) lacking.push_back(i);
        result[i].control = control_of(function.code[i]);
    }
    if (report != nullptr) {
        report->instructions += result.size();
        report->by_disassembler += lacking.size();
    }
    if (lacking.empty()) {
        relocate(function, result);
        return result;
    }
    const auto lines = disassemble(function.code, cubin.compute_capability);
    if (!lines)
        throw Error("the instruction " + code_text(function.code[lacking[0]]) + " of sm_" + std::to_string(cubin.compute_capability) +
                        " is in no table, and nvdisasm is not there to say what it is, or refuses it",
                    {cubin.file_name, 0, function.name + ", byte " + hexadecimal(lacking[0] * kInstructionBytes)},
                    "name nvdisasm in HEDDLE_NVDISASM, which then stands in for the table");
    for (const std::size_t i : lacking) {
        result[i] = parse_instruction((*lines)[i]);
        result[i].address = i * kInstructionBytes;
        result[i].control = control_of(function.code[i]);
        restore_nans(function.code[i], result[i]);
    }
    relocate(function, result);
    if (report != nullptr && report->first_by_disassembler.empty()) report->first_by_disassembler = text_of(result[lacking[0]]);
    return result;
}

Instruction decode(std::array<std::uint64_t, 2> code, unsigned compute_capability, std::uint64_t address) {
    Instruction result;
    if (!decode_by_table(code, compute_capability, address, result))
        throw Error("the instruction " + code_text(code) + " of sm_" + std::to_string(compute_capability) + " is in no table",
                    {"", 0, "byte " + hexadecimal(address)});
    result.control = control_of(code);
    return result;
}

}  // namespace heddle::sass
