// mma.sync and ldmatrix: fragments laid out as the manual's tables say, products by the scalar definition of
// the tensor core (isa/numerics), or in exact integers.
#include <array>
#include <catch2/catch.hpp>

#include "isa/common/error.h"
#include "isa/numerics/dot_product_unit.h"
#include "launch.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;
using numerics::Format;

namespace {

// Runs one warp that loads `words` 32-bit registers per lane, executes `lines` on %r0.. and stores `results`
// registers %d0..
std::vector<std::uint32_t> run_warp(const std::string& lines, unsigned words, unsigned results,
                                    const std::vector<std::uint32_t>& input, unsigned compute_capability) {
    std::string body = ".reg .b32 %r<" + std::to_string(words) + ">, %t; .reg .b32 %d<" +
                       std::to_string(results) +
                       ">; .reg .b64 %x, %y, %o; .reg .f32 %f<8>;\nmov.u32 %t, %tid.x; ld.param.u64 %x, [x]; "
                       "ld.param.u64 %y, [y];\n"
                       "mul.wide.u32 %o, %t, " +
                       std::to_string(4 * words) + "; add.u64 %x, %x, %o;\n";
    for (unsigned w = 0; w < words; ++w)
        body += "ld.global.b32 %r" + std::to_string(w) + ", [%x+" + std::to_string(4 * w) + "];\n";
    body += lines + "\nmul.wide.u32 %o, %t, " + std::to_string(4 * results) + "; add.u64 %y, %y, %o;\n";
    for (unsigned w = 0; w < results; ++w)
        body += "st.global.b32 [%y+" + std::to_string(4 * w) + "], %d" + std::to_string(w) + ";\n";
    const Program program(module_text(".param .u64 x, .param .u64 y", body + "ret;"), "test");
    Device device;
    const auto x = device.upload("x", input),
               y = device.upload("y", std::vector<std::uint32_t>(32 * results));
    LaunchContext launch = program.launch(device, {1}, {32}, {argument(x), argument(y)});
    launch.compute_capability = compute_capability;
    run_functionally(launch);
    return device.download<std::uint32_t>(y, 32 * results);
}

struct Shape {
    std::string suffix;  // "m16n8k16.row.col.f32.f16.f16.f32"
    unsigned k;
    unsigned element_bits;
    Format input, output;
    // PTX manual: row and column in A of element i of a lane, k of element i in B; C is the same for all
    // shapes.
    unsigned a_elements, b_elements;
};

struct Place {
    unsigned row, column;
};

// "Matrix fragments for mma.m16n8k...": group = lane >> 2, member = lane % 4.
Place a_place(const Shape& shape, unsigned lane, unsigned i) {
    const unsigned group = lane >> 2, member = lane % 4;
    const unsigned packed = 32 / shape.element_bits;
    // Registers a0, a1, ...: odd ones are eight rows down, the second pair is half of k further.
    const unsigned reg = i / packed, within = i % packed;
    return {group + (reg % 2 == 0 ? 0 : 8), member * packed + within + (reg >= 2 ? 4 * packed : 0)};
}
Place b_place(const Shape& shape, unsigned lane, unsigned i) {  // row: k, column: n
    const unsigned group = lane >> 2, member = lane % 4;
    const unsigned packed = 32 / shape.element_bits;
    return {member * packed + i % packed + (i / packed) * 4 * packed, group};
}
Place c_place(unsigned lane, unsigned i) {
    return {(lane >> 2) + (i < 2 ? 0 : 8), (lane % 4) * 2 + i % 2};
}

std::string list(const std::string& prefix, unsigned first, unsigned count) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + prefix + std::to_string(first + i);
    return text + "}";
}

