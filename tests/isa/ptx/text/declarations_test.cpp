// Declarations and initial values. What is accepted and refused here, ptxas 13.0 accepts and refuses.
#include <catch2/catch.hpp>

#include "../launch.h"
#include "isa/common/error.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

const std::string kHead = ".version 9.0\n.target sm_90a\n.address_size 64\n";

const Variable& variable_named(const Module& module, const std::string& name) {
    for (const Variable& variable : module.variables) {
        if (variable.name == name) return variable;
    }
    throw std::runtime_error("no variable " + name);
}

template <class T>
std::vector<T> initial_values(const Module& module, const std::string& name) {
    const Variable& variable = variable_named(module, name);
    std::vector<T> values(variable.bytes / sizeof(T));
    std::memcpy(values.data(), variable.initial.data(), variable.initial.size());
    return values;
}

std::string refusal(const std::string& text) {
    try {
        const auto module = parse_shared(kHead + text, "wrong.ptx");
        for (const Kernel& kernel : module->kernels) LoadedKernel(module, kernel.name);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

// Runs a kernel of one thread that has a .u64 parameter `out`, and returns the first words there.
std::vector<std::uint64_t> run_words(const std::string& globals, const std::string& body, std::size_t count,
                                     Device& device) {
    const Program program(module_text(".param .u64 out",
                                      ".reg .b64 %rd<40>; .reg .b32 %r<20>; .reg .f32 %f<20>;\n"
                                      "ld.param.u64 %rd0, [out];\n" +
                                          body + "\nret;",
                                      globals),
                          "test");
    const auto out = device.upload("out", std::vector<std::uint64_t>(count));
    program.run(device, {1}, {1}, {argument(out)});
    return device.download<std::uint64_t>(out, count);
}

}  // namespace

TEST_CASE("Targets and options of a module", "[ptx][text]") {
    const auto parse_target = [](const std::string& target) {
        return parse(".version 9.0\n.target " + target + "\n.entry k() { ret; }\n");
    };
    CHECK(parse_target("sm_90a").compute_capability == 90);
    CHECK(parse_target("sm_90a").target == "sm_90a");
    CHECK(parse_target("sm_120").compute_capability == 120);
    CHECK(parse_target("sm_100f").compute_capability == 100);
    CHECK(parse_target("sm_80, texmode_independent, debug").compute_capability == 80);
    CHECK(parse_target("sm_70").address_size == 64);  // the default
    CHECK_THROWS_AS(parse_target("sm_90b"), Error);
    CHECK_THROWS_AS(parse_target("compute_90"), Error);
    CHECK_THROWS_AS(parse_target("sm_80, map_f64_to_f32"), Error);
    CHECK(refusal(".entry k() { ret; }\n.version 9.0\n.target sm_90\n").find("a second module") !=
          std::string::npos);
}

TEST_CASE("Directives of kernels and functions", "[ptx][text]") {
    const Module module =
        parse(kHead +
              ".visible .func (.param .b32 r) f(.param .b32 a) .noreturn .abi_preserve 10 "
              ".abi_preserve_control 2;\n"
              ".visible .entry declared(.param .u32 x);\n"
              ".visible .entry k(.param .u64 .ptr a, .param .u64 .ptr .global b, .param .u64 .ptr .const "
              ".align 8 c,\n"
              "  .param .b64 e[2], .param .align 16 .b8 f[20])\n"
              "  .reqntid 32 .reqnctapercluster 2, 1, 1 .explicitcluster .maxnreg 40\n{ ret; }\n"
              ".entry declared(.param .u32 x) .maxntid 32, 2 .minnctapersm 2 .maxclusterrank 4 .pragma "
              "\"nounroll\"; "
              "{ ret; }\n");
    REQUIRE(module.kernels.size() == 2);
    const Kernel& k = *module.find("k");
    CHECK(k.required_threads[0] == 32);
    CHECK(k.required_threads[1] == 1);
    CHECK(k.required_cluster[0] == 2);
    CHECK(k.required_cluster[2] == 1);
    CHECK(k.explicit_cluster);
    CHECK(k.maximum_registers == 40);
    CHECK(k.parameters[0].pointer);
    CHECK(k.parameters[3].bytes == 16);
    CHECK(k.parameters[4].offset == 48);  // 3 * 8 + 16 = 40, aligned to 16
    const Kernel& declared = *module.find("declared");
    CHECK(declared.maximum_threads[1] == 2);
    CHECK(declared.maximum_threads[2] == 1);
    CHECK(declared.minimum_ctas == 2);
    CHECK(declared.maximum_cluster_ctas == 4);
    CHECK(declared.required_cluster[0] == 0);
    CHECK_FALSE(declared.explicit_cluster);
}

TEST_CASE("Initial values of numbers", "[ptx][text]") {
    const Module module =
        parse(kHead +
              ".global .attribute(.managed) .align 16 .s8 bytes[5] = {-1, -128, 300, 0xAB};\n"
              ".const .u32 rows[][3] = {{1, 2}, {}, {3, 4, 5}};\n"
              ".visible .global .v4 .f32 vector = {1.0, 0f40000000, -3.5, 1e2};\n"
              ".weak .global .v2 .f64 vectors[2] = {{1.0, 2.0}, {0d4008000000000000}};\n"
              ".common .global .u32 zero;\n"
              ".global .b32 bits[3] = {0f3F800000, 1.5, -1};\n"
              ".global .b64 wide[3] = {0f3F800000, 0d3FF0000000000000, 0x8000000000000000};\n"
              ".global .b128 widest = -5;\n"
              ".global .u32 expression[2] = {3 + 4 * 2, (1 << 4) | 1}, second, third[WARP_SZ];\n"
              ".global .u16 cube[2][2][2] = {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}};\n"
              ".global .u32 empty[3] = {};\n.global .f16x2 pair;\n");
    CHECK(initial_values<std::int8_t>(module, "bytes") == std::vector<std::int8_t>{-1, -128, 44, -85, 0});
    CHECK(variable_named(module, "bytes").alignment == 16);
    CHECK(initial_values<std::uint32_t>(module, "rows") ==
          std::vector<std::uint32_t>{1, 2, 0, 0, 0, 0, 3, 4, 5});
    CHECK(initial_values<float>(module, "vector") == std::vector<float>{1, 2, -3.5f, 100});
    CHECK(variable_named(module, "vector").alignment == 16);
    CHECK(initial_values<double>(module, "vectors") == std::vector<double>{1, 2, 3, 0});
    CHECK(initial_values<std::uint32_t>(module, "bits") ==
          std::vector<std::uint32_t>{0x3F800000, 0x3FC00000, 0xFFFFFFFF});
    CHECK(initial_values<std::uint64_t>(module, "wide") ==
          std::vector<std::uint64_t>{0x3FF0000000000000, 0x3FF0000000000000, 0x8000000000000000});
    CHECK(initial_values<std::int64_t>(module, "widest") == std::vector<std::int64_t>{-5, -1});
    CHECK(initial_values<std::uint32_t>(module, "expression") == std::vector<std::uint32_t>{11, 17});
    CHECK(variable_named(module, "third").bytes == 128);
    CHECK(initial_values<std::uint16_t>(module, "cube") ==
          std::vector<std::uint16_t>{1, 2, 3, 4, 5, 6, 7, 8});
    CHECK(variable_named(module, "empty").bytes == 12);
}

TEST_CASE("Declarations that ptxas refuses", "[ptx][text]") {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {".global .u32 a[2][3] = {1, 2, 3, 4};", "before initial values"},
        {".global .v2 .f32 a[2] = {1.0, 2.0, 3.0, 4.0};", "before initial values"},
        {".global .u32 a[2] = {1, 2, 3};", "more initial values"},
        {".global .u32 a[2][2] = {{1, 2, 3}};", "more initial values"},
        {".global .f32 a = 1;", "an integer as initial value"},
        {".global .u32 a = 1.0;", "a floating-point number as initial value"},
        {".global .f16 a = 1.0;", "no initial value"},
        {".shared .u32 a = 5;", "only .global and .const"},
        {".global .u32 a[2][];", "a constant"},
        {".global .align 3 .u32 a;", "power of two"},
        {".global .pred a;", "cannot be .pred"},
        {".local .u32 a;", "into a kernel"},
        {".global .u32 a[3] = {1, 2,};", "an initial value"},
        {".global .u64 p = p;", "unknown name"},
        {".shared .u32 s; .global .u64 p = s;", "unknown name"},
        {".global .u32 s; .global .u16 p = s;", "does not fit"},
        {".global .u32 s; .global .u16 p[2] = {0xFFFF(s), 0xFFFF0000(s)};", "one byte"},
        {".global .u32 s; .global .u8 p = 0xF0(s);", "one byte"},
        {".global .u32 s; .global .u32 s;", "two variables of the same name"},
        {".global .u32 s = 1 / 0;", "division by zero"},
        {".extern .const .u32 a[]; .entry k() { .reg .u32 %r; ld.const.u32 %r, [a]; ret; }", "not defined"},
        {".entry k() { .reg .bf16 %r; ret; }", "no registers of this type"},
        {".entry k() { .reg .u32 a; { .shared .u32 b; } mov.u32 a, b; ret; }", "unknown register"},
        {".entry k() { .shared .u32 a; .shared .u32 a; ret; }", "same name"},
        {".func f(); .func g(); .alias g, f;", ".alias"},
    };
    for (const auto& [text, words] : cases) {
        const std::string message = refusal(text);
        INFO(text << "\n" << message);
        CHECK(message.find(words) != std::string::npos);
    }
}

