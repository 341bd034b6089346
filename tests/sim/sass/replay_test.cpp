// Machine code written by hand on the same SM that runs PTX: what it takes, and what happens at barriers.
#include <catch2/catch.hpp>

#include "isa/common/error.h"
#include "models/gpu/gpu.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"
#include "trace_text.h"

using namespace heddle;
using namespace heddle::sass;
using namespace heddle::sass::test;

namespace {

const models::gpu::GpuConfig& a100() {
    static const sim::Hardware hardware = sim::load_hardware("a100-sxm");
    return sim::gpu_config(hardware);
}

std::vector<std::string> repeat(const std::string& instruction, unsigned times) {
    std::vector<std::string> all(times, instruction);
    all.push_back("ffffffff 0 EXIT 0 0 0");
    return all;
}

/// Cycles that each further instruction of a chain takes.
double cycles_per_instruction(models::gpu::Gpu& gpu, const std::string& instruction) {
    constexpr unsigned kFew = 64, kMany = 192;  // within the prefetched code
    const auto cycles = [&](unsigned times) {
        return static_cast<double>(run(gpu, one_warp(repeat(instruction, times))).cycles);
    };
    return (cycles(kMany) - cycles(kFew)) / (kMany - kFew);
}

}  // namespace

TEST_CASE("Chains of recorded instructions take the latencies that were measured on an A100") {
    models::gpu::Gpu gpu("gpu", a100());
    // Abdelkhalik et al., "Demystifying the Nvidia Ampere Architecture through Microbenchmarking": 4 cycles
    // for dependent FADD, FFMA, IADD3; 33 for a load that hits L1, 23 from shared memory (29 for a pointer
    // chase).
    CHECK(cycles_per_instruction(gpu, "ffffffff 1 R4 FADD 2 R4 R5 0 0") == Approx(4));
    CHECK(cycles_per_instruction(gpu, "ffffffff 1 R4 FFMA 3 R4 R5 R6 0 0") == Approx(4));
    CHECK(cycles_per_instruction(gpu, "ffffffff 1 R4 IADD3 3 R4 R5 R255 0 0") == Approx(4));
    // Independent instructions of one warp: one in two cycles on 16 lanes.
    CHECK(cycles_per_instruction(gpu, "ffffffff 1 R4 FADD 2 R8 R5 0 0") ==
          Approx(4));  // the same destination
    CHECK(cycles_per_instruction(gpu, "ffffffff 0 FSETP.GEU.AND 2 R8 R5 0 0") == Approx(2));
    CHECK(cycles_per_instruction(gpu, "ffffffff 1 R4 LDS 1 R4 4 1 0x0 4 0") ==
          Approx(a100().shared.latency).margin(1));
    // The address is a pair: R5 is part of it.
    CHECK(cycles_per_instruction(gpu, "ffffffff 1 R5 LDG.E 1 R4 4 1 0x7fb0fc400000 4 0") ==
          Approx(a100().l1.latency).margin(6));
    // Only the lanes of the mask count: 32 lines take longer than one.
    CHECK(cycles_per_instruction(gpu, "ffffffff 1 R5 LDG.E 1 R4 4 1 0x7fb0fc400000 128 0") >
          cycles_per_instruction(gpu, "00000001 1 R5 LDG.E 1 R4 4 1 0x7fb0fc400000 128 0") + 4);
}

TEST_CASE("Wide operands take as many registers as they have") {
    models::gpu::Gpu gpu("gpu", a100());
    const auto cycles = [&](const std::string& second) {
        return run(gpu, one_warp({"ffffffff 1 R4 LDG.E.128 1 R2 16 1 0x7fb0fc400000 16 0", second,
                                  "ffffffff 0 EXIT 0 0 0"}))
            .cycles;
    };
    const auto waits = cycles("ffffffff 1 R20 FADD 2 R7 R21 0 0");
    CHECK(cycles("ffffffff 1 R20 FADD 2 R4 R21 0 0") == waits);
    CHECK(cycles("ffffffff 1 R20 FADD 2 R8 R21 0 0") < waits);
    CHECK(cycles("ffffffff 1 R20 FADD 2 R3 R21 0 0") < waits);
}

