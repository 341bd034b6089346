// Rarer forms of integer, logic, comparison, conversion and move instructions against plain host arithmetic.
#include <bit>
#include <catch2/catch.hpp>

#include "compare_modes.h"
#include "instruction_bench.h"
#include "isa/numerics/formats.h"
#include "launch.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;
namespace numerics = heddle::numerics;

namespace {

__extension__ typedef unsigned __int128 Wide;
__extension__ typedef __int128 SignedWide;

double number(const std::string& type, std::uint64_t bits) {
    using numerics::Format;
    if (type == "f64") return std::bit_cast<double>(bits);
    if (type == "f32") return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (type == "f16") return numerics::to_double(Format::fp16, bits & 0xFFFFu);
    if (type == "bf16") return numerics::to_double(Format::bf16, bits & 0xFFFFu);
    const unsigned width = static_cast<unsigned>(std::stoul(type.substr(1)));
    const std::uint64_t low = width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
    if (type[0] != 's') return static_cast<double>(low);
    return static_cast<double>(static_cast<std::int64_t>(low << (64 - width)) >> (64 - width));
}

bool holds(const std::string& comparison, double a, double b) {
    const bool ordered = a == a && b == b;
    if (comparison == "num") return ordered;
    if (comparison == "nan") return !ordered;
    const bool unordered_form = comparison.size() == 3;
    if (!ordered) return unordered_form;
    const std::string base = comparison.substr(0, 2);
    if (base == "eq") return a == b;
    if (base == "ne") return a != b;
    if (base == "lt" || base == "lo") return a < b;
    if (base == "le" || base == "ls") return a <= b;
    if (base == "gt" || base == "hi") return a > b;
    return a >= b;
}

bool combined(const std::string& operation, bool value, bool other) {
    if (operation == "and") return value && other;
    if (operation == "or") return value || other;
    return operation == "xor" ? value != other : value;
}

std::uint64_t written_true(const std::string& type) {
    if (type == "f32") return 0x3F800000;
    if (type == "f16") return 0x3C00;
    if (type == "bf16") return 0x3F80;
    return type.ends_with("16") ? 0xFFFF : 0xFFFFFFFF;
}

}  // namespace

TEST_CASE("Carries of 64-bit multiply-adds and of 16-bit sums", "[ptx][scalar]") {
    // The carry goes into the sum of the next instruction: 0 + 0 + carry.
    for (const char* const type : {"u64", "s64"}) {
        const std::string t = type;
        const auto high = [&](std::uint64_t a, std::uint64_t b) -> std::uint64_t {
            if (t == "u64") return static_cast<std::uint64_t>(Wide{a} * b >> 64);
            return static_cast<std::uint64_t>(
                static_cast<SignedWide>(static_cast<std::int64_t>(a)) * static_cast<std::int64_t>(b) >> 64);
        };
        const std::vector<std::string> types = {t, t, t};
        check_instruction("mad.lo.cc." + t + " %d, %a, %b, %c; addc.u64 %d, 0, 0;", types, t,
                          [](auto a, auto b, auto c) { return static_cast<std::uint64_t>(a * b + c < c); });
        check_instruction("mad.hi.cc." + t + " %d, %a, %b, %c;", types, t,
                          [&](auto a, auto b, auto c) { return high(a, b) + c; });
        check_instruction("mad.hi.cc." + t + " %d, %a, %b, %c; madc.lo." + t + " %d, %a, %b, %c;", types, t,
                          [&](auto a, auto b, auto c) { return a * b + c + (high(a, b) + c < c ? 1 : 0); });
        check_instruction("add.cc.u64 %d, %a, %b; madc.hi.cc." + t + " %d, %a, %b, %c; addc.u64 %d, 0, 0;",
                          types, t, [&](auto a, auto b, auto c) {
                              const Wide total = Wide{high(a, b)} + c + (a + b < a ? 1 : 0);
                              return static_cast<std::uint64_t>(total >> 64);
                          });
    }
    const std::vector<std::string> three = {"u16", "u16", "u32"};
    check_instruction("add.cc.u32 %t, %c, 0xFFFFFFFF; addc.u16 %d, %a, %b;", three, "u16",
                      [](auto a, auto b, auto c) { return a + b + (c != 0 ? 1 : 0); });
    check_instruction("sub.cc.u32 %t, %c, 5; subc.s16 %d, %a, %b;", three, "u16",
                      [](auto a, auto b, auto c) { return a - b - ((c & 0xFFFFFFFFu) < 5 ? 1 : 0); });
    check_instruction(
        "add.cc.u32 %t, %c, 0xFFFFFFFF; madc.hi.s16 %d, %a, %b, %a;", {"s16", "s16", "u32"}, "u16",
        [](auto a, auto b, auto c) {
            const std::int32_t product = static_cast<std::int16_t>(a) * static_cast<std::int16_t>(b);
            return static_cast<std::uint64_t>((product >> 16) + static_cast<int>(a) + (c != 0 ? 1 : 0));
        });
    check_instruction(
        "mad24.hi.sat.s32 %d, %a, %b, %c;", {"s32", "s32", "s32"}, "s32", [](auto a, auto b, auto c) {
            const auto low24 = [](std::uint64_t x) { return static_cast<std::int64_t>(x << 40) >> 40; };
            const std::int64_t product = low24(a) * low24(b);
            const std::int64_t sum =
                static_cast<std::int32_t>(product >> 16) + std::int64_t{static_cast<std::int32_t>(c)};
            return static_cast<std::uint64_t>(std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX));
        });
}

