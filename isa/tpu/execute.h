// Runs a program without time: the plain functional meaning, and the reference for the timing model's values.
#pragma once

#include <cstdint>

#include "isa/tpu/memory.h"
#include "isa/tpu/program.h"

namespace heddle::tpu {

struct ExecutionCounts {
    std::uint64_t instructions = 0;
    std::uint64_t macs = 0;          ///< rows x depth x columns of all matmuls
    std::uint64_t bytes_loaded = 0;  ///< HBM -> VMEM
    std::uint64_t bytes_stored = 0;
};

/// Validates and runs. Units take turns, each in its own order, as sync flags allow; VMEM starts as zeros.
/// Throws heddle::Error on bad operands, and when every unit waits for a flag that nobody will signal (saying
/// which).
ExecutionCounts execute(const Program& program, Memory& memory, const Limits& limits);

}  // namespace heddle::tpu
