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
    position_[slot] = count_;
    order_[count_++] = static_cast<std::uint8_t>(slot);
    launched_ = true;
    set_next(slot, kPending, Unit::control, CycleReason::memory);
}

void SubCore::remove_warp(unsigned slot) {
    const unsigned place = position_[slot];
    --count_;
    for (unsigned i = place; i < count_; ++i) {
        order_[i] = order_[i + 1];
        position_[order_[i]] = static_cast<std::uint8_t>(i);
    }
    const unsigned before = (1u << place) - 1;
    const auto close_up = [before](unsigned bits) {
        return static_cast<std::uint16_t>((bits & before) | (bits >> 1 & ~before));
    };
    known_ = close_up(known_);
    memory_ = close_up(memory_);
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
    if (policy_ != SchedulerPolicy::round_robin) {
        for (unsigned left = known_; left != 0 && soonest > earliest;) {
            const unsigned other =
                policy_ == SchedulerPolicy::greedy_then_oldest ? take_oldest(left) : take_youngest(left);
            if (able(other) >= soonest) continue;
            slot = other;
            soonest = able(other);
        }
    } else {
        for (unsigned left = known_; left != 0; left &= left - 1)
            soonest = std::min(soonest, able(oldest(left)));
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
        static_cast<std::uint8_t>(policy_ == SchedulerPolicy::round_robin ? next_in_round(cycle) : slot);
    if (queued_for(unit_[next_slot_], cycle)) next_slot_ = static_cast<std::uint8_t>(first_in_line(cycle));
}

/// Of the warps that can issue a memory instruction, the one that has waited longest; at equal times the
/// policy's choice, else the oldest.
unsigned SubCore::first_in_line(std::uint32_t cycle) const {
    unsigned best = next_slot_;
    for (unsigned left = known_; left != 0; left &= left - 1) {
        const unsigned slot = oldest(left);
        if (is_load_store(unit_[slot]) && ready_[slot] < ready_[best] && able(slot) <= cycle) best = slot;
    }
    return best;
}

/// What the cycles until the next issue are spent on: the warp whose operands come first counts.
void SubCore::find_reasons() {
    if (known_ != 0) {
        unsigned first = oldest(known_);
        for (unsigned left = known_ & (known_ - 1u); left != 0; left &= left - 1)
            if (ready_[oldest(left)] < ready_[first]) first = oldest(left);
        waited_for_ = static_cast<std::uint8_t>(first);
        before_ = why_[first];
        after_ = is_load_store(unit_[first]) ? CycleReason::queue_full : CycleReason::pipeline_busy;
        change_ = ready_[first];
        return;
    }
    // Nobody knows when: memory rather than lines of code, and those rather than a barrier, where it may be
    // several.
    waited_for_ = memory_ != 0  ? static_cast<std::uint8_t>(oldest(memory_))
                  : count_ != 0 ? order_[0]
                                : std::uint8_t{kSlots};
    before_ = count_ != 0 ? why_[waited_for_] : launched_ ? CycleReason::no_warp : CycleReason::not_launched;
    for (unsigned i = 1; i < count_ && before_ == CycleReason::barrier; ++i) {
        before_ = why_[order_[i]];
        waited_for_ = order_[i];
    }
    if (before_ == CycleReason::barrier) waited_for_ = order_[0];
    after_ = before_;
    change_ = 0;
}

unsigned SubCore::next_in_round(std::uint32_t cycle) const {
    unsigned best = kSlots, best_distance = kSlots + 1;
    for (unsigned left = known_; left != 0; left &= left - 1) {
        const unsigned slot = oldest(left);
        const unsigned distance = (slot + kSlots - last_slot_ - 1) % kSlots;
        if (able(slot) <= cycle && distance < best_distance) {
            best = slot;
            best_distance = distance;
        }
    }
    return best;
}

}  // namespace heddle::models::gpu
