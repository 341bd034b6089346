// The two bodies of matrix_multiply_accumulate(); private to this folder.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "isa/numerics/block_sum.h"

namespace heddle::numerics {

/// Rows, columns and depth of what is taken apart at once. The depth is a multiple of every L in use.
inline constexpr std::size_t kPanelRows = 16;
inline constexpr std::size_t kPanelColumns = 8;
inline constexpr std::size_t kPanelDepth = 128;

template <typename Input, typename Output>
struct MatrixArguments {
    DotProductParameters parameters;
    std::size_t m, n, k;
    const Input* a;
    const Input* b;
    const Output* c;
    Output* d;
};

template <typename Input, typename Output>
void multiply_portable(const MatrixArguments<Input, Output>& matrix);

/// Whether the integers of the AVX2 body are wide enough for these parameters.
bool avx2_can(const DotProductParameters& parameters);

template <typename Input, typename Output>
void multiply_avx2(const MatrixArguments<Input, Output>& matrix);

/// A block with NaNs or infinities in it, by the definition. `length` is at most kPanelDepth.
template <typename Input>
std::uint32_t special_block(const DotProductParameters& parameters, std::size_t length, const Input* a,
                            const Input* b, std::uint32_t c_bits) {
    std::array<std::uint32_t, kPanelDepth> wide_a, wide_b;
    std::copy_n(a, length, wide_a.begin());
    std::copy_n(b, length, wide_b.begin());
    return dot_product(parameters, {wide_a.data(), length}, {wide_b.data(), length}, c_bits);
}

}  // namespace heddle::numerics
