// What the machine must know of one machine instruction: decoded once for each that stands in a program.
//
// A trace names the general registers of an instruction and nothing else: one destination, the first register
// of each source. How many registers an operand takes follows from the opcode. Predicates, uniform registers,
// constants and immediates are no part of the dependences.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "isa/ptx/execution.h"
#include "isa/sass/opcode_table.h"

namespace heddle::sass {

inline constexpr std::uint8_t kNoGeneralRegister = 255;  ///< RZ
inline constexpr std::size_t kGeneralRegisters = 255;    ///< R0 to R254: identifiers of the scoreboard

/// An instruction as a trace writes it down.
struct WrittenInstruction {
    std::string_view opcode;                        ///< mnemonic and modifiers: LDG.E.128
    bool writes = false;                            ///< it has a destination register
    std::uint8_t destination = kNoGeneralRegister;  ///< kNoGeneralRegister: none
    std::span<const std::uint8_t> sources = {};     ///< general registers in the order written; not owned
    std::uint8_t bytes_per_lane = 0;                ///< of its memory access; 0: none
    std::int64_t immediate = 0;                     ///< the first one; 0 when there is none
};

/// What BAR does to its barrier.
enum class BarrierUse : std::uint8_t { none, sync, arrive, reduce };

/// Decoded once per program position; the timing of the opcode is in `info`.
struct MachineInstruction {
    ptx::InstructionInfo info;                 ///< what the scheduler of a warp needs
    Behaviour behaviour = Behaviour::control;  ///< what a warp does when it performs it
    BarrierUse barrier = BarrierUse::none;     ///< for Behaviour::block_barrier
    std::uint8_t barrier_number = 0;           ///< of BAR
    std::uint8_t bytes_per_lane = 0;           ///< of its memory access, by the trace, else by the opcode
    bool matrix_rows = false;                  ///< LDSM, STSM: lanes name rows of 16 bytes
    std::uint8_t matrices = 0;                 ///< ... of so many matrices of 8 rows
    /// Registers that are read in one operation, in the order of the operands: what register banks see.
    std::array<std::uint8_t, 3> operands{kNoGeneralRegister, kNoGeneralRegister, kNoGeneralRegister};
};

/// Nothing: the mnemonic is unknown, or its modifiers name a matrix shape that is. Never throws.
std::optional<MachineInstruction> decode(const WrittenInstruction& written);
/// The same, taken for an instruction of class `as` whatever it is called. With as == load_store an access of
/// global memory when the trace holds addresses.
MachineInstruction decode_as(const WrittenInstruction& written, ptx::Operation as);

}  // namespace heddle::sass
