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

void SubCore::block(Unit unit, std::uint32_t until) {
    std::uint32_t& blocked = blocked_until_[unit == Unit::global_load ? 0 : 1];
    if (blocked == until) return;
    blocked = until;
    update_load_store();
    planned_ = false;
}

void SubCore::choose_next(std::uint32_t earliest) {
    std::uint32_t soonest = able(last_slot_);
    unsigned slot = last_slot_;
    if (policy_ == SchedulerPolicy::greedy_then_oldest) {
        for (unsigned i = 0; i < count_ && soonest > earliest; ++i) {
            if (able(order_[i]) >= soonest) continue;
            slot = order_[i];
            soonest = able(slot);
        }
    } else {
        for (unsigned i = 0; i < count_; ++i) soonest = std::min(soonest, able(order_[i]));
    }
    if (soonest == kPendingCycle) {
        next_cycle_ = kNever;
        find_reasons();
        return;
    }
    const std::uint32_t cycle = std::max(soonest, earliest);
    if (cycle > accounted_) find_reasons();
    next_cycle_ = cycle;
    next_slot_ =
        static_cast<std::uint8_t>(policy_ == SchedulerPolicy::greedy_then_oldest ? slot : choose(cycle));
    if (queued_for(unit_[next_slot_], cycle)) next_slot_ = static_cast<std::uint8_t>(first_in_line(cycle));
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
    // Nobody knows when: memory rather than lines of code, and those rather than a barrier, where it may be
    // several.
    before_ = count_ != 0 ? why_[waited_for_] : launched_ ? CycleReason::no_warp : CycleReason::not_launched;
    for (unsigned i = 0; i < count_ && before_ != CycleReason::memory; ++i) {
        const CycleReason why = why_[order_[i]];
        const bool better = before_ == CycleReason::barrier && why != CycleReason::barrier;
        if (why != CycleReason::memory && !better) continue;
        before_ = why;
        waited_for_ = order_[i];
    }
    after_ = before_;
    change_ = 0;
}

/// Of the other policies.
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
    return best;
}

}  // namespace heddle::models::gpu
