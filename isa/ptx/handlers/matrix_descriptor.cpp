#include "isa/ptx/handlers/matrix_descriptor.h"

#include <cstring>
#include <string>

#include "isa/common/error.h"

namespace heddle::ptx {
namespace {

constexpr unsigned kChunk = 16;  // bytes

std::uint32_t field(std::uint64_t bits, unsigned lowest) {
    return static_cast<std::uint32_t>(bits >> lowest & 0x3FFFu) << 4;
}

// `linear` is the address before swizzling.
std::uint32_t swizzled(const MatrixDescriptor& matrix, std::uint32_t linear) {
    const std::uint32_t line = (linear >> 7) - matrix.base_offset;
    if (matrix.wide_atoms) return linear ^ (line & 3u) << 5;
    const std::uint32_t chunks = matrix.swizzle_bytes / kChunk;
    return linear ^ (line & (chunks - 1)) << 4;
}

// Where T elements of a row lie, `chunk` counting along k.
std::uint32_t k_major_chunk(const MatrixDescriptor& matrix, unsigned row, unsigned chunk) {
    const std::uint32_t between_chunks = matrix.swizzle_bytes == kChunk ? matrix.leading : kChunk;
    return swizzled(matrix, matrix.start + matrix.swizzle_bytes * (row % 8) + matrix.stride * (row / 8) +
                                between_chunks * chunk);
}

// Where T rows of one k lie, `chunk` counting along the rows.
std::uint32_t mn_major_chunk(const MatrixDescriptor& matrix, unsigned chunk, unsigned k) {
    if (matrix.swizzle_bytes == kChunk) {
        return swizzled(matrix,
                        matrix.start + kChunk * (k % 8) + matrix.leading * (k / 8) + matrix.stride * chunk);
    }
    const unsigned chunks = matrix.swizzle_bytes / kChunk, lines = matrix.wide_atoms ? 4 : 8;
    return swizzled(matrix, matrix.start + matrix.swizzle_bytes * (k % lines) + matrix.stride * (k / lines) +
                                kChunk * (chunk % chunks) + matrix.leading * (chunk / chunks));
}

bool beyond(std::span<const std::byte> shared, std::uint32_t address) {
    return address + kChunk > shared.size();
}

std::uint32_t copy_k_major(const MatrixDescriptor& matrix, const OperandTile& tile,
                           std::span<const std::byte> shared, std::byte* to) {
    const unsigned chunks = tile.depth * tile.element_bytes / kChunk;
    for (unsigned row = tile.first_row; row < tile.first_row + tile.rows; ++row) {
        for (unsigned chunk = 0; chunk < chunks; ++chunk) {
            const std::uint32_t from = k_major_chunk(matrix, row, chunk);
            if (beyond(shared, from)) return from;
            std::memcpy(to, shared.data() + from, kChunk);
            to += kChunk;
        }
    }
    return kInsideSharedMemory;
}

std::uint32_t copy_mn_major(const MatrixDescriptor& matrix, const OperandTile& tile,
                            std::span<const std::byte> shared, std::uint16_t* to) {
    constexpr unsigned kRows = kChunk / sizeof(std::uint16_t);
    for (unsigned row = 0; row < tile.rows; row += kRows) {
        for (unsigned k = 0; k < tile.depth; ++k) {
            const std::uint32_t from = mn_major_chunk(matrix, (tile.first_row + row) / kRows, k);
            if (beyond(shared, from)) return from;
            std::uint16_t elements[kRows];
            std::memcpy(elements, shared.data() + from, kChunk);
            for (unsigned i = 0; i < kRows; ++i) to[(row + i) * tile.depth + k] = elements[i];
        }
    }
    return kInsideSharedMemory;
}

}  // namespace

MatrixDescriptor decode_matrix_descriptor(std::uint64_t bits) {
    constexpr std::uint8_t kSwizzleBytes[] = {16, 128, 64, 32};
    MatrixDescriptor matrix;
    matrix.start = field(bits, 0);
    matrix.leading = field(bits, 16);
    matrix.stride = field(bits, 32);
    matrix.base_offset = static_cast<std::uint8_t>(bits >> 49 & 7u);
    matrix.swizzle_bytes = kSwizzleBytes[bits >> 62];
    return matrix;
}

MatrixDescriptor decode_tensor_descriptor(std::uint64_t bits) {
    MatrixDescriptor matrix = decode_matrix_descriptor(bits);
    if ((bits >> 52 & 1u) != 0) throw Error("a matrix descriptor of tcgen05 with an absolute leading dimension (bit 52)", {}, "give the offset");
    switch (bits >> 61) {
        case 0:
            matrix.swizzle_bytes = 16;
            break;
        case 1:
            matrix.wide_atoms = true;
            matrix.swizzle_bytes = 128;
            break;
        case 2:
            matrix.swizzle_bytes = 128;
            break;
        case 4:
            matrix.swizzle_bytes = 64;
            break;
        case 6:
            matrix.swizzle_bytes = 32;
            break;
        default:
            throw Error("a matrix descriptor of tcgen05 with the swizzle " + std::to_string(bits >> 61), {}, "bits 61 to 63 must be 0, 1, 2, 4 or 6");
    }
    return matrix;
}

std::uint32_t element_address(const MatrixDescriptor& matrix, Majorness majorness, unsigned element_bytes,
                              unsigned row, unsigned k) {
    const unsigned elements = kChunk / element_bytes;
    if (majorness == Majorness::k)
        return k_major_chunk(matrix, row, k / elements) + k % elements * element_bytes;
    return mn_major_chunk(matrix, row / elements, k) + row % elements * element_bytes;
}

std::uint32_t copy_tile(const MatrixDescriptor& matrix, const OperandTile& tile,
                        std::span<const std::byte> shared, void* to) {
    return tile.majorness == Majorness::k
               ? copy_k_major(matrix, tile, shared, static_cast<std::byte*>(to))
               : copy_mn_major(matrix, tile, shared, static_cast<std::uint16_t*>(to));
}

}  // namespace heddle::ptx
