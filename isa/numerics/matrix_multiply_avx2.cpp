// Matrix multiplication with AVX2: eight columns of the output side by side, several rows at once.
//
// For a block of one row and eight columns, exponents are added and their maximum is taken in 16-bit
// integers, two k to a lane. Each product is exact in fp32, is multiplied by 2^(F - emax), also exactly, and
// converted to an integer, which cuts its magnitude towards zero; the integers are added. The sum becomes
// fp32 again: cut towards zero to 24 bits, or, for fp16, rounded to odd before the conversion to nearest
// even, so that two roundings are as one.
//
// Scales are exact in fp32 while emax is in [-95, 119]. Beyond it (bf16, tf32) the scale is applied in two
// halves, one to each factor. An infinity or NaN in C stays what it is; blocks with one in A or B, or whose
// sum leaves 32 bits, go to block_sum.h.
//
// The caller's floating-point environment is taken to be the default one: rounding to nearest, no flushing.
#include "isa/numerics/matrix_multiply.h"
#include "isa/numerics/processor.h"

#ifdef HEDDLE_NUMERICS_X86
#include <bit>
#include <cstring>
#include <type_traits>

#include "isa/numerics/operands_avx2.h"

namespace heddle::numerics {
namespace {

constexpr int kNarrowSmallest = -95;
constexpr int kNarrowLargest = 119;

/// What is the same for all blocks of a call.
struct Constants {
    int fraction_bits;       ///< F
    int minimum_exponent;    ///< e0
    int c_minimum_exponent;  ///< of subnormals of the output format
    std::uint32_t result_mask;
};

HEDDLE_AVX2 inline __m256 power_of_two(__m256i exponent) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(exponent, _mm256_set1_epi32(127)), 23));
}

/// Exponents of C, given as fp32 numbers; those of fp16 subnormals are that format's.
HEDDLE_AVX2 inline __m256i addend_exponents(__m256 c, const Constants& constants) {
    const __m256i magnitude = _mm256_and_si256(_mm256_castps_si256(c), _mm256_set1_epi32(0x7FFFFFFF));
    const __m256i field = _mm256_srli_epi32(magnitude, 23);
    const __m256i finite = _mm256_max_epi32(_mm256_sub_epi32(field, _mm256_set1_epi32(127)),
                                            _mm256_set1_epi32(constants.c_minimum_exponent));
    const __m256i special = _mm256_cmpeq_epi32(field, _mm256_set1_epi32(255));
    const __m256i zero = _mm256_cmpeq_epi32(magnitude, _mm256_setzero_si256());
    const __m256i with_special = _mm256_blendv_epi8(finite, _mm256_set1_epi32(kSpecialExponent), special);
    return _mm256_blendv_epi8(with_special, _mm256_set1_epi32(kZeroExponent), zero);
}

/// Infinities as they are, NaN as the hardware writes it.
HEDDLE_AVX2 inline __m256 canonical_special(__m256 value) {
    const __m256 nan = _mm256_cmp_ps(value, value, _CMP_UNORD_Q);
    return _mm256_blendv_ps(value, _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFFFFFF)), nan);
}

/// The rounded sum of eight elements, in fp32; for fp16 output rounded to odd. `sum` counts units of
/// 2^unit_exponent.
template <bool kHalfOutput>
HEDDLE_AVX2 inline __m256 to_float_cut(__m256i sum) {
    const __m256 nearest = _mm256_cvtepi32_ps(sum);
    const __m256i back = _mm256_cvttps_epi32(nearest);
    // Compared without sign: 2^31 - 1 goes to 2^31, whose way back is 0x80000000.
    const __m256i magnitude = _mm256_abs_epi32(sum), back_magnitude = _mm256_abs_epi32(back);
    const __m256i not_above = _mm256_cmpeq_epi32(_mm256_max_epu32(back_magnitude, magnitude), magnitude);
    const __m256i above = _mm256_xor_si256(not_above, _mm256_set1_epi32(-1));
    __m256i cut = _mm256_add_epi32(_mm256_castps_si256(nearest), above);
    if constexpr (kHalfOutput) {
        const __m256i exact = _mm256_cmpeq_epi32(back, sum);
        cut = _mm256_or_si256(cut, _mm256_andnot_si256(exact, _mm256_set1_epi32(1)));
    }
    return _mm256_castsi256_ps(cut);
}