TEST_CASE("Initial values that are addresses", "[ptx][text]") {
    const std::string globals =
        ".const .u32 gap = 1;\n.const .u32 foo = 42;\n.global .u32 bar[3] = {2, 3, 5};\n"
        ".global .u64 to_bar = bar+8;\n.global .u64 to_const = generic(foo);\n"
        ".const .u64 table[2][2] = {{bar, generic(bar)+4}, {foo}};\n"
        ".global .u8 bytes[8] = {0xFF(bar), 0xFF00(bar), 0xFF0000(bar), 0xFF000000(bar), 0xFF00000000(bar),\n"
        "  0xFF0000000000(bar), 0xFF000000000000(generic(bar)), 0xFF00000000000000(bar)};\n"
        ".global .align 4096 .b8 far[4];\n.global .u64 chain = to_bar;\n";
    Device device;
    const auto words =
        run_words(globals,
                  "ld.global.u64 %rd1, [to_bar]; ld.global.u32 %r1, [%rd1]; cvt.u64.u32 %rd2, %r1;\n"
                  "st.global.u64 [%rd0], %rd2;\n"
                  "ld.global.u64 %rd1, [to_const]; ld.u32 %r1, [%rd1]; cvt.u64.u32 %rd2, %r1;\n"
                  "st.global.u64 [%rd0+8], %rd2;\n"
                  "ld.const.u64 %rd1, [table+8]; ld.global.u32 %r1, [%rd1]; cvt.u64.u32 %rd2, %r1;\n"
                  "st.global.u64 [%rd0+16], %rd2;\n"
                  "ld.const.u64 %rd1, [table+16]; ld.const.u32 %r1, [%rd1]; cvt.u64.u32 %rd2, %r1;\n"
                  "st.global.u64 [%rd0+24], %rd2;\n"
                  "ld.global.u64 %rd1, [bytes]; mov.u64 %rd2, bar; sub.u64 %rd1, %rd1, %rd2;\n"
                  "st.global.u64 [%rd0+32], %rd1;\n"
                  "mov.u64 %rd1, far; st.global.u64 [%rd0+40], %rd1;\n"
                  "ld.global.u64 %rd1, [chain]; ld.global.u64 %rd1, [%rd1]; ld.global.u32 %r1, "
                  "[%rd1]; cvt.u64.u32 %rd2, %r1; st.global.u64 [%rd0+48], %rd2;\n",
                  7, device);
    CHECK(words[0] == 5);
    CHECK(words[1] == 42);
    CHECK(words[2] == 3);
    CHECK(words[3] == 42);
    CHECK(words[4] == 0);
    CHECK(words[5] % 4096 == 0);
    CHECK(words[6] == 5);
    CHECK(module_variable_address(device.memory, "far") == words[5]);
}

