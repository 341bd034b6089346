// The fast bodies of the matrix multiplication against the scalar definition, bit by bit, on inputs of every
// kind.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "isa/numerics/dot_product_unit.h"
#include "isa/numerics/processor.h"

using namespace heddle::numerics;

namespace {

enum class Distribution {
    all_bits,
    near_one,
    positive_near_four,
    cancelling,
    tiny,
    huge,
    sparse,
    subnormal,
    with_specials,
    normal,
    uniform,
    integers,
    powers_of_two,
    one_large,
    two_scales,
    decaying,
    growing,
    opposite_pairs,
    largest,
    smallest,
    around_smallest_normal,
    ones,
    signed_zeros,
    single_nonzero,
    at_the_cut,
    all_ones_fraction,
    infinities,
    nans,
};

struct NamedDistribution {
    Distribution distribution;
    const char* name;
};
constexpr NamedDistribution kDistributions[] = {
    {Distribution::all_bits, "all bits"},
    {Distribution::near_one, "near one"},
    {Distribution::positive_near_four, "positive, products near four"},
    {Distribution::cancelling, "cancelling"},
    {Distribution::tiny, "tiny"},
    {Distribution::huge, "huge"},
    {Distribution::sparse, "sparse"},
    {Distribution::subnormal, "subnormal"},
    {Distribution::with_specials, "with specials"},
    {Distribution::normal, "normal"},
    {Distribution::uniform, "uniform in [-1, 1)"},
    {Distribution::integers, "small integers"},
    {Distribution::powers_of_two, "powers of two"},
    {Distribution::one_large, "one large among small"},
    {Distribution::two_scales, "two scales"},
    {Distribution::decaying, "decaying along K"},
    {Distribution::growing, "growing along K"},
    {Distribution::opposite_pairs, "pairs that cancel exactly"},
    {Distribution::largest, "the largest number"},
    {Distribution::smallest, "the smallest number"},
    {Distribution::around_smallest_normal, "around the smallest normal number"},
    {Distribution::ones, "ones"},
    {Distribution::signed_zeros, "zeros of both signs"},
    {Distribution::single_nonzero, "one nonzero in a row of zeros"},
    {Distribution::at_the_cut, "exponents about F apart"},
    {Distribution::all_ones_fraction, "fractions of ones"},
    {Distribution::infinities, "infinities among numbers"},
    {Distribution::nans, "NaNs among numbers"},
};

/// Draws raw bits of one format.
class Source {
  public:
    Source(Format format, std::uint64_t seed) : format_(format), layout_(traits(format)), random_(seed) {}

    /// `k` is the element's place along its row.
    std::uint32_t draw(Distribution distribution, std::size_t k) {
        const unsigned magnitude_bits = layout_.exponent_bits + layout_.fraction_bits;
        const std::uint32_t all_ones = (1u << layout_.fraction_bits) - 1;
        const std::uint32_t fraction = bits(layout_.fraction_bits);
        const std::uint32_t sign = bits(1) << magnitude_bits;
        const int bias = layout_.bias(), largest = layout_.maximum_exponent() + bias;
        const int place_of_k = static_cast<int>(k);
        const auto with_fraction = [&](int field, std::uint32_t low) {
            return place(finite(
                sign | static_cast<std::uint32_t>(std::clamp(field, 0, largest)) << layout_.fraction_bits |
                low));
        };
        const auto number = [&](int field) { return with_fraction(field, fraction); };
        const auto value = [&](double x) {
            return place(from_float(format_, static_cast<float>(x)) >> layout_.padding_bits);
        };
        const auto random_unit = [&] { return std::ldexp(static_cast<double>(bits(24)), -24); };
        const auto ordinary = [&] { return number(bias - 2 + static_cast<int>(bits(2))); };
        switch (distribution) {
            case Distribution::all_bits:
                return place(finite(bits(magnitude_bits + 1)));
            case Distribution::near_one:
                return number(bias - 3 + static_cast<int>(bits(2)));
            case Distribution::positive_near_four:
                return place(static_cast<std::uint32_t>(bias) << layout_.fraction_bits |
                             (all_ones - (bits(3) == 0)));
            case Distribution::cancelling:
                return place(static_cast<std::uint32_t>(bias) << layout_.fraction_bits | sign | bits(1));
            case Distribution::tiny:
                return number(static_cast<int>(bits(3)));
            case Distribution::huge:
                return number(largest - static_cast<int>(bits(3)));
            case Distribution::sparse:
                return bits(2) != 0 ? place(sign) : number(bias - 8 + static_cast<int>(bits(4)));
            case Distribution::subnormal:
                return place(sign | fraction);
            case Distribution::with_specials:
                return bits(5) != 0   ? ordinary()
                       : bits(1) != 0 ? place(sign)
                                      : special(sign != 0, bits(2) == 0);
            case Distribution::normal:
                return value(random_unit() + random_unit() + random_unit() + random_unit() - 2);
            case Distribution::uniform:
                return value(2 * random_unit() - 1);
            case Distribution::integers:
                return value(static_cast<double>(bits(3)) - 4);
            case Distribution::powers_of_two:
                return with_fraction(bias - 6 + static_cast<int>(bits(3)), 0);
            case Distribution::one_large:
                return number(bits(4) == 0 ? bias + 8 : bias - 8);
            case Distribution::two_scales:
                return number(k % 2 == 0 ? bias + 5 : bias - 7);
            case Distribution::decaying:
                return number(bias + 6 - place_of_k / 2);
            case Distribution::growing:
                return number(bias - 8 + place_of_k / 2);
            case Distribution::opposite_pairs:
                if (k % 2 == 0) {
                    last_ = with_fraction(bias - 4 + static_cast<int>(bits(3)), fraction);
                    return last_;
                }
                return last_ ^ 1u << (magnitude_bits + layout_.padding_bits);
            case Distribution::largest:
                return with_fraction(
                    largest, layout_.special_numbers == SpecialNumbers::nan_only ? all_ones - 1 : all_ones);
            case Distribution::smallest:
                return place(sign | 1u);
            case Distribution::around_smallest_normal:
                return bits(1) != 0 ? place(sign | 1u << layout_.fraction_bits | bits(1))
                                    : place(sign | (all_ones - bits(1)));
            case Distribution::ones:
                return value(1);
            case Distribution::signed_zeros:
                return place(sign);
            case Distribution::single_nonzero:
                return k % 16 == 5 ? ordinary() : place(sign);
            case Distribution::at_the_cut:
                return number(k % 8 == 0 ? bias + 7 : bias - 4 - static_cast<int>(bits(2)));
            case Distribution::all_ones_fraction:
                return with_fraction(bias - 1 + static_cast<int>(bits(1)), all_ones);
            case Distribution::infinities:
                return bits(4) != 0 ? ordinary() : special(sign != 0, false);
            case Distribution::nans:
                return bits(4) != 0 ? ordinary() : special(sign != 0, true);
        }
        return 0;
    }

