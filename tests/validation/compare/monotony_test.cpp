// Where physics demands it, a larger machine is no slower: more SMs, more bandwidth, a higher clock, larger
// caches, step by step, on micro-benchmarks and on kernels of the library. At most 1 % is allowed.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "isa/ptx/parser.h"
#include "models/gpu/gpu.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"
#include "sim/run/workers/worker_pool.h"
#include "validation/capture/microbenchmarks/benchmark.h"
#include "validation/capture/simulator/simulator_device.h"
#include "workloads/kernels/library.h"

using namespace heddle;
namespace fs = std::filesystem;

namespace {

constexpr double kAllowed = 1.01;
/// Whole kernels: another order in which loads return is another order in which warps take their turns, which
/// costs one kernel 1.2 %. The stall table printed with a failure says what they wait for.
constexpr double kAllowedKernels = 1.015;

class HardwareFile {
  public:
    HardwareFile(const std::string& base, const std::string& changes)
        : path_(fs::temp_directory_path() / ("heddle-step-" + std::to_string(getpid()) + ".yaml")) {
        std::ofstream(path_) << "extends: " HEDDLE_SOURCE_DIR "/sim/hardware/" << base << ".yaml\n"
                             << changes;
    }
    ~HardwareFile() { fs::remove(path_); }
    HardwareFile(const HardwareFile&) = delete;
    HardwareFile& operator=(const HardwareFile&) = delete;
    std::string file() const { return path_.string(); }

  private:
    fs::path path_;
};

// A quarter of a machine: the same mechanisms, in a quarter of the time.
const char* const kQuarterH100 =
    "sm.gpcs: 2\nl2.slices: 20\nhbm.channels: 10\nsm.count: 33\nl2.size: 12 MiB\nhbm.bandwidth: 840 GB/s\n";
const char* const kQuarterA100 =
    "sm.gpcs: 2\nl2.slices: 20\nhbm.channels: 10\nsm.count: 27\nl2.size: 10 MiB\nhbm.bandwidth: 510 GB/s\n";

/// What is measured on every step: a micro-benchmark by its id, or "kernel NAME" of the library.
const std::vector<std::string>& subjects() {
    static const std::vector<std::string> all{"latency/shared",
                                              "latency/l1",
                                              "latency/l2",
                                              "latency/dram",
                                              "latency/ring/cg/16384KiB",
                                              "latency/ring/ca/128KiB",
                                              "latency/ffma",
                                              "latency/ex2",
                                              "latency/atomic/shared_add_u32",
                                              "throughput/ffma/warps=16",
                                              "throughput/imad/warps=16",
                                              "throughput/hfma2/warps=16",
                                              "throughput/mma/m16n8k16_bf16_f32/warps=8/chains=4",
                                              "bandwidth/sm/shared_load",
                                              "bandwidth/sm/l1_load",
                                              "bandwidth/sm/l2_load",
                                              "bandwidth/gpu/read/4MiB",
                                              "bandwidth/gpu/read/128MiB",
                                              "bandwidth/gpu/copy/64MiB",
                                              "bandwidth/gpu/write/128MiB",
                                              "launch/ctas/threads=128/per_sm=16",
                                              "latency/bar_sync/warps=8",
                                              "tma/bulk/l2/bytes=8192/stages=4/ctas=1",
                                              "tma/bulk/dram/bytes=8192/stages=4/ctas=3",
                                              "throughput/wgmma/bf16_f32/n=128/a=shared/warpgroups=2",
                                              "latency/tma/bulk/1024"};
    return all;
}

models::gpu::KernelResult run_sample(models::gpu::Gpu& gpu, const kernels::LibraryKernel& sample) {
    const auto module = std::make_shared<const ptx::Module>(ptx::parse(sample.kernel.text, sample.name));
    const ptx::LoadedKernel kernel(module, sample.kernel.entry);
    ptx::GlobalMemory memory;
    std::vector<std::uint64_t> bases;
    for (const kernels::SampleBuffer& buffer : sample.buffers)
        bases.push_back(memory.allocate(buffer.name, buffer.bytes,
                                        buffer.content == kernels::SampleBuffer::Content::index));
    std::vector<std::vector<std::byte>> values;
    for (std::size_t i = 0; i < sample.arguments.size(); ++i) {
        const kernels::KernelArgument& argument = sample.arguments[i];
        std::uint64_t bits = argument.bits;
        if (argument.pointer)
            bits = argument.buffer == kernels::kNoBuffer ? 0 : bases[argument.buffer] + argument.byte_offset;
        values.emplace_back(sample.kernel.parameters[i].bytes);
        std::memcpy(values.back().data(), &bits, values.back().size());
    }
    ptx::LaunchContext launch;
    launch.kernel = &kernel;
    launch.grid = {sample.grid[0], sample.grid[1], sample.grid[2]};
    launch.block = {sample.kernel.block[0], sample.kernel.block[1], sample.kernel.block[2]};
    launch.dynamic_shared_bytes = sample.kernel.dynamic_shared_bytes;
    launch.parameters = ptx::pack_parameters(kernel, values);
    launch.memory = &memory;
    launch.mode = ptx::Mode::timing;
    launch.compute_capability = gpu.config().compute_capability;
    return gpu.run(launch);
}

/// Measures one thing on one machine: the worker of a step.
class StepRunner : public sim::JobRunner {
  public:
    explicit StepRunner(const std::string& hardware)
        : hardware_(hardware),
          config_(sim::gpu_config(sim::load_hardware(hardware))),
          benchmarks_(capture::microbenchmarks()) {}

