// The instruction table: every form of every instruction that can be run, in a notation close to the PTX
// manual's. To add an instruction: a row here, and a handler in the selector of its opcode (handlers.h).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "isa/ptx/execution.h"
#include "isa/ptx/module.h"
#include "isa/target/generation.h"

namespace heddle::ptx {

/// One row. `suffixes` lists groups of alternatives in the order in which they are written; '|' separates
/// alternatives, a final '?' makes the group optional: "rn|rz? ftz? f32". In a shape, N stands for a number
/// of columns: 8, 16, ... 256 (m64nNk16), and I for one that integers have: 8, 16, 24, 32, 48, ... 256.
///
/// `operands` lists operands:
///   prefixes  = written   + read and written   ~ register may be wider than the type   | second destination,
///   after '|'
///             ! may be negated   - may have a minus sign   @ may be the address of a variable
///             $ parts may be selected: r.h1
///   core      0..3 the type of that type suffix; w twice as wide as type 0; a type name; [ an address;
///             [{ an address with coordinates, [a, {x, y}]; label; imm an integer constant, several are
///             possible; cc the hidden carry flag (not written in the text); hint a cache policy, which
///             is there if .L2::cache_hint is
///             An operand of type .b128 is a vector of two .b64.
///   suffixes  v a vector of as many elements as .v2, .v4 or .v8 say; x the same for .x1, .x2, .x4; *N a
///             vector of N elements (after [{: N coordinates), *n/N of the shape's columns divided by N; ?
///             may be left out
struct InstructionForm {
    /// The name, its suffixes and its operands in the notation above.
    Opcode opcode;
    std::string_view suffixes;
    std::string_view operands;
    Pipeline pipeline = Pipeline::integer;  ///< where its machine operations issue
    std::uint8_t operations = 1;            ///< machine operations per warp
    target::Feature native = nullptr;       ///< on devices without this ...
    std::uint8_t operations_without = 0;    ///< ... it takes so many
};

/// All rows; those of an opcode follow one another.
std::span<const InstructionForm> instruction_table();
std::span<const InstructionForm> forms_of(Opcode opcode);

inline constexpr std::size_t kMaximumOperands = 16;

/// One word of an operand list, taken apart.
struct OperandPattern {
    /// The marks that stand beside the word; the notation above explains each.
    bool written = false, updated = false, wider = false, paired = false, may_negate = false,
         may_be_variable = false;
    bool optional = false, vector = false, label = false, address = false, constant = false, carry = false;
    bool may_select = false, may_have_minus = false;
    bool coordinates = false;         ///< of an address; `elements`: how many, 0: any number
    Type type = Type::none;           ///< none: see type_suffix
    std::uint8_t type_suffix = 0xFF;  ///< index of the type suffix
    bool doubled = false;             ///< twice as wide as type suffix 0
    std::uint16_t elements = 0;       ///< 0: a scalar
};

/// Takes the operand list of `form` apart for an instruction with these modifiers.
/// At most kMaximumOperands; returns how many.
std::size_t operand_patterns(const InstructionForm& form, const Instruction& instruction,
                             std::span<OperandPattern> patterns);

/// The type that a pattern asks for in this instruction.
Type pattern_type(const OperandPattern& pattern, const Instruction& instruction);

/// Whether the suffixes of an instruction fit the row; fills modifiers, types, state spaces and shape of
/// `instruction`.
bool match_suffixes(const InstructionForm& form, std::span<const std::string_view> suffixes,
                    Instruction& instruction);

/// Does the same for suffixes in any order, except for types, state spaces and layouts, which must stand in
/// the row's order among themselves. ptxas accepts this, and libraries of the toolkit depend on it: CUB 3 has
/// vote.ballot.sync.b32 beside nvcc's own vote.sync.ballot.b32, libcu++ atom.add.acquire.cta.
bool match_reordered(const InstructionForm& form, std::span<const std::string_view> suffixes,
                     Instruction& instruction);

}  // namespace heddle::ptx
