// Products of matrices: gemm in all its forms.
#include <algorithm>

#include "driver/cublas/complex.h"

using namespace heddle::driver;

namespace {

/// One of A, B and C as a routine gets it: one address, an array of addresses in device memory, or one address and a distance.
struct Given {
    const void* address = nullptr;
    const void* const* addresses = nullptr;
    Number type = Number::f32;
    std::int64_t leading = 0, stride = 0;
};

struct Gemm {
    const char* name;
    Enumeration transa, transb;
    std::int64_t m, n, k, batch = 1;
    Given a, b, c;
    const void *alpha, *beta;
    Number scale = Number::f32;
    bool tf32 = false;
};

ProductOperand operand_of(const Given& given, Enumeration transpose) {
    ProductOperand operand;
    operand.address = address_of(given.address);
    operand.pointers = address_of(given.addresses);
    operand.leading = given.leading;
    operand.stride = given.stride;
    operand.type = given.type;
    operand.transposed = transpose != 0;
    return operand;
}

cublasStatus_t multiply(cublasHandle_t handle, const Gemm& gemm) {
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    const bool a_turned = gemm.transa != 0, b_turned = gemm.transb != 0;
    if (gemm.m < 0 || gemm.n < 0 || gemm.k < 0 || gemm.batch < 0 || gemm.transa < 0 || gemm.transa > 2 || gemm.transb < 0 || gemm.transb > 2 ||
        gemm.alpha == nullptr || gemm.beta == nullptr || gemm.a.leading < std::max<std::int64_t>(1, a_turned ? gemm.k : gemm.m) ||
        gemm.b.leading < std::max<std::int64_t>(1, b_turned ? gemm.n : gemm.k) || gemm.c.leading < std::max<std::int64_t>(1, gemm.m))
        return CUBLAS_STATUS_INVALID_VALUE;
    for (const std::int64_t extent : {gemm.m, gemm.n, gemm.k, gemm.batch, gemm.a.leading, gemm.b.leading, gemm.c.leading})
        if (too_large(extent)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (gemm.m == 0 || gemm.n == 0 || gemm.batch == 0) return CUBLAS_STATUS_SUCCESS;
    ProductRequest request;
    request.m = static_cast<std::uint32_t>(gemm.m);
    request.n = static_cast<std::uint32_t>(gemm.n);
    request.k = static_cast<std::uint32_t>(gemm.k);
    request.batch = static_cast<std::uint32_t>(gemm.batch);
    request.a = operand_of(gemm.a, gemm.transa);
    request.b = operand_of(gemm.b, gemm.transb);
    request.c = request.d = operand_of(gemm.c, 0);
    request.alpha = handle->factor(gemm.alpha, gemm.scale);
    request.beta = handle->factor(gemm.beta, gemm.scale);
    request.tf32 = gemm.tf32;
    return send(gemm.name, handle->stream, BlasKind::product, request);
}

/// Whether a, b and c are complex numbers of f32 or of f64 (cudaDataType 4 and 5), and which.
bool are_complex(Enumeration a, Enumeration b, Enumeration c, Number* type) {
    *type = a == 5 ? Number::f64 : Number::f32;
    return (a == 4 || a == 5) && b == a && c == a;
}

/// The types of the Ex routines; false: there are none such.
bool take_types(Gemm& gemm, cublasHandle_t handle, Enumeration a, Enumeration b, Enumeration c, Enumeration compute) {
    const ComputeRules rules = compute_rules(compute);
    gemm.scale = rules.scale;
    gemm.tf32 = rules.tf32 || (compute == 68 && handle != nullptr && handle->tf32());
    if (!rules.known || !number_of(a, &gemm.a.type) || !number_of(b, &gemm.b.type) || !number_of(c, &gemm.c.type)) {
        heddle_missing("a matrix product of types that the kernel library does not have");
        return false;
    }
    return true;
}

}  // namespace

// Arguments of these macros are types and names, which parentheses would spoil.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define HEDDLE_GEMM(letter, T, element, Int, plain, suffix)                                                                                                                        \
    HEDDLE_API cublasStatus_t cublas##letter##gemm##plain##suffix(cublasHandle_t handle, Enumeration ta, Enumeration tb, Int m, Int n, Int k, const T* alpha, const T* a, Int lda, \
                                                                  const T* b, Int ldb, const T* beta, T* c, Int ldc) {                                                             \
        return multiply(handle, {"cublas" #letter "gemm", ta, tb, m, n, k, 1, {a, nullptr, element, lda}, {b, nullptr, element, ldb}, {c, nullptr, element, ldc}, alpha, beta,     \
                                 element, handle != nullptr && handle->tf32()});                                                                                                   \
    }                                                                                                                                                                              \
    HEDDLE_API cublasStatus_t cublas##letter##gemmStridedBatched##suffix(cublasHandle_t handle, Enumeration ta, Enumeration tb, Int m, Int n, Int k, const T* alpha, const T* a,   \
                                                                         Int lda, long long stride_a, const T* b, Int ldb, long long stride_b, const T* beta, T* c, Int ldc,       \
                                                                         long long stride_c, Int batch) {                                                                          \
        return multiply(handle, {"cublas" #letter "gemmStridedBatched", ta, tb, m, n, k, batch, {a, nullptr, element, lda, stride_a}, {b, nullptr, element, ldb, stride_b},        \
                                 {c, nullptr, element, ldc, stride_c}, alpha, beta, element, handle != nullptr && handle->tf32()});                                                \
    }                                                                                                                                                                              \
    HEDDLE_API cublasStatus_t cublas##letter##gemmBatched##suffix(cublasHandle_t handle, Enumeration ta, Enumeration tb, Int m, Int n, Int k, const T* alpha, const void* const* a, \
                                                                  Int lda, const void* const* b, Int ldb, const T* beta, void* const* c, Int ldc, Int batch) {                     \
        return multiply(handle, {"cublas" #letter "gemmBatched", ta, tb, m, n, k, batch, {nullptr, a, element, lda}, {nullptr, b, element, ldb}, {nullptr, c, element, ldc}, alpha, \
                                 beta, element, handle != nullptr && handle->tf32()});                                                                                             \
    }
