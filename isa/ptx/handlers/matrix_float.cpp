// mma and wmma.mma on floating-point numbers. The arithmetic is isa/numerics' definition of the tensor core.
//
// wmma.mma may take C in f16 and give D in f32, or the reverse. No measurement of these is published. C is
// widened, which is exact, and the sum is one of f32; D is rounded from that to nearest even.
#include "isa/numerics/dot_product_unit.h"
#include "isa/ptx/handlers/matrix_arithmetic.h"
#include "isa/ptx/matrix_instruction.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

using numerics::Format;

template <class To, class From, unsigned kRows, unsigned kColumns>
void convert_sums(const From (&from)[kRows][kColumns], To (&to)[kRows][kColumns]) {
    for (unsigned row = 0; row < kRows; ++row) {
        for (unsigned column = 0; column < kColumns; ++column) {
            if constexpr (sizeof(To) > sizeof(From))
                to[row][column] = numerics::fp16_to_fp32(from[row][column]);
            else
                to[row][column] = numerics::fp32_to_fp16(from[row][column]);
        }
    }
}

// C and D are the storage of f16 (std::uint16_t) or f32.
template <Format kA, Format kB, class C, class D, unsigned kRows, unsigned kColumns, unsigned kDepth>
void multiply(State& warp, const Decoded& i, std::uint32_t mask) {
    require_whole_warp(warp, mask);
    using Input = StorageOf<kA>;
    using Sum = std::conditional_t<std::is_same_v<C, D>, C, float>;
    PackedMatrix<Input, kRows, kDepth> a;
    PackedMatrix<Input, kColumns, kDepth> b;
    Accumulators<Sum, kRows, kColumns> sums;
    a.read(warp, i.operand[1]);
    b.read(warp, i.operand[2]);
    if constexpr (std::is_same_v<C, Sum>) {
        sums.read(warp, i.operand[3]);
    } else {
        Accumulators<C, kRows, kColumns> c;
        c.read(warp, i.operand[3]);
        convert_sums(c.element, sums.element);
    }
    const auto parameters = tensor_core<kA, kB, Sum>(warp);
    numerics::matrix_multiply_accumulate(parameters, kRows, kColumns, kDepth, &a.element[0][0],
                                         &b.element[0][0], &sums.element[0][0], &sums.element[0][0]);
    if constexpr (std::is_same_v<D, Sum>) {
        sums.write(warp, i.operand[0]);
    } else {
        Accumulators<D, kRows, kColumns> d;
        convert_sums(sums.element, d.element);
        d.write(warp, i.operand[0]);
    }
}

template <unsigned kRows, unsigned kColumns, unsigned kDepth, numerics::Rounding kRounding>
void multiply_doubles(State& warp, const Decoded& i, std::uint32_t mask) {
    require_whole_warp(warp, mask);
    PackedMatrix<double, kRows, kDepth> a;
    PackedMatrix<double, kColumns, kDepth> b;
    Accumulators<double, kRows, kColumns> sums;
    a.read(warp, i.operand[1]);
    b.read(warp, i.operand[2]);
    sums.read(warp, i.operand[3]);
    numerics::matrix_multiply_accumulate_fp64(kRows, kColumns, kDepth, &a.element[0][0], &b.element[0][0],
                                              &sums.element[0][0], &sums.element[0][0], kRounding);
    sums.write(warp, i.operand[0]);
}

template <unsigned kRows, unsigned kColumns, unsigned kDepth>
Handler choose_doubles(const Instruction& n) {
    using numerics::Rounding;
    if (n.has(Modifier::rz)) return multiply_doubles<kRows, kColumns, kDepth, Rounding::toward_zero>;
    if (n.has(Modifier::rm)) return multiply_doubles<kRows, kColumns, kDepth, Rounding::down>;
    if (n.has(Modifier::rp)) return multiply_doubles<kRows, kColumns, kDepth, Rounding::up>;
    return multiply_doubles<kRows, kColumns, kDepth, Rounding::nearest_even>;
}

Handler choose_doubles(const Instruction& n, MatrixShape shape) {
    if (shape.rows == 8) return choose_doubles<8, 8, 4>(n);
    if (shape.depth == 4) return choose_doubles<16, 8, 4>(n);
    return shape.depth == 8 ? choose_doubles<16, 8, 8>(n) : choose_doubles<16, 8, 16>(n);
}