/// Adds with a mask of the lanes that left 32 bits (in the sign bit).
HEDDLE_AVX2 inline __m256i add_checked(__m256i a, __m256i b, __m256i& overflow) {
    const __m256i sum = _mm256_add_epi32(a, b);
    overflow =
        _mm256_or_si256(overflow, _mm256_and_si256(_mm256_xor_si256(a, sum), _mm256_xor_si256(b, sum)));
    return sum;
}

/// Where emax is out of the narrow range: the same with the scale in two halves. Rare, so written for
/// brevity.
template <bool kHalfOutput>
HEDDLE_AVX2 [[gnu::noinline]] __m256 wide_block(const Panels& panels, std::size_t row, std::size_t start,
                                                std::size_t length, __m256i emax, __m256 c,
                                                const Constants& constants, __m256i& overflow) {
    emax = _mm256_max_epi32(emax, _mm256_set1_epi32(constants.minimum_exponent));
    // Lanes with a special operand are computed elsewhere; keep their scale in range.
    emax = _mm256_min_epi32(emax, _mm256_set1_epi32(2 * 127));
    const __m256i shift = _mm256_sub_epi32(_mm256_set1_epi32(constants.fraction_bits), emax);
    const __m256i half = _mm256_srai_epi32(shift, 1);
    const __m256 a_scale = power_of_two(half), b_scale = power_of_two(_mm256_sub_epi32(shift, half));

    __m256i sum = _mm256_cvttps_epi32(_mm256_mul_ps(_mm256_mul_ps(c, a_scale), b_scale));
    for (std::size_t k = start; k < start + length; ++k) {
        const __m256 a = _mm256_mul_ps(_mm256_broadcast_ss(&panels.a_values[row][k]), a_scale);
        const __m256 b = _mm256_mul_ps(_mm256_load_ps(panels.b_values[k]), b_scale);
        sum = add_checked(sum, _mm256_cvttps_epi32(_mm256_mul_ps(a, b)), overflow);
    }
    // Bits below the smallest subnormal, 2^-149, go before the conversion; what is left is then exact.
    const __m256i unit = _mm256_sub_epi32(_mm256_setzero_si256(), shift);
    const __m256i below =
        _mm256_max_epi32(_mm256_sub_epi32(_mm256_set1_epi32(-149), unit), _mm256_setzero_si256());
    const __m256i cut = _mm256_sllv_epi32(_mm256_srlv_epi32(_mm256_abs_epi32(sum), below), below);
    const __m256 magnitude = to_float_cut<kHalfOutput>(_mm256_sign_epi32(cut, sum));
    const __m256i unit_half = _mm256_srai_epi32(unit, 1);
    return _mm256_mul_ps(_mm256_mul_ps(magnitude, power_of_two(unit_half)),
                         power_of_two(_mm256_sub_epi32(unit, unit_half)));
}

/// The largest exponents of the products of rows `row`.. and the eight columns.
template <int kRows>
HEDDLE_AVX2 inline void largest_exponents(const Panels& panels, std::size_t row, std::size_t start,
                                          std::size_t length, __m256i (&emax)[kRows]) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) emax[r] = _mm256_set1_epi16(2 * kZeroExponent);
    for (std::size_t k = start; k < start + length; k += 2) {
        const __m256i b = _mm256_load_si256(reinterpret_cast<const __m256i*>(panels.b_exponents[k / 2]));
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
            std::int32_t pair;
            std::memcpy(&pair, &panels.a_exponents[row + r][k], sizeof pair);
            emax[r] = _mm256_max_epi16(emax[r], _mm256_adds_epi16(_mm256_set1_epi32(pair), b));
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
        const __m256i odd = _mm256_srai_epi32(emax[r], 16);
        const __m256i even = _mm256_srai_epi32(_mm256_slli_epi32(emax[r], 16), 16);
        emax[r] = _mm256_max_epi32(odd, even);
    }
}

