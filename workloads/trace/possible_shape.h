// Which shapes there can be.
#pragma once

#include "workloads/trace/shape.h"

namespace heddle::trace {

/// No extent is negative, and the elements can be counted in 63 bits (extents of 0 as if they were 1).
bool is_possible(const Shape& shape);

}  // namespace heddle::trace
