// What makes a result incomplete: ops whose time nobody knows.
#pragma once

#include <string>
#include <vector>

#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// Ops that are not understood and for which no recorded time stands in: the step takes longer than its
/// result says, nobody knows by how much. Collectives are told by a note of the run. In the order of the ops.
std::vector<const OpSummary*> not_understood(const RunResult& result);

/// One sentence for people that says so and names them; empty when the result is complete.
std::string not_understood_text(const RunResult& result);

}  // namespace heddle::sim
