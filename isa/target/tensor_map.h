// A tensor map as a compiler of kernels writes it down: everything but the address, which is known at run
// time.
#pragma once

#include <array>
#include <cstdint>

namespace heddle::target {

/// What cuTensorMapEncodeTiled() takes. Numbers as in cuda.h; dimension 0 is the innermost.
struct TensorMapSpec {
    unsigned data_type = 0;                  ///< CUtensorMapDataType
    unsigned rank = 2;                       ///< dimensions, 1 to 5
    std::array<std::uint64_t, 5> sizes{};    ///< elements
    std::array<std::uint64_t, 4> strides{};  ///< bytes, of dimensions 1 and up
    std::array<std::uint32_t, 5> box{};      ///< elements
    unsigned swizzle = 0;                    ///< CUtensorMapSwizzle
    unsigned l2_promotion = 0;               ///< CUtensorMapL2promotion
    bool operator==(const TensorMapSpec&) const = default;
};

}  // namespace heddle::target
