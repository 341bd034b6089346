// The README's table of speed: warp instructions that the GPU model simulates in a second, on one thread of
// the host and on four.
//
//   benchmark_speed_table [--small] [README.md]
//
// prints the table; with a file, writes it between the marks there. On an idle machine: four threads are
// timed by the clock on the wall. --small leaves out the product of 8192, which takes a minute.
#include <chrono>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gpu_launches.h"
#include "isa/common/error.h"
#include "isa/common/whole_file.h"
#include "models/gpu/sampled_gpu.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"

namespace {

using namespace heddle;
using namespace heddle::benchmarks;
using models::gpu::KernelResult;

constexpr unsigned kThreads = 4;
constexpr const char* kBegin = "<!-- speed: written by build/benchmarks/benchmark_speed_table -->";
constexpr const char* kEnd = "<!-- end of speed -->";

struct Measured {
    KernelResult last;
    double seconds = 0;  ///< of one run
    double instructions_per_second() const { return static_cast<double>(last.warp_instructions) / seconds; }
};

/// One thread by the processor's time, which other work on the machine changes little; several by the wall's.
Measured measure(models::gpu::SampledGpu& gpu, const PreparedLaunch& launch, unsigned threads, bool sample,
                 double least_seconds) {
    models::gpu::RunOptions options;
    options.threads = threads;
    options.sample = sample;
    Measured measured;
    double sum = 0;
    unsigned runs = 0;
    do {
        const auto wall = std::chrono::steady_clock::now();
        const std::clock_t processor = std::clock();
        measured.last = gpu.run(launch.context(), options);
        const double on_the_wall =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count();
        sum += threads == 1 ? static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC : on_the_wall;
        ++runs;
    } while (sum < least_seconds);
    measured.seconds = sum / runs;
    return measured;
}

std::string formatted(const char* format, double value) {
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

std::string table(bool small) {
    const sim::Hardware hardware = sim::load_hardware("h100-sxm");
    models::gpu::SampledGpu gpu("gpu", sim::gpu_config(hardware));
    std::string text = "| kernel | one thread | four threads |\n|---|---|---|\n";
    const auto row = [&](const std::string& name, const std::string& one, const std::string& several) {
        text += "| " + name + " | " + one + " | " + several + " |\n";
    };
    // The products fill the 132 SMs with a thread block each.
    const std::pair<const char*, kernels::LibraryKernel> rates[] = {
        {"SGEMM on CUDA cores", gemm_simt(1536, 1408, 64)},
        {"bf16 GEMM with mma.sync", gemm_mma(1536, 1408, 1024)},
        {"softmax of 4096 rows", softmax(4096, 1024)},
        {"copy of 8 Mi floats", copy(8u << 20)},
    };
    for (const auto& [name, kernel] : rates) {
        const PreparedLaunch launch(kernel, ptx::Mode::timing);
        const auto rate = [&](unsigned threads) {
            return formatted("%.1f million",
                             measure(gpu, launch, threads, false, 2).instructions_per_second() / 1e6);
        };
        const std::string one = rate(1);
        row(name, one, rate(kThreads));
    }
    if (small) return text;
    const PreparedLaunch launch(gemm_wgmma(8192, 8192, 8192), ptx::Mode::timing);
    const Measured one = measure(gpu, launch, 1, false, 0),
                   several = measure(gpu, launch, kThreads, false, 0),
                   sampled = measure(gpu, launch, 1, true, 0);
    row("bf16 GEMM 8192 x 8192 x 8192 with TMA and wgmma, one run", formatted("%.1f s", one.seconds),
        formatted("%.1f s", several.seconds));
    const double off = static_cast<double>(sampled.last.cycles) / static_cast<double>(one.last.cycles) - 1;
    row("the same with `--sample`: " + formatted("%.1f %% off", 100 * (off < 0 ? -off : off)),
        formatted("%.1f s", sampled.seconds), "");
    return text;
}

void write_between_marks(const std::string& file, const std::string& contents) {
    std::ifstream stream(file);
    std::ostringstream whole;
    whole << stream.rdbuf();
    std::string text = whole.str();
    const std::size_t mark = text.find(kBegin), end = text.find(kEnd);
    if (!stream || mark == std::string::npos || end == std::string::npos || end < mark)
        throw Error("there is no place for the table of speed", {file, 0, ""},
                    std::string("put the lines `") + kBegin + "` and `" + kEnd + "` there");
    const std::size_t begin = text.find('\n', mark) + 1;
    write_whole_file(file, text.replace(begin, end - begin, contents));
}

}  // namespace

int main(int count, char** arguments) {
    try {
        bool small = false;
        std::string file;
        for (int i = 1; i < count; ++i) {
            const std::string argument = arguments[i];
            if (argument == "--small") {
                small = true;
            } else if (file.empty() && argument[0] != '-') {
                file = argument;
            } else {
                throw Error("no such option: " + argument, {}, "benchmark_speed_table [--small] [README.md]");
            }
        }
        const std::string contents = table(small);
        if (file.empty()) {
            std::printf("%s\n%s%s\n", kBegin, contents.c_str(), kEnd);
        } else {
            write_between_marks(file, contents);
        }
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "benchmark_speed_table: %s\n", error.what());
        return 2;
    }
}
