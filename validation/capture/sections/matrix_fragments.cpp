#include "validation/capture/sections/matrix_fragments.h"

#include <stdexcept>

namespace heddle::capture {
namespace {

// Core matrices of 8 rows of 16 bytes, K-major without swizzle: the next 16 bytes of k are 128 bytes on, the
// next 8 rows 256.
constexpr unsigned kCoreBytes = 128, kRowGroupBytes = 256;

FragmentPlace in_shared_memory(unsigned bits, unsigned row, unsigned k) {
    const unsigned byte_of_row = k * bits / 8;
    const unsigned byte =
        row / 8 * kRowGroupBytes + byte_of_row / 16 * kCoreBytes + row % 8 * 16 + byte_of_row % 16;
    return {byte / 4, byte % 4 * 8 + k * bits % 8};
}

// A, B and C of mma.m8n8k4 in f16, A row-major and B column-major (the figures of "m8n8k4 with f16").
FragmentPlace in_quads(const MatrixInstruction& instruction, FragmentOperand operand, unsigned product,
                       unsigned row, unsigned column, unsigned words) {
    const auto lane_of = [&](unsigned quad_lane, unsigned upper) {
        return 4 * product + quad_lane + 16 * upper;
    };
    if (operand != FragmentOperand::sum)
        return {lane_of(row % 4, row / 4) * words + column / 2, column % 2 * 16};
    if (instruction.sum == Element::f16)
        return {lane_of(row % 4, row / 4) * words + column / 2, column % 2 * 16};
    // f32: row = (lane & 1) + (i & 2), plus 4 in the upper half; column = (i & 4) + (lane & 2) + (i & 1).
    const unsigned i = (column & 4) | (row & 2) | (column & 1);
    return {lane_of((row & 1) | (column & 2), row / 4) * words + i, 0};
}

FragmentPlace in_registers(unsigned bits, unsigned vectors, unsigned words, unsigned row, unsigned k) {
    const unsigned register_bits = bits == 64 ? 64 : 32, packed = register_bits / bits;
    const unsigned blocks = vectors / 8, registerful = k / packed;
    const unsigned reg = registerful / 4 * blocks + row / 8;
    const unsigned lane = row % 8 * 4 + registerful % 4;
    return {lane * words + reg * (register_bits / 32), k % packed * bits};
}

FragmentPlace of_sum(unsigned bits, unsigned rows, unsigned words, unsigned row, unsigned column) {
    if (bits == 16) return in_registers(16, rows, words, row, column);
    const unsigned pair = column / 8 * (rows / 8) + row / 8;
    const unsigned lane = row % 8 * 4 + column % 8 / 2;
    return {lane * words + (2 * pair + column % 2) * (bits / 32), 0};
}

struct Extents {
    unsigned rows, columns, bits;
};
Extents extents(const MatrixInstruction& i, FragmentOperand operand) {
    switch (operand) {
        case FragmentOperand::a:
            return {i.m, i.stored_k(), bits_of(i.a)};
        case FragmentOperand::b:
            return {i.n, i.k, bits_of(i.b)};
        default:
            return {i.m, i.n, bits_of(i.sum)};
    }
}

}  // namespace

FragmentSizes fragment_sizes(const MatrixInstruction& instruction) {
    FragmentSizes sizes;
    if (instruction.kind == MatrixInstruction::Kind::wgmma) sizes.threads = 128;
    if (instruction.kind == MatrixInstruction::Kind::quad) sizes.products = 4;
    const auto words = [&](FragmentOperand operand) {
        const Extents e = extents(instruction, operand);
        return sizes.products * e.rows * e.columns * e.bits / 32 / sizes.threads;
    };
    sizes.a_words = words(FragmentOperand::a);
    sizes.b_words = words(FragmentOperand::b);
    sizes.sum_words = words(FragmentOperand::sum);
    return sizes;
}

FragmentPlace fragment_place(const MatrixInstruction& instruction, FragmentOperand operand, unsigned product,
                             unsigned row, unsigned column) {
    const FragmentSizes sizes = fragment_sizes(instruction);
    const Extents e = extents(instruction, operand);
    const unsigned words = operand == FragmentOperand::a   ? sizes.a_words
                           : operand == FragmentOperand::b ? sizes.b_words
                                                           : sizes.sum_words;
    if (instruction.kind == MatrixInstruction::Kind::quad) return in_quads(instruction, operand, product, row, column, words);
    if (instruction.kind == MatrixInstruction::Kind::wgmma) {
        if (operand != FragmentOperand::sum) return in_shared_memory(e.bits, row, column);
        FragmentPlace place = of_sum(e.bits, 16, words, row % 16, column);
        place.word += row / 16 * 32 * words;  // each warp has 16 rows
        return place;
    }
    if (operand == FragmentOperand::sum) return of_sum(e.bits, e.rows, words, row, column);
    return in_registers(e.bits, e.rows, words, row, column);
}

namespace {

// Words of an instruction's image. B of wgmma has half a word for each thread.
unsigned image_words(const MatrixInstruction& instruction, FragmentOperand operand) {
    const Extents e = extents(instruction, operand);
    return fragment_sizes(instruction).products * e.rows * e.columns * e.bits / 32;
}

}  // namespace

std::vector<std::uint32_t> pack(const MatrixInstruction& instruction, FragmentOperand operand,
                                std::span<const std::uint64_t> values) {
    const Extents e = extents(instruction, operand);
    const unsigned products = fragment_sizes(instruction).products, words = image_words(instruction, operand);
    const std::size_t elements = std::size_t{products} * e.rows * e.columns;
    if (values.size() % elements != 0) throw std::invalid_argument("pack: not whole instructions");
    const std::size_t instructions = values.size() / elements;
    std::vector<std::uint32_t> images(instructions * words);
    for (unsigned product = 0; product < products; ++product) {
        for (unsigned row = 0; row < e.rows; ++row) {
            for (unsigned column = 0; column < e.columns; ++column) {
                const FragmentPlace place = fragment_place(instruction, operand, product, row, column);
                const std::size_t element = (std::size_t{product} * e.rows + row) * e.columns + column;
                for (std::size_t i = 0; i < instructions; ++i) {
                    const std::uint64_t value = values[i * elements + element];
                    std::uint32_t* word = &images[i * words + place.word];
                    word[0] |= static_cast<std::uint32_t>(value << place.shift);
                    if (e.bits == 64) word[1] = static_cast<std::uint32_t>(value >> 32);
                }
            }
        }
    }
    return images;
}

std::vector<std::uint64_t> unpack_sum(const MatrixInstruction& instruction,
                                      std::span<const std::uint32_t> images) {
    const Extents e = extents(instruction, FragmentOperand::sum);
    const unsigned products = fragment_sizes(instruction).products,
                   words = image_words(instruction, FragmentOperand::sum);
    const std::size_t elements = std::size_t{products} * e.rows * e.columns;
    const std::size_t instructions = images.size() / words;
    const std::uint64_t mask = e.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << e.bits) - 1;
    std::vector<std::uint64_t> values(instructions * elements);
    for (unsigned product = 0; product < products; ++product) {
        for (unsigned row = 0; row < e.rows; ++row) {
            for (unsigned column = 0; column < e.columns; ++column) {
                const FragmentPlace place =
                    fragment_place(instruction, FragmentOperand::sum, product, row, column);
                const std::size_t element = (std::size_t{product} * e.rows + row) * e.columns + column;
                for (std::size_t i = 0; i < instructions; ++i) {
                    const std::uint32_t* word = &images[i * words + place.word];
                    std::uint64_t value = word[0];
                    if (e.bits == 64) value |= std::uint64_t{word[1]} << 32;
                    values[i * elements + element] = value >> place.shift & mask;
                }
            }
        }
    }
    return values;
}