/// One block of `kRows` rows and eight columns. `c` goes in and D comes out, as fp32 numbers of the output
/// format. `left` says, per row, with a bit for each column, what exceptional_block() must compute.
template <int kRows, bool kHalfOutput>
HEDDLE_AVX2 inline void block(const Panels& panels, std::size_t row, std::size_t start, std::size_t length,
                              const Constants& constants, __m256 (&c)[kRows], int (&left)[kRows]) {
    __m256i emax[kRows], sum[kRows], added[kRows], out_of_range[kRows], special[kRows], special_c[kRows];
    __m256 scale[kRows];
    largest_exponents<kRows>(panels, row, start, length, emax);
    const __m256i largest = _mm256_set1_epi32(kNarrowLargest);
    const __m256i smallest = _mm256_set1_epi32(std::max(kNarrowSmallest, constants.minimum_exponent));
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
        const __m256i c_exponent = addend_exponents(c[r], constants);
        special[r] = _mm256_cmpgt_epi32(emax[r], _mm256_set1_epi32(kSpecialLimit));
        special_c[r] = _mm256_cmpgt_epi32(c_exponent, _mm256_set1_epi32(kSpecialLimit));
        emax[r] = _mm256_max_epi32(emax[r], c_exponent);
        const __m256i low = _mm256_and_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(kNarrowSmallest), emax[r]),
                                             _mm256_cmpgt_epi32(emax[r], _mm256_set1_epi32(kZeroLimit)));
        // fp16 output has e0 well inside the narrow range: nothing is low.
        out_of_range[r] = kHalfOutput ? _mm256_cmpgt_epi32(emax[r], largest)
                                      : _mm256_or_si256(_mm256_cmpgt_epi32(emax[r], largest), low);
        const __m256i narrow = _mm256_min_epi32(_mm256_max_epi32(emax[r], smallest), largest);
        scale[r] = power_of_two(_mm256_sub_epi32(_mm256_set1_epi32(constants.fraction_bits), narrow));
        added[r] = _mm256_cvttps_epi32(_mm256_mul_ps(c[r], scale[r]));
        sum[r] = _mm256_setzero_si256();
    }
    __m256i overflow[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) overflow[r] = _mm256_setzero_si256();
    for (std::size_t k = start; k < start + length;) {
        // Sixteen products fit into 32 bits (see avx2_can), and C beside them nearly always.
        const std::size_t end = std::min(k + 16, start + length);
        for (; k < end; ++k) {
            const __m256 b = _mm256_load_ps(panels.b_values[k]);
#pragma GCC unroll 4
            for (int r = 0; r < kRows; ++r) {
                const __m256 product = _mm256_mul_ps(_mm256_broadcast_ss(&panels.a_values[row + r][k]), b);
                sum[r] = _mm256_add_epi32(sum[r], _mm256_cvttps_epi32(_mm256_mul_ps(product, scale[r])));
            }
        }
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
            added[r] = add_checked(added[r], sum[r], overflow[r]);
            sum[r] = _mm256_setzero_si256();
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
        const __m256i narrow = _mm256_min_epi32(_mm256_max_epi32(emax[r], smallest), largest);
        const __m256 unit =
            power_of_two(_mm256_sub_epi32(narrow, _mm256_set1_epi32(constants.fraction_bits)));
        __m256 result = _mm256_mul_ps(to_float_cut<kHalfOutput>(added[r]), unit);
        const __m256i any_special = _mm256_or_si256(special[r], special_c[r]);
        const int wide =
            _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_andnot_si256(any_special, out_of_range[r])));
        if (wide != 0) [[unlikely]] {
            __m256i wide_overflow = _mm256_setzero_si256();
            const __m256 wide_result = wide_block<kHalfOutput>(panels, row + r, start, length, emax[r], c[r],
                                                               constants, wide_overflow);
            result = _mm256_blendv_ps(result, wide_result, _mm256_castsi256_ps(out_of_range[r]));
            overflow[r] = _mm256_blendv_epi8(overflow[r], wide_overflow, out_of_range[r]);
        }
        if constexpr (kHalfOutput) {
            result = _mm256_cvtph_ps(_mm256_cvtps_ph(result, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
        } else {
            const __m256i mask = _mm256_set1_epi32(static_cast<int>(constants.result_mask));
            result = _mm256_and_ps(result, _mm256_castsi256_ps(mask));
        }
        // Finite products change nothing about a C that is infinite or NaN.
        const __m256i undecided = _mm256_or_si256(special[r], _mm256_andnot_si256(special_c[r], overflow[r]));
        left[r] = _mm256_movemask_ps(_mm256_castsi256_ps(undecided));
        c[r] = _mm256_blendv_ps(result, canonical_special(c[r]), _mm256_castsi256_ps(special_c[r]));
    }
}

