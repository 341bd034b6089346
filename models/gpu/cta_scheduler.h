// Hands out the CTAs of the launches of a run to the SMs.
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
#include "models/gpu/occupancy.h"
#include "models/memory/bandwidth_server.h"

namespace heddle::models::gpu {

/// When a launch may begin, and where.
struct LaunchOrder {
    int priority = 0;                  ///< thread blocks of those with the lowest number are placed first
    std::vector<std::uint32_t> after;  ///< launches of the run that must have ended before
    /// Of the last of them, that its thread blocks need only have allowed it (griddepcontrol.launch_dependents).
    bool programmatic = false;
    Cycle earliest = 1;              ///< cycle before which it is not there
    Cycle gap = 0;        ///< cycles from the end, or the allowance, of what it comes after to its first thread block
    Cycle flush_gap = 0;  ///< programmatic: cycles from the end of the launch before until griddepcontrol.wait passes
    std::vector<std::uint32_t> sms;  ///< the SMs that it may use, rising; empty: all
};

/// One launch, as the scheduler sees it.
struct ScheduledLaunch {
    const ptx::LaunchContext* launch = nullptr;  ///< must outlive the run
    Occupancy occupancy;                         ///< of its thread blocks, without others
    LaunchOrder order;
    /// The thread blocks to be run, by their linear index; nullptr: all. Not for clusters.
    const std::vector<std::uint64_t>* blocks = nullptr;
};

/// What came of a launch. Cycles are those of the run.
struct LaunchSpan {
    Cycle ready = 0;               ///< nothing that it waited for was left
    Cycle begin = 0;               ///< its first thread block was handed out
    Cycle end = 0;                 ///< its last thread block freed its place
    std::uint64_t ctas = 0;        ///< thread blocks that have ended
    std::uint64_t cta_cycles = 0;  ///< sum over thread blocks of the cycles for which they had their places
};

/// Launches that may use the same SMs form a partition, as a context, a green context or a slice of MPS does; partitions are handed out
/// independently of one another. In a partition, launches that are ready queue up by priority, and among equals in the order in which they became ready. Only the first of the queue
/// is handed out, breadth first: one CTA to each SM, then a second to each, until all are full; then each place that becomes free takes
/// the next CTA. When its last CTA has been handed out the next launch gets what is left over, first of the SMs with the most room
/// (Amert et al., "GPU Scheduling on the NVIDIA TX2", RTSS 2017; Gilman et al., "Demystifying the Placement Policies of the
/// NVIDIA GPU Thread Block Scheduler", SIGMETRICS 2021). A launch with a lower number in `priority` takes the places that become free;
/// CTAs that run are not interrupted. The CTAs of a cluster start together in one GPC, on different SMs as far as there are any.
class CtaScheduler : public Block, public CtaReporter {
  public:
    sc_core::sc_port<CtaReceiver, 0, sc_core::SC_ZERO_OR_MORE_BOUND> sms;  ///< one for each SM, in their
                                                                           ///< order
    sc_core::sc_export<CtaReporter> reports;  ///< bound to the scheduler ports of the SMs

    /// `gpc_of_sm`: one entry for each SM, see gpc_layout.h.
    CtaScheduler(const sc_core::sc_module_name& name, ClockDomain& clock, const GpuConfig& config,
                 std::vector<std::uint32_t> gpc_of_sm);

    /// Between reset() and the run. Throws heddle::Error when not one cluster of a launch fits, and when launches wait for each other.
    void begin(std::vector<ScheduledLaunch> launches);
    void cta_finished(std::uint32_t sm, std::uint32_t launch, Cycle at) override;
    void cta_triggered(std::uint32_t launch, Cycle at) override;
    Cycle tick(Cycle now) override;
    bool can_act(Cycle now) const override;
    void reset() override;

