// Independent kernels on several worker processes: results of one worker and of several are compared, and
// wall time, CPU time and the share of time that workers sat idle are printed. `benchmark_workers [WORKERS]`.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "gpu_launches.h"
#include "models/gpu/gpu.h"
#include "sim/run/workers/worker_pool.h"

namespace {

using namespace heddle;

constexpr std::size_t kJobs = 24;

class Kernels : public sim::JobRunner {
  public:
    std::string run(std::size_t job) override {
        // Longest first, as sim/run hands them out.
        const auto k = static_cast<std::uint32_t>(64 * (kJobs - job));
        const benchmarks::PreparedLaunch launch(benchmarks::gemm_simt(1536, 1408, k), ptx::Mode::timing);
        return std::to_string(gpu_.run(launch.context()).cycles);
    }

  private:
    models::gpu::Gpu gpu_{"gpu", models::gpu::GpuConfig{}};
};

struct Measured {
    std::vector<std::string> results;
    double wall = 0, cpu = 0;
};

double cpu_of_children() {
    rusage usage{};
    ::getrusage(RUSAGE_CHILDREN, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

Measured measure(unsigned workers) {
    Measured measured;
    measured.results.resize(kJobs);
    const double cpu = cpu_of_children();
    const auto start = std::chrono::steady_clock::now();
    sim::run_jobs(
        kJobs, workers, [] { return std::make_unique<Kernels>(); },
        [&](std::size_t job, const std::string& result) { measured.results[job] = result; });
    measured.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    measured.cpu = cpu_of_children() - cpu;
    return measured;
}

}  // namespace

int main(int count, char** arguments) {
    const unsigned workers = count > 1 ? static_cast<unsigned>(std::atoi(arguments[1])) : 4;
    const Measured one = measure(1), several = measure(workers);
    if (one.results != several.results) {
        std::printf("the results differ\n");
        return 1;
    }
    std::printf("1 worker:  %.2f s wall, %.2f s CPU\n%u workers: %.2f s wall, %.2f s CPU, %.1f %% idle\n",
                one.wall, one.cpu, workers, several.wall, several.cpu,
                100 * (1 - several.cpu / (several.wall * workers)));
    std::printf("%.2fx as fast, the same results\n", one.wall / several.wall);
    return 0;
}
