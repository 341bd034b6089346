// Rarer forms of memory instructions: 128-bit values, vectors of eight, cache policies, vectors of atomics.
#include <bit>
#include <catch2/catch.hpp>
#include <numeric>

#include "compare_modes.h"
#include "isa/numerics/formats.h"
#include "launch.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;
namespace numerics = heddle::numerics;

namespace {

constexpr const char* kDeclarations =
    ".reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<8>; .reg .b16 %h<20>; .reg .f32 %f<20>; .reg .b128 "
    "%q<8>;\n"
    "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x;\n"
    "mul.wide.u32 %rd3, %r1, 16; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;\n";

// Lane l has 16 bytes of input at %rd4 and 16 of output at %rd5; %rd2 is the start of the output.
template <class T>
std::vector<T> run(const std::string& lines, const std::vector<T>& input, std::vector<T> output) {
    const std::string text =
        module_text(".param .u64 in, .param .u64 out", std::string(kDeclarations) + lines + "\nret;",
                    ".global .align 16 .b8 module_bytes[64];\n.shared .align 16 .b8 shared_bytes[1024];");
    const Program program(text, "test");
    Device device, timed;
    const auto launch = [&](Device& on, Mode mode) {
        const std::uint64_t in = on.upload("in", input), out = on.upload("out", output);
        return program.launch(on, {1}, {32}, {argument(in), argument(out)}, mode);
    };
    const LaunchContext functional = launch(device, Mode::functional), timing = launch(timed, Mode::timing);
    const ModeComparison comparison = compare_modes(functional, timing);
    CHECK(comparison.differences == 0);
    std::uint64_t out = 0;
    std::memcpy(&out, functional.parameters.data() + 8, sizeof(out));
    return device.download<T>(out, output.size());
}

template <class T>
std::vector<T> ramp(std::size_t count, std::uint64_t factor) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>((i + 1) * factor);
    return values;
}

}  // namespace

TEST_CASE("128-bit values are loaded and stored whole", "[ptx][memory-forms]") {
    const auto input = ramp<std::uint64_t>(64, 0x123456789ABCDEFu);
    const std::string moves[] = {
        "ld.global.b128 %q1, [%rd4]; st.global.b128 [%rd5], %q1;",
        "ld.b128 %q1, [%rd4]; st.shared.b128 [shared_bytes], %q1; bar.warp.sync -1; ld.global.nc.b128 %q2, "
        "[%rd4];\n"
        "st.relaxed.gpu.global.b128 [%rd5], %q2;",
        ".local .align 16 .b8 own[32]; ld.volatile.global.b128 %q1, [%rd4]; st.local.b128 [own+16], %q1;\n"
        "ld.local.b128 %q2, [own+16]; mov.b128 {%rd6, %rd7}, %q2; st.global.v2.b64 [%rd5], {%rd6, %rd7};",
        "ld.global.v2.u64 {%rd6, %rd7}, [%rd4]; mov.b128 %q1, {%rd6, %rd7}; st.global.cs.b128 [%rd5], %q1;",
        "ldu.global.b128 %q1, [%rd4]; st.b128 [%rd5], %q1;"};
    for (const std::string& lines : moves) {
        INFO(lines);
        CHECK(run<std::uint64_t>(lines, input, std::vector<std::uint64_t>(64)) == input);
    }
    CHECK_THROWS_WITH(
        run<std::uint64_t>("ld.global.b128 %q1, [%rd4+8];", input, std::vector<std::uint64_t>(64)),
        Catch::Contains("misaligned"));
}

TEST_CASE("Braces around one register are as if they were not there", "[ptx][memory-forms]") {
    std::vector<std::uint32_t> input(128), expected(128);
    std::iota(input.begin(), input.end(), 5u);
    for (std::size_t lane = 0; lane < 32; ++lane) expected[4 * lane] = input[4 * lane];
    CHECK(run("ld.global.b32 {%r2}, [%rd4]; st.global.b32 [%rd5], {%r2};", input, std::vector<std::uint32_t>(128)) == expected);
}

