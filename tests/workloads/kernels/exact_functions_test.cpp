#include "workloads/kernels/exact_functions.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "isa/common/error.h"
#include "launcher.h"
#include "workloads/kernels/library.h"
#include "workloads/kernels/ptx_writer.h"

using namespace heddle::kernels;
using heddle::kernels::test::Device;

namespace {

GeneratedKernel function_kernel(const std::string& opcode, bool guarded = false) {
    PtxWriter w("one_function", 80);
    const Reg y = w.pointer_parameter("y"), x = w.pointer_parameter("x");
    const Reg index = w.make_b32("mad.lo.u32", w.cta_x(), 128, w.tid());
    const Reg value = w.make_f32("ld.global.f32", "[" + w.element_address(x, index, 4) + "]");
    const Reg result = w.make_f32("mov.f32", value);
    if (guarded) {
        w.op_if(w.make_predicate("setp.gt.f32", value, f32_immediate(1)), opcode, result, value);
    } else {
        w.op(opcode, result, value);
    }
    w.op("st.global.f32", "[" + w.element_address(y, index, 4) + "]", result);
    return w.finish({128, 1, 1});
}

std::vector<float> run(GeneratedKernel kernel, std::vector<float> x) {
    while (x.size() % 128 != 0) x.push_back(1);
    kernel.text = replace_approximations(kernel.text);
    CHECK(kernel.text.find("approx") == std::string::npos);
    Device device;
    std::vector<std::byte> bytes(x.size() * 4);
    std::memcpy(bytes.data(), x.data(), bytes.size());
    const std::uint32_t in = device.add_bytes(bytes);
    const std::uint32_t out = device.add_untouched(ElementType::f32, x.size());
    device.run(kernel, {static_cast<std::uint32_t>(x.size() / 128), 1, 1},
               {pointer_argument("y", out), pointer_argument("x", in)});
    const std::vector<std::byte> result = device.read_bytes(out);
    std::memcpy(x.data(), result.data(), result.size());
    return x;
}

/// Distance in units of the last place of the right result.
double ulps(float found, double right) {
    if (std::isnan(right)) return std::isnan(found) ? 0 : INFINITY;
    const auto nearest = static_cast<float>(right);
    if (std::isinf(nearest)) return found == nearest ? 0 : INFINITY;
    int exponent = 0;
    std::frexp(nearest, &exponent);
    return std::abs(found - right) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

}  // namespace

TEST_CASE("2^x without the special function unit") {
    std::vector<float> x{0,    -0.0f, 1,     -1,     127,       127.99f,   128,       129,     1e30f,
                         -126, -127,  -140,  -149,   -149.5f,   -150,      -151,      -1e30f,  INFINITY,
                         NAN,  0.5f,  -0.5f, 1e-40f, -INFINITY, -126.001f, -148.999f, 127.999f};
    for (int i = 0; i < 30000; ++i) x.push_back(-152 + 282.0f * static_cast<float>(i) / 30000);
    const std::vector<float> y = run(function_kernel("ex2.approx.ftz.f32"), x);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) worst = std::max(worst, ulps(y[i], std::exp2(double{x[i]})));
    CHECK(worst <= 1);
    CHECK(y[0] == 1);
    CHECK(y[4] == 0x1p127f);
    CHECK(y[12] == 0x1p-149f);
    CHECK(std::bit_cast<std::uint32_t>(y[22]) == 0);
}

TEST_CASE("log2 without the special function unit") {
    std::vector<float> x{1,     2,    0.5f,   0,         -0.0f,     -1,      INFINITY,   -INFINITY, NAN,
                         0.75f, 1.5f, 1e-40f, 0x1p-149f, 0x1p-126f, 3.4e38f, 0.7499999f, 1.4999999f};
    for (int i = 0; i < 20000; ++i) x.push_back(std::exp2(-148.0f + 276.0f * static_cast<float>(i) / 20000));
    for (int i = 0; i < 20000; ++i) x.push_back(0.5f + 2.0f * static_cast<float>(i) / 20000);
    const std::vector<float> y = run(function_kernel("lg2.approx.f32"), x);
    double worst = 0, worst_near_one = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double right = std::log2(double{x[i]});
        if (x[i] > 0.5f && x[i] < 2) {
            worst_near_one = std::max(worst_near_one, std::abs(y[i] - right));
        } else if (std::isinf(right)) {
            CHECK(y[i] == right);
        } else {
            worst = std::max(worst, ulps(y[i], right));
        }
    }
    CHECK(worst <= 2);
    CHECK(worst_near_one <= 0x1p-22);
    CHECK(y[0] == 0);
    CHECK(y[1] == 1);
}

TEST_CASE("reciprocals and roots become the correctly rounded ones") {
    std::vector<float> x{1, 3, 0, -0.0f, INFINITY, 1e-40f, 4, 1e30f};
    for (int i = 0; i < 5000; ++i) x.push_back(std::exp2(-120.0f + 240.0f * static_cast<float>(i) / 5000));
    const std::vector<float> inverse = run(function_kernel("rcp.approx.ftz.f32"), x);
    const std::vector<float> root = run(function_kernel("rsqrt.approx.f32"), x);
    for (std::size_t i = 0; i < x.size(); ++i) {
        CHECK(std::bit_cast<std::uint32_t>(inverse[i]) == std::bit_cast<std::uint32_t>(1 / x[i]));
        CHECK(std::bit_cast<std::uint32_t>(root[i]) == std::bit_cast<std::uint32_t>(1 / std::sqrt(x[i])));
    }
}

TEST_CASE("a guarded approximation keeps its guard") {
    const std::vector<float> y = run(function_kernel("ex2.approx.ftz.f32", true), {0.5f, 3, 1, 2});
    CHECK(y[0] == 0.5f);
    CHECK(y[1] == 8);
    CHECK(y[2] == 1);
    CHECK(y[3] == 4);
}

TEST_CASE("approximations that nobody knows are refused by line") {
    using Catch::Matchers::Contains;
    CHECK_THROWS_WITH(replace_approximations("mov.f32 %f1, %f2;\n  tanh.approx.f32 %f1, %f2;\n"),
                      Contains("tanh.approx.f32") && Contains("2"));
    CHECK(replace_approximations("// ex2.approx\n") == "// ex2.approx\n");
}

TEST_CASE("every kernel of the library can do without approximations") {
    for (const LibraryKernel& sample : library_samples(80)) {
        const std::string text = replace_approximations(sample.kernel.text);
        CHECK(text.find(".approx") == std::string::npos);
    }
}

TEST_CASE("no kernel of the library leaves a rounding or a fusion to the assembler") {
    // "add, sub and mul with no rounding modifier ... may be optimized aggressively by the code optimizer;
    // mul/add sequences may be contracted" (PTX ISA, floating-point instructions).
    for (const unsigned capability : {80u, 90u}) {
        for (const LibraryKernel& sample : library_samples(capability)) {
            const std::string& text = sample.kernel.text;
            for (const char* operation : {"add", "sub", "mul", "mad", "fma", "div", "rcp", "sqrt"}) {
                for (const char* type : {".f32", ".f64", ".f16", ".f16x2", ".bf16", ".bf16x2", ".ftz.f32"}) {
                    CAPTURE(sample.name, operation, type);
                    CHECK(text.find(std::string(" ") + operation + type + " ") == std::string::npos);
                }
            }
        }
    }
}
