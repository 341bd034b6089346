// Machine code is decoded as nvdisasm prints it.
#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "isa/common/error.h"
#include "isa/sass/cubin.h"
#include "isa/sass/decode_table.h"
#include "isa/sass/disassembler.h"

using namespace heddle;
using namespace heddle::sass;

namespace {

namespace fs = std::filesystem;

std::string decoded_text(std::uint64_t high, std::uint64_t low, unsigned architecture, std::uint64_t address = 0) {
    return text_of(decode(std::array<std::uint64_t, 2>{low, high}, architecture, address));
}

/// Without commas and spaces, in which nvdisasm is not the same for all opcodes.
std::string essence(const std::string& text) {
    std::string result;
    for (const char c : text)
        if (c != ' ' && c != ',') result += c;
    return result;
}

std::string assembled(const fs::path& ptx, const std::string& architecture) {
    const fs::path cubin = fs::temp_directory_path() / ("heddle_decode_" + std::to_string(getpid()) + ".cubin");
    const std::string command = std::string(HEDDLE_PTXAS) + " -arch=" + architecture + " " + ptx.string() + " -o " + cubin.string() + " > /dev/null 2>&1";
    const int status = std::system(command.c_str());
    std::ifstream file(cubin, std::ios::binary);
    std::ostringstream content;
    content << file.rdbuf();
    fs::remove(cubin);
    return status == 0 ? content.str() : "";
}

}  // namespace

TEST_CASE("words of machine code are the text that nvdisasm prints", "[sass][decode]") {
    CHECK(decoded_text(0x000fc00000000000, 0x0000000000007918, 86) == "NOP");
    CHECK(decoded_text(0x0000000003800000, 0x0000091000000947, 80, 0x30) == "@P0 BRA 0x950");
    CHECK(decoded_text(0x000000000383ffff, 0xffffe1c000007947, 80, 0x60) == "BRA -0x1dd0");
}

TEST_CASE("a word that no table has is an error that names the code", "[sass][decode]") {
    try {
        decode(std::array<std::uint64_t, 2>{~std::uint64_t{0}, ~std::uint64_t{0}}, 80, 0x40);
        FAIL("nothing was thrown");
    } catch (const Error& error) {
        CHECK(error.problem() == "the instruction 0xffffffffffffffffffffffffffffffff of sm_80 is in no table");
        CHECK(error.where().key == "byte 0x40");
    }
    CHECK_THROWS_AS(decode(std::array<std::uint64_t, 2>{0x7918, 0x000fc00000000000}, 61, 0), Error);
}

// Hidden as long as the table differs: see decode_table.h.
TEST_CASE("what ptxas makes is decoded as nvdisasm prints it", "[.][sass][decode]") {
    struct Source {
        const char* file;
        const char* architecture;
        unsigned number;
    };
    const std::vector<Source> sources = {
        {"tests/isa/ptx/cuda/language_80.ptx", "sm_80", 80}, {"tests/isa/ptx/cuda/gemm_80.ptx", "sm_80", 80},
        {"tests/isa/ptx/cuda/attention_80.ptx", "sm_86", 86}, {"tests/isa/ptx/cuda/copies_80.ptx", "sm_86", 86},
        {"tests/isa/ptx/cuda/language_89.ptx", "sm_89", 89}, {"tests/isa/ptx/cuda/numeric.ptx", "sm_90a", 90},
        {"tests/isa/ptx/cuda/wgmma.ptx", "sm_90a", 90},      {"tests/isa/ptx/cuda/double_math.ptx", "sm_90a", 90},
    };
    std::size_t compared = 0;
    for (const Source& source : sources) {
        INFO(source.file << " for " << source.architecture);
        const std::string content = assembled(fs::path(HEDDLE_SOURCE_DIR) / source.file, source.architecture);
        if (content.empty()) {
            WARN("skipped: ptxas is absent, or does not make code of " << source.file);
            continue;
        }
        const Cubin cubin = read_cubin({reinterpret_cast<const std::byte*>(content.data()), content.size()}, source.file);
        REQUIRE(cubin.compute_capability == source.number);
        if (!has_decode_table(cubin.compute_capability)) continue;
        std::size_t lacking = 0, all = 0;
        for (const MachineFunction& function : cubin.functions) {
            const auto lines = disassemble(function.code, cubin.compute_capability);
            if (!lines) continue;
            for (std::size_t i = 0; i < lines->size(); ++i) {
                Instruction one;
                ++all;
                if (!decode_by_table(function.code[i], cubin.compute_capability, i * 16, one)) {
                    ++lacking;
                    UNSCOPED_INFO("no row: " << (*lines)[i]);
                    continue;
                }
                CHECK(essence(text_of(one)) == essence((*lines)[i]));
                ++compared;
            }
        }
        CHECK(lacking * 5 <= all);  // forms that the table lacks are nvdisasm's, and few
    }
    if (compared == 0) WARN("skipped: nvdisasm is absent");
}

TEST_CASE("a cubin's sections, attributes and relocations are read", "[sass][cubin]") {
    std::ifstream file(fs::path(HEDDLE_SOURCE_DIR) / "tests/fuzz/samples/small.cubin", std::ios::binary);
    std::ostringstream content;
    content << file.rdbuf();
    const std::string text = content.str();
    const auto read = [](const std::string& bytes) { return read_cubin({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "small.cubin"); };
    const Cubin cubin = read(text);
    CHECK(cubin.compute_capability == 80);
    REQUIRE(cubin.functions.size() == 2);
    const MachineFunction& kernel = cubin.functions[0];
    CHECK(kernel.name == "k");
    CHECK(kernel.is_kernel);
    CHECK_FALSE(cubin.functions[1].is_kernel);
    CHECK(kernel.registers == 24);
    CHECK(kernel.frame_bytes == 16);
    CHECK(kernel.shared_bytes == 256);
    CHECK(kernel.parameter_base == 0x160);
    REQUIRE(kernel.parameters.size() == 1);
    CHECK(kernel.parameters[0].bytes == 8);
    CHECK(kernel.maximum_threads == 128);
    CHECK(kernel.required_threads == std::array<std::uint32_t, 3>{64, 2, 1});
    CHECK(kernel.cluster == std::array<std::uint32_t, 3>{2, 1, 1});
    REQUIRE(kernel.branch_targets.size() == 1);
    CHECK(kernel.branch_targets[0].second == std::vector<std::uint64_t>{0, 32});
    REQUIRE(kernel.relocations.size() == 1);
    CHECK(kernel.relocations[0].symbol == "c");
    CHECK(kernel.constant2.size() == 8);
    REQUIRE(cubin.variables.size() == 2);
    CHECK(cubin.variables[0].name == "v");
    CHECK(cubin.variables[1].constant);
    CHECK(cubin.variables[1].offset == 4);
    CHECK(cubin.variables[1].initial == std::vector<std::byte>{std::byte{4}, std::byte{5}, std::byte{6}, std::byte{7}});
    CHECK_THROWS_AS(read(text.substr(0, text.size() / 2)), Error);
}
