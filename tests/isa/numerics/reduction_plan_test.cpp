#include "isa/numerics/reduction_plan.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "isa/numerics/counter_random.h"
#include "plan_probe.h"

namespace heddle::numerics {
namespace {

ReductionPlan hopper(Element input, Element output = Element::fp32) {
    ReductionPlan plan;
    plan.a = plan.b = input;
    plan.c = plan.d = plan.bias = output;
    const bool fp8 = bytes_of(input) == 1;
    plan.tensor_core = parameters_for(Generation::hopper, format_of(input), Format::fp32,
                                      fp8 ? Instruction::wgmma : Instruction::mma_sync);
    plan.instruction_k = 32 / bytes_of(input);
    plan.block_k = 128 / bytes_of(input);
    return plan;
}

ReductionPlan cuda_core(Element type = Element::fp32) {
    ReductionPlan plan;
    plan.a = plan.b = plan.c = plan.d = plan.bias = plan.accumulator = type;
    plan.arithmetic = Arithmetic::fused_multiply_add;
    plan.block_k = 8;
    return plan;
}

/// Bits whose values are finite, with exponents near one another, so that most additions round.
std::vector<std::uint32_t> numbers(Format format, std::size_t count, std::uint64_t seed) {
    std::vector<std::uint32_t> bits;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t random = random_bits(seed, i);
        const double value =
            std::ldexp(static_cast<double>(random >> 40) * 0x1p-24 - 0.5, static_cast<int>(random % 9) - 4);
        bits.push_back(
            static_cast<std::uint32_t>(convert(format, Format::fp64, std::bit_cast<std::uint64_t>(value))));
    }
    return bits;
}

std::vector<std::byte> as_bytes(const std::vector<std::uint32_t>& bits, unsigned size) {
    std::vector<std::byte> bytes(bits.size() * size);
    for (std::size_t i = 0; i < bits.size(); ++i) std::memcpy(bytes.data() + i * size, &bits[i], size);
    return bytes;
}

float as_float(std::uint32_t bits) {
    return std::bit_cast<float>(bits);
}

/// One output of a plan on random rows, as bits.
struct Row {
    std::vector<std::uint32_t> a, b;
    std::span<const std::uint32_t> left(std::size_t begin, std::size_t end) const {
        return std::span(a).subspan(begin, end - begin);
    }
    std::span<const std::uint32_t> right(std::size_t begin, std::size_t end) const {
        return std::span(b).subspan(begin, end - begin);
    }
};

std::uint32_t output_of(const ReductionPlan& plan, const Row& row, std::uint32_t c_bits = 0) {
    const std::vector<std::byte> a = as_bytes(row.a, bytes_of(plan.a)), b = as_bytes(row.b, bytes_of(plan.b)),
                                 c = as_bytes({c_bits}, bytes_of(plan.c));
    const std::vector<std::byte> d =
        evaluate(plan, {.m = 1, .n = 1, .k = row.a.size(), .a = a, .b = b, .c = c, .bias = {}});
    std::uint32_t bits = 0;
    std::memcpy(&bits, d.data(), d.size());
    return bits;
}

TEST_CASE("Sums in fp16 stay in fp16 between slices and promotions") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const Row row{numbers(Format::fp16, 96, 2 * seed), numbers(Format::fp16, 96, 2 * seed + 1)};
        ReductionPlan plan;
        plan.accumulator = Element::fp16;
        plan.tensor_core = parameters_for(Generation::ampere, Format::fp16, Format::fp16);
        const auto dot = [&](std::size_t begin, std::size_t end, std::uint32_t c = 0) {
            return dot_product(plan.tensor_core, row.left(begin, end), row.right(begin, end), c);
        };
        const auto add = [](std::uint32_t x, std::uint32_t y) {
            return std::uint32_t{fp32_to_fp16(fp16_to_fp32(static_cast<std::uint16_t>(x)) +
                                              fp16_to_fp32(static_cast<std::uint16_t>(y)))};
        };
        CHECK(output_of(plan, row) == dot(0, 96));
        plan.promotion_interval = 32;
        CHECK(output_of(plan, row) == add(add(dot(0, 32), dot(32, 64)), dot(64, 96)));
        plan.promotion_interval = 0;
        plan.k_per_split = 48;
        CHECK(output_of(plan, row) == add(dot(0, 48), dot(48, 96)));
    }
}

