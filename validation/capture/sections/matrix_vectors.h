// Random operands for one matrix instruction, the same on every machine, so that only results are recorded.
#pragma once

#include <cstdint>
#include <vector>

#include "validation/capture/sections/matrix_probe.h"

namespace heddle::capture {

/// What the operands look like: the distributions of isa/numerics/counter_random.h that are hard on a sum.
enum class VectorKind : std::uint8_t {
    normal,
    wide,          ///< exponents all over the format
    cancellation,  ///< products in pairs that cancel, but for a last bit here and there
    subnormal,     ///< A subnormal, B normal
    specials,      ///< infinities, NaNs, zeros, the largest and smallest numbers among normal ones
    any_bits,      ///< every pattern alike
};
inline constexpr VectorKind kVectorKinds[] = {VectorKind::normal,       VectorKind::wide,
                                              VectorKind::cancellation, VectorKind::subnormal,
                                              VectorKind::specials,     VectorKind::any_bits};
const char* name_of(VectorKind kind);
/// Throws std::invalid_argument.
VectorKind vector_kind_of(const std::string& name);

/// Raw bits, numbers first, first + 1, ... of stream `stream`: 0 is A, 1 is B, 2 is C.
std::vector<std::uint64_t> random_elements(Element element, VectorKind kind, unsigned stream,
                                           std::size_t first, std::size_t count);

/// `rows` dot products of `steps` instructions each.
DotProducts random_products(const MatrixInstruction& instruction, VectorKind kind, std::size_t rows,
                            unsigned steps);

/// Operands of whole tiles, as MatrixProbe::tiles() takes them; `rows` for sparse forms alone.
struct RandomTiles {
    std::vector<std::uint64_t> a, b, c;
    std::vector<SparseRow> rows;
};
RandomTiles random_tiles(const MatrixInstruction& instruction, VectorKind kind, std::size_t tiles);

}  // namespace heddle::capture
