// How much memory a training step holds, when: lifetimes of its tensors.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "workloads/trace/trace.h"

namespace heddle::trace {

enum class MemoryUse : std::uint8_t {
    weights,    ///< parameters, and copies of them in other types
    gradients,  ///< of parameters, as the optimizer reads them
    optimizer_state,
    inputs,       ///< inputs and labels
    activations,  ///< results of ops, gradients of such results included
    other,        ///< from outside of the step, without a role
};
inline constexpr std::size_t kMemoryUses = 6;
std::string name_of(MemoryUse use);

using MemoryByUse = std::array<std::uint64_t, kMemoryUses>;
std::uint64_t total(const MemoryByUse& bytes);

/// Memory of one tensor, or of those that share a storage.
struct Allocation {
    std::uint64_t storage = 0;
    std::string name;  ///< of its largest tensor
    MemoryUse use = MemoryUse::other;
    std::uint64_t bytes = 0;
    OpId first = 0, last = 0;  ///< ops from the first to the last during which it is held
};

struct MemoryProfile {
    std::vector<Allocation> allocations;
    std::vector<MemoryByUse> during;  ///< by op: held while it runs
    OpId peak = 0;                    ///< the op during which most is held, the first of several
};

/// Held for the whole step is what comes from outside (parameters, state, inputs, whatever is read before it
/// is written) and what is overwritten in place. Everything else lives from the op that makes it to the last
/// that uses it; gradients of parameters until the end of the step, as optimizers keep them until the next.
/// `granularity`: allocations are whole multiples of it.
MemoryProfile profile_memory(const Trace& trace, std::uint64_t granularity = 512);

}  // namespace heddle::trace