// The definition: dot_product() of stretches of K, by hand as the scheme says.
TEST_CASE("Plans of tensor cores equal sums that are written out by hand") {
    constexpr std::size_t kDepth = 300;  // 300 = 4 * 64 + 44
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const Row row{numbers(Format::fp16, kDepth, 2 * seed), numbers(Format::fp16, kDepth, 2 * seed + 1)};
        ReductionPlan plan = hopper(Element::fp16);
        const DotProductParameters unit = plan.tensor_core;
        const auto dot = [&](std::size_t begin, std::size_t end, std::uint32_t c = 0) {
            return dot_product(unit, row.left(begin, end), row.right(begin, end), c);
        };
        const auto add = [](std::uint32_t x, std::uint32_t y) {
            return std::bit_cast<std::uint32_t>(as_float(x) + as_float(y));
        };
        CHECK(output_of(plan, row) == dot(0, kDepth));

        plan.residue = ResidueTile::first;
        CHECK(output_of(plan, row) == dot(44, kDepth, dot(0, 44)));
        plan.residue = ResidueTile::wrapped;
        CHECK(output_of(plan, row) == dot(0, 256, dot(256, kDepth)));

        plan = hopper(Element::fp16);
        plan.promotion_interval = 128;
        CHECK(output_of(plan, row) == add(add(dot(0, 128), dot(128, 256)), dot(256, kDepth)));

        plan = hopper(Element::fp16);
        plan.splits = 3;
        plan.split_grain = 64;  // ceil(ceil(300 / 64) / 3) * 64 = 128
        CHECK(output_of(plan, row) == add(add(dot(0, 128), dot(128, 256)), dot(256, kDepth)));
        plan.d = Element::fp16;
        plan.merge = SliceMerge::output_partials;
        const auto half = [](std::uint32_t x) { return fp32_to_fp16(as_float(x)); };
        const auto rounded = [&](std::uint32_t x) { return fp16_to_fp32(half(x)); };
        CHECK(output_of(plan, row) ==
              fp32_to_fp16((rounded(dot(0, 128)) + rounded(dot(128, 256))) + rounded(dot(256, kDepth))));
        plan.merge = SliceMerge::output_chain;
        const float first = rounded(dot(0, 128));
        const float second = fp16_to_fp32(fp32_to_fp16(as_float(dot(128, 256)) + first));
        CHECK(output_of(plan, row) == fp32_to_fp16(as_float(dot(256, kDepth)) + second));
        plan.d = Element::fp32;
        plan.k_per_split = 96;
        plan.merge = SliceMerge::accumulators;
        CHECK(output_of(plan, row) ==
              add(add(add(dot(0, 96), dot(96, 192)), dot(192, 288)), dot(288, kDepth)));

        // Two halves of warps take turns for 32 of k within every tile of 64.
        plan = hopper(Element::fp16);
        plan.accumulators = 2;
        plan.accumulator_group = 32;
        std::uint32_t even = 0, odd = 0;
        for (std::size_t k = 0; k < kDepth; k += 32) {
            std::uint32_t& sum = k / 32 % 2 == 0 ? even : odd;
            sum = dot(k, std::min(kDepth, k + 32), sum);
        }
        CHECK(output_of(plan, row) == add(even, odd));
    }
}

TEST_CASE("Plans of CUDA cores equal sums that are written out by hand") {
    constexpr std::size_t kDepth = 37;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const Row row{numbers(Format::fp32, kDepth, 2 * seed), numbers(Format::fp32, kDepth, 2 * seed + 1)};
        const auto x = [&](std::size_t k) { return as_float(row.a[k]); };
        const auto y = [&](std::size_t k) { return as_float(row.b[k]); };
        const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
        float fused = 0, rounded = 0, dealt[4] = {}, parts[2] = {};
        for (std::size_t k = 0; k < kDepth; ++k) {
            fused = std::fma(x(k), y(k), fused);
            const float product = x(k) * y(k);
            rounded += product;
            dealt[k % 4] = std::fma(x(k), y(k), dealt[k % 4]);
            float& part = parts[k < 24 ? 0 : 1];  // 5 tiles of 8: three and two
            part = std::fma(x(k), y(k), part);
        }
        ReductionPlan plan = cuda_core();
        CHECK(output_of(plan, row) == bits(fused));
        plan.arithmetic = Arithmetic::multiply_then_add;
        CHECK(output_of(plan, row) == bits(rounded));
        plan = cuda_core();
        plan.accumulators = 4;
        CHECK(output_of(plan, row) == bits(((dealt[0] + dealt[1]) + dealt[2]) + dealt[3]));
        plan.combination = Combination::neighbours_first;
        CHECK(output_of(plan, row) == bits((dealt[0] + dealt[1]) + (dealt[2] + dealt[3])));
        plan.combination = Combination::halves_first;
        CHECK(output_of(plan, row) == bits((dealt[0] + dealt[2]) + (dealt[1] + dealt[3])));
        plan.accumulators = 2;
        plan.accumulator_group = 0;
        CHECK(output_of(plan, row) == bits(parts[0] + parts[1]));

        // Epilogue: one rounding of product and sum, or two.
        plan = cuda_core();
        plan.epilogue.alpha = plan.epilogue.beta = 1.0 / 3.0;
        const float third = 1.0f / 3.0f, c = 0.7f;
        const volatile float scaled_c = third * c, scaled = third * fused;
        CHECK(output_of(plan, row, bits(c)) == bits(std::fma(third, fused, scaled_c)));
        plan.epilogue.fused = false;
        CHECK(output_of(plan, row, bits(c)) == bits(scaled + scaled_c));
    }
}

