// Blackwell's conversions, warp reductions, bulk stores and answers to requests for launches; and mma with block scales.
#include <catch2/catch.hpp>
#include <cmath>

#include "isa/common/error.h"
#include "isa/numerics/block_scaled.h"
#include "isa/numerics/dot_product_unit.h"
#include "isa/numerics/formats.h"
#include "isa/target/generation.h"
#include "tensor_harness.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;
using numerics::Format;

namespace {

// One warp; thread t has words in[t * 8 ...] in %v0 to %v7 (%f0 to %f7 the same), and stores %r0 and %r1.
std::vector<std::uint32_t> run_warp(const std::string& body, const std::vector<std::uint32_t>& in, unsigned capability = 100, const std::string& target = "sm_100a", unsigned results = 2) {
    std::string text = ".version 9.0\n.target " + target + "\n.address_size 64\n.shared .align 16 .b8 box[1024]; .shared .align 8 .b64 bar;\n.visible .entry test(.param .u64 out, .param .u64 in)\n{\n"
                       ".reg .b32 %v<8>, %r<8>, %t, %s; .reg .f32 %f<8>, %g<8>; .reg .b64 %o, %i, %x, %y; .reg .b16 %h<8>; .reg .b8 %b<4>; .reg .pred %p, %q; .reg .b128 %w;\n"
                       "ld.param.u64 %o, [out]; ld.param.u64 %i, [in]; mov.u32 %t, %tid.x; mad.wide.u32 %i, %t, 32, %i; mad.wide.u32 %o, %t, " + std::to_string(4 * results) + ", %o;\n";
    for (unsigned r = 0; r < 8; ++r) text += "ld.global.b32 %v" + std::to_string(r) + ", [%i+" + std::to_string(4 * r) + "]; mov.b32 %f" + std::to_string(r) + ", %v" + std::to_string(r) + "; mov.b32 %r" + std::to_string(r) + ", 0;\n";
    text += body + "\n";
    for (unsigned r = 0; r < results; ++r) text += "st.global.b32 [%o+" + std::to_string(4 * r) + "], %r" + std::to_string(r) + ";\n";
    const Program program(text + "ret;\n}\n", "test");
    Device device;
    const std::uint64_t out = device.upload("out", std::vector<std::uint32_t>(32 * results)), address = device.upload("in", in);
    LaunchContext context = program.launch(device, {1}, {32}, {argument(out), argument(address)});
    context.compute_capability = capability;
    run_functionally(context);
    return device.download<std::uint32_t>(out, 32 * results);
}

std::vector<std::uint32_t> some_floats(unsigned seed) {
    std::mt19937 generator(seed);
    std::vector<std::uint32_t> values(32 * 8);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const float small = static_cast<float>(static_cast<int>(generator() % 4001) - 2000) / 137.0f;
        values[i] = i % 17 == 3 ? generator() : i % 29 == 5 ? 0x7F800000u : i % 31 == 7 ? 0x7FC00000u : std::bit_cast<std::uint32_t>(small);
    }
    return values;
}

}  // namespace

