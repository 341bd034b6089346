// Which shapes are possible, and how much memory they span.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "workloads/trace/shape.h"
#include "workloads/trace/trace.h"

namespace heddle::trace {

/// Returns whether no extent is negative and there are at most gates::kMostElements elements, counting
/// extents of 0 as 1, so that the product of any of the extents can be computed without overflow.
bool is_possible(const Shape& shape);

/// Returns the number of elements of a storage from its start to the end of a tensor that begins at `offset`;
/// empty `strides` mean dense. Returns nothing when there is not one stride for each axis, or the tensor
/// begins before its storage or ends beyond gates::kMostElements. `shape` must be possible.
std::optional<std::int64_t> storage_reach(std::int64_t offset, const Shape& shape, const Shape& strides);

/// Does the same for an operand ("input0") of an op, with the op's attributes.
std::optional<std::int64_t> operand_reach(const Op& op, const std::string& operand, const Tensor& tensor);

}  // namespace heddle::trace
