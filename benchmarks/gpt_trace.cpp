// Wall time of a whole recorded training step: a 12-layer GPT (hidden 768, 2,048 tokens) on an H100, every
// kernel simulated, nothing read from the cache. Takes minutes; one iteration. Passes with a line when the
// recording is absent.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "sim/hardware/load_hardware.h"
#include "sim/run/simulate.h"
#include "workloads/importers/open_trace.h"

namespace {

using namespace heddle;

std::filesystem::path recording() {
    const char* data = std::getenv("HEDDLE_DATA");
    const std::filesystem::path root = data != nullptr
                                           ? std::filesystem::path(data)
                                           : std::filesystem::path(HEDDLE_SOURCE_DIR) / "../shared/data";
    return root / "traces/chakra/gpt_12layer_h100_bf16.tar.gz";
}

void simulate_gpt_step(benchmark::State& state) {
    const trace::Trace trace = importers::open_trace(recording());
    const sim::Hardware hardware = sim::load_hardware("h100-sxm");
    for (auto _ : state) {
        const sim::RunResult result = sim::simulate(trace, "gpt", hardware, {});
        const double seconds = result.simulation.wall_s;
        const auto instructions = static_cast<double>(result.simulation.warp_instructions);
        state.counters["workers"] = result.simulation.workers;
        state.counters["kernels"] = static_cast<double>(result.kernels.size());
        state.counters["simulated_kernels"] = static_cast<double>(result.simulation.kernels_simulated);
        state.counters["warp_instructions"] = instructions;
        state.counters["warp_instructions_per_worker_second"] =
            instructions / seconds / result.simulation.workers;
        state.counters["step_ms"] = result.step_time_us * 1e-3;
        state.counters["measured_ms"] = result.measured_total_us.value_or(0) * 1e-3;
    }
}
BENCHMARK(simulate_gpt_step)->Iterations(1)->Unit(benchmark::kSecond)->UseRealTime();

void import_gpt_step(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(importers::open_trace(recording()).ops.size());
}
BENCHMARK(import_gpt_step)->Unit(benchmark::kMillisecond);

}  // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    if (!std::filesystem::exists(recording())) {
        std::printf("skipped: no recording at %s\n", recording().c_str());
        return 0;
    }
    setenv("HEDDLE_CACHE", "off", 1);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