TEST_CASE("Vectors of eight", "[ptx][memory-forms]") {
    const auto words = ramp<std::uint16_t>(256, 0x3A7Fu);
    const std::string copy = "{%h1,%h2,%h3,%h4,%h5,%h6,%h7,%h8}";
    for (const char* const type : {"u16", "s16", "b16"}) {
        const std::string t = type;
        CHECK(run<std::uint16_t>(
                  "ld.global.v8." + t + " " + copy + ", [%rd4]; st.global.v8." + t + " [%rd5], " + copy + ";",
                  words, std::vector<std::uint16_t>(256)) == words);
    }
    // Bytes, sign-extended into 32 bits, reversed by the order of the registers.
    const auto bytes = ramp<std::uint8_t>(512, 37);
    const auto sums = run<std::uint8_t>(
        "ld.global.v8.s8 {%r2,%r3,%r4,%r5,%r6,%r7,%r8,%r9}, [%rd4+8]; add.s32 %r10, %r2, %r9;\n"
        "st.global.v8.u8 [%rd5], {%r9,%r8,%r7,%r6,%r5,%r4,%r3,%r2}; st.global.s32 [%rd5+8], %r10;",
        bytes, std::vector<std::uint8_t>(512));
    for (unsigned lane = 0; lane < 32; ++lane) {
        for (unsigned n = 0; n < 8; ++n) CHECK(sums[16 * lane + n] == bytes[16 * lane + 15 - n]);
        std::int32_t sum = 0;
        std::memcpy(&sum, sums.data() + 16 * lane + 8, 4);
        CHECK(sum == static_cast<std::int8_t>(bytes[16 * lane + 8]) +
                         static_cast<std::int8_t>(bytes[16 * lane + 15]));
    }
}

TEST_CASE("Cache policies and hints change no value", "[ptx][memory-forms]") {
    const auto input = ramp<std::uint32_t>(128, 0x01234567u);
    const auto output = run<std::uint32_t>(
        "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %rd10, 0.25;\n"
        "createpolicy.fractional.L2::evict_first.b64 %rd11; mov.f32 %f9, 0f3E800000;\n"
        "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %rd12, %f9;\n"
        "createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %rd13, [%rd1], 4096, 8192;\n"
        "createpolicy.cvt.L2.b64 %rd14, %rd13;\n"
        "ld.global.L2::cache_hint.v2.u32 {%r2, %r3}, [%rd4], %rd10;\n"
        "ld.global.nc.L1::no_allocate.L2::cache_hint.L2::256B.u32 %r4, [%rd4+8], %rd11;\n"
        "setp.eq.u64 %p1, %rd10, %rd12; setp.ne.and.u64 %p1, %rd10, %rd11, %p1; setp.eq.and.u64 %p1, %rd13, "
        "%rd14, %p1;\n"
        "selp.u32 %r5, 77, 0, %p1; prefetch.global.L2::evict_last [%rd4]; prefetch.global.L2::evict_normal "
        "[%rd4];\n"
        "applypriority.global.L2::evict_normal [%rd1], 128; st.global.L1::evict_first.L2::cache_hint.v4.u32 "
        "[%rd5],\n"
        "{%r2, %r3, %r4, %r5}, %rd11; discard.global.L2 [%rd1], 128;",
        input, std::vector<std::uint32_t>(128));
    for (unsigned lane = 0; lane < 32; ++lane) {
        for (unsigned n = 0; n < 3; ++n) CHECK(output[4 * lane + n] == input[4 * lane + n]);
        CHECK(output[4 * lane + 3] == 77);
    }
}

TEST_CASE("cp.async with a predicate or a cache policy", "[ptx][memory-forms]") {
    const auto input = ramp<std::uint32_t>(128, 0x01234567u);
    const auto output = run<std::uint32_t>(
        "createpolicy.fractional.L2::evict_first.b64 %rd10; mov.u32 %r2, shared_bytes; mad.lo.u32 %r2, %r1, "
        "16, %r2;\n"
        "setp.lt.u32 %p1, %r1, 10; and.b32 %r3, %r1, 12;\n"
        "cp.async.ca.shared.global [%r2], [%rd4], 4, %p1; cp.async.ca.shared.global.L2::cache_hint [%r2+4], "
        "[%rd4+4], 4,\n"
        "!%p1, %rd10; cp.async.ca.shared.global.L2::128B.L2::cache_hint [%r2+8], [%rd4+8], 4, %rd10;\n"
        "min.u32 %r3, %r3, 4; cp.async.ca.shared.global.L2::cache_hint.L2::64B [%r2+12], [%rd4+12], 4, %r3, "
        "%rd10;\n"
        "cp.async.wait_all; bar.warp.sync -1; ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r2];\n"
        "st.global.v4.u32 [%rd5], {%r4, %r5, %r6, %r7};",
        input, std::vector<std::uint32_t>(128));
    for (unsigned lane = 0; lane < 32; ++lane) {
        const std::uint32_t* in = input.data() + 4 * lane;
        CHECK(output[4 * lane] == (lane < 10 ? 0 : in[0]));
        CHECK(output[4 * lane + 1] == (lane < 10 ? in[1] : 0));
        CHECK(output[4 * lane + 2] == in[2]);
        CHECK(output[4 * lane + 3] == ((lane & 12) != 0 ? in[3] : 0));
    }
}