void check_mma(const Shape& shape, unsigned compute_capability, unsigned seed) {
    std::mt19937 generator(seed);
    const bool half_sum = shape.output == Format::fp16;
    const std::uint32_t element_mask = shape.element_bits == 32 ? ~0u : (1u << shape.element_bits) - 1;
    std::vector<std::vector<std::uint32_t>> a(16, std::vector<std::uint32_t>(shape.k)),
        b(8, std::vector<std::uint32_t>(shape.k));
    std::vector<std::vector<std::uint32_t>> c(16, std::vector<std::uint32_t>(8));
    std::uniform_real_distribution<float> real(-4, 4);
    const auto element = [&] {
        // Mostly moderate numbers, now and then any bits that are no NaN or infinity (those have tests of
        // their own).
        if (generator() % 8 != 0) return numerics::from_float(shape.input, real(generator)) & element_mask;
        return numerics::from_float(shape.input,
                                    std::ldexp(real(generator), static_cast<int>(generator() % 25) - 18)) &
               element_mask;
    };
    for (auto& row : a)
        for (auto& x : row) x = element();
    for (auto& row : b)
        for (auto& x : row) x = element();
    for (auto& row : c)
        for (auto& x : row) x = numerics::from_float(shape.output, 10 * real(generator));
    const unsigned packed = 32 / shape.element_bits;
    const unsigned a_words = shape.a_elements / packed, b_words = shape.b_elements / packed,
                   c_words = half_sum ? 2 : 4;
    const unsigned words = a_words + b_words + c_words;
    std::vector<std::uint32_t> input(32 * words);
    for (unsigned lane = 0; lane < 32; ++lane) {
        std::uint32_t* registers = &input[lane * words];
        for (unsigned i = 0; i < shape.a_elements; ++i) {
            const Place p = a_place(shape, lane, i);
            registers[i / packed] |= a[p.row][p.column] << (i % packed * shape.element_bits) % 32;
        }
        for (unsigned i = 0; i < shape.b_elements; ++i) {
            const Place p = b_place(shape, lane, i);
            registers[a_words + i / packed] |= b[p.column][p.row] << (i % packed * shape.element_bits) % 32;
        }
        for (unsigned i = 0; i < 4; ++i) {
            const Place p = c_place(lane, i);
            if (half_sum)
                registers[a_words + b_words + i / 2] |= c[p.row][p.column] << (16 * (i % 2));
            else
                registers[a_words + b_words + i] = c[p.row][p.column];
        }
    }
    const std::string lines = "mma.sync.aligned." + shape.suffix + " " + list("%d", 0, c_words) + ", " +
                              list("%r", 0, a_words) + ", " + list("%r", a_words, b_words) + ", " +
                              list("%r", a_words + b_words, c_words) + ";";
    const std::vector<std::uint32_t> output = run_warp(lines, words, c_words, input, compute_capability);
    const auto parameters =
        numerics::parameters_for(numerics::generation_of(compute_capability), shape.input, shape.output);
    INFO(lines << " on " << compute_capability);
    for (unsigned lane = 0; lane < 32; ++lane) {
        for (unsigned i = 0; i < 4; ++i) {
            const Place p = c_place(lane, i);
            std::uint32_t given = output[lane * c_words + (half_sum ? i / 2 : i)];
            if (half_sum) given = given >> (16 * (i % 2)) & 0xFFFF;
            REQUIRE(given == numerics::dot_product(parameters, a[p.row], b[p.column], c[p.row][p.column]));
        }
    }
}

}  // namespace

