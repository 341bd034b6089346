#include "isa/numerics/counter_random.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <type_traits>

namespace heddle::numerics {
namespace {

constexpr unsigned storage_bytes(Format format) {
    return traits(format).storage_bits / 8;
}

// Every value is made as a double that is exact, so that one conversion to fp32 is the only rounding.

/// 2^exponent, for exponents of normal numbers.
double power_of_two(int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

double normal_value(std::uint64_t seed, std::uint64_t index) {
    constexpr std::uint64_t kHalves = 0x0000FFFF0000FFFFu;
    const std::uint64_t a = random_bits(seed, 3 * index), b = random_bits(seed, 3 * index + 1),
                        c = random_bits(seed, 3 * index + 2);
    const std::uint64_t pairs = (a & kHalves) + ((a >> 16) & kHalves) + (b & kHalves) +
                                ((b >> 16) & kHalves) + (c & kHalves) + ((c >> 16) & kHalves);
    const auto sum = static_cast<std::int64_t>((pairs & 0xFFFFFFFFu) + (pairs >> 32)) - 6 * 65535;
    // 32 more bits, so that products of fp32 and fp64 have full significands. They share bits with the sum's
    // lowest digits, which say nothing about its size.
    const std::int64_t fraction = static_cast<std::uint32_t>((a ^ (b >> 32)) * 0x2545F4914F6CDD1Du >> 32);
    return static_cast<double>(sum * (std::int64_t{1} << 32) + fraction) * 0x1p-48;
}

double uniform_value(std::uint64_t seed, std::uint64_t index) {
    return static_cast<double>(static_cast<std::int64_t>(random_bits(seed, index)) >> 11) * 0x1p-52;
}

/// 0 ... count - 1, from the upper half of the word.
std::uint32_t choose(std::uint64_t word, std::uint32_t count) {
    return static_cast<std::uint32_t>(((word >> 32) * count) >> 32);
}

double integer_value(std::uint64_t seed, std::uint64_t index) {
    return static_cast<double>(static_cast<int>(choose(random_bits(seed, index), 9)) - 4);
}

/// Random significand in [1, 2) with 40 bits (fp64: see below), sign in bit 0, exponent in [-span, span].
double wide_value(std::uint64_t word, int span) {
    const int exponent = static_cast<int>(choose(word, static_cast<std::uint32_t>(2 * span + 1))) - span;
    const std::uint64_t fraction = mix_bits(word) >> 12;
    const double significand = std::bit_cast<double>(0x3FF0000000000000u | fraction);
    return ((word & 1) != 0 ? -significand : significand) * power_of_two(exponent);
}

template <Format F>
std::uint64_t encode_value(double value) {
    if constexpr (F == Format::fp64) {
        return std::bit_cast<std::uint64_t>(value);
    } else {
        const float single = static_cast<float>(value);
        if constexpr (F == Format::fp32) return std::bit_cast<std::uint32_t>(single);
        if constexpr (F == Format::fp16) return fp32_to_fp16(single);
        if constexpr (F == Format::bf16) return fp32_to_bf16(single);
        if constexpr (F == Format::tf32) {
            // To nearest even at 10 fraction bits; no value here is a NaN or near the largest number.
            const std::uint32_t bits = std::bit_cast<std::uint32_t>(single);
            return (bits + 0xFFFu + ((bits >> 13) & 1u)) & ~std::uint32_t{0x1FFF};
        }
        return from_float(F, single, {.overflow = Overflow::saturate});
    }
}

/// fp8 of the common distributions, where from_float() would be the slowest part: nearest even by integer
/// arithmetic, for values within the range of normal numbers; others by from_float().
template <Format F>
std::uint64_t encode_eight(double value) {
    constexpr FormatTraits kTraits = traits(F);
    constexpr unsigned kDrop = 23 - kTraits.fraction_bits;
    const float single = static_cast<float>(value);
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(single), magnitude = bits & 0x7FFFFFFFu;
    constexpr auto kSmallest = static_cast<std::uint32_t>(kTraits.minimum_exponent() + 127) << 23;
    constexpr auto kLarge = static_cast<std::uint32_t>(kTraits.maximum_exponent() + 127) << 23;
    if (magnitude >= kSmallest && magnitude < kLarge) {
        constexpr std::uint32_t kBelowHalf = (1u << kDrop) / 2 - 1;
        const std::uint32_t rounded = (magnitude + kBelowHalf + ((magnitude >> kDrop) & 1u)) >> kDrop;
        const auto rebias = static_cast<std::uint32_t>(127 - kTraits.bias()) << kTraits.fraction_bits;
        return ((bits >> 24) & 0x80u) | (rounded - rebias);
    }
    if (magnitude < kSmallest) {
        // Adding a number whose unit is the subnormal's rounds to nearest even in one IEEE operation.
        constexpr float kUnits =
            std::bit_cast<float>(static_cast<std::uint32_t>(kTraits.minimum_exponent() + 127 + kDrop) << 23);
        const float sum = std::bit_cast<float>(magnitude) + kUnits;
        return ((bits >> 24) & 0x80u) | (std::bit_cast<std::uint32_t>(sum) & 0xFFu);
    }
    return from_float(F, single, {.overflow = Overflow::saturate});
}

template <Format F>
std::uint64_t encode_finite(double value) {
    if constexpr (F == Format::e4m3 || F == Format::e5m2)
        return encode_eight<F>(value);
    else
        return encode_value<F>(value);
}

template <Format F>
std::uint64_t cancellation_bits(std::uint64_t seed, std::uint64_t index) {
    const int span = std::max(1, exponent_span(F) / 4);
    const std::uint64_t word = random_bits(seed, index >> 1);
    std::uint64_t bits = encode_finite<F>(wide_value(word, span));
    if ((index & 1) == 0) return bits;
    constexpr FormatTraits kTraits = traits(F);
    bits ^= std::uint64_t{1} << (kTraits.storage_bits - 1);
    if ((word & 2) != 0) bits ^= std::uint64_t{1} << kTraits.padding_bits;
    return bits;
}

template <Format F>
std::uint64_t subnormal_bits(std::uint64_t word) {
    constexpr FormatTraits kTraits = traits(F);
    constexpr unsigned kFraction = kTraits.fraction_bits;
    const std::uint64_t fraction = (word >> 2) & ((std::uint64_t{1} << kFraction) - 1);
    const std::uint64_t exponent = (word & 3) == 0 ? 1 : 0;
    const std::uint64_t sign = word >> 63;
    return sign << (kTraits.storage_bits - 1) | (exponent << kFraction | fraction) << kTraits.padding_bits;
}

template <Format F>
std::uint64_t special_bits(std::uint64_t word) {
    constexpr FormatTraits kTraits = traits(F);
    constexpr std::uint64_t kSign = std::uint64_t{1} << (kTraits.storage_bits - 1);
    constexpr unsigned kPad = kTraits.padding_bits, kFraction = kTraits.fraction_bits;
    constexpr std::uint64_t kAllOnes = (std::uint64_t{1} << kTraits.exponent_bits) - 1;
    // e4m3 has no infinity: its NaN stands for it.
    constexpr std::uint64_t kInfinity = kTraits.has_infinity() ? kAllOnes << (kFraction + kPad) : kTraits.nan;
    constexpr std::uint64_t kLargest =
        kTraits.has_infinity() ? kInfinity - (std::uint64_t{1} << kPad) : kTraits.nan - 1;
    const std::uint64_t sign = (word & 1) != 0 ? kSign : 0;
    switch ((word >> 1) & 7) {
        case 0:
        case 1:
            return sign | kInfinity;
        case 2:
            return kTraits.nan & ~((std::uint64_t{1} << kPad) - 1);
        case 3:
        case 4:
            return sign;
        case 5:
        case 6:
            return sign | kLargest;
        default:
            return sign | std::uint64_t{1} << kPad;
    }
}

template <Format F, Distribution D>
std::uint64_t element(std::uint64_t seed, std::uint64_t index) {
    switch (D) {
        case Distribution::normal:
            return encode_finite<F>(normal_value(seed, index));
        case Distribution::uniform:
            return encode_finite<F>(uniform_value(seed, index));
        case Distribution::integers:
            return encode_finite<F>(integer_value(seed, index));
        case Distribution::wide:
            return encode_finite<F>(wide_value(random_bits(seed, index), exponent_span(F)));
        case Distribution::cancellation:
            return cancellation_bits<F>(seed, index);
        case Distribution::pairs:
            return encode_finite<F>(normal_value(seed, index >> 1));
        case Distribution::subnormal:
            return subnormal_bits<F>(random_bits(seed, index));
        case Distribution::ones:
            return encode_finite<F>(1.0);
        case Distribution::specials: {
            const std::uint64_t word = random_bits(~seed, index);
            return word >> 56 == 0 ? special_bits<F>(word) : encode_finite<F>(normal_value(seed, index));
        }
    }
    return 0;
}

template <Distribution D>
std::int8_t element_int8(std::uint64_t seed, std::uint64_t index) {
    const auto clamped = [](double value) {
        return static_cast<std::int8_t>(static_cast<int>(std::clamp(value * 32.0, -128.0, 127.0)));
    };
    const std::uint64_t word = random_bits(seed, index);
    switch (D) {
        case Distribution::normal:
            return clamped(normal_value(seed, index));
        case Distribution::uniform:
            return static_cast<std::int8_t>(word >> 56);
        case Distribution::integers:
            return static_cast<std::int8_t>(static_cast<int>(choose(word, 9)) - 4);
        case Distribution::wide:
            return static_cast<std::int8_t>((1 << (word >> 61)) * ((word & 1) != 0 ? -1 : 1));
        case Distribution::cancellation: {
            const std::uint64_t pair = random_bits(seed, index >> 1);
            const int value = static_cast<int>(choose(pair, 253)) - 126;
            return static_cast<std::int8_t>((index & 1) == 0 ? value : -value - static_cast<int>(pair & 1));
        }
        case Distribution::pairs:
            return clamped(normal_value(seed, index >> 1));
        case Distribution::subnormal:
            return static_cast<std::int8_t>(static_cast<int>(choose(word, 3)) - 1);
        case Distribution::ones:
            return 1;
        case Distribution::specials: {
            constexpr std::int8_t kEnds[] = {-128, 127, -127, 0};
            return word >> 62 == 0 ? clamped(normal_value(seed, index)) : kEnds[word & 3];
        }
    }
    return 0;
}

/// Calls `use` with the distribution as a constant.
template <typename Use>
auto with_distribution(Distribution distribution, Use&& use) {
    using D = Distribution;
    switch (distribution) {
        case D::normal:
            return use(std::integral_constant<D, D::normal>{});
        case D::uniform:
            return use(std::integral_constant<D, D::uniform>{});
        case D::integers:
            return use(std::integral_constant<D, D::integers>{});
        case D::wide:
            return use(std::integral_constant<D, D::wide>{});
        case D::cancellation:
            return use(std::integral_constant<D, D::cancellation>{});
        case D::pairs:
            return use(std::integral_constant<D, D::pairs>{});
        case D::subnormal:
            return use(std::integral_constant<D, D::subnormal>{});
        case D::ones:
            return use(std::integral_constant<D, D::ones>{});
        case D::specials:
            return use(std::integral_constant<D, D::specials>{});
    }
    throw std::invalid_argument("unknown distribution");
}

template <typename Use>
auto with_format(Format format, Use&& use) {
    using F = Format;
    switch (format) {
        case F::fp64:
            return use(std::integral_constant<F, F::fp64>{});
        case F::fp32:
            return use(std::integral_constant<F, F::fp32>{});
        case F::tf32:
            return use(std::integral_constant<F, F::tf32>{});
        case F::bf16:
            return use(std::integral_constant<F, F::bf16>{});
        case F::fp16:
            return use(std::integral_constant<F, F::fp16>{});
        case F::e5m2:
            return use(std::integral_constant<F, F::e5m2>{});
        case F::e4m3:
            return use(std::integral_constant<F, F::e4m3>{});
        default:
            break;
    }
    throw std::invalid_argument(std::string("no random inputs are made in ") + traits(format).name);
}

}  // namespace

const char* name_of(Distribution distribution) {
    switch (distribution) {
        case Distribution::normal:
            return "normal";
        case Distribution::uniform:
            return "uniform";
        case Distribution::integers:
            return "integers";
        case Distribution::wide:
            return "wide";
        case Distribution::cancellation:
            return "cancellation";
        case Distribution::pairs:
            return "pairs";
        case Distribution::subnormal:
            return "subnormal";
        case Distribution::ones:
            return "ones";
        case Distribution::specials:
            return "specials";
    }
    return "?";
}

Distribution distribution_of(const std::string& name) {
    for (const Distribution distribution : kDistributions)
        if (name == name_of(distribution)) return distribution;
    throw std::invalid_argument("unknown distribution '" + name + "'");
}

std::uint64_t random_element(Format format, Distribution distribution, std::uint64_t seed,
                             std::uint64_t index) {
    return with_format(format, [&](auto f) {
        return with_distribution(distribution, [&](auto d) { return element<f(), d()>(seed, index); });
    });
}

std::int8_t random_int8(Distribution distribution, std::uint64_t seed, std::uint64_t index) {
    return with_distribution(distribution, [&](auto d) { return element_int8<d()>(seed, index); });
}

std::int32_t random_int32(Distribution distribution, std::uint64_t seed, std::uint64_t index) {
    if (distribution == Distribution::ones) return 1;
    return static_cast<std::int32_t>(choose(random_bits(seed, index), 2001)) - 1000;
}

template <typename Storage>
void fill_random(Format format, Distribution distribution, std::uint64_t seed, std::uint64_t first,
                 std::span<Storage> to) {
    if (sizeof(Storage) != storage_bytes(format))
        throw std::invalid_argument(std::string("fill_random: the elements are not those of ") +
                                    traits(format).name);
    with_format(format, [&](auto f) {
        if constexpr (sizeof(Storage) == storage_bytes(f()))
            with_distribution(distribution, [&](auto d) {
                for (std::size_t i = 0; i < to.size(); ++i)
                    to[i] = static_cast<Storage>(element<f(), d()>(seed, first + i));
            });
    });
}

template void fill_random<std::uint8_t>(Format, Distribution, std::uint64_t, std::uint64_t,
                                        std::span<std::uint8_t>);
template void fill_random<std::uint16_t>(Format, Distribution, std::uint64_t, std::uint64_t,
                                         std::span<std::uint16_t>);
template void fill_random<std::uint32_t>(Format, Distribution, std::uint64_t, std::uint64_t,
                                         std::span<std::uint32_t>);
template void fill_random<std::uint64_t>(Format, Distribution, std::uint64_t, std::uint64_t,
                                         std::span<std::uint64_t>);

void fill_random_int8(Distribution distribution, std::uint64_t seed, std::uint64_t first,
                      std::span<std::int8_t> to) {
    with_distribution(distribution, [&](auto d) {
        for (std::size_t i = 0; i < to.size(); ++i) to[i] = element_int8<d()>(seed, first + i);
    });
}

void fill_random_int32(Distribution distribution, std::uint64_t seed, std::uint64_t first,
                       std::span<std::int32_t> to) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = random_int32(distribution, seed, first + i);
}

}  // namespace heddle::numerics
