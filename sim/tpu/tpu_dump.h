// The programs of a TPU run as text, for people: instructions, and how often each weight is brought.
#pragma once

#include <string>

#include "isa/target/target.h"
#include "isa/tpu/program.h"
#include "workloads/lowering/tpu/tpu_lowering.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// How a product uses its weights.
struct WeightUse {
    std::uint64_t tiles = 0;   ///< of the array's size that the second operand has, padded ones counted whole
    std::uint64_t pushes = 0;  ///< tiles shifted into arrays
    std::uint64_t rows = 0;    ///< activation rows streamed over them, all together
    std::uint64_t weight_bytes = 0;  ///< in device memory, once
    std::uint64_t gpu_fetches = 0;   ///< of each weight, by a GPU's thread blocks
    double loads() const { return tiles == 0 ? 0 : static_cast<double>(pushes) / static_cast<double>(tiles); }
    double rows_per_push() const {
        return pushes == 0 ? 0 : static_cast<double>(rows) / static_cast<double>(pushes);
    }
};
WeightUse weight_use(const trace::Trace& trace, const trace::Op& op, const tpu::Program& program,
                     const target::TpuTarget& target);

/// Comment lines, then the assembly text.
std::string program_text(const trace::Trace& trace, const trace::Op& op, const lowering::LoweredOp& lowered,
                         const target::TpuTarget& target);

/// Writes `text` to DIR/NAME, aside first. Throws heddle::Error when that cannot be done.
void write_program(const std::string& directory, const std::string& name, const std::string& text);

}  // namespace heddle::sim
