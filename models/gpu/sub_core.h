// A quarter of an SM: warp slots, a scheduler that issues one warp instruction per cycle, and issue ports.
#pragma once

#include <array>
#include <cstdint>

#include "models/gpu/issue_ports.h"
#include "models/gpu/kernel_result.h"
#include "models/gpu/register_banks.h"
#include "models/gpu/stamp.h"
#include "models/gpu/timed_kernel.h"
#include "models/memory/bandwidth_server.h"

namespace heddle::models::gpu {

/// Knows of each warp only when its next instruction has its operands, why not before, and which unit it
/// needs. From that it plans the next issue: the cycle, the warp, and what the cycles until then are spent
/// on. Every change of its state first accounts for the cycles that have passed, then makes it plan again.
///
/// Members lie in the order in which they are used together, by cache lines of the host.
class alignas(64) SubCore {
  public:
    static constexpr unsigned kSlots = 16;

    void reset(SchedulerPolicy policy, unsigned load_store_queue);
    /// Cycles are also counted by instruction, in these rows; nullptr: they are not.
    void set_profile(InstructionCycles* rows) { profile_ = rows; }

    void add_warp(unsigned slot);
    void remove_warp(unsigned slot);
    /// `why`: what cycles before `ready` are spent on; `instruction`: its row in the profile.
    void set_next(unsigned slot, Stamp ready, Unit unit, CycleReason why, std::uint32_t instruction = 0) {
        if (profile_ != nullptr) instruction_[slot] = instruction;
        ready_[slot] = cycle_of(ready);
        unit_[slot] = unit;
        why_[slot] = why;
        planned_ = false;
    }
    unsigned warps() const { return count_; }

    /// Cycles before `until` are attributed to their reasons. Call before any change of state in cycle
    /// `until`.
    void account(Cycle until) {
        if (until > accounted_) attribute(until);
    }
    /// Finds the next issue at or after `from`. Cheap when nothing changed since the last plan.
    void plan(Cycle from) {
        if (!planned_) replan(from);
    }
    Cycle next_cycle() const { return next_cycle_; }  ///< kNever when no warp can issue without a message
    unsigned next_slot() const { return next_slot_; }
    /// Whether an instruction for `unit` could issue in cycle `now`, from the state of scheduler and ports
    /// alone.
    bool can_take(Unit unit, Cycle now) const { return issue_free_ <= now && free_at(unit) <= now; }
    /// Brings what planning and issuing need into the caches of the host.
    void prefetch() const {
        __builtin_prefetch(this);
        __builtin_prefetch(ready_.data());
        __builtin_prefetch(order_.data());
        __builtin_prefetch(unit_free_.data());
        __builtin_prefetch(by_reason_.data());
    }

    /// The warp in `slot` issues in cycle `now`: its port is busy for `interval`, the scheduler for `slots`
    /// cycles and as many as conflicts in the register banks cost.
    void issue(unsigned slot, Cycle now, Unit unit, FineCycles interval, unsigned slots,
               const RegisterReads& reads = {});
    /// A memory instruction just issued will leave this sub-core's queue in cycle `start`.
    void enqueue_load_store(Cycle start);
    /// No instruction may issue to `unit` (one of the two global ones) before `until`; kPendingCycle: until
    /// told otherwise.
    void block(Unit unit, std::uint32_t until);

    const std::array<std::uint64_t, kCycleReasonCount>& cycles_by_reason() const { return by_reason_; }
    double busy_cycles(Port port) const { return ports_[static_cast<std::size_t>(port)].busy_cycles(); }

  private:
    void attribute(Cycle until);
    void replan(Cycle from);
    void find_reasons();
    unsigned choose(std::uint32_t cycle) const;
    bool queued_for(Unit unit, std::uint32_t cycle) const;
    unsigned first_in_line(std::uint32_t cycle) const;
    void update_load_store();
    void occupy(Port port, Cycle now, FineCycles interval);
    std::uint32_t free_at(Unit unit) const { return unit_free_[static_cast<std::size_t>(unit)]; }
    std::uint32_t able(unsigned slot) const { return std::max(ready_[slot], free_at(unit_[slot])); }
    void count(unsigned slot, CycleReason reason, std::uint64_t cycles);

    Cycle next_cycle_ = kNever;
    Cycle accounted_ = 0;
    Cycle change_ = 0;  // the reason for idle cycles is before_ up to this cycle, after_ from it on
    Cycle issue_free_ = 0;
    RegisterPorts registers_;
    InstructionCycles* profile_ = nullptr;
    std::uint8_t count_ = 0;
    std::uint8_t next_slot_ = 0, last_slot_ = 0;
    std::uint8_t waited_for_ = kSlots;  // the slot whose instruction idle cycles are spent on; kSlots: none
    bool planned_ = false;
    bool launched_ = false;  // it has had a warp
    CycleReason before_ = CycleReason::not_launched, after_ = CycleReason::not_launched;
    SchedulerPolicy policy_ = SchedulerPolicy::greedy_then_oldest;
    std::uint8_t queue_size_ = 4, queue_position_ = 0;

    std::array<std::uint32_t, kSlots> ready_{};  // cycle, kPendingCycle when not known; empty slots likewise
    std::array<std::uint8_t, kSlots> order_{};   // slots in use, oldest warp first
    std::array<Unit, kSlots> unit_{};
    std::array<CycleReason, kSlots> why_{};
    std::array<std::uint32_t, 2> blocked_until_{};
    std::array<std::uint32_t, kUnitCount> unit_free_{};
    std::array<std::uint64_t, kCycleReasonCount> by_reason_{};
    std::array<BandwidthServer, kPortCount> ports_{};
    // Ring: cycles in which the last memory instructions leave the queue.
    std::array<std::uint32_t, 32> queue_{};
    std::array<std::uint32_t, kSlots> instruction_{};  // with a profile
};

}  // namespace heddle::models::gpu
