// Recorded machine code: how fast traces are read, and how fast they run on the GPU model.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>

#include "gpu_launches.h"
#include "models/gpu/gpu.h"
#include "models/gpu/ptx_source.h"
#include "sim/sass/trace_launch.h"
#include "sim/sass/trace_recorder.h"

namespace {

using namespace heddle;

models::gpu::Gpu& gpu() {
    static models::gpu::Gpu instance("gpu", models::gpu::GpuConfig{});
    return instance;
}

/// A trace of the kernel in a folder that is removed at the end.
class Trace {
  public:
    explicit Trace(const kernels::LibraryKernel& kernel) {
        std::string name = (std::filesystem::temp_directory_path() / "heddle-benchmark-XXXXXX").string();
        folder_ = ::mkdtemp(name.data());
        path = folder_ + "/kernel-1.traceg";
        const benchmarks::PreparedLaunch prepared(kernel, ptx::Mode::timing);
        models::gpu::PtxSource source(prepared.context());
        sass::RecordingSource recording(source, path, 1);
        gpu().run(recording, {});
        recording.finish();
    }
    ~Trace() { std::filesystem::remove_all(folder_); }
    Trace(const Trace&) = delete;
    Trace& operator=(const Trace&) = delete;
    std::string path;

  private:
    std::string folder_;
};

double peak_megabytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024;
}

void read(benchmark::State& state, const kernels::LibraryKernel& kernel) {
    const Trace trace(kernel);
    std::int64_t bytes = 0, instructions = 0;
    for (auto _ : state) {
        sass::TraceReader reader(trace.path);
        while (const auto block = reader.next())
            for (const sass::WarpTrace& warp : block->warps)
                instructions += static_cast<std::int64_t>(warp.steps.size());
        bytes += static_cast<std::int64_t>(reader.text_bytes());
    }
    state.SetBytesProcessed(bytes);
    state.SetItemsProcessed(instructions);
}

/// `ahead`: the trace has been read when the time begins.
void run(benchmark::State& state, const kernels::LibraryKernel& kernel, bool ahead, unsigned threads = 1) {
    const Trace trace(kernel);
    models::gpu::RunOptions options;
    options.threads = threads;
    std::int64_t instructions = 0;
    for (auto _ : state) {
        if (ahead) state.PauseTiming();
        sass::TraceLaunch launch(sass::TraceReader(trace.path), trace.path);
        if (ahead) {
            launch.read_all();
            state.ResumeTiming();
        }
        instructions += static_cast<std::int64_t>(gpu().run(launch, options).warp_instructions);
    }
    state.SetItemsProcessed(instructions);
    state.counters["peak_MB"] = peak_megabytes();
}

/// All kernels of a folder of recorded ones, each read before its time begins; others' recordings are no part
/// of Heddle.
void recorded_step(benchmark::State& state) {
    const std::filesystem::path folder =
        HEDDLE_SOURCE_DIR "/../shared/data/traces/accelsim/nn_onestep/traces";
    if (!std::filesystem::exists(folder))
        return state.SkipWithError("no recorded step beside the source tree");
    std::int64_t instructions = 0;
    for (auto _ : state) {
        for (const auto& entry : std::filesystem::directory_iterator(folder)) {
            const std::string path = entry.path();
            if (entry.path().extension() != ".xz") continue;
            state.PauseTiming();
            sass::TraceLaunch launch(sass::TraceReader(path), path);
            launch.read_all();
            state.ResumeTiming();
            instructions += static_cast<std::int64_t>(gpu().run(launch, {}).warp_instructions);
        }
    }
    state.SetItemsProcessed(instructions);
}

BENCHMARK(recorded_step)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read, sgemm, benchmarks::gemm_simt(1024, 1024, 256))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read, copy, benchmarks::copy(1 << 22))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(run, sgemm_once_read, benchmarks::gemm_simt(1024, 1024, 256), true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(run, sgemm_streamed, benchmarks::gemm_simt(1024, 1024, 256), false)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(run, mma_once_read, benchmarks::gemm_mma(1024, 1024, 512), true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(run, softmax_once_read, benchmarks::softmax(2048, 1024), true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(run, copy_once_read, benchmarks::copy(1 << 22), true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(run, copy_once_read_4_threads, benchmarks::copy(1 << 22), true, 4)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
