// Matrix descriptors against the layouts that the PTX manual prints ("Shared Memory Matrix Layout" of wgmma),
// evaluated here with the layout algebra of that section, and against tiles as a swizzling copy stores them.
#include "isa/ptx/handlers/matrix_descriptor.h"

#include <array>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <vector>

#include "matrix_layouts.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

constexpr unsigned kSwizzles[] = {0, 1, 2, 3};  // bits: none, 32, 64, 128 bytes

struct Offsets {
    std::uint32_t leading, stride;  // bytes
};

}  // namespace

TEST_CASE("Fields of a matrix descriptor", "[ptx][wgmma]") {
    // Table "Matrix descriptor": 1 is 128 bytes, 2 is 64, 3 is 32.
    const std::uint64_t bits = std::uint64_t{2} << 62 | std::uint64_t{5} << 49 | std::uint64_t{0x2001} << 32 |
                               std::uint64_t{0x3FFF} << 16 | 0x1234;
    const MatrixDescriptor matrix = decode_matrix_descriptor(bits);
    CHECK(matrix.start == 0x12340);
    CHECK(matrix.leading == 0x3FFF0);
    CHECK(matrix.stride == 0x20010);
    CHECK(matrix.base_offset == 5);
    CHECK(matrix.swizzle_bytes == 64);
    CHECK(decode_matrix_descriptor(0).swizzle_bytes == 16);
    CHECK(decode_matrix_descriptor(std::uint64_t{1} << 62).swizzle_bytes == 128);
    CHECK(decode_matrix_descriptor(std::uint64_t{3} << 62).swizzle_bytes == 32);
}

TEST_CASE("Examples of the manual", "[ptx][wgmma]") {
    struct Example {
        Majorness majorness;
        unsigned swizzle_bits, element_bytes;
        Offsets offsets;
        Layout rows, columns;  // "exact layout", in elements
    };
    const std::vector<Example> examples = {
        {Majorness::k, 0, 4, {64 * 4, 32 * 4}, {{8, 4}, {2, 32}}, {{4, 1}, {4, 64}}},
        {Majorness::mn, 0, 2, {128 * 2, 64 * 2}, {{8, 1}, {1, 8}, {2, 64}}, {{8, 8}, {2, 128}}},
        {Majorness::mn, 1, 2, {128 * 2, 256 * 2}, {{8, 1}, {2, 8}, {2, 128}}, {{8, 16}, {2, 256}}},
        {Majorness::mn, 2, 2, {256 * 2, 512 * 2}, {{8, 1}, {4, 8}, {2, 256}}, {{8, 32}, {2, 512}}},
    };
    for (const Example& example : examples) {
        const MatrixDescriptor matrix = decode_matrix_descriptor(
            encode_descriptor(0, example.offsets.leading, example.offsets.stride, example.swizzle_bits));
        for (unsigned row = 0; row < size_of(example.rows); ++row) {
            for (unsigned k = 0; k < size_of(example.columns); ++k) {
                const std::uint32_t linear =
                    (offset_in(example.rows, row) + offset_in(example.columns, k)) * example.element_bytes;
                REQUIRE(element_address(matrix, example.majorness, example.element_bytes, row, k) ==
                        swizzle(example.swizzle_bits, linear));
            }
        }
    }
}

TEST_CASE("Canonical layouts of every swizzle, majorness and element", "[ptx][wgmma]") {
    std::mt19937 generator(1);
    for (const unsigned bits : kSwizzles) {
        for (const unsigned element_bytes : {1u, 2u, 4u}) {
            for (const Majorness majorness : {Majorness::k, Majorness::mn}) {
                if (majorness == Majorness::mn && element_bytes != 2) continue;
                for (unsigned repeat = 0; repeat < 20; ++repeat) {
                    // Offsets and a start as any program may choose them.
                    const std::uint32_t leading = generator() % 256 * 16, stride = generator() % 512 * 16;
                    const std::uint32_t start = generator() % 1024 * 16;
                    const MatrixDescriptor matrix =
                        decode_matrix_descriptor(encode_descriptor(start, leading, stride, bits));
                    const unsigned depth = 32 / element_bytes;
                    for (unsigned n = 0; n < 200; ++n) {
                        const unsigned row = generator() % 256, k = generator() % depth;
                        REQUIRE(element_address(matrix, majorness, element_bytes, row, k) ==
                                canonical_address(majorness, bits, element_bytes, start, leading, stride, row,
                                                  k));
                    }
                }
            }
        }
    }
}

