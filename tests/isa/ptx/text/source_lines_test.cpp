// Lines of the CUDA source, kept from .loc, and C++ names of kernels.
#include <catch2/catch.hpp>
#include <functional>

#include "../launch.h"
#include "isa/common/error.h"
#include "isa/ptx/names.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

// As nvcc -lineinfo writes it: files and names at the end. "_Z3dotPf" is dot(float*), "_Z4addsf" adds(float).
const std::string kText =
    ".version 9.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u64 p)\n{\n"
    ".reg .b64 %rd<4>; .reg .f32 %f<4>;\n"
    ".loc 1 30 5\n"
    "ld.param.u64 %rd1, [p];\n"
    ".loc 1 12 3, function_name $L__info_string0, inlined_at 1 30 5\n"
    "ld.global.f32 %f1, [%rd1];\n"
    ".loc 2 7 9, function_name $L__info_string0+9, inlined_at 1 12 3\n"
    "add.f32 %f1, %f1, %f1;\n"
    ".loc 1 31 1\n"
    "st.global.f32 [%rd1+64], %f1;\n"
    "ret;\n}\n"
    ".file 1 \"/home/me/blas.cu\"\n.file 2 \"/opt/cuda/include/adds.h\", 1700000000, 77\n"
    ".section .debug_str\n{\n$L__info_string0:\n"
    ".b8 95,90,51,100,111,116,80,102,0\n"
    ".b8 95,90,52,97,100,100,115,102,0\n}\n";

std::string message_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("Instructions know their line of the CUDA source", "[ptx][text]") {
    const LoadedKernel kernel(parse_shared(kText, "blas.ptx"), "k");
    REQUIRE(kernel.instructions().size() == 5);
    CHECK(kernel.describe_source(0) == "blas.cu:30");
    CHECK(kernel.describe_source(1) == "blas.cu:12 (dot(float*) inlined at blas.cu:30)");
    CHECK(kernel.describe_source(2) ==
          "adds.h:7 (adds(float) inlined at blas.cu:12, dot(float*) inlined at blas.cu:30)");
    CHECK(kernel.describe_source(3) == "blas.cu:31");
    CHECK(kernel.instructions()[2].source.line == 7);
    CHECK(kernel.source_files()[kernel.instructions()[2].source.file] == "/opt/cuda/include/adds.h");
    const LoadedKernel plain(parse_shared(module_text("", "ret;")), "test");
    CHECK(plain.describe_source(0).empty());
}

TEST_CASE("Lines as nvcc -lineinfo prints them", "[ptx][text]") {
    const std::string text =
        read_text(std::string(HEDDLE_SOURCE_DIR) + "/tests/isa/ptx/cuda/source_lines.ptx");
    const auto module = parse_shared(text, "source_lines.ptx");
    const LoadedKernel kernel(module, "lengths");
    const auto place_of = [&](Opcode opcode) {
        const std::vector<Instruction>& all = module->kernels[0].instructions;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i].opcode == opcode) return kernel.describe_source(i);
        }
        return std::string();
    };
    CHECK(place_of(Opcode::setp) == "source_lines.cu:6");
    CHECK(place_of(Opcode::sqrt) == "source_lines.cu:3 (norm(float, float) inlined at source_lines.cu:6)");
    CHECK(place_of(Opcode::mul) == "source_lines.cu:6");
    CHECK(kernel.describe_source(17) ==
          "source_lines.cu:2 (square(float) inlined at source_lines.cu:3, "
          "norm(float, float) inlined at source_lines.cu:6)");
    CHECK(place_of(Opcode::ret) == "source_lines.cu:7");
}

