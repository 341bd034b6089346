// The arithmetic of a TPU's matrix unit: bf16 products, exact in fp32, added in fp32; and of TPU v1: int8
// into int32.
//
// The order in which a real systolic array adds, and the rounding of each add, are unpublished. Both are
// parameters here; with the defaults results are reproducible, and no bit-exactness to a real TPU is claimed.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "isa/numerics/formats.h"

namespace heddle::numerics {

/// A subnormal becomes a zero of the same sign.
inline float flush_subnormal(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    return (bits & 0x7F800000u) == 0 ? std::bit_cast<float>(bits & 0x80000000u) : value;
}

/// fp32 -> bf16 as a TPU does it: to nearest even, beyond the largest number an infinity, subnormals flushed
/// to zero (of inputs and of results).
inline std::uint16_t fp32_to_bf16_tpu(float value) {
    return fp32_to_bf16(flush_subnormal(value));
}

/// One processing element in one cycle: acc + a * b. The product of two bf16 numbers is exact in fp32 unless
/// it underflows; the sum is rounded to nearest even; subnormal operands, products and sums are flushed to
/// zero.
inline float matrix_unit_accumulate(float acc, std::uint16_t a_bf16, std::uint16_t b_bf16) {
    const float a = flush_subnormal(bf16_to_fp32(a_bf16));
    const float b = flush_subnormal(bf16_to_fp32(b_bf16));
    return flush_subnormal(flush_subnormal(acc) + flush_subnormal(a * b));
}

/// TPU v1: exact, modulo 2^32.
inline std::int32_t matrix_unit_accumulate(std::int32_t acc, std::int8_t a, std::int8_t b) {
    const std::uint32_t product = static_cast<std::uint32_t>(std::int32_t{a} * b);
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(acc) + product);
}

/// How the products of one output element are joined.
struct SystolicOrder {
    /// Products that one pass through the array adds, from zero; the next pass's sum is then added to the
    /// accumulator. 0: one chain over all of K that starts from C.
    std::size_t chunk = 128;
    bool k_ascending = true;  ///< within a chunk; chunks always come in ascending k

    bool operator==(const SystolicOrder&) const = default;
};

/// One output element: c + sum over k of a[k * a_stride] * b[k * b_stride], in bf16 and fp32.
float matrix_unit_column(SystolicOrder order, std::size_t k, const std::uint16_t* a, std::size_t a_stride,
                         const std::uint16_t* b, std::size_t b_stride, float c);

/// C += A B. A is row-major m x k (activations), B row-major k x n (weights), C row-major m x n. Equal in
/// every bit to matrix_unit_column() on each element.
void matrix_unit_tile(SystolicOrder order, std::size_t m, std::size_t n, std::size_t k,
                      const std::uint16_t* a, const std::uint16_t* b, float* c);
void matrix_unit_tile(std::size_t m, std::size_t n, std::size_t k, const std::int8_t* a, const std::int8_t* b,
                      std::int32_t* c);

/// An fp32 number as a sum of up to three bf16 numbers, the largest first: what a TPU multiplies in several
/// passes to serve fp32 matrices. Each part is the rest so far, rounded by fp32_to_bf16_tpu().
struct Bf16Parts {
    std::uint16_t high, middle, low;  ///< bits of bf16; their sum is nearly the number
};
Bf16Parts split_into_bf16(float value);

}  // namespace heddle::numerics
