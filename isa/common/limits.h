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

/// Simulated cycles that one kernel or program may take; 0 (at first): as many as it likes.
void set_cycle_limit(std::uint64_t cycles);
std::uint64_t cycle_limit();

/// The command's time is over: whatever runs ends soon, with LimitReached. For signal handlers too.
void set_out_of_time();
bool is_out_of_time();

/// In a process that was just forked: whoever forked it ends it, when the time is over.
void leave_time_to_parent();

/// What this process was about (isa/common/activity.h) reached the limit of so many cycles.
LimitReached out_of_cycles(std::uint64_t limit);
/// It was about that when the time was over.
LimitReached out_of_time();

}  // namespace heddle
