// What the stand-ins for cuBLAS ask of the virtual GPU (Call::blas): a matrix product, or one of three simple kinds of kernels of which
// all other routines are made. Matrices are as BLAS has them: column-major, with leading dimensions in elements.
#pragma once

#include <cstdint>

namespace heddle::driver {

/// Types of elements in device memory.
enum class Number : std::uint32_t { f64, f32, f16, bf16, e4m3, e5m2, i64, i32, i8, u8 };

/// A scalar: `value`, or what is at `address` in memory when the call is carried out.
struct Factor {
    double value = 1;
    std::uint64_t address = 0;  ///< 0: `value` counts
    Number type = Number::f32;  ///< of what is at `address`
};

enum class BlasKind : std::uint32_t { product, map, reduce, solve };

/// Before each of the requests below.
struct BlasHeader {
    std::uint32_t stream = 0;
    BlasKind kind = BlasKind::product;
    std::uint32_t only_check = 0;  ///< nothing is launched: the answer's status says whether it could be
    char name[36] = {};            ///< of the routine, for reports: "cublasSgemm"
};

/// A matrix of a product. The address of entry i of a batch is `address` + i * `stride` elements, or number i of the addresses
/// that lie at `pointers` in device memory.
struct ProductOperand {
    std::uint64_t address = 0, pointers = 0;
    std::int64_t leading = 0, stride = 0;
    Number type = Number::f32;
    std::uint32_t transposed = 0;
};

/// Numbers as those of cublasLtEpilogue_t, of which the others are combinations.
enum class Activation : std::uint32_t { none, relu, gelu, gelu_gradient };

/// D = activation(alpha op(A) op(B) + beta C + bias), D of m rows and n columns, k products in a sum; bias: one value for each row.
/// With `auxiliary` the value before the activation is stored there, or, with gelu_gradient, read from there: D = the sum times the
/// gradient of GELU at it.
struct ProductRequest {
    std::uint32_t m = 0, n = 0, k = 0, batch = 1;
    ProductOperand a, b, c, d;
    Factor alpha, beta;
    Factor scale_a, scale_b, scale_d;  ///< of 8-bit floats: further factors of the operands and of D
    std::uint32_t tf32 = 0;            ///< operands of f32 may be read as tf32
    Activation activation = Activation::none;
    std::uint64_t bias = 0;  ///< 0: there is none
    Number bias_type = Number::f32;
    ProductOperand auxiliary;
};

/// Distances are in elements, and may be negative.
struct StridedOperand {
    std::uint64_t address = 0;
    std::int64_t row = 0, column = 0, batch = 0;
    Number type = Number::f32;
};

constexpr unsigned kMostOperands = 6, kMostFactors = 4;

/// Numbers as those of heddle::kernels::MatrixPart.
enum class Part : std::uint32_t { all, lower, upper, strictly_lower, strictly_upper };

/// outputs = expression(inputs, factors), element for element (kernels::StridedMapSpec). The text of the expression follows.
struct MapRequest {
    std::uint32_t rows = 0, columns = 1, batch = 1;
    Part part = Part::all;
    std::uint32_t outputs = 0, inputs = 0, factors = 0;
    StridedOperand output[kMostOperands], input[kMostOperands];
    Factor factor[kMostFactors];
};

/// y(o) = finish(sum over r of terms(inputs)), or a position (kernels::StridedReduceSpec). In operands `row` is along o and
/// `column` along r. The texts of `terms` and `finish`, which may be empty, follow.
struct ReduceRequest {
    std::uint32_t outputs = 1, extent = 0, batch = 1;
    std::uint32_t position = 0;  ///< 0: the sum; 1: where the largest is; 2: where the smallest is
    std::uint32_t inputs = 0, factors = 0;
    StridedOperand output, input[kMostOperands];
    Factor factor[kMostFactors];
};

/// L X = alpha B for a lower triangular L, in place of B: `l` is addressed by row and column, `x` by row and right-hand side.
struct SolveRequest {
    std::uint32_t order = 0, sides = 0, batch = 1;
    std::uint32_t unit_diagonal = 0;
    StridedOperand l, x;
    Factor alpha;
};

}  // namespace heddle::driver
