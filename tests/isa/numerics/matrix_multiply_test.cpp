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
    with_specials
};

constexpr Distribution kDistributions[] = {
    Distribution::all_bits,   Distribution::near_one,  Distribution::positive_near_four,
    Distribution::cancelling, Distribution::tiny,      Distribution::huge,
    Distribution::sparse,     Distribution::subnormal, Distribution::with_specials};

const char* name_of(Distribution distribution) {
    switch (distribution) {
        case Distribution::all_bits:
            return "all bits";
        case Distribution::near_one:
            return "near one";
        case Distribution::positive_near_four:
            return "positive, products near four";
        case Distribution::cancelling:
            return "cancelling";
        case Distribution::tiny:
            return "tiny";
        case Distribution::huge:
            return "huge";
        case Distribution::sparse:
            return "sparse";
        case Distribution::subnormal:
            return "subnormal";
        case Distribution::with_specials:
            return "with specials";
    }
    return "";
}

/// Draws raw bits of one format.
class Source {
  public:
    Source(Format format, std::uint64_t seed) : format_(format), layout_(traits(format)), random_(seed) {}

    std::uint32_t draw(Distribution distribution) {
        const unsigned magnitude_bits = layout_.exponent_bits + layout_.fraction_bits;
        const std::uint32_t fraction = bits(layout_.fraction_bits);
        const std::uint32_t sign = bits(1) << magnitude_bits;
        const int bias = layout_.bias(), largest = layout_.maximum_exponent() + bias;
        const auto number = [&](int field) {
            return sign | static_cast<std::uint32_t>(std::clamp(field, 0, largest)) << layout_.fraction_bits |
                   fraction;
        };
        switch (distribution) {
            case Distribution::all_bits:
                return place(finite(bits(magnitude_bits + 1)));
            case Distribution::near_one:
                return place(finite(number(bias - 3 + static_cast<int>(bits(2)))));
            case Distribution::positive_near_four: {
                const std::uint32_t all = (1u << layout_.fraction_bits) - 1;
                return place(static_cast<std::uint32_t>(bias) << layout_.fraction_bits |
                             (all - (bits(3) == 0)));
            }
            case Distribution::cancelling:
                return place(static_cast<std::uint32_t>(bias) << layout_.fraction_bits | sign | bits(1));
            case Distribution::tiny:
                return place(finite(number(static_cast<int>(bits(3)))));
            case Distribution::huge:
                return place(finite(number(largest - static_cast<int>(bits(3)))));
            case Distribution::sparse:
                return bits(2) != 0 ? place(sign)
                                    : place(finite(number(bias - 8 + static_cast<int>(bits(4)))));
            case Distribution::subnormal:
                return place(sign | fraction);
            case Distribution::with_specials: {
                if (bits(5) != 0) return place(finite(number(bias - 2 + static_cast<int>(bits(2)))));
                if (bits(1) != 0) return place(sign);
                const float special = bits(2) == 0 ? std::numeric_limits<float>::quiet_NaN()
                                                   : std::numeric_limits<float>::infinity();
                return from_float(format_, sign != 0 ? -special : special);
            }
        }
        return 0;
    }

    std::uint32_t bits(unsigned count) {
        return count == 0 ? 0 : static_cast<std::uint32_t>(random_() >> (64 - count));
    }

  private:
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
    for (std::uint32_t& value : wide_a) value = inputs.draw(of_a);
    for (std::uint32_t& value : wide_b) value = inputs_b.draw(of_b);
    const std::vector<Input> a(wide_a.begin(), wide_a.end()), b(wide_b.begin(), wide_b.end());
    std::vector<Output> c(shape.m * shape.n), d(shape.m * shape.n);
    for (Output& value : c) value = from_raw<Output>(addends.draw(of_c));

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
    for (const Generation generation : {Generation::volta, Generation::turing, Generation::ampere,
                                        Generation::ada, Generation::hopper, Generation::blackwell}) {
        for (const Format input : {Format::fp16, Format::bf16, Format::tf32, Format::e4m3, Format::e5m2}) {
            for (const Format output : {Format::fp32, Format::fp16}) {
                for (const Instruction instruction : {Instruction::mma_sync, Instruction::wgmma}) {
                    try {
                        const DotProductParameters found =
                            parameters_for(generation, input, output, instruction);
                        if (std::find(all.begin(), all.end(), found) == all.end()) all.push_back(found);
                        if (traits(input).storage_bits != 8) continue;
                        const Format other = input == Format::e4m3 ? Format::e5m2 : Format::e4m3;
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

void check_implementation(Implementation implementation, unsigned repeats) {
    const std::vector<DotProductParameters> all = all_parameters();
    REQUIRE(all.size() >= 25);
    std::uint64_t seed = 1;
    for (const DotProductParameters& parameters : all) {
        for (const Distribution of_a : kDistributions) {
            for (const Distribution of_c : kDistributions) {
                const auto of_b = kDistributions[seed % std::size(kDistributions)];
                for (unsigned repeat = 0; repeat < repeats; ++repeat) {
                    INFO(traits(parameters.input).name
                         << " -> " << traits(parameters.output).name << " L=" << parameters.block_length
                         << " F=" << parameters.alignment_fraction_bits << " A " << name_of(of_a) << " B "
                         << name_of(of_b) << " C " << name_of(of_c));
                    for (const auto b_distribution : {of_a, of_b}) {
                        const std::size_t different = count_differences(
                            parameters, {16, 8, 32}, of_a, b_distribution, of_c, implementation, ++seed);
                        REQUIRE(different == 0);
                    }
                }
            }
        }
    }
}

}  // namespace

TEST_CASE("portable matrix multiplication equals the definition in every bit") {
    check_implementation(Implementation::portable, 1);
}

TEST_CASE("AVX2 matrix multiplication equals the definition in every bit") {
    if (!processor_has_avx2()) {
        WARN("skipped: no AVX2 here");
        return;
    }
    check_implementation(Implementation::avx2, 2);
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
