// NVIDIA's assembler takes every kernel of the probes, for the oldest GPU that has the instruction.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "validation/capture/sections/matrix_probe.h"
#include "validation/capture/sections/probes_tiles.h"
#include "validation/capture/sections/scalar_probe.h"

using namespace heddle::capture;

namespace {

// Of the PTX's own .target; sm_70 has left the assembler.
std::string architecture_of(const std::string& ptx) {
    const std::size_t at = ptx.find(".target ") + 8;
    const std::string target = ptx.substr(at, ptx.find('\n', at) - at);
    return target == "sm_70" ? "sm_75" : target;
}

bool accepted(const std::string& ptx, const std::filesystem::path& folder) {
    std::ofstream(folder / "probe.ptx") << ptx;
    const std::string command = "ptxas -arch=" + architecture_of(ptx) + " -o '" +
                                (folder / "probe.cubin").string() + "' '" + (folder / "probe.ptx").string() +
                                "' > '" + (folder / "log").string() + "' 2>&1";
    return std::system(command.c_str()) == 0;
}

}  // namespace

TEST_CASE("ptxas accepts every probe", "[capture][probes]") {
    if (std::system("ptxas --version > /dev/null 2>&1") != 0) {
        std::cout << "skipped: no ptxas found\n";
        return;
    }
    const auto folder =
        std::filesystem::temp_directory_path() / ("heddle_probe_ptxas_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    CHECK_FALSE(accepted(".version 8.0\n.target sm_90\n.visible .entry probe() { no.such; }\n", folder));
    for (const MatrixInstruction& instruction : matrix_instructions()) {
        INFO(instruction.mnemonic());
        CHECK(accepted(matrix_probe_ptx(instruction), folder));
    }
    for (const ScalarInstruction& instruction : scalar_instructions()) {
        INFO(instruction.mnemonic);
        CHECK(accepted(scalar_probe_ptx(instruction), folder));
    }
    for (const unsigned bytes : {2u, 4u}) CHECK(accepted(tensor_load_ptx(bytes), folder));
    for (const bool half_c : {false, true})
        for (const bool half_d : {false, true}) CHECK(accepted(wmma_probe_ptx(half_c, half_d), folder));
    std::filesystem::remove_all(folder);
}
