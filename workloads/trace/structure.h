// What a step is made of, seen from outside: layers found by repetition, memory by lifetimes.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "workloads/trace/trace.h"

namespace heddle::trace {

/// Ops that come again and again in one phase: `count` times `period` ops, the first time from op `first` on
/// (counted among the ops of the phase).
struct RepeatedLayers {
    Phase phase = Phase::forward;
    std::size_t first = 0, period = 0, count = 0;
    std::vector<OpId> ops;                         ///< of the first layer
    double flops = 0, bytes = 0, measured_us = 0;  ///< of all layers together
};

/// The longest repetition of each phase, and the longest within the first of what is repeated (steps, then
/// layers): ops of the same kind on the same shapes, of which at least one is a product, a convolution or
/// attention. Phases without one are left out.
std::vector<RepeatedLayers> find_layers(const Trace& trace);

/// The largest amount of memory that a step holds.
struct PeakMemory {
    std::uint64_t bytes = 0;                 ///< at the peak
    OpId at = 0;                             ///< the op during which it is reached
    std::array<std::uint64_t, 7> by_role{};  ///< at the peak, in the order of TensorRole
    std::uint64_t resident = 0;              ///< memory that is alive during the whole step
};

/// Memory of every storage from the first op that writes it to the last that uses it; what is read before
/// anything has written it, and parameters and states of the optimizer, live during the whole step.
PeakMemory peak_memory(const Trace& trace);

}  // namespace heddle::trace