TEST_CASE("lop3 with a predicate", "[ptx][scalar]") {
    for (const unsigned table : {0x00u, 0x1Bu, 0x80u, 0xE8u, 0xFFu}) {
        const auto looked_up = [=](std::uint64_t a, std::uint64_t b, std::uint64_t c) {
            std::uint32_t result = 0;
            for (unsigned bit = 0; bit < 32; ++bit) {
                const unsigned index = (a >> bit & 1u) << 2 | (b >> bit & 1u) << 1 | (c >> bit & 1u);
                result |= (table >> index & 1u) << bit;
            }
            return result;
        };
        const std::string number = std::to_string(table);
        const std::vector<std::string> types = {"b32", "b32", "b32"};
        const std::string condition = "setp.lt.u32 %q, %a, %b; ";
        check_instruction(
            condition + "lop3.or.b32 %t|%d, %a, %b, %c, " + number + ", %q;", types, "pred",
            [=](auto a, auto b, auto c) -> std::uint64_t { return looked_up(a, b, c) != 0 || a < b; });
        check_instruction(
            condition + "lop3.and.b32 _|%d, %a, %b, %c, " + number + ", !%q;", types, "pred",
            [=](auto a, auto b, auto c) -> std::uint64_t { return looked_up(a, b, c) != 0 && a >= b; });
        check_instruction(condition + "lop3.and.b32 %d|%q, %a, %b, %c, " + number + ", %q;", types, "b32",
                          looked_up);
    }
}

TEST_CASE("set in every pair of types, with boolean operations", "[ptx][scalar]") {
    const auto check = [](const std::string& comparison, const std::string& operation, const std::string& to,
                          const std::string& from) {
        const std::string suffix = operation.empty() ? "" : "." + operation;
        const std::string lines = "setp.eq.u32 %q, %c, 1; set." + comparison + suffix + "." + to + "." +
                                  from + " %d, %a, %b" + (operation.empty() ? ";" : ", !%q;");
        check_instruction(lines, {from, from, "u32"}, to, [&](auto a, auto b, auto c) {
            // 64-bit integers are compared as integers.
            bool value = holds(comparison, number(from, a), number(from, b));
            if (from == "u64") value = holds(comparison, a < b ? 0 : 1, a > b ? 0 : 1);
            if (from == "s64") {
                const auto x = static_cast<std::int64_t>(a), y = static_cast<std::int64_t>(b);
                value = holds(comparison, x < y ? 0 : 1, x > y ? 0 : 1);
            }
            return combined(operation, value, c != 1) ? written_true(to) : 0;
        });
    };
    for (const char* const to : {"u32", "s32", "f32", "f16", "bf16"}) {
        for (const char* const from : {"u16", "s16", "u32", "s32", "u64", "s64"}) {
            check("le", "", to, from);
            check("ne", "xor", to, from);
        }
        for (const char* const from : {"f32", "f64"}) {
            check("ltu", "", to, from);
            check("nan", "or", to, from);
            check("ge", "and", to, from);
        }
    }
    check("hi", "and", "u32", "u64");
    check("lo", "", "bf16", "u16");
    for (const char* const to : {"u16", "s16", "u32", "f16", "bf16"}) {
        check("gt", "", to, "f16");
        check("equ", "and", to, "f16");
    }
    for (const char* const to : {"u16", "s32", "bf16"}) check("neu", "xor", to, "bf16");
}