TEST_CASE("mma.sync equals the tensor core's definition on every generation", "[ptx][matrix]") {
    const std::vector<Shape> f16 = {
        {"m16n8k16.row.col.f32.f16.f16.f32", 16, 16, Format::fp16, Format::fp32, 8, 4},
        {"m16n8k8.row.col.f32.f16.f16.f32", 8, 16, Format::fp16, Format::fp32, 4, 2},
        {"m16n8k16.row.col.f16.f16.f16.f16", 16, 16, Format::fp16, Format::fp16, 8, 4}};
    const std::vector<Shape> ampere = {
        {"m16n8k8.row.col.f16.f16.f16.f16", 8, 16, Format::fp16, Format::fp16, 4, 2},
        {"m16n8k16.row.col.f32.bf16.bf16.f32", 16, 16, Format::bf16, Format::fp32, 8, 4},
        {"m16n8k8.row.col.f32.bf16.bf16.f32", 8, 16, Format::bf16, Format::fp32, 4, 2},
        {"m16n8k4.row.col.f32.tf32.tf32.f32", 4, 32, Format::tf32, Format::fp32, 2, 1},
        {"m16n8k8.row.col.f32.tf32.tf32.f32", 8, 32, Format::tf32, Format::fp32, 4, 2}};
    for (unsigned seed = 0; seed < 5; ++seed) {
        for (const unsigned capability : {80u, 89u, 90u, 100u}) {
            for (const Shape& shape : f16) check_mma(shape, capability, seed);
            for (const Shape& shape : ampere) check_mma(shape, capability, seed + 100);
        }
    }
    CHECK_THROWS_AS(check_mma(ampere[1], 75, 1), Error);  // no bf16 on Turing
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

TEST_CASE("Integer mma", "[ptx][matrix]") {
    for (const unsigned k : {16u, 32u}) {
        for (const std::string types : {"s8.s8", "u8.s8", "s8.u8", "u8.u8"}) {
            std::mt19937 generator(k);
            const unsigned a_words = k / 8, b_words = k / 16, words = a_words + b_words + 4;
            std::vector<std::uint32_t> input(32 * words);
            for (auto& word : input) word = generator();
            const Shape shape{"", k, 8, Format::fp16, Format::fp32, 4 * a_words, 4 * b_words};
            const auto value = [](std::uint32_t byte, char sign) {
                return sign == 's' ? static_cast<std::int64_t>(static_cast<std::int8_t>(byte))
                                   : static_cast<std::int64_t>(byte & 0xFF);
            };
            std::vector<std::vector<std::int64_t>> a(16, std::vector<std::int64_t>(k)),
                b(8, std::vector<std::int64_t>(k));
            for (unsigned lane = 0; lane < 32; ++lane) {
                for (unsigned i = 0; i < 4 * a_words; ++i) {
                    const Place p = a_place(shape, lane, i);
                    a[p.row][p.column] = value(input[lane * words + i / 4] >> (8 * (i % 4)), types[0]);
                }
                for (unsigned i = 0; i < 4 * b_words; ++i) {
                    const Place p = b_place(shape, lane, i);
                    b[p.column][p.row] =
                        value(input[lane * words + a_words + i / 4] >> (8 * (i % 4)), types[3]);
                }
            }
            const std::string lines = "mma.sync.aligned.m16n8k" + std::to_string(k) + ".row.col.s32." +
                                      types + ".s32 " + list("%d", 0, 4) + ", " + list("%r", 0, a_words) +
                                      ", " + list("%r", a_words, b_words) + ", " +
                                      list("%r", a_words + b_words, 4) + ";";
            const auto output = run_warp(lines, words, 4, input, 80);
            for (unsigned lane = 0; lane < 32; ++lane) {
                for (unsigned i = 0; i < 4; ++i) {
                    const Place p = c_place(lane, i);
                    std::int64_t sum = static_cast<std::int32_t>(input[lane * words + a_words + b_words + i]);
                    for (unsigned n = 0; n < k; ++n) sum += a[p.row][n] * b[p.column][n];
                    REQUIRE(output[lane * 4 + i] == static_cast<std::uint32_t>(sum));
                }
            }
        }
    }
}

TEST_CASE("ldmatrix, plain and transposed", "[ptx][matrix]") {
    for (const unsigned count : {1u, 2u, 4u}) {
        for (const bool transposed : {false, true}) {
            const std::string body =
                ".reg .b32 %t, %s, %a, %v<4>; .reg .b64 %y, %o; .shared .align 16 .b8 buffer[512];\n"
                "mov.u32 %t, %tid.x; mov.u32 %s, buffer; ld.param.u64 %y, [y];\n"
                // element e of shared memory is the 16-bit number e: 8 words per lane
                "mul.lo.u32 %a, %t, 16; add.u32 %a, %a, %s; mul.lo.u32 %v0, %t, 0x00080008; add.u32 %v0, "
                "%v0, 0x00010000;\n"
                "st.shared.u32 [%a], %v0; add.u32 %v0, %v0, 0x00020002; st.shared.u32 [%a+4], %v0; add.u32 "
                "%v0, %v0, 0x00020002;\n"
                "st.shared.u32 [%a+8], %v0; add.u32 %v0, %v0, 0x00020002; st.shared.u32 [%a+12], %v0; "
                "bar.sync 0;\n"
                // lane l gives row l, in reverse order
                "sub.u32 %a, 31, %t; mad.lo.u32 %a, %a, 16, %s; mov.u32 %v0, 0; mov.u32 %v1, 0; mov.u32 %v2, "
                "0; mov.u32 %v3, 0;\n"
                "ldmatrix.sync.aligned.m8n8.x" +
                std::to_string(count) + (transposed ? ".trans" : "") + ".shared.b16 " + list("%v", 0, count) +
                ", [%a];\nmul.wide.u32 %o, %t, 16; add.u64 %y, %y, %o; st.global.v4.u32 [%y], {%v0, %v1, "
                "%v2, %v3}; ret;";
            const Program program(module_text(".param .u64 y", body), "test");
            Device device;
            const auto y = device.upload("y", std::vector<std::uint32_t>(128));
            program.run(device, {1}, {32}, {argument(y)});
            const auto out = device.download<std::uint32_t>(y, 128);
            for (unsigned lane = 0; lane < 32; ++lane) {
                for (unsigned m = 0; m < 4; ++m) {
                    // Matrix m has rows 31 - 8 m, 30 - 8 m, ...; element (r, c) is 8 (31 - 8 m - r) + c.
                    const auto element = [&](unsigned r, unsigned c) { return 8 * (31 - 8 * m - r) + c; };
                    const unsigned group = lane / 4, member = lane % 4;
                    const std::uint32_t expected =
                        transposed ? element(2 * member + 1, group) << 16 | element(2 * member, group)
                                   : element(group, 2 * member + 1) << 16 | element(group, 2 * member);
                    REQUIRE(out[4 * lane + m] == (m < count ? expected : 0));
                }
            }
        }
    }
}
