// The ops of a run added up by kind: the rows of the table for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// All ops of one kind. Units as in OpSummary.
struct KindSummary {
    std::string kind;
    std::uint64_t count = 0;
    double time_us = 0;
    std::optional<double> measured_us;  ///< only when every op of the kind was recorded
    double deviation_us = 0;            ///< of single kernels, added up: OpSummary::deviation_us
    double flops = 0, bytes = 0;
    std::string bound_by;  ///< what limits most of the kind's time
    double cycle_us = 0;   ///< the part of time_us that a device model found cycle by cycle
    double estimated_us = 0;
    double unknown_us = 0;
};

/// Mean error of single recorded kernels, weighted with their recorded time: over all ops but communication
/// that were simulated cycle by cycle and recorded. Nothing when there are none.
std::optional<double> weighted_error(const RunResult& result);

/// By falling time; equal times by name.
std::vector<KindSummary> summarise_by_kind(const RunResult& result);

}  // namespace heddle::sim
