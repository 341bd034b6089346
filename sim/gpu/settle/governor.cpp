#include "sim/gpu/settle/governor.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace heddle::sim {
namespace {

/// Rounds that guess by a straight line before the interval is halved instead.
constexpr unsigned kInterpolations = 3;

}  // namespace

SettledClock settle_clock(const ClockRange& range, double limit, double constant,
                          const std::function<double(double)>& power_at) {
    std::map<long, double> known;  // power by steps below the maximum
    const auto clock_of = [&](long steps) { return range.maximum - static_cast<double>(steps) * range.step; };
    const auto power_of = [&](long steps) {
        const auto found = known.find(steps);
        return found != known.end() ? found->second : known[steps] = power_at(clock_of(steps));
    };
    const auto answer = [&](long steps) {
        return SettledClock{clock_of(steps), power_of(steps), power_of(0),
                            static_cast<unsigned>(known.size())};
    };
    if (power_of(0) <= limit) return answer(0);

    const long last =
        std::max(0L, static_cast<long>(std::floor((range.maximum - range.minimum) / range.step)));
    long above = 0;         // too much power
    long below = last + 1;  // known to be within the limit; last + 1: none yet
    for (unsigned round = 0; below - above > 1; ++round) {
        const double excess = power_of(above) - limit;
        double guess = static_cast<double>(above + below) / 2;
        if (below > last) {
            // What the limit leaves beside the constant part goes with the third power of the clock, about.
            const double ratio =
                limit > constant ? std::cbrt((limit - constant) / (power_of(above) - constant)) : 0;
            guess = (range.maximum - clock_of(above) * ratio) / range.step;
        } else if (round < kInterpolations) {
            guess = static_cast<double>(above) +
                    static_cast<double>(below - above) * excess / (power_of(above) - power_of(below));
        }
        const long steps =
            std::clamp(static_cast<long>(std::ceil(guess)), above + 1, std::min(below - 1, last));
        (power_of(steps) <= limit ? below : above) = steps;
        if (above == last) return answer(last);
    }
    return answer(below);
}

}  // namespace heddle::sim
