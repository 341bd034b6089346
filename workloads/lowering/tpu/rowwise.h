// Ops that work on each row of the last axis by itself: softmax, cross-entropy, layer normalisation and their
// gradients.
#pragma once

#include <functional>

#include "workloads/lowering/tpu/tile_transfer.h"

namespace heddle::lowering::on_tpu {

/// A chunk of rows in VMEM, as a row-wise op's kernels see it.
struct RowChunk {
    std::uint64_t rows = 0;
    bool first = false, last = false;  ///< of this core
    std::vector<Tile> inputs, outputs, temporaries, shared, sums;
};

/// One such op: its operands and the kernels that pass over each row.
struct RowwisePlan {
    std::uint64_t rows = 0;
    /// Operands with one row of `width` elements per row; width 1 is one number per row.
    struct Operand {
        HbmView view;
        std::uint64_t width = 1;
        /// Rows of `width` elements that the operand has.
        std::uint64_t parts() const { return static_cast<std::uint64_t>(view.shape[0]) / width; }
    };
    std::vector<Operand> inputs, outputs;
    std::vector<std::uint64_t> temporaries;  ///< widths, fp32
    std::vector<Operand> shared;             ///< inputs of one row, the same for all
    /// Outputs of one row that all rows add up to; tiles are fp32. An output of several rows gets parts of
    /// the sum, which together make it.
    std::vector<Operand> sums;
};

/// Splits the rows over cores and chunks, loads and stores around `body`, which emits the vector instructions
/// of a chunk. The first chunk of a core must write `sums`, later ones add to them; shares of cores are added
/// at the end.
void for_each_row_chunk(ProgramBuilder& program, const RowwisePlan& plan,
                        const std::function<void(CoreBuilder&, const RowChunk&)>& body);

/// A tensor's extents: all but the last axis, the last axis.
struct Rows {
    std::uint64_t rows = 0, columns = 0;
};
Rows rows_of(const trace::Tensor& tensor);
/// Finishes a kernel whose inputs are the given tiles.
std::shared_ptr<const tpu::VectorKernel> made(ProgramBuilder& program, KernelBuilder& builder,
                                              const std::vector<Tile>& inputs);
/// The tile with one number per row, repeated along it.
Tile broadcast(Tile tile);

/// These functions add the program of an op of their kind to the builder. They throw Unsupported for what has
/// no program.
void lower_softmax(ProgramBuilder& program);
void lower_softmax_grad(ProgramBuilder& program);
void lower_softmax_cross_entropy(ProgramBuilder& program);
void lower_softmax_cross_entropy_grad(ProgramBuilder& program);
void lower_layer_norm(ProgramBuilder& program);
void lower_layer_norm_grad(ProgramBuilder& program);
void lower_rms_norm(ProgramBuilder& program);
void lower_rms_norm_grad(ProgramBuilder& program);

}  // namespace heddle::lowering::on_tpu
