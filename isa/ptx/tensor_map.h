// Tensor maps: what a tensor in global memory looks like, and which box of it a copy moves. On a device
// cuTensorMapEncodeTiled() makes one, 128 bytes that only the hardware understands; here TensorMap::encode()
// does, from the same parameters and with the same checks (CUDA driver API, "Tensor Map Object Management").
// A kernel gets the bytes as a parameter or in global or constant memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "isa/ptx/module.h"
#include "isa/target/tensor_map.h"

namespace heddle::ptx {

inline constexpr std::size_t kTensorMapBytes = 128;
inline constexpr unsigned kMaximumTensorRank = 5;

/// Element types, with the numbers of CUtensorMapDataType.
enum class TensorMapType : std::uint8_t {
    uint8,
    uint16,
    uint32,
    int32,
    uint64,
    int64,
    float16,
    float32,
    float64,
    bfloat16,
    float32_flushed,
    tfloat32,
    tfloat32_flushed,
};
unsigned bytes_of(TensorMapType type);
bool is_float(TensorMapType type);
/// The type that a reduction into such a tensor works on.
Type element_type(TensorMapType type);

/// Numbers as those of CUtensorMapSwizzle. The 16-byte chunks of a line trade places: address bits 4 and up,
/// as many as the width asks for, change with the bits from 7 up.
enum class TensorMapSwizzle : std::uint8_t { none, bytes_32, bytes_64, bytes_128 };
/// L2 promotion of fetches, with the numbers of CUtensorMapL2promotion.
enum class TensorMapPromotion : std::uint8_t { none, bytes_64, bytes_128, bytes_256 };
/// The value of elements outside of the tensor, with the numbers of CUtensorMapFloatOOBfill.
enum class TensorMapFill : std::uint8_t { zero, nan };

/// Where the chunk lies that would be at `address` in shared memory without swizzling.
constexpr std::uint64_t swizzled_address(TensorMapSwizzle swizzle, std::uint64_t address) {
    const std::uint64_t chunks = (std::uint64_t{1} << static_cast<unsigned>(swizzle)) - 1;
    return address ^ (address >> 7 & chunks) << 4;
}

/// Dimension 0 is the innermost, whose elements follow one another.
struct TensorMap {
    TensorMapType type = TensorMapType::uint8;                    ///< of an element
    std::uint8_t rank = 1;                                        ///< dimensions, 1 to kMaximumTensorRank
    std::uint64_t address = 0;                                    ///< in global memory
    std::array<std::uint64_t, kMaximumTensorRank> sizes{};        ///< elements in each dimension
    std::array<std::uint64_t, kMaximumTensorRank - 1> strides{};  ///< bytes, of dimensions 1 and up
    std::array<std::uint32_t, kMaximumTensorRank> box{};          ///< elements that a copy spans
    std::array<std::uint32_t, kMaximumTensorRank> element_strides{1, 1, 1, 1, 1};  ///< of each it takes
    std::uint8_t interleave = 0;  ///< CUtensorMapInterleave: none is the only one that is supported
    TensorMapSwizzle swizzle = TensorMapSwizzle::none;        ///< pattern of the box in shared memory
    TensorMapPromotion promotion = TensorMapPromotion::none;  ///< ignored: it concerns L2 alone
    TensorMapFill fill = TensorMapFill::zero;                 ///< what elements outside of the tensor read as

    /// Elements that a copy moves along a dimension. The element stride of dimension 0 is ignored.
    std::uint32_t count(unsigned dimension) const;
    /// Bytes that a copy moves, those out of bounds among them.
    std::uint64_t box_bytes() const;

    /// Throws heddle::Error that names the parameter which cuTensorMapEncodeTiled() would refuse.
    void check() const;
    /// Checks, and packs. Layout, little-endian: "HTM1" at 0; type, rank, interleave, swizzle, promotion and
    /// fill from 4, a byte each; address at 16, sizes at 24, strides at 64, each of 8 bytes; box at 96, of 2
    /// bytes each; element strides at 106, of one.
    std::array<std::byte, kTensorMapBytes> encode() const;
    /// Packs without checks: a kernel changes one field after the other.
    std::array<std::byte, kTensorMapBytes> pack() const;
    /// Throws heddle::Error when the bytes are no tensor map. All zeros are one with nothing in it, from
    /// which tensormap.replace makes a whole one.
    static TensorMap decode(std::span<const std::byte, kTensorMapBytes> bytes);
};

/// A kernel compiler's tensor map of the memory at `address`.
TensorMap make_tensor_map(const target::TensorMapSpec& spec, std::uint64_t address);

}  // namespace heddle::ptx
