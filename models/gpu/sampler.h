// Sampling: once the time that something takes has settled, many of the same are left out of the simulation
// and added to its result. Three things repeat in a kernel: turns of a loop that all warps are in, turns of
// the loop around it (tiles of a persistent kernel), and waves of thread blocks. docs/sampling.md says what
// is assumed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <systemc>
#include <vector>

#include "isa/ptx/leap.h"
#include "models/common/clock_domain.h"
#include "models/gpu/cta_scheduler.h"
#include "models/gpu/kernel_summary.h"
#include "models/gpu/loop_leap.h"
#include "models/gpu/settling.h"
#include "models/gpu/sm.h"
#include "models/gpu/stream_traffic.h"
#include "models/gpu/unit_cycles.h"

namespace heddle::models::gpu {

/// Looks at the machine every few hundred cycles and changes nothing, until it stops the clock: then leap()
/// leaves something out. Does nothing when not begun.
class Sampler : public Block {
  public:
    /// The largest relative error that a result may have.
    static constexpr double kWidest = 0.02;

    Sampler(const sc_core::sc_module_name& name, ClockDomain& clock, sc_core::sc_vector<Sm>& sms,
            CtaScheduler& scheduler);

    /// The cycles that have been left out so far, which are added to all times. The reference is valid before
    /// begin().
    const Cycle& left_out() const { return left_out_; }
    /// Begins a run, after reset(). `tally` sums what all blocks have counted up to now. `pass` performs
    /// accesses that are left out on L2, after removing the given part of its lines, which earlier accesses
    /// would have evicted. `other_error` is the relative error of the time from other sources; the error bar
    /// includes it. With `cautious` leaps are short, so that more is simulated between them and the bar
    /// becomes narrower.
    void begin(const LaunchPlan& plan, const GpuConfig& config, double other_error, bool cautious,
               std::function<KernelSummary()> tally,
               std::function<LeftOutMemory(const LeftOutTraffic&, double)> pass);
    /// Whether the clock was stopped so that something can be left out.
    bool has_decided() const { return decision_ != Decision::none; }
    /// To be called after the clock has stopped: leaves something out if the sampler stopped it. Returns
    /// whether it did.
    bool leap();
    /// Adds what was left out to `summary`; result() says what was simulated and how large the error may be.
    void finish(KernelSummary& summary);
    Sampling result(Cycle cycles) const;

    Cycle tick(Cycle now) override;
    bool can_act(Cycle now) const override { return next_ <= now; }
    void reset() override;

  private:
    enum class Decision : std::uint8_t { none, waves, tiles, outer_loop, inner_loop };
    /// A warp slot at the beginning of the present batch.
    struct Slot {
        std::uint32_t head = 0;
        std::uint64_t turns = 0, steps = 0, seen = 0;
        Cycle last = 0, moved = 0;
        double behind = 0;  // turns that leaps could not make because they are not whole
    };
    /// A warp that has not finished, at this look.
    struct Live {
        ptx::Warp* warp;
        WarpWatch* watch;
        Slot* slot;
        std::uint32_t block;
    };
    struct Snapshot {
        Cycle at;
        std::uint64_t steps;  // of all warps
        KernelSummary counts;
        std::vector<UnitCycles> units;  // by SM
    };
    /// Of a loop: as in LeapingWarp.
    struct Turn {
        std::uint64_t multiple = 1, steps = 0;
    };
    /// Warp instructions of a thread block in the mean, 0: not known; its relative error.
    struct Work {
        double mean = 0, error = 0;
    };
    /// Of the thread blocks that wait: numbers from the first of them.
    struct Part {
        std::uint64_t begin = 0, end = 0;
    };
    /// When a warp came into the loop that it is in.
    struct Entry {
        Cycle started = kNever;    // the warp
        std::uint32_t loop = ~0u;  // the loop around, ~0: it had not turned
        std::uint64_t turns = 0;   // ... of that
        std::uint64_t steps = 0;   // of the warp
        double at = 0;
    };
    /// Turns of a loop that were left out, until what comes after them is known.
    struct Unsure {
        double turns = 0, period = 0, error = 0;  // turns: 0: none
        double work = 0;                          // instructions
        std::uint64_t place = 0;
        std::optional<Snapshot> from, to;                           // the stretch before them
        KernelSummary::Growth growth = KernelSummary::Growth::all;  // its traffic
        bool saturated = false;
    };
    /// What keeps a launch busy: not memory with a stream; a stream at an even pace; one that has not come to
    /// one.
    enum class Stream : std::uint8_t { none, even, uneven };
    static constexpr Cycle kBatch = 4000;  // cycles of a batch of turns, at least

