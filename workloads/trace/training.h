// The parts of a training step that a Trace does not state explicitly: its loss, its parameters and their
// gradients.
#pragma once

#include <optional>
#include <vector>

#include "workloads/trace/trace.h"

namespace heddle::trace {

/// Returns the scalar in which the forward pass ends. Throws heddle::Error when there is none.
TensorId loss_of(const Trace& trace);

/// Returns each parameter once. Updates in place create further tensors of the same storage; the first one
/// represents them.
std::vector<TensorId> parameters_of(const Trace& trace);

/// Returns the tensor that the optimizer reads as the gradient of a parameter: the first input of the op that
/// overwrites the parameter which is neither a parameter nor optimizer state. Nothing when the step has no
/// such op.
std::optional<TensorId> gradient_of(const Trace& trace, TensorId parameter);

}  // namespace heddle::trace
