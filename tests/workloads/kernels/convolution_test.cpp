// Convolutions against their definition in doubles, on sizes that are multiples of nothing, and bit for bit
// against their plans.
#include "workloads/kernels/convolution.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "isa/common/error.h"
#include "launcher.h"
#include "workloads/kernels/split_k.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;

namespace {

struct Case {
    ConvolutionGeometry g;
    bool channels_last;

    std::size_t x(std::uint32_t item, std::uint32_t channel, std::size_t position) const {
        return channels_last ? (item * std::size_t{g.inputs()} + position) * g.channels + channel
                             : (item * std::size_t{g.channels} + channel) * g.inputs() + position;
    }
    std::size_t y(std::uint32_t item, std::uint32_t filter, std::size_t position) const {
        return channels_last ? (item * std::size_t{g.outputs()} + position) * g.filters + filter
                             : (item * std::size_t{g.filters} + filter) * g.outputs() + position;
    }
    std::size_t w(std::uint32_t filter, std::uint32_t channel, std::size_t position) const {
        return channels_last
                   ? (filter * std::size_t{g.positions()} + position) * g.group_channels() + channel
                   : (filter * std::size_t{g.group_channels()} + channel) * g.positions() + position;
    }
    std::size_t x_size() const { return std::size_t{g.batch} * g.channels * g.inputs(); }
    std::size_t y_size() const { return std::size_t{g.batch} * g.filters * g.outputs(); }
    std::size_t w_size() const { return std::size_t{g.filters} * g.group_channels() * g.positions(); }

