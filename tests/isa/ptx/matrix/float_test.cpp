// mma.sync on floating-point numbers: products by the scalar definition of the tensor core (isa/numerics), in
// f64 by fused multiply-adds of the host.
#include <bit>
#include <catch2/catch.hpp>
#include <cfenv>
#include <cmath>

#include "../launch.h"
#include "bench.h"
#include "isa/common/error.h"
#include "isa/numerics/dot_product_unit.h"
#include "isa/target/generation.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;
using numerics::Format;

namespace {

struct Shape {
    std::string suffix;  // "m16n8k16.row.col.f32.f16.f16.f32"
    unsigned k;
    Format a, b, output;
};

unsigned bits_of(Format format) {
    return numerics::traits(format).storage_bits;
}

class Numbers {
  public:
    explicit Numbers(unsigned seed) : generator_(seed) {}
    // Mostly moderate numbers, now and then small or subnormal ones.
    std::uint64_t operator()(Format format) {
        const int exponent = generator_() % 8 != 0 ? 0 : static_cast<int>(generator_() % 25) - 18;
        return numerics::from_float(format, std::ldexp(real_(generator_), exponent));
    }
    std::uint64_t sum(Format format) { return numerics::from_float(format, 10 * real_(generator_)); }
    std::uint64_t any(Format format) { return generator_() & ((std::uint64_t{1} << bits_of(format)) - 1); }

  private:
    std::mt19937 generator_;
    std::uniform_real_distribution<float> real_{-4, 4};
};

std::uint64_t defined(const numerics::DotProductParameters& parameters, const std::vector<std::uint64_t>& a,
                      const std::vector<std::uint64_t>& b, std::uint64_t c) {
    const std::vector<std::uint32_t> x(a.begin(), a.end()), y(b.begin(), b.end());
    return numerics::dot_product(parameters, x, y, static_cast<std::uint32_t>(c));
}

void check_mma(const Shape& shape, unsigned compute_capability, unsigned seed, bool any_bits = false) {
    Numbers numbers(seed);
    const auto draw = [&](Format format) { return any_bits ? numbers.any(format) : numbers(format); };
    const Matrix a = make_matrix(16, shape.k, [&] { return draw(shape.a); }),
                 b = make_matrix(8, shape.k, [&] { return draw(shape.b); }),
                 c = make_matrix(16, 8, [&] { return numbers.sum(shape.output); });
    const Product product{"sync.aligned." + shape.suffix, 16, 8, shape.k, bits_of(shape.a),
                          bits_of(shape.output)};
    const Matrix d = multiply(product, a, b, c, compute_capability);
    const auto parameters = numerics::parameters_for(target::generation_of(compute_capability), shape.a,
                                                     shape.b, shape.output, numerics::Instruction::mma_sync);
    INFO(shape.suffix << " on " << compute_capability);
    for (unsigned m = 0; m < 16; ++m) {
        for (unsigned n = 0; n < 8; ++n) REQUIRE(d[m][n] == defined(parameters, a[m], b[n], c[m][n]));
    }
}

}  // namespace

TEST_CASE("mma.sync equals the tensor core's definition on every generation", "[ptx][matrix]") {
    const std::vector<Shape> turing = {
        {"m16n8k16.row.col.f32.f16.f16.f32", 16, Format::fp16, Format::fp16, Format::fp32},
        {"m16n8k8.row.col.f32.f16.f16.f32", 8, Format::fp16, Format::fp16, Format::fp32},
        {"m16n8k16.row.col.f16.f16.f16.f16", 16, Format::fp16, Format::fp16, Format::fp16},
        {"m16n8k8.row.col.f16.f16.f16.f16", 8, Format::fp16, Format::fp16, Format::fp16}};
    const std::vector<Shape> ampere = {
        {"m16n8k16.row.col.f32.bf16.bf16.f32", 16, Format::bf16, Format::bf16, Format::fp32},
        {"m16n8k8.row.col.f32.bf16.bf16.f32", 8, Format::bf16, Format::bf16, Format::fp32},
        {"m16n8k4.row.col.f32.tf32.tf32.f32", 4, Format::tf32, Format::tf32, Format::fp32},
        {"m16n8k8.row.col.f32.tf32.tf32.f32", 8, Format::tf32, Format::tf32, Format::fp32}};
    for (unsigned seed = 0; seed < 5; ++seed) {
        for (const unsigned capability : {75u, 80u, 89u, 90u, 100u}) {
            for (const Shape& shape : turing) check_mma(shape, capability, seed);
            if (capability == 75) continue;
            for (const Shape& shape : ampere) check_mma(shape, capability, seed + 100);
        }
    }
    for (const Shape& shape : turing) check_mma(shape, 90, 7, true);
    for (const Shape& shape : ampere) check_mma(shape, 90, 8, true);
    CHECK_THROWS_AS(check_mma(ampere[1], 75, 1), Error);  // no bf16 on Turing
    CHECK_THROWS_AS(check_mma(ampere[2], 75, 1), Error);  // no tf32
}

