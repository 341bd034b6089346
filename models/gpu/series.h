// A kernel over time: what its SMs, L2 and memory did in each interval.
#pragma once

#include <cstdint>
#include <functional>
#include <systemc>
#include <vector>

#include "models/common/clock_domain.h"
#include "models/gpu/cta_scheduler.h"
#include "models/gpu/kernel_result.h"
#include "models/gpu/kernel_summary.h"
#include "models/gpu/sm.h"

namespace heddle::models::gpu {

/// Adds a point to KernelResult::series at the end of each interval. It changes no result; without begin() it
/// is never due and costs nothing.
class SeriesRecorder : public Block {
  public:
    /// `gpc_of_sm`: one entry for each SM.
    SeriesRecorder(const sc_core::sc_module_name& name, ClockDomain& clock, const sc_core::sc_vector<Sm>& sms,
                   const CtaScheduler& scheduler, std::vector<std::uint32_t> gpc_of_sm);

    /// Begins a recording, after reset() and before a run. `tally` sums what all blocks have counted before a
    /// cycle; `before` is the sum before the first cycle; `left_out` are the cycles that a sampled run has
    /// left out, nullptr for other runs.
    void begin(const SeriesSettings& settings, const GpuConfig& config,
               std::function<KernelSummary(Cycle)> tally, KernelResult before, const Cycle* left_out);
    /// Ends the present point before cycle `until`: at the end of the run, and where cycles are left out.
    void close(Cycle until);
    /// To be called when cycles have been left out: the next point begins after them.
    void cut();
    Series take() { return std::move(series_); }

    Cycle tick(Cycle now) override;
    bool can_act(Cycle now) const override { return next_ <= now; }
    void reset() override;

  private:
    void read_groups(std::vector<SeriesGroup>& groups) const;

    const sc_core::sc_vector<Sm>& sms_;
    const CtaScheduler& scheduler_;
    const std::vector<std::uint32_t> gpc_of_sm_;
    std::vector<std::uint32_t> group_of_sm_;
    std::function<KernelSummary(Cycle)> tally_;
    const Cycle* left_out_ = nullptr;
    Cycle skipped_ = 0;  // of *left_out_, when the present point began
    Cycle closed_ = 0, next_ = kNever;
    unsigned quiet_ = 0;  // points in which nothing issued
    KernelResult before_;
    std::vector<SeriesGroup> groups_before_;
    Series series_;
};

}  // namespace heddle::models::gpu
