// How far sampled runs are from full ones, and how much faster: the tables of docs/sampling.md.
//
//   benchmark_sampling [--hardware NAME]... [--sampled-only] [KERNEL...]     large kernels; takes many
//   minutes benchmark_sampling --random COUNT [--first SEED] [--hardware NAME]...    kernels drawn at random,
//   on an
//                                                                            eighth of each GPU
// Without --hardware: one GPU of each generation.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

#include "gpu_launches.h"
#include "isa/common/error.h"
#include "models/gpu/sampled_gpu.h"
#include "sampling_cases.h"
#include "sampling_random.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"

namespace {

using namespace heddle;
using namespace heddle::benchmarks;
using models::gpu::KernelResult;

double cpu_seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

struct Options {
    std::vector<std::string> hardware;
    bool sampled_only = false;
    std::uint64_t random = 0, first = 1;
    std::vector<std::string> kernels;  // empty: all

    Options(int count, char** arguments) {
        for (int i = 1; i < count; ++i) {
            const std::string argument = arguments[i];
            const bool more = i + 1 < count;
            if (argument == "--hardware" && more) {
                hardware.emplace_back(arguments[++i]);
            } else if (argument == "--random" && more) {
                random = std::strtoull(arguments[++i], nullptr, 10);
            } else if (argument == "--first" && more) {
                first = std::strtoull(arguments[++i], nullptr, 10);
            } else if (argument == "--sampled-only") {
                sampled_only = true;
            } else {
                kernels.push_back(argument);
            }
        }
        if (hardware.empty()) hardware = {"h100-sxm", "a100-sxm", "v100-sxm", "rtx-a6000"};
    }
    bool wants(const std::string& name) const {
        return kernels.empty() || std::find(kernels.begin(), kernels.end(), name) != kernels.end();
    }
};

/// One kernel, both ways.
struct Row {
    KernelResult full, sampled;
    double full_seconds = 0, sampled_seconds = 0;

    static double part(double sampled, double full) { return full == 0 ? 0 : sampled / full - 1; }
    static double part(std::uint64_t sampled, std::uint64_t full) {
        return part(static_cast<double>(sampled), static_cast<double>(full));
    }
    double difference() const { return part(sampled.cycles, full.cycles); }
    double error_bar() const { return sampled.sampling.error; }
    double instructions() const { return part(sampled.warp_instructions, full.warp_instructions); }
    double l2() const { return part(sampled.l2.bytes, full.l2.bytes); }
    double dram() const { return part(sampled.dram.bytes, full.dram.bytes); }
    double energy() const { return part(sampled.energy.total(), full.energy.total()); }
    bool left_out() const { return sampled.sampling.simulated < 1; }
    bool covered() const { return std::abs(difference()) <= error_bar(); }
    double faster() const { return full_seconds / sampled_seconds; }
};

void print_head(const std::string& hardware) {
    std::printf(
        "\n%s\n\n| kernel | cycles in full | sampled | difference | error bar | instructions | L2 bytes | "
        "DRAM bytes | energy | simulated | CPU s in full | sampled | faster | |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
        hardware.c_str());
}

void print_row(const std::string& name, const Row& row) {
    std::printf(
        "| %s | %llu | %llu | %+.2f %% | %.2f %% | %+.2f %% | %+.1f %% | %+.1f %% | %+.1f %% | %.1f %% | "
        "%.2f | %.2f | %.1fx | %s |\n",
        name.c_str(), static_cast<unsigned long long>(row.full.cycles),
        static_cast<unsigned long long>(row.sampled.cycles), 100 * row.difference(), 100 * row.error_bar(),
        100 * row.instructions(), 100 * row.l2(), 100 * row.dram(), 100 * row.energy(),
        100 * row.sampled.sampling.simulated, row.full_seconds, row.sampled_seconds, row.faster(),
        row.sampled.sampling.note.c_str());
    std::fflush(stdout);
}

/// Of the rows in which something was left out.
struct Summary {
    unsigned rows = 0, sampled = 0, covered = 0, within = 0, bytes_within = 0;
    double worst = 0, widest = 0, worst_l2 = 0, worst_dram = 0, full_seconds = 0, sampled_seconds = 0;

