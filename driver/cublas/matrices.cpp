// Matrices with vectors, triangles and symmetric matrices: levels 2 and 3 of BLAS beside gemm, and extensions. A triangle that stands for
// a whole matrix is written out first, and a result of which only a triangle is wanted is computed whole and copied: the products
// themselves are those of gemm.
#include <algorithm>
#include <initializer_list>
#include <vector>

#include "driver/cublas/handle.h"

extern "C" CUresult cuMemcpy(CUdeviceptr, CUdeviceptr, std::size_t);

using namespace heddle::driver;

namespace {

#define HEDDLE_TRY(call)                                                          \
    if (const cublasStatus_t status = (call); status != CUBLAS_STATUS_SUCCESS) \
    return status

/// y = alpha op(A) x + beta y, of which beta y is not looked at where beta is 0.
constexpr const char* kGemvFinish = "y0 = s0 * x0 + (s1 != 0 ? s1 * x1 : 0)";

/// What gemv and its batched forms get.
struct Gemv {
    const char* name;
    Enumeration trans;
    std::int64_t m, n;
    Factor alpha, beta;
    StridedOperand a, x, y;  ///< x and y along `row`
    std::int64_t batch = 1;
};

cublasStatus_t gemv(cublasHandle_t handle, const Gemv& given) {
    if (given.m < 0 || given.n < 0 || given.batch < 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (too_large(given.m) || too_large(given.n) || too_large(given.batch)) return CUBLAS_STATUS_NOT_SUPPORTED;
    const bool turned = given.trans != 0;
    ReduceRequest request;
    request.outputs = static_cast<std::uint32_t>(turned ? given.n : given.m);
    request.extent = static_cast<std::uint32_t>(turned ? given.m : given.n);
    request.batch = static_cast<std::uint32_t>(given.batch);
    request.inputs = 2;
    request.input[0] = given.a;
    if (turned) std::swap(request.input[0].row, request.input[0].column);
    request.input[1] = given.x;
    request.input[1].column = given.x.row;
    request.input[1].row = 0;
    request.output = given.y;
    request.factors = 2;
    request.factor[0] = given.alpha;
    request.factor[1] = given.beta;
    return send(given.name, handle->stream, BlasKind::reduce, request, "y0 = x0 * x1", kGemvFinish);
}

/// outputs of one matrix from up to three operands.
cublasStatus_t map(cublasHandle_t handle, const char* name, std::int64_t rows, std::int64_t columns, Part part, const StridedOperand& to,
                   std::initializer_list<StridedOperand> from, const char* text, std::initializer_list<Factor> factors = {}) {
    if (rows < 0 || columns < 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (too_large(rows) || too_large(columns)) return CUBLAS_STATUS_NOT_SUPPORTED;
    MapRequest request;
    request.rows = static_cast<std::uint32_t>(rows);
    request.columns = static_cast<std::uint32_t>(columns);
    request.part = part;
    request.outputs = 1;
    request.output[0] = to;
    for (const StridedOperand& operand : from) request.input[request.inputs++] = operand;
    for (const Factor& factor : factors) request.factor[request.factors++] = factor;
    return send(name, handle->stream, BlasKind::map, request, text);
}

Part triangle(Enumeration uplo, bool strictly = false) {
    if (uplo == kFillLower) return strictly ? Part::strictly_lower : Part::lower;
    return strictly ? Part::strictly_upper : Part::upper;
}

/// The whole of a symmetric matrix of which one triangle is given.
cublasStatus_t write_symmetric(cublasHandle_t handle, const char* name, Enumeration uplo, std::int64_t n, const void* a, std::int64_t lda, Number type, CUdeviceptr to) {
    const StridedOperand whole = matrix_operand(to, n, type);
    HEDDLE_TRY(map(handle, name, n, n, triangle(uplo), whole, {matrix_operand(address_of(a), lda, type)}, "y0 = x0"));
    const Enumeration other = uplo == kFillLower ? kFillUpper : kFillLower;
    return map(handle, name, n, n, triangle(other, true), whole, {matrix_operand(address_of(a), lda, type, true)}, "y0 = x0");
}

/// The whole of a triangular matrix, with zeros, and with ones on its diagonal where that is not given.
cublasStatus_t write_triangle(cublasHandle_t handle, const char* name, Enumeration uplo, bool unit, std::int64_t n, const void* a, std::int64_t lda, Number type,
                              CUdeviceptr to) {
    const StridedOperand whole = matrix_operand(to, n, type);
    HEDDLE_TRY(map(handle, name, n, n, Part::all, whole, {}, "y0 = 0"));
    HEDDLE_TRY(map(handle, name, n, n, triangle(uplo, unit), whole, {matrix_operand(address_of(a), lda, type)}, "y0 = x0"));
    if (!unit) return CUBLAS_STATUS_SUCCESS;
    StridedOperand diagonal = whole;
    diagonal.row = n + 1;
    return map(handle, name, n, 1, Part::all, diagonal, {}, "y0 = 1");
}

ProductOperand dense(std::uint64_t address, std::int64_t leading, Number type, bool transposed = false) {
    ProductOperand operand;
    operand.address = address;
    operand.leading = leading;
    operand.type = type;
    operand.transposed = transposed;
    return operand;
}

/// C = alpha op(A) op(B) + beta C.
cublasStatus_t product(cublasHandle_t handle, const char* name, std::int64_t m, std::int64_t n, std::int64_t k, const ProductOperand& a, const ProductOperand& b,
                       const ProductOperand& c, const Factor& alpha, const Factor& beta) {
    if (m < 0 || n < 0 || k < 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (too_large(m) || too_large(n) || too_large(k)) return CUBLAS_STATUS_NOT_SUPPORTED;
    ProductRequest request;
    request.m = static_cast<std::uint32_t>(m);
    request.n = static_cast<std::uint32_t>(n);
    request.k = static_cast<std::uint32_t>(k);
    request.a = a;
    request.b = b;
    request.c = request.d = c;
    request.alpha = alpha;
    request.beta = beta;
    request.tf32 = handle->tf32() && a.type == Number::f32;
    return send(name, handle->stream, BlasKind::product, request);
}

/// The triangle of C = alpha op(A) op(B)^T + beta C; with `both`, alpha op(B) op(A)^T is added.
cublasStatus_t rank_k(cublasHandle_t handle, const char* name, Enumeration uplo, Enumeration trans, std::int64_t n, std::int64_t k, const void* alpha, const void* a,
                      std::int64_t lda, const void* b, std::int64_t ldb, const void* beta, void* c, std::int64_t ldc, Number type, bool both) {
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (n < 0 || k < 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (n == 0) return CUBLAS_STATUS_SUCCESS;
    const CUdeviceptr whole = handle->workspace_of(static_cast<std::size_t>(n * n) * bytes_of(type));
    if (whole == 0) return CUBLAS_STATUS_ALLOC_FAILED;
    const ProductOperand result = dense(whole, n, type);
    const bool turned = trans != 0;
    const Factor none{0}, one{1};
    HEDDLE_TRY(product(handle, name, n, n, k, dense(address_of(a), lda, type, turned), dense(address_of(b), ldb, type, !turned), result, handle->factor(alpha, type), none));
    if (both)
        HEDDLE_TRY(product(handle, name, n, n, k, dense(address_of(b), ldb, type, turned), dense(address_of(a), lda, type, !turned), result, handle->factor(alpha, type), one));
    const StridedOperand to = matrix_operand(address_of(c), ldc, type);
    return map(handle, name, n, n, triangle(uplo), to, {matrix_operand(whole, n, type), to}, "y0 = x0 + (s0 != 0 ? s0 * x1 : 0)", {handle->factor(beta, type)});
}

cublasStatus_t symm(cublasHandle_t handle, const char* name, Enumeration side, Enumeration uplo, std::int64_t m, std::int64_t n, const void* alpha, const void* a,
                    std::int64_t lda, const void* b, std::int64_t ldb, const void* beta, void* c, std::int64_t ldc, Number type) {
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (m < 0 || n < 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
    const std::int64_t order = side == kSideRight ? n : m;
    const CUdeviceptr whole = handle->workspace_of(static_cast<std::size_t>(order * order) * bytes_of(type));
    if (whole == 0) return CUBLAS_STATUS_ALLOC_FAILED;
    HEDDLE_TRY(write_symmetric(handle, name, uplo, order, a, lda, type, whole));
    const ProductOperand symmetric = dense(whole, order, type), other = dense(address_of(b), ldb, type);
    return product(handle, name, m, n, order, side == kSideRight ? other : symmetric, side == kSideRight ? symmetric : other, dense(address_of(c), ldc, type),
                   handle->factor(alpha, type), handle->factor(beta, type));
}

cublasStatus_t trmm(cublasHandle_t handle, const char* name, Enumeration side, Enumeration uplo, Enumeration trans, Enumeration diagonal, std::int64_t m, std::int64_t n,
                    const void* alpha, const void* a, std::int64_t lda, const void* b, std::int64_t ldb, void* c, std::int64_t ldc, Number type) {
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (m < 0 || n < 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
    const std::int64_t order = side == kSideRight ? n : m;
    const auto size = static_cast<std::int64_t>(bytes_of(type));
    // C may be B: the product reads a copy.
    const CUdeviceptr whole = handle->workspace_of(static_cast<std::size_t>((order * order + m * n) * size));
    if (whole == 0) return CUBLAS_STATUS_ALLOC_FAILED;
    const CUdeviceptr copy = whole + static_cast<std::uint64_t>(order * order * size);
    HEDDLE_TRY(write_triangle(handle, name, uplo, diagonal == kUnitDiagonal, order, a, lda, type, whole));
    HEDDLE_TRY(map(handle, name, m, n, Part::all, matrix_operand(copy, m, type), {matrix_operand(address_of(b), ldb, type)}, "y0 = x0"));
    const ProductOperand triangular = dense(whole, order, type, trans != 0), other = dense(copy, m, type);
    return product(handle, name, m, n, order, side == kSideRight ? other : triangular, side == kSideRight ? triangular : other, dense(address_of(c), ldc, type),
                   handle->factor(alpha, type), Factor{0});
}

/// op(A) X = alpha B, or X op(A) = alpha B, which is op(A)^T X^T = alpha B^T; X takes B's place.
cublasStatus_t trsm(cublasHandle_t handle, const char* name, Enumeration side, Enumeration uplo, Enumeration trans, Enumeration diagonal, std::int64_t m, std::int64_t n,
                    const Factor& alpha, const void* a, std::int64_t lda, void* b, std::int64_t row, std::int64_t column, Number type) {
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (m < 0 || n < 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (too_large(m) || too_large(n)) return CUBLAS_STATUS_NOT_SUPPORTED;
    const bool right = side == kSideRight, turned = (trans != 0) != right;
    SolveRequest request;
    request.order = static_cast<std::uint32_t>(right ? n : m);
    request.sides = static_cast<std::uint32_t>(right ? m : n);
    request.unit_diagonal = diagonal == kUnitDiagonal;
    request.alpha = alpha;
    request.l = matrix_operand(address_of(a), lda, type, turned);
    request.x = {address_of(b), right ? column : row, right ? row : column, 0, type};
    if ((uplo == kFillLower) == turned) {
        // An upper triangle, from its last row to its first.
        const auto size = static_cast<std::int64_t>(bytes_of(type));
        const std::int64_t last = std::int64_t{request.order} - 1;
        request.l.address += static_cast<std::uint64_t>(last * (request.l.row + request.l.column) * size);
        request.l.row = -request.l.row;
        request.l.column = -request.l.column;
        request.x.address += static_cast<std::uint64_t>(last * request.x.row * size);
        request.x.row = -request.x.row;
    }
    return send(name, handle->stream, BlasKind::solve, request);
}

/// Addresses that lie in device memory.
std::vector<void*> addresses_at(const void* array, std::int64_t count) {
    std::vector<void*> addresses(static_cast<std::size_t>(std::max<std::int64_t>(0, count)));
    if (!addresses.empty()) cuMemcpy(address_of(addresses.data()), address_of(array), addresses.size() * sizeof(void*));
    return addresses;
}

/// x = op(A) x for a triangular A.
template <class Int>
cublasStatus_t trmv(cublasHandle_t handle, const char* name, Enumeration uplo, Enumeration trans, Enumeration diagonal, Int n, const void* a, Int lda, void* x, Int incx,
                    Number type) {
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (n < 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (n == 0) return CUBLAS_STATUS_SUCCESS;
    const std::int64_t order = n, size = bytes_of(type);
    const CUdeviceptr whole = handle->workspace_of(static_cast<std::size_t>((order * order + order) * size));
    if (whole == 0) return CUBLAS_STATUS_ALLOC_FAILED;
    const CUdeviceptr copy = whole + static_cast<std::uint64_t>(order * order * size);
    const StridedOperand vector = vector_operand(x, n, incx, type), copied{copy, 1, 0, 0, type};
    HEDDLE_TRY(write_triangle(handle, name, uplo, diagonal == kUnitDiagonal, order, a, lda, type, whole));
    HEDDLE_TRY(map(handle, name, order, 1, Part::all, copied, {vector}, "y0 = x0"));
    return gemv(handle, {name, trans, order, order, Factor{1}, Factor{0}, matrix_operand(whole, order, type), copied, vector});
}

}  // namespace

// Arguments of these macros are types and names, which parentheses would spoil.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define HEDDLE_LEVEL_2_3(letter, T, Int, suffix)                                                                                                                                    \
    HEDDLE_API cublasStatus_t cublas##letter##gemv_v2##suffix(cublasHandle_t handle, Enumeration trans, Int m, Int n, const T* alpha, const T* a, Int lda, const T* x, Int incx,    \
                                                              const T* beta, T* y, Int incy) {                                                                                      \
        if (handle == nullptr || alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                                                                           \
        const Int in = trans != 0 ? m : n, out = trans != 0 ? n : m;                                                                                                                \
        return gemv(handle, {"cublas" #letter "gemv", trans, m, n, handle->factor(alpha, kNumber<T>), handle->factor(beta, kNumber<T>),                                             \
                             matrix_operand(address_of(a), lda, kNumber<T>), vector_operand(x, in, incx, kNumber<T>), vector_operand(y, out, incy, kNumber<T>)});                   \
    }                                                                                                                                                                               \
    HEDDLE_API cublasStatus_t cublas##letter##gemvStridedBatched##suffix(cublasHandle_t handle, Enumeration trans, Int m, Int n, const T* alpha, const T* a, Int lda,               \
                                                                         long long stride_a, const T* x, Int incx, long long stride_x, const T* beta, T* y, Int incy,               \
                                                                         long long stride_y, Int batch) {                                                                           \
        if (handle == nullptr || alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                                                                           \
        const Int in = trans != 0 ? m : n, out = trans != 0 ? n : m;                                                                                                                \
        Gemv given{"cublas" #letter "gemvStridedBatched", trans, m, n, handle->factor(alpha, kNumber<T>), handle->factor(beta, kNumber<T>),                                         \
                   matrix_operand(address_of(a), lda, kNumber<T>), vector_operand(x, in, incx, kNumber<T>), vector_operand(y, out, incy, kNumber<T>), batch};                       \
        given.a.batch = stride_a;                                                                                                                                                   \
        given.x.batch = stride_x;                                                                                                                                                   \
        given.y.batch = stride_y;                                                                                                                                                   \
        return gemv(handle, given);                                                                                                                                                 \
    }                                                                                                                                                                               \
    HEDDLE_API cublasStatus_t cublas##letter##gemvBatched##suffix(cublasHandle_t handle, Enumeration trans, Int m, Int n, const T* alpha, const T* const* a, Int lda,               \
                                                                  const T* const* x, Int incx, const T* beta, T* const* y, Int incy, Int batch) {                                   \
        const std::vector<void*> as = addresses_at(a, batch), xs = addresses_at(x, batch), ys = addresses_at(y, batch);                                                             \
        for (std::size_t i = 0; i < as.size(); ++i)                                                                                                                                 \
            HEDDLE_TRY(cublas##letter##gemv_v2##suffix(handle, trans, m, n, alpha, static_cast<const T*>(as[i]), lda, static_cast<const T*>(xs[i]), incx, beta,                     \
                                                       static_cast<T*>(ys[i]), incy));                                                                                              \
        return CUBLAS_STATUS_SUCCESS;                                                                                                                                               \
    }                                                                                                                                                                               \
    HEDDLE_API cublasStatus_t cublas##letter##ger_v2##suffix(cublasHandle_t handle, Int m, Int n, const T* alpha, const T* x, Int incx, const T* y, Int incy, T* a, Int lda) {      \
        if (handle == nullptr || alpha == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                                                                                              \
        const StridedOperand matrix = matrix_operand(address_of(a), lda, kNumber<T>), rows = vector_operand(x, m, incx, kNumber<T>);                                                \
        StridedOperand columns = vector_operand(y, n, incy, kNumber<T>);                                                                                                            \
        std::swap(columns.row, columns.column);                                                                                                                                     \
        return map(handle, "cublas" #letter "ger", m, n, Part::all, matrix, {rows, columns, matrix}, "y0 = s0 * x0 * x1 + x2", {handle->factor(alpha, kNumber<T>)});                \
    }                                                                                                                                                                               \
    HEDDLE_API cublasStatus_t cublas##letter##syr_v2##suffix(cublasHandle_t handle, Enumeration uplo, Int n, const T* alpha, const T* x, Int incx, T* a, Int lda) {                 \
        if (handle == nullptr || alpha == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                                                                                              \
        const StridedOperand matrix = matrix_operand(address_of(a), lda, kNumber<T>), rows = vector_operand(x, n, incx, kNumber<T>);                                                \
        StridedOperand columns = rows;                                                                                                                                              \
        std::swap(columns.row, columns.column);                                                                                                                                     \
        return map(handle, "cublas" #letter "syr", n, n, triangle(uplo), matrix, {rows, columns, matrix}, "y0 = s0 * x0 * x1 + x2", {handle->factor(alpha, kNumber<T>)});           \
    }                                                                                                                                                                               \
    HEDDLE_API cublasStatus_t cublas##letter##syr2_v2##suffix(cublasHandle_t handle, Enumeration uplo, Int n, const T* alpha, const T* x, Int incx, const T* y, Int incy, T* a,     \
                                                              Int lda) {                                                                                                            \
        if (handle == nullptr || alpha == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                                                                                              \
        const StridedOperand matrix = matrix_operand(address_of(a), lda, kNumber<T>);                                                                                               \
        const auto add = [&](const T* first, Int first_increment, const T* second, Int second_increment) {                                                                          \
            StridedOperand columns = vector_operand(second, n, second_increment, kNumber<T>);                                                                                       \
            std::swap(columns.row, columns.column);                                                                                                                                 \
            return map(handle, "cublas" #letter "syr2", n, n, triangle(uplo), matrix, {vector_operand(first, n, first_increment, kNumber<T>), columns, matrix},                     \
                       "y0 = s0 * x0 * x1 + x2", {handle->factor(alpha, kNumber<T>)});                                                                                              \
        };                                                                                                                                                                          \
        HEDDLE_TRY(add(x, incx, y, incy));                                                                                                                                          \
        return add(y, incy, x, incx);                                                                                                                                               \
    }                                                                                                                                                                               \
    HEDDLE_API cublasStatus_t cublas##letter##symv_v2##suffix(cublasHandle_t handle, Enumeration uplo, Int n, const T* alpha, const T* a, Int lda, const T* x, Int incx,            \
                                                              const T* beta, T* y, Int incy) {                                                                                      \
        if (handle == nullptr || alpha == nullptr || beta == nullptr || n < 0) return CUBLAS_STATUS_INVALID_VALUE;                                                                  \
        if (n == 0) return CUBLAS_STATUS_SUCCESS;                                                                                                                                   \
        const std::int64_t order = n;                                                                                                                                               \
        const CUdeviceptr whole = handle->workspace_of(static_cast<std::size_t>(order * order) * sizeof(T));                                                                        \
        if (whole == 0) return CUBLAS_STATUS_ALLOC_FAILED;                                                                                                                          \
        HEDDLE_TRY(write_symmetric(handle, "cublas" #letter "symv", uplo, order, a, lda, kNumber<T>, whole));                                                                       \
        return gemv(handle, {"cublas" #letter "symv", 0, order, order, handle->factor(alpha, kNumber<T>), handle->factor(beta, kNumber<T>),                                         \
                             matrix_operand(whole, order, kNumber<T>), vector_operand(x, n, incx, kNumber<T>), vector_operand(y, n, incy, kNumber<T>)});                            \
    }                                                                                                                                                                               \
    HEDDLE_API cublasStatus_t cublas##letter##trmv_v2##suffix(cublasHandle_t handle, Enumeration uplo, Enumeration trans, Enumeration diagonal, Int n, const T* a, Int lda, T* x,   \
                                                              Int incx) {                                                                                                           \
        return trmv<Int>(handle, "cublas" #letter "trmv", uplo, trans, diagonal, n, a, lda, x, incx, kNumber<T>);                                                                   \
    }                                                                                                                                                                               \
    HEDDLE_API cublasStatus_t cublas##letter##trsv_v2##suffix(cublasHandle_t handle, Enumeration uplo, Enumeration trans, Enumeration diagonal, Int n, const T* a, Int lda, T* x,   \
                                                              Int incx) {                                                                                                           \
        const StridedOperand vector = vector_operand(x, n, incx, kNumber<T>);                                                                                                       \
        return trsm(handle, "cublas" #letter "trsv", 0, uplo, trans, diagonal, n, 1, Factor{1}, a, lda, reinterpret_cast<void*>(vector.address), vector.row, 0, kNumber<T>);        \
    }                                                                                                                                                                               \
    HEDDLE_API cublasStatus_t cublas##letter##symm_v2##suffix(cublasHandle_t handle, Enumeration side, Enumeration uplo, Int m, Int n, const T* alpha, const T* a, Int lda,         \
                                                              const T* b, Int ldb, const T* beta, T* c, Int ldc) {                                                                  \
        return symm(handle, "cublas" #letter "symm", side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc, kNumber<T>);                                                            \
    }                                                                                                                                                                               \
    HEDDLE_API cublasStatus_t cublas##letter##syrk_v2##suffix(cublasHandle_t handle, Enumeration uplo, Enumeration trans, Int n, Int k, const T* alpha, const T* a, Int lda,        \
                                                              const T* beta, T* c, Int ldc) {                                                                                       \
        return rank_k(handle, "cublas" #letter "syrk", uplo, trans, n, k, alpha, a, lda, a, lda, beta, c, ldc, kNumber<T>, false);                                                  \
    }                                                                                                                                                                               \
    HEDDLE_API cublasStatus_t cublas##letter##syrkx##suffix(cublasHandle_t handle, Enumeration uplo, Enumeration trans, Int n, Int k, const T* alpha, const T* a, Int lda,          \
                                                            const T* b, Int ldb, const T* beta, T* c, Int ldc) {                                                                    \
        return rank_k(handle, "cublas" #letter "syrkx", uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc, kNumber<T>, false);                                                 \
    }                                                                                                                                                                               \
    HEDDLE_API cublasStatus_t cublas##letter##syr2k_v2##suffix(cublasHandle_t handle, Enumeration uplo, Enumeration trans, Int n, Int k, const T* alpha, const T* a, Int lda,       \
                                                               const T* b, Int ldb, const T* beta, T* c, Int ldc) {                                                                 \
        return rank_k(handle, "cublas" #letter "syr2k", uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc, kNumber<T>, true);                                                  \
    }                                                                                                                                                                               \
    HEDDLE_API cublasStatus_t cublas##letter##trmm_v2##suffix(cublasHandle_t handle, Enumeration side, Enumeration uplo, Enumeration trans, Enumeration diagonal, Int m, Int n,     \
                                                              const T* alpha, const T* a, Int lda, const T* b, Int ldb, T* c, Int ldc) {                                            \
        return trmm(handle, "cublas" #letter "trmm", side, uplo, trans, diagonal, m, n, alpha, a, lda, b, ldb, c, ldc, kNumber<T>);                                                 \
    }                                                                                                                                                                               \
    HEDDLE_API cublasStatus_t cublas##letter##trsm_v2##suffix(cublasHandle_t handle, Enumeration side, Enumeration uplo, Enumeration trans, Enumeration diagonal, Int m, Int n,     \
                                                              const T* alpha, const T* a, Int lda, T* b, Int ldb) {                                                                 \
        if (handle == nullptr || alpha == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                                                                                              \
        return trsm(handle, "cublas" #letter "trsm", side, uplo, trans, diagonal, m, n, handle->factor(alpha, kNumber<T>), a, lda, b, 1, ldb, kNumber<T>);                          \
    }                                                                                                                                                                               \
    HEDDLE_API cublasStatus_t cublas##letter##trsmBatched##suffix(cublasHandle_t handle, Enumeration side, Enumeration uplo, Enumeration trans, Enumeration diagonal, Int m, Int n, \
                                                                  const T* alpha, const T* const* a, Int lda, T* const* b, Int ldb, Int batch) {                                    \
        const std::vector<void*> as = addresses_at(a, batch), bs = addresses_at(b, batch);                                                                                          \
        for (std::size_t i = 0; i < as.size(); ++i)                                                                                                                                 \
            HEDDLE_TRY(cublas##letter##trsm_v2##suffix(handle, side, uplo, trans, diagonal, m, n, alpha, static_cast<const T*>(as[i]), lda, static_cast<T*>(bs[i]), ldb));           \
        return CUBLAS_STATUS_SUCCESS;                                                                                                                                               \
    }                                                                                                                                                                               \
    HEDDLE_API cublasStatus_t cublas##letter##geam##suffix(cublasHandle_t handle, Enumeration ta, Enumeration tb, Int m, Int n, const T* alpha, const T* a, Int lda, const T* beta, \
                                                           const T* b, Int ldb, T* c, Int ldc) {                                                                                    \
        if (handle == nullptr || alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                                                                           \
        const StridedOperand to = matrix_operand(address_of(c), ldc, kNumber<T>), second = b == nullptr ? to : matrix_operand(address_of(b), ldb, kNumber<T>, tb != 0);             \
        const StridedOperand first = a == nullptr ? to : matrix_operand(address_of(a), lda, kNumber<T>, ta != 0);                                                                   \
        return map(handle, "cublas" #letter "geam", m, n, Part::all, to, {first, second}, "y0 = (s0 != 0 ? s0 * x0 : 0) + (s1 != 0 ? s1 * x1 : 0)",                                 \
                   {handle->factor(alpha, kNumber<T>), handle->factor(beta, kNumber<T>)});                                                                                          \
    }                                                                                                                                                                               \
    HEDDLE_API cublasStatus_t cublas##letter##dgmm##suffix(cublasHandle_t handle, Enumeration side, Int m, Int n, const T* a, Int lda, const T* x, Int incx, T* c, Int ldc) {       \
        if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;                                                                                                                \
        StridedOperand vector = vector_operand(x, side == kSideRight ? n : m, incx, kNumber<T>);                                                                                    \
        if (side == kSideRight) std::swap(vector.row, vector.column);                                                                                                               \
        return map(handle, "cublas" #letter "dgmm", m, n, Part::all, matrix_operand(address_of(c), ldc, kNumber<T>),                                                                \
                   {matrix_operand(address_of(a), lda, kNumber<T>), vector}, "y0 = x0 * x1");                                                                                       \
    }
HEDDLE_LEVEL_2_3(S, float, int, )
HEDDLE_LEVEL_2_3(S, float, std::int64_t, _64)
HEDDLE_LEVEL_2_3(D, double, int, )
HEDDLE_LEVEL_2_3(D, double, std::int64_t, _64)
#undef HEDDLE_LEVEL_2_3
// NOLINTEND(bugprone-macro-parentheses)
