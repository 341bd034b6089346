// Extents of a launch: what even those must know who only write programs down.
#pragma once

#include <cstdint>

namespace heddle::ptx {

/// Extents in CUDA's order, x fastest.
struct Dim3 {
    std::uint32_t x = 1, y = 1, z = 1;  ///< at least 1 each
    /// The product of the three.
    std::uint64_t count() const { return std::uint64_t{x} * y * z; }
    bool operator==(const Dim3&) const = default;
};

}  // namespace heddle::ptx