namespace {

// Two bits for each place that is stored, lowest first. Of tf32 an index counts halves of an element, and of
// 4 bits pairs of elements.
std::uint64_t metadata_of(unsigned bits, const SparseRow& row) {
    std::uint64_t metadata = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
        if (bits == 32) metadata |= std::uint64_t{row[i] % 2 == 0 ? 0b0100u : 0b1110u} << (4 * i);
        if (bits == 4 && i % 2 == 0) metadata |= std::uint64_t{row[i] % 8 / 2u} << i;
        if (bits == 16 || bits == 8) metadata |= std::uint64_t{row[i] % 4u} << (2 * i);
    }
    return metadata;
}

}  // namespace

std::vector<std::uint32_t> pack_metadata(const MatrixInstruction& instruction,
                                         std::span<const SparseRow> rows) {
    const unsigned bits = bits_of(instruction.a);
    // Of a row: four bits for each chunk of four places, which is 2 elements of tf32 and 8 of 4 bits.
    const unsigned row_bits = instruction.k * 4 / (bits == 32 ? 2 : bits == 4 ? 8 : 4);
    std::vector<std::uint32_t> words(32);
    for (unsigned group = 0; group < 8; ++group) {
        std::uint64_t low = metadata_of(bits, rows[group]), high = metadata_of(bits, rows[group + 8]);
        std::uint32_t* lanes = &words[4 * group];
        if (bits >= 16) {  // a word: 16 bits of one row, then of the row eight further
            for (unsigned i = 0; i < row_bits / 16; ++i, low >>= 16, high >>= 16)
                lanes[i] = static_cast<std::uint32_t>((low & 0xFFFF) | (high & 0xFFFF) << 16);
        } else {
            for (unsigned i = 0; i < row_bits / 32; ++i, low >>= 32, high >>= 32) {
                lanes[2 * i] = static_cast<std::uint32_t>(low);
                lanes[2 * i + 1] = static_cast<std::uint32_t>(high);
            }
        }
    }
    return words;
}

}  // namespace heddle::capture
