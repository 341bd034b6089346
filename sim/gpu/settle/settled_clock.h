// Finds the clock of a step, and the times of its kernels at that clock, with as few simulations as possible.
// The clock follows from the power of all kernels, which follows from their times, which follow from the
// clock. The search begins with an estimate. It is corrected with simulations of the kernels that contribute
// most energy for their cost of simulation; the remaining kernels are simulated at the corrected clock. All
// results are then converted to the clock on which the board settles (clocked_outcome.h), and kernels are
// simulated again only where the conversion leaves too large an error.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/gpu/power.h"
#include "sim/gpu/settle/clocked_outcome.h"
#include "sim/gpu/settle/governor.h"
#include "sim/gpu/plan/launch_plan.h"

namespace heddle::sim {

/// A rough estimate of a launch's costs before it is simulated.
struct LaunchEstimate {
    /// Seconds that no clock changes, and cycles of the SMs; the longer of both determines the time.
    double fixed_seconds = 0, cycles = 0;
    double fixed_joules = 0;               ///< energy that does not depend on the clock
    double joules = 0;  ///< energy at the highest clock, in addition; scales with the square of the clock
    double cost = 0;                       ///< cost of simulating it, in any unit
    double turns = 1;                      ///< number of launches that it stands for
};

/// The search itself. The caller simulates what next() returns and passes the outcomes to add(), until next()
/// returns nothing.
class SettledStep {
  public:
    /// Relative error of the step's time below which no further simulations are done.
    static constexpr double kTolerance = 0.005;

    /// Launches to simulate at one clock, in hertz.
    struct Round {
        double clock = 0;
        std::vector<std::size_t> launches;  ///< indices in the plan, one for each key
    };

    /// `estimates` has one entry for each launch. `sms` is the number of SMs. `plan` and `power` must outlive
    /// this object.
    SettledStep(const std::vector<PlannedLaunch>& plan, const std::vector<LaunchEstimate>& estimates,
                const ClockRange& range, const models::gpu::PowerConfig& power, std::uint32_t sms,
                double tolerance = kTolerance);

    /// Returns what to simulate next; nothing when the clock is known.
    std::optional<Round> next();
    /// Adds the outcomes of the last round, by key.
    void add(double clock, const std::map<std::string, LaunchOutcome>& outcomes);

    /// Returns the outcomes of all launches at the settled clock, by key.
    std::map<std::string, LaunchOutcome> outcomes() const;
    const SettledClock& settled() const { return settled_; }
    /// Returns a bound on the relative error of the total time of all launches at the settled clock.
    double error() const { return error_; }
    /// Return the range of the clocks at which the simulations that contribute to the result were made.
    double lowest_clock() const;
    double highest_clock() const;

  private:
    struct Kernel {
        std::size_t launch = 0;  ///< the first with this key
        double times = 0;
        LaunchEstimate estimate;
        ClockedOutcome outcome;
    };
    /// What was simulated over what had been estimated, of kernels of a kind.
    struct Ratio {
        double seconds = 1, joules = 1;
    };
    static bool is_tensor(const LaunchEstimate& estimate);
    void learn();
    double seconds(const Kernel& kernel, double clock) const;
    double joules(const Kernel& kernel, double clock) const;
    SettledClock settle() const;
    Round round_of(const std::vector<std::string>& keys, double clock) const;
    std::vector<std::string> telling() const;
    std::vector<std::string> unsure();

    std::map<std::string, Kernel> kernels_;
    const ClockRange range_;
    const models::gpu::PowerConfig& power_;
    const double constant_, tolerance_;
    Ratio of_memory_, of_tensor_;  ///< by is_tensor()
    SettledClock settled_;
    double error_ = 0;
    unsigned rounds_ = 0;
};

}  // namespace heddle::sim