    /// visit(x, w, y) for each product, by the definition.
    template <class Visit>
    void for_each_product(Visit visit) const {
        for (std::uint32_t o = 0; o < g.outputs(); ++o) {
            for (std::uint32_t p = 0; p < g.positions(); ++p) {
                std::int64_t place = 0, step = 1;
                std::uint32_t out = o, in = p;
                bool inside = true;
                for (std::size_t axis = g.input.size(); axis-- > 0;) {
                    const std::int64_t at = std::int64_t{out % g.output[axis]} * g.strides[axis] -
                                            g.padding_low[axis] +
                                            std::int64_t{in % g.window[axis]} * g.dilation[axis];
                    inside = inside && at >= 0 && at < g.input[axis];
                    place += at * step;
                    step *= g.input[axis];
                    out /= g.output[axis];
                    in /= g.window[axis];
                }
                if (!inside) continue;
                for (std::uint32_t item = 0; item < g.batch; ++item) {
                    for (std::uint32_t f = 0; f < g.filters; ++f) {
                        const std::uint32_t first = f / g.group_filters() * g.group_channels();
                        for (std::uint32_t c = 0; c < g.group_channels(); ++c)
                            visit(x(item, first + c, static_cast<std::size_t>(place)), w(f, c, p),
                                  y(item, f, o));
                    }
                }
            }
        }
    }
};

Case make_case(std::uint32_t batch, std::uint32_t channels, std::uint32_t filters, std::uint32_t groups,
               std::vector<std::uint32_t> input, std::vector<std::uint32_t> window,
               std::vector<std::uint32_t> strides, std::vector<std::int32_t> padding,
               std::vector<std::uint32_t> dilation, bool channels_last) {
    Case c{{batch, channels, filters, groups, input, window, {}, strides, dilation, padding}, channels_last};
    for (std::size_t i = 0; i < input.size(); ++i) {
        const auto reach = static_cast<std::int32_t>(dilation[i] * (window[i] - 1) + 1);
        c.g.output.push_back((static_cast<std::int32_t>(input[i]) + 2 * padding[i] - reach) /
                                 static_cast<std::int32_t>(strides[i]) +
                             1);
    }
    return c;
}

struct Outcome {
    std::vector<double> computed, exact;
    double depth = 0;  ///< products per sum
};

Outcome run(const ConvolutionChoice& choice, const Case& c, std::vector<double> first,
            std::vector<double> second, const std::vector<double>& bias = {}) {
    const ConvolutionSpec& spec = choice.spec;
    Device device(spec.compute_capability);
    Outcome outcome;
    const ConvolutionGemm gemm = gemm_of(spec.pass, c.g);
    outcome.depth = gemm.k;
    switch (spec.pass) {
        case ConvolutionPass::forward:
            outcome.exact.assign(c.y_size(), 0);
            c.for_each_product([&](auto x, auto w, auto y) { outcome.exact[y] += first[x] * second[w]; });
            for (std::uint32_t item = 0; item < c.g.batch && !bias.empty(); ++item)
                for (std::uint32_t f = 0; f < c.g.filters; ++f)
                    for (std::uint32_t o = 0; o < c.g.outputs(); ++o)
                        outcome.exact[c.y(item, f, o)] += bias[f];
            break;
        case ConvolutionPass::data_grad:
            outcome.exact.assign(c.x_size(), 0);
            c.for_each_product([&](auto x, auto w, auto y) { outcome.exact[x] += first[y] * second[w]; });
            break;
        case ConvolutionPass::weight_grad:
            outcome.exact.assign(c.w_size(), 0);
            c.for_each_product([&](auto x, auto w, auto y) { outcome.exact[w] += first[y] * second[x]; });
            break;
    }
    const std::uint32_t d = device.add_untouched(spec.output, outcome.exact.size());
    const ConvolutionLaunch launch = convolution_launch(spec, c.g, choice.k_per_slice);
    std::vector<KernelArgument> arguments = launch.scalars;
    arguments.push_back(pointer_argument("a", device.add(spec.type, first)));
    arguments.push_back(pointer_argument("b", device.add(spec.type, second)));
    if (!bias.empty()) arguments.push_back(pointer_argument("bias", device.add(spec.type, bias)));
    std::uint32_t target = d;
    if (spec.split_k)
        target =
            device.add_untouched(ElementType::f32, std::size_t{gemm.m} * gemm.n * choice.slices * c.g.groups);
    arguments.push_back(pointer_argument("d", target));
    device.run(generate_convolution(spec), launch.grid, arguments);
    if (spec.split_k) {
        REQUIRE(spec.pass == ConvolutionPass::weight_grad);
        SplitKReduceSpec reduce;
        reduce.compute_capability = spec.compute_capability;
        reduce.batched = true;
        reduce.epilogue.output = spec.output;
        std::vector<KernelArgument> second_arguments{
            pointer_argument("workspace", target),
            pointer_argument("d", d),
            integer_argument("m", gemm.m),
            integer_argument("n", gemm.n),
            integer_argument("ldd", gemm.n),
            integer_argument("splits", choice.slices),
            integer_argument("slice_stride", std::uint64_t{gemm.m} * gemm.n),
            integer_argument("stride_d", std::uint64_t{gemm.m} * gemm.n)};
        add_divider_arguments(second_arguments, "row_vectors", gemm.n / split_k_reduce_width(reduce));
        device.run(generate_split_k_reduce(reduce), split_k_reduce_grid(reduce, gemm.m, gemm.n, c.g.groups),
                   second_arguments);
    }
    outcome.computed = device.read(d);
    return outcome;
}

void check_pass(ElementType type, ConvolutionPass pass, const Case& c, unsigned capability = 80,
                unsigned sms = 4, bool tf32 = false) {
    const ConvolutionChoice choice =
        choose_convolution(capability, sms, type, pass, c.channels_last, c.g, tf32);
    CHECK(choice.spec.tf32 == tf32);
    INFO(generate_convolution(choice.spec).entry << " slices " << choice.slices);
    const bool forward = pass == ConvolutionPass::forward, data = pass == ConvolutionPass::data_grad;
    const auto first = random_reals(type, forward ? c.x_size() : c.y_size(), -1, 1, 1);
    const auto second = random_reals(type, forward || data ? c.w_size() : c.x_size(), -1, 1, 2);
    const Outcome outcome = run(choice, c, first, second);
    // Each product is at most 1; a sum of k in f32 errs by at most k * 2^-23 in each of k steps (chains
    // round, tensor cores truncate), far less as signs change; then the result is rounded.
    const double u = unit_roundoff(choice.spec.output);
    // Read as tf32, each operand loses less than 2^-10 of itself.
    const double lost = tf32 ? 0x1p-9 : 0;
    check_close(outcome.computed, outcome.exact, u, outcome.depth * (0x1p-21 + lost) + 1e-6);
    check_norm(outcome.computed, outcome.exact, u + lost + 1e-5);
}

}  // namespace

