// kernels.csv: one line per kernel, in the order of the step.
#pragma once

#include <string>

#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// Returns CSV by RFC 4180 with a heading line. Column names contain units; a cell is empty where nothing is
/// known. Each reason of KernelResult::time_by_reason that occurs in the run is a column "time: <reason>",
/// and each resource of KernelResult::utilisation a column "utilisation: <resource>".
std::string kernels_csv(const RunResult& result);

}  // namespace heddle::sim
