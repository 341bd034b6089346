// A quarter of an SM: warp slots, a scheduler that issues one warp instruction per cycle, and issue ports.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "models/gpu/issue_ports.h"
#include "models/gpu/kernel_result.h"
#include "models/gpu/register_banks.h"
#include "models/gpu/stamp.h"
#include "models/gpu/timed_kernel.h"
#include "models/memory/bandwidth_server.h"

namespace heddle::models::gpu {

/// Knows of each warp only when its next instruction has its operands, what it waits for until then, and
/// which unit it needs. From that it plans the next issue: the cycle, the warp, and the reasons of the idle
/// cycles until then. Every change of its state first accounts for the cycles that have passed, then makes it
/// plan again.
///
/// Members lie in the order in which they are used together, by cache lines of the host.
class alignas(64) SubCore {
  public:
    static constexpr unsigned kSlots = 16;  ///< warps that a sub-core holds at most

    /// Back to the state without warps. `load_store_queue` is the number of memory instructions that may wait
    /// in this sub-core for the load-store unit.
    void reset(SchedulerPolicy policy, unsigned load_store_queue);
    /// Sets rows in which cycles are also counted by instruction; nullptr: they are not. The rows are not
    /// owned.
    void set_profile(InstructionCycles* rows) { profile_ = rows; }

    /// The warp becomes the youngest of the sub-core; set_next() must say when it can issue.
    void add_warp(unsigned slot);
    /// The warp has ended; its slot may be used again.
    void remove_warp(unsigned slot);
    /// Sets what the warp's next instruction needs: the stamp of its operands, its unit, the reason `why` of
    /// idle cycles before `ready`, and its row in the profile.
    void set_next(unsigned slot, Stamp ready, Unit unit, CycleReason why, std::uint32_t instruction = 0) {
        if (profile_ != nullptr) instruction_[slot] = instruction;
        ready_[slot] = cycle_of(ready);
        unit_[slot] = unit;
        why_[slot] = why;
        const auto bit = static_cast<std::uint16_t>(1u << position_[slot]);
        const bool known = ready_[slot] != kPendingCycle;
        known_ = static_cast<std::uint16_t>(known ? known_ | bit : known_ & ~bit);
        memory_ =
            static_cast<std::uint16_t>(!known && why == CycleReason::memory ? memory_ | bit : memory_ & ~bit);
        planned_ = false;
    }
    unsigned warps() const { return count_; }

    /// Cycles before `until` are attributed to their reasons. Call before any change of state in cycle
    /// `until`.
    void account(Cycle until) {
        if (until > accounted_) attribute(until);
    }
    /// Finds the next issue at or after `from`. Cheap when nothing changed since the last plan.
    void plan(Cycle from);
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

    /// Cycles of this sub-core since reset(), as far as they are accounted for.
    const std::array<std::uint64_t, kCycleReasonCount>& cycles_by_reason() const { return by_reason_; }
    /// The reasons of idle cycles, as planned: `before` from cycle `from` on and `after` from cycle `change`
    /// on, unless something changes earlier. Signals report it. `change` may lie before `from`.
    struct Outlook {
        Cycle from, change;         ///< cycles
        CycleReason before, after;  ///< reasons up to `change`, and from it on
    };
    Outlook outlook() const { return {accounted_, change_, before_, after_}; }
    double busy_cycles(Port port) const { return ports_[static_cast<std::size_t>(port)].busy_cycles(); }

  private:
    void attribute(Cycle until);
    void choose_next(std::uint32_t earliest);
    void find_reasons();
    /// The slot of the oldest warp of those whose positions in order_ these are; at least one.
    unsigned oldest(unsigned positions) const {
        return order_[static_cast<std::size_t>(std::countr_zero(positions))];
    }
    unsigned take_oldest(unsigned& positions) const {
        const unsigned slot = oldest(positions);
        positions &= positions - 1;
        return slot;
    }
    unsigned take_youngest(unsigned& positions) const {
        const auto position = static_cast<unsigned>(std::bit_width(positions) - 1);
        positions &= ~(1u << position);
        return order_[position];
    }
    unsigned next_in_round(std::uint32_t cycle) const;
    /// The load-store unit had no room until now: warps may have waited for it.
    bool queued_for(Unit unit, std::uint32_t cycle) const {
        return port_of(unit) == Port::load_store && free_at(unit) >= cycle;
    }
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
    std::uint16_t known_ = 0;           // by position in order_: when it is ready is known
    std::uint16_t memory_ = 0;          // ... is not, because of memory
    bool planned_ = false;
    bool launched_ = false;  // it has had a warp
    CycleReason before_ = CycleReason::not_launched, after_ = CycleReason::not_launched;
    SchedulerPolicy policy_ = SchedulerPolicy::greedy_then_youngest;
    std::uint8_t queue_size_ = 4, queue_position_ = 0;

