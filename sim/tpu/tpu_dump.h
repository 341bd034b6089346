// The programs of a TPU run as text for people: the instructions, and how often each weight is loaded.
#pragma once

#include <string>

#include "isa/target/target.h"
#include "isa/tpu/program.h"
#include "workloads/lowering/tpu/tpu_lowering.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// How a matrix product uses its weights.
struct WeightUse {
    /// Weight tiles of the array's size that the second operand has; padded ones count in full.
    std::uint64_t tiles = 0;
    std::uint64_t pushes = 0;        ///< number of times that a tile is shifted into an array
    std::uint64_t rows = 0;          ///< total of activation rows streamed through the tiles
    std::uint64_t weight_bytes = 0;  ///< size of the weights in device memory
    std::uint64_t gpu_fetches = 0;   ///< for comparison: how often a GPU's thread blocks load each weight
    /// The mean number of times that a weight tile is loaded into an array.
    double loads() const { return tiles == 0 ? 0 : static_cast<double>(pushes) / static_cast<double>(tiles); }
    double rows_per_push() const {
        return pushes == 0 ? 0 : static_cast<double>(rows) / static_cast<double>(pushes);
    }
};

/// Counts the weight use of the program that the lowering made for `op`. All zero for ops that are no
/// products.
WeightUse weight_use(const trace::Trace& trace, const trace::Op& op, const tpu::Program& program,
                     const target::TpuTarget& target);

/// Returns a program's assembly text, after comment lines that describe the op and its use of weights.
std::string program_text(const trace::Trace& trace, const trace::Op& op, const lowering::LoweredOp& lowered,
                         const target::TpuTarget& target);

/// Writes `text` to DIR/NAME through a temporary file. Throws heddle::Error when that fails.
void write_program(const std::string& directory, const std::string& name, const std::string& text);

}  // namespace heddle::sim