TEST_CASE("A variable declared .extern may be defined later", "[ptx][text]") {
    const Program program(
        kHead +
            ".extern .global .u64 q;\n.extern .const .u32 zero;\n"
            ".visible .entry k(.param .u64 out) { .reg .u64 %rd<4>; ld.param.u64 %rd1, [out];\n"
            "ld.global.u64 %rd2, [q]; st.global.u64 [%rd1], %rd2; ret; }\n"
            ".visible .global .u64 q = 4;\n",
        "k");
    Device device;
    const auto out = device.upload("out", std::vector<std::uint64_t>(1));
    program.run(device, {1}, {1}, {argument(out)});
    CHECK(device.download<std::uint64_t>(out, 1)[0] == 4);
}

TEST_CASE("Addresses of elements, and of places inside of variables", "[ptx][text]") {
    Device device;
    const auto words =
        run_words(".shared .align 16 .u32 first[4];\n.global .u32 values[4] = {10, 11, 12, 13};\n",
                  ".shared .v2 .u32 pairs[4];\n"
                  "mov.u32 %r1, 7; st.shared.u32 first[3], %r1; ld.shared.u32 %r2, [first+4*3];\n"
                  "cvt.u64.u32 %rd1, %r2; st.global.u64 [%rd0], %rd1;\n"
                  "mov.u32 %r1, first; mov.u32 %r2, first[2]; sub.u32 %r3, %r2, %r1; cvt.u64.u32 %rd1, %r3;\n"
                  "st.global.u64 [%rd0+8], %rd1;\n"
                  "mov.u32 %r1, pairs; mov.u32 %r2, pairs[3]; sub.u32 %r3, %r2, %r1; cvt.u64.u32 %rd1, %r3;\n"
                  "st.global.u64 [%rd0+16], %rd1;\n"
                  "mov.u64 %rd2, values+4*2; ld.global.u32 %r1, [%rd2+-4]; cvt.u64.u32 %rd1, %r1;\n"
                  "st.global.u64 [%rd0+(1<<4)+8], %rd1;\n"
                  "ld.global.u32 %r1, values[3]; cvt.u64.u32 %rd1, %r1; st.global.u64 [%rd0+32], %rd1;\n",
                  5, device);
    CHECK(words == std::vector<std::uint64_t>{7, 8, 24, 11, 13});
}

