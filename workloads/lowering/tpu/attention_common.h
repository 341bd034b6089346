// What attention and its gradient share: sizes, places of heads in HBM, products between tiles in VMEM, and
// the division of the work over lanes.
#pragma once

#include <functional>
#include <vector>

#include "workloads/lowering/tpu/tile_transfer.h"

namespace heddle::lowering::on_tpu {

/// Number of queries of a causal head that are processed together. With fewer,
/// less work would be spent on keys that the mask hides, but streams through the arrays become short.
inline constexpr std::uint64_t kCausalRows = 256;

/// The sizes of one attention.
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

/// Reads the sizes from the operands; `first` is the index of q, and k and v follow.
AttentionSizes attention_sizes(const ProgramBuilder& program, std::size_t first);

/// Rows of one head of a [batch, heads, rows, width] operand. Throws Unsupported when width is not
/// contiguous.
TileSource head_rows(const HbmView& view, std::uint64_t batch, std::uint64_t head, std::uint64_t row,
                     std::uint64_t rows);

/// A matrix unit with the heads that it processes in sequence. Heads on different units run in parallel, so
/// that the matrix units work while the vector unit processes other heads.
struct AttentionLane {
    unsigned unit = 0;
    std::uint64_t place = 0;  ///< rows of the result buffer are used in turn
};

/// Interleaves the instructions of several lanes: the first of each lane, then the second of each, and so on.
/// A unit's queue is short and the sequencer waits for it; interleaving keeps the queues of all units filled.
class Interleaved {
  public:
    explicit Interleaved(std::size_t lanes) : steps_(lanes) {}
    void add(std::size_t lane, std::function<void()> step) { steps_[lane].push_back(std::move(step)); }
    void emit();

  private:
    std::vector<std::vector<std::function<void()>>> steps_;
};

/// result[rows, columns] = a[rows, depth] b, all in VMEM; b is [depth, columns], or [columns, depth] when
/// `turned`. A step for each column tile. `lane` must outlive them.
void multiply_tiles(Interleaved& work, std::size_t number, CoreBuilder& core, AttentionLane& lane,
                    const Tile& a, const Tile& b, bool turned, std::uint64_t rows, std::uint64_t depth,
                    std::uint64_t columns, const Tile& result);

/// The number that is added to a score which a causal mask hides. It represents minus infinity, but exp() of
/// differences stays defined.
inline constexpr double kHidden = -1e30;
/// The tile that is added to the scores of `rows` queries and up to `keys` keys: 0, or kHidden where the mask
/// hides the key. One tile serves all places along the diagonal, read from different columns (a Toeplitz
/// matrix).
class CausalMask {
  public:
    static std::uint64_t bytes(std::uint64_t rows, std::uint64_t keys) {
        return rows * (rows + keys) * 2 + 512;
    }
    /// Fills the tile.
    CausalMask(ProgramBuilder& program, CoreBuilder& core, const AttentionSizes& sizes, std::uint64_t rows,
               std::uint64_t keys);
    /// Returns the tile for queries from `row` and keys from `key` on.
    Tile at(std::uint64_t row, std::uint64_t key) const;

  private:
    AttentionSizes sizes_;
    std::uint64_t keys_;
    Tile tile_;
};

/// The number of heads that are processed in parallel, and of queries and keys of each at a time.
struct AttentionTiles {
    unsigned lanes = 0;
    std::uint64_t rows = 0, chunk = 0;
};

/// Returns the largest tiles that fit VMEM. `lane_bytes` gives the bytes of a head's tiles of that many rows
/// and keys, without the mask. Throws Unsupported when none fit.
AttentionTiles attention_tiles(const ProgramBuilder& program, const AttentionSizes& sizes,
                               const std::function<std::uint64_t(std::uint64_t, std::uint64_t)>& lane_bytes);

/// These functions add the program of the op to the builder. They throw Unsupported for what has no program.
void lower_attention(ProgramBuilder& program);
void lower_attention_grad(ProgramBuilder& program);

}  // namespace heddle::lowering::on_tpu
