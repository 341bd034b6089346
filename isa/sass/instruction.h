// One machine instruction (SASS) with its operands: what a decoder of cubins makes and what a translator reads.
//
// The form is that of the text which nvdisasm prints, taken apart: `@!P0 IMAD.WIDE.U32 R2, R4, 0x4, R6` is a guard,
// a mnemonic, modifiers and operands. The control word, which the text does not show, says when the instruction may
// issue (Volta and later).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::sass {

inline constexpr std::uint16_t kZeroRegister = 255;         ///< RZ; of an Operand::index
inline constexpr std::uint16_t kZeroUniformRegister = 255;  ///< URZ, on each architecture (63 in the code of Turing to Hopper)
inline constexpr std::uint16_t kTruePredicate = 7;          ///< PT and UPT

/// What an operand is; the comments say which members of Operand hold.
enum class OperandKind : std::uint8_t {
    none,
    general,            ///< R4: `index`
    uniform,            ///< UR4: `index`
    predicate,          ///< P0: `index`
    uniform_predicate,  ///< UP0: `index`
    integer,            ///< 0x10: `value`, signed as written
    floating,           ///< 1.5, +INF, -QNAN: `value` holds the bits in the instruction's own format (16, 32, or the upper 32 of 64)
    constant,           ///< c[bank][offset + register], cx[UR][offset]: `bank`, `value`, `base`, `uniform_base`
    address,            ///< [R2.64+UR4+0x10], desc[UR6][R2.64]: `base`, `uniform_base`, `descriptor`, `value`; gdesc[UR4],
                        ///< idesc[UR4] and tmem[UR4+0x10] have that `name`
    special,            ///< SR_TID.X: `name`
    convergence,        ///< B0: `index`, a convergence barrier
    scoreboard,         ///< SB0: `index`; of DEPBAR
    target,             ///< a position in code: `value`, bytes from the start of the function, or `name` with `value` added. With the
                        ///< suffix LO or HI: half of the address of a symbol
    word,               ///< anything else, as written: `name` (0D of TEX, {1,2} of DEPBAR)
};

/// An operand. Flags are those that the text shows.
struct Operand {
    OperandKind kind = OperandKind::none;  ///< says which members hold
    bool negated = false;                  ///< -R4, !P0
    bool absolute = false;                 ///< |R4|
    bool inverted = false;                 ///< ~R4
    bool reuse = false;                    ///< R4.reuse: the register bank's cache keeps it
    std::uint16_t index = 0;               ///< a register's number
    std::uint8_t bank = 0;                 ///< of a constant; with a bindless one (cx) 0xFF
    std::uint16_t base = kZeroRegister;                ///< address, constant: general register that is added; RZ: none
    std::uint16_t uniform_base = kZeroUniformRegister;  ///< address, constant: uniform register that is added; URZ: none
    std::uint16_t descriptor = kZeroUniformRegister;    ///< desc[UR][...], gdesc[UR]: the uniform register; URZ: none
    std::int64_t value = 0;                ///< immediate, offset in bytes, or position
    std::string name;                      ///< special registers, targets that are symbols, words
    std::vector<std::string> suffixes;     ///< without dots: H0_H0, B1, 64, U32, X4, ROW; of addresses those of the base
    bool operator==(const Operand&) const = default;
};

/// Whether the suffix stands behind the operand.
inline bool has_suffix(const Operand& operand, std::string_view suffix) {
    for (const std::string& one : operand.suffixes)
        if (one == suffix) return true;
    return false;
}

/// When an instruction may issue, and what it signals: bits 105 to 125 of its 128.
/// Source: Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking" (arXiv:1804.06826), section 2.1.
struct Control {
    static constexpr std::uint8_t kNoBarrier = 7;  ///< of write_barrier and read_barrier
    std::uint8_t stall = 0;                        ///< cycles until the warp's next instruction may issue, 0 to 15
    bool yield = false;                            ///< the scheduler may prefer another warp
    std::uint8_t write_barrier = kNoBarrier;       ///< counted up now, down when the results are written
    std::uint8_t read_barrier = kNoBarrier;        ///< counted up now, down when the operands have been read
    std::uint8_t wait_mask = 0;                    ///< bit per barrier (6) that must be zero before it issues
    bool operator==(const Control&) const = default;
};

/// A machine instruction, 128 bits of code.
struct Instruction {
    std::uint64_t address = 0;           ///< byte offset from the start of its function
    OperandKind guard_kind = OperandKind::none;  ///< none, predicate or uniform_predicate
    std::uint16_t guard = kTruePredicate;        ///< index of the guard predicate
    bool guard_negated = false;                  ///< @!P0
    std::string mnemonic;                ///< IMAD
    std::vector<std::string> modifiers;  ///< WIDE, U32: in the order written, without dots
    std::vector<Operand> operands;       ///< in the order written
    Control control;

    /// Whether the modifier was written.
    bool has(std::string_view modifier) const {
        for (const std::string& one : modifiers)
            if (one == modifier) return true;
        return false;
    }
    bool operator==(const Instruction&) const = default;
};

/// The instruction as nvdisasm prints it, without the semicolon: "@!P0 IMAD.WIDE.U32 R2, R4, 0x4, R6".
std::string text_of(const Instruction& instruction);

/// Takes such a text apart; `floating` immediates get the bits of the format that the mnemonic names. Throws
/// heddle::Error that names the token when it cannot be read. Control and address are left as they are by default.
Instruction parse_instruction(std::string_view text);

}  // namespace heddle::sass
