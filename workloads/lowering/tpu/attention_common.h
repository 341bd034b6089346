// What attention and its gradient share: sizes, places of heads in HBM, products between tiles in VMEM.
#pragma once

#include "workloads/lowering/tpu/tile_transfer.h"

namespace heddle::lowering::on_tpu {

struct AttentionSizes {
    std::uint64_t batch = 0, heads = 0, key_heads = 0, queries = 0, keys = 0, depth = 0, value_depth = 0;
    bool causal = false;
    double scale = 1;
    std::uint64_t shift = 0;  ///< with a causal mask query i sees keys 0 to i + shift

    std::uint64_t visible(std::uint64_t query) const {
        return causal ? std::min(keys, query + 1 + shift) : keys;
    }
    std::uint64_t heads_per_key_head() const { return heads / key_heads; }
};
/// `first`: which input is q; k and v follow.
AttentionSizes attention_sizes(const ProgramBuilder& program, std::size_t first);

/// Rows of one head of a [batch, heads, rows, width] operand. Throws Unsupported when width is not
/// contiguous.
TileSource head_rows(const HbmView& view, std::uint64_t batch, std::uint64_t head, std::uint64_t row,
                     std::uint64_t rows);

/// result[rows, columns] = a[rows, depth] b, all in VMEM; b is [depth, columns], or [columns, depth] when
/// `turned`.
void multiply_tiles(CoreBuilder& core, unsigned unit, const Tile& a, const Tile& b, bool turned,
                    std::uint64_t rows, std::uint64_t depth, std::uint64_t columns, const Tile& result);

/// The mask of a causal product: 1 where the key of a column is seen by the query of a row.
KernelBuilder::Node causal_mask(KernelBuilder& builder, const AttentionSizes& sizes);

void lower_attention(ProgramBuilder& program);
void lower_attention_grad(ProgramBuilder& program);

}  // namespace heddle::lowering::on_tpu