TEST_CASE("Vector registers", "[ptx][text]") {
    Device device;
    const auto words = run_words(
        ".global .align 16 .f32 values[4] = {1.0, 2.0, 4.0, 8.0};\n"
        ".global .align 8 .u32 numbers[2] = {5, 6};\n",
        ".reg .v4 .f32 v; .reg .v2 .u32 w<3>;\n"
        "ld.global.v4.f32 v, [values]; add.f32 %f1, v.x, v.w; mov.f32 v.g, %f1;\n"
        "st.global.v4.f32 [values], v;\n"
        "ld.global.v2.u32 w1, [numbers]; mov.b64 %rd1, w1; st.global.u64 [%rd0], %rd1;\n"
        "mov.b64 w2, %rd1; cvt.u64.u32 %rd2, w2.y; st.global.u64 [%rd0+8], %rd2;\n",
        2, device);
    CHECK(words == std::vector<std::uint64_t>{(std::uint64_t{6} << 32) | 5, 6});
    const auto values = device.download<float>(module_variable_address(device.memory, "values"), 4);
    CHECK(values == std::vector<float>{1, 9, 4, 8});
}

TEST_CASE("Variables of inner scopes hide outer ones, and end with their scope", "[ptx][text]") {
    Device device;
    const auto words =
        run_words(".shared .u32 a[4];\n",
                  "mov.u32 %r1, a; { .shared .u64 pad; .shared .u64 a; mov.u64 %rd3, pad; mov.u32 "
                  "%r2, a; } mov.u32 %r3, a;\n"
                  "{ .global .u64 hidden = 3; ld.global.u64 %rd1, [hidden]; }\n"
                  "{ .global .u64 hidden2 = 4; .const .u64 c = 9; ld.const.u64 %rd2, [c]; }\n"
                  "sub.u32 %r3, %r3, %r1; cvt.u64.u32 %rd4, %r3; st.global.u64 [%rd0], %rd4;\n"
                  "sub.u32 %r2, %r2, %r1; cvt.u64.u32 %rd4, %r2; st.global.u64 [%rd0+8], %rd4;\n"
                  "st.global.u64 [%rd0+16], %rd1; st.global.u64 [%rd0+24], %rd2;\n",
                  4, device);
    CHECK(words[0] == 0);
    CHECK(words[1] != 0);
    CHECK(words[2] == 3);
    CHECK(words[3] == 9);
}