HEDDLE_GEMM(S, float, Number::f32, int, _v2, )
HEDDLE_GEMM(S, float, Number::f32, std::int64_t, _v2, _64)
HEDDLE_GEMM(D, double, Number::f64, int, _v2, )
HEDDLE_GEMM(D, double, Number::f64, std::int64_t, _v2, _64)
HEDDLE_GEMM(H, std::uint16_t, Number::f16, int, , )
HEDDLE_GEMM(H, std::uint16_t, Number::f16, std::int64_t, , _64)
#undef HEDDLE_GEMM

#define HEDDLE_GEMM_EX(Int, suffix)                                                                                                                                                \
    HEDDLE_API cublasStatus_t cublasGemmEx##suffix(cublasHandle_t handle, Enumeration ta, Enumeration tb, Int m, Int n, Int k, const void* alpha, const void* a,                   \
                                                   Enumeration a_type, Int lda, const void* b, Enumeration b_type, Int ldb, const void* beta, void* c, Enumeration c_type,         \
                                                   Int ldc, Enumeration compute, Enumeration) {                                                                                    \
        if (Number type{}; are_complex(a_type, b_type, c_type, &type))                                                                                                             \
            return complex_gemm(handle, {"cublasGemmEx", ta, tb, m, n, k, 1, type, address_of(a), lda, 0, address_of(b), ldb, 0, address_of(c), ldc, 0, alpha, beta});             \
        Gemm gemm{"cublasGemmEx", ta, tb, m, n, k, 1, {a, nullptr, {}, lda}, {b, nullptr, {}, ldb}, {c, nullptr, {}, ldc}, alpha, beta};                                           \
        return take_types(gemm, handle, a_type, b_type, c_type, compute) ? multiply(handle, gemm) : CUBLAS_STATUS_NOT_SUPPORTED;                                                   \
    }                                                                                                                                                                              \
    HEDDLE_API cublasStatus_t cublasGemmStridedBatchedEx##suffix(cublasHandle_t handle, Enumeration ta, Enumeration tb, Int m, Int n, Int k, const void* alpha, const void* a,     \
                                                                 Enumeration a_type, Int lda, long long stride_a, const void* b, Enumeration b_type, Int ldb,                      \
                                                                 long long stride_b, const void* beta, void* c, Enumeration c_type, Int ldc, long long stride_c, Int batch,        \
                                                                 Enumeration compute, Enumeration) {                                                                               \
        if (Number type{}; are_complex(a_type, b_type, c_type, &type))                                                                                                             \
            return complex_gemm(handle, {"cublasGemmStridedBatchedEx", ta, tb, m, n, k, batch, type, address_of(a), lda, stride_a, address_of(b), ldb, stride_b, address_of(c),    \
                                         ldc, stride_c, alpha, beta});                                                                                                             \
        Gemm gemm{"cublasGemmStridedBatchedEx", ta, tb, m, n, k, batch, {a, nullptr, {}, lda, stride_a}, {b, nullptr, {}, ldb, stride_b}, {c, nullptr, {}, ldc, stride_c},         \
                  alpha, beta};                                                                                                                                                    \
        return take_types(gemm, handle, a_type, b_type, c_type, compute) ? multiply(handle, gemm) : CUBLAS_STATUS_NOT_SUPPORTED;                                                   \
    }                                                                                                                                                                              \
    HEDDLE_API cublasStatus_t cublasGemmBatchedEx##suffix(cublasHandle_t handle, Enumeration ta, Enumeration tb, Int m, Int n, Int k, const void* alpha, const void* const* a,     \
                                                          Enumeration a_type, Int lda, const void* const* b, Enumeration b_type, Int ldb, const void* beta, void* const* c,        \
                                                          Enumeration c_type, Int ldc, Int batch, Enumeration compute, Enumeration) {                                              \
        Gemm gemm{"cublasGemmBatchedEx", ta, tb, m, n, k, batch, {nullptr, a, {}, lda}, {nullptr, b, {}, ldb}, {nullptr, c, {}, ldc}, alpha, beta};                                \
        return take_types(gemm, handle, a_type, b_type, c_type, compute) ? multiply(handle, gemm) : CUBLAS_STATUS_NOT_SUPPORTED;                                                   \
    }                                                                                                                                                                              \
    HEDDLE_API cublasStatus_t cublasSgemmEx##suffix(cublasHandle_t handle, Enumeration ta, Enumeration tb, Int m, Int n, Int k, const float* alpha, const void* a,                 \
                                                    Enumeration a_type, Int lda, const void* b, Enumeration b_type, Int ldb, const float* beta, void* c, Enumeration c_type,       \
                                                    Int ldc) {                                                                                                                     \
        Gemm gemm{"cublasSgemmEx", ta, tb, m, n, k, 1, {a, nullptr, {}, lda}, {b, nullptr, {}, ldb}, {c, nullptr, {}, ldc}, alpha, beta};                                          \
        return take_types(gemm, handle, a_type, b_type, c_type, 68) ? multiply(handle, gemm) : CUBLAS_STATUS_NOT_SUPPORTED;                                                        \
    }                                                                                                                                                                              \
    HEDDLE_API cublasStatus_t cublasGemmGroupedBatchedEx##suffix(cublasHandle_t handle, const Enumeration* ta, const Enumeration* tb, const Int* m, const Int* n, const Int* k,    \
                                                                 const void* alpha, const void* const* a, Enumeration a_type, const Int* lda, const void* const* b,                \
                                                                 Enumeration b_type, const Int* ldb, const void* beta, void* const* c, Enumeration c_type, const Int* ldc,         \
                                                                 Int groups, const Int* sizes, Enumeration compute) {                                                              \
        std::size_t first = 0;                                                                                                                                                     \
        for (Int g = 0; g < groups; ++g) {                                                                                                                                         \
            Gemm gemm{"cublasGemmGroupedBatchedEx", ta[g], tb[g], m[g], n[g], k[g], sizes[g], {nullptr, a + first, {}, lda[g]}, {nullptr, b + first, {}, ldb[g]},                  \
                      {nullptr, c + first, {}, ldc[g]}, alpha, beta};                                                                                                              \
            if (!take_types(gemm, handle, a_type, b_type, c_type, compute)) return CUBLAS_STATUS_NOT_SUPPORTED;                                                                    \
            gemm.alpha = static_cast<const char*>(alpha) + static_cast<std::size_t>(g) * bytes_of(gemm.scale);                                                                     \
            gemm.beta = static_cast<const char*>(beta) + static_cast<std::size_t>(g) * bytes_of(gemm.scale);                                                                       \
            if (const cublasStatus_t status = multiply(handle, gemm); status != CUBLAS_STATUS_SUCCESS) return status;                                                              \
            first += static_cast<std::size_t>(sizes[g]);                                                                                                                           \
        }                                                                                                                                                                          \
        return CUBLAS_STATUS_SUCCESS;                                                                                                                                              \
    }                                                                                                                                                                              \
    HEDDLE_API cublasStatus_t cublasSgemmGroupedBatched##suffix(cublasHandle_t handle, const Enumeration* ta, const Enumeration* tb, const Int* m, const Int* n, const Int* k,     \
                                                                const float* alpha, const float* const* a, const Int* lda, const float* const* b, const Int* ldb,                  \
                                                                const float* beta, float* const* c, const Int* ldc, Int groups, const Int* sizes) {                                \
        return cublasGemmGroupedBatchedEx##suffix(handle, ta, tb, m, n, k, alpha, reinterpret_cast<const void* const*>(a), 0, lda, reinterpret_cast<const void* const*>(b), 0, ldb, \
                                                  beta, reinterpret_cast<void* const*>(c), 0, ldc, groups, sizes, 68);                                                             \
    }                                                                                                                                                                              \
    HEDDLE_API cublasStatus_t cublasDgemmGroupedBatched##suffix(cublasHandle_t handle, const Enumeration* ta, const Enumeration* tb, const Int* m, const Int* n, const Int* k,     \
                                                                const double* alpha, const double* const* a, const Int* lda, const double* const* b, const Int* ldb,               \
                                                                const double* beta, double* const* c, const Int* ldc, Int groups, const Int* sizes) {                              \
        return cublasGemmGroupedBatchedEx##suffix(handle, ta, tb, m, n, k, alpha, reinterpret_cast<const void* const*>(a), 1, lda, reinterpret_cast<const void* const*>(b), 1, ldb, \
                                                  beta, reinterpret_cast<void* const*>(c), 1, ldc, groups, sizes, 70);                                                             \
    }
HEDDLE_GEMM_EX(int, )
HEDDLE_GEMM_EX(std::int64_t, _64)
#undef HEDDLE_GEMM_EX
// NOLINTEND(bugprone-macro-parentheses)
