// The structure of a step: layers that are found by repetition, and memory from lifetimes.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "workloads/trace/trace.h"

namespace heddle::trace {

/// Ops that repeat within one phase: `count` times `period` ops, beginning with op `first` (counted among the
/// ops of the phase).
struct RepeatedLayers {
    Phase phase = Phase::forward;
    std::size_t first = 0, period = 0, count = 0;
    std::vector<OpId> ops;                         ///< of the first layer
    double flops = 0, bytes = 0, measured_us = 0;  ///< of all layers together
};

/// Returns the longest repetition of each phase, and the longest within its first iteration (steps, then
/// layers): ops of the same kind on the same shapes, of which at least one is a product, a convolution or
/// attention. Phases without repetition are left out.
std::vector<RepeatedLayers> find_layers(const Trace& trace);

/// The largest amount of memory that a step holds.
struct PeakMemory {
    std::uint64_t bytes = 0;                 ///< at the peak
    OpId at = 0;                             ///< the op during which it is reached
    std::array<std::uint64_t, 7> by_role{};  ///< at the peak, in the order of TensorRole
    std::uint64_t resident = 0;              ///< memory that is alive during the whole step
};

/// Computes the peak. A storage is held from the first op that writes it to the last that uses it; data that
/// is read before anything has written it, parameters, and optimizer state are held during the whole step.
PeakMemory peak_memory(const Trace& trace);

}  // namespace heddle::trace
