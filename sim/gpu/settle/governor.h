// The clock on which a board settles: the highest at which its mean power stays within the limit. A power
// governor works over milliseconds, which is far longer than a kernel, so it is not a part of the models. It
// finds the fixed point of clock -> times and energies -> power -> clock.
#pragma once

#include <functional>

namespace heddle::sim {

/// The clocks that a board can choose.
struct ClockRange {
    double minimum = 0, maximum = 0;  ///< hertz
    /// Hertz between neighbouring clocks, counted from the maximum; 15 MHz on NVIDIA GPUs.
    double step = 15e6;
};

/// The clock that was found and how much power the work draws there.
struct SettledClock {
    double clock = 0;             ///< hertz
    double power = 0;             ///< watts at that clock
    double power_at_maximum = 0;  ///< watts at the maximum clock
    unsigned evaluations = 0;     ///< calls of `power_at`
};

/// Finds the highest clock at which the mean power is at most `limit` watts; the minimum clock when none is.
/// `power_at` returns the mean power of the work at a clock. It must not fall when the clock rises; since it
/// may be expensive, it is called as rarely as possible and never twice for one clock. `constant` is the part
/// of the power in watts that does not depend on the clock.
SettledClock settle_clock(const ClockRange& range, double limit, double constant,
                          const std::function<double(double)>& power_at);

}  // namespace heddle::sim
