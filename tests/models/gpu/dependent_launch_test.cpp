// Programmatic dependent launches: when dependents may start, and what waits for the launch before.
#include <catch2/catch.hpp>

#include "gpu_test_bench.h"

namespace heddle::models::gpu {
namespace {

// A loop of `before` turns, `instruction`, a loop of `after` turns; about 20 cycles each turn.
std::string around(const std::string& instruction, unsigned before, unsigned after) {
    const auto loop = [](const std::string& name, unsigned turns) {
        return "mov.u32 %r0, 0; " + name + ": add.u32 %r0, %r0, 1; setp.lt.u32 %p0, %r0, " +
               std::to_string(turns) + "; @%p0 bra " + name + ";\n";
    };
    return kernel_text(loop("one", before) + instruction + "\n" + loop("two", after) + "ret;", 1);
}

}  // namespace

TEST_CASE("dependents may start when all thread blocks have triggered them or ended", "[models_gpu]") {
    GpuTestBench bench;
    const auto run = [&](const std::string& instruction, unsigned before, unsigned after) {
        return bench.run(around(instruction, before, after), 132, 64, {0});
    };
    const std::string trigger = "griddepcontrol.launch_dependents;";
    const KernelResult early = run(trigger, 10, 500), late = run(trigger, 500, 10), never = run("", 10, 500);
    // Nothing but the place of the instruction differs.
    CHECK(static_cast<double>(early.cycles) == Approx(static_cast<double>(late.cycles)).epsilon(0.02));
    const double turn = static_cast<double>(never.cycles - run("", 10, 10).cycles) / 490;
    CHECK(static_cast<double>(early.cycles - early.dependents_start) ==
          Approx(turn * 500 + static_cast<double>(never.cycles - never.dependents_start)).epsilon(0.03));
    CHECK(static_cast<double>(late.dependents_start - early.dependents_start) ==
          Approx(turn * 490).epsilon(0.03));
    // Without the instruction a thread block triggers when it ends; what follows is the end of the launch.
    const GpuConfig& config = bench.gpu.config();
    CHECK(static_cast<double>(never.cycles - never.dependents_start) ==
          Approx(config.launch.after * config.clock).margin(20));
}

TEST_CASE("griddepcontrol.wait waits for the launch before, and what precedes it does not", "[models_gpu]") {
    GpuTestBench bench;
    const std::string text = around("griddepcontrol.wait;", 100, 100);
    const auto cycles = [&](Cycle release, bool every_cycle = false, ptx::Mode mode = ptx::Mode::functional) {
        RunOptions options;
        options.dependency_release = release;
        options.tick_every_cycle = every_cycle;
        return bench.run(text, 132, 64, {0}, options, mode).cycles;
    };
    const Cycle alone = cycles(0);
    const Cycle prologue =
        bench.run(around("", 100, 1), 132, 64, {0}).cycles - bench.run(around("", 1, 1), 132, 64, {0}).cycles;
    // A release during the prologue costs nothing; each cycle after it costs one.
    CHECK(cycles(prologue / 2) == alone);
    CHECK(cycles(30000) - cycles(20000) == 10000);
    CHECK(cycles(20000) > alone);
    CHECK(cycles(20000, true) == cycles(20000));
    CHECK(cycles(20000, false, ptx::Mode::timing) == cycles(20000));
}

}  // namespace heddle::models::gpu