HEDDLE_AVX2 inline __m256 load_addend(const float* from) {
    return _mm256_loadu_ps(from);
}
HEDDLE_AVX2 inline __m256 load_addend(const std::uint16_t* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
HEDDLE_AVX2 inline void store_result(float* to, __m256 value) {
    _mm256_storeu_ps(to, value);
}
HEDDLE_AVX2 inline void store_result(std::uint16_t* to, __m256 value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/// The elements of a block that vectors could not compute: NaN, infinity, a sum beyond 32 bits. Before the
/// block C was `before`; the result goes into `c`.
template <typename Input, typename Output>
HEDDLE_AVX2 [[gnu::noinline]] void finish_block(const MatrixArguments<Input, Output>& x, std::size_t i,
                                                std::size_t j0, std::size_t columns, std::size_t k0,
                                                std::size_t length, int left, __m256 before, __m256& c) {
    alignas(32) Output old_c[kPanelColumns], new_c[kPanelColumns];
    store_result(old_c, before);
    store_result(new_c, c);
    for (std::size_t j = 0; j < columns; ++j) {
        if ((left >> j & 1) == 0) continue;
        std::uint32_t bits;
        if constexpr (std::is_same_v<Output, float>)
            bits = std::bit_cast<std::uint32_t>(old_c[j]);
        else
            bits = old_c[j];
        bits = exceptional_block(x.parameters, length, x.a + i * x.k + k0, x.b + (j0 + j) * x.k + k0, bits);
        if constexpr (std::is_same_v<Output, float>)
            new_c[j] = std::bit_cast<float>(bits);
        else
            new_c[j] = static_cast<std::uint16_t>(bits);
    }
    c = load_addend(new_c);
}

/// All blocks along the panel's depth for `kRows` rows.
template <int kRows, typename Input, typename Output>
HEDDLE_AVX2 inline void rows_of_panel(const MatrixArguments<Input, Output>& x, const Panels& panels,
                                      const Constants& constants, std::size_t block_length, std::size_t i0,
                                      std::size_t row, std::size_t j0, std::size_t columns, std::size_t k0,
                                      std::size_t depth, const Output* from) {
    constexpr bool kHalfOutput = std::is_same_v<Output, std::uint16_t>;
    __m256 c[kRows], before[kRows];
    int left[kRows];
    alignas(32) Output edge[kPanelColumns] = {};
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
        const Output* place = from + (i0 + row + r) * x.n + j0;
        if (columns == kPanelColumns) {
            c[r] = load_addend(place);
        } else {
            std::copy_n(place, columns, edge);
            c[r] = load_addend(edge);
        }
    }
    for (std::size_t k = 0; k < depth; k += block_length) {
        const std::size_t length = std::min(block_length, depth - k);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) before[r] = c[r];
        block<kRows, kHalfOutput>(panels, row, k, (length + 1) / 2 * 2, constants, c, left);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r)
            if (left[r] != 0) [[unlikely]]
                finish_block(x, i0 + row + r, j0, columns, k0 + k, length, left[r], before[r], c[r]);
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
        Output* place = x.d + (i0 + row + r) * x.n + j0;
        if (columns == kPanelColumns) {
            store_result(place, c[r]);
        } else {
            store_result(edge, c[r]);
            std::copy_n(edge, columns, place);
        }
    }
}

