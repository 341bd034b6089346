#include "models/gpu/sub_core.h"

#include <algorithm>

namespace heddle::models::gpu {
namespace {

constexpr std::size_t kLoadStore = static_cast<std::size_t>(ptx::Pipeline::load_store);

bool is_load_store(Unit unit) {
    return unit == kLoadStore || unit >= kGlobalLoadUnit;
}

}  // namespace

void SubCore::reset(SchedulerPolicy policy, unsigned load_store_queue) {
    *this = SubCore();
    policy_ = policy;
    queue_size_ = load_store_queue;
}

void SubCore::add_warp(unsigned slot) {
    order_[count_++] = static_cast<std::uint8_t>(slot);
    launched_ = true;
    set_next(slot, kPending, 0);
}

void SubCore::remove_warp(unsigned slot) {
    const auto end = order_.begin() + count_;
    std::copy(std::find(order_.begin(), end, slot) + 1, end, std::find(order_.begin(), end, slot));
    --count_;
    planned_ = false;
}

void SubCore::account(Cycle until) {
    if (until <= accounted_) return;
    const Cycle middle = std::clamp(change_, accounted_, until);
    by_reason_[static_cast<std::size_t>(before_)] += middle - accounted_;
    by_reason_[static_cast<std::size_t>(after_)] += until - middle;
    if (profile_ != nullptr && waited_for_ != kSlots) {
        InstructionCycles& row = profile_[instruction_[waited_for_]];
        row[static_cast<std::size_t>(before_)] += middle - accounted_;
        row[static_cast<std::size_t>(after_)] += until - middle;
    }
    accounted_ = until;
}

void SubCore::issue(unsigned slot, Cycle now, Unit unit, FineCycles interval, unsigned slots) {
    account(now);
    by_reason_[static_cast<std::size_t>(CycleReason::issued)] += slots;
    if (profile_ != nullptr)
        profile_[instruction_[slot]][static_cast<std::size_t>(CycleReason::issued)] += slots;
    accounted_ = now + slots;
    issue_free_ = now + slots;
    last_slot_ = slot;
    const std::size_t pipeline = unit >= ptx::kPipelineCount ? kLoadStore : unit;
    pipelines_[pipeline].take(now, interval);
    unit_free_[pipeline] = static_cast<std::uint32_t>(pipelines_[pipeline].free_at());
    if (pipeline == kLoadStore) update_load_store();
    planned_ = false;
}

void SubCore::enqueue_load_store(Cycle start) {
    queue_[queue_position_] = static_cast<std::uint32_t>(start);
    queue_position_ = queue_position_ + 1 == queue_size_ ? 0 : queue_position_ + 1;
    update_load_store();
    planned_ = false;
}

void SubCore::block(Unit unit, std::uint32_t until) {
    std::uint32_t& blocked = blocked_until_[unit - kGlobalLoadUnit];
    if (blocked == until) return;
    blocked = until;
    update_load_store();
    planned_ = false;
}

void SubCore::update_load_store() {
    // The queue has room when its oldest instruction has left.
    const std::uint32_t free =
        std::max(static_cast<std::uint32_t>(pipelines_[kLoadStore].free_at()), queue_[queue_position_]);
    unit_free_[kLoadStore] = free;
    unit_free_[kGlobalLoadUnit] = std::max(free, blocked_until_[0]);
    unit_free_[kGlobalStoreUnit] = std::max(free, blocked_until_[1]);
}

void SubCore::replan(Cycle from) {
    planned_ = true;
    std::array<std::uint32_t, kSlots> able;
    std::uint32_t soonest = kPendingCycle;
    Stamp first_ready = kPending;
    Unit first_unit = 0;
    waited_for_ = count_ == 0 ? kSlots : order_[0];
    for (unsigned i = 0; i < count_; ++i) {
        const unsigned slot = order_[i];
        const Stamp ready = ready_[slot];
        able[slot] = std::max(cycle_of(ready), unit_free_[unit_[slot]]);
        soonest = std::min(soonest, able[slot]);
        if (ready < first_ready) {
            first_ready = ready;
            first_unit = unit_[slot];
            waited_for_ = slot;
        }
    }
    if (first_ready != kPending) {
        before_ = from_memory(first_ready) ? CycleReason::memory : CycleReason::fixed_latency;
        after_ = is_load_store(first_unit) ? CycleReason::queue_full : CycleReason::pipeline_busy;
        change_ = cycle_of(first_ready);
    } else {
        before_ = count_ != 0 ? CycleReason::barrier
                  : launched_ ? CycleReason::no_warp
                              : CycleReason::not_launched;
        for (unsigned i = 0; i < count_; ++i) {
            if (wait_[order_[i]] != Wait::memory || before_ == CycleReason::memory) continue;
            before_ = CycleReason::memory;
            waited_for_ = order_[i];
        }
        after_ = before_;
        change_ = 0;
    }
    if (soonest == kPendingCycle) {
        next_cycle_ = kNever;
        return;
    }
    const auto earliest = static_cast<std::uint32_t>(std::max(from, issue_free_));
    const std::uint32_t cycle = std::max(soonest, earliest);
    next_cycle_ = cycle;
    next_slot_ = choose(cycle, able);
}

unsigned SubCore::choose(std::uint32_t cycle, const std::array<std::uint32_t, kSlots>& able) const {
    unsigned best = kSlots;
    if (policy_ == SchedulerPolicy::round_robin) {
        unsigned best_distance = kSlots + 1;
        for (unsigned i = 0; i < count_; ++i) {
            const unsigned slot = order_[i];
            const unsigned distance = (slot + kSlots - last_slot_ - 1) % kSlots;
            if (able[slot] <= cycle && distance < best_distance) {
                best = slot;
                best_distance = distance;
            }
        }
        return best;
    }
    for (unsigned i = 0; i < count_; ++i) {
        const unsigned slot = order_[i];
        if (able[slot] > cycle) continue;
        if (slot == last_slot_) return slot;
        if (best == kSlots || policy_ == SchedulerPolicy::greedy_then_youngest) best = slot;
    }
    return best;
}

}  // namespace heddle::models::gpu