TEST_CASE("mma.sync in fp8: both formats, mixed, both sums", "[ptx][matrix]") {
    for (const auto& [a, a_name] : {std::pair{Format::e4m3, "e4m3"}, {Format::e5m2, "e5m2"}}) {
        for (const auto& [b, b_name] : {std::pair{Format::e4m3, "e4m3"}, {Format::e5m2, "e5m2"}}) {
            const std::string types = std::string(a_name) + "." + b_name;
            for (const unsigned k : {16u, 32u}) {
                const std::string shape = "m16n8k" + std::to_string(k) + ".row.col.";
                for (const unsigned capability : {89u, 90u, 100u, 120u}) {
                    check_mma({shape + "f32." + types + ".f32", k, a, b, Format::fp32}, capability, k);
                    check_mma({shape + "f16." + types + ".f16", k, a, b, Format::fp16}, capability, k + 1);
                }
                check_mma({shape + "f32." + types + ".f32", k, a, b, Format::fp32}, 90, k, true);
            }
        }
    }
    CHECK_THROWS_AS(
        check_mma({"m16n8k32.row.col.f32.e4m3.e4m3.f32", 32, Format::e4m3, Format::e4m3, Format::fp32}, 80,
                  1),
        Error);
}

TEST_CASE("mma.sync in f64 is a chain of fused multiply-adds, rounded as told", "[ptx][matrix]") {
    struct Size {
        unsigned m, k;
    };
    const std::pair<const char*, int> roundings[] = {{"", FE_TONEAREST},
                                                     {".rn", FE_TONEAREST},
                                                     {".rz", FE_TOWARDZERO},
                                                     {".rm", FE_DOWNWARD},
                                                     {".rp", FE_UPWARD}};
    std::mt19937_64 generator(5);
    std::uniform_real_distribution<double> real(-1, 1);
    const auto draw = [&] { return std::bit_cast<std::uint64_t>(real(generator)); };
    for (const Size size : {Size{8, 4}, Size{16, 4}, Size{16, 8}, Size{16, 16}}) {
        Matrix previous;
        for (const auto& [name, mode] : roundings) {
            const Matrix a = make_matrix(size.m, size.k, draw), b = make_matrix(8, size.k, draw),
                         c = make_matrix(size.m, 8, draw);
            const std::string suffix = "sync.aligned.m" + std::to_string(size.m) + "n8k" +
                                       std::to_string(size.k) + ".row.col" + name + ".f64.f64.f64.f64";
            const Matrix d = multiply({suffix, size.m, 8, size.k, 64, 64}, a, b, c, 90);
            INFO(suffix);
            for (unsigned m = 0; m < size.m; ++m) {
                for (unsigned n = 0; n < 8; ++n) {
                    volatile double sum = std::bit_cast<double>(c[m][n]);
                    std::fesetround(mode);
                    for (unsigned k = 0; k < size.k; ++k)
                        sum = std::fma(std::bit_cast<double>(a[m][k]), std::bit_cast<double>(b[n][k]), sum);
                    std::fesetround(FE_TONEAREST);
                    const double expected = sum;
                    REQUIRE(d[m][n] == std::bit_cast<std::uint64_t>(expected));
                }
            }
        }
    }
}

