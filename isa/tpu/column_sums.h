// The inner loop of a virtual matrix unit.
#pragma once

#include <cstddef>

namespace heddle::tpu {

/// Rows and columns of a weight tile are padded to this many columns with zeros.
inline constexpr std::size_t kColumnGroup = 16;
/// Activation rows worked on side by side.
inline constexpr std::size_t kRowGroup = 4;

/// sums[r][n] = products of row r with column n, added from zero with k ascending, for kRowGroup rows:
/// activations[r * depth + k], weights[k * stride + n], sums[r * stride + n]; stride is a multiple of
/// kColumnGroup. All operands are bf16 numbers without subnormals; products and sums that become subnormal
/// are flushed to zero, sums rounded to nearest even: equal in every bit to
/// numerics::matrix_unit_accumulate().
void column_sums(const float* activations, const float* weights, std::size_t depth, std::size_t stride,
                 float* sums);

}  // namespace heddle::tpu