TEST_CASE("Comparison of packed halves with boolean operations", "[ptx][scalar]") {
    for (const char* const type : {"f16", "bf16"}) {
        const std::string packed = std::string(type) + "x2";
        for (const char* const operation : {"and", "or", "xor"}) {
            const auto value = [&](std::uint64_t a, std::uint64_t b, std::uint64_t c, unsigned half) {
                const bool less = holds("ltu", number(type, a >> 16 * half), number(type, b >> 16 * half));
                return combined(operation, less, c == 1);
            };
            const std::string condition = "setp.eq.u32 %q, %c, 1; ";
            const std::vector<std::string> types = {packed, packed, "u32"};
            const std::string form = std::string("ltu.") + operation + ".";
            check_instruction(condition + "setp." + form + packed + " %q|%d, %a, %b, %q;", types, "pred",
                              [&](auto a, auto b, auto c) -> std::uint64_t { return value(a, b, c, 1); });
            check_instruction(condition + "setp." + form + packed + " %d, %a, %b, %q;", types, "pred",
                              [&](auto a, auto b, auto c) -> std::uint64_t { return value(a, b, c, 0); });
            check_instruction(condition + "setp." + form + type + " %d, %a, %b, !%q;", {type, type, "u32"},
                              "pred", [&](auto a, auto b, auto c) -> std::uint64_t {
                                  return combined(operation, holds("ltu", number(type, a), number(type, b)),
                                                  c != 1);
                              });
            const std::uint64_t yes = written_true(type);
            check_instruction(condition + "set." + form + packed + "." + packed + " %d, %a, %b, %q;", types,
                              packed, [&](auto a, auto b, auto c) -> std::uint64_t {
                                  return (value(a, b, c, 0) ? yes : 0) | (value(a, b, c, 1) ? yes << 16 : 0);
                              });
        }
    }
}

TEST_CASE("Minimum and maximum of magnitudes", "[ptx][scalar]") {
    const auto extreme = [](const std::string& type, bool maximum, bool propagates, std::uint64_t a,
                            std::uint64_t b) {
        const std::uint64_t sign_bit = type == "f32" ? 0x80000000u : 0x8000u;
        const std::uint64_t nan = sign_bit - 1, x = a & nan, y = b & nan;
        const bool a_nan = number(type, a) != number(type, a), b_nan = number(type, b) != number(type, b);
        if ((a_nan && b_nan) || (propagates && (a_nan || b_nan))) return nan;
        const std::uint64_t magnitude = a_nan ? y : b_nan ? x : maximum ? std::max(x, y) : std::min(x, y);
        return magnitude | ((a ^ b) & sign_bit);
    };
    for (const char* const type : {"f32", "f16", "bf16"}) {
        for (const bool maximum : {false, true}) {
            for (const bool propagates : {false, true}) {
                const std::string lines = std::string(maximum ? "max" : "min") + (propagates ? ".NaN" : "") +
                                          ".xorsign.abs." + type;
                check_instruction(lines + " %d, %a, %b;", {type, type}, type, [&](auto a, auto b, auto) {
                    return extreme(type, maximum, propagates, a, b);
                });
                if (type == std::string("f32")) continue;
                const std::string packed = std::string(type) + "x2";
                check_instruction(
                    lines + "x2 %d, %a, %b;", {packed, packed}, packed, [&](auto a, auto b, auto) {
                        return extreme(type, maximum, propagates, a & 0xFFFF, b & 0xFFFF) |
                               extreme(type, maximum, propagates, a >> 16 & 0xFFFF, b >> 16 & 0xFFFF) << 16;
                    });
            }
        }
    }
}

