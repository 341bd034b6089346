// Tiles of 16-bit elements in shared memory whose rows are 128 or 256 bytes: 16-byte chunks are XORed with
// the row's low three bits, so that eight rows of one chunk column lie in different banks.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// Copies tiles of `rows` x `row_elements` from global to shared memory with cp.async, 16 bytes at a time,
/// all tiles of a kernel with the same mapping of threads to chunks.
class TileCopier {
  public:
    TileCopier(PtxWriter& w, const Reg& tid, const Reg& shared_base, unsigned threads, unsigned row_elements);

    /// Where this thread starts in a tile whose first element is at `base` and whose rows are `row_stride`
    /// elements apart.
    Reg thread_pointer(const Reg& base, const Reg& row_stride);
    /// Bytes between the rows that one thread copies.
    Reg pass_bytes(const Reg& row_stride);
    /// `pointer` from thread_pointer(). `rows_left`: s32, rows from the tile's first to the end of the
    /// tensor; the rest of the tile becomes zeros. Empty: the tile is whole.
    void copy(unsigned rows, std::uint32_t tile_offset, const Reg& pointer, const Reg& pass_bytes,
              const Reg& rows_left);

  private:
    PtxWriter& w_;
    unsigned chunks_, rows_per_pass_;
    Reg row_, chunk_, target_;
};

/// Which fragment ldmatrix loads from a tile.
enum class FragmentKind : std::uint8_t {
    a,             ///< rows are m, chunks run along k
    a_transposed,  ///< rows are k, chunks run along m
    b,             ///< rows are n, chunks run along k
    b_transposed,  ///< rows are k, chunks run along n
};

/// Shared addresses of a lane for 16x16 blocks: (row block, chunk pair) is a register of four plus a
/// constant.
class FragmentPattern {
  public:
    /// `row_first`: b32, a multiple of 8, may be empty; `chunk_first`: b32, even, may be empty (added to the
    /// chunk index).
    FragmentPattern(PtxWriter& w, FragmentKind kind, const Reg& lane, const Reg& shared_base,
                    unsigned row_elements, const Reg& row_first = {}, const Reg& chunk_first = {});
    /// Four registers that cover 16 rows by 16 elements. A: a0 ... a3; B: b0, b1 of two n8 tiles.
    void load(const std::vector<Reg>& into, std::uint32_t tile_offset, unsigned row_block,
              unsigned chunk_pair) const;

  private:
    PtxWriter& w_;
    bool transposed_;
    unsigned row_bytes_;
    std::array<Reg, 4> addresses_;
};

/// Accumulator fragments of a warp: [16 rows][8 columns][4].
using AccumulatorTile = std::vector<std::vector<std::vector<Reg>>>;
AccumulatorTile make_accumulators(PtxWriter& w, unsigned blocks_m, unsigned blocks_n, bool zero);

/// c[m][n] (+)= a * b over `steps` of 16 along k. load_a(m, step, into) and load_b(pair of n8 tiles, step,
/// into) emit ldmatrix; loads run a few steps ahead of their use. With `zero` (4 registers that hold 0) the
/// first step starts from them instead of the accumulators.
void emit_warp_multiply(
    PtxWriter& w, ElementType type, AccumulatorTile& c, unsigned steps,
    const std::function<void(unsigned m, unsigned step, std::vector<Reg>& into)>& load_a,
    const std::function<void(unsigned n_pair, unsigned step, std::vector<Reg>& into)>& load_b,
    const std::vector<Reg>& zero = {});

/// Accumulators as A fragments of the next product: columns become k. Result [16 rows][16 columns][4].
std::vector<std::vector<std::vector<Reg>>> pack_accumulators(PtxWriter& w, ElementType type,
                                                             const AccumulatorTile& c);

/// Stores a warp's accumulators (16 rows per block, all columns of a row) as 16-bit elements, in 16-byte
/// pieces by way of `own`, a region of shared memory of the same rows that no other warp uses. Rows at or
/// beyond `row_limit` are left out.
struct RowStore {
    Reg lane, own;         ///< b32; `own`: shared address
    Reg first_row;         ///< b32, of the warp
    Reg row_limit;         ///< b32
    Reg base, row_stride;  ///< b64 pointer to row 0; b32 elements
};
void emit_row_store(PtxWriter& w, ElementType type, const AccumulatorTile& c, const RowStore& store);

}  // namespace heddle::kernels
