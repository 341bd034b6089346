// What the model is asked when times are compared: micro-benchmarks, GEMMs and kernels, on worker processes.
#pragma once

#include <string>
#include <vector>

#include "validation/capture/blas.h"
#include "validation/compare/result.h"

namespace heddle::validation {

struct TimingJob {
    enum class Kind : std::uint8_t { benchmark, gemm, kernel } kind = Kind::benchmark;
    std::string id;                ///< of the micro-benchmark or the kernel item
    capture::GemmProblem problem;  ///< gemm
};

struct TimingJobResult {
    double value = 0;   ///< microseconds of GEMMs and kernels; what a micro-benchmark measures
    std::string error;  ///< why there is no value
};

/// In the order of `jobs`. Each worker has a model of `hardware`. Throws heddle::Error when the hardware
/// cannot be read.
std::vector<TimingJobResult> run_timing_jobs(const std::string& hardware, const std::vector<TimingJob>& jobs,
                                             const CompareOptions& options);

/// Whether Heddle's own kernels do it: fp64, fp32, fp16, bf16 without an epilogue of fp8.
bool can_simulate(const capture::GemmProblem& problem);
/// Warp instructions, roughly.
double simulation_cost(const capture::GemmProblem& problem);
inline constexpr double kLargestSimulation = 8e6;  ///< warp instructions: some seconds
inline constexpr double kLongestKernel = 40;       ///< microseconds on the GPU

}  // namespace heddle::validation
