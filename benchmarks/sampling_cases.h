// Kernels on which sampled runs are compared with full ones.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "workloads/kernels/library.h"

namespace heddle::benchmarks {

struct SamplingCase {
    std::string name;
    std::function<kernels::LibraryKernel()> make;
};

/// What a device of this compute capability can run, for about `sms` SMs: products on CUDA cores and on
/// tensor cores, whole and split over k, large, small and with few rows; streams; reductions over rows;
/// attention.
std::vector<SamplingCase> sampling_cases(unsigned compute_capability, unsigned sms);

}  // namespace heddle::benchmarks
