// The operands of a tcgen05.mma as arrays: A, B, metadata and scales out of shared and tensor memory, D out of it and back.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "isa/numerics/formats.h"
#include "isa/ptx/machine/tensor_access.h"

namespace heddle::ptx {

/// How the rows of a CTA's part of D lie in tensor memory. The letters are those of the PTX manual, "Data path layout organization".
enum class ProductLayout : std::uint8_t {
    full,       ///< A, D: row r in lane r
    halves,     ///< B, E: 64 rows; the second half of the columns lies in lanes 64 to 127
    scattered,  ///< C, F: 64 rows, 16 in each 32 lanes
    quarters,   ///< G: 32 rows, a quarter of the columns in each 32 lanes
};
ProductLayout product_layout(unsigned rows_of_cta, const TensorDetails& details);

/// What is known of a product before values are read.
struct ProductShape {
    TensorDetails details;
    ProductDescriptor descriptor;
    unsigned rows = 0;      ///< of one CTA
    unsigned columns = 0;   ///< N
    unsigned stored = 0;    ///< elements of a row of A as it lies in memory
    unsigned depth = 0;     ///< elements of a row of B: K
    ProductLayout layout = ProductLayout::full;
    unsigned d_columns() const { return layout == ProductLayout::halves ? columns / 2 : layout == ProductLayout::quarters ? columns / 4 : columns; }
};
/// Fails when the instruction descriptor does not fit the instruction.
ProductShape product_shape(const Warp::State& warp, unsigned lane, const TensorDetails& details, std::uint32_t descriptor);

/// The format of a code in the instruction descriptor, of all kinds but i8. Fails for codes that mean nothing.
numerics::Format product_format(const Warp::State& warp, unsigned lane, ProductKind kind, unsigned code);

/// The column of tensor memory and the lane of an element of D, counted from its address.
struct TensorPlace {
    unsigned lane, column;
};
TensorPlace d_place(const ProductShape& shape, unsigned row, unsigned column);

/// Raw elements, one to an entry, rows one behind another. `bits` of an element: 32, 16, 8, 6 or 4; 6 and 4 of the kinds f8f6f4 lie 16
/// in 16 bytes, of mxf4 and mxf4nvf4 packed.
struct ElementLayout {
    unsigned bits = 16;
    bool packed = false;  ///< of 4 bits: two to a byte
    bool mn_major = false;
};
void gather_from_shared(const Warp::State& warp, unsigned lane, const Cta::Implementation& cta, std::uint64_t descriptor, const ElementLayout& layout,
                        unsigned rows, unsigned depth, std::uint32_t* to);
/// A out of tensor memory; `column` is that of its address.
void gather_a_from_tensor_memory(Cta::Implementation& cta, const ProductShape& shape, unsigned bits, unsigned first_lane, unsigned column, std::uint32_t* to);

/// Which k each stored element of a row of A has: rows x stored. Fails for metadata that mean nothing.
void gather_kept(const Warp::State& warp, unsigned lane, Cta::Implementation& cta, const ProductShape& shape, unsigned column, std::uint16_t* to);

/// Scales of `rows` rows, `count` of each, out of the columns from `column` on: row r in lane r % 32 of column r / 32, from byte `id` on.
/// `half`: they lie in the lanes of that half (B beside a D of layout B).
void gather_scales(Cta::Implementation& cta, unsigned column, unsigned rows, unsigned count, unsigned id, std::uint8_t* to);

}  // namespace heddle::ptx
