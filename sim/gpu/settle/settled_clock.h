// The clock of a step and the times of its kernels at it, from as few simulations as possible. The clock
// follows from the power of all kernels, which follows from their times, which follow from the clock. A guess
// begins; the kernels that draw most for what they cost to simulate mend it; the rest is simulated there.
// Then all are taken to the clock at which the board settles (clocked_outcome.h), and simulated anew only as
// far as that leaves too much unsure.
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

/// What a launch takes, roughly, before it is simulated.
struct LaunchEstimate {
    double fixed_seconds = 0, cycles = 0;  ///< the longer of the two counts
    double fixed_joules = 0;               ///< whatever the clock
    double joules = 0;                     ///< at the highest clock; goes with its square
    double cost = 0;                       ///< of simulating it, any unit
    double turns = 1;                      ///< for how many launches it stands
};

class SettledStep {
  public:
    /// Error of the step's time, relative, that need not be made smaller.
    static constexpr double kTolerance = 0.005;

    struct Round {
        double clock = 0;
        std::vector<std::size_t> launches;  ///< in the plan, one for each key
    };

    /// `estimates`: one for each launch. `plan` must outlive this.
    SettledStep(const std::vector<PlannedLaunch>& plan, const std::vector<LaunchEstimate>& estimates,
                const ClockRange& range, const models::gpu::PowerConfig& power, std::uint32_t sms,
                double tolerance = kTolerance);

    /// What is to be simulated next; nothing: the clock is known.
    std::optional<Round> next();
    /// Of the last round, by key.
    void add(double clock, const std::map<std::string, LaunchOutcome>& outcomes);

    /// Of all launches at the settled clock, by key.
    std::map<std::string, LaunchOutcome> outcomes() const;
    const SettledClock& settled() const { return settled_; }
    /// By how much the time of all launches together may be wrong at the settled clock, relative.
    double error() const { return error_; }
    /// Of those at which something was simulated that counts.
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
