#include "sim/gpu/settle/power_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heddle::sim {
namespace {

/// What keeps the limit knows its clock within 1 % (sim/gemm/gemm_timer.h, governor.h), which is 3 % of the
/// power.
constexpr double kWithinLimit = 1.03;

}  // namespace

bool PowerDraw::is_above() const {
    return limit > 0 && watts > limit * kWithinLimit;
}

PowerDraw power_draw(const models::gpu::PowerConfig& power, std::uint32_t sms, double watts, double clock) {
    PowerDraw draw{watts, power.limit, clock, clock};
    if (!draw.is_above()) return draw;
    const double constant = power.constant(sms), room = std::max(0.0, power.limit - constant);
    const double minimum = std::min(power.minimum_clock, clock);
    draw.settled_clock =
        watts > constant ? std::max(minimum, clock * std::cbrt(room / (watts - constant))) : minimum;
    return draw;
}

std::string describe_excess(const PowerDraw& draw) {
    if (!draw.is_above()) return {};
    std::string text = fmt::format(
        "{:.0f} W is more than the board's limit of {:.0f} W (power.limit): ", draw.watts, draw.limit);
    if (draw.settled_clock < draw.clock)
        return text +
               fmt::format("held for long, the board would lower its clock from {:.0f} to about {:.0f} MHz",
                           draw.clock / 1e6, draw.settled_clock / 1e6);
    return text + fmt::format("{:.0f} MHz is its lowest clock (power.minimum_clock)", draw.clock / 1e6);
}

double mean_power(const RunResult& result) {
    double joules = 0;
    for (const auto& [part, amount] : result.energy) joules += amount;
    return result.energy_time_us > 0 ? joules / (result.energy_time_us * 1e-6) : 0;
}

bool is_above_power_limit(const RunResult& result) {
    return PowerDraw{mean_power(result), result.power_limit, 0, 0}.is_above();
}

}  // namespace heddle::sim
