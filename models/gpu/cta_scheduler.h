// Hands out the CTAs of a launch to the SMs.
#pragma once

#include <cstdint>
#include <deque>
#include <systemc>
#include <utility>
#include <vector>

#include "isa/ptx/execution.h"
#include "models/common/clock_domain.h"
#include "models/gpu/cta_ports.h"
#include "models/gpu/gpu_config.h"
#include "models/memory/bandwidth_server.h"

namespace heddle::models::gpu {

/// Breadth first, as the hardware does: one CTA to each SM, then a second to each, until all are full; then
/// each place that becomes free takes the next CTA. The CTAs of a cluster start together in one GPC, on
/// different SMs as far as there are any.
class CtaScheduler : public Block, public CtaReporter {
  public:
    sc_core::sc_port<CtaReceiver, 0, sc_core::SC_ZERO_OR_MORE_BOUND> sms;  ///< one for each SM, in their
                                                                           ///< order
    sc_core::sc_export<CtaReporter> reports;  ///< bound to the scheduler ports of the SMs

    /// `gpc_of_sm`: one entry for each SM, see gpc_layout.h.
    CtaScheduler(const sc_core::sc_module_name& name, ClockDomain& clock, const LaunchConfig& config,
                 std::vector<std::uint32_t> gpc_of_sm);

    /// Between reset() and the run: `per_sm` thread blocks of the launch fit on an SM. `launch` must outlive
    /// the run. Throws heddle::Error when not one of its clusters fits.
    /// `blocks`: the thread blocks to be run, by their linear index; nullptr: all. Not for clusters.
    void begin(const ptx::LaunchContext& launch, unsigned per_sm,
               const std::vector<std::uint64_t>* blocks = nullptr);
    void cta_finished(std::uint32_t sm, Cycle at) override;
    Cycle tick(Cycle now) override;
    bool can_act(Cycle now) const override;
    void reset() override;

    /// Sampling: times include the cycles that `left_out` holds. To be called between reset() and begin().
    void watch(const Cycle* left_out) { left_out_ = left_out; }
    /// CTAs that run at once when all places are taken.
    std::uint64_t wave() const { return wave_; }
    /// Times at which one wave after another of CTAs had finished; empty when not watched.
    const std::vector<Cycle>& wave_ends() const { return wave_ends_; }
    /// CTAs of the run.
    std::uint64_t count() const { return ctas_; }
    /// Linear index of the CTA that is handed out as number `number`.
    std::uint64_t block(std::uint64_t number) const {
        return blocks_ == nullptr ? number : (*blocks_)[number];
    }
    /// CTAs that have not been handed out.
    std::uint64_t waiting() const { return ctas_ - handed_out_; }
    /// CTAs that have been handed out and not ended.
    std::uint64_t running() const { return handed_out_ - finished_; }
    /// The number of the next CTA to be handed out.
    std::uint64_t next_cta() const { return handed_out_; }
    /// Skips the next `count` CTAs, which must be whole clusters: they count as handed out and finished.
    void skip(std::uint64_t count) {
        handed_out_ += count;
        finished_ += count;
    }

    /// CTAs that have ended or were skipped.
    std::uint64_t finished() const { return finished_; }
    Cycle last_finish() const {
        return last_finish_;
    }  ///< cycle in which the last finished CTA freed its place

  private:
    void end_of_elaboration() override;
    Cycle next() const;
    void start_cluster(Cycle now);
    /// When the first GPC has places for a whole cluster, and which GPC that is; kNever when none has.
    std::pair<Cycle, std::uint32_t> next_cluster() const;
    std::vector<std::size_t> choose_places(Cycle now, std::uint32_t gpc) const;

    const LaunchConfig config_;
    const std::vector<std::uint32_t> gpc_of_sm_;
    std::vector<CtaReceiver*> receivers_;
    const ptx::LaunchContext* launch_ = nullptr;
    const std::vector<std::uint64_t>* blocks_ = nullptr;  // nullptr: all
    unsigned cluster_size_ = 1;
    std::uint64_t ctas_ = 0, handed_out_ = 0, finished_ = 0;
    Cycle last_finish_ = 0;
    const Cycle* left_out_ = nullptr;
    std::uint64_t wave_ = 0;
    std::vector<Cycle> wave_ends_;
    std::deque<std::pair<Cycle, std::uint32_t>>
        places_;  // free from a cycle on, in SM: in the order to be filled
    BandwidthServer pace_;
};

}  // namespace heddle::models::gpu
