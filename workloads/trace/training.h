// The parts of a training step that a Trace does not name: its loss, its parameters, their gradients.
#pragma once

#include <optional>
#include <vector>

#include "workloads/trace/trace.h"

namespace heddle::trace {

/// The scalar that the forward pass ends in. Throws heddle::Error when there is none.
TensorId loss_of(const Trace& trace);

/// Parameters, each once: updates in place make further tensors of the same storage, the first stands for
/// all.
std::vector<TensorId> parameters_of(const Trace& trace);

/// What the optimizer reads as the gradient of a parameter: the first input of the op that overwrites it
/// which is neither a parameter nor optimizer state. Nothing when the step has no such op.
std::optional<TensorId> gradient_of(const Trace& trace, TensorId parameter);

}  // namespace heddle::trace
