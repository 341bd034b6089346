// mma and wmma.mma on integers and on single bits. The arithmetic is isa/numerics' definition of the tensor
// core.
#include "isa/numerics/dot_product_unit.h"
#include "isa/ptx/handlers/fragments.h"
#include "isa/ptx/matrix_instruction.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

// A and B: std::int8_t or std::uint8_t.
template <class A, class B, bool kSaturate, unsigned kRows, unsigned kColumns, unsigned kDepth>
void multiply_bytes(State& warp, const Decoded& i, std::uint32_t mask) {
    require_whole_warp(warp, mask);
    PackedMatrix<A, kRows, kDepth> a;
    PackedMatrix<B, kColumns, kDepth> b;
    PairedMatrix<std::int32_t, kRows, kColumns> sums;
    a.read(warp, i.operand[1]);
    b.read(warp, i.operand[2]);
    sums.read(warp, i.operand[3]);
    numerics::matrix_multiply_accumulate_int8(kRows, kColumns, kDepth, &a.element[0][0], &b.element[0][0],
                                              &sums.element[0][0], &sums.element[0][0], kSaturate);
    sums.write(warp, i.operand[0]);
}

// Four bits each, as words of eight.
template <bool kSignedA, bool kSignedB, bool kSaturate, unsigned kRows, unsigned kColumns, unsigned kDepth>
void multiply_nibbles(State& warp, const Decoded& i, std::uint32_t mask) {
    require_whole_warp(warp, mask);
    PackedMatrix<std::uint32_t, kRows, kDepth / 8> a;
    PackedMatrix<std::uint32_t, kColumns, kDepth / 8> b;
    PairedMatrix<std::int32_t, kRows, kColumns> sums;
    a.read(warp, i.operand[1]);
    b.read(warp, i.operand[2]);
    sums.read(warp, i.operand[3]);
    std::int8_t wide_a[kRows][kDepth], wide_b[kColumns][kDepth];
    numerics::unpack_int4({&a.element[0][0], kRows * kDepth / 8}, kSignedA, &wide_a[0][0]);
    numerics::unpack_int4({&b.element[0][0], kColumns * kDepth / 8}, kSignedB, &wide_b[0][0]);
    numerics::matrix_multiply_accumulate_int8(kRows, kColumns, kDepth, &wide_a[0][0], &wide_b[0][0],
                                              &sums.element[0][0], &sums.element[0][0], kSaturate);
    sums.write(warp, i.operand[0]);
}

template <numerics::BitOperation kOperation, unsigned kRows, unsigned kColumns, unsigned kDepth>
void multiply_bits(State& warp, const Decoded& i, std::uint32_t mask) {
    require_whole_warp(warp, mask);
    PackedMatrix<std::uint32_t, kRows, kDepth / 32> a;
    PackedMatrix<std::uint32_t, kColumns, kDepth / 32> b;
    PairedMatrix<std::int32_t, kRows, kColumns> sums;
    a.read(warp, i.operand[1]);
    b.read(warp, i.operand[2]);
    sums.read(warp, i.operand[3]);
    numerics::matrix_multiply_accumulate_bits(kRows, kColumns, kDepth / 32, &a.element[0][0],
                                              &b.element[0][0], &sums.element[0][0], &sums.element[0][0],
                                              kOperation);
    sums.write(warp, i.operand[0]);
}

template <bool kSaturate, unsigned kRows, unsigned kColumns, unsigned kDepth>
Handler choose_bytes(const MatrixTypes& types) {
    using U = std::uint8_t;
    using S = std::int8_t;
    if (types.a == Type::s8) {
        return types.b == Type::s8 ? multiply_bytes<S, S, kSaturate, kRows, kColumns, kDepth>
                                   : multiply_bytes<S, U, kSaturate, kRows, kColumns, kDepth>;
    }
    return types.b == Type::s8 ? multiply_bytes<U, S, kSaturate, kRows, kColumns, kDepth>
                               : multiply_bytes<U, U, kSaturate, kRows, kColumns, kDepth>;
}

template <bool kSaturate>
Handler choose_bytes(MatrixShape shape, const MatrixTypes& types) {
    if (shape == MatrixShape{8, 8, 16}) return choose_bytes<kSaturate, 8, 8, 16>(types);
    if (shape == MatrixShape{16, 8, 16}) return choose_bytes<kSaturate, 16, 8, 16>(types);
    if (shape == MatrixShape{16, 8, 32}) return choose_bytes<kSaturate, 16, 8, 32>(types);
    if (shape == MatrixShape{16, 16, 16}) return choose_bytes<kSaturate, 16, 16, 16>(types);
    if (shape == MatrixShape{8, 32, 16}) return choose_bytes<kSaturate, 8, 32, 16>(types);
    if (shape == MatrixShape{32, 8, 16}) return choose_bytes<kSaturate, 32, 8, 16>(types);
    return nullptr;
}

template <bool kSaturate, unsigned kRows, unsigned kColumns, unsigned kDepth>
Handler choose_nibbles(const MatrixTypes& types) {
    if (types.a == Type::s4) {
        return types.b == Type::s4 ? multiply_nibbles<true, true, kSaturate, kRows, kColumns, kDepth>
                                   : multiply_nibbles<true, false, kSaturate, kRows, kColumns, kDepth>;
    }
    return types.b == Type::s4 ? multiply_nibbles<false, true, kSaturate, kRows, kColumns, kDepth>
                               : multiply_nibbles<false, false, kSaturate, kRows, kColumns, kDepth>;
}

template <bool kSaturate>
Handler choose_nibbles(MatrixShape shape, const MatrixTypes& types) {
    if (shape.rows == 8) return choose_nibbles<kSaturate, 8, 8, 32>(types);
    return shape.depth == 32 ? choose_nibbles<kSaturate, 16, 8, 32>(types)
                             : choose_nibbles<kSaturate, 16, 8, 64>(types);
}

template <numerics::BitOperation kOperation>
Handler choose_bits(MatrixShape shape) {
    if (shape.rows == 8) return multiply_bits<kOperation, 8, 8, 128>;
    return shape.depth == 128 ? multiply_bits<kOperation, 16, 8, 128> : multiply_bits<kOperation, 16, 8, 256>;
}

}  // namespace

Handler select_integer_multiply(const Instruction& instruction) {
    using numerics::BitOperation;
    const MatrixShape shape = instruction.shape;
    const MatrixTypes types = matrix_types(instruction);
    const bool saturates = instruction.has(Modifier::satfinite);
    switch (types.a) {
        case Type::s8:
        case Type::u8:
            return saturates ? choose_bytes<true>(shape, types) : choose_bytes<false>(shape, types);
        case Type::s4:
        case Type::u4:
            return saturates ? choose_nibbles<true>(shape, types) : choose_nibbles<false>(shape, types);
        case Type::b1:
            return instruction.has(Modifier::xor_) ? choose_bits<BitOperation::exclusive_or>(shape)
                                                   : choose_bits<BitOperation::conjunction>(shape);
        default:
            return nullptr;
    }
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
