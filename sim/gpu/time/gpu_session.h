// One elaborated GPU in one process, which runs planned launches.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "isa/program/program.h"
#include "isa/ptx/execution.h"
#include "models/gpu/sampled_gpu.h"
#include "sim/run/time/launch_outcome.h"
#include "sim/gpu/plan/launch_plan.h"

namespace heddle::sim {

/// Values of a program's buffers, by BufferId, for functional runs. Before each launch a buffer's bytes are
/// moved to device memory, and afterwards back, so every launch has the canonical layout for which its time
/// is defined.
using BufferValues = std::vector<std::vector<std::byte>>;

/// The GPU itself. A process can have at most one, because SystemC elaborates once.
class GpuSession {
  public:
    /// `sample` makes a session that can extrapolate work that repeats. `series` selects the counters that
    /// are recorded.
    explicit GpuSession(const models::gpu::GpuConfig& config, bool tick_every_cycle = false,
                        bool sample = false, models::gpu::SeriesSettings series = {});

    /// Runs a launch in timing mode, or with real values when `values` is given; then `values` receives the
    /// results. Throws heddle::Error when the launch cannot be executed, such as for an access out of bounds.
    LaunchOutcome run(const program::GpuProgram& program, const PlannedLaunch& planned,
                      BufferValues* values = nullptr);

    /// A launch in a run of several.
    struct Member {
        const PlannedLaunch* planned = nullptr;
        models::gpu::LaunchOrder order;
    };
    /// Runs launches together in timing mode. Buffers that several of them name are the same memory; L2 holds at the start what the
    /// first launch that names a buffer was planned with. LaunchOutcome::together has what each of them took.
    LaunchOutcome run_together(const program::GpuProgram& program, const std::vector<Member>& members);

    /// Computes the same values as run() without timing, which is much faster.
    void compute(const program::GpuProgram& program, const PlannedLaunch& planned, BufferValues& values);

    /// Whether some registers of the launch's kernel lie in local memory after scheduling.
    bool spills(const PlannedLaunch& planned);

    /// Set the clock of the SMs and the size of L2 for later runs.
    void set_clock(double hertz) { gpu_.set_clock(hertz); }
    void set_l2_size(std::uint64_t bytes) { gpu_.set_l2_size(bytes); }
    /// Sets how many threads of the host later runs may use: models::gpu::RunOptions::threads and
    /// threads_in_full.
    void set_threads(unsigned threads, unsigned in_full = 0) {
        threads_ = threads;
        threads_in_full_ = in_full;
    }
    /// Sets the receiver of signals for later runs (models::gpu::RunOptions::signals); nullptr: none. It must
    /// outlive them.
    void set_signals(models::SignalTrace* signals) { signals_ = signals; }
    /// Chooses whether later runs are sampled. Without effect unless the session was made for sampling.
    void set_sample(bool sample) { sample_ = sample; }

  private:
    const ptx::LoadedKernel& load(const program::KernelText& text, ptx::Assembly assembly);

    models::gpu::SampledGpu gpu_;
    bool tick_every_cycle_, sample_;
    unsigned threads_ = 1, threads_in_full_ = 0;
    models::gpu::SeriesSettings series_;
    models::SignalTrace* signals_ = nullptr;
    /// Kernels that have been loaded, by entry and text, and by how they were scheduled.
    std::map<std::pair<std::string, ptx::Assembly>, std::shared_ptr<ptx::LoadedKernel>> kernels_;
};

}  // namespace heddle::sim
