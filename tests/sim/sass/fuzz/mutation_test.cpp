// Damaged traces end in an error or a result, never in a hang.
#include "mutation.h"

#include <catch2/catch.hpp>

#include "../trace_text.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"

using namespace heddle;
using namespace heddle::sass::test;

namespace {

/// Loops, barriers, copies, tensor instructions, clusters: a little of everything.
std::vector<std::string> samples() {
    const std::string all = "ffffffff ";
    std::vector<std::string> code{all + "1 R1 MOV 0 0 0", all + "1 R0 S2R 0 0 0"};
    for (unsigned turn = 0; turn < 4; ++turn)
        for (const char* line :
             {"1 R4 LDG.E.128 1 R2 16 1 0x7f0000001000 16 0", "0 STS.128 2 R8 R4 16 1 0x0 16 0",
              "0 BAR.SYNC 0 0 0", "1 R8 LDSM.16.M88.4 1 R9 16 1 0x0 16 0",
              "1 R12 HMMA.16816.F32 3 R8 R10 R12 0 0",
              "0 LDGSTS.E.BYPASS.128 2 R4 R2 16 1 0x7f0000002000 16 0", "0 LDGDEPBAR 0 0 0",
              "0 DEPBAR.LE 0 0 1", "0 SHFL.DOWN 3 R4 R3 R2 0 31",
              "0 ATOMG.E.ADD.STRONG.GPU 3 R5 R2 R6 4 1 0x7f0000003000 0 0", "0 BAR.ARV 0 0 1", "0 BRA 0 0 0"})
            code.push_back(all + line);
    code.push_back(all + "0 EXIT 0 0 0");
    Geometry plain{2, 64, 2048};
    Geometry hopper{2,
                    64,
                    2048,
                    64,
                    90,
                    "-cluster dim = (2,1,1)\n-heddle complete = 1\n"
                    "-heddle copy = 0 0 0 4096 1 0 1 1 0 0 4096 1 0 64 0 4096\n"};
    std::vector<std::string> producer{all + "0 SYNCS.EXCH.64 1 R3 8 1 0x7fb139000040 0 1",
                                      all + "0 UCGABAR_ARV 0 0 0",
                                      all + "0 UCGABAR_WAIT 0 0 0",
                                      "00000001 0 SYNCS.ARRIVE.TRANS64 1 R3 8 1 0x7fb139000040 0 4294967297",
                                      "00000001 0 UTMALDG.2D 0 16 1 0x7f0000001000 0 0",
                                      all + "0 SYNCS.PHASECHK.TRANS64.TRYWAIT 1 R3 8 1 0x7fb139000040 0 0",
                                      all + "0 WARPGROUP.ARRIVE 0 0 0",
                                      all + "1 R24 HGMMA.64x64x16.F32 1 R24 0 0",
                                      all + "0 WARPGROUP.DEPBAR.LE 0 0 0",
                                      all + "0 USETMAXREG.DEALLOC.CTAPOOL 0 0 40",
                                      all + "0 EXIT 0 0 0"};
    const auto both = [](const Geometry& geometry, const std::vector<std::string>& instructions) {
        const std::string warps = warp(0, instructions) + warp(1, instructions);
        return header(geometry) + block(0, warps) + block(1, warps);
    };
    // The tracer's version 6: values of registers, what the copy engine moves.
    std::string values =
        both({2, 64, 2048, 64, 90, ""},
             {all + "0 SYNCS.EXCH.64 2 UR4 UR6 8 1 0x40 0 0 0 Val 1 40 1 7ffff800001ffffe",
              "00000001 0 SYNCS.ARRIVE.TRANS64 2 R2 R3 8 1 0x40 0 0 0 Val 1 40 1 200",
              "00000001 0 UTMALDG.2D 2 UR8 UR4 128 40 0 512 0 4 7f0000001000 4 8192 8192 8192 0 0 NoVal",
              all + "1 P0 SYNCS.PHASECHK.TRANS64.TRYWAIT 2 R2 R3 8 1 0x40 0 0 0 Val 1 0 1 40 1 0",
              all + "1 R24 HGMMA.64x64x16.F32 2 UR4 R24 1 0 0 0 NoVal",
              "00000001 0 UTMASTG.2D 2 UR8 UR4 128 0 0 256 0 3 2 7f0000001000 7f0000002000 0 0 NoVal",
              all + "0 BAR.SYNC 0 0 0 0 NoVal", all + "0 EXIT 0 0 0 0 NoVal"});
    const std::string key = "tracer version = ";
    values[values.find(key) + key.size()] = '6';
    return {both(plain, code), both(hopper, producer), values};
}

}  // namespace

TEST_CASE("Samples of all kinds of instructions run") {
    const sim::Hardware hardware = sim::load_hardware("h100-sxm");
    models::gpu::Gpu gpu("gpu", sim::gpu_config(hardware));
    for (const std::string& text : samples()) CHECK(run_all(gpu, text, 1000000) == Outcome::ran);
}

TEST_CASE("Damaged traces are refused or run to an end, none hangs") {
    const sim::Hardware hardware = sim::load_hardware("h100-sxm");
    models::gpu::Gpu gpu("gpu", sim::gpu_config(hardware));
    const std::vector<std::string> texts = samples();
    std::mt19937 random(20240811);
    unsigned ran = 0, refused = 0;
    for (unsigned round = 0; round < 1000; ++round) {
        const std::string mutant =
            mutate(texts[round % texts.size()], texts[random() % texts.size()], random);
        (run_all(gpu, mutant, 2000000) == Outcome::ran ? ran : refused)++;
    }
    CHECK(ran > 50);
    CHECK(refused > 200);
}