TEST_CASE("Variables named in generic accesses", "[ptx][memory-forms]") {
    const auto output = run<std::uint32_t>(
        ".local .b32 own; mad.lo.u32 %r2, %r1, 3, 5; st.u32 [own], %r2; ld.u32 %r3, [own];\n"
        "atom.add.u32 %r4, [module_bytes+4], 2; red.add.u32 [shared_bytes+8], %r1; bar.warp.sync -1;\n"
        "ld.u32 %r5, [module_bytes+4]; ld.shared.u32 %r6, [shared_bytes+8]; st.global.v4.u32 [%rd5], "
        "{%r3,%r4,%r5,%r6};",
        std::vector<std::uint32_t>(128), std::vector<std::uint32_t>(128));
    for (unsigned lane = 0; lane < 32; ++lane) {
        CHECK(output[4 * lane] == 3 * lane + 5);
        CHECK(output[4 * lane + 1] % 2 == 0);
        CHECK(output[4 * lane + 1] < 64);
        CHECK(output[4 * lane + 2] == 64);
        CHECK(output[4 * lane + 3] == 31 * 16);
    }
}

TEST_CASE("Atomic compare-and-swap and exchange of 128 bits", "[ptx][memory-forms]") {
    // A 128-bit counter: every lane adds 2^63 with a loop of compare-and-swap, so carries reach the upper
    // half.
    const auto counted = run<std::uint64_t>(
        "loop: ld.global.b128 %q1, [%rd2]; mov.b128 {%rd6, %rd7}, %q1; add.cc.u64 %rd8, %rd6, "
        "0x8000000000000000;\n"
        "addc.u64 %rd9, %rd7, 0; mov.b128 %q2, {%rd8, %rd9}; atom.global.cas.b128 %q3, [%rd2], %q1, %q2;\n"
        "mov.b128 {%rd10, %rd11}, %q3; setp.ne.u64 %p1, %rd10, %rd6; setp.ne.or.u64 %p1, %rd11, %rd7, %p1;\n"
        "@%p1 bra loop;",
        std::vector<std::uint64_t>(64), std::vector<std::uint64_t>(64));
    CHECK(counted[0] == 0);
    CHECK(counted[1] == 16);
    // A chain of exchanges in shared memory: every value is handed on exactly once.
    const auto input = ramp<std::uint64_t>(64, 0x9E3779B97F4A7C15u);
    const auto chain = run<std::uint64_t>(
        "ld.global.b128 %q1, [%rd4]; atom.shared.exch.b128 %q2, [shared_bytes], %q1; st.global.b128 [%rd5], "
        "%q2;",
        input, std::vector<std::uint64_t>(64));
    std::uint64_t given[2] = {}, taken[2] = {};
    for (unsigned lane = 0; lane < 32; ++lane) {
        for (unsigned n = 0; n < 2; ++n) {
            given[n] ^= input[2 * lane + n];
            taken[n] ^= chain[2 * lane + n];
        }
    }
    // What is left in shared memory is the only difference: one of the inputs, both halves of it.
    bool found = false;
    for (unsigned lane = 0; lane < 32; ++lane)
        found = found ||
                ((given[0] ^ taken[0]) == input[2 * lane] && (given[1] ^ taken[1]) == input[2 * lane + 1]);
    CHECK(found);
}

