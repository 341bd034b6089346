// The arithmetic of a tensor core, bit for bit: the truncated fused dot product T-FDPA(L, F, rho, e0).
//
// One output element is computed in blocks of L products along K, k ascending; the result of a block is the C
// of the next. In a block
// 1. each product is exact: significands multiply without being normalised, exponents add; subnormal inputs
// keep the
//    format's smallest exponent, nothing is flushed;
// 2. emax is the largest exponent among the nonzero products and C, and at least e0;
// 3. every product, and C, is cut to a multiple of 2^(emax - F), its magnitude towards zero, without a sticky
// bit;
// 4. these are added exactly, and the sum is rounded once by rho.
// A NaN, infinity times zero, or infinities of both signs give the NaN 0x7FFFFFFF (0x7FFF in fp16). A sum
// beyond the largest number is an infinity whatever the rounding. A sum of zero is +0 (for minus zeros only:
// not measured).
//
// Sources: arXiv 2511.10909 and arXiv 2512.07004; parameters confirmed against recorded results of V100, A2,
// A100, Ada, L40S, H100, H200 and B200 (validation/recorded/tensor_core_vectors.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "isa/numerics/formats.h"
#include "isa/target/generation.h"

namespace heddle::numerics {

/// Its `tensor_core` has the numbers of the arithmetic.
using target::Generation;

/// The instruction that reaches the tensor core: wgmma is Hopper's, tcgen05 Blackwell's. It matters for fp8
/// alone, and for narrower formats, which Blackwell multiplies by tcgen05 only.
enum class Instruction : std::uint8_t { mma_sync, wgmma, tcgen05 };

/// What one matrix instruction computes, as parameters of the truncated fused dot product.
struct DotProductParameters {
    Format input = Format::fp16;                ///< of A and, but for fp8, of B
    Format input_b = Format::fp16;              ///< of B: formats of 8 bits and fewer may be mixed
    Format output = Format::fp32;               ///< of C and D: fp32 or fp16
    unsigned block_length = 16;                 ///< L; a shorter K is one block (m16n8k8)
    int alignment_fraction_bits = 25;           ///< F
    int minimum_exponent = -133;                ///< e0
    Rounding rounding = Rounding::toward_zero;  ///< rho
    /// Fraction bits that are left in the result; 13 for fp8 on Ada and wgmma (E8M13 in an fp32 register).
    unsigned result_fraction_bits = 23;
    /// The mma.sync of Hopper and Blackwell has no fp8: the assembler unpacks to fp16, multiplies with C = 0
    /// the products whose k mod 4 is 0 or 1, then with that as C those whose k mod 4 is 2 or 3, 16 products
    /// each, and adds the instruction's C with one rounding to nearest even. Then `block_length` counts
    /// products of the inner fp16 operation.
    bool unpacks_to_fp16 = false;
    /// No published measurement: a parameter taken from the neighbouring generation.
    bool inferred = false;

    bool operator==(const DotProductParameters&) const = default;
};

/// The parameters of a generation, from published measurements. Throws std::invalid_argument when the
/// generation's tensor core does not take the input, or does not give the output (bf16 and tf32 give fp32
/// only), or the generation has not the instruction.
DotProductParameters parameters_for(const Generation& generation, Format input, Format output,
                                    Instruction instruction = Instruction::mma_sync);

/// The same for an A and a B that differ: e4m3 and e5m2, and e3m2, e2m3 and e2m1 where those are multiplied,
/// without conversion (or after that to fp16). Not measured apart from equal inputs, hence
/// `inferred`.
DotProductParameters parameters_for(const Generation& generation, Format input, Format input_b, Format output,
                                    Instruction instruction);

/// One output element: sum over k of a[k] * b[k], plus c. The readable definition, slow. Elements are raw
/// bits of `parameters.input` and `parameters.input_b`; `c` and the result are raw bits of
/// `parameters.output`. `a` and `b` must be equally long.
std::uint32_t dot_product(const DotProductParameters& parameters, std::span<const std::uint32_t> a,
                          std::span<const std::uint32_t> b, std::uint32_t c);

/// Which code computes; all give the same bits.
enum class Implementation : std::uint8_t {
    automatic,  ///< AVX2 where the processor has it
    portable,
    avx2,  ///< std::runtime_error where the processor has it not
};

/// D = A B + C for a whole tile, K any length. A is row-major m x k, B column-major (n x k: k is contiguous),
/// C and D are row-major m x n; D may be C. Input is the storage of `parameters.input` (uint8_t for fp8,
/// uint16_t for fp16 and bf16, uint32_t for tf32), Output that of `parameters.output` (float for fp32,
/// uint16_t for fp16); another type throws std::invalid_argument. Equal in every bit to dot_product() on each
/// element. Needs no memory but 40 KiB of stack, and the default floating-point environment (rounding to
/// nearest, no flushing of subnormal numbers).
template <typename Input, typename Output>
void matrix_multiply_accumulate(const DotProductParameters& parameters, std::size_t m, std::size_t n,
                                std::size_t k, const Input* a, const Input* b, const Output* c, Output* d,
                                Implementation implementation = Implementation::automatic);

/// FP64 tensor core: fused multiply-adds, k ascending, each rounded as told (mma's .rn, .rz, .rm, .rp;
/// nearest away is not one of them). Layout as above. Source: arXiv 2511.10909 for nearest even; not
/// confirmed here on a GPU.
void matrix_multiply_accumulate_fp64(std::size_t m, std::size_t n, std::size_t k, const double* a,
                                     const double* b, const double* c, double* d,
                                     Rounding rounding = Rounding::nearest_even);

/// Integer tensor core: exact products of 8-bit integers, summed modulo 2^32; with `saturate` (.satfinite)
/// the exact sum of the call is clamped to the range of int32. Layout as above. A and B are each std::int8_t
/// or std::uint8_t.
template <typename A, typename B>
void matrix_multiply_accumulate_int8(std::size_t m, std::size_t n, std::size_t k, const A* a, const B* b,
                                     const std::int32_t* c, std::int32_t* d, bool saturate = false);

/// 4-bit integers, two's complement or unsigned, eight to a word with the lowest first, as bytes of the same
/// value: eight for each word.
void unpack_int4(std::span<const std::uint32_t> words, bool is_signed, std::int8_t* to);

/// What a one-bit matrix instruction does to the bits of A and B before it counts ones.
enum class BitOperation : std::uint8_t { exclusive_or, conjunction };

/// Single-bit tensor core: the number of ones in a[k] op b[k], added to C modulo 2^32. K is counted in words
/// of 32 bits.
void matrix_multiply_accumulate_bits(std::size_t m, std::size_t n, std::size_t k_words,
                                     const std::uint32_t* a, const std::uint32_t* b, const std::int32_t* c,
                                     std::int32_t* d, BitOperation operation);

}  // namespace heddle::numerics