TEST_CASE("The runtime's shared memory is one place for all functions", "[ptx][text]") {
    const Program program(
        kHead +
            ".func (.param .b32 r) read() { .reg .b32 %a, %b; mov.u32 %a, %reserved_smem_offset_1;\n"
            "ld.shared.u32 %b, [%a]; st.param.b32 [r], %b; ret; }\n"
            ".func write(.param .b32 x) { .reg .b32 %a, %b; ld.param.b32 %b, [x];\n"
            "mov.u32 %a, %reserved_smem_offset_1; st.shared.u32 [%a], %b; ret; }\n"
            ".visible .entry k(.param .u64 out) { .shared .u32 own; .reg .b32 %r<5>; .reg .b64 %rd1;\n"
            ".param .b32 x; .param .b32 r; ld.param.u64 %rd1, [out]; mov.b32 %r1, 77; st.param.b32 [x], "
            "%r1;\n"
            "call write, (x); mov.b32 %r2, 5; st.shared.b32 [own], %r2; call (r), read;\n"
            "ld.param.b32 %r3, [r]; st.global.b32 [%rd1], %r3; mov.u32 %r4, %reserved_smem_offset_cap;\n"
            "st.global.b32 [%rd1+4], %r4; ret; }\n",
        "k");
    Device device;
    const auto out = device.upload("out", std::vector<std::uint32_t>(2));
    program.run(device, {1}, {1}, {argument(out)});
    CHECK(device.download<std::uint32_t>(out, 2) == std::vector<std::uint32_t>{77, 1024});
}

TEST_CASE("Textures may be declared, not used", "[ptx][text]") {
    const std::string declarations =
        ".global .texref t;\n.global .samplerref s = {addr_mode_0 = clamp_to_border, filter_mode = "
        "nearest};\n"
        ".global .surfref u;\n";
    CHECK(parse(kHead + declarations + ".entry k(.param .u64 p) { ret; }\n").kernels.size() == 1);
    const std::string message = refusal(declarations +
                                        ".entry k() { .reg .f32 a, b, c, d; .reg .s32 x;\n"
                                        "tex.1d.v4.f32.s32 {a, b, c, d}, [t, {x}];\nret; }\n");
    INFO(message);
    CHECK(message.find("wrong.ptx:8: tex: unsupported") != std::string::npos);
    // The other kernels of the module can be run.
    const auto module =
        parse_shared(kHead + declarations +
                     ".entry bad() { .reg .f32 a, b, c, d; .reg .s32 x;\n"
                     "tex.1d.v4.f32.s32 {a, b, c, d}, [t, {x}];\nret; }\n.entry good() { ret; }\n");
    CHECK(LoadedKernel(module, "good").instructions().size() == 1);
    CHECK_THROWS_AS(LoadedKernel(module, "bad"), Error);
}
