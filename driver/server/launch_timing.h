// How long does one launch take alone on the device? From the cache where the same launch was timed before, else on the timing model.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isa/ptx/execution.h"
#include "models/gpu/sampled_gpu.h"
#include "sim/run/time/kernel_cache.h"
#include "sim/run/time/launch_outcome.h"

namespace heddle::driver {

/// What a profile says of a launch beyond its outcome.
struct LaunchProfile {
    std::vector<models::gpu::InstructionCycles> instructions;  ///< KernelResult::profile
    std::uint64_t resident_cycles = 0;                         ///< of all sub-cores, in which they held a warp
    std::string occupancy_limit;                               ///< KernelResult::occupancy_limit
    double achieved_occupancy = 0;                             ///< of the SMs' warp slots
};

/// How a launch is timed.
struct TimingWishes {
    bool values = true;   ///< compute values where time does not depend on them
    bool sample = false;  ///< without `values`: leave out what repeats
    LaunchProfile* profile = nullptr;  ///< filled where it is asked for
};

/// The timing model, one for all programs of the process: SystemC elaborates once.
class TimingModel {
  public:
    /// `config` must outlive this. `cache`: results are kept on disk (sim/run/time/kernel_cache.h).
    explicit TimingModel(const models::gpu::GpuConfig& config, bool cache = true);

    /// Times the launch and computes its values. Launches whose time depends on nothing in memory (LoadedKernel::time_depends_on_launch_alone())
    /// are timed without values, by several threads, once for each kernel, geometry, parameters and content of L2; their values
    /// are computed by themselves. The others are computed on the timing model. `code`: stands for the kernel's module (identity_of()).
    sim::LaunchOutcome run(ptx::LaunchContext context, const models::gpu::RunOptions& options, const std::string& code, const TimingWishes& wishes = {});

  private:
    struct Timed {
        sim::LaunchOutcome outcome;
        LaunchProfile profile;
    };
    models::gpu::SampledGpu& gpu();
    Timed simulate(const ptx::LaunchContext& context, const models::gpu::RunOptions& options);
    static std::string to_text(const Timed& timed);
    static Timed from_text(const std::string& text);


    const models::gpu::GpuConfig& config_;
    std::optional<models::gpu::SampledGpu> gpu_;
    sim::KernelCache cache_;
    std::string device_;  ///< of keys
    std::map<std::string, Timed> known_;
};

/// Stands for a text in keys: its length and 128 bits of it.
std::string identity_of(std::string_view text);

}  // namespace heddle::driver
