// One operand of the tensor-core GEMM: global memory -> ring in shared memory -> fragments in registers.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// 16-byte chunks of a row of `chunks` chunks, permuted by the row so that 8 consecutive rows of one chunk
/// column lie in different banks: chunk ^ (row / rows_per_line % period).
struct ChunkSwizzle {
    unsigned shift = 0, mask = 7;
    explicit ChunkSwizzle(unsigned chunks) {
        if (chunks == 4) shift = 1, mask = 3;
        if (chunks == 2) shift = 2, mask = 1;
        if (chunks == 1) mask = 0;
    }
    /// (row >> shift) & mask
    Reg of_row(PtxWriter& w, const Reg& row) const {
        const Reg shifted = shift == 0 ? row : w.make_b32("shr.u32", row, shift);
        return w.make_b32("and.b32", shifted, mask);
    }
};

struct MmaOperandShape {
    unsigned extent = 128;  ///< of the tile along m (or n)
    unsigned tile_k = 32;
    bool contiguous_in_k = true;  ///< rows of k in global (and shared) memory; else rows along m (or n)
    unsigned copy_elements = 8;
    unsigned threads = 128;
    unsigned stages = 3;
    bool full_k = false;
    bool is_b = false;  ///< order of the four matrices of an ldmatrix
    std::uint32_t shared_offset = 0;

    std::uint32_t stage_bytes() const { return extent * tile_k * 2; }
};

class MmaOperand {
  public:
    /// Throws heddle::Error when the tile does not divide among the threads.
    MmaOperand(PtxWriter& w, const MmaOperandShape& shape);

    /// `base`: global pointer; `first`: of the tile along m or n; `extent`: M or N; `warp_first`: of the warp
    /// within the tile; `k_begin` may be empty (0).
    void set_up(const Reg& shared_base, const Reg& tid, const Reg& lane, const Reg& base, const Reg& first,
                const Reg& extent, const Reg& leading, const Reg& k_begin, const Reg& k_end,
                const Reg& warp_first);

    /// Starts copying the tile that lies `ahead` tiles after the pointers' present position into `stage`.
    void copy(unsigned stage, unsigned ahead);
    /// The same in parts, to be spread among other instructions: begin, then every slot once.
    void begin_copy(unsigned stage, unsigned ahead);
    unsigned slots() const { return slots_; }
    void copy_slot(unsigned slot);
    /// Finishes what copy() left in registers. Nothing to do for cp.async.
    void finish_copy(unsigned stage);
    bool through_registers() const { return through_registers_; }
    /// Moves the pointers by a number of tiles.
    void advance(unsigned tiles);

    /// Loads the four registers that cover 16 along m (or n) by 16 along k. `index`: which 16 of the warp's
    /// extent; A: a0 ... a3 of one m16k16 fragment; B: b0, b1 of two n8 tiles.
    void load_fragment(const std::vector<Reg>& into, unsigned stage, unsigned index, unsigned k_step);
    /// Number of distinct shared addresses; call set_up_fragments once with the warp's extent.
    void set_up_fragments(unsigned warp_extent);

  private:
    std::size_t guard_of(unsigned slot, unsigned piece);
    void copy_piece(unsigned slot, unsigned piece, std::size_t guard, const std::string& source);
    void load_piece(unsigned slot, const Reg& guard, const std::string& source);
    Reg piece_guard(unsigned slot, unsigned piece, unsigned ahead);
    std::string piece_address(unsigned slot, unsigned piece, unsigned ahead, std::int64_t& offset);

    PtxWriter& w_;
    MmaOperandShape shape_;
    unsigned chunks_, rows_per_pass_, slots_;
    ChunkSwizzle swizzle_;
    bool through_registers_;
    Reg shared_base_, lane_, warp_first_;
    std::vector<Reg> pointers_;                      // b64, one per slot
    std::vector<std::pair<Reg, unsigned>> targets_;  // shared: register and constant, per slot
    std::vector<Reg> piece_offsets_;  // b64: clamped columns of a row along m, when copies are narrow
    Reg step_;                        // b64: bytes of tile_k rows
    Reg remaining_;                   // s32: k left from the thread's first k on
    unsigned stage_ = 0, ahead_ = 0;  // of the copy under way, with its guards and source sizes
    std::vector<Reg> guards_, sizes_;
    std::vector<std::vector<Reg>> staged_;  // per slot, four words
    std::vector<Reg> fragment_addresses_;   // per k step, or per 16 along m or n
};

}  // namespace heddle::kernels
