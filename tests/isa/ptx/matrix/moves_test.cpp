// ldmatrix, stmatrix, movmatrix.
#include <catch2/catch.hpp>

#include "../compare_modes.h"
#include "../launch.h"
#include "bench.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;

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

TEST_CASE("stmatrix, plain and transposed, shared and generic addresses", "[ptx][matrix]") {
    for (const unsigned count : {1u, 2u, 4u}) {
        for (const bool transposed : {false, true}) {
            for (const bool generic : {false, true}) {
                // Register m of lane l is the pair of numbers 256 m + 2 l and the next.
                std::string body =
                    ".reg .b32 %t, %s, %a, %v<4>, %w; .reg .b64 %y, %o, %g, %h; .shared .align 16 .b8 "
                    "buffer[512];\nmov.u32 %t, %tid.x; mov.u32 %s, buffer; ld.param.u64 %y, [y];\n"
                    "mov.u64 %g, buffer; cvta.shared.u64 %g, %g; mul.lo.u32 %v0, %t, 0x00020002; add.u32 "
                    "%v0, "
                    "%v0, 0x00010000; add.u32 %v1, %v0, 0x01000100; add.u32 %v2, %v1, 0x01000100; add.u32 "
                    "%v3, "
                    "%v2, 0x01000100;\n"
                    "mul.lo.u32 %a, %t, 16; add.u32 %a, %a, %s; mov.u32 %w, 0xFFFFFFFF; st.shared.v4.u32 "
                    "[%a], "
                    "{%w, %w, %w, %w}; bar.sync 0;\n"
                    // lane l gives row l, in reverse order
                    "sub.u32 %a, 31, %t; mul.wide.u32 %h, %a, 16; add.u64 %h, %h, %g; mad.lo.u32 %a, %a, 16, "
                    "%s;\nstmatrix.sync.aligned.m8n8.x" +
                    std::to_string(count) + (transposed ? ".trans" : "") +
                    (generic ? ".b16 [%h], " : ".shared.b16 [%a], ") + list("%v", 0, count) +
                    ";\nbar.sync 0; mul.lo.u32 %a, %t, 16; add.u32 %a, %a, %s; ld.shared.v4.u32 {%v0, %v1, "
                    "%v2, %v3}, [%a]; mul.wide.u32 %o, %t, 16; add.u64 %y, %y, %o; st.global.v4.u32 [%y], "
                    "{%v0, %v1, %v2, %v3}; ret;";
                const Program program(module_text(".param .u64 y", body), "test");
                Device device, timing;
                const auto y = device.upload("y", std::vector<std::uint16_t>(256));
                REQUIRE(timing.upload("y", std::vector<std::uint16_t>(256), false) == y);
                program.run(device, {1}, {32}, {argument(y)});
                const auto out = device.download<std::uint16_t>(y, 256);
                for (unsigned m = 0; m < 4; ++m) {
                    for (unsigned r = 0; r < 8; ++r) {
                        for (unsigned c = 0; c < 8; ++c) {
                            const unsigned row = transposed ? c : r, column = transposed ? r : c;
                            const unsigned expected = 256 * m + 8 * row + column;
                            REQUIRE(out[8 * (31 - 8 * m - r) + c] == (m < count ? expected : 0xFFFFu));
                        }
                    }
                }
                const ModeComparison modes =
                    compare_modes(program.launch(device, {1}, {32}, {argument(y)}),
                                  program.launch(timing, {1}, {32}, {argument(y)}, Mode::timing));
                CHECK(modes.differences == 0);
                CHECK(modes.accesses == 4);
            }
        }
    }
}

TEST_CASE("movmatrix turns a matrix", "[ptx][matrix]") {
    std::vector<std::uint32_t> input(32);
    // Lane l holds elements 2 (l % 4) and the next of row l / 4; the element is 16 row + column.
    for (unsigned lane = 0; lane < 32; ++lane) {
        const unsigned first = 16 * (lane / 4) + 2 * (lane % 4);
        input[lane] = first | (first + 1) << 16;
    }
    const auto output = run_warp("movmatrix.sync.aligned.m8n8.trans.b16 %d0, %r0;", 1, 1, input, 75);
    for (unsigned lane = 0; lane < 32; ++lane) {
        const unsigned row = lane / 4, column = 2 * (lane % 4);
        CHECK(output[lane] == (16 * column + row | (16 * (column + 1) + row) << 16));
    }
    // In place.
    const auto same =
        run_warp("mov.b32 %d0, %r0; movmatrix.sync.aligned.m8n8.trans.b16 %d0, %d0;", 1, 1, input, 75);
    CHECK(same == output);
}

TEST_CASE("ldmatrix and stmatrix with their suffixes in another order", "[ptx][matrix]") {
    // Both ways with the same transposition: memory comes out as it went in.
    for (const std::string order : {"x2.m8n8", "x2.trans.m8n8", "m8n8.x2"}) {
        const std::string body =
            ".reg .b32 %t, %s, %a, %v<2>, %w; .reg .b64 %x, %y, %o; .shared .align 16 .b8 from[256], "
            "to[256];\n"
            "mov.u32 %t, %tid.x; ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; mul.wide.u32 %o, %t, 8; add.u64 "
            "%x, "
            "%x, %o; add.u64 %y, %y, %o; mov.u32 %s, from; mad.lo.u32 %a, %t, 8, %s; ld.global.v2.u32 {%v0, "
            "%v1}, "
            "[%x]; st.shared.v2.u32 [%a], {%v0, %v1}; bar.sync 0;\n"
            "and.b32 %w, %t, 15; mad.lo.u32 %a, %w, 16, %s; ldmatrix.sync.aligned." +
            order +
            ".shared.b16 {%v0, %v1}, [%a];\nmov.u32 %s, to; mad.lo.u32 %a, %w, 16, %s; "
            "stmatrix.sync.aligned." +
            order +
            ".shared.b16 [%a], {%v0, %v1}; bar.sync 0;\nmad.lo.u32 %a, %t, 8, %s; ld.shared.v2.u32 {%v0, "
            "%v1}, "
            "[%a]; st.global.v2.u32 [%y], {%v0, %v1}; ret;";
        const Program program(module_text(".param .u64 x, .param .u64 y", body), "test");
        Device device;
        std::vector<std::uint16_t> numbers(128);
        for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::uint16_t>(1000 + i);
        const auto x = device.upload("x", numbers), y = device.upload("y", std::vector<std::uint16_t>(128));
        program.run(device, {1}, {32}, {argument(x), argument(y)});
        INFO(order);
        CHECK(device.download<std::uint16_t>(y, 128) == numbers);
    }
}
