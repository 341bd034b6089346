#include "validation/capture/sections/matrix_vectors.h"

#include <stdexcept>
#include <string>

#include "isa/numerics/counter_random.h"

namespace heddle::capture {
namespace {

using numerics::Distribution;

constexpr std::uint64_t kSeed = 0x70726F626573u;  // "probes"

Distribution distribution_of(VectorKind kind, unsigned stream) {
    switch (kind) {
        case VectorKind::wide:
            return Distribution::wide;
        case VectorKind::cancellation:
            return stream == 0 ? Distribution::cancellation : Distribution::pairs;
        case VectorKind::subnormal:
            return stream == 1 ? Distribution::normal : Distribution::subnormal;
        case VectorKind::specials:
            return Distribution::specials;
        default:
            return Distribution::normal;
    }
}

}  // namespace

const char* name_of(VectorKind kind) {
    static constexpr const char* kNames[] = {"normal",    "wide",     "cancellation",
                                             "subnormal", "specials", "any bits"};
    return kNames[static_cast<std::size_t>(kind)];
}

VectorKind vector_kind_of(const std::string& name) {
    for (const VectorKind kind : kVectorKinds)
        if (name == name_of(kind)) return kind;
    throw std::invalid_argument("no such kind of vectors: " + name);
}

std::vector<std::uint64_t> random_elements(Element element, VectorKind kind, unsigned stream,
                                           std::size_t first, std::size_t count) {
    // A stream of its own for each type and kind.
    const std::uint64_t seed = numerics::stream_seed(
        kSeed, (static_cast<std::uint64_t>(element) * 16 + static_cast<std::uint64_t>(kind)) * 4 + stream);
    const auto format = format_of(element);
    const unsigned bits = bits_of(element);
    std::vector<std::uint64_t> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        if (format && kind != VectorKind::any_bits) {
            values[i] = numerics::random_element(*format, distribution_of(kind, stream), seed, first + i);
        } else {
            values[i] = numerics::random_bits(seed, first + i) >> (64 - bits);
        }
    }
    return values;
}

DotProducts random_products(const MatrixInstruction& instruction, VectorKind kind, std::size_t rows,
                            unsigned steps) {
    DotProducts products;
    products.k = instruction.k * steps;
    products.a = random_elements(instruction.a, kind, 0, 0, rows * products.k);
    products.b = random_elements(instruction.b, kind, 1, 0, rows * products.k);
    products.c = random_elements(instruction.sum, kind, 2, 0, rows);
    return products;
}

RandomTiles random_tiles(const MatrixInstruction& i, VectorKind kind, std::size_t tiles) {
    RandomTiles random;
    random.a = random_elements(i.a, kind, 0, 0, tiles * i.m * i.stored_k());
    random.b = random_elements(i.b, kind, 1, 0, tiles * i.n * i.k);
    random.c = random_elements(i.sum, kind, 2, 0, tiles * i.m * i.n);
    if (i.kind != MatrixInstruction::Kind::sparse) return random;

    static constexpr std::uint8_t kPairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    const unsigned bits = bits_of(i.a), chunk = bits == 32 ? 2 : bits == 4 ? 8 : 4;
    const std::uint64_t seed = numerics::stream_seed(kSeed, 4096 + i.k);
    std::uint64_t next = 0;
    for (std::size_t n = 0; n < tiles * i.m; ++n) {
        SparseRow row;
        for (unsigned k = 0; k < i.k; k += chunk) {
            const std::uint64_t random_word = numerics::random_bits(seed, next++) >> 32;
            if (bits == 32) {
                row.push_back(static_cast<std::uint8_t>(k + random_word % 2));
                continue;
            }
            for (const std::uint8_t place : kPairs[random_word % 6]) {
                row.push_back(static_cast<std::uint8_t>(bits == 4 ? k + 2 * place : k + place));
                if (bits == 4) row.push_back(static_cast<std::uint8_t>(k + 2 * place + 1));
            }
        }
        random.rows.push_back(std::move(row));
    }
    return random;
}

}  // namespace heddle::capture
