// Whether simulated work draws more power than the board allows, and at which clock the board would run it.
#pragma once

#include <cstdint>
#include <string>

#include "models/gpu/power.h"
#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// The mean power of work compared with the board's limit.
struct PowerDraw {
    double watts = 0, limit = 0;
    double clock = 0;  ///< hertz at which the work was simulated
    /// Estimate in hertz of the clock on which the board would settle if the work continued. The energy of an
    /// event scales with the square of the clock and the rate of events with the clock. Equals `clock` where
    /// the limit is kept, and is never below power.minimum_clock.
    double settled_clock = 0;

    /// Whether the power exceeds the limit by more than 3 %, the tolerance of a settled clock.
    bool is_above() const;
};

/// Compares the mean power `watts` of work on a GPU with `sms` SMs at `clock` hertz with the limit.
PowerDraw power_draw(const models::gpu::PowerConfig& power, std::uint32_t sms, double watts, double clock);

/// Returns a sentence such as "873 W is more than the board's limit of 700 W (power.limit): ..."; empty where
/// the limit is kept.
std::string describe_excess(const PowerDraw& draw);

/// Returns the mean power of a run's simulated kernels in watts; 0 where power is not modelled.
double mean_power(const RunResult& result);
/// Whether that power exceeds the limit by more than the tolerance of PowerDraw::is_above().
bool is_above_power_limit(const RunResult& result);

}  // namespace heddle::sim