TEST_CASE("Accumulators without products keep the others' places in a butterfly") {
    ReductionPlan plan = cuda_core();
    plan.accumulators = 8;
    plan.combination = Combination::halves_first;
    // Lanes 0 ... 4 have a product: 4 joins 0 first, then lanes two apart, then neighbours.
    CHECK(summation_tree(plan, 5) == SummationTree::parse("(((0 4) 2) (1 3))"));
}

TEST_CASE("Where a sum of minus zero becomes plus zero") {
    // The product underflows to -0.
    const Row row{{std::bit_cast<std::uint32_t>(-0x1p-100f)}, {std::bit_cast<std::uint32_t>(0x1p-100f)}};
    ReductionPlan plan = cuda_core();
    CHECK(output_of(plan, row) == 0x80000000u);
    plan.zero_fill = true;
    CHECK(output_of(plan, row) == 0);
    plan.zero_fill = false;
    plan.k_per_split = 1;
    CHECK(output_of(plan, row) == 0);
}

TEST_CASE("A subnormal product is flushed where the plan says so") {
    const Row row{{std::bit_cast<std::uint32_t>(0x1p-70f), std::bit_cast<std::uint32_t>(1.0f)},
                  {std::bit_cast<std::uint32_t>(0x1p-70f), std::bit_cast<std::uint32_t>(0x1p-140f)}};
    ReductionPlan plan = cuda_core();
    CHECK(as_float(output_of(plan, row)) == 0x1p-139f);
    plan.flush_subnormals = true;
    CHECK(output_of(plan, row) == 0);
}

TEST_CASE("cuBLAS loses the last short tile when slices outnumber its products") {
    // NUMERICS.md: all ones, 1x8x11528 returns 11520. K / 64 = 180 is a multiple of 12, the tail is 8.
    ReductionPlan plan = hopper(Element::fp16);
    plan.splits = 12;
    plan.split_grain = 64;
    plan.drops_tail = true;
    constexpr std::size_t kDepth = 11528;
    const auto sum_of_ones = [&] {
        const std::vector<std::byte> a = as_bytes(std::vector<std::uint32_t>(kDepth, 0x3C00), 2),
                                     b = as_bytes(std::vector<std::uint32_t>(8 * kDepth, 0x3C00), 2);
        const std::vector<std::byte> d =
            evaluate(plan, {.m = 1, .n = 8, .k = kDepth, .a = a, .b = b, .c = {}, .bias = {}});
        float value;
        std::memcpy(&value, d.data() + 28, 4);
        return value;
    };
    CHECK(sum_of_ones() == 11520);
    CHECK(summation_tree(plan, kDepth).missing().size() == 8);
    plan.splits = 8;  // not more slices than products in the tail
    CHECK(sum_of_ones() == 11528);
    plan.splits = 11;  // does not divide 180
    CHECK(sum_of_ones() == 11528);
    plan.splits = 12;
    plan.drops_tail = false;
    CHECK(sum_of_ones() == 11528);
}

ReductionPlan random_plan(std::mt19937& random) {
    const Element inputs[] = {Element::fp64, Element::fp32, Element::tf32,
                              Element::bf16, Element::fp16, Element::e5m2};
    const Element input = inputs[random() % 6];
    const bool scalar = input == Element::fp64 || input == Element::fp32;
    ReductionPlan plan = scalar ? cuda_core(input) : hopper(input);
    plan.block_k = 8u << random() % 4;
    if (!scalar && random() % 3 == 0) plan.instruction_k = std::max(4u, plan.instruction_k / 2);
    plan.residue = static_cast<ResidueTile>(random() % 3);
    if (random() % 3 == 0) plan.promotion_interval = plan.instruction_k * (1 + random() % 3) * 2;
    if (random() % 3 == 0) {
        plan.accumulators = 1u << random() % 7;
        plan.accumulator_group = scalar ? random() % 5 : 8;
        plan.combination = static_cast<Combination>(random() % 5);
    }
    if (random() % 2 == 0) {
        plan.splits = 1 + random() % 5;
        plan.split_grain = 1u << random() % 5;
        plan.chunk_rule = static_cast<ChunkRule>(random() % 2);
        plan.merge = static_cast<SliceMerge>(random() % 3);
        plan.drops_tail = random() % 2 != 0;
    }
    return plan;
}