TEST_CASE("pairs of 4-bit and 6-bit floats: what numerics rounds, the first operand in the upper part") {
    const auto in = some_floats(1);
    const numerics::Conversion nearest{.overflow = numerics::Overflow::saturate};
    const auto out = run_warp("cvt.rn.satfinite.e2m1x2.f32 %b0, %f0, %f1; cvt.u32.u8 %r0, %b0; cvt.rn.satfinite.e2m3x2.f32 %h0, %f0, %f1; cvt.rn.satfinite.relu.e3m2x2.f32 %h1, %f2, %f3; mov.b32 %r1, {%h0, %h1};", in);
    for (unsigned t = 0; t < 32; ++t) {
        const auto bits = [&](Format format, unsigned v) { return static_cast<std::uint32_t>(numerics::convert(format, Format::fp32, in[t * 8 + v], nearest)); };
        CHECK(out[2 * t] == (bits(Format::e2m1, 0) << 4 | bits(Format::e2m1, 1)));
        const auto positive = [&](unsigned v) {
            const std::uint32_t code = bits(Format::e3m2, v);
            return numerics::to_double(Format::e3m2, code) <= 0 ? 0u : code;
        };
        CHECK(out[2 * t + 1] == ((bits(Format::e2m3, 0) << 8 | bits(Format::e2m3, 1)) | (positive(2) << 8 | positive(3)) << 16));
    }
    const auto back = run_warp("and.b32 %v0, %v0, 255; cvt.u8.u32 %b0, %v0; cvt.rn.f16x2.e2m1x2 %r0, %b0; and.b32 %v1, %v1, 0x3F3F; cvt.u16.u32 %h0, %v1; cvt.rn.f16x2.e2m3x2 %r1, %h0;", in);
    for (unsigned t = 0; t < 32; ++t) {
        const std::uint32_t v = in[t * 8], w = in[t * 8 + 1] & 0x3F3F;
        const auto half = [](Format from, std::uint32_t code) { return static_cast<std::uint32_t>(numerics::convert(Format::fp16, from, code)); };
        CHECK(back[2 * t] == (half(Format::e2m1, v >> 4 & 15) << 16 | half(Format::e2m1, v & 15)));
        CHECK(back[2 * t + 1] == (half(Format::e2m3, w >> 8) << 16 | half(Format::e2m3, w & 63)));
    }
}

TEST_CASE("scales are powers of two: the next below, or above, and back exactly") {
    std::vector<std::uint32_t> in(32 * 8);
    const float values[] = {1.0f, 1.5f, 2.0f, 0.75f, 3e38f, 1e-40f, 0.0f, 5.9e-39f};
    for (unsigned t = 0; t < 32; ++t)
        for (unsigned v = 0; v < 8; ++v) in[t * 8 + v] = std::bit_cast<std::uint32_t>(values[(t + v) % 8]);
    const auto out = run_warp("cvt.rz.satfinite.ue8m0x2.f32 %h0, %f0, %f1; cvt.rp.satfinite.ue8m0x2.f32 %h1, %f0, %f1; mov.b32 %r0, {%h0, %h1}; cvt.rn.bf16x2.ue8m0x2 %r1, %h0;", in);
    for (unsigned t = 0; t < 32; ++t) {
        for (unsigned v = 0; v < 2; ++v) {
            const double value = std::bit_cast<float>(in[t * 8 + v]);
            const double down = value < std::ldexp(1.0, -126) ? 0 : std::floor(std::log2(value)) + 127;
            const double up = value <= std::ldexp(1.0, -127) ? 0 : std::min(254.0, std::ceil(std::log2(value)) + 127);
            const unsigned shift = v == 0 ? 8 : 0;
            CHECK((out[2 * t] >> shift & 255) == static_cast<unsigned>(down));
            CHECK((out[2 * t] >> 16 >> shift & 255) == static_cast<unsigned>(up));
            const float back = std::bit_cast<float>((out[2 * t + 1] >> (v == 0 ? 16 : 0)) << 16);
            CHECK(back == static_cast<float>(std::ldexp(1.0, static_cast<int>(down) - 127)));
        }
    }
}

