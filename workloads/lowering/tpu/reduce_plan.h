// How a reduction is cut into tiles.
#pragma once

#include <optional>
#include <vector>

#include "workloads/expression/expression.h"
#include "workloads/lowering/tpu/collapse.h"
#include "workloads/lowering/tpu/tile_transfer.h"

namespace heddle::lowering::on_tpu {

/// How the two innermost axes are folded.
enum class ReducePattern : std::uint8_t {
    columns,  ///< columns vanish: one result per row
    rows,     ///< rows vanish: one result per column
    all,  ///< a run of elements, laid out in rows of `flat_columns`: first its rows vanish, then its columns
};

/// A tile of the inputs.
struct ReducePiece {
    std::uint64_t rows = 0, columns = 0;
    std::vector<std::int64_t> offsets;  ///< per input, in elements
    std::int64_t first_row = 0, first_column = 0;
};

/// Results that are computed together, and the tiles that go into them.
struct ReduceBlock {
    std::uint64_t results = 0;
    std::int64_t output_offset = 0;
    std::vector<ReducePiece> pieces;
};

/// One reduction: its operands, its axes and its tiles.
struct ReducePlan {
    static constexpr std::uint64_t flat_columns = 1024;

    expression::Expression expression;  ///< applied to the inputs; one result per output
    std::vector<HbmView> inputs, outputs;
    std::optional<HbmView> position;  ///< where the index of the extremum goes
    Axes axes;                        ///< operands: the inputs, then the results
    ReducePattern pattern = ReducePattern::columns;
    std::int64_t reduced_elements = 1;  ///< per result
    std::vector<ReduceBlock> blocks;

    /// Where a piece of an input lies.
    TileSource source(std::size_t input, const ReducePiece& piece) const;
};

/// The plan of the program's op, a reduction. Throws Unsupported.
ReducePlan plan_reduce(const ProgramBuilder& program);

}  // namespace heddle::lowering::on_tpu
