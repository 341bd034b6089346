// Shape arithmetic that importers, the zoo and the executor share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::trace {

using Shape = std::vector<std::int64_t>;

/// Formats a shape: "[2, 3]".
std::string to_text(const Shape& shape);
/// Returns whether a tensor of shape `from` can be broadcast to `to` by NumPy rules: shapes are aligned at
/// the last axis, and extents are equal or 1.
bool broadcasts_to(const Shape& from, const Shape& to);
/// Returns row-major strides in elements, one per axis of `to`, with 0 along axes on which `from` is
/// repeated. `from` must broadcast to `to`.
Shape broadcast_strides(const Shape& from, const Shape& to);
std::int64_t element_count(const Shape& shape);
/// A dense tensor seen along one of its axes: element (o, a, i) lies at (o * extent + a) * inner + i.
struct AlongAxis {
    std::int64_t outer = 1, extent = 1, inner = 1;
};
AlongAxis along_axis(const Shape& shape, std::int64_t axis);

}  // namespace heddle::trace
