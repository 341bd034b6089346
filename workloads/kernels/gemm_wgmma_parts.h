// Parts of the Hopper GEMM (gemm_wgmma.h): where things lie in shared memory, and the way out of the
// registers.
#pragma once

#include <array>

#include "workloads/kernels/gemm_wgmma.h"

namespace heddle::kernels {

/// Whether D leaves through shared memory and TMA: tcgen05's epilogues with an expression store straight from registers.
bool stores_by_tensor_map(const GemmWgmmaSpec& spec);

/// Byte offsets in shared memory, from an address that is a multiple of kSwizzleAtom.
struct WgmmaLayout {
    explicit WgmmaLayout(const GemmWgmmaSpec& spec);

    bool row_operand_along_k, column_operand_along_k;  ///< k is the contiguous dimension
    unsigned fragments;                                ///< of 64 rows that a consumer has
    unsigned row_bytes, column_bytes;                  ///< of one stage
    unsigned row_operand, column_operand, staging, full, empty, end;
    /// Of tcgen05: two barriers each, for the two sums that tensor memory holds, and the word that says where it is.
    unsigned sums_full = 0, sums_empty = 0, tensor_address = 0;

    unsigned stage_bytes() const { return row_bytes + column_bytes; }
};
inline constexpr unsigned kSwizzleAtom = 1024;   ///< bytes: 8 lines of 128
inline constexpr unsigned kStagingBytes = 8192;  ///< one buffer: 64 lines of 128 bytes, or narrower ones
/// Buffers of a consumer: with three consumers one, for another stage in their place.
inline unsigned staging_buffers(const WgmmaTile& tile) {
    return tile.consumers >= 3 ? 1 : 2;
}

/// The division of D into boxes for TMA.
struct WgmmaStore {
    explicit WgmmaStore(const GemmWgmmaSpec& spec);
    ElementType type;
    bool swap;
    unsigned inner, outer;  ///< elements of a box along n and along m
    unsigned line_bytes;    ///< inner, in bytes: 32, 64 or 128, the width of the swizzle
    unsigned boxes;  ///< side by side along n in one buffer: more than one with 4-byte elements and swap
    unsigned chunk;  ///< columns of wgmma that fill a buffer
    unsigned tail;   ///< columns in the last, narrower box; 0: all boxes are alike
};

/// Accumulators of one consumer: [fragment][8 columns of wgmma][4].
using WgmmaAccumulators = std::vector<std::vector<std::vector<Reg>>>;

/// Where a consumer's part of a tile lies in D. b32 registers.
struct WgmmaPlace {
    Reg row, column, batch;  ///< batch: also counts slices; empty: none
    Reg warpgroup, thread;   ///< thread within the warpgroup
};

/// The epilogue's expression on accumulators where they are. It reads bias and C, and writes the second
/// output, straight from and to global memory.
class WgmmaEpilogue {
  public:
    WgmmaEpilogue(PtxWriter& w, const GemmWgmmaSpec& spec, const GemmParameters& parameters,
                  const WgmmaPlace& place);
    /// The four accumulators of 8 columns of wgmma; blocks of a fragment in ascending order.
    std::vector<Reg> apply(unsigned fragment, unsigned block, const std::vector<Reg>& accumulators);

  private:
    /// A matrix like D: addresses of this lane's elements in rows 0 and 8 of a fragment (with swap: in
    /// columns 0 and 1 of a block).
    struct Surface {
        ElementType type = ElementType::f32;
        Reg base, leading;
        std::array<Reg, 2> address;
        Reg step;
    };
    void begin_fragment(unsigned fragment);
    void place_surface(Surface& surface);
    std::vector<Reg> load(const Surface& surface, unsigned block);
    void store(const Surface& surface, unsigned block, const std::vector<Reg>& values);
    std::vector<Reg> load_bias(unsigned block);
    const Reg& column_guard(unsigned block, unsigned column);
    Reg guard(unsigned block, unsigned element);
    std::int64_t offset(const Surface& surface, unsigned block, unsigned element) const;

    PtxWriter& w_;
    const GemmWgmmaSpec& spec_;
    const GemmParameters& parameters_;
    bool swap_, reads_bias_, reads_c_, writes_auxiliary_;
    ExpressionCode code_;
    Reg lane_row_, lane_column_;  // of the tile's part, of fragment 0 and block 0
    Reg row_;                     // of the fragment
    Reg row_guards_[2];
    Reg column_guards_[2];  // of the block
    unsigned column_guards_of_ = ~0u;
    std::vector<Reg> row_bias_;
    Surface c_, auxiliary_;
};

/// Through shared memory and TMA: emit once before the loop over tiles, then for every tile.
class WgmmaTensorStore {
  public:
    /// `shared`: b32 address of the layout; `map`: of D, `tail_map`: with boxes of the tail's size.
    WgmmaTensorStore(PtxWriter& w, const GemmWgmmaSpec& spec, const WgmmaLayout& layout, const Reg& shared,
                     const Reg& map, const Reg& tail_map, const Reg& warpgroup, const Reg& thread);
    void store(const WgmmaAccumulators& accumulators, const WgmmaPlace& place,
               const GemmParameters& parameters);
    /// Before the CTA may end: its shared memory is still being read.
    void drain();

  private:
    /// The blocks of 8 columns that fill a buffer.
    void write_halves(const std::vector<std::vector<Reg>>& chunk, unsigned buffer);
    void write_words(const std::vector<std::vector<Reg>>& chunk, unsigned buffer);
    void barrier();

    PtxWriter& w_;
    const GemmWgmmaSpec& spec_;
    WgmmaStore shape_;
    Reg map_, tail_map_, thread_, barrier_, elected_, buffers_;
    std::vector<Reg> lanes_;  // addresses at which this lane writes, before the step along the columns
    unsigned next_buffer_ = 0;
};

/// Straight from registers, through the epilogue's expression.
void store_wgmma_directly(PtxWriter& w, const GemmWgmmaSpec& spec, const GemmParameters& parameters,
                          const WgmmaAccumulators& accumulators, const WgmmaPlace& place);

}  // namespace heddle::kernels