TEST_CASE("stochastic rounding goes up as often as the part that is cut says") {
    // 1 + 3/8 of a last place of bf16, with every random word of 16 bits in steps: 3 of 8 go up.
    std::vector<std::uint32_t> in(32 * 8);
    for (unsigned t = 0; t < 32; ++t) {
        in[t * 8] = in[t * 8 + 1] = std::bit_cast<std::uint32_t>(1.0f + 3.0f / 8 / 128);
        in[t * 8 + 2] = t * 2048 | t * 2048 << 16;
        in[t * 8 + 3] = std::bit_cast<std::uint32_t>(1.25f);
        in[t * 8 + 4] = t * 8 * 0x01010101u;
    }
    const auto out = run_warp("cvt.rs.bf16x2.f32 %r0, %f0, %f1, %v2; cvt.rs.satfinite.e2m1x4.f32 %h0, {%f3, %f3, %f3, %f3}, %v4; cvt.u32.u16 %r1, %h0;", in);
    unsigned up = 0, up_narrow = 0;
    for (unsigned t = 0; t < 32; ++t) {
        CHECK((out[2 * t] & 0xFFFF) == out[2 * t] >> 16);
        up += (out[2 * t] & 0xFFFF) == 0x3F81;
        CHECK(((out[2 * t] & 0xFFFF) == 0x3F81 || (out[2 * t] & 0xFFFF) == 0x3F80));
        up_narrow += (out[2 * t + 1] & 15) == 3;  // 1.5, else 1
    }
    CHECK(up == 12);
    CHECK(up_narrow == 16);
}

TEST_CASE("redux and min of three on single precision") {
    auto in = some_floats(7);
    const auto out = run_warp("redux.sync.max.abs.f32 %f4, %f0, -1; mov.b32 %r0, %f4; redux.sync.min.NaN.f32 %f5, %f6, -1; mov.b32 %r1, %f5; min.f32 %f7, %f1, %f2, %f3; mov.b32 %r2, %f7; max.NaN.abs.f32 %f7, %f1, %f2, %f3; mov.b32 %r3, %f7;", in, 100, "sm_100a", 4);
    float largest = 0, smallest = INFINITY;
    bool nan = false;
    for (unsigned t = 0; t < 32; ++t) {
        const float v = std::bit_cast<float>(in[t * 8]), w = std::bit_cast<float>(in[t * 8 + 6]);
        if (!std::isnan(v)) largest = std::max(largest, std::fabs(v));
        nan = nan || std::isnan(w);
        smallest = std::min(smallest, w);
    }
    for (unsigned t = 0; t < 32; ++t) {
        CHECK(std::bit_cast<float>(out[4 * t]) == largest);
        if (nan) CHECK(out[4 * t + 1] == 0x7FFFFFFFu);
        else CHECK(std::bit_cast<float>(out[4 * t + 1]) == smallest);
        const float a = std::bit_cast<float>(in[t * 8 + 1]), b = std::bit_cast<float>(in[t * 8 + 2]), c = std::bit_cast<float>(in[t * 8 + 3]);
        if (std::isnan(a) || std::isnan(b) || std::isnan(c)) {
            CHECK(out[4 * t + 3] == 0x7FFFFFFFu);
        } else {
            CHECK(std::bit_cast<float>(out[4 * t + 2]) == std::min({a, b, c}));
            CHECK(std::bit_cast<float>(out[4 * t + 3]) == std::max({std::fabs(a), std::fabs(b), std::fabs(c)}));
        }
    }
}

TEST_CASE("a request to cancel a launch is declined and its barrier told, and st.bulk writes zeros") {
    const std::string body = "setp.eq.u32 %p, %t, 0; @!%p bra go; mbarrier.init.shared::cta.b64 [bar], 1; mov.b32 %s, -1; st.shared.b32 [box+16], %s; st.shared.b32 [box+12], %s; mov.u64 %y, 8; st.bulk.weak.shared::cta [box+16], %y, 0;\n"
                             "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [box], [bar];\n"
                             "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16; go: bar.sync 0;\nagain: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0; @!%q bra again;\n"
                             "ld.shared.v2.b64 {%x, %y}, [box]; mov.b128 %w, {%x, %y}; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %q, %w; selp.b32 %r0, 1, 2, %q; ld.shared.b32 {%r1}, [box+16]; ld.shared.b32 %r2, [box+12];";
    const auto out = run_warp(body, std::vector<std::uint32_t>(256), 100, "sm_100a", 3);
    CHECK(out[0] == 2);
    CHECK(out[1] == 0);
    CHECK(out[2] == 0);
}