    std::uint32_t bits(unsigned count) {
        return count == 0 ? 0 : static_cast<std::uint32_t>(random_() >> (64 - count));
    }

  private:
    std::uint32_t special(bool negative, bool nan) {
        const float value =
            nan ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
        return from_float(format_, negative ? -value : value);
    }
    /// Replaces a NaN or infinity by a large number.
    std::uint32_t finite(std::uint32_t unpadded) {
        const NumberClass drawn =
            decode(format_, std::uint64_t{unpadded} << layout_.padding_bits).number_class;
        const bool special = drawn == NumberClass::nan || drawn == NumberClass::infinity;
        return special ? unpadded ^ 1u << (layout_.fraction_bits + layout_.exponent_bits - 1) : unpadded;
    }
    /// tf32: the ignored bits are set at random.
    std::uint32_t place(std::uint32_t unpadded) {
        return unpadded << layout_.padding_bits | bits(layout_.padding_bits);
    }

    Format format_;
    FormatTraits layout_;
    std::mt19937_64 random_;
    std::uint32_t last_ = 0;
};

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

struct Shape {
    std::size_t m, n, k;
};

/// Elements in which an implementation differs from the definition.
template <typename Input, typename Output>
std::size_t count_differences(const DotProductParameters& parameters, Shape shape, Distribution of_a,
                              Distribution of_b, Distribution of_c, Implementation implementation,
                              std::uint64_t seed) {
    Source inputs(parameters.input, seed), inputs_b(parameters.input_b, seed + 2),
        addends(parameters.output, seed + 1);
    std::vector<std::uint32_t> wide_a(shape.m * shape.k), wide_b(shape.n * shape.k);
    for (std::size_t i = 0; i < wide_a.size(); ++i) wide_a[i] = inputs.draw(of_a, i % shape.k);
    for (std::size_t i = 0; i < wide_b.size(); ++i) wide_b[i] = inputs_b.draw(of_b, i % shape.k);
    const std::vector<Input> a(wide_a.begin(), wide_a.end()), b(wide_b.begin(), wide_b.end());
    std::vector<Output> c(shape.m * shape.n), d(shape.m * shape.n);
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = from_raw<Output>(addends.draw(of_c, i));

    matrix_multiply_accumulate(parameters, shape.m, shape.n, shape.k, a.data(), b.data(), c.data(), d.data(),
                               implementation);
    std::size_t different = 0;
    for (std::size_t i = 0; i < shape.m; ++i) {
        for (std::size_t j = 0; j < shape.n; ++j) {
            const std::uint32_t expected =
                dot_product(parameters, {wide_a.data() + i * shape.k, shape.k},
                            {wide_b.data() + j * shape.k, shape.k}, raw(c[i * shape.n + j]));
            if (raw(d[i * shape.n + j]) != expected) ++different;
        }
    }
    // In place gives the same.
    matrix_multiply_accumulate(parameters, shape.m, shape.n, shape.k, a.data(), b.data(), c.data(), c.data(),
                               implementation);
    for (std::size_t i = 0; i < c.size(); ++i)
        if (raw(c[i]) != raw(d[i])) ++different;
    return different;
}

std::size_t count_differences(const DotProductParameters& parameters, Shape shape, Distribution of_a,
                              Distribution of_b, Distribution of_c, Implementation implementation,
                              std::uint64_t seed) {
    const bool half = parameters.output == Format::fp16;
    const auto run = [&](auto input) {
        using Input = decltype(input);
        return half ? count_differences<Input, std::uint16_t>(parameters, shape, of_a, of_b, of_c,
                                                              implementation, seed)
                    : count_differences<Input, float>(parameters, shape, of_a, of_b, of_c, implementation,
                                                      seed);
    };
    switch (traits(parameters.input).storage_bits) {
        case 8:
            return run(std::uint8_t{});
        case 16:
            return run(std::uint16_t{});
        default:
            return run(std::uint32_t{});
    }
}

/// Every operation that any generation has.
std::vector<DotProductParameters> all_parameters() {
    std::vector<DotProductParameters> all;
    for (const Generation& generation :
         {Generation::volta, Generation::turing, Generation::ampere, Generation::ada, Generation::hopper,
          Generation::blackwell, Generation::rtx_blackwell}) {
        for (const Format input : {Format::fp16, Format::bf16, Format::tf32, Format::e4m3, Format::e5m2,
                                   Format::e3m2, Format::e2m3, Format::e2m1}) {
            for (const Format output : {Format::fp32, Format::fp16}) {
                for (const Instruction instruction :
                     {Instruction::mma_sync, Instruction::wgmma, Instruction::tcgen05}) {
                    try {
                        const DotProductParameters found =
                            parameters_for(generation, input, output, instruction);
                        if (std::find(all.begin(), all.end(), found) == all.end()) all.push_back(found);
                        if (traits(input).storage_bits != 8) continue;
                        const Format other = input == Format::e4m3   ? Format::e5m2
                                             : input == Format::e2m1 ? Format::e3m2
                                                                     : Format::e4m3;
                        const DotProductParameters mixed =
                            parameters_for(generation, input, other, output, instruction);
                        if (std::find(all.begin(), all.end(), mixed) == all.end()) all.push_back(mixed);
                    } catch (const std::invalid_argument&) {
                    }
                }
            }
        }
    }
    return all;
}

/// Every operation on A and C of every distribution; B has the distribution of A, or another one in turn.
void check_implementation(Implementation implementation, Shape shape) {
    const std::vector<DotProductParameters> all = all_parameters();
    REQUIRE(all.size() >= 25);
    REQUIRE(std::size(kDistributions) >= 25);
    std::uint64_t seed = 1;
    for (const DotProductParameters& parameters : all) {
        for (const NamedDistribution& of_a : kDistributions) {
            for (const NamedDistribution& of_c : kDistributions) {
                ++seed;
                const NamedDistribution& of_b =
                    seed % 2 == 0 ? of_a : kDistributions[seed / 2 % std::size(kDistributions)];
                INFO(traits(parameters.input).name
                     << " -> " << traits(parameters.output).name << " L=" << parameters.block_length
                     << " F=" << parameters.alignment_fraction_bits << " A " << of_a.name << " B "
                     << of_b.name << " C " << of_c.name);
                REQUIRE(count_differences(parameters, shape, of_a.distribution, of_b.distribution,
                                          of_c.distribution, implementation, seed) == 0);
            }
        }
    }
}

}  // namespace

