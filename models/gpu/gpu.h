// A whole GPU: SMs, L2 slices, memory channels and the scheduler of CTAs, on one clock.
#pragma once

#include <memory>
#include <string>
#include <systemc>
#include <vector>

#include "isa/ptx/execution.h"
#include "models/common/clock_domain.h"
#include "models/common/signal_trace.h"
#include "models/gpu/conservation.h"
#include "models/gpu/cta_scheduler.h"
#include "models/gpu/gpc.h"
#include "models/gpu/gpu_config.h"
#include "models/gpu/kernel_result.h"
#include "models/gpu/sampler.h"
#include "models/gpu/series.h"
#include "models/gpu/sm.h"
#include "models/memory/l2_slice.h"
#include "models/memory/memory_channel.h"
#include "models/memory/memory_request.h"

namespace heddle::models::gpu {

class ProgressWatch;

/// A range of addresses that L2 holds when a kernel starts.
struct L2Residency {
    std::uint64_t base = 0;   ///< first byte
    std::uint64_t bytes = 0;  ///< rounded out to whole lines
    bool dirty = false;       ///< to be written back when evicted
};

/// A run on a part of a device that stands for the whole (sampled_gpu.h): the result is that of the whole.
struct StandsFor {
    const GpuConfig* whole = nullptr;                    ///< nullptr: the device stands for itself
    const std::vector<std::uint64_t>* blocks = nullptr;  ///< linear indices of those that are run, rising
    double error = 0;  ///< by which part the time may differ from that of the whole
};

/// How a kernel is run, and what is recorded of it.
struct RunOptions {
    /// Recompute readiness in every cycle; slow; must give the same result.
    bool tick_every_cycle = false;
    /// Threads of the host that share the work of a cycle, at most one for each GPC; changes no result. Only
    /// launches whose thread blocks have nothing to do with one another but for their timing are divided,
    /// others run on one thread: see LaunchSource::divide().
    unsigned threads = 1;
    /// The same for a sampled run that turns out to need simulation in full: others are mostly done by then.
    /// 0: `threads`.
    unsigned threads_in_full = 0;
    /// SMs run at most so many cycles at once (lookahead.h). The result is the same, but where it depends on
    /// the order in which SMs that share a window hand each other values.
    Cycle window = kNever;
    bool profile = false;               ///< count cycles by instruction too
    bool sample = false;                ///< leave out what repeats (sampler.h); timing mode only
    bool sample_cautiously = false;     ///< ... with short leaps: the second try of a bar that was too wide
    SeriesSettings series;              ///< with an interval: record what happens over time (series.h)
    Cycle limit = 0;                    ///< heddle::Error beyond this many cycles; 0: none
    std::vector<L2Residency> resident;  ///< least recently used first
    /// Check at the end that everything asked for was served, once (conservation.h). It costs nothing to
    /// speak of.
    bool check_conservation = true;
    /// Check at every thread block's start and end, and at every issue, that no SM is given more than it has
    /// and performs nothing twice (sm_audit.h).
    bool audit = kDebugBuild;
    StandsFor stands_for;
    /// For a programmatic dependent launch: the cycle of the thread blocks' run (launch.before is over in
    /// cycle 0) in which the earlier launch has ended, so that griddepcontrol.wait passes.
    Cycle dependency_release = 0;
    /// Where the signals of all blocks go; nullptr: nowhere. Not with `sample`.
    SignalTrace* signals = nullptr;
};

/// One of several launches that share a run.
struct JointLaunch {
    LaunchSource* source = nullptr;  ///< must outlive the run
    LaunchOrder order;               ///< `earliest`, `gap` and the cycles of its result count from the first cycle of the run
};

/// What a run of several launches did.
struct JointResult {
    KernelResult all;                  ///< from the first cycle to the end of the last launch, with the overhead of one launch
    std::vector<LaunchSpan> launches;  ///< in the order in which they were given
};

/// One per process (SystemC elaborates once); runs any number of kernels, each from a complete reset with
/// cold L1 and with the L2 contents that RunOptions name.
class Gpu : public sc_core::sc_module {
  public:
    ClockDomain clock;       ///< of all blocks of the GPU
    PeerLink peers;          ///< to other devices; no block, and not with several threads
    CtaScheduler scheduler;  ///< hands out the thread blocks
    /// The blocks by their index, with the sizes that the configuration states: SMs, the crossbar ports of
    /// GPCs, slices of L2 and memory channels. Callers read statistics of them between runs.
    sc_core::sc_vector<Sm> sms;
    sc_core::sc_vector<Gpc> gpcs;
    sc_core::sc_vector<L2Block> slices;
    sc_core::sc_vector<MemoryBlock> channels;
    // The last blocks: they see all others at the end of a cycle.
    std::unique_ptr<Sampler> sampler;
    std::unique_ptr<SeriesRecorder> series;