TEST_CASE("FPRev on the values of a plan gives back the plan's tree") {
    std::mt19937 random(5);
    for (int round = 0; round < 120; ++round) {
        const ReductionPlan plan = random_plan(random);
        const std::size_t k = 1 + random() % 150;
        CAPTURE(describe(plan), k);
        const RevealedOrder order = test::reveal(plan, k);
        CAPTURE(order.problem);
        REQUIRE(order.tree.has_value());
        CHECK(order.tree->text() == summation_tree(plan, k).text());
    }
}

TEST_CASE("Selected elements, panels and single rows of a plan agree") {
    ReductionPlan plan = hopper(Element::bf16, Element::bf16);
    plan.splits = 2;
    plan.epilogue = {.alpha = 0.3, .beta = -1.7, .fused = true, .bias = true, .activation = Activation::relu};
    const PlanOperands shape{.m = 150, .n = 200, .k = 90, .a = {}, .b = {}, .c = {}, .bias = {}};
    const auto random = [](std::size_t count, std::uint64_t seed) {
        return as_bytes(numbers(Format::bf16, count, seed), 2);
    };
    const auto a = random(150 * 90, 1), b = random(200 * 90, 2), c = random(150 * 200, 3),
               bias = random(200, 4);
    PlanOperands operands = shape;
    operands.a = a;
    operands.b = b;
    operands.c = c;
    operands.bias = bias;
    const std::vector<std::byte> d = evaluate(plan, operands);
    const OutputPlace places[] = {{149, 199}, {0, 0}, {128, 127}, {127, 128}, {0, 199}, {149, 0}};
    const std::vector<std::byte> some = evaluate_elements(plan, operands, places);
    std::size_t positive = 0;
    for (std::size_t p = 0; p < std::size(places); ++p) {
        const std::size_t at = places[p].first * 200 + places[p].second;
        CHECK(std::memcmp(some.data() + 2 * p, d.data() + 2 * at, 2) == 0);
        if (some[2 * p + 1] != std::byte{0}) ++positive;
    }
    CHECK(positive > 0);
    // The last column alone, from its own B.
    PlanOperands column = operands;
    column.n = 1;
    column.b = operands.b.subspan(199 * 90 * 2);
    column.bias = operands.bias.subspan(199 * 2);
    std::vector<std::byte> c_column;
    for (std::size_t i = 0; i < 150; ++i)
        c_column.insert(c_column.end(), c.begin() + static_cast<std::ptrdiff_t>((i * 200 + 199) * 2),
                        c.begin() + static_cast<std::ptrdiff_t>((i * 200 + 200) * 2));
    column.c = c_column;
    const std::vector<std::byte> alone = evaluate(plan, column);
    for (std::size_t i = 0; i < 150; ++i)
        CHECK(std::memcmp(alone.data() + 2 * i, d.data() + (i * 200 + 199) * 2, 2) == 0);
}

TEST_CASE("Integers are exact, and wrap as int32 does") {
    ReductionPlan plan;
    plan.arithmetic = Arithmetic::integer;
    plan.a = plan.b = Element::int8;
    plan.c = plan.d = plan.accumulator = Element::int32;
    plan.splits = 3;
    plan.split_grain = 16;
    plan.epilogue.beta = 1;
    const std::vector<std::byte> a(100, std::byte{0x80}), b(100, std::byte{0x7F});
    std::int32_t start = -2'147'000'000, sum;
    const auto c = std::as_bytes(std::span(&start, 1));
    const std::vector<std::byte> d =
        evaluate(plan, {.m = 1, .n = 1, .k = 100, .a = a, .b = b, .c = c, .bias = {}});
    std::memcpy(&sum, d.data(), 4);
    CHECK(sum == static_cast<std::int32_t>(static_cast<std::uint32_t>(start) - 100u * 128u * 127u));
}

TEST_CASE("Plans that contradict themselves are refused") {
    ReductionPlan plan = hopper(Element::fp16);
    plan.a = Element::bf16;
    CHECK_THROWS_AS(check_plan(plan), std::invalid_argument);
    plan = hopper(Element::e4m3);
    plan.promotion_interval = 24;
    CHECK_THROWS_AS(check_plan(plan), std::invalid_argument);
    plan = cuda_core();
    plan.block_k = 0;
    CHECK_THROWS_AS(check_plan(plan), std::invalid_argument);
    CHECK_THROWS_AS(evaluate(cuda_core(), {.m = 2, .n = 2, .k = 2, .a = {}, .b = {}, .c = {}, .bias = {}}),
                    std::invalid_argument);
}

}  // namespace
}  // namespace heddle::numerics
