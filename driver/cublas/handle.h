// What a cublasHandle_t leads to.
#pragma once

#include "driver/cublas/call.h"

struct cublasContext {
    CUstream stream = nullptr;
    Enumeration pointer_mode = 0, math_mode = 0, atomics = 0;
    int sm_target = 0;
    /// Device memory for results that go to the host, and for matrices between two kernels.
    CUdeviceptr result = 0, workspace = 0;
    std::size_t workspace_bytes = 0;

    bool on_device() const { return pointer_mode == kPointersOnDevice; }
    bool tf32() const { return (math_mode & 0xf) == kMathTf32 || (math_mode & 0xf) == kMathTensor; }
    heddle::driver::Factor factor(const void* value, heddle::driver::Number type) const { return heddle::driver::factor_of(value, type, on_device()); }
    /// At least so many bytes, which the next call that asks for any may overwrite. 0: there is no memory.
    CUdeviceptr workspace_of(std::size_t bytes);
    /// Where a kernel puts a result: `result` itself where it is in device memory, else memory of ours, which fetch() brings over.
    CUdeviceptr place_for(const void* result_pointer);
    cublasStatus_t fetch(void* result_pointer, std::size_t bytes);
};
using cublasHandle_t = cublasContext*;

namespace heddle::driver {

/// Types of the routines of BLAS.
template <class T>
constexpr Number kNumber = Number::f32;
template <>
constexpr Number kNumber<double> = Number::f64;

/// A vector with an increment, which begins at its last element where that is negative.
template <class Int>
StridedOperand vector_operand(const void* x, Int count, Int increment, Number type) {
    const std::int64_t first = increment < 0 ? (1 - std::int64_t{count}) * increment : 0;
    return {address_of(x) + static_cast<std::uint64_t>(first * bytes_of(type)), increment, 0, 0, type};
}
inline StridedOperand matrix_operand(std::uint64_t address, std::int64_t leading, Number type, bool transposed = false) {
    StridedOperand operand{address, 1, leading, 0, type};
    if (transposed) {
        operand.row = leading;
        operand.column = 1;
    }
    return operand;
}

/// Extents beyond the kernels' 31 bits.
inline bool too_large(std::int64_t extent) { return extent > 0x7fffffff; }

}  // namespace heddle::driver
