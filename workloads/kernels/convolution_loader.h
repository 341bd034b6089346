// How an operand of a convolution (convolution.h) comes into shared memory.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// What an index of rows, columns or k adds to an address (s32 elements), and to the coordinates in the
/// picture that are to lie within it.
struct ConvolutionPart {
    Reg offset;
    std::vector<Reg> coordinates;
};

/// One operand on its way to shared memory, by way of registers or by cp.async. Tiles of 16-bit elements are
/// swizzled as swizzled_tile.h has it. Tiles of f32 have a line for each k, with `padding` words after it; or
/// (`swizzled`) lie as they do in memory, swizzled as gemm_mma_operand.h has it.
class ConvolutionLoader {
  public:
    struct Shape {
        ElementType type;
        unsigned extent, tile_k, threads, vector;
        bool along_k;  ///< neighbouring threads (and the elements of an access) follow one another in k
        unsigned padding;
        std::uint32_t shared_offset;
        bool swizzled;
        /// For 16-bit elements that are not contiguous in k: blocks of 64 with a line for each k, as wgmma
        /// reads them.
        bool blocked = false;
    };
    using Decode = std::function<ConvolutionPart(const Reg& index)>;
    /// The address of the element for a row part and a k part, and its guard (nothing: always).
    using Locate = std::function<std::pair<Reg, Reg>(const ConvolutionPart& row, const ConvolutionPart& k)>;

    ConvolutionLoader(PtxWriter& w, const Shape& shape, Decode row_part, Decode k_part, Locate locate);

    std::uint32_t row_bytes() const;
    std::uint32_t stage_bytes() const;
    void set_up(const Reg& shared, const Reg& tid, const Reg& first, const Reg& limit, const Reg& k_begin,
                const Reg& k_end);
    /// The next tile of k into registers.
    void load();
    /// Copies the same into shared memory with cp.async; elements outside become 0.
    void copy(unsigned stage);
    /// Stores what load() fetched.
    void store(unsigned stage);

  private:
    /// Lines are k, whichever way memory goes on.
    bool words() const { return s_.type == ElementType::f32 && !s_.swizzled; }
    std::pair<Reg, Reg> locate_slot(unsigned slot);
    Reg place(const Reg& shared, const Reg& row, const Reg& k);
    /// Returns the swizzled position of an element of a line that begins at `start`.
    Reg swizzled(const Reg& start, const Reg& column, const Reg& line);

    PtxWriter& w_;
    Shape s_;
    Decode row_part_, k_part_;
    Locate locate_;
    unsigned slots_ = 0;
    ConvolutionPart k_;  // of the slot that was located last, and whether it lies before the end
    Reg inside_;
    Reg k_end_;
    std::vector<ConvolutionPart> rows_;
    std::vector<Reg> ks_;
    std::vector<std::pair<Reg, std::uint32_t>> places_;  // shared: register and constant, per slot
    std::vector<RawVector> values_;
};

}  // namespace heddle::kernels
