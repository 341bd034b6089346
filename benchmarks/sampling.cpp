// How far sampled runs are from full ones, and how much faster: the tables of docs/sampling.md. Takes
// minutes. `benchmark_sampling [--hardware NAME] [--sampled-only] [KERNEL...]`
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

#include "gpu_launches.h"
#include "models/gpu/gpu.h"
#include "sampling_cases.h"
#include "sim/config/hardware.h"

namespace {

using namespace heddle;
using namespace heddle::benchmarks;
using models::gpu::KernelResult;

double cpu_seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

struct Options {
    std::string hardware = "h100-sxm";
    bool sampled_only = false;
    std::vector<std::string> kernels;  // empty: all

    Options(int count, char** arguments) {
        for (int i = 1; i < count; ++i) {
            const std::string argument = arguments[i];
            if (argument == "--hardware" && i + 1 < count) {
                hardware = arguments[++i];
            } else if (argument == "--sampled-only") {
                sampled_only = true;
            } else {
                kernels.push_back(argument);
            }
        }
    }
    bool wants(const std::string& name) const {
        for (const std::string& one : kernels)
            if (one == name) return true;
        return kernels.empty();
    }
};

double percent(std::uint64_t sampled, std::uint64_t full) {
    return full == 0 ? 0 : 100 * (static_cast<double>(sampled) / static_cast<double>(full) - 1);
}

void print_row(const std::string& name, const KernelResult& full, const KernelResult& sampled,
               double seconds_in_full, double seconds) {
    std::printf(
        "| %s | %llu | %llu | %+.2f %% | %.2f %% | %+.2f %% | %+.1f %% | %+.1f %% | %.1f %% | %.2f | %.2f | "
        "%.1fx | "
        "%s |\n",
        name.c_str(), static_cast<unsigned long long>(full.cycles),
        static_cast<unsigned long long>(sampled.cycles), percent(sampled.cycles, full.cycles),
        100 * sampled.sampling.error, percent(sampled.warp_instructions, full.warp_instructions),
        percent(sampled.l2.bytes, full.l2.bytes), percent(sampled.dram.bytes, full.dram.bytes),
        100 * sampled.sampling.simulated, seconds_in_full, seconds, seconds_in_full / seconds,
        sampled.sampling.note.c_str());
    std::fflush(stdout);
}

void compare(const Options& options) {
    const sim::Hardware hardware = sim::load_hardware(options.hardware);
    const models::gpu::GpuConfig& config = hardware.gpu();
    models::gpu::Gpu gpu("gpu", config);
    std::printf(
        "| kernel | cycles in full | sampled | difference | error bar | instructions | L2 bytes | DRAM bytes "
        "| "
        "simulated | CPU s in full | sampled | faster | "
        "|\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (const SamplingCase& one : sampling_cases(config.compute_capability, config.sm.count)) {
        if (!options.wants(one.name)) continue;
        const PreparedLaunch launch(one.make(), ptx::Mode::timing, config.compute_capability);
        models::gpu::RunOptions run;
        run.sample = true;
        const double start = cpu_seconds();
        const KernelResult sampled = gpu.run(launch.context(), run);
        const double middle = cpu_seconds();
        const KernelResult full = options.sampled_only ? sampled : gpu.run(launch.context());
        print_row(one.name, full, sampled, cpu_seconds() - middle, middle - start);
    }
}

}  // namespace

int main(int count, char** arguments) {
    try {
        compare(Options(count, arguments));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
    return 0;
}
