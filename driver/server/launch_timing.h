// How long does one launch take alone on the device? From the cache where the same launch was timed before, else on the timing model.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "isa/ptx/execution.h"
#include "models/gpu/sampled_gpu.h"
#include "sim/run/time/kernel_cache.h"
#include "sim/run/time/launch_outcome.h"

namespace heddle::driver {

/// The timing model, one for all programs of the process: SystemC elaborates once.
class TimingModel {
  public:
    /// `config` must outlive this. `cache`: results are kept on disk (sim/run/time/kernel_cache.h).
    explicit TimingModel(const models::gpu::GpuConfig& config, bool cache = true);

    /// Times the launch and computes its values. Launches whose time depends on nothing in memory (LoadedKernel::time_depends_on_launch_alone())
    /// are timed without values, by several threads, once for each kernel, geometry, parameters and content of L2; their values
    /// are computed by themselves. The others are computed on the timing model. `code`: stands for the kernel's module (identity_of()).
    sim::LaunchOutcome run(ptx::LaunchContext context, const models::gpu::RunOptions& options, const std::string& code);

  private:
    models::gpu::SampledGpu& gpu();
    sim::LaunchOutcome simulate(const ptx::LaunchContext& context, const models::gpu::RunOptions& options);

    const models::gpu::GpuConfig& config_;
    std::optional<models::gpu::SampledGpu> gpu_;
    sim::KernelCache cache_;
    std::string device_;  ///< of keys
    std::map<std::string, sim::LaunchOutcome> known_;
};

/// Stands for a text in keys: its length and 128 bits of it.
std::string identity_of(std::string_view text);

}  // namespace heddle::driver
