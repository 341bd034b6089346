// Which tensors of a step live in the cores' common on-chip memory (CMEM of TPU v4) instead of HBM.
#pragma once

#include <cstdint>
#include <set>

#include "workloads/trace/trace.h"

namespace heddle::lowering {

/// Returns the number of a tensor's storage; a tensor without one is identified by its own number.
constexpr std::uint64_t common_memory_storage(const trace::Tensor& tensor, trace::TensorId id) {
    return tensor.storage != 0 ? tensor.storage : (std::uint64_t{1} << 40) + id;
}

/// Returns the storages, by number, that are in CMEM from the op that makes them to the last that reads them.
/// A result that a later op reads is placed there in the order of the step as long as there is space.
/// Parameters, inputs, and results that nothing reads stay in HBM. Which tensors XLA chooses is not
/// published, so this order is an assumption.
std::set<std::uint64_t> common_memory_storages(const trace::Trace& trace, std::uint64_t bytes);

}  // namespace heddle::lowering
