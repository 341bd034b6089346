// How far sampled runs are from full ones, and how much faster: the table of docs/sampling.md. Takes
// minutes; `benchmark_sampling NAME...` runs only those kernels, `--sampled-only` leaves out the full runs.
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "gpu_launches.h"
#include "models/gpu/gpu.h"

namespace {

using namespace heddle;
using namespace heddle::benchmarks;

struct Case {
    const char* name;
    std::function<kernels::LibraryKernel()> make;
};

const std::vector<Case> kCases{
    {"gemm_simt_2048", [] { return gemm_simt(2048, 2048, 2048); }},
    {"gemm_mma_1536x1408x8192", [] { return gemm_mma(1536, 1408, 8192); }},
    {"gemm_mma_4096", [] { return gemm_mma(4096, 4096, 4096); }},
    {"gemm_wgmma_8192", [] { return gemm_wgmma(8192, 8192, 8192); }},
    {"gemm_wgmma_4096", [] { return gemm_wgmma(4096, 4096, 4096); }},
    {"softmax_65536x1024", [] { return softmax(65536, 1024); }},
    {"copy_64Mi", [] { return copy(64u << 20); }},
    {"ffma_loop_10560", [] { return ffma_loop(10560, 64); }},
};

double seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

}  // namespace

int main(int count, char** arguments) {
    const std::vector<std::string> chosen(arguments + 1, arguments + count);
    const auto has = [&](const std::string& name) {
        for (const std::string& one : chosen)
            if (one == name) return true;
        return false;
    };
    const bool sampled_only = has("--sampled-only");
    models::gpu::Gpu gpu("gpu", models::gpu::GpuConfig{});
    std::printf(
        "| kernel | cycles in full | sampled | difference | error bar | simulated | CPU s in full | sampled "
        "| faster | |\n");
    std::printf("|---|---|---|---|---|---|---|---|---|---|\n");
    for (const Case& one : kCases) {
        if (chosen.size() > (sampled_only ? 1 : 0) && !has(one.name)) continue;
        const PreparedLaunch launch(one.make(), ptx::Mode::timing);
        models::gpu::RunOptions options;
        options.sample = true;
        const double start = seconds();
        const models::gpu::KernelResult sampled = gpu.run(launch.context(), options);
        const double middle = seconds();
        models::gpu::KernelResult full;
        if (!sampled_only) full = gpu.run(launch.context());
        const double end = seconds();
        const auto cycles = static_cast<double>(full.cycles);
        std::printf("| %s | %llu | %llu | %+.2f %% | %.2f %% | %.1f %% | %.2f | %.2f | %.1fx | %s |\n",
                    one.name, static_cast<unsigned long long>(full.cycles),
                    static_cast<unsigned long long>(sampled.cycles),
                    sampled_only ? 0 : 100 * (static_cast<double>(sampled.cycles) / cycles - 1),
                    100 * sampled.sampling.error, 100 * sampled.sampling.simulated, end - middle,
                    middle - start, (end - middle) / (middle - start), sampled.sampling.note.c_str());
        std::fflush(stdout);
    }
    return 0;
}