    /// Sampling: times include the cycles that `left_out` holds. To be called between reset() and begin().
    void watch(const Cycle* left_out) { left_out_ = left_out; }
    /// CTAs that run at once when all places are taken, of a run of one launch.
    std::uint64_t wave() const { return wave_; }
    /// Times at which one wave after another of CTAs had finished; empty when not watched.
    const std::vector<Cycle>& wave_ends() const { return wave_ends_; }
    /// CTAs of the run.
    std::uint64_t count() const { return ctas_; }
    /// Linear index of the CTA that is handed out as number `number`, of a run of one launch.
    std::uint64_t block(std::uint64_t number) const { return launches_.front().block(number); }
    /// CTAs that have not been handed out.
    std::uint64_t waiting() const { return ctas_ - handed_out_; }
    /// CTAs that have been handed out and not ended.
    std::uint64_t running() const { return handed_out_ - finished_; }
    /// The number of the next CTA to be handed out, of a run of one launch.
    std::uint64_t next_cta() const { return handed_out_; }
    /// Skips the next `count` CTAs of a run of one launch, which must be whole clusters: they count as handed out and finished.
    void skip(std::uint64_t count);

    /// CTAs that have ended or were skipped.
    std::uint64_t finished() const { return finished_; }
    Cycle last_finish() const {
        return last_finish_;
    }  ///< cycle in which the last finished CTA freed its place
    /// What came of each launch.
    std::vector<LaunchSpan> spans() const;

  private:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};
    struct Launch : ScheduledLaunch {
        std::uint64_t ctas = 0, handed_out = 0, finished = 0, triggered = 0;
        unsigned cluster_size = 1;
        std::uint32_t waits = 0;  // launches of `after` that have not ended, or not allowed it to begin
        bool queued = false;      // it is ready, or has been
        LaunchSpan span;
        std::vector<std::uint32_t> dependents;
        std::uint32_t partition = 0;

        std::uint64_t block(std::uint64_t number) const { return blocks == nullptr ? number : (*blocks)[number]; }
        bool waits_for_places() const { return handed_out != ctas; }
    };
    using Place = std::pair<Cycle, std::uint32_t>;  // free from a cycle on, in SM
    struct Partition {
        std::vector<std::uint32_t> sms;  // rising; empty: all
        std::vector<bool> allowed;       // by SM; empty: all
        std::uint32_t current = kNone;   // launch that is handed out
        std::deque<std::uint32_t> queue;  // of those that are ready and have CTAs left, in their order
        std::deque<Place> places;         // for `current`: in the order to be filled
    };
    /// What CTAs have taken of an SM.
    struct Taken {
        unsigned ctas = 0, warps = 0;
        std::uint64_t shared = 0;
        double registers = 0;  // part of those that can be allocated
        Cycle since = 1;       // when the last CTA gave its share back
    };

    void end_of_elaboration() override;
    Cycle next() const;
    Cycle next_place(const Partition& partition) const;
    std::uint32_t partition_of(const std::vector<std::uint32_t>& sms);
    unsigned room(const Launch& launch, std::uint32_t sm) const;
    void take(const Launch& launch, std::uint32_t sm, int sign);
    void make_ready(std::uint32_t launch, Cycle at);
    void come(Cycle now);
    void choose_launch(Partition& partition, Cycle now);
    void match_places(Partition& partition, std::uint32_t sm, Cycle at);
    void ended(std::uint32_t launch, Cycle at);
    void start(Launch& launch, std::uint64_t number, std::uint32_t sm, Cycle at, ClusterPlace place);
    void start_cluster(Partition& partition, Cycle now);
    /// When the first GPC has places for a whole cluster, and which GPC that is; kNever when none has.
    std::pair<Cycle, std::uint32_t> next_cluster(const Partition& partition) const;
    std::vector<std::size_t> choose_places(const Partition& partition, Cycle now, std::uint32_t gpc) const;
    std::uint64_t places_of_wave() const;

    const GpuConfig& config_;
    const std::vector<std::uint32_t> gpc_of_sm_;
    std::vector<CtaReceiver*> receivers_;
    std::vector<Launch> launches_;
    std::vector<Taken> taken_;  // by SM
    std::vector<Partition> partitions_;
    std::vector<std::pair<Cycle, std::uint32_t>> arrivals_;  // launches that will be ready, in order of time
    std::uint64_t ctas_ = 0, handed_out_ = 0, finished_ = 0;
    Cycle last_finish_ = 0;
    const Cycle* left_out_ = nullptr;
    std::uint64_t wave_ = 0;
    std::vector<Cycle> wave_ends_;
    BandwidthServer pace_;
};

}  // namespace heddle::models::gpu
