// A streaming multiprocessor.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <systemc>
#include <vector>

#include "isa/ptx/execution.h"
#include "isa/ptx/tensor_memory.h"
#include "models/common/clock_domain.h"
#include "models/gpu/bulk_copy_engine.h"
#include "models/gpu/cluster_port.h"
#include "models/gpu/copy_groups.h"
#include "models/gpu/cta_ports.h"
#include "models/gpu/instruction_source.h"
#include "models/gpu/launch_plan.h"
#include "models/gpu/line_fetch.h"
#include "models/gpu/load_store_unit.h"
#include "models/gpu/loop_watch.h"
#include "models/gpu/sm_audit.h"
#include "models/gpu/sm_signals.h"
#include "models/gpu/stamp.h"
#include "models/gpu/sub_core.h"
#include "models/gpu/tensor_unit.h"
#include "models/gpu/warpgroup_unit.h"
#include "models/memory/arrival_windows.h"
#include "models/memory/memory_ports.h"

namespace heddle::models::gpu {

/// Counts of one SM since begin().
struct SmStatistics {
    std::uint64_t warp_instructions = 0, machine_instructions = 0;  ///< that warps performed; issue slots
                                                                    ///< that these took
    std::array<std::uint64_t, ptx::kPipelineCount> pipeline_instructions{};  ///< machine instructions by
                                                                             ///< pipeline
    std::uint64_t tensor_macs = 0;    ///< multiply-accumulate operations of tensor instructions
    FineCycles tensor_full_time = 0;  ///< of the tensor instructions at the full rate of their type
    std::uint64_t warp_cycles = 0;    ///< sum over warps of the cycles for which they were resident
    std::uint64_t cta_cycles = 0;     ///< cycles with at least one CTA
    std::uint64_t ctas = 0;           ///< thread blocks that have ended here
    Cycle last_trigger =
        0;  ///< cycle in which the last CTA ended or performed griddepcontrol.launch_dependents
};

/// Four sub-cores that issue one warp instruction per cycle each, and the load-store unit that they share.
/// Warps are executed (isa/ptx) when they issue; a scoreboard per warp holds the cycle in which each virtual
/// register can be read.
class Sm : public Block,
           public ResponseInterface,
           public ClusterNeighbour,
           public CtaReceiver,
           private ptx::CtaObserver {
  public:
    sc_core::sc_port<CrossbarInterface> requests;     ///< to the GPC's port
    sc_core::sc_export<ResponseInterface> responses;  ///< from the GPC's port
    sc_core::sc_export<CtaReceiver> ctas;             ///< from the CTA scheduler
    sc_core::sc_port<CtaReporter> scheduler;          ///< told when a thread block has ended
    /// SMs of its GPC, this one among them, neighbours side by side; none without clusters.
    sc_core::sc_port<ClusterNeighbour, 0, sc_core::SC_ZERO_OR_MORE_BOUND> neighbours;
    sc_core::sc_export<ClusterNeighbour> cluster;  ///< from the other SMs of its GPC

    static constexpr unsigned kWarps = kSubCores * SubCore::kSlots;  ///< warps that an SM holds at most

    Sm(const sc_core::sc_module_name& name, ClockDomain& clock, const GpuConfig& config,
       std::uint32_t position, MemoryRequestPool& pool);
    ~Sm() override;

    void respond(MemoryRequest& request, Cycle arrival) override;
    void acknowledge(Cycle at, unsigned lines) override;
    void deliver(MemoryRequest& message, Cycle arrival) override;
    Cycle receive_multicast(LinesMask sectors, Cycle arrival) override;
    void start_cta(CtaOfRun cta, Cycle first_instruction, ClusterPlace place) override;
    void release_dependents(std::uint32_t launch, Cycle at) override;
    /// Performs the cycles of the window that ends in cycle `now` (lookahead.h).
    Cycle tick(Cycle now) override;
    bool can_act(Cycle now) const override;
    void prefetch(Cycle now, unsigned stage) const override;
    void reset() override;
    std::vector<SignalDeclaration> signals() const override { return SmSignals::declarations(); }
    void set_probe(SignalProbe* probe) override;

    /// Sets, for each SM of the GPU, its place among `neighbours`. To be called before the first run.
    void set_places(std::vector<std::uint16_t> places) { places_ = std::move(places); }
    /// After reset(), before a run. `plan` must outlive the run.
    void begin(const LaunchPlan& plan);
    /// Attributes the cycles up to `end`, after a run of `end` cycles.
    void finish(Cycle end);
    /// To be called when the whole GPU has come to rest with CTAs left. Releases the warps that need not wait
    /// any longer; false when there is none.
    bool resume_stalled(Cycle now);
    /// A text that says what the warps of the first unfinished CTA wait for; empty when no CTA is left.
    std::string describe_waiting() const;

    /// A number that changes whenever something happens that a warp elsewhere could notice: see
    /// ProgressWatch.
    std::uint64_t events() const;
    /// Whether slot `warp` holds a warp that is not blocked; and the fingerprint of that warp.
    bool is_running(unsigned warp) const { return state_.warps[warp].state == WarpState::running; }
    ptx::WarpFingerprint fingerprint(unsigned warp) const;
    /// With LaunchPlan::left_out: calls visit(slot, ptx::Warp&, WarpWatch&, CTA slot) for each warp that has
    /// not finished. Between cycles.
    template <class Visit>
    void visit_warps(Visit visit) {
        for (unsigned warp = 0; warp < kWarps; ++warp) {
            if (state_.warps[warp].state != WarpState::running &&
                state_.warps[warp].state != WarpState::at_barrier)
                continue;
            visit(warp, *state_.warps[warp].source->ptx_warp(), launch_.watches[warp],
                  state_.warps[warp].cta);
        }
    }
    /// Instructions of a CTA, of those that have finished: the fewest and the most. With left_out.
    std::uint64_t fewest_steps() const { return state_.fewest_steps; }
    std::uint64_t most_steps() const { return state_.most_steps; }
    /// Instructions performed, but for waits that had to wait and came again. With left_out.
    std::uint64_t steps() const { return state_.steps; }

    /// With LaunchPlan::profile: sub-core cycles by reason, a row for each instruction of the kernel; else
    /// empty.
    const std::vector<InstructionCycles>& profile() const { return launch_.profile; }
    /// The SM's counters and its units, for summaries after a run; `i` is below four. They belong to the SM.
    const SmStatistics& statistics() const { return state_.statistics; }
    const LoadStoreUnit& load_store() const { return load_store_; }
    const WarpgroupUnit& warpgroup_unit() const { return warpgroup_unit_; }
    const TensorUnit& tensor_unit() const { return tensor_unit_; }
    const BulkCopyEngine& bulk_copies() const { return bulk_copies_; }
    const LineFetch& line_fetch() const { return line_fetch_; }
    const SubCore& sub_core(unsigned i) const { return sub_cores_[i]; }

  private:
    enum class WarpState : std::uint8_t { empty, running, at_barrier, finished };
    /// A CTA on its way.
    struct Arrival {
        CtaOfRun cta;
        Cycle at;
        ClusterPlace place;
    };
    /// Work that a warp began and that is not done.
    struct Operation {
        ptx::AsyncOperation what;
        std::uint16_t warp = 0, cta = 0;
        std::uint32_t group = 0;   // bulk group, or for arrive_after_copies that of cp.async
        std::uint64_t stores = 0;  // its end: when so many stores are acknowledged
        Cycle at = kNever;         // its end
    };
    // What every instruction of a warp needs: one cache line of the host.
    struct alignas(64) WarpSlot {
        ptx::Warp warp;  // its state is nullptr when the source is not PTX
        WarpSource* source = nullptr;
        Stamp* scoreboard = nullptr;
        std::uint32_t instruction = 0;  // the next one
        std::uint32_t line = ~0u;       // of code, where it is
        std::uint32_t fetched = 0;      // cycle from which that line is there; kPendingCycle: L2 will tell
        std::uint32_t constant = 0;     // the same of its constants
        Stamp not_before = 0;           // branch, barrier: earliest next issue
        Stamp cluster_arrival = 0;      // earliest end of a barrier.cluster that it arrived at
        std::uint16_t launch = 0;     // in LaunchPlan::launches
        std::uint16_t registers = 0;  // per thread
        std::uint8_t cta = 0;
        WarpState state = WarpState::empty;
        bool waits_for_fence = false;
        std::uint8_t next_product = 0;

        ptx::StepResult step(Cycle now) { return warp.state != nullptr ? warp.step(now) : source->step(now); }
    };
    static_assert(sizeof(WarpSlot) == 64);
    // The rest of a warp, of which most warps need the first line.
    struct WarpWork {
        Cycle started = 0;
        bool used = false;                      // what follows is not as new
        std::array<Stamp, 8> product_begins{};  // ring: when the last products have left the queue
        CopyGroups copies, products, bulk_reads, bulk_writes;
        Stamp tensor_loads = 0, tensor_stores = 0;  // ends of the last tcgen05.ld and st
    };
    struct CtaSlot {
        std::unique_ptr<BlockSource> cta;
        std::shared_ptr<ClusterRun> cluster;
        std::uint32_t launch = 0;              // in LaunchPlan::launches; of `cta`, too
        std::uint32_t rank = 0;                // in the cluster
        std::array<std::uint8_t, 32> warps{};  // slots in the SM, by index in the CTA
        unsigned warp_count = 0;
        unsigned running = 0;              // warps that have not finished
        std::uint32_t free_registers = 0;  // per thread, given back by its warps
        std::uint32_t loads = 0;           // instructions whose data are under way
        Cycle tensor_end = 0;              // of its products and copies to tensor memory so far
        bool used = false;
        bool triggered = false;  // griddepcontrol.launch_dependents
    };

    void end_of_elaboration() override;
    /// Something is to happen in cycle `at`.
    void due(Cycle at);
    Cycle end_of(Cycle cycle) const { return cycle | launch_.window_mask; }
    Cycle run_cycle(Cycle now);
    static void prefetch_warp(const WarpSlot& slot);
    void warps_released(std::uint32_t tag, std::uint32_t warps) override;
    ptx::TensorMemory* tensor_memory() override { return &tensor_memory_; }
    void begin_tensor_work(CtaSlot& cta, const ptx::AsyncOperation& work, Cycle now);
    void prepare();
    void place_cta(const Arrival& arrival, Cycle now);
    unsigned choose_slot() const;
    WarpWork& work_of(unsigned warp) {
        work_[warp].used = true;
        return work_[warp];
    }
    void issue(unsigned warp, Cycle now);
    void tell_issue(unsigned warp, const TimedInstruction& row, const ptx::StepResult& step, Cycle now);
    void tell_signals(Cycle now);
    void use_load_store(unsigned warp, const TimedInstruction& row, const ptx::StepResult& step, Cycle now);
    LoadStoreUnit::Outcome access(unsigned warp, const TimedInstruction& row, const ptx::MemoryAccess& access,
                                  Cycle now);
    void multiply(unsigned warp, const TimedInstruction& row, Cycle now);
    void trigger(CtaSlot& cta, Cycle at);
    void check_registers() const;
    bool has_registers(const WarpSlot& slot, const TimedInstruction& row) const;
    void change_registers(unsigned warp, const TimedInstruction& row, Cycle now);
    std::string describe_register_waits() const;
    LoadStoreUnit::Outcome access_cluster(unsigned warp, const TimedInstruction& row,
                                          const ptx::MemoryAccess& access, const LoadOwner& owner, Cycle now);
    void take_cluster_message(MemoryRequest& message, Cycle now);
    void set_release(const CtaSlot& cta, const TimedInstruction& row, Cycle now);
    void send_shared_copy(std::uint32_t index, const Operation& operation, Cycle now);
    void begin_operations(unsigned warp, Cycle now);
    void begin_arrival(std::uint32_t index, Cycle now);
    void end_copies(Cycle now);
    void end_copy(const BulkCopyEngine::Ended& ended, Cycle now);
    std::vector<ClusterNeighbour*> other_destinations(const Operation& operation);
    void end_arrivals(unsigned warp, Cycle now);
    void end_operations(Cycle now);
    void end_operation(Operation& operation, Cycle now);
    Cycle next_end() const;
    void set_written(WarpSlot& slot, const TimedInstruction& row, Stamp stamp);
    /// Cycles from the start of an instruction of variable latency to the moment when its operands have been read, which read
    /// barriers of machine code tell. Source: Huerta et al., MICRO 2025 (arXiv:2503.20481), table of memory latencies: 9 to 13
    /// for loads and stores whose queue is empty.
    static constexpr Cycle kOperandsRead = 10;
    void set_operands_read(WarpSlot& slot, const TimedInstruction& row, Cycle at);
    void after_step(unsigned warp, const ptx::StepResult& step, Cycle now);
    void release(CtaSlot& cta, std::uint32_t warps, Cycle first_instruction, Cycle now);
    void release_due(Cycle now);
    void release_waiting_dependents(Cycle now);
    /// Index in LaunchPlan::kernel of what the warp performs next.
    std::uint32_t next_instruction(const WarpSlot& slot) const { return launch_.first_instruction[slot.launch] + slot.warp.next(); }
    void look_at_next(unsigned warp, Cycle now);
    CycleReason reason_of(const WarpSlot& slot, Stamp ready) const;
    Stamp ready_stamp(unsigned warp, const TimedInstruction& row) const;
    Stamp ready_of_groups(unsigned warp, const TimedInstruction& row) const;
    Stamp ready_of_registers(const WarpSlot& slot, const TimedInstruction& row) const;
    void drain_acknowledgements(Cycle now);
    bool needs_acknowledgements() const {
        return state_.stores_blocked || state_.fences_waiting != 0 || !state_.storing.empty();
    }
    void finish_warp(unsigned warp, Cycle now);
    void count_steps(const CtaSlot& cta);
    void watch_step(unsigned warp, std::uint32_t instruction, TimingKind kind, Cycle now);
    void finish_cta_if_done(CtaSlot& cta, Cycle now);
    void report(std::uint32_t launch, Cycle at, bool ended);
    /// `last`: of those of its warp that are told together.
    void complete(const LoadStoreUnit::Completed& done, Cycle now, bool last);
    void update_room(Cycle now);
    void take_arrivals(Cycle now);
    void take_lines(MemoryRequest& response, Cycle now);
    void wait_for_constants(const LoadOwner& owner, Cycle ready, Cycle after);
    void release_fences(Cycle now);
    /// To be changed: its next issue is planned anew.
    SubCore& sub_core_of(unsigned warp) {
        state_.changed |= 1u << warp % kSubCores;
        return sub_cores_[warp % kSubCores];
    }
    void plan(unsigned sub_core, Cycle from);
    void issue_due(Cycle now);

    /// A line of constants that loads wait for.
    struct ConstantWait {
        std::uint32_t line;
        std::uint32_t load;  // of the load-store unit
        Cycle after;         // from the line's arrival to the use of its values
    };
    /// Warps that other CTAs or the end of operations let go on.
    struct Release {
        Cycle at;
        std::uint32_t cta, warps;
    };
    /// What begin() says of the launch. Its default value is that of no launch.
    struct Launch {
        const LaunchPlan* plan = nullptr;
        AccessPatterns* patterns = nullptr;
        Cycle window_mask = 0;                   // cycles of a window, less one
        std::uint32_t part = 0;                  // LaunchSource::divide()
        bool clustered = false;                  // it has clusters
        bool observed = false;                   // issues are told to `audit` or to who watches signals
        std::vector<InstructionCycles> profile;  // empty when not asked for
        std::vector<WarpWatch> watches;          // by warp slot; empty when not asked for
        std::unique_ptr<SmAudit> audit;          // none when not asked for
        std::vector<std::uint32_t> first_instruction;  // by launch
        std::vector<Cycle> dependency_release;         // by launch: see RunLaunch
    };
    /// What happens changes this. Its default value is the state after reset(), which is one assignment;
    /// parts that are classes of their own, and what most warps never touch (WarpWork), are reset beside it.
    /// Hot members come first, in the order in which a cycle comes to them.
    struct State {
        Cycle next = kNever;  // the first cycle in which something is to happen
        Cycle now = 0;        // the cycle that is performed, or was last
        std::array<Cycle, kSubCores> issue_at{kNever, kNever, kNever, kNever};  // as planned
        unsigned changed = 0;  // sub-cores that are to plan anew, one bit each
        Cycle drain_at = 0;    // acknowledgements are counted at least as often
        unsigned fences_waiting = 0;
        unsigned resident_ctas = 0;
        bool loads_blocked = false, stores_blocked = false;
        bool performing = false;      // within tick()
        bool side_work = false;       // one of the lists of CTAs, operations and releases may hold something
        bool ends_operation = false;  // the release comes from this SM
        std::array<std::uint16_t, kSubCores> free_slots{0xffff, 0xffff, 0xffff, 0xffff};  // one bit per slot
        std::uint64_t writes = 0;
        SmStatistics statistics;
        std::array<WarpSlot, kWarps> warps{};

        std::span<const ArrivalWindows::Arrival> arrivals;  // of the present window, not yet taken
        std::vector<LoadStoreUnit::Completed> completed;
        std::vector<BulkCopyEngine::Ended> ended;  // not yet known to their warps
        std::vector<CtaSlot> cta_slots;
        std::vector<ConstantWait> constant_waits;
        std::array<std::unique_ptr<Stamp[]>, kWarps> scoreboards;  // per warp slot, made when first used
        std::deque<Arrival> arriving_ctas;
        std::vector<Operation> operations;  // by number
        std::vector<std::uint32_t> free_operations;
        std::vector<std::uint32_t> ending, arriving;  // operations with a known end; that wait for copies
        std::vector<std::uint32_t> storing;           // that wait for acknowledgements
        std::vector<Release> releases;
        std::vector<bool> arrived;      // by launch: a thread block of it has come
        std::vector<Cycle> dependents;  // when warps may go on that wait for another launch
        std::uint64_t fewest_steps = ~std::uint64_t{0}, most_steps = 0, steps = 0;
        Cycle next_warp_start = 0;    // warps of arriving CTAs start one after another
        unsigned first_sub_core = 0;  // whose memory instruction comes first
        Cycle busy_since = 0;
    };
    static_assert(kSubCores == 4);

    const GpuConfig& config_;
    Launch launch_;
    bool used_ = true;  // since reset() a thread block has come
    alignas(64) State state_;
    std::array<SubCore, kSubCores> sub_cores_;

    CrossbarPort port_;
    LoadStoreUnit load_store_;
    ArrivalWindows inbox_;
    std::array<WarpWork, kWarps> work_{};
    InstructionFetch instructions_;
    ConstantCache constants_;
    LineFetch line_fetch_;
    BulkCopyEngine bulk_copies_;
    ClusterPort cluster_port_;
    WarpgroupUnit warpgroup_unit_;
    TensorUnit tensor_unit_;
    ptx::TensorMemory tensor_memory_;  // who has its columns
    const std::uint32_t position_;
    std::vector<std::uint16_t> places_;
    CtaReporter* reporter_ = nullptr;
    std::unique_ptr<SmSignals> signals_;  // none when nobody watches
};

}  // namespace heddle::models::gpu