TEST_CASE("cvt.pack clamps and packs", "[ptx][scalar]") {
    for (const char* const part : {"u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"}) {
        const unsigned bits = static_cast<unsigned>(std::stoul(part + 1));
        const std::int64_t low = part[0] == 's' ? -(std::int64_t{1} << (bits - 1)) : 0;
        const std::int64_t high = low + (std::int64_t{1} << bits) - 1;
        const auto clamped = [=](std::uint64_t a) {
            const std::int64_t value = static_cast<std::int32_t>(a);
            return static_cast<std::uint64_t>(std::clamp(value, low, high)) & ((1u << bits) - 1);
        };
        const std::string lines = std::string("cvt.pack.sat.") + part + ".s32";
        if (bits == 16) {
            check_instruction(lines + " %d, %a, %b;", {"s32", "s32"}, "b32",
                              [&](auto a, auto b, auto) { return clamped(a) << 16 | clamped(b); });
            continue;
        }
        check_instruction(
            lines + ".b32 %d, %a, %b, %c;", {"s32", "s32", "b32"}, "b32",
            [&](auto a, auto b, auto c) { return c << 2 * bits | clamped(a) << bits | clamped(b); });
    }
    // The manual's example packs four values with two instructions, the first ones ending up on top.
    const Evaluation four =
        evaluate("cvt.pack.sat.u8.s32.b32 %t, %a, %b, 0; cvt.pack.sat.u8.s32.b32 %d, 300, -4, %t;",
                 {"s32", "s32"}, "b32", {{5}, {6}});
    CHECK(four.results[0] == 0x0506FF00u);
}

TEST_CASE("Moves between registers and their bytes", "[ptx][scalar]") {
    check_instruction(
        "{ .reg .b8 %x<4>; mov.b32 {%x0, %x1, %x2, %x3}, %a; mov.b32 %d, {%x3, %x2, %x1, %x0}; }", {"b32"},
        "b32", [](auto a, auto, auto) { return __builtin_bswap32(static_cast<std::uint32_t>(a)); });
    check_instruction("{ .reg .b8 %x<2>; mov.b16 {%x0, %x1}, %a; mov.b16 %d, {%x1, %x0}; }", {"b16"}, "b16",
                      [](auto a, auto, auto) { return __builtin_bswap16(static_cast<std::uint16_t>(a)); });
    check_instruction(
        "{ .reg .b128 %x, %y; .reg .b64 %l, %h; mov.b128 %x, {%a, %b}; mov.b128 %y, %x; mov.b128 {%l, %h}, "
        "%y;"
        " sub.u64 %d, %h, %l; }",
        {"b64", "b64"}, "b64", [](auto a, auto b, auto) { return b - a; });
    // The launch of the bench has blocks of 100 threads.
    check_instruction("mov.u16 %d, %ntid.x; add.u16 %d, %d, %a;", {"u16"}, "u16",
                      [](auto a, auto, auto) { return a + 100; });
    for (const char* const name : {"tid.w", "ntid.w", "nctaid.w", "envreg7", "pm3", "cluster_ctarank"}) {
        check_instruction("mov.u32 %d, %" + std::string(name) + "; add.u32 %d, %d, %a;", {"u32"}, "u32",
                          [](auto a, auto, auto) { return a; });
    }
    check_instruction("mov.u64 %d, %current_graph_exec; add.u64 %d, %d, %a;", {"u64"}, "u64",
                      [](auto a, auto, auto) { return a; });
    check_instruction("mov.u32 %d, %gridid; add.u32 %d, %d, %a;", {"u32"}, "u32",
                      [](auto a, auto, auto) { return a; });
}

namespace {

// One warp writes a word per lane; both modes must take the same steps.
std::vector<std::uint32_t> run_warp(const std::string& lines, unsigned threads = 32) {
    const std::string body =
        ".reg .b32 %r<20>; .reg .b64 %rd<8>; .reg .pred %p<8>; ld.param.u64 %rd1, [out]; mov.u32 %r1, "
        "%tid.x;\n"
        "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd1, %rd2;\n" +
        lines + "\nst.global.u32 [%rd2], %r0; ret;";
    const Program program(module_text(".param .u64 out", body), "test");
    Device device, timed;
    const std::vector<std::uint32_t> zeros(threads);
    const std::uint64_t out = device.upload("out", zeros), same = timed.upload("out", zeros);
    REQUIRE(out == same);
    const LaunchContext functional = program.launch(device, {1}, {threads}, {argument(out)});
    const LaunchContext timing = program.launch(timed, {1}, {threads}, {argument(same)}, Mode::timing);
    const ModeComparison comparison = compare_modes(functional, timing);
    CHECK(comparison.differences == 0);
    return device.download<std::uint32_t>(out, threads);
}

}  // namespace

