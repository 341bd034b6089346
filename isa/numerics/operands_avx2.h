// Operands on their way into vectors: loads and conversions of every input format, and the turn of B. Private
// to matrix_multiply_avx2.cpp; x86 only.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "isa/numerics/block_sum.h"
#include "isa/numerics/matrix_multiply.h"

// Functions here are compiled for AVX2 one by one; a compiler option for the file would leak into shared
// inline code.
#define HEDDLE_AVX2 [[gnu::target("avx2,f16c")]]

namespace heddle::numerics {

/// Eight operands along K, as numbers and as exponents.
struct Octet {
    __m256 values;      ///< finite operands as fp32, exactly
    __m128i exponents;  ///< 16 bits each, with the marks of block_sum.h for zeros and special numbers
};

/// Exponents from exponent fields; magnitudes only tell zeros.
HEDDLE_AVX2 inline __m128i exponents_of(__m128i fields, __m128i magnitudes, int largest_field, int bias) {
    const __m128i finite =
        _mm_sub_epi16(_mm_max_epi16(fields, _mm_set1_epi16(1)), _mm_set1_epi16(static_cast<short>(bias)));
    const __m128i special = _mm_cmpeq_epi16(fields, _mm_set1_epi16(static_cast<short>(largest_field)));
    const __m128i zero = _mm_cmpeq_epi16(magnitudes, _mm_setzero_si128());
    const __m128i with_special = _mm_blendv_epi8(finite, _mm_set1_epi16(kSpecialExponent), special);
    return _mm_blendv_epi8(with_special, _mm_set1_epi16(kZeroExponent), zero);
}

/// Loaders read eight operands of a format from memory, which need not be aligned.
struct Fp16Loader {
    HEDDLE_AVX2 inline Octet operator()(const std::uint16_t* from) const {
        const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
        const __m128i magnitudes = _mm_and_si128(bits, _mm_set1_epi16(0x7FFF));
        return {_mm256_cvtph_ps(bits), exponents_of(_mm_srli_epi16(magnitudes, 10), magnitudes, 31, 15)};
    }
};

/// See Fp16Loader; bf16 is the upper half of fp32.
struct Bf16Loader {
    HEDDLE_AVX2 inline Octet operator()(const std::uint16_t* from) const {
        const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
        const __m128i magnitudes = _mm_and_si128(bits, _mm_set1_epi16(0x7FFF));
        return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16)),
                exponents_of(_mm_srli_epi16(magnitudes, 7), magnitudes, 255, 127)};
    }
};

/// See Fp16Loader; tf32 lies in words of 32 bits.
struct Tf32Loader {
    HEDDLE_AVX2 inline Octet operator()(const std::uint32_t* from) const {
        // The low 13 bits are ignored.
        const __m256i bits = _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)),
                                              _mm256_set1_epi32(static_cast<int>(0xFFFFE000u)));
        const __m256i magnitudes = _mm256_and_si256(bits, _mm256_set1_epi32(0x7FFFFFFF));
        const __m256i fields = _mm256_srli_epi32(magnitudes, 23);
        const __m256i zeros = _mm256_cmpeq_epi32(magnitudes, _mm256_setzero_si256());
        const __m256i nonzero = _mm256_andnot_si256(zeros, _mm256_set1_epi32(1));
        return {_mm256_castsi256_ps(bits), exponents_of(narrow(fields), narrow(nonzero), 255, 127)};
    }
    /// Saturates 32-bit lanes to 16 bits, in two halves of four.
    HEDDLE_AVX2 static inline __m128i narrow(__m256i wide) {
        return _mm_packs_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
    }
};

/// All 256 patterns of a format of 8 bits or fewer.
struct Fp8Table {
    std::array<float, 256> values;            ///< fp32, by pattern
    std::array<std::int16_t, 256> exponents;  ///< by pattern, with marks

    explicit Fp8Table(Format format) {
        for (std::uint32_t bits = 0; bits < 256; ++bits) {
            values[bits] = to_float(format, bits);
            exponents[bits] = operand_of(format, bits).exponent;
        }
    }
};

