// Routines of complex numbers: a complex vector or matrix is two real ones, whose elements lie two apart, and its products are those of gemm.
#pragma once

#include "driver/cublas/handle.h"

namespace heddle::driver {

/// The two parts of a complex vector or matrix.
struct Parts {
    StridedOperand real, imaginary;
};

/// `type`: of the parts. Distances are in complex elements.
Parts complex_vector(const void* x, std::int64_t count, std::int64_t increment, Number type);
Parts complex_matrix(std::uint64_t address, std::int64_t leading, Number type, bool transposed = false, std::int64_t stride = 0);

/// What a complex gemm gets; transposition 2 conjugates, too.
struct ComplexGemm {
    const char* name;
    Enumeration transa, transb;
    std::int64_t m, n, k, batch = 1;
    Number type;  ///< of the parts
    std::uint64_t a = 0;
    std::int64_t lda = 0, stride_a = 0;
    std::uint64_t b = 0;
    std::int64_t ldb = 0, stride_b = 0;
    std::uint64_t c = 0;
    std::int64_t ldc = 0, stride_c = 0;
    const void *alpha = nullptr, *beta = nullptr;
};
/// C = alpha op(A) op(B) + beta C, by four real products of the parts.
cublasStatus_t complex_gemm(cublasHandle_t handle, const ComplexGemm& gemm);

}  // namespace heddle::driver
