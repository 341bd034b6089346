// One elaborated GPU in one process, running planned launches.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "isa/program/program.h"
#include "isa/ptx/execution.h"
#include "models/gpu/gpu.h"
#include "sim/run/launch_plan.h"

namespace heddle::sim {

/// What the parent keeps of a simulated kernel. Travels between processes and to the cache as JSON.
struct LaunchOutcome {
    std::uint64_t cycles = 0;
    double seconds = 0;
    std::uint64_t warp_instructions = 0;
    std::uint32_t registers_per_thread = 0, shared_bytes = 0, ctas_per_sm = 0;
    double dram_bytes = 0, l2_bytes = 0;
    std::string bound_by;
    std::map<std::string, double> time_by_reason;
    std::map<std::string, double> utilisation;
};
std::string to_text(const LaunchOutcome& outcome);
/// Throws std::exception when the text is not what to_text() wrote.
LaunchOutcome outcome_from_text(const std::string& text);

/// Values of a program's buffers, by BufferId, for functional runs. A buffer's bytes are moved into device memory for
/// each launch and out again, so every launch sees the canonical layout that its time is defined for.
using BufferValues = std::vector<std::vector<std::byte>>;

/// At most one of these per process: SystemC elaborates once.
class GpuSession {
  public:
    explicit GpuSession(const models::gpu::GpuConfig& config, bool tick_every_cycle = false);

    /// Runs a launch in timing mode, or with real values when `values` is given.
    LaunchOutcome run(const program::GpuProgram& program, const PlannedLaunch& planned, BufferValues* values = nullptr);

  private:
    const ptx::LoadedKernel& load(const program::KernelText& text);

    models::gpu::Gpu gpu_;
    bool tick_every_cycle_;
    std::map<std::string, std::shared_ptr<ptx::LoadedKernel>> kernels_;  ///< by text and entry
};

}  // namespace heddle::sim
