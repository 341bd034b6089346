// Which shapes there can be, and how far they reach in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "workloads/trace/shape.h"
#include "workloads/trace/trace.h"

namespace heddle::trace {

/// No extent is negative, and there are no more elements than gates::kMostElements, extents of 0 taken as 1:
/// so the product of any of the extents can be computed.
bool is_possible(const Shape& shape);

/// Elements of a storage from its start to the end of a tensor that begins at `offset`; `strides` may be
/// empty: dense. Nothing when there is not one stride for each axis, or the tensor begins before its storage
/// or ends behind gates::kMostElements. `shape` is possible.
std::optional<std::int64_t> storage_reach(std::int64_t offset, const Shape& shape, const Shape& strides);

/// Does the same for an operand ("input0") of an op, with the op's attributes.
std::optional<std::int64_t> operand_reach(const Op& op, const std::string& operand, const Tensor& tensor);

}  // namespace heddle::trace
