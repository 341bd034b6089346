// The instructions of a trace as the machine sees them: each decoded when it occurs for the first time.
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

/// Opcodes that are not known, and how often each was performed.
using UnknownOpcodes = std::map<std::string, std::uint64_t>;
/// Throws heddle::Error that lists them all, if there are any.
void report_unknown(const UnknownOpcodes& unknown, const std::string& where);

struct TraceRow {
    MachineInstruction machine;
    std::uint32_t program_counter = 0;
    std::string opcode;
    std::int64_t immediate = 0;
};

class TraceTable {
  public:
    /// `unknown_as`: the class that unknown opcodes are taken for; none: they are errors.
    /// `registers_of`: KernelHeader's. Throws heddle::Error when they cannot be read.
    explicit TraceTable(std::optional<ptx::Operation> unknown_as,
                        const std::vector<std::string>& registers_of = {});

    /// Decodes what has come to the reader's table. Returns whether anything has.
    bool extend(const std::vector<Instruction>& instructions);
    /// By position in the reader's table.
    std::uint32_t row_of(std::uint32_t instruction) const { return rows_of_[instruction]; }
    bool is_unknown(std::uint32_t instruction) const { return unknown_[instruction]; }
    /// The reader's table is that of the whole file: makes all rows that may be asked for.
    void complete();
    /// The same instruction as `row`, a product of a warpgroup, where it also ends its group of products.
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
