// The virtual GPU's scalar instructions against isa/numerics' conversions and the host's own arithmetic.
#include "validation/capture/sections/scalar_probe.h"

#include <bit>
#include <catch2/catch.hpp>

#include "functional_device.h"

using namespace heddle::capture;
using heddle::capture::test::FunctionalDevice;

TEST_CASE("Scalar probes", "[capture][probes]") {
    FunctionalDevice device(90);
    unsigned predicted = 0;
    for (const ScalarInstruction& instruction : scalar_instructions()) {
        INFO(instruction.mnemonic);
        const auto inputs = scalar_operands(instruction, 2000);
        const auto results = run_scalar(device, instruction, inputs);
        REQUIRE(results.size() == 2000);
        if (!instruction.expected) continue;
        ++predicted;
        unsigned identical = 0;
        for (std::size_t i = 0; i < results.size(); ++i) {
            std::array<std::uint64_t, 3> in{};
            for (unsigned n = 0; n < instruction.inputs; ++n) in[n] = inputs[n][i];
            if (results[i] == instruction.expected(in)) ++identical;
        }
        CHECK(identical == results.size());
    }
    CHECK(predicted > 30);
}

TEST_CASE("Scalar probes by hand", "[capture][probes]") {
    FunctionalDevice device(90);
    const auto run = [&](const std::string& mnemonic, std::vector<std::vector<std::uint64_t>> inputs) {
        for (const ScalarInstruction& instruction : scalar_instructions())
            if (instruction.mnemonic == mnemonic) return run_scalar(device, instruction, inputs);
        throw std::runtime_error("no " + mnemonic);
    };
    // 1 + 2^-11 lies half way between two tf32 and two fp16 numbers.
    CHECK(run("cvt.rna.tf32.f32", {{0x3F801000}})[0] == 0x3F802000);
    CHECK(run("cvt.rn.f16.f32", {{0x3F801000}})[0] == 0x3C00);
    CHECK(run("cvt.rp.f16.f32", {{0x3F801000}})[0] == 0x3C01);
    CHECK(run("cvt.rn.satfinite.e4m3x2.f32", {{0x43E00000}, {0x7F800000}})[0] == 0x7E7E);  // 448, infinity
    const std::uint64_t tiny = std::bit_cast<std::uint32_t>(0x1p-140f), one = 0x3F800000;
    CHECK(run("fma.rn.f32", {{tiny}, {one}, {0}})[0] == tiny);
    CHECK(run("fma.rn.ftz.f32", {{tiny}, {one}, {0}})[0] == 0);
}
