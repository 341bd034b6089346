#include "models/gpu/sub_core.h"

#include <algorithm>

namespace heddle::models::gpu {
namespace {

bool is_load_store(Unit unit) {
    return port_of(unit) == Port::load_store;
}

}  // namespace

void SubCore::reset(SchedulerPolicy policy, unsigned load_store_queue) {
    *this = SubCore();
    policy_ = policy;
    queue_size_ = static_cast<std::uint8_t>(load_store_queue);
    ready_.fill(kPendingCycle);
}

void SubCore::add_warp(unsigned slot) {
    order_[count_++] = static_cast<std::uint8_t>(slot);
    launched_ = true;
    set_next(slot, kPending, Unit::control, CycleReason::memory);
}

void SubCore::remove_warp(unsigned slot) {
    const auto end = order_.begin() + count_;
    std::copy(std::find(order_.begin(), end, slot) + 1, end, std::find(order_.begin(), end, slot));
    --count_;
    ready_[slot] = kPendingCycle;
    planned_ = false;
}

void SubCore::count(unsigned slot, CycleReason reason, std::uint64_t cycles) {
    by_reason_[static_cast<std::size_t>(reason)] += cycles;
    if (profile_ != nullptr && slot != kSlots)
        profile_[instruction_[slot]][static_cast<std::size_t>(reason)] += cycles;
}

void SubCore::attribute(Cycle until) {
    const Cycle middle = std::clamp(change_, accounted_, until);
    count(waited_for_, before_, middle - accounted_);
    count(waited_for_, after_, until - middle);
    accounted_ = until;
}

void SubCore::issue(unsigned slot, Cycle now, Unit unit, FineCycles interval, unsigned slots,
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

void SubCore::occupy(Port port, Cycle now, FineCycles interval) {
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

void SubCore::enqueue_load_store(Cycle start) {
    queue_[queue_position_] = static_cast<std::uint32_t>(start);
    queue_position_ = static_cast<std::uint8_t>(queue_position_ + 1 == queue_size_ ? 0 : queue_position_ + 1);
    update_load_store();
    planned_ = false;
}

void SubCore::block(Unit unit, std::uint32_t until) {
    std::uint32_t& blocked = blocked_until_[unit == Unit::global_load ? 0 : 1];
    if (blocked == until) return;
    blocked = until;
    update_load_store();
    planned_ = false;
}

void SubCore::update_load_store() {
    // The queue has room when its oldest instruction has left.
    const std::uint32_t free =
        std::max(static_cast<std::uint32_t>(ports_[static_cast<std::size_t>(Port::load_store)].free_at()),
                 queue_[queue_position_]);
    unit_free_[static_cast<std::size_t>(Unit::load_store)] = free;
    unit_free_[static_cast<std::size_t>(Unit::global_load)] = std::max(free, blocked_until_[0]);
    unit_free_[static_cast<std::size_t>(Unit::global_store)] = std::max(free, blocked_until_[1]);
}

void SubCore::replan(Cycle from) {
    planned_ = true;
    const auto earliest = static_cast<std::uint32_t>(std::max(from, issue_free_));
    // Mostly the warp that issued last goes on, and no cycle passes in between that would need a reason.
    if (policy_ != SchedulerPolicy::round_robin && earliest <= accounted_ && able(last_slot_) <= earliest &&
        !queued_for(unit_[last_slot_], earliest)) {
        next_cycle_ = earliest;
        next_slot_ = last_slot_;
        waited_for_ = last_slot_;
        before_ = after_ = CycleReason::fixed_latency;
        return;
    }
    std::uint32_t soonest = kPendingCycle;
    for (unsigned i = 0; i < count_; ++i) soonest = std::min(soonest, able(order_[i]));
    if (soonest == kPendingCycle) {
        next_cycle_ = kNever;
        find_reasons();
        return;
    }
    const std::uint32_t cycle = std::max(soonest, earliest);
    if (cycle > accounted_) find_reasons();
    next_cycle_ = cycle;
    next_slot_ = static_cast<std::uint8_t>(choose(cycle));
    if (queued_for(unit_[next_slot_], cycle)) next_slot_ = static_cast<std::uint8_t>(first_in_line(cycle));
}

/// The load-store unit had no room until now: warps may have waited for it.
bool SubCore::queued_for(Unit unit, std::uint32_t cycle) const {
    return is_load_store(unit) && free_at(unit) >= cycle;
}

/// Of the warps that can issue a memory instruction, the one that has waited longest; at equal times the
/// policy's choice, else the oldest.
unsigned SubCore::first_in_line(std::uint32_t cycle) const {
    unsigned best = next_slot_;
    for (unsigned i = 0; i < count_; ++i) {
        const unsigned slot = order_[i];
        if (is_load_store(unit_[slot]) && ready_[slot] < ready_[best] && able(slot) <= cycle) best = slot;
    }
    return best;
}

/// What the cycles until the next issue are spent on: the warp whose operands come first counts.
void SubCore::find_reasons() {
    waited_for_ = count_ == 0 ? std::uint8_t{kSlots} : order_[0];
    std::uint32_t first = kPendingCycle;
    for (unsigned i = 0; i < count_; ++i) {
        const unsigned slot = order_[i];
        if (ready_[slot] < first) {
            first = ready_[slot];
            waited_for_ = static_cast<std::uint8_t>(slot);
        }
    }
    if (first != kPendingCycle) {
        before_ = why_[waited_for_];
        after_ = is_load_store(unit_[waited_for_]) ? CycleReason::queue_full : CycleReason::pipeline_busy;
        change_ = first;
        return;
    }
    // Nobody knows when: memory rather than a barrier, where it may be both.
    before_ = count_ != 0 ? why_[waited_for_] : launched_ ? CycleReason::no_warp : CycleReason::not_launched;
    for (unsigned i = 0; i < count_ && before_ != CycleReason::memory; ++i) {
        if (why_[order_[i]] != CycleReason::memory) continue;
        before_ = CycleReason::memory;
        waited_for_ = order_[i];
    }
    after_ = before_;
    change_ = 0;
}

unsigned SubCore::choose(std::uint32_t cycle) const {
    unsigned best = kSlots;
    if (policy_ == SchedulerPolicy::round_robin) {
        unsigned best_distance = kSlots + 1;
        for (unsigned i = 0; i < count_; ++i) {
            const unsigned slot = order_[i];
            const unsigned distance = (slot + kSlots - last_slot_ - 1) % kSlots;
            if (able(slot) <= cycle && distance < best_distance) {
                best = slot;
                best_distance = distance;
            }
        }
        return best;
    }
    if (able(last_slot_) <= cycle) return last_slot_;
    if (policy_ == SchedulerPolicy::greedy_then_youngest) {
        for (unsigned i = count_; i-- > 0;) {
            if (able(order_[i]) <= cycle) return order_[i];
        }
        return best;
    }
    for (unsigned i = 0; i < count_; ++i) {
        if (able(order_[i]) <= cycle) return order_[i];
    }
    return best;
}

}  // namespace heddle::models::gpu
