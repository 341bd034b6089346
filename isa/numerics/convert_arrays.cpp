// Conversions of whole arrays: F16C where the processor has it.
#include <stdexcept>

#include "isa/numerics/formats.h"
#include "isa/numerics/processor.h"

#ifdef HEDDLE_NUMERICS_X86
#include <immintrin.h>
#endif

namespace heddle::numerics {
namespace {

void check_lengths(std::size_t from, std::size_t to) {
    if (from != to) throw std::invalid_argument("conversion of an array into one of another length");
}

#ifdef HEDDLE_NUMERICS_X86

// NaNs go another way in both: F16C keeps sign and payload, the GPU does not.

[[gnu::target("avx2,f16c")]] std::size_t fp16_to_fp32_f16c(const std::uint16_t* from, float* to,
                                                           std::size_t count) {
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m256 wide = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
        const __m256 nan = _mm256_cmp_ps(wide, wide, _CMP_UNORD_Q);
        const __m256 canonical = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFFFFFF));
        _mm256_storeu_ps(to + i, _mm256_blendv_ps(wide, canonical, nan));
    }
    return i;
}

[[gnu::target("avx2,f16c")]] std::size_t fp32_to_fp16_f16c(const float* from, std::uint16_t* to,
                                                           std::size_t count) {
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m256 wide = _mm256_loadu_ps(from + i);
        const __m256 nan = _mm256_cmp_ps(wide, wide, _CMP_UNORD_Q);
        const __m128i narrow = _mm256_cvtps_ph(wide, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        const __m256i wide_mask = _mm256_castps_si256(nan);
        const __m128i mask =
            _mm_packs_epi32(_mm256_castsi256_si128(wide_mask), _mm256_extracti128_si256(wide_mask, 1));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                         _mm_blendv_epi8(narrow, _mm_set1_epi16(0x7FFF), mask));
    }
    return i;
}

#endif

}  // namespace

void fp16_to_fp32(std::span<const std::uint16_t> from, std::span<float> to) {
    check_lengths(from.size(), to.size());
    std::size_t i = 0;
#ifdef HEDDLE_NUMERICS_X86
    if (processor_has_avx2()) i = fp16_to_fp32_f16c(from.data(), to.data(), from.size());
#endif
    for (; i < from.size(); ++i) to[i] = fp16_to_fp32(from[i]);
}

void fp32_to_fp16(std::span<const float> from, std::span<std::uint16_t> to) {
    check_lengths(from.size(), to.size());
    std::size_t i = 0;
#ifdef HEDDLE_NUMERICS_X86
    if (processor_has_avx2()) i = fp32_to_fp16_f16c(from.data(), to.data(), from.size());
#endif
    for (; i < from.size(); ++i) to[i] = fp32_to_fp16(from[i]);
}

void bf16_to_fp32(std::span<const std::uint16_t> from, std::span<float> to) {
    check_lengths(from.size(), to.size());
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = bf16_to_fp32(from[i]);
}

void fp32_to_bf16(std::span<const float> from, std::span<std::uint16_t> to) {
    check_lengths(from.size(), to.size());
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = fp32_to_bf16(from[i]);
}

}  // namespace heddle::numerics
