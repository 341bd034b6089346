// One operand of the tensor-core GEMM: global memory -> ring in shared memory -> fragments in registers.
//
// Shared memory holds rows of 16-byte chunks, permuted by the row so that what a warp reads together lies in
// different banks. Fragments cover 16 along m (or n) by one step of k: 32 bytes of it, with f64 and on Volta
// 8 elements.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// How fragments leave shared memory.
enum class FragmentLoad : std::uint8_t {
    matrix,             ///< ldmatrix: k contiguous
    transposed_matrix,  ///< ldmatrix.trans: 16-bit elements in rows along m (or n)
    elements,           ///< one load each: f64, and f32 in rows along m (or n)
    quads,              ///< for the four quad pairs of Volta's m8n8k4
};

/// 16-byte chunks of a row of `chunks` chunks, permuted by the row: chunk ^ ((row >> shift & mask) <<
/// spread). Rows of 8 read at one chunk go to different banks; with `pairs` 4 rows read at two neighbouring
/// ones.
struct ChunkSwizzle {
    unsigned shift = 0, mask = 7, spread = 0;
    explicit ChunkSwizzle(unsigned chunks, bool pairs = false) {
        if (chunks == 4) shift = 1, mask = 3;
        if (chunks == 2) shift = 2, mask = 1;
        if (chunks == 1) mask = 0;
        if (pairs) mask >>= 1, spread = 1;
    }
    Reg of_row(PtxWriter& w, const Reg& row) const {
        const Reg shifted = shift == 0 ? row : w.make_b32("shr.u32", row, shift);
        const Reg low = w.make_b32("and.b32", shifted, mask);
        return spread == 0 ? low : w.make_b32("shl.b32", low, spread);
    }
};

/// The tile of one operand and how it lies in memory.
struct MmaOperandShape {
    unsigned extent = 128;  ///< of the tile along m (or n)
    unsigned tile_k = 32;
    unsigned element_bytes = 2;   ///< 1, 2, 4 or 8
    bool contiguous_in_k = true;  ///< rows of k in global (and shared) memory; else rows along m (or n)
    unsigned copy_elements = 8;
    unsigned threads = 128;
    unsigned stages = 3;
    bool full_k = false;
    /// A stage's copies that travel through registers are made in so many parts, one after the other, so that
    /// each takes a part of the registers. A divisor of the slots.
    unsigned parts = 1;
    bool is_b = false;  ///< order of the four matrices of an ldmatrix
    std::uint32_t shared_offset = 0;

    unsigned chunk_elements() const { return 16 / element_bytes; }
    std::uint32_t stage_bytes() const { return extent * tile_k * element_bytes; }
};

/// Emits the code that moves one operand.
class MmaOperand {
  public:
    /// Throws heddle::Error when the tile does not divide among the threads.
    MmaOperand(PtxWriter& w, const MmaOperandShape& shape);

    /// `base`: global pointer; `first`: of the tile along m or n; `extent`: M or N; `warp_first`: of the warp
    /// within the tile; `k_begin` may be empty (0).
    void set_up(const Reg& shared_base, const Reg& tid, const Reg& lane, const Reg& base, const Reg& first,
                const Reg& extent, const Reg& leading, const Reg& k_begin, const Reg& k_end,
                const Reg& warp_first);

    /// Instead of set_up(), where others fill shared memory: the ring's base, the warp's first row along m
    /// (or n).
    void read_from(const Reg& shared_base, const Reg& lane, const Reg& warp_first);

    /// Starts copying the tile that lies `ahead` tiles after the pointers' present position into `stage`:
    /// begin, then each part, of which every slot once, to be spread among other instructions.
    void begin_copy(unsigned stage, unsigned ahead);
    unsigned parts() const { return shape_.parts; }
    unsigned slots() const { return slots_; }
    unsigned slots_of_part() const { return slots_ / shape_.parts; }
    void begin_part();
    void copy_slot(unsigned slot);
    /// Finishes what the part left in registers. Nothing to do for cp.async.
    void finish_part(unsigned part);
    bool through_registers() const { return through_registers_; }
    /// Moves the pointers by a number of tiles.
    void advance(unsigned tiles);