/// Tables are made once and live as long as the process.
inline const Fp8Table& fp8_table(Format format) {
    static const Fp8Table e5m2(Format::e5m2), e4m3(Format::e4m3), e3m2(Format::e3m2), e2m3(Format::e2m3),
        e2m1(Format::e2m1);
    switch (format) {
        case Format::e5m2:
            return e5m2;
        case Format::e3m2:
            return e3m2;
        case Format::e2m3:
            return e2m3;
        case Format::e2m1:
            return e2m1;
        default:
            return e4m3;
    }
}

/// See Fp16Loader; looks each pattern up.
struct Fp8Loader {
    const Fp8Table& table;  ///< of the format; not owned
    HEDDLE_AVX2 inline Octet operator()(const std::uint8_t* from) const {
        alignas(32) float values[8];
        alignas(16) std::int16_t exponents[8];
        for (int i = 0; i < 8; ++i) {
            values[i] = table.values[from[i]];
            exponents[i] = table.exponents[from[i]];
        }
        return {_mm256_load_ps(values), _mm_load_si128(reinterpret_cast<const __m128i*>(exponents))};
    }
};

/// Operands of A by row, of B by k: eight columns side by side, exponents of two k to each column.
struct Panels {
    /// Values and exponents of A and B in the layout that the kernel reads; rows beyond the matrix are zero.
    alignas(32) float a_values[kPanelRows][kPanelDepth];
    alignas(32) std::int16_t a_exponents[kPanelRows][kPanelDepth];
    alignas(32) float b_values[kPanelDepth][kPanelColumns];
    alignas(32) std::int32_t b_exponents[kPanelDepth / 2][kPanelColumns];
    /// B by column, before it is turned.
    alignas(32) float columns[kPanelColumns][kPanelDepth];
    alignas(32) std::int16_t column_exponents[kPanelColumns][kPanelDepth];
};

/// `depth` operands along K, and zeros up to `padded`, a multiple of 8.
template <typename Input, typename Loader>
HEDDLE_AVX2 inline void load_vector(const Loader& load, const Input* from, std::size_t depth,
                                    std::size_t padded, float* values, std::int16_t* exponents) {
    std::size_t k = 0;
    for (; k + 8 <= depth; k += 8) {
        const Octet octet = load(from + k);
        _mm256_store_ps(values + k, octet.values);
        _mm_store_si128(reinterpret_cast<__m128i*>(exponents + k), octet.exponents);
    }
    for (; k < padded; k += 8) {
        Input rest[8] = {};
        if (k < depth) std::copy_n(from + k, depth - k, rest);
        const Octet octet = load(rest);
        _mm256_store_ps(values + k, octet.values);
        _mm_store_si128(reinterpret_cast<__m128i*>(exponents + k), octet.exponents);
    }
}

/// Turns eight vectors of eight 32-bit elements.
HEDDLE_AVX2 inline void transpose(const float* const (&from)[8], float* to) {
    __m256 row[8], pair[8], quad[8];
    for (int i = 0; i < 8; ++i) row[i] = _mm256_load_ps(from[i]);
    for (int i = 0; i < 4; ++i) {
        pair[2 * i] = _mm256_unpacklo_ps(row[2 * i], row[2 * i + 1]);
        pair[2 * i + 1] = _mm256_unpackhi_ps(row[2 * i], row[2 * i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        quad[i] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0x44);
        quad[i + 1] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0xEE);
        quad[i + 2] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0x44);
        quad[i + 3] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0xEE);
    }
    for (int i = 0; i < 4; ++i) {
        _mm256_store_ps(to + 8 * i, _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x20));
        _mm256_store_ps(to + 8 * (i + 4), _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x31));
    }
}

/// Turns B from columns, as loaded, into rows of eight columns; `padded` is the depth, a multiple of eight.
HEDDLE_AVX2 inline void turn_columns(std::size_t padded, Panels& panels) {
    const float* from[8];
    for (std::size_t k = 0; k < padded; k += 8) {
        for (std::size_t j = 0; j < 8; ++j) from[j] = panels.columns[j] + k;
        transpose(from, panels.b_values[k]);
    }
    // Pairs of 16-bit exponents travel as 32-bit elements; loads and stores of floats leave bits alone.
    for (std::size_t pair = 0; pair < padded / 2; pair += 8) {
        for (std::size_t j = 0; j < 8; ++j)
            from[j] = reinterpret_cast<const float*>(panels.column_exponents[j] + 2 * pair);
        transpose(from, reinterpret_cast<float*>(panels.b_exponents[pair]));
    }
}

}  // namespace heddle::numerics
