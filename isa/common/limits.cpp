#include "isa/common/limits.h"

#include <atomic>

#include "isa/common/activity.h"

namespace heddle {
namespace {

std::uint64_t cycles_allowed = 0;
std::atomic<bool> time_is_over{false};
static_assert(std::atomic<bool>::is_always_lock_free, "signal handlers set it");

std::string described() {
    const auto activity = this_activity().seen();
    return activity ? describe(*activity) : "a simulation";
}

}  // namespace

void set_cycle_limit(std::uint64_t cycles) {
    cycles_allowed = cycles;
}

std::uint64_t cycle_limit() {
    return cycles_allowed;
}

void set_out_of_time() {
    time_is_over.store(true, std::memory_order_relaxed);
}

void leave_time_to_parent() {
    time_is_over.store(false, std::memory_order_relaxed);
}

bool is_out_of_time() {
    return time_is_over.load(std::memory_order_relaxed);
}

LimitReached out_of_cycles(std::uint64_t limit) {
    return LimitReached("the limit of " + std::to_string(limit) + " cycles was reached by " + described(), {},
                        "raise it, or look for an endless loop");
}

LimitReached out_of_time() {
    return LimitReached("the time was over during " + described());
}

}  // namespace heddle
