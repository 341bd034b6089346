// Which tensors of a step live in the cores' common on-chip memory (CMEM of TPU v4) instead of HBM.
#pragma once

#include <cstdint>
#include <set>

#include "workloads/trace/trace.h"

namespace heddle::lowering {

/// A tensor's storage by number; tensors without one are told apart by their own number.
constexpr std::uint64_t common_memory_storage(const trace::Tensor& tensor, trace::TensorId id) {
    return tensor.storage != 0 ? tensor.storage : (std::uint64_t{1} << 40) + id;
}

/// Storages, by number, in CMEM from the op that makes them to the last that reads them: what an op of the
/// step makes and a later one reads, first come, first served, as long as there is room. Parameters, inputs,
/// and results that nothing reads stay in HBM. Which tensors XLA chooses is not published; this order is an
/// assumption.
std::set<std::uint64_t> common_memory_storages(const trace::Trace& trace, std::uint64_t bytes);

}  // namespace heddle::lowering
