// Matrix descriptors of wgmma: where in shared memory the elements of an operand lie.
//
// A descriptor is 64 bits: in units of 16 bytes the start address (bits 0 to 13), the leading dimension
// offset (16 to 29) and the stride dimension offset (32 to 45); the base offset (49 to 51); the swizzle (62
// and 63). Source: PTX manual, "Matrix Descriptor Format" and "Canonical Layouts" of wgmma.
//
// Memory is made of chunks of 16 bytes, T elements each. Before swizzling, the chunk that holds an element
// lies at start +
//
//   K-major (T elements follow one another along k)
//     no swizzle     16 (row % 8) + stride (row / 8) + leading (k / T)
//     W bytes         W (row % 8) + stride (row / 8) +      16 (k / T)
//   MN-major (T elements follow one another along m or n; "row" is m or n)
//     no swizzle     16 (k % 8)   + leading (k / 8)  + stride (row / T)
//     W bytes         W (k % 8)   + stride (k / 8)   +     16 (row / T % (W / 16)) + leading (row / W')
//
// with W' the elements in W bytes. Swizzling replaces the bits of the address that count chunks within W
// bytes (bit 4 for 32 bytes, 4 and 5 for 64, 4 to 6 for 128) by their exclusive or with those that count
// lines of 128 bytes (bit 7 upwards), of the address in shared memory: that is why a start address may be
// moved along k within the pattern. A pattern that does not start at a multiple of 8 lines (4, 2 for the
// narrower swizzles) says with the base offset at which line it starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace heddle::ptx {

/// Whether elements that follow one another in memory follow one another along k, or along m or n.
enum class Majorness : std::uint8_t { k, mn };

/// A descriptor with its fields as byte counts.
struct MatrixDescriptor {
    std::uint32_t start = 0;          ///< bytes; a multiple of 16 below 256 KiB, as the next two
    std::uint32_t leading = 0;        ///< leading dimension byte offset
    std::uint32_t stride = 0;         ///< stride dimension byte offset
    std::uint8_t base_offset = 0;     ///< line at which the swizzle pattern starts, 0 to 7
    std::uint8_t swizzle_bytes = 16;  ///< W: 32, 64 or 128; 16: none
    bool wide_atoms = false;          ///< tcgen05: what is swizzled are 32 bytes, and a pattern has 4 lines (MN-major only)
};

/// Takes the 64 bits of the operand apart; PTX manual, "Matrix Descriptor Format".
MatrixDescriptor decode_matrix_descriptor(std::uint64_t bits);

/// The same for tcgen05, whose descriptors differ in the swizzle: bits 61 to 63 are 0 for none, 1 for 128 bytes of atoms of 32, 2 for 128,
/// 4 for 64 and 6 for 32 bytes. Throws heddle::Error, without a place, for other codes and for absolute leading offsets (bit 52).
MatrixDescriptor decode_tensor_descriptor(std::uint64_t bits);

/// Byte offset in shared memory of an element. `element_bytes` is 1, 2 or 4.
std::uint32_t element_address(const MatrixDescriptor& matrix, Majorness majorness, unsigned element_bytes,
                              unsigned row, unsigned k);

/// A part of an operand: rows first_row .. first_row + rows - 1 (m of A, n of B), k from 0 to depth - 1.
struct OperandTile {
    Majorness majorness = Majorness::k;  ///< order of the elements in shared memory
    unsigned element_bytes = 2;          ///< MN-major: 2, the only size that wgmma transposes
    unsigned first_row = 0, rows = 0;    ///< of the operand
    unsigned depth = 0;                  ///< a multiple of 16 bytes
};

inline constexpr std::uint32_t kInsideSharedMemory = 0xFFFFFFFFu;

/// Copies a tile out of `shared`, row by row, k contiguous. When a part of it lies beyond the end the copy
/// stops; returns that address, else kInsideSharedMemory. Rows and first_row of an MN-major tile are
/// multiples of 8.
std::uint32_t copy_tile(const MatrixDescriptor& matrix, const OperandTile& tile,
                        std::span<const std::byte> shared, void* to);

}  // namespace heddle::ptx
