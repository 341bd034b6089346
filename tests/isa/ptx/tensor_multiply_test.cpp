// tcgen05.mma against plain definitions: every element of D by the dot product of isa/numerics, at the places that the manual's layouts say.
#include <catch2/catch.hpp>

#include "isa/common/error.h"
#include "isa/numerics/block_scaled.h"
#include "isa/numerics/dot_product_unit.h"
#include "isa/target/generation.h"
#include "tensor_harness.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;
using numerics::Format;

namespace {

struct Kind {
    std::string name;
    Format a, b;
    unsigned a_code, b_code, bits, depth;
};

struct Place {
    unsigned lane, column;
};

// "Data path layout organization": A and D, B and E, C and F, G.
Place place_of(char layout, unsigned n, unsigned row, unsigned column) {
    switch (layout) {
        case 'B':
            return {row + (column < n / 2 ? 0 : 64), column % (n / 2)};
        case 'F':
            return {row / 16 * 32 + row % 16, column};
        case 'G':
            return {row + 32 * (column / (n / 4)), column % (n / 4)};
        default:
            return {row, column};
    }
}

std::uint32_t random_element(std::mt19937& generator, Format format) {
    const std::uint32_t bits = generator();
    switch (format) {
        case Format::fp16:
        case Format::bf16: {  // numbers around one, some large, some small
            const float value = static_cast<float>(static_cast<int>(bits % 4096) - 2048) / 64.0f * (bits >> 12 & 1 ? 1.0f : 0.01f);
            return numerics::from_float(format, value);
        }
        case Format::tf32:
            return numerics::from_float(format, static_cast<float>(static_cast<int>(bits % 65536) - 32768) / 977.0f) & 0xFFFFE000u;
        case Format::e4m3:
            return (bits & 0x7F) == 0x7F ? 0x38 : bits & 0xFF;
        case Format::e5m2:
            return (bits & 0x7F) >= 0x7C ? 0x3C : bits & 0xFF;
        case Format::e2m1:
            return bits & 15;
        default:
            return bits & 63;
    }
}

unsigned width_of(Format format) {
    switch (format) {
        case Format::e2m1:
            return 4;
        case Format::e2m3:
        case Format::e3m2:
            return 6;
        default:
            return numerics::traits(format).storage_bits;
    }
}

// 16 elements in 16 bytes, those of 6 and 4 bits packed at the start; `place` is where element `k` of a row would lie if it had 8 bits.
void put(std::vector<std::uint8_t>& shared, std::uint32_t start, unsigned swizzle_bits, std::uint32_t stride, Format format, unsigned row, unsigned k, std::uint32_t value) {
    const unsigned width = width_of(format);
    if (width >= 8) {
        const std::uint32_t at = canonical_address(Majorness::k, swizzle_bits, width / 8, start, 16, stride, row, k);
        std::memcpy(&shared.at(at), &value, width / 8);
        return;
    }
    const std::uint32_t chunk = canonical_address(Majorness::k, swizzle_bits, 1, start, 16, stride, row, k / 16 * 16);
    for (unsigned b = 0; b < width; ++b) {
        const unsigned bit = k % 16 * width + b;
        if (value >> b & 1) shared.at(chunk + bit / 8) |= static_cast<std::uint8_t>(1u << bit % 8);
    }
}

struct Case {
    Kind kind;
    unsigned rows, columns, group;
    char layout;
    bool stationary = false, half = false, adds = true, negative = false;
};

void check(const Case& c, unsigned seed) {
    INFO("kind " << c.kind.name << " " << numerics::traits(c.kind.a).name << " x " << numerics::traits(c.kind.b).name << " M " << c.rows << " N " << c.columns << " group " << c.group);
    std::mt19937 generator(seed);
    TensorCta cta;
    cta.ctas = c.group;
    cta.second = cta.shared;
    cta.enable = c.adds;
    const unsigned k = c.kind.depth, own_rows = c.rows / c.group, own_columns = c.columns / c.group;
    std::vector<std::uint32_t> a(c.rows * k), b(c.columns * k);
    for (auto& value : a) value = random_element(generator, c.kind.a);
    for (auto& value : b) value = random_element(generator, c.kind.b);
    const std::uint32_t b_start = 40960;
    for (unsigned row = 0; row < c.rows; ++row)
        for (unsigned i = 0; i < k; ++i) put(row < own_rows ? cta.shared : cta.second, 1024, 3, 1024, c.kind.a, row % own_rows, i, a[row * k + i]);
    for (unsigned row = 0; row < c.columns; ++row)
        for (unsigned i = 0; i < k; ++i) put(row < own_columns ? cta.shared : cta.second, b_start, 3, 1024, c.kind.b, row % own_columns, i, b[row * k + i]);
    cta.a = tensor_descriptor(1024, 16, 1024, 3);
    cta.b = tensor_descriptor(b_start, 16, 1024, 3);
    cta.descriptor = (c.half ? 0u : 1u) << 4 | c.kind.a_code << 7 | c.kind.b_code << 10 | (c.negative ? 1u : 0u) << 13 | c.columns / 8 << 17 | c.rows / 16 << 24;
    std::vector<std::uint32_t> before(512 * 128);
    for (auto& word : before) word = c.half ? numerics::from_float(Format::fp16, static_cast<float>(generator() % 512) / 16.0f) : numerics::from_float(Format::fp32, static_cast<float>(static_cast<int>(generator() % 20000) - 10000) / 37.0f);
    cta.tensor = before;
    const std::string group = std::string(c.stationary ? "mma.ws." : "mma.") + (c.group == 2 ? "cta_group::2" : "cta_group::1");
    const auto after = cta.run("tcgen05." + group + "." + c.kind.name + " [%ta+64], %da, %db, %id, %p;");
    const auto parameters = numerics::parameters_for(target::generation_of(100), c.kind.a, c.kind.b, c.half ? Format::fp16 : Format::fp32, numerics::Instruction::tcgen05);
    std::vector<bool> written(after.size());
    unsigned wrong = 0;
    const std::uint32_t sign = 1u << (width_of(c.kind.a) - 1);
    for (unsigned row = 0; row < c.rows; ++row) {
        std::vector<std::uint32_t> a_row(a.begin() + row * k, a.begin() + (row + 1) * k);
        if (c.negative)
            for (auto& value : a_row) value ^= sign;
        for (unsigned column = 0; column < c.columns; ++column) {
            const Place p = place_of(c.layout, c.columns, row % own_rows, column);
            const std::size_t at = row / own_rows * 65536u + p.lane * 512u + 64 + p.column;
            written[at] = true;
            const std::uint32_t old = c.adds ? before[at % 65536] & (c.half ? 0xFFFFu : 0xFFFFFFFFu) : 0;
            const std::uint32_t expected = numerics::dot_product(parameters, a_row, std::span(b).subspan(column * k, k), old);
            wrong += (after[at] & (c.half ? 0xFFFFu : 0xFFFFFFFFu)) != expected;
        }
    }
    CHECK(wrong == 0);
    unsigned touched = 0;
    for (std::size_t i = 0; i < after.size(); ++i) touched += !written[i] && after[i] != before[i % 65536];
    CHECK(touched == 0);
}

const Kind kHalf{"kind::f16", Format::fp16, Format::fp16, 0, 0, 16, 16}, kBrain{"kind::f16", Format::bf16, Format::bf16, 1, 1, 16, 16},
    kTensorFloat{"kind::tf32", Format::tf32, Format::tf32, 2, 2, 32, 8};

Kind narrow(Format a, Format b) {
    const auto code = [](Format f) { return f == Format::e4m3 ? 0u : f == Format::e5m2 ? 1u : f == Format::e2m3 ? 3u : f == Format::e3m2 ? 4u : 5u; };
    return {"kind::f8f6f4", a, b, code(a), code(b), 8, 32};
}

}  // namespace