template <typename Input, typename Output, typename Loader>
HEDDLE_AVX2 void multiply_with(const MatrixArguments<Input, Output>& x, const Loader& load_a,
                               const Loader& load_b) {
    const DotProductParameters& parameters = x.parameters;
    const FormatTraits output = traits(parameters.output);
    const Constants constants{parameters.alignment_fraction_bits, parameters.minimum_exponent,
                              output.minimum_exponent(),
                              ~0u << (output.fraction_bits - parameters.result_fraction_bits)};
    const std::size_t depth_step = kPanelDepth / parameters.block_length * parameters.block_length;
    Panels panels;
    for (std::size_t i0 = 0; i0 < x.m; i0 += kPanelRows) {
        const std::size_t rows = std::min(kPanelRows, x.m - i0);
        for (std::size_t k0 = 0; k0 == 0 || k0 < x.k; k0 += depth_step) {
            const std::size_t depth = std::min(depth_step, x.k - k0);
            const std::size_t padded = (depth + 7) / 8 * 8;
            const Output* from = k0 == 0 ? x.c : x.d;
            for (std::size_t i = 0; i < rows; ++i)
                load_vector(load_a, x.a + (i0 + i) * x.k + k0, depth, padded, panels.a_values[i],
                            panels.a_exponents[i]);
            for (std::size_t j0 = 0; j0 < x.n; j0 += kPanelColumns) {
                const std::size_t columns = std::min(kPanelColumns, x.n - j0);
                for (std::size_t j = 0; j < kPanelColumns; ++j)
                    load_vector(load_b, x.b + (j0 + std::min(j, columns - 1)) * x.k + k0, depth, padded,
                                panels.columns[j], panels.column_exponents[j]);
                turn_columns(padded, panels);
                std::size_t row = 0;
                for (; row + 4 <= rows; row += 4)
                    rows_of_panel<4>(x, panels, constants, parameters.block_length, i0, row, j0, columns, k0,
                                     depth, from);
                for (; row < rows; ++row)
                    rows_of_panel<1>(x, panels, constants, parameters.block_length, i0, row, j0, columns, k0,
                                     depth, from);
            }
        }
    }
}

}  // namespace

bool avx2_can(const DotProductParameters& parameters) {
    // Significands multiply to less than 4: sixteen products stay below 2^31 in units of 2^(emax - F) while F
    // <= 25. Blocks start at even k, and cutting fraction bits off is written for rounding toward zero.
    const bool fp32 = parameters.output == Format::fp32 && parameters.rounding == Rounding::toward_zero;
    const bool fp16 = parameters.output == Format::fp16 && parameters.rounding == Rounding::nearest_even &&
                      parameters.result_fraction_bits == 10;
    const int e0 = parameters.minimum_exponent;
    const bool e0_fits =
        fp32 ? e0 >= -133 && e0 < kNarrowSmallest : e0 >= kNarrowSmallest && e0 <= kNarrowLargest;
    return (fp32 || fp16) && e0_fits && parameters.alignment_fraction_bits >= 10 &&
           parameters.alignment_fraction_bits <= 25 && parameters.block_length % 2 == 0;
}

template <typename Input, typename Output>
void multiply_avx2(const MatrixArguments<Input, Output>& matrix) {
    const Format input = matrix.parameters.input;
    if constexpr (std::is_same_v<Input, std::uint8_t>)
        multiply_with(matrix, Fp8Loader{fp8_table(input)}, Fp8Loader{fp8_table(matrix.parameters.input_b)});
    else if constexpr (std::is_same_v<Input, std::uint32_t>)
        multiply_with(matrix, Tf32Loader{}, Tf32Loader{});
    else if (input == Format::fp16)
        multiply_with(matrix, Fp16Loader{}, Fp16Loader{});
    else
        multiply_with(matrix, Bf16Loader{}, Bf16Loader{});
}

template void multiply_avx2(const MatrixArguments<std::uint8_t, float>&);
template void multiply_avx2(const MatrixArguments<std::uint8_t, std::uint16_t>&);
template void multiply_avx2(const MatrixArguments<std::uint16_t, float>&);
template void multiply_avx2(const MatrixArguments<std::uint16_t, std::uint16_t>&);
template void multiply_avx2(const MatrixArguments<std::uint32_t, float>&);
template void multiply_avx2(const MatrixArguments<std::uint32_t, std::uint16_t>&);

}  // namespace heddle::numerics

#endif
