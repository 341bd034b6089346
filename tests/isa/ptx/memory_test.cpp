// Loads, stores, atomics, asynchronous copies, state spaces, and accesses that go wrong.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <functional>

#include "isa/common/error.h"
#include "launch.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

std::string error_of(const std::function<void()>& run) {
    try {
        run();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

constexpr const char* kThread =
    ".reg .b32 %tid; .reg .b64 %x, %y; mov.u32 %tid, %tid.x; ld.param.u64 %x, [x]; ld.param.u64 %y, [y];\n";
constexpr const char* kTwoPointers = ".param .u64 x, .param .u64 y";

}  // namespace

TEST_CASE("Sign and zero extension of narrow loads", "[ptx][memory]") {
    const std::string body =
        std::string(kThread) +
        ".reg .b16 %h; .reg .b32 %r; .reg .b64 %w, %a;\n"
        "mul.wide.u32 %a, %tid, 2; add.u64 %a, %x, %a;\n"
        "ld.global.s8 %r, [%a]; mul.wide.u32 %w, %tid, 32; add.u64 %y, %y, %w; st.global.u32 [%y], %r;\n"
        "ld.global.u8 %r, [%a]; st.global.u32 [%y+4], %r;\n"
        "ld.global.s16 %r, [%a]; st.global.u32 [%y+8], %r;\n"
        "ld.global.u16 %r, [%a]; st.global.u32 [%y+12], %r;\n"
        "ld.global.s16 %w, [%a]; st.global.u64 [%y+16], %w;\n"
        "ld.global.s8 %h, [%a]; st.global.b16 [%y+24], %h; st.global.b8 [%y+26], %h; st.global.u8 [%y+27], "
        "7; ret;";
    const Program program(module_text(kTwoPointers, body), "test");
    Device device;
    const std::vector<std::int16_t> input = {-1, 0x7F80, 0x0180, 5, -32768, 127};
    const auto x = device.upload("x", input), y = device.upload("y", std::vector<std::uint32_t>(8 * 6));
    program.run(device, {1}, {6}, {argument(x), argument(y)});
    const auto out = device.download<std::uint32_t>(y, 48);
    for (std::size_t i = 0; i < input.size(); ++i) {
        const auto word = static_cast<std::uint16_t>(input[i]);
        const auto byte = static_cast<std::int8_t>(word & 0xFF);
        CHECK(out[8 * i] == static_cast<std::uint32_t>(static_cast<std::int32_t>(byte)));
        CHECK(out[8 * i + 1] == static_cast<std::uint8_t>(byte));
        CHECK(out[8 * i + 2] == static_cast<std::uint32_t>(static_cast<std::int32_t>(input[i])));
        CHECK(out[8 * i + 3] == word);
        CHECK((std::uint64_t{out[8 * i + 5]} << 32 | out[8 * i + 4]) ==
              static_cast<std::uint64_t>(static_cast<std::int64_t>(input[i])));
        CHECK(out[8 * i + 6] ==
              ((static_cast<std::uint16_t>(byte)) |
               static_cast<std::uint32_t>(static_cast<std::uint8_t>(byte)) << 16 | 7u << 24));
    }
}

TEST_CASE("Vector accesses of every width, coalesced and scattered", "[ptx][memory]") {
    struct Shape {
        std::string vector, type, declaration, registers;
        unsigned bytes;
    };
    const std::vector<Shape> shapes = {{"", "u32", ".reg .b32 %v;", "%v", 4},
                                       {"", "f64", ".reg .f64 %v;", "%v", 8},
                                       {".v2", "u32", ".reg .b32 %v<2>;", "{%v0, %v1}", 8},
                                       {".v4", "f32", ".reg .f32 %v<4>;", "{%v0, %v1, %v2, %v3}", 16},
                                       {".v2", "u64", ".reg .b64 %v<2>;", "{%v0, %v1}", 16},
                                       {".v4", "u16", ".reg .b16 %v<4>;", "{%v0, %v1, %v2, %v3}", 8},
                                       {".v4", "u8", ".reg .b16 %v<4>;", "{%v0, %v1, %v2, %v3}", 4},
                                       {".v2", "b16", ".reg .b16 %v<2>;", "{%v0, %v1}", 4}};
    for (const Shape& shape : shapes) {
        for (const unsigned stride : {1u, 3u, 37u}) {
            for (const unsigned threads : {64u, 45u}) {
                // Thread t copies element t * stride modulo 64: contiguous for stride 1, permuted otherwise.
                const std::string body =
                    std::string(kThread) + ".reg .b32 %i; .reg .b64 %a;" + shape.declaration +
                    "mul.lo.u32 %i, %tid, " + std::to_string(stride) +
                    "; and.b32 %i, %i, 63; mul.wide.u32 %a, %i, " + std::to_string(shape.bytes) +
                    "; add.u64 %x, %x, %a; add.u64 %y, %y, %a;\n ld.global" + shape.vector + "." +
                    shape.type + " " + shape.registers + ", [%x]; st.global" + shape.vector + "." +
                    shape.type + " [%y], " + shape.registers + "; ret;";
                const Program program(module_text(kTwoPointers, body), "test");
                Device device;
                std::vector<std::uint8_t> input(64 * shape.bytes);
                for (std::size_t i = 0; i < input.size(); ++i)
                    input[i] = static_cast<std::uint8_t>(i * 131 + 7);
                const auto x = device.upload("x", input),
                           y = device.upload("y", std::vector<std::uint8_t>(input.size()));
                program.run(device, {1}, {threads}, {argument(x), argument(y)});
                std::vector<std::uint8_t> expected(input.size());
                for (unsigned t = 0; t < threads; ++t) {
                    const std::size_t at = t * stride % 64 * shape.bytes;
                    std::copy_n(input.begin() + static_cast<std::ptrdiff_t>(at), shape.bytes,
                                expected.begin() + static_cast<std::ptrdiff_t>(at));
                }
                INFO(shape.vector << "." << shape.type << " stride " << stride << " threads " << threads);
                CHECK(device.download<std::uint8_t>(y, input.size()) == expected);
            }
        }
    }
}

TEST_CASE("Lanes of one access in different buffers", "[ptx][memory]") {
    const std::string body =
        std::string(kThread) +
        ".reg .pred %p; .reg .b64 %a, %o; .reg .b32 %v;\n"
        "setp.lt.u32 %p, %tid, 16; selp.b64 %a, %x, %y, %p; mul.wide.u32 %o, %tid, 4; add.u64 %a, %a, %o;\n"
        "ld.global.u32 %v, [%a]; add.u32 %v, %v, 1000; st.global.u32 [%a], %v; ret;";
    const Program program(module_text(kTwoPointers, body), "test");
    Device device;
    const auto x = device.upload("x", std::vector<int>(32, 1)),
               y = device.upload("y", std::vector<int>(32, 2));
    program.run(device, {1}, {32}, {argument(x), argument(y)});
    const auto px = device.download<int>(x, 32), py = device.download<int>(y, 32);
    for (int i = 0; i < 32; ++i) {
        CHECK(px[i] == (i < 16 ? 1001 : 1));
        CHECK(py[i] == (i < 16 ? 2 : 1002));
    }
}

TEST_CASE("Generic addresses find their state space", "[ptx][memory]") {
    const std::string body =
        std::string(kThread) +
        ".shared .align 4 .b8 buffer[128]; .local .align 4 .b8 own[8];\n"
        ".reg .b64 %s, %l, %g, %o; .reg .b32 %v, %w; .reg .pred %p<4>;\n"
        "mul.wide.u32 %o, %tid, 4; mov.u64 %s, buffer; cvta.shared.u64 %s, %s; add.u64 %s, %s, %o;\n"
        "mov.u64 %l, own; cvta.local.u64 %l, %l; cvta.to.global.u64 %g, %x; add.u64 %g, %g, %o;\n"
        "ld.u32 %v, [%g]; st.u32 [%s], %v; add.u32 %v, %v, 5; st.u32 [%l+4], %v;\n"
        "bar.sync 0; ld.u32 %v, [%s]; ld.u32 %w, [%l+4]; mad.lo.u32 %v, %v, 100, %w;\n"
        "isspacep.shared %p0, %s; isspacep.local %p1, %l; isspacep.global %p2, %g; isspacep.global %p3, %s;\n"
        "@!%p0 mov.u32 %v, 0; @!%p1 mov.u32 %v, 0; @!%p2 mov.u32 %v, 0; @%p3 mov.u32 %v, 0;\n"
        "add.u64 %y, %y, %o; st.global.u32 [%y], %v; ret;";
    const Program program(module_text(kTwoPointers, body), "test");
    Device device;
    std::vector<int> input(32);
    for (int i = 0; i < 32; ++i) input[i] = 3 * i;
    const auto x = device.upload("x", input), y = device.upload("y", std::vector<int>(32));
    program.run(device, {1}, {32}, {argument(x), argument(y)});
    const auto out = device.download<int>(y, 32);
    for (int i = 0; i < 32; ++i) CHECK(out[i] == input[i] * 100 + input[i] + 5);
}

TEST_CASE("Module variables: constant bank, global memory with initial values", "[ptx][memory]") {
    const std::string globals =
        ".const .align 4 .u32 table[4] = {10, 20, 30, 40};\n.global .align 4 .u32 counter = 100;\n";
    const std::string body =
        std::string(kThread) +
        ".reg .b64 %a, %o; .reg .b32 %v, %w;\n"
        "and.b32 %v, %tid, 3; mul.wide.u32 %o, %v, 4; mov.u64 %a, table; add.u64 %a, %a, %o; ld.const.u32 "
        "%v, [%a];\n"
        "ld.const.u32 %w, [table+4]; add.u32 %v, %v, %w; atom.global.add.u32 %w, [counter], 1;\n"
        "mul.wide.u32 %o, %tid, 4; add.u64 %y, %y, %o; st.global.u32 [%y], %v; ret;";
    const Program program(module_text(kTwoPointers, body, globals), "test");
    Device device;
    const auto y = device.upload("y", std::vector<unsigned>(32));
    program.run(device, {2}, {32}, {argument(std::uint64_t{0}), argument(y)});
    const auto out = device.download<unsigned>(y, 32);
    for (unsigned i = 0; i < 32; ++i) CHECK(out[i] == 10 * (i % 4 + 1) + 20);
    CHECK(device.download<unsigned>(module_variable_address(device.memory, "counter"), 1)[0] == 100 + 64);
}

TEST_CASE("Atomic operations", "[ptx][memory]") {
    struct Case {
        std::string operation, type;
        std::uint64_t initial;
        std::function<std::uint64_t(std::uint64_t old, std::uint64_t b)> apply;
    };
    const auto f = [](std::uint64_t v) { return std::bit_cast<float>(static_cast<std::uint32_t>(v)); };
    const std::vector<Case> cases = {
        {"add", "u32", 0xFFFFFFF0, [](auto o, auto b) { return (o + b) & 0xFFFFFFFF; }},
        {"add", "u64", 1ull << 40, [](auto o, auto b) { return o + b; }},
        {"min", "s32", 0xFFFFFFFF,
         [](auto o, auto b) -> std::uint64_t {
             return static_cast<std::uint32_t>(
                 std::min(static_cast<std::int32_t>(o), static_cast<std::int32_t>(b)));
         }},
        {"max", "u32", 9, [](auto o, auto b) { return std::max(o, b); }},
        {"max", "s64", 9, [](auto o, auto b) { return std::max(o, b); }},
        {"and", "b32", 0xFFFF, [](auto o, auto b) { return o & b; }},
        {"or", "b64", 0xF00000, [](auto o, auto b) { return o | b; }},
        {"xor", "b32", 0, [](auto o, auto b) { return o ^ b; }},
        {"exch", "b32", 77, [](auto, auto b) { return b; }},
        {"inc", "u32", 0, [](auto o, auto b) { return o >= b ? 0 : o + 1; }},
        {"dec", "u32", 3, [](auto o, auto b) { return o == 0 || o > b ? b : o - 1; }},
        {"add", "f32", 0x3F800000,
         [&](auto o, auto b) -> std::uint64_t { return std::bit_cast<std::uint32_t>(f(o) + f(b)); }},
        {"add", "f64", 0x3FF0000000000000, [](auto o, auto b) {
             return std::bit_cast<std::uint64_t>(std::bit_cast<double>(o) + std::bit_cast<double>(b));
         }}};
    for (const std::string space : {"global", "shared"}) {
        for (const Case& one : cases) {
            const std::string bits = one.type.substr(1);
            const bool is_float = one.type[0] == 'f';
            // Lanes act in order here; every lane stores the value that it found.
            const std::string value = is_float       ? "cvt.rn." + one.type + ".u32 %b, %v;"
                                      : bits == "64" ? "cvt.u64.u32 %b, %v;"
                                                     : "mov.b32 %b, %v;";
            const std::string body =
                std::string(kThread) +
                ".shared .align 8 .b8 cell[8]; .reg .b64 %a, %o; .reg .b32 %v; .reg ." +
                (is_float ? one.type : "b" + bits) + " %b, %d;\n" +
                (space == "shared" ? "mov.u64 %a, cell; ld.global.b" + bits + " %b, [%x]; st.shared.b" +
                                         bits + " [%a], %b; bar.sync 0;\n"
                                   : std::string("mov.u64 %a, %x;\n")) +
                "mul.lo.u32 %v, %tid, 7; and.b32 %v, %v, 15;" + value + "atom." + space + "." +
                one.operation + "." + one.type + " %d, [%a], %b;\n" +
                "mul.wide.u32 %o, %tid, 8; add.u64 %y, %y, %o; st.global.b" + bits + " [%y], %d;\n" +
                (space == "shared"
                     ? "bar.sync 0; ld.shared.b" + bits + " %d, [%a]; st.global.b" + bits + " [%x], %d;"
                     : std::string()) +
                "ret;";
            const Program program(module_text(kTwoPointers, body), "test");
            Device device;
            const auto x = device.upload("x", std::vector<std::uint64_t>{one.initial}),
                       y = device.upload("y", std::vector<std::uint64_t>(32));
            program.run(device, {1}, {32}, {argument(x), argument(y)});
            const auto found = device.download<std::uint64_t>(y, 32);
            std::uint64_t expected = one.initial;
            INFO(space << " " << one.operation << "." << one.type);
            for (unsigned lane = 0; lane < 32; ++lane) {
                CHECK(found[lane] == expected);
                std::uint64_t b = lane * 7 & 15;
                if (one.type == "f32") b = std::bit_cast<std::uint32_t>(static_cast<float>(b));
                if (one.type == "f64") b = std::bit_cast<std::uint64_t>(static_cast<double>(b));
                expected = one.apply(expected, b);
            }
            CHECK(device.download<std::uint64_t>(x, 1)[0] == expected);
        }
    }
}

TEST_CASE("Compare and swap elects one lane, red adds packed halves", "[ptx][memory]") {
    const std::string body =
        std::string(kThread) +
        ".reg .b32 %v, %old; .reg .pred %p; .reg .b64 %o;\n"
        "add.u32 %v, %tid, 1; atom.global.cas.b32 %old, [%x], 0, %v; setp.eq.u32 %p, %old, 0;\n"
        "red.global.add.noftz.bf16x2 [%x+4], 0x3F803F80;\n"  // 1, 1
        "selp.u32 %v, 1, 0, %p; mul.wide.u32 %o, %tid, 4; add.u64 %y, %y, %o; st.global.u32 [%y], %v; ret;";
    const Program program(module_text(kTwoPointers, body), "test");
    Device device;
    const auto x = device.upload("x", std::vector<std::uint32_t>(2)),
               y = device.upload("y", std::vector<std::uint32_t>(32));
    program.run(device, {1}, {32}, {argument(x), argument(y)});
    const auto winners = device.download<std::uint32_t>(y, 32);
    CHECK(std::count(winners.begin(), winners.end(), 1u) == 1);
    CHECK(device.download<std::uint32_t>(x, 2)[0] == 1);
    CHECK(device.download<std::uint32_t>(x, 2)[1] == 0x42004200);  // 32, 32
}

TEST_CASE("Asynchronous copies fill the rest with zeros", "[ptx][memory]") {
    // Lane t copies min(16, 4 (t mod 5)) bytes of 16.
    const std::string body =
        std::string(kThread) +
        ".shared .align 16 .b8 buffer[512]; .reg .b32 %s, %n; .reg .b64 %o; .reg .b32 %v<4>;\n"
        "mov.u32 %s, buffer; shl.b32 %n, %tid, 4; add.u32 %s, %s, %n; mul.wide.u32 %o, %tid, 16; add.u64 %x, "
        "%x, %o;\n"
        "st.shared.v4.u32 [%s], {-1, -1, -1, -1}; rem.u32 %n, %tid, 5; shl.b32 %n, %n, 2;\n"
        "cp.async.cg.shared.global [%s], [%x], 16, %n; cp.async.commit_group; cp.async.wait_group 0; "
        "bar.sync 0;\n"
        "ld.shared.v4.u32 {%v0, %v1, %v2, %v3}, [%s]; add.u64 %y, %y, %o; st.global.v4.u32 [%y], {%v0, %v1, "
        "%v2, %v3}; ret;";
    const Program program(module_text(kTwoPointers, body), "test");
    Device device;
    std::vector<std::uint32_t> input(128);
    for (std::uint32_t i = 0; i < 128; ++i) input[i] = i + 1;
    const auto x = device.upload("x", input), y = device.upload("y", std::vector<std::uint32_t>(128));
    program.run(device, {1}, {32}, {argument(x), argument(y)});
    const auto out = device.download<std::uint32_t>(y, 128);
    for (std::uint32_t i = 0; i < 128; ++i) CHECK(out[i] == (i % 4 < i / 4 % 5 ? input[i] : 0));
    // Lanes that copy nothing do not read global memory.
    Cta cta(program.launch(device, {1}, {32}, {argument(x), argument(y)}));
    cta.start(0);
    bool seen = false;
    while (!cta.finished()) {
        const StepResult step = cta.warp(0).step(0);
        if (!step.info->async_copy) continue;
        seen = true;
        REQUIRE(step.access != nullptr);
        std::uint32_t reading = 0;
        for (unsigned lane = 0; lane < 32; ++lane)
            reading |= static_cast<std::uint32_t>(lane % 5 != 0) << lane;
        CHECK(step.access->lanes == reading);
        CHECK(step.access->zero_filled_lanes == ~step.access->lanes);
    }
    CHECK(seen);
}

TEST_CASE("Accesses that go wrong say where", "[ptx][memory]") {
    const auto run = [](const std::string& lines, std::uint64_t offset = 0) {
        Device device;
        const auto x = device.upload("weights", std::vector<float>(64)),
                   y = device.upload("y", std::vector<float>(64));
        const std::string body =
            std::string(kThread) +
            ".shared .align 4 .b8 buffer[256]; .reg .b64 %o; .reg .b32 %v; .reg .b32 %s;\n"
            "mul.wide.u32 %o, %tid, 4; add.u64 %x, %x, %o; mov.u32 %s, buffer;\n" +
            lines + "\nret;";
        return error_of([&] {
            Program(module_text(kTwoPointers, body), "test")
                .run(device, {2}, {64}, {argument(x + offset), argument(y)});
        });
    };
    const std::string beyond = run("ld.global.u32 %v, [%x+4];");
    INFO(beyond);
    CHECK(contains(beyond, "out of bounds"));
    CHECK(contains(beyond, "kernel test"));
    CHECK(contains(beyond, "CTA (0, 0, 0), warp 1, lane 31"));
    CHECK(contains(beyond, "test.ptx:10"));
    CHECK(contains(beyond, "weights, 256 bytes"));
    CHECK(contains(beyond, "offset 256"));
    CHECK(contains(run("st.global.u32 [%x+-4], %v;"), "lane 0: store to global address"));
    CHECK(contains(run("ld.global.u32 %v, [%x+2];"), "misaligned"));
    CHECK(contains(run("ld.global.u32 %v, [4096];"), "out of bounds"));
    CHECK(contains(run("shl.b32 %s, %tid, 3; ld.shared.u32 %v, [%s];"), "shared memory has 256 bytes"));
    CHECK(contains(run("add.u32 %s, %s, 1; st.shared.u32 [%s], %v;"), "misaligned"));
    CHECK(contains(run("atom.global.add.u32 %v, [%x+256], 1;"), "atomic access to global"));
    CHECK(contains(run("trap;"), "executed trap"));
    CHECK(run("ld.global.u32 %v, [%x];").empty());
    // A buffer without values cannot be read.
    Device device;
    const auto x = device.upload("activations", std::vector<float>(32), false),
               y = device.upload("y", std::vector<float>(32));
    const Program program(
        module_text(kTwoPointers, std::string(kThread) +
                                      ".reg .f32 %f; ld.global.f32 %f, [%x]; st.global.f32 [%y], %f; ret;"),
        "test");
    CHECK(contains(error_of([&] {
                       program.run(device, {1}, {32}, {argument(x), argument(y)});
                   }),
                   "activations holds no values"));
}

TEST_CASE("Launches that do not fit the kernel are refused", "[ptx][memory]") {
    Device device;
    const std::string text =
        ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u32 n) .reqntid 64 { ret; }\n"
        ".entry m() .maxntid 128 { ret; }";
    const Program k(text, "k"), m(text, "m");
    CHECK(contains(error_of([&] { k.run(device, {1}, {32}, {argument(1)}); }), ".reqntid"));
    CHECK(contains(error_of([&] { m.run(device, {1}, {256}, {}); }), ".maxntid"));
    CHECK(contains(error_of([&] { m.run(device, {1}, {2048}, {}); }), "1 to 1024"));
    CHECK(contains(error_of([&] { m.run(device, {0}, {32}, {}); }), "empty"));
    CHECK(contains(error_of([&] { k.run(device, {1}, {64}, {}); }), "takes 1 parameters"));
    CHECK(contains(error_of([&] { k.run(device, {1}, {64}, {argument(std::uint64_t{1})}); }), "parameter n"));
    CHECK(contains(error_of([&] { Program(text, "kk"); }), "did you mean k?"));
    CHECK(k.run(device, {3}, {64}, {argument(1)}) == 6);  // 3 CTAs, 2 warps, 1 instruction each
}
