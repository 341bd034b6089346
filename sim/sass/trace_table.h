// The instructions of a trace as the machine sees them; each is decoded when it first occurs.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isa/sass/machine_instruction.h"
#include "workloads/sass_traces/kernel_trace.h"

namespace heddle::sass {

/// Unknown opcodes, with the number of executions of each.
using UnknownOpcodes = std::map<std::string, std::uint64_t>;
/// Throws heddle::Error that lists all unknown opcodes, if there are any.
void report_unknown(const UnknownOpcodes& unknown, const std::string& where);

/// One decoded instruction.
struct TraceRow {
    MachineInstruction machine;
    std::uint32_t program_counter = 0;
    std::string opcode;
    std::int64_t immediate = 0;
};

/// The decoded instructions of one kernel. References to rows stay valid.
class TraceTable {
  public:
    /// `unknown_as` is the class as which unknown opcodes are executed; without it they are errors.
    /// `registers_of` is that of KernelHeader. Throws heddle::Error when it cannot be read.
    explicit TraceTable(std::optional<ptx::Operation> unknown_as,
                        const std::vector<std::string>& registers_of = {});

    /// Decodes the instructions that were added to the reader's table. Returns whether there were any.
    bool extend(const std::vector<Instruction>& instructions);
    /// Returns the row of an instruction, given its position in the reader's table.
    std::uint32_t row_of(std::uint32_t instruction) const { return rows_of_[instruction]; }
    bool is_unknown(std::uint32_t instruction) const { return unknown_[instruction]; }
    /// Creates all rows that may be needed, once the reader's table covers the whole file.
    void complete();
    /// Returns the variant of `row`, a product of a warpgroup, that also ends its group of products.
    std::uint32_t ending_group(std::uint32_t row);

    std::size_t size() const { return rows_.size(); }
    std::size_t scoreboard_size() const { return scoreboard_size_; }
    const TraceRow& operator[](std::size_t row) const { return rows_[row]; }

  private:
    struct Registers {
        std::vector<std::uint16_t> writes, reads;
    };
    const std::optional<ptx::Operation> unknown_as_;
    std::map<std::uint32_t, Registers> registers_of_;  // by program counter
    std::size_t scoreboard_size_ = kGeneralRegisters;
    std::deque<TraceRow> rows_;  // stay where they are
    std::vector<std::uint32_t> rows_of_;
    std::vector<bool> unknown_;
    std::map<std::uint32_t, std::uint32_t> ending_group_;
};

}  // namespace heddle::sass
