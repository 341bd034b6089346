// What the parser makes of PTX text, and how it refuses text that is wrong.
#include "isa/ptx/parser.h"

#include <catch2/catch.hpp>

#include "isa/common/error.h"
#include "launch.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

// Parses a kernel whose body declares registers of every kind, and expects an error at `line` of the body.
struct Refusal {
    std::int64_t line = 0;
    std::string message;
};

constexpr const char* kRegisters =
    ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .f32 %f<4>; .reg .f64 %d<4>;";

Refusal refuse_text(const std::string& text) {
    try {
        const auto module = parse_shared(text, "wrong.ptx");
        for (const Kernel& kernel : module->kernels) LoadedKernel(module, kernel.name);
    } catch (const Error& error) {
        return {error.where().line, error.what()};
    }
    return {};
}

// The instruction stands in line 7.
Refusal refuse(const std::string& instruction) {
    return refuse_text(module_text(".param .u64 x", std::string(kRegisters) + "\n" + instruction + "\nret;"));
}

bool mentions(const Refusal& refusal, const std::string& words) {
    return refusal.message.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("A kernel's declarations are laid out", "[ptx][parser]") {
    const Module module = parse(
        ".version 8.3\n.target sm_80\n.address_size 64\n"
        ".const .align 4 .f32 table[2][3] = {{1.0, 0f40000000}, {-3.5}};\n"
        ".global .u32 counter = 7;\n"
        ".extern .shared .align 16 .b8 dynamic[];\n"
        ".visible .entry k(.param .u32 n, .param .align 8 .b8 box[20], .param .u64 .ptr .global .align 16 p, "
        ".param .u16 h)\n"
        ".maxntid 256, 1, 1 .minnctapersm 2\n"
        "{\n .shared .align 8 .b8 small[12];\n .shared .f64 wide[3];\n .local .align 4 .b8 stack[40];\n"
        " .reg .f32 %f<2>;\n .reg .u64 %rd;\n .reg .u32 %r;\n"
        " mov.u64 %rd, small; mov.u64 %rd, wide; mov.u64 %rd, dynamic;\n"
        " ld.const.f32 %f1, [table+16];\n ret;\n}\n",
        "layout.ptx");
    REQUIRE(module.version_major == 8);
    REQUIRE(module.version_minor == 3);
    REQUIRE(module.compute_capability == 80);
    const Kernel* kernel = module.find("k");
    REQUIRE(kernel != nullptr);
    // C layout: u32 at 0, 8-byte aligned box at 8, pointer at 32, u16 at 40.
    REQUIRE(kernel->parameters.size() == 4);
    REQUIRE(kernel->parameters[1].offset == 8);
    REQUIRE(kernel->parameters[1].bytes == 20);
    REQUIRE(kernel->parameters[2].offset == 32);
    REQUIRE(kernel->parameters[2].pointer);
    REQUIRE(kernel->parameters[3].offset == 40);
    REQUIRE(kernel->parameter_bytes == 42);
    REQUIRE(kernel->maximum_threads[0] == 256);
    REQUIRE(kernel->minimum_ctas == 2);
    // small at 0, wide at 16 (8-byte alignment after 12 bytes), 24 bytes long; dynamic memory at the next
    // multiple of 16.
    REQUIRE(kernel->shared_bytes == 40);
    REQUIRE(kernel->local_bytes == 40);
    const Variable& dynamic = kernel->variables[2];
    REQUIRE(dynamic.name == "dynamic");
    REQUIRE(dynamic.offset == 48);
    // Rows that are not full are padded: {1, 2, 0}, {-3.5, 0, 0}.
    const Variable& table = kernel->variables[0];
    REQUIRE(table.bytes == 24);
    float values[6] = {};  // what follows the initial bytes is zero
    REQUIRE(table.initial.size() <= sizeof(values));
    std::memcpy(values, table.initial.data(), table.initial.size());
    REQUIRE(values[0] == 1.0f);
    REQUIRE(values[1] == 2.0f);
    REQUIRE(values[2] == 0.0f);
    REQUIRE(values[3] == -3.5f);
}

TEST_CASE("Constants in every notation", "[ptx][parser]") {
    const auto bits_of_operand = [](const std::string& instruction) {
        const Module module = parse(module_text("", std::string(kRegisters) + instruction + " ret;"));
        return module.kernels[0].instructions[0].operands.back().bits;
    };
    REQUIRE(bits_of_operand("mov.b32 %r1, 0x1F;") == 31);
    REQUIRE(bits_of_operand("mov.u32 %r1, 4294967295U;") == 0xFFFFFFFFu);
    REQUIRE(bits_of_operand("mov.s32 %r1, -2;") == 0xFFFFFFFEu);
    REQUIRE(bits_of_operand("mov.b32 %r1, 0b1011;") == 11);
    REQUIRE(bits_of_operand("mov.b32 %r1, 017;") == 15);
    REQUIRE(bits_of_operand("mov.f32 %f1, 0f3F800000;") == 0x3F800000u);
    REQUIRE(bits_of_operand("mov.f32 %f1, 1.5;") == 0x3FC00000u);
    REQUIRE(bits_of_operand("mov.f32 %f1, -25e-1;") == 0xC0200000u);
    REQUIRE(bits_of_operand("mov.f64 %d1, 0d3FF8000000000000;") == 0x3FF8000000000000u);
    REQUIRE(bits_of_operand("mov.u64 %rd1, 0xFFFFFFFFFFFFFFFF;") == ~0ull);
    REQUIRE(bits_of_operand("mov.b16 %h1, -1;") == 0xFFFFu);
}

TEST_CASE("Registers of inner scopes hide outer ones, labels are scoped", "[ptx][parser]") {
    const Module module =
        parse(module_text("",
                          "{ .reg .b32 %a; mov.b32 %a, 1; { .reg .b64 %a; mov.b64 %a, 2; bra done; "
                          "done: } bra done; mov.b32 %a, 3; } done: ret;"));
    const Kernel& kernel = module.kernels[0];
    REQUIRE(kernel.registers.size() == 2);
    REQUIRE(kernel.registers[1].type == Type::b64);
    REQUIRE(kernel.instructions[2].operands[0].index == 3);  // the inner label
    REQUIRE(kernel.instructions[3].operands[0].index == 5);  // the outer one
    REQUIRE(kernel.instructions[4].operands[0].index == kernel.instructions[0].operands[0].index);
}

TEST_CASE("Debug information and pragmas do not disturb", "[ptx][parser]") {
    const Module module = parse(
        ".version 8.0\n.target sm_90, debug\n.address_size 64\n.file 1 \"a.cu\", 12345, 678\n"
        ".visible .entry k()\n{\n.pragma \"nounroll\";\n.loc 1 5 3\n.loc 1 6 3, function_name $L__info0, "
        "inlined_at 1 9 2\nret;\n}\n"
        ".section .debug_str\n{\n.b8 99,111\n$L__info0:\n.b8 0\n}\n");
    REQUIRE(module.kernels[0].instructions.size() == 1);
    REQUIRE(module.kernels[0].pragmas == std::vector<std::string>{"nounroll"});
    REQUIRE(module.source_files == std::vector<std::string>{"a.cu"});
}

TEST_CASE("Wrong instructions are refused with their line and a remedy", "[ptx][parser]") {
    struct Case {
        std::string text, words;
    };
    const std::vector<Case> cases = {
        {"adf.s32 %r1, %r2, %r3;", "did you mean add?"},
        {"add.s32 %r1, %r2, %r9;", "did you mean %r"},
        {"add.s32 %r1, %r2, index;", "unknown register or variable index"},
        {"add.s32 %r1, %r2;", "missing"},
        {"add.s32 %r1, %r2, %r3, %r4;", "takes 3"},
        {"add.s32 %r1, %r2, %f1;", "must be .s32, the register is .f32"},
        {"add.s32 %r1, %r2, %rd1;", "must be .s32, the register is .b64"},
        {"add.f32 %f1, %f2, 1;", "write 1.0"},
        {"add.s32 %r1, %r2, 1.5;", "floating-point constant"},
        {"add.s33 %r1, %r2, %r3;", "unsupported form add.s33"},
        {"add.rn.s32 %r1, %r2, %r3;", "unsupported form add.rn.s32"},
        {"fma.f32 %f1, %f2, %f3, %f0;", "unsupported form fma.f32"},
        {"ld.global.f32 %f1, %rd1;", "expected an address"},
        {"ld.global.f32 %f1, [%f2];", "an address needs a 32-bit or 64-bit integer register"},
        {"ld.global.v2.f32 %f1, [%rd1];", "expected a vector of 2"},
        {"ld.global.v2.f32 {%f1, %f2, %f3}, [%rd1];", "expected a vector of 2"},
        {"ld.global.f32 {%f1, %f2}, [%rd1];", "a vector is not possible"},
        {"ld.global.f32 %f1, [x];", "a parameter is read with ld.param"},
        {"ld.param.u64 %rd1, [y];", "did you mean x?"},
        {"setp.lt.s32 %r1, %r2, %r3;", "must be .pred"},
        {"@%r1 bra end; end:", "a guard must be a predicate"},
        {"@%p9 bra end; end:", "unknown register"},
        {"bra nowhere;", "unknown label"},
        {"mov.u32 %tid.x, 5;", "a special register cannot be written"},
        {"mov.u32 5, %r1;", "a destination must be a register"},
        {"add.s32 _, %r1, _;", "'_' can only stand for a destination"},
        {"st.global.f32 [%rd1], !%f1;", "cannot be negated"},
        {"add.s32 %r1, %r2, 99999999999999999999;", "does not fit 64 bits"},
        {"mov.f32 %f1, 0f3F80;", "8 hexadecimal digits"},
        {"mov.u32 %r1, 0x;", "malformed number"},
        {"add.s32 %r1 %r2, %r3;", "expected ','"},
        {"add.s32 %r1, %r2, %r3", "expected ','"},
        {"frobnicate.s32 %r1, %r2;", "unknown or unsupported instruction"},
        {"mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, "
         "{%r4,%r5}, {%f0,%f1,%f2,%f3};",
         "unsupported form"},
        {"mul.wide.s32 %r1, %r2, %r3;", "must be .s64"},
        {"cvt.f32.s32 %f1, %r1;", "unsupported form"},
        {"shl.b32 %r1, %r2, %rd1;", "must be .u32"},
        {".reg .v2 .f32 %v; add.f32 %f1, %v, %f2;", "write one component: %v.x"},
        {".reg .b32 %r<9>;", "two registers of the same name"},
        {".frobnicate 3;", "unknown or unsupported directive"},
        {"# comment", "a character that PTX does not know"},
    };
    for (const Case& one : cases) {
        INFO(one.text);
        const Refusal refusal = refuse(one.text);
        INFO(refusal.message);
        CHECK(mentions(refusal, one.words));
        CHECK(mentions(refusal, "wrong.ptx"));
        CHECK((refusal.line == 8 || refusal.line == 9));
    }
}

TEST_CASE("Wrong modules are refused", "[ptx][parser]") {
    CHECK(mentions(refuse_text(""), "expected .version"));
    CHECK(mentions(refuse_text(".version 8.0\n.target gfx90\n"), "unknown target"));
    CHECK(mentions(refuse_text(".version 8.0\n.target sm_90\n.address_size 32\n"), "only 64-bit"));
    const std::string head = ".version 8.0\n.target sm_90\n.address_size 64\n";
    CHECK(mentions(refuse_text(head + ".extern .func f; .entry k() { call f; ret; }"),
                   "function f has no body"));
    CHECK(mentions(refuse_text(head + ".func f() { ret; } .func f() { ret; }"),
                   "two functions of the same name"));
    CHECK(mentions(refuse_text(head + ".func f(.param .b32 a) { ret; } .entry k() { call f; ret; }"),
                   "takes 1 arguments"));
    CHECK(mentions(
        refuse_text(head + ".func f(.param .b32 a) { ret; } .entry k() { .reg .b32 %r; call f, (%r); ret; }"),
        "must be a .param variable"));
    CHECK(mentions(refuse_text(head + ".visible .entry k( { ret; }"), "expected .param"));
    CHECK(mentions(refuse_text(head + ".visible .entry k() { ret;"), "expected '}'"));
    CHECK(mentions(refuse_text(head + ".visible .entry k() { /* ret; }"), "comment without an end"));
    CHECK(mentions(refuse_text(head + ".visible .entry k() { ret; } .visible .entry k() { ret; }"),
                   "same name"));
    CHECK(mentions(refuse_text(head + ".shared .b8 x[99999999999];"), "more shared memory"));
    CHECK(mentions(refuse_text(head + ".const .b8 x[70000];"), "constant bank"));
    CHECK(mentions(refuse_text(head + ".global .f32 x[2] = {1.0, 2.0, 3.0};"), "more initial values"));
    CHECK(mentions(refuse_text(head + ".visible .entry k(.param .b8 x[40000]) { ret; }"), "32764"));
    CHECK(mentions(refuse_text(head + ".visible .entry k() { a: ret; a: ret; }"), "two labels"));
}

TEST_CASE("Text cut short anywhere is an error, or a shorter module", "[ptx][parser]") {
    const std::string text = read_text(std::string(HEDDLE_SOURCE_DIR) + "/tests/isa/ptx/cuda/kernels.ptx");
    const std::size_t whole = parse(text).kernels.size();
    REQUIRE(whole == 10);
    std::size_t refused = 0, tried = 0;
    for (std::size_t length = 0; length < text.size(); length += 61) {
        ++tried;
        std::size_t kernels = 0;
        try {
            kernels = parse(text.substr(0, length)).kernels.size();
        } catch (const Error&) {
            ++refused;
        }
        REQUIRE(kernels < whole);
    }
    // Only cuts between two kernels leave a module that is whole.
    REQUIRE(refused * 10 > tried * 9);
}