TEST_CASE("tcgen05.mma of one CTA: every layout of D, with and without the old D") {
    check({kHalf, 128, 64, 1, 'D'}, 1);
    check({kBrain, 128, 256, 1, 'D', false, false, false}, 2);
    check({kHalf, 64, 72, 1, 'F'}, 3);
    check({kTensorFloat, 128, 48, 1, 'D', false, false, true, true}, 4);
    check({kHalf, 64, 128, 1, 'B', true}, 5);
    check({kBrain, 32, 64, 1, 'G', true}, 6);
    check({kHalf, 128, 32, 1, 'D', false, true}, 7);
    check({kHalf, 64, 16, 1, 'F', false, true, false}, 8);
}

TEST_CASE("tcgen05.mma of a pair: each CTA has its rows, both have half of B") {
    check({kHalf, 256, 64, 2, 'A'}, 11);
    check({kBrain, 256, 256, 2, 'A', false, false, false}, 12);
    check({kHalf, 128, 64, 2, 'B'}, 13);
    check({narrow(Format::e4m3, Format::e4m3), 256, 32, 2, 'A'}, 14);
}

TEST_CASE("tcgen05.mma multiplies 8-bit, 6-bit and 4-bit floats in every pair") {
    unsigned seed = 20;
    for (const Format a : {Format::e4m3, Format::e5m2, Format::e2m3, Format::e3m2, Format::e2m1})
        for (const Format b : {Format::e4m3, Format::e5m2, Format::e2m3, Format::e3m2, Format::e2m1}) check({narrow(a, b), 128, 16, 1, 'D'}, ++seed);
    check({narrow(Format::e5m2, Format::e4m3), 128, 32, 1, 'D', false, true}, 50);
}

