// The ops of a run, summed by kind: the rows of the table for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// The sum over all ops of one kind. Units are those of OpSummary.
struct KindSummary {
    std::string kind;
    std::uint64_t count = 0;
    double time_us = 0;
    std::optional<double> measured_us;  ///< only when every op of the kind was recorded
    double deviation_us = 0;            ///< sum of OpSummary::deviation_us
    double flops = 0, bytes = 0;
    std::string bound_by;  ///< what limits most of the kind's time
    double cycle_us = 0;   ///< the part of time_us that a device model found cycle by cycle
    double estimated_us = 0;
    double unknown_us = 0;
};

/// Returns the mean relative error of recorded kernels, weighted with their recorded time, over all ops
/// except communication that were simulated cycle by cycle and recorded. Nothing when there are none.
std::optional<double> weighted_error(const RunResult& result);

/// Sums the ops of a run by kind. The longest time comes first; equal times are ordered by name.
std::vector<KindSummary> summarise_by_kind(const RunResult& result);

/// Returns what a share of an op or a kind is a share of, in microseconds: the step, or, where ops ran side by
/// side for so long that their times add up to more, that sum. Shares never exceed 1.
double base_of_shares(const RunResult& result);
/// Returns what the column of shares is called: "share" of the step, or "share of ops".
const char* heading_of_shares(const RunResult& result);

/// Recorded kernels without communication; microseconds.
struct SimulatedShare {
    double all_us = 0;        ///< recorded, of all of them
    double measured_us = 0;   ///< recorded, of those that were simulated cycle by cycle
    double simulated_us = 0;  ///< simulated, of the same
};

/// Returns on how much of the recorded time a comparison rests; nothing where no time was recorded.
std::optional<SimulatedShare> simulated_share(const RunResult& result);

}  // namespace heddle::sim
