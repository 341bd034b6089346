// Small steps of several models on a GPU, from the model to the step's time.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>

#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"
#include "sim/run/simulate.h"
#include "workloads/zoo/registry.h"

using namespace heddle;
using namespace heddle::sim;

namespace {

using Options = std::map<std::string, std::string>;

/// Against what no device can break: its peaks, and sums that must come out.
void check_step(const std::string& model, Options options) {
    CAPTURE(model);
    ::setenv("HEDDLE_CACHE", "off", 1);
    options["type"] = "bf16";
    options["optimizer"] = "adamw";
    const trace::Trace trace = zoo::build(model, options);
    const Hardware hardware = load_hardware("h100-sxm");
    const models::gpu::GpuConfig& gpu = gpu_config(hardware);
    SimulateOptions how;
    how.jobs = 2;
    const RunResult result = simulate(trace, model, hardware, how);
    CHECK(result.coverage.cycle == 1);
    CHECK(result.clock_hz == gpu.clock);  // far below the power limit
    const double tensor = 2 * gpu.tensor.f16 * gpu.sm.count * gpu.clock;
    double busy = 0, flops = 0, expected = 0;
    for (const KernelResult& kernel : result.kernels) {
        CAPTURE(kernel.name);
        CHECK(kernel.cycles > 0);
        CHECK(kernel.time_us * 1e-6 >= kernel.flops / tensor);
        CHECK(kernel.time_us * 1e-6 >= kernel.dram_bytes / gpu.hbm.bandwidth);
        busy += kernel.time_us;
        flops += kernel.flops;
    }
    for (const trace::Op& op : trace.ops) expected += trace::floating_point_operations(trace, op);
    CHECK(flops == Approx(expected));
    CHECK(result.device_busy_us == Approx(busy));
    // A launch takes the host's time, and at least as long as an empty kernel.
    CHECK(result.step_time_us >= busy);
    CHECK(result.step_time_us >= static_cast<double>(result.kernels.size()) * hardware.machine().host_costs()->launch * 1e6);
    double joules = 0;
    for (const auto& [part, amount] : result.energy) joules += amount;
    CHECK(joules / (result.energy_time_us * 1e-6) > gpu.power.constant(gpu.sm.count) * 0.99);
    CHECK(joules / (result.energy_time_us * 1e-6) < gpu.power.limit);
}

}  // namespace

TEST_CASE("a small GPT-2 on a GPU, from end to end", "[run]") {
    check_step("gpt2-small", {{"batch", "2"},
                              {"sequence", "64"},
                              {"vocabulary", "128"},
                              {"layers", "1"},
                              {"hidden", "128"},
                              {"heads", "2"}});
}

TEST_CASE("a small Llama on a GPU, from end to end", "[run]") {
    check_step("llama3-8b", {{"batch", "1"},
                             {"sequence", "64"},
                             {"vocabulary", "128"},
                             {"layers", "1"},
                             {"hidden", "128"},
                             {"heads", "2"},
                             {"key_heads", "1"},
                             {"feed_forward", "192"}});
}

TEST_CASE("a small ResNet on a GPU, from end to end", "[run]") {
    check_step("resnet18", {{"batch", "2"}, {"image", "32"}, {"classes", "8"}, {"width", "8"}});
}
