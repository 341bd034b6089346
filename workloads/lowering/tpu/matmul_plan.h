// The division of a matrix product into blocks for the matrix units of a TPU.
//
// Each core computes blocks of the result: (rows per unit x units along m) x (columns per unit x units along
// n). A block's results stay in the result buffers of the matrix units while the contraction is streamed in
// chunks, so they are stored once. A weight tile is pushed once per block, and all rows of the block are
// streamed through it.
#pragma once

#include <cstdint>
#include <string>

#include "isa/target/target.h"
#include "workloads/lowering/tpu/lowering_options.h"

namespace heddle::lowering::on_tpu {

/// The sizes of a product and the costs of its operands.
struct MatmulShape {
    std::uint64_t batches = 1, m = 0, n = 0, k = 0;
    unsigned a_bytes = 4, b_bytes = 4, y_bytes = 4;  ///< per element in HBM
    bool a_turned = false;        ///< a's rows lie along k: tiles pass through the transpose unit
    double rows_per_cycle = 1;    ///< activation rows that enter an array
    unsigned passes = 1;          ///< bf16 passes per product
    unsigned epilogue_tiles = 0;  ///< further tiles of the result's size that an epilogue reads or writes
    unsigned results = 1;         ///< tensors of the result's size that leave
};

/// One way to divide a product among cores and matrix units.
struct MatmulPlan {
    // What a core gets.
    unsigned cores_along_batch = 1, cores_along_m = 1, cores_along_n = 1;
    // What a matrix unit gets of a block.
    unsigned units_along_m = 1, units_along_n = 1;
    std::uint64_t rows_per_unit = 0;   ///< activation rows streamed per pushed tile
    std::uint64_t tiles_per_unit = 0;  ///< column tiles of array_columns
    std::uint64_t chunk = 0;           ///< contraction elements loaded at a time, a multiple of array_rows
    bool keep_a = false;      ///< a's panel of a block stays in VMEM while the blocks along n pass by
    bool keep_b = false;      ///< b's panel stays while the blocks along m pass by
    bool whole = false;       ///< all of a core's operands are brought to VMEM before the first product
    std::uint64_t ahead = 1;  ///< chunks loaded before they are needed
    double estimated_cycles = 0;

    std::uint64_t block_rows() const { return rows_per_unit * units_along_m; }
    std::uint64_t block_columns(const target::TpuTarget& target) const {
        return tiles_per_unit * units_along_n * target.array_columns;
    }
};

/// Tries the sensible divisions that the options allow and returns the one with the least estimated time,
/// unless the options' store has it from an earlier search. Throws Unsupported when none fits VMEM.
MatmulPlan plan_matmul(const MatmulShape& shape, const target::TpuTarget& target,
                       const TpuLoweringOptions& options = {});

/// Describes a plan in one line for people: blocks, depth, order, shares of cores and units.
std::string describe(const MatmulPlan& plan, const target::TpuTarget& target);

/// For operands that are loaded as a whole: panel_rows() returns the rows of the panels in which a core's
/// `rows` of the first operand are loaded, and result_window() the windows of its `rows` x `columns` results
/// that are stored together, several blocks high, or one block.
std::uint64_t panel_rows(const MatmulPlan& plan, const MatmulShape& shape, const TpuLoweringOptions& options,
                         std::uint64_t rows);
/// The extent of the part of the result that is held in VMEM at a time.
struct ResultWindow {
    std::uint64_t rows = 0, columns = 0;
};
ResultWindow result_window(const MatmulPlan& plan, const MatmulShape& shape, const target::TpuTarget& target,
                           const TpuLoweringOptions& options, std::uint64_t rows, std::uint64_t columns);

/// Returns the bytes of VMEM that the plan's tiles occupy.
std::uint64_t vmem_bytes(const MatmulPlan& plan, const MatmulShape& shape, const target::TpuTarget& target,
                         const TpuLoweringOptions& options = {});

}  // namespace heddle::lowering::on_tpu
