// Epilogues of every GEMM generator against their formulas in doubles: activations, their gradients, scales,
// residuals.
#include <catch2/catch.hpp>
#include <cmath>

#include "gemm_reference.h"
#include "launcher.h"
#include "workloads/kernels/gemm_mma.h"
#include "workloads/kernels/gemm_simt.h"
#include "workloads/kernels/gemm_wgmma.h"
#include "workloads/kernels/gemv.h"
#include "workloads/kernels/split_k.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;

namespace {

struct Epilogue {
    const char* name;
    const char* expression;  ///< x0: the product, x1: bias of the column, x2: a matrix like D
    double (*reference)(double product, double bias, double c);
};

double gelu(double x) {
    return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5)));
}
double gelu_slope(double x) {
    return 0.5 * (1 + std::erf(x * std::sqrt(0.5))) + x * std::exp(-0.5 * x * x) / std::sqrt(2 * M_PI);
}

// s0 = 0.25, s1 = -2; x3 = 0.5 and x4 = -4 lie in memory.
const Epilogue kEpilogues[] = {
    {"bias", "y0 = x0 + x1", [](double p, double b, double) { return p + b; }},
    {"bias and ReLU", "y0 = max(x0 + x1, 0)",
     [](double p, double b, double) { return std::max(p + b, 0.0); }},
    {"bias and GELU", "t0 = s0 * x0 + x1; y0 = 0.5 * t0 * (1 + erf(t0 * 0.70710678118654752))",
     [](double p, double b, double) { return gelu(0.25 * p + b); }},
    {"gradient of ReLU", "y0 = x2 > 0 ? x0 : 0", [](double p, double, double c) { return c > 0 ? p : 0; }},
    {"gradient of GELU",
     "y0 = x0 * (0.5 * (1 + erf(x2 * 0.70710678118654752)) + x2 * 0.3989422804014327 * exp(x2 * x2 * -0.5))",
     [](double p, double, double c) { return p * gelu_slope(c); }},
    {"alpha and beta", "y0 = s0 * x0 + s1 * x2", [](double p, double, double c) { return 0.25 * p - 2 * c; }},
    {"bias and residual", "y0 = x0 + x1 + x2", [](double p, double b, double c) { return p + b + c; }},
    {"constant scales", "y0 = x0 * s0 * s1", [](double p, double, double) { return -0.5 * p; }},
    {"scales of 8-bit floats and bias", "y0 = x0 * (x3 * x4) + x1",
     [](double p, double b, double) { return -2 * p + b; }},
    {"one scale and gradient of ReLU", "y0 = x2 > 0 ? x4 * x0 : 0",
     [](double p, double, double c) { return c > 0 ? -4 * p : 0; }},
};

heddle::expression::Expression expression_of(const Epilogue& epilogue) {
    heddle::expression::Expression expression = heddle::expression::parse(epilogue.expression);
    expression.input_count = GemmEpilogue::kFirstFactor + GemmEpilogue::kFactors;
    return expression;
}

void add_arguments(Device& device, const heddle::expression::Expression& expression,
                   const std::vector<double>& bias, const std::vector<double>& c,
                   std::vector<KernelArgument>& arguments) {
    arguments.push_back(pointer_argument("c", device.add(ElementType::f32, c)));
    arguments.push_back(pointer_argument("bias", device.add(ElementType::f32, bias)));
    const float scalars[] = {0.25f, -2.0f};
    for (unsigned s = 0; s < expression.scalar_count; ++s)
        arguments.push_back(f32_argument("s" + std::to_string(s), scalars[s]));
    const double factors[] = {0.5, -4.0};
    for (unsigned i = 0; i < GemmEpilogue::kFactors; ++i) {
        if (ExpressionCode::reads_input(expression, GemmEpilogue::kFirstFactor + i))
            arguments.push_back(
                pointer_argument("factor" + std::to_string(i), device.add(ElementType::f32, {factors[i]})));
    }
}

