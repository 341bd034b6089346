#include "isa/numerics/order_probe.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "isa/numerics/dot_product_unit.h"

namespace heddle::numerics {
namespace {

using Node = SummationTree::Node;

/// A sum in double precision of summands as told by a probe.
template <typename Sum>
ProbedSum in_double(std::size_t k, const Sum& sum) {
    return [k, sum](std::span<const ProbeVector> probes) {
        std::vector<double> counts;
        for (const ProbeVector& probe : probes) {
            std::vector<double> x(k, 0.0);
            for (std::uint32_t i = probe.units_begin; i < probe.units_end; ++i) x[i] = 1;
            if (probe.plus < k) x[probe.plus] = 0x1p300;
            if (probe.minus < k) x[probe.minus] = -0x1p300;
            counts.push_back(sum(x));
        }
        return counts;
    };
}

std::string text_of(const RevealedOrder& order) {
    return order.tree ? order.tree->text() : "no tree: " + order.problem;
}

TEST_CASE("FPRev reveals the order of sums in double") {
    constexpr std::size_t kCount = 37;
    const auto reveal = [](const auto& sum) { return text_of(reveal_order(kCount, in_double(kCount, sum))); };
    SECTION("forwards") {
        CHECK(reveal([](const std::vector<double>& x) {
                  double sum = 0;
                  for (const double value : x) sum += value;
                  return sum;
              }) == "<0; 1>*36");
    }
    SECTION("backwards") {
        CHECK(reveal([](const std::vector<double>& x) {
                  double sum = 0;
                  for (std::size_t i = x.size(); i-- > 0;) sum += x[i];
                  return sum;
              }) == "<(35 36); 34>*35:-1");
    }
    SECTION("eight accumulators, added in pairs, the rest after them") {
        CHECK(reveal([](const std::vector<double>& x) {
                  double r[8];
                  for (int i = 0; i < 8; ++i) r[i] = x[static_cast<std::size_t>(i)];
                  std::size_t at = 8;
                  for (; at + 8 <= x.size(); at += 8)
                      for (std::size_t i = 0; i < 8; ++i) r[i] += x[at + i];
                  double sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
                  for (; at < x.size(); ++at) sum += x[at];
                  return sum;
              }) == "<(((<0; 8>*3:8*2)*2:2)*2:4); 32>*5");
    }
    SECTION("largest first: the order depends on the values") {
        const RevealedOrder order = reveal_order(
            kCount, in_double(kCount, [](std::vector<double> x) {
                std::sort(x.begin(), x.end(), [](double a, double b) { return std::fabs(a) > std::fabs(b); });
                double sum = 0;
                for (const double value : x) sum += value;
                return sum;
            }));
        CAPTURE(text_of(order));
        CHECK_FALSE(order.tree.has_value());
        CHECK_FALSE(order.problem.empty());
    }
    SECTION("an order that changes from run to run") {
        std::mt19937 random(1);
        const RevealedOrder order = reveal_order(kCount, in_double(kCount, [&random](std::vector<double> x) {
                                                     std::shuffle(x.begin(), x.end(), random);
                                                     double sum = 0;
                                                     for (const double value : x) sum += value;
                                                     return sum;
                                                 }));
        CHECK_FALSE(order.tree.has_value());
    }
    SECTION("M that does not cancel") {
        const RevealedOrder order = reveal_order(
            kCount, in_double(kCount, [](const std::vector<double>& x) { return x[3] + 2 * x[4] + x[5]; }));
        CHECK_FALSE(order.tree.has_value());
    }
    SECTION("summands that are not read") {
        CHECK(reveal([](const std::vector<double>& x) {
                  double sum = 0;
                  for (std::size_t i = 0; i < x.size(); ++i)
                      if (i != 4 && i < 33) sum += x[i];
                  return sum;
              }) == "<<0; 1>*3; 5>*28 without 4 33*4");
    }
}

/// Adds as a tree says, in double: a node with more than two children loses what is 2^60 below its largest.
double add_by_tree(const SummationTree& tree, const std::vector<double>& x) {
    std::vector<double> values = x;
    for (Node node = static_cast<Node>(tree.leaf_count()); node < tree.node_count(); ++node) {
        double largest = 0, sum = 0;
        for (const Node child : tree.children(node)) largest = std::max(largest, std::fabs(values[child]));
        for (const Node child : tree.children(node))
            if (std::fabs(values[child]) > largest * 0x1p-60) sum += values[child];
        values.push_back(sum);
    }
    return values[tree.root()];
}

SummationTree random_tree(std::size_t k, std::mt19937& random) {
    SummationTree::Builder builder(k);
    std::vector<Node> open;
    for (Node leaf = 0; leaf < k; ++leaf) open.push_back(leaf);
    if (random() % 2 != 0) std::shuffle(open.begin(), open.end(), random);
    const std::size_t widest = 2 + random() % 8;
    while (open.size() > 1) {
        const std::size_t count = std::min(open.size(), 2 + random() % (widest - 1));
        const std::size_t at = random() % (open.size() - count + 1);
        const Node node = builder.add(std::span<const Node>(open).subspan(at, count));
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(at + 1),
                   open.begin() + static_cast<std::ptrdiff_t>(at + count));
        open[at] = node;
    }
    return builder.finish(open[0]);
}

TEST_CASE("FPRev reveals random trees of fused and plain additions") {
    std::mt19937 random(11);
    for (int round = 0; round < 300; ++round) {
        const std::size_t k = 2 + random() % 70;
        const SummationTree tree = random_tree(k, random);
        ProbeOptions options;
        if (round % 3 == 0) options.maximum_units = 7;
        const ProbedSum sum =
            in_double(k, [&](const std::vector<double>& x) { return add_by_tree(tree, x); });
        const RevealedOrder order = reveal_order(k, sum, options);
        CAPTURE(tree.text(), order.problem);
        REQUIRE(order.tree.has_value());
        CHECK(order.tree->text() == tree.text());
        CHECK(*order.tree == tree);
        CHECK(contradiction(tree, sum, 50, options).empty());
        const SummationTree other = random_tree(k, random);
        if (other != tree && k > 8) CHECK_FALSE(contradiction(other, sum, 2000, options).empty());
    }
}

TEST_CASE("Sampled search gives the same tree for fewer probes") {
    constexpr std::size_t kCount = 1024;
    const SummationTree tree = SummationTree::parse("<(0*32); 32*32>*31:32");
    const ProbedSum sum =
        in_double(kCount, [&](const std::vector<double>& x) { return add_by_tree(tree, x); });
    const RevealedOrder complete = reveal_order(kCount, sum);
    const RevealedOrder sampled = reveal_order(kCount, sum, {.complete_up_to = 512});
    CHECK(complete.complete);
    CHECK_FALSE(sampled.complete);
    CHECK(text_of(complete) == tree.text());
    CHECK(text_of(sampled) == tree.text());
    CHECK(sampled.probes < 4 * kCount);
    CHECK(complete.probes > 14 * kCount);
}

/// Rows of probes through the dot product unit.
ProbedSum on_tensor_core(std::size_t k, const DotProductParameters& parameters, const ProbeValues& values) {
    return [=](std::span<const ProbeVector> probes) {
        std::vector<double> counts;
        for (const ProbeVector& probe : probes) {
            const std::size_t bytes = traits(parameters.input).storage_bits / 8;
            std::vector<std::byte> a(k * bytes), b(k * bytes);
            write_probe(probe, k, parameters.input, values.a_large, values.a_unit, true, a.data());
            write_probe(probe, k, parameters.input_b, values.b_large, values.b_unit, false, b.data());
            std::uint32_t bits = 0;
            const auto multiply = [&]<typename Input, typename Output>(const Input* x, Output) {
                Output d{};
                matrix_multiply_accumulate<Input, Output>(parameters, 1, 1, k, x,
                                                          reinterpret_cast<const Input*>(b.data()), &d, &d);
                std::memcpy(&bits, &d, sizeof d);
            };
            const auto choose = [&](auto output) {
                if (bytes == 1) multiply(reinterpret_cast<const std::uint8_t*>(a.data()), output);
                if (bytes == 2) multiply(reinterpret_cast<const std::uint16_t*>(a.data()), output);
                if (bytes == 4) multiply(reinterpret_cast<const std::uint32_t*>(a.data()), output);
            };
            if (parameters.output == Format::fp32)
                choose(float{});
            else
                choose(std::uint16_t{});
            counts.push_back(to_double(parameters.output, bits) / values.unit());
        }
        return counts;
    };
}

TEST_CASE("FPRev reveals the blocks of every generation's tensor core") {
    struct Case {
        Generation generation;
        Format input, output;
        Instruction instruction;
        std::size_t k;
        const char* text;
    };
    // The fused lengths are those of NUMERICS.md: the table of generations.
    const auto mma = Instruction::mma_sync;
    const Case cases[] = {
        {Generation::volta, Format::fp16, Format::fp32, mma, 40, "<(0*4); 4*4>*9:4"},
        {Generation::turing, Format::fp16, Format::fp32, mma, 40, "<(0*8); 8*8>*4:8"},
        {Generation::ampere, Format::fp16, Format::fp32, mma, 44, "(<(0*8); 8*8>*4:8 40*4)"},
        {Generation::ampere, Format::bf16, Format::fp32, mma, 40, "<(0*8); 8*8>*4:8"},
        {Generation::ampere, Format::tf32, Format::fp32, mma, 40, "<(0*4); 4*4>*9:4"},
        {Generation::hopper, Format::fp16, Format::fp32, mma, 80, "<(0*16); 16*16>*4:16"},
        {Generation::hopper, Format::fp16, Format::fp16, mma, 80, "<(0*16); 16*16>*4:16"},
        {Generation::hopper, Format::bf16, Format::fp32, mma, 4096, "<(0*16); 16*16>*255:16"},
        {Generation::hopper, Format::tf32, Format::fp32, mma, 40, "<(0*8); 8*8>*4:8"},
        {Generation::hopper, Format::e4m3, Format::fp32, Instruction::wgmma, 160, "<(0*32); 32*32>*4:32"},
        {Generation::hopper, Format::e5m2, Format::fp32, Instruction::wgmma, 160, "<(0*32); 32*32>*4:32"},
        {Generation::blackwell, Format::e4m3, Format::fp32, Instruction::tcgen05, 160,
         "<(0*32); 32*32>*4:32"},
        {Generation::rtx_blackwell, Format::e4m3, Format::fp32, mma, 160, "<(0*32); 32*32>*4:32"},
    };
    for (const Case& one : cases) {
        const DotProductParameters parameters =
            parameters_for(one.generation, one.input, one.output, one.instruction);
        const ProbeValues values =
            probe_values({.a = one.input,
                          .b = one.input,
                          .output = one.output,
                          .accumulator = one.output,
                          .alignment_fraction_bits = parameters.alignment_fraction_bits});
        CAPTURE(one.generation.name, traits(one.input).name, values.problem, values.maximum_units);
        REQUIRE(values.maximum_units > 0);
        const RevealedOrder order = reveal_order(one.k, on_tensor_core(one.k, parameters, values),
                                                 {.maximum_units = values.maximum_units});
        CHECK(text_of(order) == one.text);
    }
}

TEST_CASE("FPRev finds how the mma.sync of Hopper and Blackwell unpacks fp8") {
    // k mod 4 in {0, 1} first, then {2, 3}: 16 products each from C = 0, and C is added last.
    const Generation generation = GENERATE(Generation::hopper, Generation::blackwell);
    const DotProductParameters parameters = parameters_for(generation, Format::e5m2, Format::fp32);
    const ProbeValues values = probe_values({.a = Format::e5m2, .b = Format::e5m2});
    const RevealedOrder order =
        reveal_order(64, on_tensor_core(64, parameters, values), {.maximum_units = values.maximum_units});
    REQUIRE(order.tree.has_value());
    const std::string first =
        "((0 1 4 5 8 9 12 13 16 17 20 21 24 25 28 29) 2 3 6 7 10 11 14 15 18 19 22 23 26 27 30 31)";
    const std::string second =
        "((32 33 36 37 40 41 44 45 48 49 52 53 56 57 60 61) 34 35 38 39 42 43 46 47 50 51 54 55 58 59 62 63)";
    CHECK(*order.tree == SummationTree::parse("(" + first + " " + second + ")"));
}

TEST_CASE("Numbers for probes lie in the formats and far enough apart") {
    for (const Format a :
         {Format::fp64, Format::fp32, Format::tf32, Format::bf16, Format::fp16, Format::e5m2, Format::e4m3}) {
        for (const Format output : {Format::fp64, Format::fp32, Format::fp16, Format::bf16}) {
            const bool wide = a == Format::fp64;
            const ProbeValues values = probe_values({.a = a,
                                                     .b = a,
                                                     .output = output,
                                                     .accumulator = wide ? Format::fp64 : Format::fp32,
                                                     .alignment_fraction_bits = wide ? 0 : 25});
            CAPTURE(traits(a).name, traits(output).name, values.problem);
            if (values.maximum_units == 0) continue;
            for (const double value : {values.a_large, values.b_large, values.a_unit, values.b_unit}) {
                const std::uint64_t bits = convert(a, Format::fp64, std::bit_cast<std::uint64_t>(value));
                CHECK(to_double(a, bits) == value);
            }
            const double large = values.a_large * values.b_large;
            CHECK(values.maximum_units * values.unit() < std::ldexp(large, wide ? -53 : -25));
            CHECK(values.maximum_units <=
                  std::ldexp(1.0, static_cast<int>(traits(output).fraction_bits) + 1));
            CHECK(to_double(output, convert(output, Format::fp64, std::bit_cast<std::uint64_t>(large))) ==
                  large);
        }
    }
    CHECK(probe_values({.a = Format::fp16, .b = Format::fp16}).constant_b());
    CHECK_FALSE(probe_values({.a = Format::e4m3, .b = Format::e4m3}).constant_b());
    CHECK_FALSE(probe_values({.a = Format::e4m3, .b = Format::e4m3, .output = Format::e4m3}).maximum_units >
                0);
}

}  // namespace
}  // namespace heddle::numerics