    std::array<std::uint32_t, kSlots> ready_{};  // cycle, kPendingCycle when not known; empty slots likewise
    std::array<std::uint8_t, kSlots> order_{};   // slots in use, oldest warp first
    std::array<std::uint8_t, kSlots> position_{};  // of a slot in order_
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

// What happens at each issue.

inline void SubCore::count(unsigned slot, CycleReason reason, std::uint64_t cycles) {
    by_reason_[static_cast<std::size_t>(reason)] += cycles;
    if (profile_ != nullptr && slot != kSlots)
        profile_[instruction_[slot]][static_cast<std::size_t>(reason)] += cycles;
}

inline void SubCore::attribute(Cycle until) {
    const Cycle middle = std::clamp(change_, accounted_, until);
    count(waited_for_, before_, middle - accounted_);
    count(waited_for_, after_, until - middle);
    accounted_ = until;
}

inline void SubCore::issue(unsigned slot, Cycle now, Unit unit, FineCycles interval, unsigned slots,
                           const RegisterReads& reads) {
    account(now);
    count(slot, CycleReason::issued, slots);
    const std::uint32_t held = registers_.read(slot == last_slot_ ? reads.after_own : reads.all,
                                               static_cast<std::uint32_t>(now + slots - 1));
    if (held != 0) count(slot, CycleReason::register_read, held);
    accounted_ = issue_free_ = now + slots + held;
    last_slot_ = static_cast<std::uint8_t>(slot);
    planned_ = false;
    if (!has_two_ports(unit)) {
        occupy(port_of(unit), now, interval);
        return;
    }
    const Port first = port_of(unit);
    if (slots > 1) {  // several operations take turns
        occupy(first, now, interval / 2);
        occupy(Port::fma_heavy, now, interval / 2);
    } else {
        const bool take_first = ports_[static_cast<std::size_t>(first)].free_at() <=
                                ports_[static_cast<std::size_t>(Port::fma_heavy)].free_at();
        occupy(take_first ? first : Port::fma_heavy, now, interval);
    }
}

inline void SubCore::occupy(Port port, Cycle now, FineCycles interval) {
    BandwidthServer& server = ports_[static_cast<std::size_t>(port)];
    server.take(now, interval);
    const auto free = static_cast<std::uint32_t>(server.free_at());
    const auto free_of = [this](Unit unit) -> std::uint32_t& {
        return unit_free_[static_cast<std::size_t>(unit)];
    };
    free_of(static_cast<Unit>(port)) = free;
    if (port == Port::fma_heavy || port == Port::fma_lite || port == Port::alu) {
        const std::uint32_t heavy = free_of(Unit::fma_heavy);
        free_of(Unit::fma) = std::min(heavy, free_of(Unit::fma_lite));
        free_of(Unit::alu_or_fma_heavy) = std::min(heavy, free_of(Unit::alu));
    } else if (port == Port::load_store) {
        update_load_store();
    }
}

inline void SubCore::enqueue_load_store(Cycle start) {
    queue_[queue_position_] = static_cast<std::uint32_t>(start);
    queue_position_ = static_cast<std::uint8_t>(queue_position_ + 1 == queue_size_ ? 0 : queue_position_ + 1);
    update_load_store();
    planned_ = false;
}

inline void SubCore::update_load_store() {
    // The queue has room when its oldest instruction has left.
    const std::uint32_t free =
        std::max(static_cast<std::uint32_t>(ports_[static_cast<std::size_t>(Port::load_store)].free_at()),
                 queue_[queue_position_]);
    unit_free_[static_cast<std::size_t>(Unit::load_store)] = free;
    unit_free_[static_cast<std::size_t>(Unit::global_load)] = std::max(free, blocked_until_[0]);
    unit_free_[static_cast<std::size_t>(Unit::global_store)] = std::max(free, blocked_until_[1]);
}

inline void SubCore::plan(Cycle from) {
    if (planned_) return;
    planned_ = true;
    const auto earliest = static_cast<std::uint32_t>(std::max(from, issue_free_));
    // Mostly the warp that issued last goes on, and no cycle passes in between that would need a reason.
    if (policy_ != SchedulerPolicy::round_robin && earliest <= accounted_ && able(last_slot_) <= earliest &&
        !queued_for(unit_[last_slot_], earliest)) {
        next_cycle_ = earliest;
        next_slot_ = waited_for_ = last_slot_;
        before_ = after_ = CycleReason::fixed_latency;
        return;
    }
    choose_next(earliest);
}

}  // namespace heddle::models::gpu