/// Runs a generator: `run(device, epilogue, arguments)` with D, C, the bias, scalars and factors among the
/// arguments, on integers that multiply exactly.
template <typename Run>
void check_epilogues(const GemmCase& c, ElementType type, unsigned capability, const Run& run) {
    for (const Epilogue& epilogue : kEpilogues) {
        CAPTURE(epilogue.name, name_of(type), capability);
        const auto a = random_integers(c.stride_a(), -2, 2, 1), b = random_integers(c.stride_b(), -2, 2, 2);
        const auto other = random_reals(ElementType::f32, c.stride_c(), -3, 3, 3);
        const auto bias = random_reals(ElementType::f32, c.n, -3, 3, 4);
        Device device(capability);
        GemmEpilogue spec;
        spec.expression = expression_of(epilogue);
        spec.output = spec.bias = spec.c = ElementType::f32;
        std::vector<KernelArgument> operands = c.arguments(), results;
        operands.push_back(pointer_argument("a", device.add(type, a)));
        operands.push_back(pointer_argument("b", device.add(type, b)));
        add_arguments(device, *spec.expression, bias, other, results);
        const std::uint32_t d = device.add_untouched(ElementType::f32, other.size());
        results.push_back(pointer_argument("d", d));
        run(device, spec, operands, results);
        std::vector<double> expected(other.size());
        c.for_each([&](auto z, auto i, auto j, std::size_t place) {
            expected[place] = epilogue.reference(c.product(a, b, z, i, j), bias[j], other[place]);
        });
        check_close(device.read(d), expected, 4e-6, 4e-5);
    }
}

std::vector<KernelArgument> together(std::vector<KernelArgument> first,
                                     const std::vector<KernelArgument>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

}  // namespace

TEST_CASE("Epilogues of Hopper's GEMMs compute their formulas") {
    for (const ElementType type : {ElementType::bf16, ElementType::e4m3}) {
        for (const Epilogue& epilogue : kEpilogues) {
            for (const bool swap : {false, true}) {
                CAPTURE(epilogue.name, name_of(type), swap);
                GemmWgmmaSpec spec;
                spec.type = type;
                spec.tile = {.m = 128, .n = 64, .stages = 3, .swap = swap};
                if (swap) std::swap(spec.tile.m, spec.tile.n);
                spec.transpose_b = true;
                spec.epilogue.expression = expression_of(epilogue);
                spec.epilogue.output = spec.epilogue.bias = spec.epilogue.c = ElementType::f32;
                spec.epilogue.vector_width = 4;
                // Tails in all directions; small integers multiply exactly.
                const GemmCase c{.m = 136, .n = 72, .k = 160, .transpose_b = true};
                const auto a = random_integers(c.stride_a(), -2, 2, 1);
                const auto b = random_integers(c.stride_b(), -2, 2, 2);
                const auto other = random_reals(ElementType::f32, c.stride_c(), -3, 3, 3);
                const auto bias = random_reals(ElementType::f32, c.n, -3, 3, 4);
                Device device(90);
                GemmProblem p;
                p.m = c.m;
                p.n = c.n;
                p.k = c.k;
                p.lda = c.lda();
                p.ldb = c.ldb();
                p.ldc = p.ldd = c.ldc();
                p.a = pointer_argument("a", device.add(type, a));
                p.b = pointer_argument("b", device.add(type, b));
                const std::uint32_t d = device.add_untouched(ElementType::f32, other.size());
                p.d = pointer_argument("d", d);
                GemmWgmmaLaunch launch = gemm_wgmma_launch(spec, p, 2);
                add_arguments(device, *spec.epilogue.expression, bias, other, launch.arguments);
                device.run(generate_gemm_wgmma(spec), launch.grid, launch.arguments);
                std::vector<double> expected(other.size());
                c.for_each([&](auto z, auto i, auto j, std::size_t place) {
                    expected[place] = epilogue.reference(c.product(a, b, z, i, j), bias[j], other[place]);
                });
                check_close(device.read(d), expected, 4e-6, 4e-5);
            }
        }
    }
}