TEST_CASE("A barrier holds all warps that come to it, and no others") {
    models::gpu::Gpu gpu("gpu", a100());
    const std::vector<std::string> slow = repeat("ffffffff 1 R4 MUFU.RCP 1 R4 0 0", 100);
    const auto with_barrier = [](std::vector<std::string> code, unsigned number) {
        code.insert(code.end() - 1, "ffffffff 0 BAR.SYNC 0 0 " + std::to_string(number));
        return code;
    };
    const std::vector<std::string> fast{"ffffffff 0 EXIT 0 0 0"};
    const auto run_two = [&](const std::vector<std::string>& a, const std::vector<std::string>& b) {
        return run(gpu, header({1, 64}) + block(0, warp(0, a) + warp(1, b)));
    };
    const auto alone = run_two(slow, fast);
    // The second warp waits at 0; it does not wait where the first never comes.
    const auto both = run_two(with_barrier(slow, 0), with_barrier(fast, 0));
    const auto separate = run_two(with_barrier(slow, 1), with_barrier(fast, 2));
    CHECK(both.cycles > alone.cycles);
    CHECK(both.warp_instructions == 104);
    const auto waiting = [](const models::gpu::KernelResult& r) { return r.sub_core_cycles; };
    const auto barrier = static_cast<std::size_t>(models::gpu::CycleReason::barrier);
    CHECK(waiting(both)[barrier] > 1000);
    CHECK(waiting(separate)[barrier] < 100);
}

TEST_CASE("Barriers at which warps can never meet do not hang") {
    models::gpu::Gpu gpu("gpu", a100());
    // Each waits first where the other comes second.
    const std::string text =
        header({1, 64}) +
        block(
            0,
            warp(0, {"ffffffff 0 BAR.SYNC 0 0 1", "ffffffff 0 BAR.SYNC 0 0 2", "ffffffff 0 EXIT 0 0 0"}) +
                warp(1, {"ffffffff 0 BAR.SYNC 0 0 2", "ffffffff 0 BAR.SYNC 0 0 1", "ffffffff 0 EXIT 0 0 0"}));
    TraceLaunch launch = launch_of(text);
    CHECK(gpu.run(launch, {}).warp_instructions == 6);
    CHECK(launch.forced_releases > 0);
}

TEST_CASE("Unknown opcodes are one error with all of them, or a class that the user names") {
    models::gpu::Gpu gpu("gpu", a100());
    const std::string text =
        header({2, 32}) +
        block(0, warp(0, {"ffffffff 1 R4 FADD 2 R4 R5 0 0", "ffffffff 1 R4 XMAD.H1 2 R4 R5 0 0",
                          "ffffffff 0 EXIT 0 0 0"})) +
        block(1, warp(0, {"ffffffff 1 R4 FSWZ.B 2 R4 R5 0 0", "ffffffff 1 R4 XMAD.H1 2 R4 R5 0 0",
                          "ffffffff 0 EXIT 0 0 0"}));
    CHECK_THROWS_WITH(run(gpu, text),
                      Catch::Contains("2 opcodes are not known: FSWZ.B (1 times), XMAD.H1 (2 times)") &&
                          Catch::Contains("--unknown-as"));
    CHECK(run(gpu, text, {}, ptx::Operation::fp32).warp_instructions == 6);
    // The class decides the time: a chain of divisions of MUFU's kind is slower.
    const auto chain = one_warp(repeat("ffffffff 1 R4 XMAD 2 R4 R5 0 0", 64));
    CHECK(run(gpu, chain, {}, ptx::Operation::special).cycles >
          run(gpu, chain, {}, ptx::Operation::fp32).cycles + 600);
}

TEST_CASE("Texels come at the latency of L1, and what reads them waits") {
    models::gpu::Gpu gpu("gpu", a100());
    const auto chain = [&](const std::string& opcode, unsigned count) {
        return run(gpu, one_warp(repeat("ffffffff 1 R4 " + opcode + " 1 R4 0 0", count))).cycles;
    };
    // An A100's L1 answers after 33 cycles or so (RRZE gpu-benches); the first texel comes from further away.
    const double each = static_cast<double>(chain("TEX.SCR.LL", 96) - chain("TEX.SCR.LL", 32)) / 64;
    CHECK(each > 28);
    CHECK(each < 42);
    const models::gpu::KernelResult store = run(
        gpu, one_warp({"ffffffff 0 SUST.D.BA.2D.STRONG.SM.TRAP.U32 2 R2 R4 0 0", "ffffffff 0 EXIT 0 0 0"}));
    CHECK(store.l1_store_sectors == 4);
}

TEST_CASE("Copies to shared memory wait where their group is waited for") {
    models::gpu::Gpu gpu("gpu", a100());
    const auto cycles = [&](const std::string& left) {
        return run(gpu, one_warp({"ffffffff 0 LDGSTS.E.BYPASS.128 2 R4 R2 16 1 0x7fb0fc400000 16 0",
                                  "ffffffff 0 LDGDEPBAR 0 0 0",
                                  "ffffffff 0 LDGSTS.E.BYPASS.128 2 R4 R2 16 1 0x7fb0fd400000 16 0",
                                  "ffffffff 0 LDGDEPBAR 0 0 0", "ffffffff 0 DEPBAR.LE 0 0 " + left,
                                  "ffffffff 1 R4 FADD 2 R4 R5 0 0", "ffffffff 0 EXIT 0 0 0"},
                                 {1, 32, 4096, 32, 80, ""}))
            .sub_core_cycles[static_cast<std::size_t>(models::gpu::CycleReason::memory)];
    };
    CHECK(cycles("0") > 300);
    CHECK(cycles("1") > 300);
    CHECK(cycles("2") < 50);
}

