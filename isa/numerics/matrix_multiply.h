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

/// D = A B + C; the caller has checked the sizes and owns all matrices.
template <typename Input, typename Output>
struct MatrixArguments {
    DotProductParameters parameters;  ///< of the instruction
    std::size_t m, n, k;              ///< D is m x n, sums are k long
    /// A row-major m x k, B column-major (k is contiguous), C and D row-major m x n; D may be C.
    const Input* a;
    const Input* b;
    const Output* c;
    Output* d;
};

/// The reference, for every processor.
template <typename Input, typename Output>
void multiply_portable(const MatrixArguments<Input, Output>& matrix);

/// Whether the integers of the AVX2 body are wide enough for these parameters.
bool avx2_can(const DotProductParameters& parameters);

/// The same bits with AVX2; only when avx2_can() is true.
template <typename Input, typename Output>
void multiply_avx2(const MatrixArguments<Input, Output>& matrix);

/// A block that vectors cannot compute, from raw bits: with NaNs or infinities in it, or a sum beyond 32
/// bits. `length` is at most kPanelDepth.
template <typename Input>
std::uint32_t exceptional_block(const DotProductParameters& parameters, std::size_t length, const Input* a,
                                const Input* b, std::uint32_t c_bits) {
    std::array<Operand, kPanelDepth> a_operands, b_operands;
    const Operand c = operand_of(parameters.output, c_bits);
    int emax = c.exponent;
    for (std::size_t i = 0; i < length; ++i) {
        a_operands[i] = operand_of(parameters.input, a[i]);
        b_operands[i] = operand_of(parameters.input_b, b[i]);
        emax = std::max(emax, a_operands[i].exponent + b_operands[i].exponent);
    }
    return emax > kSpecialLimit
               ? special_block(parameters, length, a_operands.data(), b_operands.data(), c)
               : block_sum(parameters, length, a_operands.data(), b_operands.data(), c, emax);
}

}  // namespace heddle::numerics