TEST_CASE("Epilogues of GEMMs by mma.sync compute their formulas on every generation") {
    const std::pair<unsigned, ElementType> machines[] = {{70, ElementType::f16},  {75, ElementType::f16},
                                                         {80, ElementType::bf16}, {86, ElementType::f16},
                                                         {89, ElementType::e4m3}, {90, ElementType::bf16}};
    for (const auto& [capability, type] : machines) {
        for (const unsigned width : {1u, 4u}) {
            const GemmCase c{.m = 40, .n = 72, .k = 160, .transpose_b = true};
            check_epilogues(
                c, type, capability,
                [&](Device& device, const GemmEpilogue& epilogue, const auto& operands, const auto& results) {
                    GemmMmaSpec spec;
                    spec.compute_capability = capability;
                    spec.type = type;
                    spec.tile = {64, 64, type == ElementType::e4m3 ? 64u : 32u,
                                 2,  2,  capability >= 80 ? 3u : 2u};
                    spec.transpose_b = true;
                    spec.epilogue = epilogue;
                    spec.epilogue.vector_width = width;
                    device.run(generate_gemm_mma(spec), gemm_mma_grid(spec, c.m, c.n),
                               together(operands, results));
                });
        }
    }
}

TEST_CASE("Epilogues of GEMMs on CUDA cores compute their formulas") {
    const GemmCase c{.m = 30, .n = 44, .k = 13};
    for (const unsigned width : {1u, 4u}) {
        check_epilogues(
            c, ElementType::f32, 80,
            [&](Device& device, const GemmEpilogue& epilogue, const auto& operands, const auto& results) {
                GemmSimtSpec spec;
                spec.tile_m = spec.tile_n = 64;
                spec.epilogue = epilogue;
                spec.epilogue.vector_width = width;
                device.run(generate_gemm_simt(spec), gemm_simt_grid(spec, c.m, c.n),
                           together(operands, results));
            });
    }
}

TEST_CASE("Epilogues of gemv compute their formulas") {
    const GemmCase c{.m = 3, .n = 21, .k = 130, .transpose_b = true};
    check_epilogues(
        c, ElementType::bf16, 80,
        [&](Device& device, const GemmEpilogue& epilogue, const auto& operands, const auto& results) {
            GemvSpec spec;
            spec.compute_capability = 80;
            spec.type = ElementType::bf16;
            spec.warps = 4;
            spec.epilogue = epilogue;
            device.run(generate_gemv(spec), gemv_grid(spec, c.m, c.n, 1), together(operands, results));
        });
}

TEST_CASE("Epilogues after split-K compute their formulas") {
    const GemmCase c{.m = 37, .n = 52, .k = 100};
    check_epilogues(
        c, ElementType::f32, 80,
        [&](Device& device, const GemmEpilogue& epilogue, const auto& operands, const auto& results) {
            constexpr std::uint32_t kSplits = 5;
            GemmSimtSpec spec;
            spec.tile_m = spec.tile_n = 64;
            spec.partition = {false, true};
            spec.epilogue.vector_width = 4;
            const std::uint32_t workspace = device.add_untouched(ElementType::f32, c.stride_c() * kSplits);
            device.run(
                generate_gemm_simt(spec), gemm_simt_grid(spec, c.m, c.n, kSplits),
                together(operands, {pointer_argument("d", workspace), integer_argument("k_per_split", 24),
                                    integer_argument("splits", kSplits)}));
            SplitKReduceSpec reduce;
            reduce.accumulator = ElementType::f32;
            reduce.epilogue = epilogue;
            reduce.epilogue.vector_width = 4;
            std::vector<KernelArgument> second{pointer_argument("workspace", workspace),
                                               integer_argument("m", c.m),
                                               integer_argument("n", c.n),
                                               integer_argument("ldc", c.n),
                                               integer_argument("ldd", c.n),
                                               integer_argument("splits", kSplits),
                                               integer_argument("slice_stride", c.stride_c())};
            add_divider_arguments(second, "row_vectors", c.n / split_k_reduce_width(reduce));
            device.run(generate_split_k_reduce(reduce), split_k_reduce_grid(reduce, c.m, c.n, 1),
                       together(second, results));
        });
}