TEST_CASE("Atomic operations on vectors of floats", "[ptx][memory-forms]") {
    // Small integers: sums are exact in any order.
    std::vector<float> input(128);
    for (std::size_t i = 0; i < input.size(); ++i)
        input[i] = static_cast<float>(static_cast<int>(i * 7 % 41) - 20);
    for (const char* const form :
         {"red.global.add.v4.f32 [%rd2], {%f1,%f2,%f3,%f4};",
          "red.global.v2.add.f32 [%rd2], {%f1,%f2}; red.relaxed.gpu.add.v2.f32 [%rd2+8], {%f3,%f4};",
          "atom.global.add.v4.f32 {%f5,%f6,%f7,%f8}, [%rd2], {%f1,%f2,%f3,%f4};"}) {
        const auto output = run<float>("ld.global.v4.f32 {%f1,%f2,%f3,%f4}, [%rd4];" + std::string(form),
                                       input, std::vector<float>(128));
        for (unsigned n = 0; n < 4; ++n) {
            float sum = 0;
            for (unsigned lane = 0; lane < 32; ++lane) sum += input[4 * lane + n];
            CHECK(output[n] == sum);
        }
    }
    // What atom returns: for lane 0 alone the old values.
    std::vector<float> start(128);
    std::iota(start.begin(), start.end(), 100.0f);
    const auto old = run<float>(
        "ld.global.v4.f32 {%f1,%f2,%f3,%f4}, [%rd4]; setp.ne.u32 %p1, %r1, 0;\n"
        "@!%p1 atom.global.add.v2.f32 {%f5,%f6}, [%rd2], {%f1,%f2}; @!%p1 st.global.v2.f32 [%rd2+16], "
        "{%f5,%f6};",
        input, start);
    CHECK(old[0] == 100 + input[0]);
    CHECK(old[4] == 100);
    CHECK(old[5] == 101);
}

TEST_CASE("Atomic operations on vectors of halves", "[ptx][memory-forms]") {
    for (const auto format : {numerics::Format::fp16, numerics::Format::bf16}) {
        const std::string type = format == numerics::Format::fp16 ? "f16" : "bf16";
        std::vector<std::uint16_t> input(256);
        for (std::size_t i = 0; i < input.size(); ++i) {
            const float value = static_cast<float>(static_cast<int>(i * 5 % 15) - 7);
            input[i] = static_cast<std::uint16_t>(numerics::from_float(format, value));
        }
        const auto value = [&](std::uint16_t bits) { return numerics::to_float(format, bits); };
        const std::string halves = "{%h1,%h2,%h3,%h4,%h5,%h6,%h7,%h8}", words = "{%r2,%r3,%r4,%r5}";
        for (const std::string operation : {"add", "min", "max"}) {
            for (const bool packed : {false, true}) {
                const std::string load = packed ? "ld.global.v4.b32 " + words + ", [%rd4];"
                                                : "ld.global.v8.b16 " + halves + ", [%rd4];";
                const std::string form = "red.global." + operation + ".noftz." + (packed ? "v4." : "v8.") +
                                         type + (packed ? "x2 [%rd2], " + words : " [%rd2], " + halves) + ";";
                INFO(form);
                const auto output = run<std::uint16_t>(load + form, input, std::vector<std::uint16_t>(256));
                for (unsigned n = 0; n < 8; ++n) {
                    float expected = 0;
                    for (unsigned lane = 0; lane < 32; ++lane) {
                        const float x = value(input[8 * lane + n]);
                        expected = operation == "add"   ? expected + x
                                   : operation == "min" ? std::min(expected, x)
                                                        : std::max(expected, x);
                    }
                    CHECK(value(output[n]) == expected);
                }
            }
        }
        // A number beats NaN; -0 is below +0. Lane 0 alone.
        const auto special = run<std::uint16_t>(
            "setp.eq.u32 %p1, %r1, 0; mov.b16 %h1, 0x7FFF; mov.b16 %h2, 0x8000; @%p1 "
            "atom.global.min.noftz.v2." +
                type + " {%h3,%h4}, [%rd2], {%h1,%h2}; @%p1 st.global.v2.b16 [%rd2+4], {%h3,%h4};",
            input, std::vector<std::uint16_t>(256));
        CHECK(special[0] == 0);
        CHECK(special[1] == 0x8000);
        CHECK(special[2] == 0);
    }
}