    void add(const Row& row) {
        ++rows;
        full_seconds += row.full_seconds;
        sampled_seconds += row.sampled_seconds;
        if (!row.left_out()) return;
        ++sampled;
        covered += row.covered();
        within += std::abs(row.difference()) <= 0.02;
        bytes_within += std::abs(row.l2()) <= 0.05 && std::abs(row.dram()) <= 0.05;
        const auto widen = [](double& worst_yet, double value) {
            worst_yet = std::max(worst_yet, std::abs(value));
        };
        widen(worst, row.difference());
        widen(widest, row.error_bar());
        widen(worst_l2, row.l2());
        widen(worst_dram, row.dram());
    }
    void print() const {
        std::printf(
            "\nof %u kernels %u leave something out; of these within their error bar: %u, within 2 %%: %u, "
            "bytes "
            "within 5 %%: %u\nat most: difference %.2f %%, error bar %.2f %%, L2 bytes %.1f %%, DRAM bytes "
            "%.1f %%; "
            "CPU time of all %.0f s in full, %.0f s sampled\n",
            rows, sampled, covered, within, bytes_within, 100 * worst, 100 * widest, 100 * worst_l2,
            100 * worst_dram, full_seconds, sampled_seconds);
        std::fflush(stdout);
    }
};

Row run_both(models::gpu::SampledGpu& gpu, const kernels::LibraryKernel& kernel, unsigned capability,
             bool sampled_only) {
    const PreparedLaunch launch(kernel, ptx::Mode::timing, capability);
    models::gpu::RunOptions run;
    run.sample = true;
    Row row;
    const double start = cpu_seconds();
    row.sampled = gpu.run(launch.context(), run);
    const double middle = cpu_seconds();
    row.full = sampled_only ? row.sampled : gpu.run(launch.context());
    row.sampled_seconds = middle - start;
    row.full_seconds = cpu_seconds() - middle;
    return row;
}

void compare_large(const models::gpu::GpuConfig& config, const Options& options) {
    models::gpu::SampledGpu gpu("gpu", config);
    Summary summary;
    for (const SamplingCase& one : sampling_cases(config.compute_capability, config.sm.count)) {
        if (!options.wants(one.name)) continue;
        const Row row = run_both(gpu, one.make(), config.compute_capability, options.sampled_only);
        summary.add(row);
        print_row(one.name, row);
    }
    summary.print();
}

void compare_random(const models::gpu::GpuConfig& config, const Options& options) {
    models::gpu::SampledGpu gpu("gpu", config);
    Summary summary;
    for (std::uint64_t seed = options.first; seed < options.first + options.random; ++seed) {
        const SamplingCase one = random_case(seed, config);
        kernels::LibraryKernel kernel;
        try {
            kernel = one.make();
        } catch (const Error&) {
            continue;  // a tile that cannot be built
        }
        std::fprintf(stderr, "%llu %s\n", static_cast<unsigned long long>(seed), one.name.c_str());
        const Row row = run_both(gpu, kernel, config.compute_capability, options.sampled_only);
        summary.add(row);
        print_row(std::to_string(seed) + " " + one.name, row);
    }
    summary.print();
}

void compare(const std::string& name, const Options& options) {
    const sim::Hardware hardware = sim::load_hardware(name);
    print_head(name + (options.random == 0 ? "" : ", an eighth"));
    if (options.random == 0) {
        compare_large(sim::gpu_config(hardware), options);
    } else {
        compare_random(an_eighth(sim::gpu_config(hardware)), options);
    }
}

/// SystemC builds one GPU per process.
int compare_apart(const std::string& name, const Options& options) {
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child != 0) {
        int status = 0;
        ::waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
    }
    try {
        compare(name, options);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        ::_exit(2);
    }
    ::_exit(0);
}

}  // namespace

int main(int count, char** arguments) {
    const Options options(count, arguments);
    int worst = 0;
    for (const std::string& name : options.hardware) worst = std::max(worst, compare_apart(name, options));
    return worst;
}