TEST_CASE("Local memory is interleaved, generic addresses find their window") {
    models::gpu::Gpu gpu("gpu", a100());
    // The same place of every thread: 4 sectors, of which later loads hit the stores before.
    const auto local =
        run(gpu, one_warp({"ffffffff 0 STL 2 R1 R4 4 1 0xfffc00 0 0",
                           "ffffffff 1 R5 LDL 1 R1 4 1 0xfffc00 0 0", "ffffffff 0 EXIT 0 0 0"}));
    CHECK(local.l1.sectors == 8);
    CHECK(local.l1.hit_sectors == 4);
    const auto shared =
        run(gpu, one_warp({"ffffffff 1 R5 LD.E 1 R2 4 1 0x7fb139000100 4 0", "ffffffff 0 EXIT 0 0 0"}));
    CHECK(shared.shared_accesses == 1);
    CHECK(shared.l1.sectors == 0);
    const auto global =
        run(gpu, one_warp({"ffffffff 1 R5 LD.E 1 R2 4 1 0x7fb0fc400000 4 0", "ffffffff 0 EXIT 0 0 0"}));
    CHECK(global.shared_accesses == 0);
    CHECK(global.l1.sectors == 4);
    // Reductions and atomics: 32 lanes at one address are one sector.
    const auto atomic =
        run(gpu, one_warp({"ffffffff 0 ATOMG.E.ADD.STRONG.GPU 3 R5 R2 R6 4 1 0x7fb0fc400000 0 0",
                           "ffffffff 0 RED.E.ADD.STRONG.GPU 2 R2 R6 4 1 0x7fb0fc400000 0 0",
                           "ffffffff 0 EXIT 0 0 0"}));
    CHECK(atomic.atomic_sectors == 2);
}

TEST_CASE("Tensor instructions do the work that their shapes say") {
    models::gpu::Gpu gpu("gpu", a100());
    const auto macs = [&](const std::string& opcode) {
        return run(gpu, one_warp({"ffffffff 1 R4 " + opcode + " 3 R8 R12 R4 0 0", "ffffffff 0 EXIT 0 0 0"}))
            .tensor_macs;
    };
    CHECK(macs("HMMA.16816.F32") == 16 * 8 * 16);
    CHECK(macs("HMMA.1688.F32.TF32") == 16 * 8 * 8);
    CHECK(macs("IMMA.16832.S8.S8") == 16 * 8 * 32);
    CHECK(macs("DMMA.884") == 8 * 8 * 4);
    // Dependent m16n8k16 with sums of 32 bits: 24.7 cycles on an A100 (Sun et al., "Dissecting Tensor Cores
    // via Microbenchmarks").
    CHECK(cycles_per_instruction(gpu, "ffffffff 1 R4 HMMA.16816.F32 3 R8 R12 R4 0 0") ==
          Approx(24.7).margin(1));
}

TEST_CASE("A grid and a file that do not agree are told") {
    models::gpu::Gpu gpu("gpu", a100());
    const std::string good = block(0, warp(0, {"ffffffff 0 EXIT 0 0 0"}));
    CHECK_THROWS_WITH(run(gpu, header({2, 32}) + good),
                      Catch::Contains("the grid has 2 thread blocks, the file holds 1"));
    CHECK_THROWS_WITH(run(gpu, header({1, 32}) + good + good), Catch::Contains("more than the grid's 1"));
    CHECK_THROWS_WITH(run(gpu, header({1, 32}) + block(0, "")), Catch::Contains("no warp"));
    CHECK_THROWS_WITH(run(gpu, header({1, 32, 1 << 20}) + good), Catch::Contains("shared memory"));
    CHECK(run(gpu, header({1, 32}) + good).warp_instructions == 1);
}

TEST_CASE("What is held of a trace is bounded by the thread blocks that run") {
    models::gpu::Gpu gpu("gpu", a100());
    constexpr unsigned kBlocks = 4000;
    std::string text = header({kBlocks, 32, 40000});
    for (unsigned i = 0; i < kBlocks; ++i)
        text += block(i, warp(0, {"ffffffff 0 NOP 0 0 0", "ffffffff 0 EXIT 0 0 0"}));
    TraceLaunch launch = launch_of(text);
    const models::gpu::KernelResult result = gpu.run(launch, {});
    CHECK(result.ctas == kBlocks);
    CHECK(launch.most_held() <= 108 * result.ctas_per_sm);
}