TEST_CASE("Steps along k within the pattern of a swizzled tile", "[ptx][wgmma]") {
    // A tile of 128 rows x 64 halves as a copy with 128-byte swizzle leaves it: row after row, chunk c of row
    // r in place c ^ (r % 8). The k-step s begins 32 s bytes further.
    for (unsigned step = 0; step < 4; ++step) {
        const std::uint32_t base = 3 * 1024;
        const MatrixDescriptor matrix =
            decode_matrix_descriptor(encode_descriptor(base + 32 * step, 16, 1024, 3));
        for (unsigned row = 0; row < 128; ++row) {
            for (unsigned k = 0; k < 16; ++k) {
                const unsigned column = 16 * step + k;
                const std::uint32_t place =
                    base + row * 128 + ((column / 8) ^ (row % 8)) * 16 + column % 8 * 2;
                REQUIRE(element_address(matrix, Majorness::k, 2, row, k) == place);
            }
        }
    }
    // 64 k x 128 columns, columns contiguous: two boxes of 64 columns, each with a line of 128 bytes per k.
    for (unsigned step = 0; step < 4; ++step) {
        const std::uint32_t base = 5 * 1024, box = 64 * 128;
        const MatrixDescriptor matrix =
            decode_matrix_descriptor(encode_descriptor(base + 16 * 128 * step, box, 1024, 3));
        for (unsigned column = 0; column < 128; ++column) {
            for (unsigned k = 0; k < 16; ++k) {
                const unsigned line = 16 * step + k, within = column % 64;
                const std::uint32_t place =
                    base + column / 64 * box + line * 128 + ((within / 8) ^ (line % 8)) * 16 + within % 8 * 2;
                REQUIRE(element_address(matrix, Majorness::mn, 2, column, k) == place);
            }
        }
    }
}

TEST_CASE("The base offset moves the start of the pattern", "[ptx][wgmma]") {
    for (const unsigned bits : {1u, 2u, 3u}) {
        for (unsigned phase = 0; phase < 8; ++phase) {
            // "base offset = (pattern start addr >> 7) & 7"
            const std::uint32_t pattern = 4096 + 128 * phase;
            const std::uint64_t descriptor =
                encode_descriptor(pattern, 16, 1024, bits) | std::uint64_t{(pattern >> 7) & 7} << 49;
            const MatrixDescriptor matrix = decode_matrix_descriptor(descriptor);
            for (unsigned row = 0; row < 64; ++row) {
                for (unsigned k = 0; k < 16; ++k) {
                    const std::uint32_t from_start =
                        canonical_address(Majorness::k, bits, 2, 0, 16, 1024, row, k);
                    REQUIRE(element_address(matrix, Majorness::k, 2, row, k) == pattern + from_start);
                }
            }
        }
    }
}

TEST_CASE("Tiles are copied element by element, and not from beyond the end", "[ptx][wgmma]") {
    std::vector<std::uint16_t> memory(16384);
    std::iota(memory.begin(), memory.end(), std::uint16_t{0});
    const auto bytes = std::as_bytes(std::span(memory));
    for (const unsigned bits : kSwizzles) {
        for (const Majorness majorness : {Majorness::k, Majorness::mn}) {
            const MatrixDescriptor matrix =
                decode_matrix_descriptor(encode_descriptor(1024, 2048, 4096, bits));
            const OperandTile tile{majorness, 2, 16, 32, 16};
            std::vector<std::uint16_t> copy(32 * 16);
            REQUIRE(copy_tile(matrix, tile, bytes, copy.data()) == kInsideSharedMemory);
            std::uint32_t last = 0;
            for (unsigned row = 0; row < 32; ++row) {
                for (unsigned k = 0; k < 16; ++k) {
                    const std::uint32_t address =
                        canonical_address(majorness, bits, 2, 1024, 2048, 4096, 16 + row, k);
                    REQUIRE(copy[row * 16 + k] == memory[address / 2]);
                    last = std::max(last, address);
                }
            }
            CHECK(copy_tile(matrix, tile, bytes.first(last + 2), copy.data()) == kInsideSharedMemory);
            CHECK(copy_tile(matrix, tile, bytes.first(last), copy.data()) == last / 16 * 16);
        }
    }
}
