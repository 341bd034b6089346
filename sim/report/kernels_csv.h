// kernels.csv: one line per kernel, in the order of the step.
#pragma once

#include <string>

#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// RFC 4180 with a heading line; units stand in the column names; empty cells where nothing is known. Each
/// reason of KernelResult::time_by_reason that occurs in the run is a column "time: <reason>", each resource
/// of KernelResult::utilisation a column "utilisation: <resource>".
std::string kernels_csv(const RunResult& result);

}  // namespace heddle::sim
