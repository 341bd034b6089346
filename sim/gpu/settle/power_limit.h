// Whether simulated work draws more than the board may, and what the board would do about it.
#pragma once

#include <cstdint>
#include <string>

#include "models/gpu/power.h"
#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// The mean power of work beside the board's limit.
struct PowerDraw {
    double watts = 0, limit = 0;
    double clock = 0;  ///< hertz, at which the work was simulated
    /// Hertz: about where the board would settle were the work to go on, as energy for each event goes with
    /// the square of the clock and how often it happens with the clock; `clock` where the limit is kept,
    /// never less than power.minimum_clock.
    double settled_clock = 0;

    /// By more than the 3 % within which a settled clock leaves the power.
    bool is_above() const;
};

PowerDraw power_draw(const models::gpu::PowerConfig& power, std::uint32_t sms, double watts, double clock);

/// "873 W is more than the board's limit of 700 W (power.limit): ..."; empty where the limit is kept.
std::string describe_excess(const PowerDraw& draw);

/// Watts, of the simulated kernels of a run; 0 where power is not modelled.
double mean_power(const RunResult& result);
bool is_above_power_limit(const RunResult& result);

}  // namespace heddle::sim