TEST_CASE("Errors name the line of the CUDA source", "[ptx][text]") {
    const Program program(kText, "k", "blas.ptx");
    Device device;
    const auto p = device.upload("p", std::vector<float>(4));
    const std::string running = message_of([&] { program.run(device, {1}, {1}, {argument(p)}); });
    INFO(running);
    CHECK(running.find("blas.ptx:14: blas.cu:31: ") != std::string::npos);

    std::string text = kText;
    text.replace(text.find("add.f32 %f1, %f1"), 16, "add.f32 %f1, %f9");
    const std::string parsing = message_of([&] { parse(text, "blas.ptx"); });
    INFO(parsing);
    CHECK(parsing.find("blas.ptx:12: adds.h:7, ") != std::string::npos);
}

TEST_CASE("Debug sections of every kind are read over", "[ptx][text]") {
    const Module module = parse(
        ".version 9.0\n.target sm_90, debug\n.address_size 64\n@@DWARF .byte 0x01, 0x02\n"
        "#line 5 \"a.cu\"\n# 7 \"a.cu\"\n"
        ".visible .entry k() { .loc 1 1 1\nret;\n$Lend:\n}\n.file 1 \"a.cu\"\n"
        ".section .debug_abbrev\n{\n.b8 1\n.b8 1,2,-3\n$Lx:\n.b32 5\n.b64 $Lx\n.b32 .debug_str\n.b32 $Lx+4\n"
        ".b32 $Lx-$Ly\n.b64 -4611686018427387904\n$Ly:\n}\n.section .debug_str\n{\n.b8 1,2\n}\n");
    CHECK(module.kernels[0].instructions[0].source.line == 1);
    CHECK_THROWS_AS(parse(".version 9.0\n.target sm_90\n.section .debug_str { .f32 1.0 }\n"), Error);
    CHECK_THROWS_AS(parse(".version 9.0\n.target sm_90\n.section .debug_str { .b8 1\n"), Error);
}

TEST_CASE("Kernels are found by their C++ name", "[ptx][text]") {
    // Mangled by g++: void saxpy<float>(int, float*), void saxpy<double>(int, double*), k(int*), ns::k(int*),
    // void ns::t<3>(Box<int, 2>), (anonymous namespace)::hidden(), plain.
    const std::vector<std::string> symbols = {"_Z5saxpyIfEviPT_",
                                              "_Z5saxpyIdEviPT_",
                                              "_Z1kPi",
                                              "_ZN2ns1kEPi",
                                              "_ZN2ns1tILi3EEEv3BoxIiLi2EE",
                                              "_ZN12_GLOBAL__N_16hiddenEv",
                                              "plain"};
    CHECK(find_name("plain", symbols) == 6);
    CHECK(find_name("_Z1kPi", symbols) == 2);
    CHECK(find_name("void saxpy<float>(int, float*)", symbols) == 0);
    CHECK(find_name("saxpy<double>(int,double*)", symbols) == 1);
    CHECK(find_name("saxpy<double>", symbols) == 1);
    CHECK(find_name("k(int*)", symbols) == 2);
    CHECK(find_name("ns::k", symbols) == 3);
    CHECK(find_name("ns::t<3>", symbols) == 4);
    CHECK(find_name("t", symbols) == 4);
    CHECK(find_name("hidden", symbols) == 5);
    CHECK(find_name("(anonymous namespace)::hidden()", symbols) == 5);
    CHECK(find_name("saxp", symbols) == -1);
    CHECK(find_name("", symbols) == -1);
    const std::string several = message_of([&] { find_name("saxpy", symbols); });
    CHECK(several.find("saxpy<float>(int, float*)") != std::string::npos);
    CHECK(several.find("saxpy<double>(int, double*)") != std::string::npos);

    const auto module = parse_shared(
        ".version 9.0\n.target sm_90\n.entry _Z5saxpyIfEviPT_() { ret; }\n.entry _Z1kPi() { ret; }\n");
    CHECK(LoadedKernel(module, "saxpy").name() == "_Z5saxpyIfEviPT_");
    const std::string missing = message_of([&] { LoadedKernel(module, "gemm"); });
    INFO(missing);
    CHECK(missing.find("saxpy<float>(int, float*)") != std::string::npos);
}
