// Warp instructions per second of the PTX executor alone, without time: every value, or only what steers.
#include <benchmark/benchmark.h>

#include "gpu_launches.h"
#include "isa/ptx/parser.h"

namespace {

using namespace heddle;
using namespace heddle::benchmarks;

void run(benchmark::State& state, const kernels::LibraryKernel& kernel, ptx::Mode mode) {
    const PreparedLaunch launch(kernel, mode);
    std::uint64_t instructions = 0;
    for (auto _ : state) instructions += ptx::run_functionally(launch.context());
    state.SetItemsProcessed(static_cast<std::int64_t>(instructions));
    state.counters["warp_instructions"] =
        benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kAvgIterations);
}

void ptx_functional(benchmark::State& state, const kernels::LibraryKernel& kernel) {
    run(state, kernel, ptx::Mode::functional);
}
void ptx_timing(benchmark::State& state, const kernels::LibraryKernel& kernel) {
    run(state, kernel, ptx::Mode::timing);
}

BENCHMARK_CAPTURE(ptx_functional, ffma_loop, ffma_loop(16, 256))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ptx_functional, gemm_simt_256x256x256, gemm_simt(256, 256, 256))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ptx_functional, gemm_mma_256x256x1024, gemm_mma(256, 256, 1024))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ptx_functional, softmax_1024x1024, softmax(1024, 1024))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ptx_functional, copy_2Mi, copy(2u << 20))->Unit(benchmark::kMillisecond);

BENCHMARK_CAPTURE(ptx_timing, ffma_loop, ffma_loop(16, 256))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ptx_timing, gemm_simt_256x256x256, gemm_simt(256, 256, 256))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ptx_timing, gemm_mma_256x256x1024, gemm_mma(256, 256, 1024))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ptx_timing, softmax_1024x1024, softmax(1024, 1024))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ptx_timing, copy_2Mi, copy(2u << 20))->Unit(benchmark::kMillisecond);

/// What a kernel costs before its first instruction: parsing and decoding, as for every new kernel of a step.
void ptx_load(benchmark::State& state, const kernels::LibraryKernel& kernel) {
    for (auto _ : state) {
        const ptx::LoadedKernel loaded(ptx::parse_shared(kernel.kernel.text, kernel.name),
                                       kernel.kernel.entry, 90);
        benchmark::DoNotOptimize(loaded.scoreboard_size());
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * kernel.kernel.text.size()));
}
BENCHMARK_CAPTURE(ptx_load, gemm_simt, gemm_simt(128, 128, 8))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ptx_load, gemm_mma, gemm_mma(128, 128, 32))->Unit(benchmark::kMillisecond);

}  // namespace
