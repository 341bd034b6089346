// Epilogues of Hopper's GEMMs against their formulas in doubles: activations, their gradients, scales,
// residuals.
#include <catch2/catch.hpp>
#include <cmath>

#include "gemm_reference.h"
#include "launcher.h"
#include "workloads/kernels/gemm_wgmma.h"

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

// s0 = 0.25, s1 = -2.
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
    {"scales of 8-bit floats", "y0 = x0 * s0 * s1", [](double p, double, double) { return -0.5 * p; }},
};

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
                spec.epilogue.expression = heddle::expression::parse(epilogue.expression);
                spec.epilogue.expression->input_count = 3;
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
                launch.arguments.push_back(pointer_argument("c", device.add(ElementType::f32, other)));
                launch.arguments.push_back(pointer_argument("bias", device.add(ElementType::f32, bias)));
                const float scalars[] = {0.25f, -2.0f};
                for (unsigned s = 0; s < spec.epilogue.expression->scalar_count; ++s)
                    launch.arguments.push_back(f32_argument("s" + std::to_string(s), scalars[s]));
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