TEST_CASE("portable matrix multiplication equals the definition in every bit") {
    check_implementation(Implementation::portable, {2, 8, 32});
}

TEST_CASE("AVX2 matrix multiplication equals the definition in every bit") {
    if (!processor_has_avx2()) {
        WARN("skipped: no AVX2 here");
        return;
    }
    check_implementation(Implementation::avx2, {5, 8, 32});
}

TEST_CASE("shapes that fill no tile, short and long K") {
    std::uint64_t seed = 1000;
    for (const Implementation implementation : {Implementation::portable, Implementation::automatic}) {
        for (const Shape shape :
             {Shape{1, 1, 1}, Shape{3, 5, 7}, Shape{16, 8, 8}, Shape{16, 8, 4}, Shape{17, 9, 33},
              Shape{5, 20, 129}, Shape{2, 3, 300}, Shape{33, 16, 128}}) {
            for (const DotProductParameters& parameters : all_parameters()) {
                INFO(traits(parameters.input).name << " -> " << traits(parameters.output).name
                                                   << " L=" << parameters.block_length << ", " << shape.m
                                                   << " x " << shape.n << " x " << shape.k);
                REQUIRE(count_differences(parameters, shape, Distribution::near_one, Distribution::near_one,
                                          Distribution::near_one, implementation, ++seed) == 0);
            }
        }
    }
}

