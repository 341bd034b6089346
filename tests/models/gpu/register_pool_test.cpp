// setmaxnreg: registers move between the warps of a thread block, and a warp waits for those that it asks
// for.
#include <catch2/catch.hpp>

#include "gpu_test_bench.h"

namespace heddle::models::gpu {
namespace {

// 256 threads, 96 registers each. Warps 0 to 3 spend `turns` turns of a loop, then do `first`; warps 4 to 7
// do `second` at once.
std::string exchange(unsigned turns, const std::string& first, const std::string& second,
                     const std::string& directives = ".maxnreg 96") {
    return ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry kernel(.param .u64 p0)\n" +
           directives +
           "\n{\n.reg .b32 %r<4>; .reg .pred %p<2>;\n"
           "mov.u32 %r0, %tid.x; setp.ge.u32 %p0, %r0, 128; @%p0 bra other; mov.u32 %r1, 0;\n"
           "loop: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, " +
           std::to_string(turns) + "; @%p1 bra loop;\n" + first + "\nret;\nother:\n" + second + "\nret;\n}\n";
}

std::string set_registers(const std::string& direction, unsigned count) {
    return "setmaxnreg." + direction + ".sync.aligned.u32 " + std::to_string(count) + ";";
}

}  // namespace

TEST_CASE("a warp waits for registers until others have given them back", "[models_gpu]") {
    GpuTestBench bench;
    // The waiting warps then work for 300 turns; without waiting that would lie beside the others' loop.
    const std::string work =
        "mov.u32 %r1, 0; again: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 300; @%p1 bra again;";
    const auto cycles = [&](const std::string& first, const std::string& second) {
        return bench.run(exchange(300, first, second + work), 1, 256, {0}).cycles;
    };
    const Cycle beside = cycles("", "");
    const Cycle after = cycles(set_registers("dec", 40), set_registers("inc", 152));
    const Cycle enough = cycles("", set_registers("inc", 96));
    CHECK(static_cast<double>(enough) == Approx(static_cast<double>(beside)).margin(20));
    const Cycle start = bench.run(exchange(1, "", ""), 1, 256, {0}).cycles;
    CHECK(static_cast<double>(after - start) ==
          Approx(2 * static_cast<double>(beside - start)).epsilon(0.05));
    RunOptions every_cycle;
    every_cycle.tick_every_cycle = true;
    const std::string text = exchange(300, set_registers("dec", 40), set_registers("inc", 152) + work);
    CHECK(bench.run(text, 1, 256, {0}, every_cycle).cycles == after);
    CHECK(bench.run(text, 1, 256, {0}, {}, ptx::Mode::timing).cycles == after);
}

TEST_CASE("registers that nobody gives back are a deadlock, said with line and numbers", "[models_gpu]") {
    GpuTestBench bench;
    // Four warps give 24 each, which is enough for one that wants 56 more.
    const std::string text = exchange(10, set_registers("dec", 72), set_registers("inc", 152));
    CHECK_THROWS_WITH(bench.run(text, 1, 256, {0}),
                      Catch::Contains("waits at line 13 for 56 registers") && Catch::Contains("40 to give"));
    CHECK_NOTHROW(bench.run(exchange(10, set_registers("dec", 40), ""), 1, 256, {0}));
}

TEST_CASE("more registers than can ever come, and the wrong direction, are refused", "[models_gpu]") {
    GpuTestBench bench;
    const std::string directives = ".maxnreg 32";
    // Eight warps of 32; seven of 24 leave 88 for one.
    CHECK_NOTHROW(bench.run(exchange(1, "", "", directives), 1, 256, {0}));
    CHECK_THROWS_WITH(bench.run(exchange(1, "", set_registers("inc", 96), directives), 1, 256, {0}),
                      Catch::Contains("would wait for ever"));
    CHECK_THROWS_WITH(bench.run(exchange(1, "", set_registers("dec", 104)), 1, 256, {0}),
                      Catch::Contains("of a warp that has 96"));
}

TEST_CASE("the registers of a kernel with setmaxnreg are those that ptxas gives it", "[models_gpu]") {
    GpuTestBench bench;
    const auto registers = [&](const std::string& directives) {
        return bench
            .run(exchange(1, set_registers("dec", 24), set_registers("dec", 24), directives), 1, 384, {0})
            .registers_per_thread;
    };
    // What ptxas 13.0 -v prints for kernels of a few registers.
    CHECK(registers(".maxntid 384\n.minnctapersm 1") == 168);
    CHECK(registers(".reqntid 384\n.maxnreg 96") == 96);
    CHECK(registers(".maxntid 384") <
          32);  // "setmaxnreg ignored; unable to determine register count at entry"
}

}  // namespace heddle::models::gpu
