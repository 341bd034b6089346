// Matrix multiplication on any processor, with 64-bit integers. K is not zero.
#include <bit>
#include <type_traits>

#include "isa/numerics/matrix_multiply.h"

namespace heddle::numerics {
namespace {

template <typename Output>
std::uint32_t raw(Output value) {
    if constexpr (std::is_same_v<Output, float>)
        return std::bit_cast<std::uint32_t>(value);
    else
        return value;
}

template <typename Output>
Output from_raw(std::uint32_t bits) {
    if constexpr (std::is_same_v<Output, float>)
        return std::bit_cast<float>(bits);
    else
        return static_cast<Output>(bits);
}

using Panel = std::array<std::array<Operand, kPanelDepth>, kPanelRows>;

template <typename Input>
void take_apart(Format format, const Input* from, std::size_t stride, std::size_t vectors, std::size_t depth,
                Panel& panel) {
    for (std::size_t i = 0; i < vectors; ++i)
        for (std::size_t k = 0; k < depth; ++k) panel[i][k] = operand_of(format, from[i * stride + k]);
}

/// `depth` steps along K of one output element.
std::uint32_t element(const DotProductParameters& parameters, std::size_t depth, const Operand* a,
                      const Operand* b, std::uint32_t c_bits) {
    for (std::size_t k = 0; k < depth; k += parameters.block_length) {
        const std::size_t length = std::min<std::size_t>(parameters.block_length, depth - k);
        const Operand c = operand_of(parameters.output, c_bits);
        int emax = c.exponent;
        for (std::size_t i = k; i < k + length; ++i) emax = std::max(emax, a[i].exponent + b[i].exponent);
        c_bits = emax > kSpecialLimit ? special_block(parameters, length, a + k, b + k, c)
                                      : block_sum(parameters, length, a + k, b + k, c, emax);
    }
    return c_bits;
}

}  // namespace

template <typename Input, typename Output>
void multiply_portable(const MatrixArguments<Input, Output>& x) {
    const DotProductParameters& parameters = x.parameters;
    const std::size_t depth_step = kPanelDepth / parameters.block_length * parameters.block_length;
    Panel a_panel, b_panel;
    for (std::size_t i0 = 0; i0 < x.m; i0 += kPanelRows) {
        const std::size_t rows = std::min(kPanelRows, x.m - i0);
        for (std::size_t j0 = 0; j0 < x.n; j0 += kPanelRows) {
            const std::size_t columns = std::min(kPanelRows, x.n - j0);
            const Output* c = x.c;
            std::size_t k0 = 0;
            do {
                const std::size_t depth = std::min(depth_step, x.k - k0);
                take_apart(parameters.input, x.a + i0 * x.k + k0, x.k, rows, depth, a_panel);
                take_apart(parameters.input_b, x.b + j0 * x.k + k0, x.k, columns, depth, b_panel);
                for (std::size_t i = 0; i < rows; ++i) {
                    for (std::size_t j = 0; j < columns; ++j) {
                        const std::size_t place = (i0 + i) * x.n + j0 + j;
                        x.d[place] = from_raw<Output>(
                            element(parameters, depth, a_panel[i].data(), b_panel[j].data(), raw(c[place])));
                    }
                }
                c = x.d;
                k0 += depth_step;
            } while (k0 < x.k);
        }
    }
}

template void multiply_portable(const MatrixArguments<std::uint8_t, float>&);
template void multiply_portable(const MatrixArguments<std::uint8_t, std::uint16_t>&);
template void multiply_portable(const MatrixArguments<std::uint16_t, float>&);
template void multiply_portable(const MatrixArguments<std::uint16_t, std::uint16_t>&);
template void multiply_portable(const MatrixArguments<std::uint32_t, float>&);
template void multiply_portable(const MatrixArguments<std::uint32_t, std::uint16_t>&);

}  // namespace heddle::numerics