TEST_CASE("ldmatrix gives each element of 6 or 4 bits a byte") {
    std::vector<std::uint32_t> in(256);
    std::mt19937 generator(3);
    for (auto& word : in) word = generator();
    // Lanes 0 to 7 store rows of 16 bytes, and give their addresses.
    const std::string store = "mov.u32 %s, box; mad.lo.u32 %s, %t, 16, %s; setp.lt.u32 %p, %t, 8; @%p st.shared.v4.b32 [%s], {%v0, %v1, %v2, %v3}; bar.sync 0;\n";
    const auto six = run_warp(store + "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32 {%r0}, [%s];", in);
    const auto four = run_warp(store + "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64 {%r0}, [%s];", in);
    const auto element = [&](unsigned row, unsigned e, unsigned bits) {
        unsigned value = 0;
        for (unsigned b = 0; b < bits; ++b) value |= (in[row * 8 + (e * bits + b) / 32] >> (e * bits + b) % 32 & 1u) << b;
        return value;
    };
    for (unsigned lane = 0; lane < 32; ++lane) {
        for (unsigned e = 0; e < 4; ++e) {
            CHECK((six[2 * lane] >> 8 * e & 255) == element(lane / 4, 4 * (lane % 4) + e, 6));
            CHECK((four[2 * lane] >> 8 * e & 255) == element(lane / 4, 4 * (lane % 4) + e, 4));
        }
    }
}

