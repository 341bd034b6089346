// Reduces the number of axes: axes that are contiguous in every operand are joined into one.
#pragma once

#include <cstdint>
#include <vector>

namespace heddle::lowering::on_tpu {

/// The axes of an iteration over several operands.
struct Axes {
    std::vector<std::int64_t> shape;                 ///< at least one axis
    std::vector<std::vector<std::int64_t>> strides;  ///< [operand][axis]
    std::vector<bool> marked;                        ///< [axis]: see collapse()
};

/// Drops axes of one element and joins neighbours. Axes are only joined when both are marked or neither is;
/// `marks` may be empty: none is.
Axes collapse(const std::vector<std::int64_t>& shape, const std::vector<std::vector<std::int64_t>>& strides,
              const std::vector<bool>& marks = {});

}  // namespace heddle::lowering::on_tpu
