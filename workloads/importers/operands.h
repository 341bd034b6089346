// Access to the operands of PyTorch's calls for the families of operations (operations.h).
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "workloads/importers/builder.h"

namespace heddle::importers {

using Operation = void (*)(Builder&, const Launch&, const Call&);
using OperationTable = std::unordered_map<std::string, Operation>;

/// Returns a number among the operands, or `fallback`. Axes are counted from the front; when none were
/// recorded, all axes are meant.
double number_operand(const Call& call, std::size_t index, double fallback);
/// Does the same for a whole number; throws NotUnderstood when another one was recorded.
std::int64_t integer_operand(const Call& call, std::size_t index, std::int64_t fallback);
std::vector<std::int64_t> axes_operand(const Call& call, std::size_t index, std::size_t rank);

/// Returns the tensor at `index`; throws NotUnderstood when there is none on the device.
const RecordedTensor& operand(const Call& call, std::size_t index, const char* what);
/// Returns result `index` of the call, or a new tensor when no result was recorded.
RecordedTensor result_or(Builder& builder, const Call& call, std::size_t index, ElementType type,
                         const Shape& shape);
/// Adds the bytes of a tensor to those of others; throws NotUnderstood when they are more than there can be.
void add_bytes(std::int64_t& sum, const RecordedTensor& tensor);
/// Returns the same memory as a dense tensor of another shape.
RecordedTensor seen_as(RecordedTensor tensor, Shape shape);
/// Returns the tensor as rows of `columns` elements; strided tensors keep their axes.
RecordedTensor as_rows(const RecordedTensor& tensor, std::int64_t columns);

}  // namespace heddle::importers