TEST_CASE("mma.m8n8k4 in f16: four quad pairs, every layout", "[ptx][matrix]") {
    // "Matrix Fragments for mma.m8n8k4 with .f16 floating point type": quad pair q is lanes 4 q to 4 q + 3
    // and 16 more.
    const auto c_single = [](unsigned lane, unsigned i) {
        const unsigned x = (lane & 1) + (i & 2);
        return Place{lane < 16 ? x : x + 4, (i & 4) + (lane & 2) + (i & 1)};
    };
    const auto c_half = [](unsigned lane, unsigned i) {
        return Place{lane < 16 ? lane % 4 : lane % 4 + 4, i};
    };
    for (const std::string layouts : {"row.row", "row.col", "col.row", "col.col"}) {
        for (const std::string types : {"f32.f32", "f32.f16", "f16.f16"}) {
            const Format d_format = types[1] == '3' ? Format::fp32 : Format::fp16,
                         c_format = types[5] == '3' ? Format::fp32 : Format::fp16;
            Numbers numbers(static_cast<unsigned>(layouts[0] + types[5]));
            Matrix a[4], b[4], c[4];
            for (unsigned q = 0; q < 4; ++q) {
                a[q] = make_matrix(8, 4, [&] { return numbers(Format::fp16); });
                b[q] = make_matrix(8, 4, [&] { return numbers(Format::fp16); });
                c[q] = make_matrix(8, 8, [&] { return numbers.sum(c_format); });
            }
            const Fragment multiplicand{4, 16}, fc{8, bits_of(c_format)}, fd{8, bits_of(d_format)};
            const unsigned words = 4 + fc.words();
            std::vector<std::uint32_t> input(32 * words);
            const auto quad = [](unsigned lane) { return lane % 16 / 4; };
            pack(
                multiplicand,
                [&](unsigned lane, unsigned i) {
                    const unsigned high = lane < 16 ? 0 : 4;
                    return layouts[0] == 'r' ? a[quad(lane)][lane % 4 + high][i]
                                             : a[quad(lane)][i % 4 + high][lane % 4];
                },
                0, words, input);
            pack(
                multiplicand,
                [&](unsigned lane, unsigned i) {  // b is held by column
                    const unsigned high = lane < 16 ? 0 : 4;
                    return layouts[4] == 'r' ? b[quad(lane)][i + high][lane % 4]
                                             : b[quad(lane)][lane % 4 + high][i];
                },
                2, words, input);
            pack(
                fc,
                [&](unsigned lane, unsigned i) {
                    const Place p = c_format == Format::fp32 ? c_single(lane, i) : c_half(lane, i);
                    return c[quad(lane)][p.row][p.column];
                },
                4, words, input);
            const std::string lines = "mma.sync.aligned.m8n8k4." + layouts + "." + types.substr(0, 3) +
                                      ".f16.f16." + types.substr(4) + " " + list("%d", 0, fd.words()) +
                                      ", {%r0, %r1}, {%r2, %r3}, " + list("%r", 4, fc.words()) + ";";
            for (const unsigned capability : {70u, 90u}) {
                const auto output = run_warp(lines, words, fd.words(), input, capability);
                const auto parameters =
                    numerics::parameters_for(target::generation_of(capability), Format::fp16, d_format);
                INFO(lines << " on " << capability);
                for (unsigned lane = 0; lane < 32; ++lane) {
                    for (unsigned i = 0; i < 8; ++i) {
                        const Place p = d_format == Format::fp32 ? c_single(lane, i) : c_half(lane, i);
                        const unsigned q = quad(lane);
                        const std::uint64_t addend =
                            numerics::convert(d_format, c_format, c[q][p.row][p.column]);
                        REQUIRE(unpack(fd, output, lane, i) ==
                                defined(parameters, a[q][p.row], b[q][p.column], addend));
                    }
                }
            }
        }
    }
}

TEST_CASE("The bits below the alignment tell generations apart", "[ptx][matrix]") {
    // c = -1 and two products of 2^-25. Terms are cut at 2^-F of the largest exponent: Hopper (F = 25) keeps
    // both, their sum 2^-24 is a bit of -1 + 2^-24; Ampere (F = 24) loses each of them (arXiv 2511.10909).
    std::vector<std::uint32_t> input(32 * 10);
    const auto half = [](float x) { return static_cast<std::uint32_t>(numerics::fp32_to_fp16(x)); };
    input[0] = half(0x1p-12f) << 16 | half(0x1p-12f);  // lane 0: A[0][0], A[0][1]
    input[4] = half(0x1p-13f) << 16 | half(0x1p-13f);  // B[0][0], B[1][0]
    input[6] = std::bit_cast<std::uint32_t>(-1.0f);    // C[0][0]
    const std::string lines =
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, {%r0, %r1, %r2, %r3}, {%r4, "
        "%r5}, {%r6, %r7, %r8, %r9};";
    CHECK(std::bit_cast<float>(run_warp(lines, 10, 4, input, 90)[0]) == -1.0f + 0x1p-24f);
    CHECK(std::bit_cast<float>(run_warp(lines, 10, 4, input, 80)[0]) == -1.0f);
}