template <unsigned kRows, unsigned kColumns, unsigned kDepth>
Handler choose_halves(Type c, Type d) {
    constexpr Format kIn = Format::fp16;
    using Half = std::uint16_t;
    if (c == Type::f16 && d == Type::f16) return multiply<kIn, kIn, Half, Half, kRows, kColumns, kDepth>;
    if (c == Type::f32 && d == Type::f32) return multiply<kIn, kIn, float, float, kRows, kColumns, kDepth>;
    if (c == Type::f16) return multiply<kIn, kIn, Half, float, kRows, kColumns, kDepth>;
    return multiply<kIn, kIn, float, Half, kRows, kColumns, kDepth>;
}

Handler choose_halves(MatrixShape shape, Type c, Type d) {
    if (shape == MatrixShape{16, 8, 16}) return choose_halves<16, 8, 16>(c, d);
    if (shape == MatrixShape{16, 8, 8}) return choose_halves<16, 8, 8>(c, d);
    if (shape == MatrixShape{16, 16, 16}) return choose_halves<16, 16, 16>(c, d);
    if (shape == MatrixShape{8, 32, 16}) return choose_halves<8, 32, 16>(c, d);
    if (shape == MatrixShape{32, 8, 16}) return choose_halves<32, 8, 16>(c, d);
    return nullptr;
}

Handler choose_bfloats(MatrixShape shape) {
    constexpr Format kIn = Format::bf16;
    if (shape == MatrixShape{16, 8, 16}) return multiply<kIn, kIn, float, float, 16, 8, 16>;
    if (shape == MatrixShape{16, 8, 8}) return multiply<kIn, kIn, float, float, 16, 8, 8>;
    if (shape == MatrixShape{16, 16, 16}) return multiply<kIn, kIn, float, float, 16, 16, 16>;
    if (shape == MatrixShape{8, 32, 16}) return multiply<kIn, kIn, float, float, 8, 32, 16>;
    if (shape == MatrixShape{32, 8, 16}) return multiply<kIn, kIn, float, float, 32, 8, 16>;
    return nullptr;
}

Handler choose_tf32(MatrixShape shape) {
    constexpr Format kIn = Format::tf32;
    if (shape == MatrixShape{16, 8, 4}) return multiply<kIn, kIn, float, float, 16, 8, 4>;
    if (shape == MatrixShape{16, 8, 8}) return multiply<kIn, kIn, float, float, 16, 8, 8>;
    if (shape == MatrixShape{16, 16, 8}) return multiply<kIn, kIn, float, float, 16, 16, 8>;
    return nullptr;
}

template <Format kA, Format kB>
Handler choose_fp8(MatrixShape shape, Type d) {
    using Half = std::uint16_t;
    if (shape.depth == 16) {
        return d == Type::f16 ? multiply<kA, kB, Half, Half, 16, 8, 16>
                              : multiply<kA, kB, float, float, 16, 8, 16>;
    }
    return d == Type::f16 ? multiply<kA, kB, Half, Half, 16, 8, 32>
                          : multiply<kA, kB, float, float, 16, 8, 32>;
}

Handler choose_fp8(const MatrixTypes& types, MatrixShape shape) {
    if (types.a == Type::e4m3) {
        return types.b == Type::e4m3 ? choose_fp8<Format::e4m3, Format::e4m3>(shape, types.d)
                                     : choose_fp8<Format::e4m3, Format::e5m2>(shape, types.d);
    }
    return types.b == Type::e4m3 ? choose_fp8<Format::e5m2, Format::e4m3>(shape, types.d)
                                 : choose_fp8<Format::e5m2, Format::e5m2>(shape, types.d);
}

}  // namespace

Handler select_float_multiply(const Instruction& instruction) {
    const MatrixShape shape = instruction.shape;
    const MatrixTypes types = matrix_types(instruction);
    switch (types.a) {
        case Type::f16:
            return choose_halves(shape, types.c, types.d);
        case Type::bf16:
            return choose_bfloats(shape);
        case Type::tf32:
            return choose_tf32(shape);
        case Type::e4m3:
        case Type::e5m2:
            return choose_fp8(types, shape);
        case Type::f64:
            return choose_doubles(instruction, shape);
        default:
            return nullptr;
    }
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
