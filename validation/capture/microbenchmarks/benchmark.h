// Micro-benchmarks: small PTX kernels that measure one property of a GPU each. The same text runs on a real
// GPU and on Heddle's model of one, so a number of the one stands beside the same number of the other.
//
// Kernels read %clock64 around what they measure, or are timed as a whole by the device. Loops are timed with
// two lengths of body and the difference is used, so that the loop's own instructions cancel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "isa/target/generation.h"
#include "validation/capture/device.h"
#include "workloads/kernels/kernel.h"

namespace heddle::capture {

/// What one benchmark found.
struct Measurement {
    std::vector<double> cycles;        ///< SM cycles of what was timed, one for each repetition
    std::vector<double> microseconds;  ///< the same for benchmarks that the device times
    double value = 0;                  ///< the quantity, from the median of the repetitions
    std::string unit;                  ///< "cycles", "bytes/cycle", "GB/s", "instructions/cycle", ...
    Record details;                    ///< what else is worth keeping; may be empty
    std::vector<std::byte> bytes;      ///< a distribution, where there is one: unsigned 16-bit cycles
};

struct MeasureSettings {
    unsigned repetitions = 5;
    /// Below 1, a power of two: shorter loops and smaller buffers, for tests that look at something else than
    /// the value.
    double effort = 1;
    /// `count` times the effort, at least `least`.
    std::uint64_t reduced(std::uint64_t count, std::uint64_t least = 1) const {
        return std::max(std::min(count, least),
                        static_cast<std::uint64_t>(static_cast<double>(count) * effort));
    }
};

/// A parameter of a benchmark: "warps" 8, "bytes" 65536.
struct BenchmarkParameter {
    std::string name;
    std::int64_t value = 0;
};

struct Benchmark {
    std::string id;     ///< "throughput/ffma/warps=16", unique
    std::string group;  ///< for tables: "latency", "throughput", "tensor", "memory latency", ...
    std::vector<BenchmarkParameter> parameters;
    unsigned minimum_capability = 70;  ///< compute capability times ten
    /// Instructions of an "a" target (wgmma, setmaxnreg) exist for one compute capability alone; 0: no such.
    unsigned only_capability = 0;
    bool quick = false;  ///< of those that a simulator measures too in seconds
    /// The PTX, complete modules; for tests and listings.
    std::function<std::vector<kernels::GeneratedKernel>(unsigned compute_capability)> texts;
    /// Throws DeviceError.
    std::function<Measurement(Device&, const MeasureSettings&)> measure;

    bool runs_on(unsigned compute_capability) const {
        return target::runs_ptx(compute_capability, minimum_capability) &&
               (only_capability == 0 || target::runs_ptx(compute_capability, only_capability, true));
    }
};

/// All of them, the most valuable first.
std::vector<Benchmark> microbenchmarks();

/// The SM clock now in MHz: the difference of two runs of known numbers of cycles. Throws DeviceError.
double measure_sm_clock(Device& device, unsigned repetitions);

// By file.
void add_instruction_benchmarks(std::vector<Benchmark>& list);
void add_tensor_benchmarks(std::vector<Benchmark>& list);
void add_warpgroup_benchmarks(std::vector<Benchmark>& list);
void add_memory_latency_benchmarks(std::vector<Benchmark>& list);
void add_line_latency_benchmarks(std::vector<Benchmark>& list);
void add_bandwidth_benchmarks(std::vector<Benchmark>& list);
void add_atomic_benchmarks(std::vector<Benchmark>& list);
void add_asynchronous_benchmarks(std::vector<Benchmark>& list);
void add_bulk_latency_benchmarks(std::vector<Benchmark>& list);
void add_cluster_benchmarks(std::vector<Benchmark>& list);
void add_launch_benchmarks(std::vector<Benchmark>& list);
void add_cache_policy_benchmarks(std::vector<Benchmark>& list);

}  // namespace heddle::capture
