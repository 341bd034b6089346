// From the bits of machine code to instructions.
#include "isa/common/error.h"
#include "isa/common/hexadecimal.h"
#include "isa/sass/cubin.h"
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

}  // namespace

std::vector<Instruction> decode(const Cubin& cubin, const MachineFunction& function) {
    const auto lines = disassemble(function.code, cubin.compute_capability);
    if (!lines)
        throw Error("the machine code cannot be read: nvdisasm is not there, or refuses it", {cubin.file_name, 0, function.name},
                    "name nvdisasm in HEDDLE_NVDISASM");
    std::vector<Instruction> result;
    for (std::size_t i = 0; i < lines->size(); ++i) {
        Instruction one = parse_instruction((*lines)[i]);
        one.address = i * 16;
        one.control = control_of(function.code[i]);
        restore_nans(function.code[i], one);
        result.push_back(std::move(one));
    }
    return result;
}

}  // namespace heddle::sass
