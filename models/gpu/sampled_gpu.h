// A GPU, and a part of it that stands for the whole in sampled runs.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/gpu/block_sample.h"
#include "models/gpu/device_part.h"
#include "models/gpu/gpu.h"

namespace heddle::models::gpu {

/// With RunOptions::sample a launch of many thread blocks that are alike and share nothing runs on a part of
/// the device: of the grid a sample as large as that part, of what L2 holds at the start what these blocks
/// touch. Cycles are then those of the whole device, everything that is counted is taken in proportion.
/// Launches of other kinds, and runs without `sample`, run on the whole device. One per process.
class SampledGpu {
  public:
    /// `sampling`: runs with `sample` will come; without, there is no part.
    SampledGpu(const char* name, const GpuConfig& config, bool sampling = true);
    /// As Gpu::run().
    KernelResult run(const ptx::LaunchContext& launch, const RunOptions& options = {});
    void set_clock(double hertz);
    /// As Gpu::set_l2_size(); the part gets its share.
    void set_l2_size(std::uint64_t bytes);
    const GpuConfig& config() const { return whole_.config(); }
    Gpu& whole() { return whole_; }

  private:
    std::optional<KernelResult> run_part(const ptx::LaunchContext& launch, const RunOptions& options);

    Gpu whole_;
    std::optional<DevicePart> part_config_;
    std::unique_ptr<Gpu> part_;  // nullptr: none
};

}  // namespace heddle::models::gpu