TEST_CASE("sums on both sides of 32 bits") {
    // Hopper's largest block: 16 products of (2 - 2^-10)^2 are 2^31 - 2^21 + 2^9 units of 2^-25. C fills up
    // to 2^31.
    const DotProductParameters hopper = parameters_for(Generation::hopper, Format::fp16, Format::fp32);
    for (const bool negative : {false, true}) {
        const std::vector<std::uint16_t> a(16 * 16, negative ? 0xBFFF : 0x3FFF), b(8 * 16, 0x3FFF);
        for (int beyond = -256; beyond <= 256; beyond += 8) {
            std::vector<float> c(16 * 8), d(16 * 8);
            for (std::size_t i = 0; i < c.size(); ++i) {
                const double units = (1 << 21) - (1 << 9) + beyond + static_cast<int>(i % 8);
                c[i] = static_cast<float>(std::ldexp(negative ? -units : units, -25));
            }
            matrix_multiply_accumulate(hopper, 16, 8, 16, a.data(), b.data(), c.data(), d.data());
            for (std::size_t i = 0; i < c.size(); ++i) {
                // 24 bits are kept: multiples of 128 below 2^31, of 256 from there on.
                const std::int64_t sum = (std::int64_t{1} << 31) + beyond + static_cast<int>(i % 8);
                const std::int64_t cut = sum < std::int64_t{1} << 31 ? sum / 128 * 128 : sum / 256 * 256;
                const double expected = std::ldexp(static_cast<double>(cut), -25);
                REQUIRE(d[i] == (negative ? -expected : expected));
            }
        }
    }
}

TEST_CASE("sums whose largest exponent is below e0") {
    // One product that decides, and a few whose bits end on both sides of 2^(e0 - F).
    struct Case {
        Generation generation;
        Format input, output;
        int a_first, b_first, a_rest, b_rest;
    };
    const Case cases[] = {
        {Generation::hopper, Format::bf16, Format::fp32, -70, -70, -75, -80},
        {Generation::ampere, Format::bf16, Format::fp32, -70, -70, -75, -80},
        {Generation::hopper, Format::tf32, Format::fp32, -70, -70, -75, -80},
        {Generation::hopper, Format::fp16, Format::fp16, -12, -13, -15, -24},
        {Generation::ampere, Format::fp16, Format::fp16, -12, -13, -15, -24},
        {Generation::volta, Format::fp16, Format::fp16, -12, -13, -15, -24},
    };
    std::mt19937_64 random(12);
    for (const Case& x : cases) {
        const DotProductParameters parameters = parameters_for(x.generation, x.input, x.output);
        const auto power = [&](int exponent, bool negative) {
            return from_float(x.input, std::ldexp(negative ? -1.0f : 1.0f, exponent));
        };
        std::size_t e0_matters = 0, different = 0;
        for (int trial = 0; trial < 4000; ++trial) {
            std::vector<std::uint32_t> a(parameters.block_length, 0), b(parameters.block_length, 0);
            a[0] = power(x.a_first, false);
            b[0] = power(x.b_first, false);
            for (std::size_t k = 1; k < a.size(); ++k) {
                if (random() % 3 != 0) continue;
                a[k] = power(x.a_rest - static_cast<int>(random() % 10), random() % 2 != 0);
                b[k] = power(x.b_rest, false);
            }
            const std::uint32_t expected = dot_product(parameters, a, b, 0);
            DotProductParameters without = parameters;
            without.minimum_exponent = -300;
            if (dot_product(without, a, b, 0) != expected) ++e0_matters;
            const auto run = [&]<typename Input, typename Output>(Input, Output) {
                const std::vector<Input> typed_a(a.begin(), a.end()), typed_b(b.begin(), b.end());
                for (const Implementation implementation :
                     {Implementation::portable, Implementation::automatic}) {
                    Output c{}, d{};
                    matrix_multiply_accumulate(parameters, 1, 1, a.size(), typed_a.data(), typed_b.data(), &c,
                                               &d, implementation);
                    if (raw(d) != expected) ++different;
                }
            };
            if (x.output == Format::fp16)
                run(std::uint16_t{}, std::uint16_t{});
            else if (x.input == Format::tf32)
                run(std::uint32_t{}, float{});
            else
                run(std::uint16_t{}, float{});
        }
        INFO(traits(x.input).name << " -> " << traits(x.output).name);
        CHECK(different == 0);
        CHECK(e0_matters > 10);
    }
}