    void gather();
    void look();
    void start_batch();
    bool look_at_waves();
    bool waves_settle(std::size_t first);
    Stream find_stream(std::size_t first);
    bool look_at_outer_loop();
    bool look_at_tiles();
    std::uint64_t find_tiles();
    void start_tiles();
    void start_window(bool settled);
    void leave_out_tiles();
    bool look_at_inner_loop();
    bool look_at_entry();
    bool find_multiples(std::map<std::uint32_t, Batch>& visit);
    bool find_rates();
    bool turn_ends();
    bool traffic_settled() const;
    Batch measure_batch() const;
    void use_present_traffic(std::uint64_t steps);
    std::uint64_t place() const;
    bool in_tile() const;
    bool begins_with_fewer();
    std::map<std::uint32_t, double> positions() const;
    std::optional<LeftOutMemory> pass_left_out(std::uint64_t steps, const Snapshot& from, const Snapshot& to);
    double most_turns(bool tiles) const;
    bool find_alike_blocks(std::uint64_t first);
    std::optional<Part> find_other_blocks(const Part& whole, const Work& seen, std::uint64_t most_probes,
                                          double& furthest);
    Work probe(std::uint64_t first, std::uint64_t end, std::uint64_t probes);
    bool is_known_well(double cycles, double relative_error) const;
    static double bar(double sigma, double left_out, double whole);
    bool memory_is_busy(const Snapshot& from, const Snapshot& to) const;
    bool memory_is_full(const Snapshot& at) const;
    bool units_never_rest(const Snapshot& from, const Snapshot& to) const;
    bool memory_settled(const Snapshot& from, const Snapshot& to) const;
    std::size_t first_wave() const;
    void leave_out_waves();
    bool others_wait_since(Cycle cycles) const;
    static std::uint64_t entry_steps(const LeapingWarp& one);
    bool find_turn_around();
    void settle_guess();
    void correct(double turns, double difference);
    std::uint64_t find_turning();
    void resolve(const LoopTimes* times);
    void leave_visit();
    std::uint64_t leave_out_turns(const std::vector<LeapingWarp>& warps, double period, double error,
                                  std::uint64_t most, std::uint64_t margin, const Snapshot& from,
                                  const Snapshot& to);
    void leave_out_inner_turns(const Snapshot& from, const Snapshot& to);
    void leave_out_outer_turns();
    bool leave_out_turns_around();
    void after_leap();
    /// `performed`: instructions left out, by instruction of the kernel; `ctas`: whole thread blocks left
    /// out.
    void add(double cycles, double relative_error, const Snapshot& from, const Snapshot& to,
             std::vector<std::uint64_t> performed, std::uint64_t ctas,
             const std::optional<LeftOutMemory>& memory = {});
    Snapshot snapshot() const;
    void remember();
    void mark_flow();
    double expected_written() const;
    const Snapshot& snapshot_ago(Cycle cycles) const;
    Cycle time() const { return clock().now() + left_out_; }

    sc_core::sc_vector<Sm>& sms_;
    CtaScheduler& scheduler_;
    const LaunchPlan* plan_ = nullptr;  // nullptr: not begun
    const GpuConfig* config_ = nullptr;
    double widest_ = kWidest;
    bool cautious_ = false;
    std::function<KernelSummary()> tally_;
    std::function<LeftOutMemory(const LeftOutTraffic&, double)> pass_;
    LeftOutTraffic traffic_;
    std::unique_ptr<ptx::LeapProgram> program_;
    std::unique_ptr<KernelSummary> extra_;

