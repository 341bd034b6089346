// Removal of what a step computes twice, as derivatives do for both summands of a residual sum.
#pragma once

#include <cstddef>

#include "workloads/trace/trace.h"

namespace heddle::fusion {

/// The same step without elementwise ops that compute again what another op of the same phase has computed,
/// of the same operands, and what is still held: readers take that. So nothing is held longer than before,
/// and what the backward pass computes again of the forward pass, to save memory, is computed again. Tensors
/// keep their numbers. `dropped`: ops that are gone.
trace::Trace without_repetitions(const trace::Trace& trace, std::size_t* dropped = nullptr);

}  // namespace heddle::fusion