TEST_CASE("tcgen05.mma of 8-bit integers is exact, and saturates where told") {
    std::mt19937 generator(5);
    TensorCta cta;
    std::vector<std::int8_t> a(128 * 32), b(32 * 32);
    for (auto& value : a) value = static_cast<std::int8_t>(generator());
    for (auto& value : b) value = static_cast<std::int8_t>(generator());
    for (unsigned row = 0; row < 128; ++row)
        for (unsigned k = 0; k < 32; ++k) cta.shared.at(canonical_address(Majorness::k, 1, 1, 0, 16, 256, row, k)) = static_cast<std::uint8_t>(a[row * 32 + k]);
    for (unsigned row = 0; row < 32; ++row)
        for (unsigned k = 0; k < 32; ++k) cta.shared.at(canonical_address(Majorness::k, 1, 1, 8192, 16, 256, row, k)) = static_cast<std::uint8_t>(b[row * 32 + k]);
    cta.a = tensor_descriptor(0, 16, 256, 1);
    cta.b = tensor_descriptor(8192, 16, 256, 1);
    cta.tensor.assign(512 * 128, 0x7FFFFF00u);
    for (const bool saturates : {false, true}) {
        cta.descriptor = (saturates ? 8u : 0u) | 2u << 4 | 1u << 7 | 1u << 10 | 32 / 8 << 17 | 128 / 16 << 24;
        const auto after = cta.run("tcgen05.mma.cta_group::1.kind::i8 [%ta], %da, %db, %id, %p;");
        unsigned wrong = 0;
        for (unsigned row = 0; row < 128; ++row) {
            for (unsigned column = 0; column < 32; ++column) {
                std::int64_t sum = 0x7FFFFF00;
                for (unsigned k = 0; k < 32; ++k) sum += a[row * 32 + k] * b[column * 32 + k];
                if (saturates) sum = std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX);
                wrong += after[row * 512 + column] != static_cast<std::uint32_t>(sum);
            }
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("operands that are transposed, without a swizzle and with each") {
    for (unsigned swizzle = 0; swizzle <= 3; ++swizzle) {
        std::mt19937 generator(swizzle);
        TensorCta cta;
        cta.enable = 0;
        std::vector<std::uint32_t> a(128 * 16), b(64 * 16);
        for (auto& value : a) value = random_element(generator, Format::fp16);
        for (auto& value : b) value = random_element(generator, Format::fp16);
        const std::uint32_t wide = 16u << swizzle, leading = swizzle == 0 ? 128 : 16 * wide, stride = swizzle == 0 ? 256 : 8 * wide;
        const auto place = [&](std::uint32_t start, unsigned row, unsigned k) { return canonical_address(Majorness::mn, swizzle, 2, start, leading, stride, row, k); };
        for (unsigned row = 0; row < 128; ++row)
            for (unsigned k = 0; k < 16; ++k) std::memcpy(&cta.shared.at(place(0, row, k)), &a[row * 16 + k], 2);
        for (unsigned row = 0; row < 64; ++row)
            for (unsigned k = 0; k < 16; ++k) std::memcpy(&cta.shared.at(place(32768, row, k)), &b[row * 16 + k], 2);
        cta.a = tensor_descriptor(0, leading, stride, swizzle);
        cta.b = tensor_descriptor(32768, leading, stride, swizzle);
        cta.descriptor = 1u << 4 | 1u << 15 | 1u << 16 | 64 / 8 << 17 | 128 / 16 << 24;
        const auto after = cta.run("tcgen05.mma.cta_group::1.kind::f16 [%ta], %da, %db, %id, %p;");
        const auto parameters = numerics::parameters_for(target::generation_of(100), Format::fp16, Format::fp32, numerics::Instruction::tcgen05);
        unsigned wrong = 0;
        for (unsigned row = 0; row < 128; ++row)
            for (unsigned column = 0; column < 64; ++column)
                wrong += after[row * 512 + column] != numerics::dot_product(parameters, std::span(a).subspan(row * 16, 16), std::span(b).subspan(column * 16, 16), 0);
        CHECK(wrong == 0);
    }
}

TEST_CASE("A out of tensor memory, lanes that are not written, and a D that is scaled") {
    std::mt19937 generator(9);
    TensorCta cta;
    std::vector<std::uint32_t> a(128 * 16), b(32 * 16);
    for (auto& value : a) value = random_element(generator, Format::bf16);
    for (auto& value : b) value = random_element(generator, Format::bf16);
    for (unsigned row = 0; row < 128; ++row)
        for (unsigned k = 0; k < 16; ++k) cta.tensor[row * 512 + 100 + k / 2] |= a[row * 16 + k] << k % 2 * 16;
    for (unsigned row = 0; row < 32; ++row)
        for (unsigned k = 0; k < 16; ++k) std::memcpy(&cta.shared.at(canonical_address(Majorness::k, 0, 2, 0, 128, 256, row, k)), &b[row * 16 + k], 2);
    for (unsigned row = 0; row < 128; ++row)
        for (unsigned column = 0; column < 32; ++column) cta.tensor[row * 512 + column] = std::bit_cast<std::uint32_t>(static_cast<float>(row) - 3.5f * static_cast<float>(column));
    cta.b = tensor_descriptor(0, 128, 256, 0);
    cta.descriptor = 1u << 4 | 1u << 7 | 1u << 10 | 32 / 8 << 17 | 128 / 16 << 24;
    const auto after = cta.run("add.u32 %x5, %ta, 100; mov.b32 %x1, 5; mov.b32 %x2, 0; mov.b32 %x3, -1; mov.b32 %x4, 0;\n"
                               "tcgen05.mma.cta_group::1.kind::f16.collector::a::lastuse [%ta], [%x5], %db, %id, {%x1, %x2, %x3, %x4}, %p, 3;");
    const auto parameters = numerics::parameters_for(target::generation_of(100), Format::bf16, Format::fp32, numerics::Instruction::tcgen05);
    unsigned wrong = 0;
    for (unsigned row = 0; row < 128; ++row) {
        for (unsigned column = 0; column < 32; ++column) {
            const float old = static_cast<float>(row) - 3.5f * static_cast<float>(column);
            const bool disabled = row == 0 || row == 2 || row / 32 == 2;
            const std::uint32_t expected = disabled ? std::bit_cast<std::uint32_t>(old)
                                                    : numerics::dot_product(parameters, std::span(a).subspan(row * 16, 16), std::span(b).subspan(column * 16, 16), std::bit_cast<std::uint32_t>(old / 8));
            wrong += after[row * 512 + column] != expected;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("sparse A: metadata choose the elements of B") {
    std::mt19937 generator(17);
    TensorCta cta;
    cta.enable = 0;
    std::vector<std::uint32_t> a(128 * 16), b(16 * 32);
    for (auto& value : a) value = random_element(generator, Format::fp16);
    for (auto& value : b) value = random_element(generator, Format::fp16);
    std::vector<unsigned> kept(128 * 16);
    for (unsigned row = 0; row < 128; ++row) {
        for (unsigned chunk = 0; chunk < 8; ++chunk) {
            const unsigned first = generator() % 4, second = (first + 1 + generator() % 3) % 4;
            kept[row * 16 + 2 * chunk] = 4 * chunk + first;
            kept[row * 16 + 2 * chunk + 1] = 4 * chunk + second;
            // Lanes 0 to 7 of 16 hold the lower half of K, 8 to 15 the upper; rows 8 to 15 of 16 lie in the upper halves of words.
            const unsigned lane = row / 16 * 16 + row % 8 + (chunk < 4 ? 0 : 8);
            cta.tensor[lane * 512 + 200] |= (first | second << 2) << (row % 16 < 8 ? 0 : 16) << chunk % 4 * 4;
        }
    }
    for (unsigned row = 0; row < 128; ++row)
        for (unsigned k = 0; k < 16; ++k) std::memcpy(&cta.shared.at(canonical_address(Majorness::k, 3, 2, 0, 16, 1024, row, k)), &a[row * 16 + k], 2);
    for (unsigned row = 0; row < 16; ++row)
        for (unsigned k = 0; k < 32; ++k) std::memcpy(&cta.shared.at(canonical_address(Majorness::k, 3, 2, 32768, 16, 1024, row, k)), &b[row * 32 + k], 2);
    cta.a = tensor_descriptor(0, 16, 1024, 3);
    cta.b = tensor_descriptor(32768, 16, 1024, 3);
    cta.descriptor = 1u << 2 | 1u << 4 | 16 / 8 << 17 | 128 / 16 << 24;
    const auto after = cta.run("add.u32 %x1, %ta, 200; tcgen05.mma.sp.cta_group::1.kind::f16 [%ta], %da, %db, [%x1], %id, %p;");
    const auto parameters = numerics::parameters_for(target::generation_of(100), Format::fp16, Format::fp32, numerics::Instruction::tcgen05);
    unsigned wrong = 0;
    for (unsigned row = 0; row < 128; ++row) {
        for (unsigned column = 0; column < 16; ++column) {
            std::vector<std::uint32_t> selected(16);
            for (unsigned k = 0; k < 16; ++k) selected[k] = b[column * 32 + kept[row * 16 + k]];
            wrong += after[row * 512 + column] != numerics::dot_product(parameters, std::span(a).subspan(row * 16, 16), selected, 0);
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("block scales lie in tensor memory: mxf8f6f4, mxf4 and mxf4nvf4") {
    struct Scaled {
        std::string kind;
        Format format;
        unsigned code, depth, block;
        numerics::ScaleFormat scale;
        unsigned id;
    };
    const Scaled cases[] = {{"kind::mxf8f6f4.block_scale.scale_vec::1X", Format::e4m3, 0, 32, 32, numerics::ScaleFormat::ue8m0, 2},
                            {"kind::mxf8f6f4.block_scale", Format::e3m2, 4, 32, 32, numerics::ScaleFormat::ue8m0, 0},
                            {"kind::mxf4.block_scale.scale_vec::2X", Format::e2m1, 1, 64, 32, numerics::ScaleFormat::ue8m0, 2},
                            {"kind::mxf4nvf4.block_scale.block16", Format::e2m1, 1, 64, 16, numerics::ScaleFormat::ue4m3, 0},
                            {"kind::mxf4nvf4.block_scale.scale_vec::2X", Format::e2m1, 1, 64, 32, numerics::ScaleFormat::ue8m0, 0}};
    for (const Scaled& s : cases) {
        INFO(s.kind);
        std::mt19937 generator(31);
        TensorCta cta;
        std::vector<std::uint8_t> a(128 * s.depth), b(32 * s.depth);
        for (auto& value : a) value = static_cast<std::uint8_t>(random_element(generator, s.format));
        for (auto& value : b) value = static_cast<std::uint8_t>(random_element(generator, s.format));
        const auto store = [&](std::uint32_t start, const std::vector<std::uint8_t>& values) {
            for (unsigned i = 0; i < values.size(); ++i) {
                const unsigned row = i / s.depth, k = i % s.depth;
                if (s.depth == 64)
                    cta.shared.at(canonical_address(Majorness::k, 3, 1, start, 16, 1024, row, k / 2)) |= static_cast<std::uint8_t>(values[i] << k % 2 * 4);
                else
                    put(cta.shared, start, 3, 1024, s.format, row, k, values[i]);
            }
        };
        store(0, a);
        store(32768, b);
        const unsigned count = s.depth / s.block;
        std::vector<std::uint8_t> a_scales(128 * count), b_scales(32 * count);
        const auto scale = [&] { return static_cast<std::uint8_t>(s.scale == numerics::ScaleFormat::ue8m0 ? 120 + generator() % 16 : 0x20 + generator() % 0x30); };
        for (auto& value : a_scales) value = scale();
        for (auto& value : b_scales) value = scale();
        for (unsigned part = 0; part < 4; ++part) {
            for (unsigned row = 0; row < 128; ++row)
                for (unsigned j = 0; j < count; ++j) cta.tensor[(part * 32 + row % 32) * 512 + 300 + row / 32] |= std::uint32_t{a_scales[row * count + j]} << (s.id + j) * 8;
            for (unsigned row = 0; row < 32; ++row)
                for (unsigned j = 0; j < count; ++j) cta.tensor[(part * 32 + row) * 512 + 310] |= std::uint32_t{b_scales[row * count + j]} << (s.id + j) * 8;
        }
        cta.a = tensor_descriptor(0, 16, 1024, 3);
        cta.b = tensor_descriptor(32768, 16, 1024, 3);
        cta.enable = 0;
        cta.descriptor = s.id << 4 | s.code << 7 | s.code << 10 | 32 / 8 << 17 | (s.scale == numerics::ScaleFormat::ue8m0 ? 1u : 0u) << 23 | 1u << 27 | s.id << 29;
        const auto after = cta.run("add.u32 %x1, %ta, 300; add.u32 %x2, %ta, 310; tcgen05.mma.cta_group::1." + s.kind + " [%ta], %da, %db, %id, [%x1], [%x2], %p;");
        const auto parameters = s.depth == 32 ? numerics::mxf8f6f4_parameters(s.format, s.format) : numerics::mxf4nvf4_parameters(s.scale, s.block);
        unsigned wrong = 0;
        for (unsigned row = 0; row < 128; ++row) {
            for (unsigned column = 0; column < 32; ++column) {
                const std::uint32_t expected =
                    numerics::block_scaled_dot_product(parameters, std::span(a).subspan(row * s.depth, s.depth), std::span(b).subspan(column * s.depth, s.depth),
                                                       std::span(a_scales).subspan(row * count, count), std::span(b_scales).subspan(column * count, count), 0);
                wrong += after[row * 512 + column] != expected;
            }
        }
        CHECK(wrong == 0);
    }
}
