// What makes a result incomplete: ops whose time is unknown.
#pragma once

#include <string>
#include <vector>

#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// Returns, in the order of the ops, those that are not understood and have no recorded time. The step takes
/// longer than its result says, by an unknown amount. Collectives are not among them; a note of the run
/// reports those. The pointers refer to `result`.
std::vector<const OpSummary*> not_understood(const RunResult& result);

/// Returns one sentence that names those ops; empty when the result is complete.
std::string not_understood_text(const RunResult& result);

}  // namespace heddle::sim