    /// Loads the four registers that cover 16 along m (or n) by one step of k. `index`: which 16 of the
    /// warp's extent; A: a0 ... a3 of one fragment of 16 rows; B: b0, b1 of two n8 tiles. Volta: two
    /// products.
    void load_fragment(const std::vector<Reg>& into, unsigned stage, unsigned index, unsigned k_step);
    /// Shared addresses; call it once with the warp's extent.
    void set_up_fragments(unsigned warp_extent);
    /// k of one step.
    static unsigned step_k(unsigned compute_capability, unsigned element_bytes) {
        const bool quads = target::nearest_generation(compute_capability).mma_by_quads;
        return element_bytes == 8 || quads ? 8 : 32 / element_bytes;
    }

  private:
    void set_up_matrices(unsigned warp_extent);
    void set_up_elements(unsigned warp_extent);
    void set_up_quads(unsigned warp_extent);
    void load_elements_of(const std::vector<Reg>& into, std::int64_t stage_offset, unsigned index,
                          unsigned k_step);
    void load_quads(const std::vector<Reg>& into, std::int64_t stage_offset, unsigned index, unsigned k_step);
    unsigned row_bytes() const { return chunks_ * 16; }
    unsigned pieces() const { return shape_.chunk_elements() / shape_.copy_elements; }
    unsigned copy_bytes() const { return shape_.copy_elements * shape_.element_bytes; }
    unsigned piece_stride() const { return shape_.copy_elements * (interleaved_ ? chunks_ : 1); }
    unsigned target_period() const;
    Reg target_register(const Reg& shared_base, const Reg& chunk, const Reg& row, unsigned piece);
    std::string target_of(unsigned slot, unsigned piece, unsigned stage) const;
    bool by_elements() const { return copy_bytes() == 2; }
    /// Neighbouring elements share a pointer, so those beyond the matrix must be left out; others read its
    /// last one.
    bool guards_columns() const { return walks_ && by_elements(); }
    std::size_t guard_of(unsigned slot, unsigned piece);
    Reg column_guard(unsigned slot, unsigned piece, const Reg& guard);
    void copy_piece(unsigned slot, unsigned piece, std::size_t guard, const std::string& source);
    void load_piece(unsigned slot, unsigned piece, const Reg& guard, const std::string& source);
    Reg piece_guard(unsigned slot, unsigned piece, unsigned ahead);
    std::string piece_address(unsigned slot, unsigned piece, unsigned ahead, std::int64_t& offset);

    PtxWriter& w_;
    MmaOperandShape shape_;
    FragmentLoad load_;
    unsigned chunks_, rows_per_pass_, slots_;
    ChunkSwizzle swizzle_;
    bool through_registers_;
    /// Copies narrower than 16 bytes by cp.async: neighbouring threads copy neighbouring pieces of a row, so
    /// that each copy of a warp asks for whole sectors; a thread's pieces lie chunks_ pieces apart. Else a
    /// thread has the pieces of one chunk.
    bool interleaved_;
    /// Narrow copies of rows along m: a pointer for each piece, or one for the neighbouring elements of a
    /// chunk, goes from slot to slot, and after the last one is at the next tile. A pointer for each slot
    /// beside an offset for each piece would not fit in registers.
    bool walks_;
    Reg shared_base_, lane_, warp_first_;
    std::vector<Reg> pointers_;              // b64, one per slot, or per piece if walks_, or one of elements
    Reg columns_;                            // s32: from the thread's first column to the end; of elements
    std::vector<std::vector<Reg>> targets_;  // shared, of the slots of a period, by piece if interleaved
    Reg step_;                               // b64: bytes of tile_k rows, or of a slot's
    Reg remaining_;                          // s32: k left from the thread's first k on
    unsigned stage_ = 0, ahead_ = 0;         // of the copy under way, with its guards and source sizes
    std::vector<Reg> guards_, sizes_, column_guards_;
    std::vector<std::vector<Reg>> staged_;  // per slot, four words, or single elements
    std::vector<Reg> fragment_addresses_;   // per k step, or along m or n: see set_up_...()
};

}  // namespace heddle::kernels
