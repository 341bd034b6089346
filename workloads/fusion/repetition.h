// Removal of what a step computes twice, as derivatives do for both summands of a residual sum.
#pragma once

#include <cstddef>

#include "workloads/trace/trace.h"

namespace heddle::fusion {

/// Returns the step without elementwise ops that repeat an op of the same phase on the same operands, while
/// the first result is still held; readers use that result. Therefore no tensor is held longer than before,
/// and what the backward pass recomputes from the forward pass to save memory is still recomputed. Tensors
/// keep their numbers. `dropped` receives the number of removed ops.
trace::Trace without_repetitions(const trace::Trace& trace, std::size_t* dropped = nullptr);

}  // namespace heddle::fusion