TEST_CASE("Convolutions of sizes that are multiples of nothing") {
    const auto passes = {ConvolutionPass::forward, ConvolutionPass::data_grad, ConvolutionPass::weight_grad};
    for (const bool last : {true, false}) {
        for (const ElementType type : {ElementType::bf16, ElementType::f32}) {
            for (const ConvolutionPass pass : passes) {
                check_pass(type, pass, make_case(2, 24, 40, 1, {9, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, last));
                check_pass(type, pass, make_case(3, 3, 13, 1, {11, 9}, {5, 3}, {2, 1}, {2, 0}, {1, 2}, last));
                check_pass(type, pass, make_case(1, 12, 18, 3, {8, 8}, {2, 2}, {2, 2}, {0, 1}, {1, 1}, last));
            }
        }
    }
    // One and three axes; f16; a window of one; many rows; CUDA cores of Volta; Hopper.
    for (const ConvolutionPass pass : passes) {
        check_pass(ElementType::f16, pass, make_case(2, 16, 8, 1, {37}, {4}, {3}, {1}, {2}, true));
        check_pass(ElementType::bf16, pass,
                   make_case(1, 4, 6, 1, {5, 4, 6}, {2, 3, 2}, {1, 2, 1}, {1, 1, 0}, {1, 1, 2}, true));
        check_pass(ElementType::f32, pass,
                   make_case(1, 5, 7, 1, {6, 6}, {1, 1}, {1, 1}, {0, 0}, {1, 1}, false), 70);
        check_pass(ElementType::bf16, pass,
                   make_case(3, 72, 136, 1, {13, 13}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, true), 90, 1);
        check_pass(ElementType::f32, pass,
                   make_case(2, 66, 130, 1, {11, 11}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, true), 86, 1);
    }
}

TEST_CASE(
    "Convolutions through a ring of stages and wide results give the bits of those by way of registers") {
    const Case c = make_case(2, 72, 80, 1, {9, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, true);
    for (const ConvolutionPass pass :
         {ConvolutionPass::forward, ConvolutionPass::data_grad, ConvolutionPass::weight_grad}) {
        const bool forward = pass == ConvolutionPass::forward, data = pass == ConvolutionPass::data_grad;
        const auto first = random_reals(ElementType::bf16, forward ? c.x_size() : c.y_size(), -1, 1, 1);
        const auto second =
            random_reals(ElementType::bf16, forward || data ? c.w_size() : c.x_size(), -1, 1, 2);
        ConvolutionChoice choice = choose_convolution(80, 4, ElementType::bf16, pass, true, c.g);
        CHECK(choice.spec.stages == 3);
        CHECK(choice.spec.vector_d == 8);
        choice.spec.stages = 2;
        choice.spec.vector_d = 1;
        const std::vector<double> plain = run(choice, c, first, second).computed;
        for (const unsigned width : {8u, 4u, 2u}) {
            choice.spec.stages = width == 4 ? 4 : 3;
            choice.spec.vector_a = choice.spec.vector_b = width;
            choice.spec.vector_d = width == 2 ? 1 : 8;
            CHECK(run(choice, c, first, second).computed == plain);
        }
    }
}

TEST_CASE("Convolutions by wgmma of sizes that are multiples of nothing") {
    for (const ConvolutionPass pass :
         {ConvolutionPass::forward, ConvolutionPass::data_grad, ConvolutionPass::weight_grad}) {
        const auto check = [&](const Case& c, ElementType type = ElementType::bf16, unsigned sms = 4) {
            CHECK(choose_convolution(90, sms, type, pass, true, c.g).spec.wgmma);
            check_pass(type, pass, c, 90, sms);
        };
        check(make_case(2, 24, 40, 1, {9, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, true));
        check(make_case(2, 24, 40, 1, {9, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, true), ElementType::f16);
        check(make_case(3, 20, 16, 2, {11, 13}, {3, 5}, {2, 3}, {1, 2}, {1, 1}, true));  // phases
        check(make_case(1, 8, 12, 1, {9, 9}, {3, 3}, {2, 2}, {1, 1}, {2, 2}, true));     // dilated
        check(make_case(1, 4, 6, 1, {5, 4, 6}, {2, 3, 2}, {1, 2, 1}, {1, 1, 0}, {1, 1, 2}, true));
        check(make_case(3, 136, 264, 1, {9, 9}, {1, 1}, {1, 1}, {0, 0}, {1, 1}, true), ElementType::bf16, 1);
        check(make_case(9, 16, 16, 1, {15, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, true), ElementType::bf16,
              132);  // slices
    }
    // Accesses of single elements, channels first and other generations take mma.sync.
    const Case odd = make_case(1, 3, 8, 1, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, true);
    for (const unsigned capability : {80u, 90u, 100u})
        CHECK(!choose_convolution(capability, 4, ElementType::bf16, ConvolutionPass::forward, true, odd.g)
                   .spec.wgmma);
}

TEST_CASE("Convolutions by wgmma give the same bits with every tile, ring and width of access") {
    const Case c = make_case(2, 72, 272, 1, {9, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, true);
    for (const ConvolutionPass pass :
         {ConvolutionPass::forward, ConvolutionPass::data_grad, ConvolutionPass::weight_grad}) {
        const bool forward = pass == ConvolutionPass::forward, data = pass == ConvolutionPass::data_grad;
        const auto first = random_reals(ElementType::bf16, forward ? c.x_size() : c.y_size(), -1, 1, 1);
        const auto second =
            random_reals(ElementType::bf16, forward || data ? c.w_size() : c.x_size(), -1, 1, 2);
        ConvolutionChoice choice = choose_convolution(90, 4, ElementType::bf16, pass, true, c.g);
        choice.spec.tile_m = choice.spec.tile_n = 64;
        choice.spec.stages = 2;
        choice.spec.vector_d = 1;
        const std::vector<double> plain = run(choice, c, first, second).computed;
        for (const unsigned rows : {64u, 128u}) {
            for (const unsigned columns : {64u, 128u, 256u}) {
                choice.spec.tile_m = rows;
                choice.spec.tile_n = columns;
                choice.spec.stages = columns == 256 ? 3 : 4;
                choice.spec.vector_a = choice.spec.vector_b = columns == 64 ? 2 : columns == 128 ? 4 : 8;
                choice.spec.vector_d = rows == 64 ? 1 : 8;
                CHECK(run(choice, c, first, second).computed == plain);
            }
        }
    }
}

TEST_CASE("Convolutions of f32 read as tf32, of sizes that are multiples of nothing") {
    for (const bool last : {true, false}) {
        for (const ConvolutionPass pass :
             {ConvolutionPass::forward, ConvolutionPass::data_grad, ConvolutionPass::weight_grad}) {
            const auto check = [&](const Case& c, unsigned capability, unsigned sms = 4) {
                check_pass(ElementType::f32, pass, c, capability, sms, true);
            };
            check(make_case(2, 24, 40, 1, {9, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, last), 80);
            check(make_case(3, 3, 13, 1, {11, 9}, {5, 3}, {2, 1}, {2, 0}, {1, 2}, last), 89);
            check(make_case(1, 12, 18, 3, {8, 8}, {2, 2}, {2, 2}, {0, 1}, {1, 1}, last), 90);
            // Tiles of 128, and slices of k.
            check(make_case(4, 68, 132, 1, {9, 8}, {1, 3}, {1, 1}, {0, 1}, {1, 1}, last), 80, 1);
        }
    }
}

TEST_CASE(
    "Convolutions of tf32 through a ring, with the tiles of libraries, give the bits of those by way of "
    "registers") {
    const Case c = make_case(2, 136, 72, 1, {9, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, true);
    const std::vector<std::vector<std::int64_t>> tiles{{128, 128, 16, 4}, {64, 64, 64, 3},
                                                       {64, 128, 32, 3},  {256, 64, 16, 4},
                                                       {64, 256, 32, 3},  {256, 128, 16, 3}};
    for (const ConvolutionPass pass :
         {ConvolutionPass::forward, ConvolutionPass::data_grad, ConvolutionPass::weight_grad}) {
        const bool forward = pass == ConvolutionPass::forward, data = pass == ConvolutionPass::data_grad;
        const auto first = random_reals(ElementType::f32, forward ? c.x_size() : c.y_size(), -1, 1, 1);
        const auto second =
            random_reals(ElementType::f32, forward || data ? c.w_size() : c.x_size(), -1, 1, 2);
        ConvolutionChoice plain = choose_convolution(80, 4, ElementType::f32, pass, true, c.g, true);
        plain.spec.stages = 2;
        plain.spec.tile_k = 0;
        plain.spec.vector_d = 1;
        const std::vector<double> expected = run(plain, c, first, second).computed;
        for (const auto& tile : tiles) {
            ConvolutionChoice choice = choose_convolution(80, 4, ElementType::f32, pass, true, c.g, true);
            take_library_tile(choice, c.g, {tile[0], tile[1], tile[2]}, tile[3], 1, 160 << 10);
            CHECK(choice.spec.tile_m == tile[0]);
            CHECK(choice.spec.stages == tile[3]);
            CHECK(run(choice, c, first, second).computed == expected);
        }
        // Narrow accesses, and results that leave one at a time.
        ConvolutionChoice narrow = choose_convolution(80, 4, ElementType::f32, pass, true, c.g, true);
        narrow.spec.vector_a = 1;
        narrow.spec.vector_b = 2;
        narrow.spec.vector_d = 1;
        CHECK(run(narrow, c, first, second).computed == expected);
    }
    // A library's slices of k; a tile that does not fit keeps the choice.
    ConvolutionChoice split =
        choose_convolution(80, 4, ElementType::f32, ConvolutionPass::weight_grad, true, c.g, true);
    const unsigned tile_m = split.spec.tile_m;
    take_library_tile(split, c.g, {256, 128, 64}, 4, 3, 100 << 10);
    CHECK(split.spec.tile_m == tile_m);
    take_library_tile(split, c.g, {64, 64, 16}, 4, 3, 160 << 10);
    CHECK(split.slices == 3);
    const auto dy = random_reals(ElementType::f32, c.y_size(), -1, 1, 1);
    const auto x = random_reals(ElementType::f32, c.x_size(), -1, 1, 2);
    const Outcome outcome = run(split, c, dy, x);
    check_norm(outcome.computed, outcome.exact, 0x1p-9);
}

TEST_CASE("Gradients of strided convolutions go by phases") {
    const auto check = [](ElementType type, bool tf32, const Case& c) {
        const ConvolutionPass pass = ConvolutionPass::data_grad;
        CHECK(choose_convolution(80, 4, type, pass, true, c.g, tf32).spec.phased);
        check_pass(type, pass, c, 80, 4, tf32);
    };
    for (const auto& [type, tf32] :
         {std::pair{ElementType::bf16, false}, {ElementType::f32, false}, {ElementType::f32, true}}) {
        // No part of a window of one reaches three phases of four; extents that strides do not divide.
        check(type, tf32, make_case(2, 12, 20, 1, {9, 8}, {1, 1}, {2, 2}, {0, 0}, {1, 1}, true));
        check(type, tf32, make_case(3, 20, 8, 2, {11, 13}, {3, 5}, {2, 3}, {1, 2}, {1, 1}, true));
        check(type, tf32,
              make_case(1, 4, 12, 1, {7, 5, 6}, {2, 3, 2}, {3, 1, 2}, {2, 1, 1}, {1, 1, 1}, true));
    }
    // Dilated windows, and channels first, take every part of the window.
    const Case dilated = make_case(1, 4, 4, 1, {9, 9}, {3, 3}, {2, 2}, {1, 1}, {2, 2}, true);
    CHECK(choose_convolution(80, 4, ElementType::bf16, ConvolutionPass::data_grad, true, dilated.g)
              .spec.strided);
    const Case first = make_case(1, 4, 4, 1, {9, 9}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, false);
    CHECK(choose_convolution(80, 4, ElementType::bf16, ConvolutionPass::data_grad, false, first.g)
              .spec.strided);
}

TEST_CASE("Convolution with a bias, and weight gradients in slices") {
    const Case c = make_case(2, 8, 20, 2, {7, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, true);
    ConvolutionChoice choice =
        choose_convolution(80, 4, ElementType::f16, ConvolutionPass::forward, true, c.g);
    choice.spec.bias = true;
    const auto x = random_reals(ElementType::f16, c.x_size(), -1, 1, 1);
    const auto w = random_reals(ElementType::f16, c.w_size(), -1, 1, 2);
    const auto bias = random_reals(ElementType::f16, c.g.filters, -1, 1, 3);
    const Outcome outcome = run(choice, c, x, w, bias);
    check_close(outcome.computed, outcome.exact, 0x1p-11, 1e-4);

    const Case deep = make_case(5, 8, 24, 1, {15, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, true);
    for (const ElementType type : {ElementType::bf16, ElementType::f32}) {
        const ConvolutionChoice split =
            choose_convolution(80, 108, type, ConvolutionPass::weight_grad, true, deep.g);
        REQUIRE(split.slices > 1);
        check_pass(type, ConvolutionPass::weight_grad, deep, 80, 108);
    }
}

TEST_CASE("Convolutions add in the order of their plans") {
    struct Kind {
        ElementType type;
        bool tf32;
        unsigned compute_capability;
    };
    for (const auto& [type, tf32, capability] : {Kind{ElementType::f16, false, 80},
                                                 {ElementType::f32, false, 80},
                                                 {ElementType::f32, true, 80},
                                                 {ElementType::bf16, false, 90}}) {
        for (const bool last : {true, false}) {
            const Case c = make_case(2, 20, 24, 1, {6, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, last);
            ConvolutionChoice choice =
                choose_convolution(capability, 4, type, ConvolutionPass::forward, last, c.g, tf32);
            CHECK(choice.spec.wgmma == (capability == 90 && last));
            choice.spec.output = ElementType::f32;
            const auto x = random_reals(type, c.x_size(), -1, 1, 1);
            const auto w = random_reals(type, c.w_size(), -1, 1, 2);
            const Outcome outcome = run(choice, c, x, w);
            // The matrix of windows, and the plan's product.
            const ConvolutionGemm gemm = gemm_of(ConvolutionPass::forward, c.g);
            std::vector<double> a(std::size_t{gemm.m} * gemm.k, 0), b(std::size_t{gemm.n} * gemm.k, 0);
            const std::uint32_t filter = gemm.k;
            for (std::size_t i = 0; i < w.size(); ++i) b[i] = w[i];
            c.for_each_product([&](auto in, auto weight, auto out) {
                const std::size_t k = weight % filter;
                std::size_t item, position;
                if (last) {
                    item = out / c.g.filters / c.g.outputs();
                    position = out / c.g.filters % c.g.outputs();
                } else {
                    item = out / c.g.outputs() / c.g.filters;
                    position = out % c.g.outputs();
                }
                a[(item * c.g.outputs() + position) * gemm.k + k] = x[in];
            });
            const auto a_bytes = encode(type, a), b_bytes = encode(type, b);
            heddle::numerics::PlanOperands operands;
            operands.m = gemm.m;
            operands.n = gemm.n;
            operands.k = gemm.k;
            operands.a = a_bytes;
            operands.b = b_bytes;
            const auto d_bytes = heddle::numerics::evaluate(plan_of(choice.spec), operands);
            const std::vector<double> planned = decode(ElementType::f32, d_bytes);
            std::size_t different = 0;
            for (std::size_t row = 0; row < gemm.m; ++row) {
                for (std::uint32_t f = 0; f < gemm.n; ++f) {
                    const std::size_t place =
                        c.y(static_cast<std::uint32_t>(row / c.g.outputs()), f, row % c.g.outputs());
                    different += outcome.computed[place] != planned[row * gemm.n + f];
                }
            }
            CHECK(different == 0);
        }
    }
}

TEST_CASE("Convolution refuses what it cannot do") {
    ConvolutionSpec spec;
    spec.compute_capability = 75;
    CHECK_THROWS_AS(generate_convolution(spec), heddle::Error);
    spec.compute_capability = 80;
    spec.axes = 4;
    CHECK_THROWS_AS(generate_convolution(spec), heddle::Error);
    spec.axes = 2;
    spec.type = ElementType::f64;
    CHECK_THROWS_AS(generate_convolution(spec), heddle::Error);
    spec.type = spec.output = ElementType::bf16;
    spec.channels_last = false;
    spec.vector_a = 8;
    CHECK_THROWS_AS(generate_convolution(spec), heddle::Error);
}
