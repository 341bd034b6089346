// What a TPU is told to do: one instruction list per core.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/tpu/instruction.h"

namespace heddle::tpu {

/// What one core executes, in program order.
struct CoreProgram {
    std::vector<Instruction> instructions;  ///< ends with Halt
    bool operator==(const CoreProgram&) const = default;
};

/// What a whole chip executes: cores run at the same time.
struct Program {
    std::string name;                ///< for messages
    std::vector<CoreProgram> cores;  ///< by core number
    bool operator==(const Program&) const = default;
};

/// How much a program must fit: what validate() and the functional executor know of a machine.
struct Limits {
    unsigned cores = 2;                              ///< of the chip
    unsigned matrix_units = 2;                       ///< per core
    unsigned array_rows = 128, array_columns = 128;  ///< contraction and output sizes of a weight tile
    std::uint64_t vmem_bytes = 16ull << 20;          ///< per core
    unsigned accumulator_rows = 2048;                ///< rows of array_columns results per matrix unit
    unsigned sync_flags = 256;                       ///< per core
};

/// Walks through a core's instructions in the order in which the sequencer meets them, repeats expanded.
class ProgramCursor {
  public:
    ProgramCursor() = default;
    explicit ProgramCursor(const CoreProgram& program);

    /// The instruction to be issued next: never Repeat or EndRepeat. nullptr at the end.
    const Instruction* instruction() const { return current_; }
    const LoopCounters& counters() const { return counters_; }
    void advance();

  private:
    struct Level {
        std::size_t begin = 0;
        std::uint32_t count = 0;
    };
    void settle();

    const CoreProgram* program_ = nullptr;
    const Instruction* current_ = nullptr;
    std::size_t position_ = 0;
    std::size_t depth_ = 0;
    std::array<Level, kRepeatLevels> levels_{};
    LoopCounters counters_{};
};

/// Throws heddle::Error, naming the core, the instruction (or its line) and the remedy, when an operand is
/// out of the machine's bounds, a repeat does not match, or a core does not end with halt. Affine operands
/// are checked over the whole range of their repeats. `file` names the assembly file in messages.
void validate(const Program& program, const Limits& limits, const std::string& file = "");

}  // namespace heddle::tpu
