// The tensor core on integers and on single bits: exact.
#include <algorithm>
#include <bit>
#include <limits>

#include "isa/numerics/dot_product_unit.h"

namespace heddle::numerics {

template <typename A, typename B>
void matrix_multiply_accumulate_int8(std::size_t m, std::size_t n, std::size_t k, const A* a, const B* b,
                                     const std::int32_t* c, std::int32_t* d, bool saturate) {
    constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
    constexpr std::int64_t kSmallest = std::numeric_limits<std::int32_t>::min();
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            std::int64_t sum = c[i * n + j];
            for (std::size_t l = 0; l < k; ++l) sum += std::int64_t{a[i * k + l]} * b[j * k + l];
            if (saturate) sum = std::clamp(sum, kSmallest, kLargest);
            d[i * n + j] = static_cast<std::int32_t>(sum);
        }
    }
}

template void matrix_multiply_accumulate_int8(std::size_t, std::size_t, std::size_t, const std::int8_t*,
                                              const std::int8_t*, const std::int32_t*, std::int32_t*, bool);
template void matrix_multiply_accumulate_int8(std::size_t, std::size_t, std::size_t, const std::int8_t*,
                                              const std::uint8_t*, const std::int32_t*, std::int32_t*, bool);
template void matrix_multiply_accumulate_int8(std::size_t, std::size_t, std::size_t, const std::uint8_t*,
                                              const std::int8_t*, const std::int32_t*, std::int32_t*, bool);
template void matrix_multiply_accumulate_int8(std::size_t, std::size_t, std::size_t, const std::uint8_t*,
                                              const std::uint8_t*, const std::int32_t*, std::int32_t*, bool);

void unpack_int4(std::span<const std::uint32_t> words, bool is_signed, std::int8_t* to) {
    for (const std::uint32_t word : words) {
        for (unsigned i = 0; i < 8; ++i) {
            const auto bits = static_cast<int>(word >> (4 * i) & 0xFu);
            *to++ = static_cast<std::int8_t>(is_signed && bits >= 8 ? bits - 16 : bits);
        }
    }
}

void matrix_multiply_accumulate_bits(std::size_t m, std::size_t n, std::size_t k_words,
                                     const std::uint32_t* a, const std::uint32_t* b, const std::int32_t* c,
                                     std::int32_t* d, BitOperation operation) {
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            auto sum = static_cast<std::uint32_t>(c[i * n + j]);
            for (std::size_t l = 0; l < k_words; ++l) {
                const std::uint32_t x = a[i * k_words + l], y = b[j * k_words + l];
                const std::uint32_t result = operation == BitOperation::exclusive_or ? x ^ y : x & y;
                sum += static_cast<std::uint32_t>(std::popcount(result));
            }
            d[i * n + j] = static_cast<std::int32_t>(sum);
        }
    }
}

}  // namespace heddle::numerics
