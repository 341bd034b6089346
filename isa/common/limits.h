// Limits that a user sets on a whole command. They hold for this process and for those that it forks.
#pragma once

#include <cstdint>
#include <string>

#include "isa/common/error.h"

namespace heddle {

/// A limit that the user set was reached, or one that no real kernel comes near: exit code 5.
class LimitReached : public Error {
  public:
    using Error::Error;
};

/// The most simulated cycles that one kernel or program may take; 0, the initial value, means no limit.
void set_cycle_limit(std::uint64_t cycles);
std::uint64_t cycle_limit();

/// Says that the command's time is over: whatever runs ends soon, with LimitReached. Signal handlers may call
/// it.
void set_out_of_time();
bool is_out_of_time();

/// To be called in a process that was just forked: its parent ends it when the time is over, so it ignores
/// the time itself.
void leave_time_to_parent();

/// The error for reaching the limit of so many cycles; it names what this process was doing
/// (isa/common/activity.h).
LimitReached out_of_cycles(std::uint64_t limit);
/// The error for running out of time; it names what this process was doing.
LimitReached out_of_time();

}  // namespace heddle
