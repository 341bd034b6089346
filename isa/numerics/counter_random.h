// Random inputs that any machine reproduces: element i of a stream is a pure function of the stream's seed
// and of i, in integers and in single IEEE operations only, so that a program that ran on a GPU's host last
// year and a test that runs here today see the same bits.
//
// The mixing function is SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): random_bits(seed, i) is the
// generator's output number i when it is started with `seed`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "isa/numerics/formats.h"

namespace heddle::numerics {

/// The finaliser of SplitMix64, a bijection of 64 bits.
constexpr std::uint64_t mix_bits(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

inline constexpr std::uint64_t kCounterStep = 0x9E3779B97F4A7C15u;  ///< 2^64 / golden ratio, made odd

/// 64 random bits. Streams of different seeds are unrelated only when the seeds are: see stream_seed().
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
    return mix_bits(seed + (index + 1) * kCounterStep);
}

/// The seed of stream number `stream` of the family `seed`: small numbers become seeds that have nothing in
/// common.
constexpr std::uint64_t stream_seed(std::uint64_t seed, std::uint64_t stream) {
    return mix_bits(mix_bits(seed) + 0xD1B54A32D192ED03u * (stream + 1));
}

/// What the numbers look like. The value of an element is a number of fp32 (fp64 for Format::fp64), rounded
/// to the format to nearest even. "r" is exponent_span() of the format.
enum class Distribution : std::uint8_t {
    normal,    ///< mean 0, deviation 1: twelve uniform numbers of 16 bits summed, less 6, and 32 bits below
    uniform,   ///< [-1, 1)
    integers,  ///< -4 ... 4: sums of products stay exact
    wide,      ///< random sign and significand, exponent uniform in [-r, r]
    cancellation,  ///< element 2j+1 is the negative of element 2j, half the times but for the last bit;
                   ///< wide exponents (a quarter of r)
    pairs,         ///< elements 2j and 2j+1 are equal, normal: the other factor of `cancellation`
    subnormal,     ///< three quarters subnormal numbers of the format, the others of its smallest exponent
    ones,
    specials,  ///< normal; one element in 256 is an infinity, NaN, zero, largest, or smallest number
};
inline constexpr Distribution kDistributions[] = {
    Distribution::normal,    Distribution::uniform,      Distribution::integers,
    Distribution::wide,      Distribution::cancellation, Distribution::pairs,
    Distribution::subnormal, Distribution::ones,         Distribution::specials};

/// One word, which distribution_of() reads.
const char* name_of(Distribution distribution);
/// Throws std::invalid_argument.
Distribution distribution_of(const std::string& name);

/// Exponents of `wide` lie in [-r, r]: products of two, and sums of thousands of them, stay finite numbers.
constexpr int exponent_span(Format format) {
    switch (format) {
        case Format::fp64:
            return 200;
        case Format::fp32:
        case Format::tf32:
        case Format::bf16:
            return 30;
        case Format::fp16:
        case Format::e5m2:
            return 6;
        case Format::e4m3:
            return 3;
        default:
            break;
    }
    return 0;
}

/// Raw bits of element `index`. Formats of 6 and 4 bits throw std::invalid_argument, here and below.
std::uint64_t random_element(Format format, Distribution distribution, std::uint64_t seed,
                             std::uint64_t index);

/// 8-bit integers: normal has deviation 32, uniform the whole range, wide random powers of two, subnormal
/// -1 ... 1, specials the ends of the range.
std::int8_t random_int8(Distribution distribution, std::uint64_t seed, std::uint64_t index);

/// 32-bit integers between -1000 and 1000, whatever the distribution (`ones`: 1).
std::int32_t random_int32(Distribution distribution, std::uint64_t seed, std::uint64_t index);

/// Elements first, first + 1, ... of the stream; Storage is that of the format (uint8_t, uint16_t, uint32_t,
/// uint64_t), else std::invalid_argument. Some hundreds of millions a second.
template <typename Storage>
void fill_random(Format format, Distribution distribution, std::uint64_t seed, std::uint64_t first,
                 std::span<Storage> to);
void fill_random_int8(Distribution distribution, std::uint64_t seed, std::uint64_t first,
                      std::span<std::int8_t> to);
void fill_random_int32(Distribution distribution, std::uint64_t seed, std::uint64_t first,
                       std::span<std::int32_t> to);

}  // namespace heddle::numerics
