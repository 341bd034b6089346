// Warp instructions per second of the GPU model: an H100 (the default configuration), one case per kind of
// kernel, in timing mode and with values. Counters: simulated cycles of the kernel, and warp instructions,
// per run; seconds of the whole run per 128-byte line and level that it passes (SM, L2, memory).
#include <benchmark/benchmark.h>

#include "gpu_launches.h"
#include "models/gpu/gpu.h"
#include "models/gpu/ptx_source.h"

#include <ctime>

namespace {

using namespace heddle;
using namespace heddle::benchmarks;

/// SystemC elaborates once per process; every run() starts from a complete reset.
models::gpu::Gpu& h100() {
    static models::gpu::Gpu only("gpu", models::gpu::GpuConfig{});
    return only;
}

/// 128-byte lines, or parts of one, that passed each level: L1 or the engine of bulk copies; L2; the line's
/// home in the other partition of L2; memory.
double lines_and_levels(const models::gpu::KernelResult& result) {
    return static_cast<double>(result.l1.requests + result.bulk_lines + result.l2.requests) +
           static_cast<double>(result.l2_copied_sectors) / 4 +
           static_cast<double>(result.dram_read_bytes + result.dram_write_bytes) / 128;
}

void run(benchmark::State& state, const kernels::LibraryKernel& kernel, ptx::Mode mode,
         unsigned threads = 1) {
    const PreparedLaunch launch(kernel, mode);
    models::gpu::Gpu& gpu = h100();
    models::gpu::RunOptions options;
    options.threads = threads;
    std::uint64_t instructions = 0, cycles = 0, activations = 0;
    double line_levels = 0;
    for (auto _ : state) {
        const models::gpu::KernelResult result = gpu.run(launch.context(), options);
        instructions += result.warp_instructions;
        cycles += result.cycles;
        activations += result.activations;
        line_levels += lines_and_levels(result);
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(instructions));
    const auto average = [](std::uint64_t sum) {
        return benchmark::Counter(static_cast<double>(sum), benchmark::Counter::kAvgIterations);
    };
    state.counters["warp_instructions"] = average(instructions);
    state.counters["cycles"] = average(cycles);
    state.counters["activations"] = average(activations);
    state.counters["s_per_line_level"] =
        benchmark::Counter(line_levels, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void gpu_timing(benchmark::State& state, const kernels::LibraryKernel& kernel) {
    run(state, kernel, ptx::Mode::timing);
}
/// The same on four threads of the host: by the clock on the wall, unlike the others.
void gpu_timing_4_threads(benchmark::State& state, const kernels::LibraryKernel& kernel) {
    run(state, kernel, ptx::Mode::timing, 4);
}
double processor_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Two launches in one run. Counter: processor time of it, of the sum of both alone.
void gpu_together(benchmark::State& state, const kernels::LibraryKernel& one, const kernels::LibraryKernel& other) {
    const PreparedLaunch first(one, ptx::Mode::timing), second(other, ptx::Mode::timing);
    models::gpu::PtxSource first_source(first.context()), second_source(second.context());
    double together = 0, alone = 0;
    for (auto _ : state) {
        const double begin = processor_seconds();
        benchmark::DoNotOptimize(h100().run_together({{&first_source, {}}, {&second_source, {}}}));
        together += processor_seconds() - begin;
        state.PauseTiming();
        const double apart = processor_seconds();
        benchmark::DoNotOptimize(h100().run(first.context()));
        benchmark::DoNotOptimize(h100().run(second.context()));
        alone += processor_seconds() - apart;
        state.ResumeTiming();
    }
    state.counters["of_both_alone"] = together / alone;
}
void gpu_functional(benchmark::State& state, const kernels::LibraryKernel& kernel) {
    run(state, kernel, ptx::Mode::functional);
}

// The products fill the 132 SMs with one CTA each.
BENCHMARK_CAPTURE(gpu_timing, gemm_simt_1536x1408x64, gemm_simt(1536, 1408, 64))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gpu_timing, gemm_mma_1536x1408x1024, gemm_mma(1536, 1408, 1024))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gpu_timing, gemm_wgmma_2048, gemm_wgmma(2048, 2048, 2048))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gpu_timing, gemm_wgmma_8192, gemm_wgmma(8192, 8192, 8192))
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(gpu_timing, softmax_4096x1024, softmax(4096, 1024))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gpu_timing, copy_8Mi, copy(8u << 20))->Unit(benchmark::kMillisecond);
// Their `s_per_line_level` is the cost of the memory path alone.
BENCHMARK_CAPTURE(gpu_timing, bulk_load_dram, bulk_load(132, 16, false))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gpu_timing, bulk_load_l2, bulk_load(132, 16, true))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gpu_timing, ffma_loop, ffma_loop(1056, 16))->Unit(benchmark::kMillisecond);

BENCHMARK_CAPTURE(gpu_timing_4_threads, gemm_simt_1536x1408x64, gemm_simt(1536, 1408, 64))
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(gpu_timing_4_threads, gemm_mma_1536x1408x1024, gemm_mma(1536, 1408, 1024))
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(gpu_timing_4_threads, gemm_wgmma_2048, gemm_wgmma(2048, 2048, 2048))
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(gpu_timing_4_threads, gemm_wgmma_8192, gemm_wgmma(8192, 8192, 8192))
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Iterations(1);
BENCHMARK_CAPTURE(gpu_timing_4_threads, softmax_4096x1024, softmax(4096, 1024))
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(gpu_timing_4_threads, copy_8Mi, copy(8u << 20))
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

BENCHMARK_CAPTURE(gpu_together, gemm_wgmma_2048_and_copy_8Mi, gemm_wgmma(2048, 2048, 2048), copy(8u << 20))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gpu_together, softmax_and_gemm_mma, softmax(4096, 1024), gemm_mma(1536, 1408, 1024))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gpu_together, ffma_loop_and_bulk_load, ffma_loop(264, 16), bulk_load(132, 16, false))->Unit(benchmark::kMillisecond);

BENCHMARK_CAPTURE(gpu_functional, gemm_simt_1536x1408x64, gemm_simt(1536, 1408, 64))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gpu_functional, gemm_mma_1536x1408x256, gemm_mma(1536, 1408, 256))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gpu_functional, softmax_4096x1024, softmax(4096, 1024))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gpu_functional, copy_8Mi, copy(8u << 20))->Unit(benchmark::kMillisecond);

}  // namespace
