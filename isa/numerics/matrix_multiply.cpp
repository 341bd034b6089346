// The entry of the matrix multiplication: checks, the choice of a body, and fp8 by way of fp16.
#include "isa/numerics/matrix_multiply.h"

#include <bit>
#include <cmath>
#include <stdexcept>
#include <type_traits>

#include "isa/numerics/processor.h"

namespace heddle::numerics {
namespace {

template <typename Input, typename Output>
void check(const DotProductParameters& parameters) {
    if (traits(parameters.input).storage_bits != 8 * sizeof(Input) ||
        traits(parameters.input_b).storage_bits != 8 * sizeof(Input))
        throw std::invalid_argument("the operands' type is not the storage of the input format");
    if (parameters.output != (std::is_same_v<Output, float> ? Format::fp32 : Format::fp16))
        throw std::invalid_argument("the type of C and D is not the storage of the output format");
    if (parameters.block_length == 0 || parameters.block_length > kPanelDepth)
        throw std::invalid_argument("block length of a dot product unit out of range");
}

template <typename Input, typename Output>
void multiply(const MatrixArguments<Input, Output>& matrix, Implementation implementation) {
    if (implementation == Implementation::avx2 && !processor_has_avx2())
        throw std::runtime_error("this processor has no AVX2");
#ifdef HEDDLE_NUMERICS_X86
    if (implementation != Implementation::portable && processor_has_avx2() && avx2_can(matrix.parameters)) {
        multiply_avx2(matrix);
        return;
    }
#endif
    multiply_portable(matrix);
}

std::uint16_t add_to_nearest(std::uint16_t a, std::uint16_t b) {
    // Both are multiples of 2^-24 below 2^16: the sum has 41 bits at most and is exact in double.
    const double sum = to_double(Format::fp16, a) + to_double(Format::fp16, b);
    return static_cast<std::uint16_t>(convert(Format::fp16, Format::fp64, std::bit_cast<std::uint64_t>(sum)));
}

float add_to_nearest(float a, float b) {
    const float sum = a + b;
    return std::isnan(sum) ? std::bit_cast<float>(0x7FFFFFFFu) : sum;
}

/// All numbers of an 8-bit format in fp16, where they are exact.
const std::array<std::uint16_t, 256>& fp16_of_fp8(Format format) {
    const auto table_of = [](Format from) {
        std::array<std::uint16_t, 256> table;
        for (std::uint32_t bits = 0; bits < 256; ++bits)
            table[bits] = static_cast<std::uint16_t>(convert(Format::fp16, from, bits));
        return table;
    };
    static const std::array<std::uint16_t, 256> e4m3 = table_of(Format::e4m3), e5m2 = table_of(Format::e5m2);
    return format == Format::e4m3 ? e4m3 : e5m2;
}

/// DotProductParameters::unpacks_to_fp16.
template <typename Input, typename Output>
void multiply_unpacked(const MatrixArguments<Input, Output>& x, Implementation implementation) {
    const std::size_t half_length = x.parameters.block_length;
    if (2 * half_length > kPanelDepth)
        throw std::invalid_argument("block length of an unpacked product out of range");
    DotProductParameters inner = x.parameters;
    inner.input = inner.input_b = Format::fp16;
    inner.unpacks_to_fp16 = false;

    const std::array<std::uint16_t, 256>& a_to_fp16 = fp16_of_fp8(x.parameters.input);
    const std::array<std::uint16_t, 256>& b_to_fp16 = fp16_of_fp8(x.parameters.input_b);
    std::array<std::uint16_t, kPanelRows * kPanelDepth> a, b;
    std::array<Output, kPanelRows * kPanelRows> sum;
    // Operands of one half, packed; returns how many along K.
    const auto unpack = [&](const Input* from, std::size_t vectors, std::size_t depth, std::size_t half,
                            const std::array<std::uint16_t, 256>& to_fp16, std::uint16_t* to) {
        std::size_t written = 0;
        for (std::size_t i = 0; i < vectors; ++i)
            for (std::size_t k = 0; k < depth; ++k)
                if (k / 2 % 2 == half) to[written++] = to_fp16[static_cast<std::uint8_t>(from[i * x.k + k])];
        return written / vectors;
    };
    for (std::size_t i0 = 0; i0 < x.m; i0 += kPanelRows) {
        const std::size_t rows = std::min(kPanelRows, x.m - i0);
        for (std::size_t j0 = 0; j0 < x.n; j0 += kPanelRows) {
            const std::size_t columns = std::min(kPanelRows, x.n - j0);
            for (std::size_t i = 0; i < rows; ++i)
                for (std::size_t j = 0; j < columns; ++j)
                    x.d[(i0 + i) * x.n + j0 + j] = x.c[(i0 + i) * x.n + j0 + j];
            for (std::size_t k0 = 0; k0 < x.k; k0 += 2 * half_length) {
                const std::size_t depth = std::min(2 * half_length, x.k - k0);
                sum.fill(Output{});
                for (const std::size_t half : {0u, 1u}) {
                    const std::size_t length =
                        unpack(x.a + i0 * x.k + k0, rows, depth, half, a_to_fp16, a.data());
                    unpack(x.b + j0 * x.k + k0, columns, depth, half, b_to_fp16, b.data());
                    multiply(MatrixArguments<std::uint16_t, Output>{inner, rows, columns, length, a.data(),
                                                                    b.data(), sum.data(), sum.data()},
                             implementation);
                }
                for (std::size_t i = 0; i < rows; ++i) {
                    for (std::size_t j = 0; j < columns; ++j) {
                        Output& d = x.d[(i0 + i) * x.n + j0 + j];
                        d = add_to_nearest(sum[i * columns + j], d);
                    }
                }
            }
        }
    }
}

}  // namespace

template <typename Input, typename Output>
void matrix_multiply_accumulate(const DotProductParameters& parameters, std::size_t m, std::size_t n,
                                std::size_t k, const Input* a, const Input* b, const Output* c, Output* d,
                                Implementation implementation) {
    check<Input, Output>(parameters);
    if (k == 0) {
        if (c != d) std::copy_n(c, m * n, d);
        return;
    }
    const MatrixArguments<Input, Output> matrix{parameters, m, n, k, a, b, c, d};
    if (parameters.unpacks_to_fp16)
        multiply_unpacked(matrix, implementation);
    else
        multiply(matrix, implementation);
}

template void matrix_multiply_accumulate(const DotProductParameters&, std::size_t, std::size_t, std::size_t,
                                         const std::uint8_t*, const std::uint8_t*, const float*, float*,
                                         Implementation);
template void matrix_multiply_accumulate(const DotProductParameters&, std::size_t, std::size_t, std::size_t,
                                         const std::uint8_t*, const std::uint8_t*, const std::uint16_t*,
                                         std::uint16_t*, Implementation);
template void matrix_multiply_accumulate(const DotProductParameters&, std::size_t, std::size_t, std::size_t,
                                         const std::uint16_t*, const std::uint16_t*, const float*, float*,
                                         Implementation);
template void matrix_multiply_accumulate(const DotProductParameters&, std::size_t, std::size_t, std::size_t,
                                         const std::uint16_t*, const std::uint16_t*, const std::uint16_t*,
                                         std::uint16_t*, Implementation);
template void matrix_multiply_accumulate(const DotProductParameters&, std::size_t, std::size_t, std::size_t,
                                         const std::uint32_t*, const std::uint32_t*, const float*, float*,
                                         Implementation);
template void matrix_multiply_accumulate(const DotProductParameters&, std::size_t, std::size_t, std::size_t,
                                         const std::uint32_t*, const std::uint32_t*, const std::uint16_t*,
                                         std::uint16_t*, Implementation);

}  // namespace heddle::numerics
