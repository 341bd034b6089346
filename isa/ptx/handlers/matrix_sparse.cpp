// mma.sp: half of A is stored, metadata says which half (PTX manual, "Sparse matrix storage").
//
// Indices are two bits each, lowest first, two to a chunk of four places. A place is an element of 8 or 16
// bits, a pair of 4-bit elements, or half of a tf32 element (whose two indices are then 0b0100 or 0b1110).
// Metadata lies in the words of some of a group's four lanes (the figures "metadata layout" of each shape).
// With group = lane / 4, for selector s:
//   f16, bf16, tf32  a word holds 16 bits for row `group`, then 16 bits for row `group` + 8; a row of 16 bits
//                    is in lane s, one of 32 bits in lanes 2 s and 2 s + 1
//   the others       a word holds 32 bits of a row: lanes 2 s and 2 s + 1 those of rows `group` and
//                    `group` + 8; a row of 64 bits goes on in lanes 2 and 3
//
// The sum of an output element is the dense unit's over the stored elements, k ascending, L of them to a
// block. That is the dense unit of twice the block length over A with its zeros, as the hardware's throughput
// suggests: a product with a zero moves neither the alignment nor the sum. What B holds opposite a zero is
// not looked at, be it NaN. Not confirmed on a GPU, nor is Hopper's way with fp8, taken to be that of its
// dense mma.
#include "isa/numerics/dot_product_unit.h"
#include "isa/ptx/handlers/matrix_arithmetic.h"
#include "isa/ptx/matrix_instruction.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

using numerics::Format;

constexpr unsigned kRows = 16, kColumns = 8;

enum class Storage : std::uint8_t {
    words_of_two_rows,  ///< f16, bf16, tf32
    words_of_one_row,   ///< 8 and 4 bits
};

// The metadata of one row, from the lowest index on. `row_bits`: 16, 32 or 64.
std::uint64_t row_metadata(const std::uint32_t* words, Storage storage, unsigned row_bits, unsigned selector,
                           unsigned row) {
    const unsigned first_lane = 4 * (row % 8), lower = row / 8;
    if (storage == Storage::words_of_one_row) {
        std::uint64_t bits = words[first_lane + 2 * selector % 4 + lower];
        if (row_bits == 64) bits |= static_cast<std::uint64_t>(words[first_lane + 2 + lower]) << 32;
        return bits;
    }
    const auto half = [&](unsigned lane) { return words[first_lane + lane % 4] >> (16 * lower) & 0xFFFFu; };
    if (row_bits == 16) return half(selector);
    return half(2 * selector) | half(2 * selector + 1) << 16;
}

// For the stored elements of one row, their k. kBits: of an element.
template <unsigned kBits, unsigned kDepth>
void find_places(std::uint64_t metadata, std::uint8_t (&k)[kDepth / 2]) {
    for (unsigned i = 0; i < kDepth / 2; ++i) {
        if constexpr (kBits == 32) {
            const auto place = static_cast<unsigned>(metadata >> (4 * i) & 3u);
            k[i] = static_cast<std::uint8_t>(2 * i + place / 2);
        } else if constexpr (kBits == 4) {
            const unsigned pair = i / 2;
            const auto place = static_cast<unsigned>(metadata >> (2 * pair) & 3u);
            k[i] = static_cast<std::uint8_t>(8 * (pair / 2) + 2 * place + i % 2);
        } else {
            const auto place = static_cast<unsigned>(metadata >> (2 * i) & 3u);
            k[i] = static_cast<std::uint8_t>(4 * (i / 2) + place);
        }
    }
}

template <unsigned kBits, unsigned kDepth>
constexpr unsigned kRowBits = kBits == 32  ? 2 * kDepth
                              : kBits == 4 ? kDepth / 2
                                           : kDepth;

// For each row, the elements of B that meet stored elements of A: `multiply(row, a, b)`.
template <unsigned kBits, unsigned kDepth, class A, class B, class Multiply>
void for_each_row(State& warp, const Decoded& i, const A (&a)[kRows][kDepth / 2],
                  const B (&b)[kColumns][kDepth], Multiply multiply) {
    constexpr Storage kStorage = kBits >= 16 ? Storage::words_of_two_rows : Storage::words_of_one_row;
    const std::uint32_t* metadata = words<std::uint32_t>(warp, i.operand[4]);
    for (unsigned row = 0; row < kRows; ++row) {
        std::uint8_t k[kDepth / 2];
        find_places<kBits, kDepth>(
            row_metadata(metadata, kStorage, kRowBits<kBits, kDepth>, i.immediate, row), k);
        B met[kColumns][kDepth / 2];
        for (unsigned column = 0; column < kColumns; ++column) {
            for (unsigned n = 0; n < kDepth / 2; ++n) met[column][n] = b[column][k[n]];
        }
        multiply(row, &a[row][0], &met[0][0]);
    }
}

template <Format kA, Format kB, class Sum, unsigned kDepth>
void multiply(State& warp, const Decoded& i, std::uint32_t mask) {
    require_whole_warp(warp, mask);
    PackedMatrix<StorageOf<kA>, kRows, kDepth / 2> a;
    PackedMatrix<StorageOf<kB>, kColumns, kDepth> b;
    Accumulators<Sum, kRows, kColumns> sums;
    a.read(warp, i.operand[1]);
    b.read(warp, i.operand[2]);
    sums.read(warp, i.operand[3]);
    const auto parameters = tensor_core<kA, kB, Sum>(warp);
    for_each_row<numerics::traits(kA).storage_bits, kDepth>(
        warp, i, a.element, b.element, [&](unsigned row, const auto* x, const auto* y) {
            numerics::matrix_multiply_accumulate(parameters, 1, kColumns, kDepth / 2, x, y, sums.element[row],
                                                 sums.element[row]);
        });
    sums.write(warp, i.operand[0]);
}