    Cycle next_ = kNever, left_out_ = 0;
    double variance_ = 0;  // of left_out_, cycles squared
    Decision decision_ = Decision::none;
    std::vector<Slot> slots_;
    std::vector<Live> live_;
    std::uint64_t steps_before_ = 0;
    unsigned quiet_looks_ = 0;

    // The present batch of turns, and those before it in the same loops.
    Cycle batch_start_ = 0;
    std::deque<Snapshot> batches_;              // at the ends of the last ones of this stretch
    std::map<std::uint64_t, LoopTimes> known_;  // by place()
    std::map<std::uint32_t, double> early_;     // positions() at the end of the visit's first batch
    double batch_turns_ = 0;                    // of the batch, at the last look
    Cycle early_time_ = 0;                      // on the clock
    double drift_limit_ = 0;                    // cycles of a leap
    bool behind_ = false;                       // some slot's is not 0
    std::size_t warps_ = 0;                     // that went round at the last look
    Cycle inner_not_before_ = 0;
    double period_ = 0, error_ = 0;  // of what was decided
    bool fresh_leap_ = false;
    bool at_entry_ = false;    // not all warps have been in the loop in this visit
    bool forgotten_ = false;   // L2 was aged in this visit: what it misses then is not what it would
    bool in_step_ = false;     // thread blocks, as far as seen
    bool units_full_ = false;  // units_never_rest(), of the last batches
    bool saturated_ = false;   // they alone decide how fast the loop goes: memory keeps up
    std::map<std::uint32_t, Batch> rates_;  // of loops by their heads, all batches of this visit
    std::map<std::uint32_t, Turn> turns_;   // ... as they were in the last batch
    Unsure unsure_;
    std::optional<std::pair<Snapshot, Snapshot>> earlier_visit_;  // the last stretch but this

    std::uint64_t outer_turns_ = 0, outer_attempted_ = 0;
    std::deque<Snapshot> history_;  // of the whole run, at growing distances
    Cycle history_interval_ = 0;
    std::vector<LeapingWarp> leaping_;
    std::vector<std::uint32_t> places_;  // of these, in slots_
    std::vector<Entry> entries_;         // by slot

    // The loop around, by the entries of the loop within.
    std::vector<LeapingWarp> around_;  // as leaping_
    double around_period_ = 0, around_error_ = 0;
    double around_guess_ = 0, around_turns_ = 0;  // turns left out and their time; 0: none to be compared
    double around_seen_ = 0, correction_ = 0;     // cycles
    std::uint64_t steps_left_out_ = 0;
    std::vector<std::uint64_t> probed_;     // by instruction, of probes_ thread blocks
    std::uint64_t probes_ = 0, alike_ = 0;  // alike_: thread blocks to be left out

    /// What had come to L2, and what of it was to be written back, before and after each leap: bytes.
    struct Flow {
        double taken_in = 0, dirtied = 0;
    };
    std::vector<Flow> flow_;
    bool writes_lag_ = false;  // something was extrapolated from before L2 wrote back

    /// A warp at the start of the present window: its loop over tiles, turns of it and when the last ended.
    struct Tile {
        std::uint32_t head = 0;
        std::uint64_t turns = 0;
        Cycle last = 0;
    };
    std::vector<Tile> tiles_;  // by slot
    std::optional<Snapshot> window_start_;
    bool window_settled_ = false;
    double tiles_guess_ = 0;            // cycles of one that was left out last
    std::uint64_t tiles_left_out_ = 0;  // then; 0: nothing is to be compared
    std::uint64_t most_tiles_ = 0;      // of the next leap
    Cycle tiles_not_before_ = 0;

    std::size_t waves_seen_ = 0;
    std::deque<Snapshot> wave_snapshots_;
    bool waves_done_ = false;
    // Of a stream: what a thread block moves between memory and L2; 0 lines: not known, or no stream.
    std::optional<StreamTraffic> stream_;
    bool by_stream_ = false;  // the period follows from it

    std::uint64_t waves_left_out_ = 0, outer_left_out_ = 0, inner_left_out_ = 0;
    std::string obstacle_;
};

}  // namespace heddle::models::gpu
