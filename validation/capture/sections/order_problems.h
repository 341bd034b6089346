// Which GEMMs section "order" asks about.
#pragma once

#include <vector>

#include "validation/capture/section.h"

namespace heddle::capture {

struct OrderProblem {
    GemmProblem problem;
    unsigned algorithms = 1;  ///< of the heuristic's list, the best first
};

/// The most valuable first: every type at a common shape, then shapes, layouts and more algorithms.
std::vector<OrderProblem> order_problems(Extent extent);

}  // namespace heddle::capture