TEST_CASE("elect.sync chooses one lane of those named", "[ptx][scalar]") {
    const auto all = run_warp("elect.sync %r0|%p1, -1; @%p1 add.u32 %r0, %r0, 100;");
    for (unsigned lane = 0; lane < 32; ++lane) CHECK(all[lane] == (lane == 0 ? 100 : 0));
    // The upper half: lane 16 leads. A branch that depends on it must go the same way in timing mode.
    const auto half = run_warp(
        "mov.u32 %r0, 7; setp.lt.u32 %p2, %r1, 16; @%p2 bra done; elect.sync %r0|%p1, 0xFFFF0000;\n"
        "@!%p1 bra done; add.u32 %r0, %r0, 1000; done:");
    for (unsigned lane = 0; lane < 32; ++lane)
        CHECK(half[lane] == (lane < 16 ? 7u : lane == 16 ? 1016u : 16u));
}

TEST_CASE("barrier.red combines the predicates of the CTA", "[ptx][scalar]") {
    for (const char* const aligned : {"", ".aligned"}) {
        const std::string a = aligned;
        const auto results = run_warp(
            "setp.lt.u32 %p1, %r1, 40;\nbarrier.cta.red.popc" + a + ".u32 %r2, 1, 96, %p1; barrier.red.or" +
                a + ".pred %p2, 2, !%p1;\n" + "barrier.red.and" + a +
                ".pred %p3, 3, %p1; selp.u32 %r0, 1000, 0, %p2; @%p3 add.u32 %r0, %r0, 5000;"
                " add.u32 %r0, %r0, %r2;",
            96);
        for (const std::uint32_t result : results) CHECK(result == 1040);
    }
}

TEST_CASE("Instructions without an effect on values", "[ptx][scalar]") {
    const auto results = run_warp(
        "mov.u32 %r0, %r1; pmevent 3; pmevent.mask 0x11; griddepcontrol.wait; "
        "griddepcontrol.launch_dependents;\n"
        "setmaxnreg.inc.sync.aligned.u32 232; setmaxnreg.dec.sync.aligned.u32 40; membar.proxy.alias;\n"
        "fence.acquire.gpu; fence.release.cluster; nanosleep.u32 10;");
    for (unsigned lane = 0; lane < 32; ++lane) CHECK(results[lane] == lane);
    const Program stops(module_text("", "brkpt; ret;"), "test");
    Device device;
    CHECK_THROWS_WITH(stops.run(device, {1}, {32}, {}), Catch::Contains("executed brkpt"));
}

TEST_CASE("Address spaces of generic addresses", "[ptx][scalar]") {
    const auto results = run_warp(
        ".shared .b32 word; .local .b32 own; mov.u64 %rd3, word; cvta.shared.u64 %rd3, %rd3; mov.u64 %rd4, "
        "own;\n"
        "cvta.local.u64 %rd4, %rd4; mov.u64 %rd5, out; cvta.param.u64 %rd5, %rd5; mov.u32 %r0, 0;\n"
        "isspacep.shared::cta %p1, %rd3; @%p1 or.b32 %r0, %r0, 1; isspacep.shared::cluster %p1, %rd3;\n"
        "@%p1 or.b32 %r0, %r0, 2; isspacep.param %p1, %rd5; @%p1 or.b32 %r0, %r0, 4; isspacep.local %p1, "
        "%rd4;\n"
        "@%p1 or.b32 %r0, %r0, 8; isspacep.global %p1, %rd1; @%p1 or.b32 %r0, %r0, 16; isspacep.param %p1, "
        "%rd3;\n"
        "@%p1 or.b32 %r0, %r0, 32; isspacep.shared %p1, %rd4; @%p1 or.b32 %r0, %r0, 64; isspacep.global %p1, "
        "%rd3;\n"
        "@%p1 or.b32 %r0, %r0, 128;");
    for (const std::uint32_t result : results) CHECK(result == 31);
}

