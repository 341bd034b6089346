// The layouts of wgmma operands in shared memory, as the PTX manual writes them: nested shapes with strides,
// and a swizzle of the byte address. Written for tests, from the section "Canonical Layouts".
#pragma once

#include <cstdint>
#include <vector>

#include "isa/ptx/handlers/matrix_descriptor.h"

namespace heddle::ptx::test {

/// (shape, shape, ...):(stride, stride, ...) of one dimension, the first mode fastest.
struct LayoutMode {
    std::uint32_t shape, stride;
};
using Layout = std::vector<LayoutMode>;

inline std::uint32_t size_of(const Layout& layout) {
    std::uint32_t size = 1;
    for (const LayoutMode& mode : layout) size *= mode.shape;
    return size;
}

inline std::uint32_t offset_in(const Layout& layout, std::uint32_t index) {
    std::uint32_t offset = 0;
    for (const LayoutMode& mode : layout) {
        offset += index % mode.shape * mode.stride;
        index /= mode.shape;
    }
    return offset;
}

/// Swizzle<bits, 4, 3>: `bits` bits from bit 7 on are exclusive-ored into those from bit 4 on.
inline std::uint32_t swizzle(unsigned bits, std::uint32_t address) {
    const std::uint32_t mask = ((1u << bits) - 1) << (4 + 3);
    return address ^ (address & mask) >> 3;
}

/// The table of canonical layouts, with strides in bytes. `bits` of the swizzle: 0 none, 1 to 3 for 32 to 128
/// bytes.
inline std::uint32_t canonical_address(Majorness majorness, unsigned bits, unsigned element_bytes,
                                       std::uint32_t start, std::uint32_t leading, std::uint32_t stride,
                                       std::uint32_t row, std::uint32_t k) {
    const std::uint32_t t = 16 / element_bytes, many = 1024, wide = 1u << bits;
    Layout rows, columns;
    if (majorness == Majorness::k) {
        rows = {{8, wide * 16}, {many, stride}};
        columns = {{t, element_bytes}, {many, bits == 0 ? leading : 16}};
    } else if (bits == 0) {
        rows = {{t, element_bytes}, {1, 16}, {many, stride}};
        columns = {{8, 16}, {many, leading}};
    } else {
        rows = {{t, element_bytes}, {wide, 16}, {many, leading}};
        columns = {{8, wide * 16}, {many, stride}};
    }
    return swizzle(bits, start + offset_in(rows, row) + offset_in(columns, k));
}

/// "matrix-descriptor-encode(x) = (x & 0x3FFFF) >> 4"
inline std::uint64_t encode_descriptor(std::uint32_t start, std::uint32_t leading, std::uint32_t stride,
                                       unsigned swizzle_bits) {
    const auto encode = [](std::uint64_t x) { return (x & 0x3FFFF) >> 4; };
    const std::uint64_t mode = swizzle_bits == 0 ? 0 : 4 - swizzle_bits;  // 1: 128 bytes, 2: 64, 3: 32
    return encode(start) | encode(leading) << 16 | encode(stride) << 32 | mode << 62;
}

}  // namespace heddle::ptx::test
