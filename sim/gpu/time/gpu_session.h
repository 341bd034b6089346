// One elaborated GPU in one process, running planned launches.
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

/// Values of a program's buffers, by BufferId, for functional runs. A buffer's bytes are moved into device
/// memory for each launch and out again, so every launch sees the canonical layout that its time is defined
/// for.
using BufferValues = std::vector<std::vector<std::byte>>;

/// At most one of these per process: SystemC elaborates once.
class GpuSession {
  public:
    explicit GpuSession(const models::gpu::GpuConfig& config, bool tick_every_cycle = false,
                        bool sample = false, models::gpu::SeriesSettings series = {});

    /// Runs a launch in timing mode, or with real values when `values` is given.
    LaunchOutcome run(const program::GpuProgram& program, const PlannedLaunch& planned,
                      BufferValues* values = nullptr);

    /// The same values as run(), without time: far quicker.
    void compute(const program::GpuProgram& program, const PlannedLaunch& planned, BufferValues& values);

    /// Some of its registers lie in local memory, as scheduled.
    bool spills(const PlannedLaunch& planned);

    /// Of the runs that follow.
    void set_clock(double hertz) { gpu_.set_clock(hertz); }
    void set_l2_size(std::uint64_t bytes) { gpu_.set_l2_size(bytes); }
    /// Of the host, for each of the runs that follow: models::gpu::RunOptions::threads, threads_in_full.
    void set_threads(unsigned threads, unsigned in_full = 0) {
        threads_ = threads;
        threads_in_full_ = in_full;
    }
    /// Of the runs that follow: models::gpu::RunOptions::signals.
    void set_signals(models::SignalTrace* signals) { signals_ = signals; }
    /// For each of the runs that follow; on the whole device, unless the session was made for sampling.
    void set_sample(bool sample) { sample_ = sample; }

  private:
    const ptx::LoadedKernel& load(const program::KernelText& text, ptx::Assembly assembly);

    models::gpu::SampledGpu gpu_;
    bool tick_every_cycle_, sample_;
    unsigned threads_ = 1, threads_in_full_ = 0;
    models::gpu::SeriesSettings series_;
    models::SignalTrace* signals_ = nullptr;
    /// By entry and text, and what becomes of it.
    std::map<std::pair<std::string, ptx::Assembly>, std::shared_ptr<ptx::LoadedKernel>> kernels_;
};

}  // namespace heddle::sim