TEST_CASE("mma of narrow formats and block scales on a graphics board") {
    std::mt19937 generator(11);
    struct Case {
        std::string kind;
        Format a, b;
        std::string types;
        unsigned block;
        numerics::ScaleFormat scale;
        unsigned byte, thread_a, thread_b;
    };
    const Case cases[] = {{"kind::f8f6f4", Format::e4m3, Format::e2m1, "f32.e4m3.e2m1.f32", 0, numerics::ScaleFormat::ue8m0, 0, 0, 0},
                          {"kind::f8f6f4", Format::e3m2, Format::e2m3, "f32.e3m2.e2m3.f32", 0, numerics::ScaleFormat::ue8m0, 0, 0, 0},
                          {"kind::mxf8f6f4.block_scale.scale_vec::1X", Format::e5m2, Format::e3m2, "f32.e5m2.e3m2.f32.ue8m0", 32, numerics::ScaleFormat::ue8m0, 3, 1, 2},
                          {"kind::mxf4.block_scale.scale_vec::2X", Format::e2m1, Format::e2m1, "f32.e2m1.e2m1.f32.ue8m0", 32, numerics::ScaleFormat::ue8m0, 2, 0, 1},
                          {"kind::mxf4nvf4.block_scale.scale_vec::4X", Format::e2m1, Format::e2m1, "f32.e2m1.e2m1.f32.ue4m3", 16, numerics::ScaleFormat::ue4m3, 0, 1, 3}};
    for (const Case& c : cases) {
        INFO(c.kind << " " << c.types);
        const bool packed = c.types.find("e2m1.e2m1") != std::string::npos;
        const unsigned depth = packed ? 64 : 32, count = c.block == 0 ? 0 : depth / c.block;
        std::vector<std::uint8_t> a(16 * depth), b(8 * depth), a_scales(16 * 4), b_scales(8 * 4);
        const auto element = [&](Format f) -> std::uint8_t {
            const auto bits = static_cast<std::uint8_t>(generator());
            if (f == Format::e2m1) return bits & 15;
            if (f == Format::e2m3 || f == Format::e3m2) return bits & 63;
            return (bits & 0x78) == 0x78 ? 0x31 : bits;
        };
        for (auto& value : a) value = element(c.a);
        for (auto& value : b) value = element(c.b);
        for (auto& value : a_scales) value = static_cast<std::uint8_t>(c.scale == numerics::ScaleFormat::ue8m0 ? 122 + generator() % 10 : 0x28 + generator() % 0x20);
        for (auto& value : b_scales) value = static_cast<std::uint8_t>(c.scale == numerics::ScaleFormat::ue8m0 ? 122 + generator() % 10 : 0x28 + generator() % 0x20);
        // "Matrix fragments for mma.m16n8k32": register r of A: row lane / 4 + 8 (r % 2), bytes 4 (lane % 4) + 16 (r / 2) on.
        std::vector<std::uint32_t> in(32 * 8);
        const auto byte_of = [&](const std::vector<std::uint8_t>& m, Format f, unsigned row, unsigned byte) -> std::uint32_t {
            if (packed) return m[row * 64 + 2 * byte] | m[row * 64 + 2 * byte + 1] << 4;
            return f == Format::e2m1 ? m[row * 32 + byte] << 2 : m[row * 32 + byte];
        };
        for (unsigned lane = 0; lane < 32; ++lane) {
            for (unsigned r = 0; r < 4; ++r)
                for (unsigned k = 0; k < 4; ++k) in[lane * 8 + r] |= byte_of(a, c.a, lane / 4 + 8 * (r % 2), 4 * (lane % 4) + 16 * (r / 2) + k) << 8 * k;
            for (unsigned r = 0; r < 2; ++r)
                for (unsigned k = 0; k < 4; ++k) in[lane * 8 + 4 + r] |= byte_of(b, c.b, lane / 4, 4 * (lane % 4) + 16 * r + k) << 8 * k;
            for (unsigned s = 0; s < count; ++s) {
                if (lane % 4 / 2 == c.thread_a) in[lane * 8 + 6] |= std::uint32_t{a_scales[(lane / 4 + 8 * (lane % 2)) * count + s]} << 8 * (c.byte + s);
                if (lane % 4 == c.thread_b) in[lane * 8 + 7] |= std::uint32_t{b_scales[lane / 4 * count + s]} << 8 * (c.byte + s);
            }
        }
        std::string body = "mov.b32 %f4, 0f3F000000; mov.b32 %f5, 0f3F000000; mov.b32 %f6, 0f3F000000; mov.b32 %f7, 0f3F000000;\nmma.sync.aligned." + c.kind + ".m16n8k" + std::to_string(depth) + ".row.col." + c.types +
                           " {%f0, %f1, %f2, %f3}, {%v0, %v1, %v2, %v3}, {%v4, %v5}, {%f4, %f5, %f6, %f7}";
        if (c.block != 0)
            body += ", {%v6}, {" + std::to_string(c.byte) + ", " + std::to_string(c.thread_a) + "}, {%v7}, {" + std::to_string(c.byte) + ", " + std::to_string(c.thread_b) + "}";
        body += ";\nmov.b32 %r0, %f0; mov.b32 %r1, %f1; mov.b32 %r2, %f2; mov.b32 %r3, %f3;";
        const auto out = run_warp(body, in, 120, "sm_120a", 4);
        unsigned wrong = 0;
        for (unsigned lane = 0; lane < 32; ++lane) {
            for (unsigned r = 0; r < 4; ++r) {
                const unsigned row = lane / 4 + 8 * (r / 2), column = 2 * (lane % 4) + r % 2;
                std::uint32_t expected = 0;
                if (c.block == 0) {
                    const std::vector<std::uint32_t> x(a.begin() + row * 32, a.begin() + row * 32 + 32), y(b.begin() + column * 32, b.begin() + column * 32 + 32);
                    expected = numerics::dot_product(numerics::parameters_for(target::generation_of(120), c.a, c.b, Format::fp32, numerics::Instruction::mma_sync), x, y, 0x3F000000u);
                } else {
                    const auto parameters = packed ? numerics::mxf4nvf4_parameters(c.scale, c.block) : numerics::mxf8f6f4_parameters(c.a, c.b);
                    expected = numerics::block_scaled_dot_product(parameters, std::span(a).subspan(row * depth, depth), std::span(b).subspan(column * depth, depth), std::span(a_scales).subspan(row * count, count),
                                                                  std::span(b_scales).subspan(column * count, count), 0x3F000000u);
                }
                wrong += out[lane * 4 + r] != expected;
            }
        }
        CHECK(wrong == 0);
    }
}