TEST_CASE("The stack of a thread: alloca, stacksave, stackrestore", "[ptx][scalar]") {
    // Each lane takes as many bytes as it needs, fills them, and sums them up from there. What is taken after
    // stackrestore lies where the first allocation did.
    const auto results = run_warp(
        ".local .align 4 .b32 own; st.local.u32 [own], 1000; stacksave.u64 %rd7;\n"
        "and.b32 %r2, %r1, 7; add.u32 %r2, %r2, 1; mul.wide.u32 %rd3, %r2, 4; alloca.u64 %rd4, %rd3, 32;\n"
        "alloca.u64 %rd5, 64; mov.u32 %r3, 0; mov.u64 %rd6, %rd4;\n"
        "fill: mad.lo.u32 %r4, %r1, 100, %r3; st.local.u32 [%rd6], %r4; add.u64 %rd6, %rd6, 4; add.u32 %r3, "
        "%r3, 1;\n"
        "setp.lt.u32 %p1, %r3, %r2; @%p1 bra fill; st.local.u32 [%rd5], 7; st.local.u32 [%rd5+60], 8;\n"
        "cvta.local.u64 %rd6, %rd4; mov.u32 %r3, 0; mov.u32 %r0, 0;\n"
        "sum: ld.u32 %r4, [%rd6]; add.u32 %r0, %r0, %r4; add.u64 %rd6, %rd6, 4; add.u32 %r3, %r3, 1;\n"
        "setp.lt.u32 %p1, %r3, %r2; @%p1 bra sum; ld.local.u32 %r5, [own]; add.u32 %r0, %r0, %r5;\n"
        "and.b64 %rd6, %rd4, 31; cvt.u32.u64 %r6, %rd6; add.u32 %r0, %r0, %r6;\n"
        "stackrestore.u64 %rd7; alloca.u64 %rd6, 16, 32; setp.ne.u64 %p2, %rd6, %rd4; @%p2 add.u32 %r0, %r0, "
        "100000;");
    for (unsigned lane = 0; lane < 32; ++lane) {
        std::uint32_t sum = 1000;
        for (unsigned n = 0; n <= (lane & 7); ++n) sum += 100 * lane + n;
        CHECK(results[lane] == sum);
    }
    CHECK_THROWS_WITH(run_warp("alloca.u64 %rd3, 100000; mov.u32 %r0, 0;"),
                      Catch::Contains("the stack has 65536 bytes"));
    CHECK_THROWS_WITH(Program(module_text("", ".reg .b64 %r<4>; alloca.u64 %r0, 8, 24; ret;"), "test"),
                      Catch::Contains("power of two"));
}

TEST_CASE("Special registers that are read by mov alone", "[ptx][scalar]") {
    for (const char* const line : {"cvt.u64.u32 %rd1, %clock;", "mov.b64 %rd1, {%r1, %clock};"}) {
        CHECK_THROWS_WITH(
            Program(module_text("", std::string(".reg .b32 %r<4>; .reg .b64 %rd<4>; ") + line + " ret;"),
                    "test"),
            Catch::Contains("clock"));
    }
    const auto processors = run_warp("mov.u32 %r0, %nsmid;");
    CHECK(processors[5] == 132);
}

TEST_CASE("Families that are not simulated say so", "[ptx][scalar]") {
    const auto check = [](const std::string& line, const std::string& what) {
        INFO(line);
        CHECK_THROWS_WITH(
            Program(module_text("", ".reg .b32 %r<4>; .reg .f32 %f<8>; .reg .b64 %rd<4>; .reg .pred %p<2>; " +
                                        line + " ret;"),
                    "test"),
            Catch::Contains(what));
    };
    check("sust.p.2d.v4.b32.trap [%rd1, {%r1, %r2}], {%r1, %r1, %r2, %r2};", "supported forms: \"sust b 1d");
    check("istypep.texref %p1, %rd1;", "textures and surfaces");
    check("multimem.red.relaxed.sys.global.add.f32 [%rd1], %f1;", "several devices");
}
