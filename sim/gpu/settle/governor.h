// The clock that a board settles on: the highest at which its mean power stays within the limit. A governor
// works over milliseconds, far longer than a kernel, so it stands outside the models: clock -> times and
// energies -> power -> clock, to a fixed point.
#pragma once

#include <functional>

namespace heddle::sim {

struct ClockRange {
    double minimum = 0, maximum = 0;  ///< hertz
    double step = 15e6;  ///< clocks are the maximum less a multiple of this: NVIDIA's are 15 MHz apart
};

struct SettledClock {
    double clock = 0;  ///< hertz
    double power = 0;  ///< watts at that clock
    double power_at_maximum = 0;
    unsigned evaluations = 0;
};

/// `power_at` gives the mean power of the work at a clock, and may take long: it is asked as seldom as
/// possible, and never twice for one clock. It must not fall when the clock rises. `constant` is the part of
/// it that no clock changes. When even the minimum is too much, that is the answer.
SettledClock settle_clock(const ClockRange& range, double limit, double constant,
                          const std::function<double(double)>& power_at);

}  // namespace heddle::sim
