// How much memory a training step holds at each time, from the lifetimes of its tensors.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "workloads/trace/trace.h"

namespace heddle::trace {

/// What memory is used for.
enum class MemoryUse : std::uint8_t {
    weights,    ///< parameters, and copies of them in other types
    gradients,  ///< of parameters, as the optimizer reads them
    optimizer_state,
    inputs,       ///< inputs and labels
    activations,  ///< results of ops, gradients of such results included
    other,        ///< from outside of the step, without a role
};
inline constexpr std::size_t kMemoryUses = 6;
/// Returns the name as reports write it.
std::string name_of(MemoryUse use);

using MemoryByUse = std::array<std::uint64_t, kMemoryUses>;
/// Returns the sum over all uses in bytes.
std::uint64_t total(const MemoryByUse& bytes);

/// Memory of one tensor, or of those that share a storage.
struct Allocation {
    std::uint64_t storage = 0;
    std::string name;  ///< of its largest tensor
    MemoryUse use = MemoryUse::other;
    std::uint64_t bytes = 0;
    OpId first = 0, last = 0;  ///< ops from the first to the last during which it is held
};

/// The memory of a step over its ops.
struct MemoryProfile {
    std::vector<Allocation> allocations;
    std::vector<MemoryByUse> during;  ///< by op: held while it runs
    OpId peak = 0;                    ///< the op during which most memory is held; the first of several
};

/// Computes the profile. Tensors from outside (parameters, state, inputs, and whatever is read before it is
/// written) and those that are overwritten in place are held for the whole step. All others live from the op
/// that makes them to the last op that uses them; gradients of parameters live to the end of the step,
/// because optimizers keep them until the next one. Allocations are rounded up to a multiple of `granularity`
/// bytes.
MemoryProfile profile_memory(const Trace& trace, std::uint64_t granularity = 512);

}  // namespace heddle::trace