template <class A, class B, bool kSaturate, unsigned kDepth>
void multiply_bytes(State& warp, const Decoded& i, std::uint32_t mask) {
    require_whole_warp(warp, mask);
    PackedMatrix<A, kRows, kDepth / 2> a;
    PackedMatrix<B, kColumns, kDepth> b;
    PairedMatrix<std::int32_t, kRows, kColumns> sums;
    a.read(warp, i.operand[1]);
    b.read(warp, i.operand[2]);
    sums.read(warp, i.operand[3]);
    for_each_row<8, kDepth>(warp, i, a.element, b.element, [&](unsigned row, const A* x, const B* y) {
        numerics::matrix_multiply_accumulate_int8(1, kColumns, kDepth / 2, x, y, sums.element[row],
                                                  sums.element[row], kSaturate);
    });
    sums.write(warp, i.operand[0]);
}

template <bool kSignedA, bool kSignedB, bool kSaturate, unsigned kDepth>
void multiply_nibbles(State& warp, const Decoded& i, std::uint32_t mask) {
    require_whole_warp(warp, mask);
    PackedMatrix<std::uint32_t, kRows, kDepth / 16> a;
    PackedMatrix<std::uint32_t, kColumns, kDepth / 8> b;
    PairedMatrix<std::int32_t, kRows, kColumns> sums;
    a.read(warp, i.operand[1]);
    b.read(warp, i.operand[2]);
    sums.read(warp, i.operand[3]);
    std::int8_t wide_a[kRows][kDepth / 2], wide_b[kColumns][kDepth];
    numerics::unpack_int4({&a.element[0][0], kRows * kDepth / 16}, kSignedA, &wide_a[0][0]);
    numerics::unpack_int4({&b.element[0][0], kColumns * kDepth / 8}, kSignedB, &wide_b[0][0]);
    for_each_row<4, kDepth>(
        warp, i, wide_a, wide_b, [&](unsigned row, const std::int8_t* x, const std::int8_t* y) {
            numerics::matrix_multiply_accumulate_int8(1, kColumns, kDepth / 2, x, y, sums.element[row],
                                                      sums.element[row], kSaturate);
        });
    sums.write(warp, i.operand[0]);
}

template <Format kA, class Sum>
Handler choose_depth(unsigned k) {
    if constexpr (kA == Format::tf32)
        return k == 8 ? multiply<kA, kA, Sum, 8> : multiply<kA, kA, Sum, 16>;
    else
        return k == 16 ? multiply<kA, kA, Sum, 16> : multiply<kA, kA, Sum, 32>;
}

Handler choose_fp8(const MatrixTypes& types) {
    constexpr Format kE4m3 = Format::e4m3, kE5m2 = Format::e5m2;
    if (types.a == Type::e4m3) {
        return types.b == Type::e4m3 ? multiply<kE4m3, kE4m3, float, 64> : multiply<kE4m3, kE5m2, float, 64>;
    }
    return types.b == Type::e4m3 ? multiply<kE5m2, kE4m3, float, 64> : multiply<kE5m2, kE5m2, float, 64>;
}

template <class A, class B, bool kSaturate>
Handler choose_bytes(unsigned k) {
    return k == 32 ? multiply_bytes<A, B, kSaturate, 32> : multiply_bytes<A, B, kSaturate, 64>;
}
template <bool kSaturate>
Handler choose_bytes(const MatrixTypes& types, unsigned k) {
    using U = std::uint8_t;
    using S = std::int8_t;
    if (types.a == Type::s8)
        return types.b == Type::s8 ? choose_bytes<S, S, kSaturate>(k) : choose_bytes<S, U, kSaturate>(k);
    return types.b == Type::s8 ? choose_bytes<U, S, kSaturate>(k) : choose_bytes<U, U, kSaturate>(k);
}

template <bool kSignedA, bool kSignedB, bool kSaturate>
Handler choose_nibbles(unsigned k) {
    return k == 64 ? multiply_nibbles<kSignedA, kSignedB, kSaturate, 64>
                   : multiply_nibbles<kSignedA, kSignedB, kSaturate, 128>;
}
template <bool kSaturate>
Handler choose_nibbles(const MatrixTypes& types, unsigned k) {
    const bool b = types.b == Type::s4;
    if (types.a == Type::s4)
        return b ? choose_nibbles<true, true, kSaturate>(k) : choose_nibbles<true, false, kSaturate>(k);
    return b ? choose_nibbles<false, true, kSaturate>(k) : choose_nibbles<false, false, kSaturate>(k);
}

}  // namespace

Handler select_sparse_multiply(const Instruction& instruction) {
    const MatrixTypes types = matrix_types(instruction);
    const unsigned k = instruction.shape.depth;
    const bool saturates = instruction.has(Modifier::satfinite);
    switch (types.a) {
        case Type::f16:
            return types.d == Type::f16 ? choose_depth<Format::fp16, std::uint16_t>(k)
                                        : choose_depth<Format::fp16, float>(k);
        case Type::bf16:
            return choose_depth<Format::bf16, float>(k);
        case Type::tf32:
            return choose_depth<Format::tf32, float>(k);
        case Type::e4m3:
        case Type::e5m2:
            return choose_fp8(types);
        case Type::s8:
        case Type::u8:
            return saturates ? choose_bytes<true>(types, k) : choose_bytes<false>(types, k);
        case Type::s4:
        case Type::u4:
            return saturates ? choose_nibbles<true>(types, k) : choose_nibbles<false>(types, k);
        default:
            return nullptr;
    }
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