    std::string run(std::size_t job) override {
        const capture::Benchmark& benchmark =
            *std::find_if(benchmarks_.begin(), benchmarks_.end(),
                          [&](const auto& each) { return each.id == subjects()[job]; });
        if (!benchmark.runs_on(config_.compute_capability)) return "null";
        // Memory of its own for each: addresses must not depend on what this worker did before.
        const auto device = capture::make_simulator_device(hardware_);
        capture::MeasureSettings settings;
        settings.repetitions = 1;
        // Streams are long enough not to be in the shadow of the launch; loads of DRAM meet many refreshes.
        const bool stream = benchmark.id.rfind("bandwidth/gpu", 0) == 0;
        settings.effort = stream || benchmark.id == "latency/dram" ? 1 : 1.0 / 16;
        const capture::Measurement found = benchmark.measure(*device, settings);
        // More SMs are given other amounts of work, in whole turns, and what a launch takes weighs more on
        // less: a stream's rate is that of what one launch does more than another of half its turns.
        const double rate = found.unit == "GB/s" ? 1 / found.value : time_of(found);
        return nlohmann::json{{"time", time_of(found)}, {"rate", rate}}.dump();
    }

  private:
    /// Time for something: less is faster, whatever the unit.
    double time_of(const capture::Measurement& found) const {
        if (found.unit == "cycles") return found.value / config_.clock;
        if (found.unit == "us" || found.unit == "ns/CTA") return found.value;
        if (found.unit.find("/cycle") != std::string::npos) return 1 / (found.value * config_.clock);
        // A stream: of its longer run, since the difference of two can be anything when both become faster.
        const nlohmann::json details = nlohmann::json::parse(found.details.json());
        return found.microseconds.front() / details.at("bytes_moved").get<double>();
    }

    std::string hardware_;
    models::gpu::GpuConfig config_;
    std::vector<capture::Benchmark> benchmarks_;
};

/// All kernels of the library on one machine, whose stall table explains what a kernel waits for.
class LibraryRunner : public sim::JobRunner {
  public:
    explicit LibraryRunner(const std::string& hardware) : gpu_("gpu", sim::gpu_config(sim::load_hardware(hardware))) {}

    std::string run(std::size_t job) override {
        const models::gpu::KernelResult result = run_sample(gpu_, samples()[job]);
        return nlohmann::json{{"seconds", result.seconds}, {"reasons", result.sub_core_cycles}}.dump();
    }
    static const std::vector<kernels::LibraryKernel>& samples() {
        static const std::vector<kernels::LibraryKernel> all = kernels::library_samples(80);
        return all;
    }

