// Runs a program without time: the plain functional meaning, and the reference for the timing model's values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "isa/tpu/memory.h"
#include "isa/tpu/program.h"

namespace heddle::tpu {

/// The unit of a core that an instruction goes to, as a number: 0 loads, 1 stores, 2 vector, then push,
/// matmul and pop of each matrix unit, then the sequencer.
std::size_t unit_number(const Operation& operation, const Limits& limits);
constexpr std::size_t unit_count(const Limits& limits) {
    return 5 +
           3 * std::size_t{limits.matrix_units};  // loads, stores, vector, transpose, matrix units, sequencer
}

/// Is told of every instruction when it is issued and when it is performed.
class ExecutionListener {
  public:
    virtual ~ExecutionListener() = default;
    /// Instruction number `sequence` of the core went into its unit's queue.
    virtual void issued(std::size_t core, std::uint64_t sequence) = 0;
    /// The instruction is about to be performed; VMEM is as it was before. The sequencer's own instructions
    /// have no issued(), and their `sequence` has no meaning.
    virtual void performs(std::size_t core, const Instruction& instruction, const LoopCounters& counters,
                          std::uint64_t sequence, std::span<const std::byte> vmem) = 0;
};

/// What was executed, repeats counted each time.
struct ExecutionCounts {
    std::uint64_t instructions = 0;  ///< by all cores
    std::uint64_t macs = 0;          ///< rows x depth x columns of all matmuls
    std::uint64_t bytes_loaded = 0;  ///< HBM -> VMEM
    std::uint64_t bytes_stored = 0;  ///< VMEM -> HBM
};

/// Validates and runs. Units take turns, each in its own order, as sync flags allow; VMEM starts as zeros.
/// Throws heddle::Error on bad operands, and when every unit waits for a flag that nobody will signal (saying
/// which).
ExecutionCounts execute(const Program& program, Memory& memory, const Limits& limits,
                        ExecutionListener* listener = nullptr);

}  // namespace heddle::tpu