    /// Throws heddle::Error when check(config) finds the machine impossible.
    Gpu(const sc_core::sc_module_name& name, const GpuConfig& config);
    ~Gpu() override;

    /// Runs one launch to its end. Throws heddle::Error when the CTA does not fit the SM, on deadlock and
    /// endless loops (with what each warp of a stuck CTA waits for), when `limit` is passed, and for what
    /// isa/ptx finds wrong with the program. The GPU can be used again after an error.
    KernelResult run(const ptx::LaunchContext& launch, const RunOptions& options = {});
    /// The same for any source of instructions.
    KernelResult run(LaunchSource& source, const RunOptions& options = {});

    /// Runs several launches on one clock, with one L2 and one memory: their thread blocks share SMs as CtaScheduler says, and everything
    /// else as they come to it. Not with `sample` or `stands_for`; `dependency_release` has no effect. Instructions of recorded traces,
    /// whose table grows, run alone. Throws heddle::Error as run() does. L1 has what the launch that needs most shared memory leaves it,
    /// from the beginning to the end of the run.
    JointResult run_together(const std::vector<JointLaunch>& launches, const RunOptions& options = {});

    /// Between runs: another SM clock. Times in seconds (memory, launch) keep their length.
    void set_clock(double hertz);
    /// Between runs: another size of L2, bytes. Throws heddle::Error when the machine becomes impossible.
    void set_l2_size(std::uint64_t bytes);
    const GpuConfig& config() const { return config_; }

  private:
    void connect_memory();
    void make_groups();
    void connect_clusters();
    void make_dram();
    void make_cache();
    L2Block* make_slice(const char* name, std::uint32_t position, MemoryRequestPool& pool);
    MemoryBlock* make_bridge(const char* name, std::uint32_t channel, std::uint32_t slices_per_channel);
    void reset_blocks();
    std::size_t requests_under_way() const;
    Ledger ledger(const KernelResult& result, std::uint64_t ctas) const;
    void set_probes(SignalTrace* signals);
    void preload(const std::vector<L2Residency>& resident);
    void preload_line(std::uint64_t number, bool dirty, bool spare_dirty = false);
    void preload_code(std::uint32_t& known, std::uint32_t lines);
    void preload_constants(const LaunchSource& source, std::uint32_t launch, std::uint32_t first_constant);
    void check_clusters(const LaunchSource& source) const;
    void add_launch(LaunchPlan& plan, LaunchSource& source) const;
    JointResult perform(const std::vector<JointLaunch>& launches, const RunOptions& options);
    bool resume_stalled();
    KernelSummary tally(const LaunchPlan& plan, Cycle until);
    void note_part(Sampling& sampling, const StandsFor& stands_for) const;
    KernelResult run_again(LaunchSource& source, const RunOptions& options);
    KernelResult run_in_full(LaunchSource& source, const RunOptions& options, const std::string& reason);
    LeftOutMemory pass(const LeftOutTraffic& traffic, double gone);
    /// Runs until nothing is due. Throws heddle::Error when the kernel goes round in loops for ever.
    void advance(Cycle limit, ProgressWatch& watch, SignalTrace* signals, const std::string& kernel);
    [[noreturn]] void report_deadlock(const std::string& kernel, const std::string& problem);

    GpuConfig config_;
    const PartitionedHash hash_;
    std::shared_ptr<L2Model> cache_;        // in place of Heddle's own L2
    std::shared_ptr<DramModel> dram_;       // in place of Heddle's own
    bool watched_ = false;                  // blocks tell their signals
    std::vector<MemoryRequestPool> pools_;  // of each GPC, then of each group of slices
};

}  // namespace heddle::models::gpu