  private:
    models::gpu::Gpu gpu_;
};

template <typename Runner>
std::vector<nlohmann::json> run_step(const std::string& base, const std::string& quarter,
                                     const std::string& step, std::size_t jobs) {
    // The step replaces its line.
    const std::string key = step.substr(0, step.find(':') + 1);
    std::string changes = quarter;
    if (const std::size_t at = changes.find(key); at != std::string::npos)
        changes.erase(at, changes.find('\n', at) + 1 - at);
    const HardwareFile hardware(base, changes + step + "\n");
    std::vector<nlohmann::json> results(jobs);
    sim::run_jobs(
        jobs, 2, [&] { return std::make_unique<Runner>(hardware.file()); },
        [&](std::size_t job, const std::string& text) { results[job] = nlohmann::json::parse(text); });
    return results;
}

/// Each step's machine is larger than that of the step before.
void check_benchmarks(const std::vector<std::string>& steps) {
    std::vector<nlohmann::json> before;
    for (const std::string& step : steps) {
        const auto now = run_step<StepRunner>("h100-sxm", kQuarterH100, step, subjects().size());
        for (std::size_t i = 0; i < now.size() && !before.empty(); ++i) {
            INFO(subjects()[i] << " with " << step);
            if (now[i].is_null()) continue;
            const char* const what = step.rfind("sm.count", 0) == 0 ? "rate" : "time";
            CHECK(now[i][what].get<double>() <= before[i][what].get<double>() * kAllowed);
        }
        before = now;
    }
}

void check_library(const std::vector<std::string>& steps) {
    std::vector<nlohmann::json> before;
    for (const std::string& step : steps) {
        const auto now =
            run_step<LibraryRunner>("a100-sxm", kQuarterA100, step, LibraryRunner::samples().size());
        for (std::size_t i = 0; i < now.size() && !before.empty(); ++i) {
            INFO(LibraryRunner::samples()[i].name << " with " << step << ": " << before[i]["reasons"].dump()
                                                  << " before, " << now[i]["reasons"].dump());
            CHECK(now[i]["seconds"].get<double>() <= before[i]["seconds"].get<double>() * kAllowedKernels);
        }
        before = now;
    }
}

const std::vector<std::string> kSms{"sm.count: 20", "sm.count: 28", "sm.count: 36"};
const std::vector<std::string> kBandwidth{"hbm.bandwidth: 500 GB/s", "hbm.bandwidth: 840 GB/s",
                                          "hbm.bandwidth: 1200 GB/s"};
const std::vector<std::string> kClock{"clock: 1200 MHz", "clock: 1600 MHz", "clock: 1980 MHz"};
const std::vector<std::string> kL2{"l2.size: 6 MiB", "l2.size: 12 MiB", "l2.size: 24 MiB"};
const std::vector<std::string> kL1{"l1.unified_size: 256 KiB", "l1.unified_size: 320 KiB",
                                   "l1.unified_size: 512 KiB"};

}  // namespace

TEST_CASE("monotony: more SMs make no micro-benchmark slower") {
    check_benchmarks(kSms);
}
TEST_CASE("monotony: more memory bandwidth makes no micro-benchmark slower") {
    check_benchmarks(kBandwidth);
}
TEST_CASE("monotony: a higher clock makes no micro-benchmark slower") {
    check_benchmarks(kClock);
}
TEST_CASE("monotony: larger caches make no micro-benchmark slower") {
    check_benchmarks(kL2);
    check_benchmarks(kL1);
}
TEST_CASE("monotony: more SMs make no kernel of the library slower") {
    check_library(kSms);
}
TEST_CASE("monotony: more memory bandwidth makes no kernel of the library slower") {
    check_library(kBandwidth);
}
TEST_CASE("monotony: a higher clock makes no kernel of the library slower") {
    check_library(kClock);
}
TEST_CASE("monotony: larger caches make no kernel of the library slower") {
    check_library(kL2);
    check_library(kL1);
}
