// Vectors: level 1 of BLAS.
#include <cmath>
#include <initializer_list>

#include "driver/cublas/handle.h"

using namespace heddle::driver;

namespace {

/// x and y of a routine; a pointer that is null is not used.
template <class Int>
struct Vectors {
    cublasHandle_t handle;
    Int n;
    const void* x = nullptr;
    Int incx = 1;
    Number x_type = Number::f32;
    const void* y = nullptr;
    Int incy = 1;
    Number y_type = Number::f32;

    StridedOperand first() const { return vector_operand(x, n, incx, x_type); }
    StridedOperand second() const { return vector_operand(y, n, incy, y_type); }
};

/// outputs = text(inputs, factors): which of x and y are read and written is said by two numbers, 1 for x, 2 for y, 3 for both.
template <class Int>
cublasStatus_t map(const char* name, const Vectors<Int>& v, const char* text, unsigned reads, unsigned writes, std::initializer_list<Factor> factors = {}) {
    if (v.handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (v.n <= 0) return CUBLAS_STATUS_SUCCESS;
    if (too_large(v.n)) return CUBLAS_STATUS_NOT_SUPPORTED;
    MapRequest request;
    request.rows = static_cast<std::uint32_t>(v.n);
    if ((reads & 1) != 0) request.input[request.inputs++] = v.first();
    if ((reads & 2) != 0) request.input[request.inputs++] = v.second();
    if ((writes & 1) != 0) request.output[request.outputs++] = v.first();
    if ((writes & 2) != 0) request.output[request.outputs++] = v.second();
    for (const Factor& factor : factors) request.factor[request.factors++] = factor;
    return send(name, v.handle->stream, BlasKind::map, request, text);
}

/// A number for the vectors, of `type`, to `result`. `position`: as in ReduceRequest; then of vectors without elements it is 0.
template <class Int>
cublasStatus_t reduce(const char* name, const Vectors<Int>& v, const char* terms, const char* finish, void* result, Number type, std::uint32_t position = 0) {
    if (v.handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (result == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    if (too_large(v.n)) return CUBLAS_STATUS_NOT_SUPPORTED;
    ReduceRequest request;
    request.extent = v.n <= 0 || (position != 0 && v.incx <= 0) ? 0 : static_cast<std::uint32_t>(v.n);
    request.position = position;
    const auto add = [&](StridedOperand operand) {
        operand.column = operand.row;
        operand.row = 0;
        request.input[request.inputs++] = operand;
    };
    add(v.first());
    if (v.y != nullptr) add(v.second());
    request.output = {v.handle->place_for(result), 0, 0, 0, type};
    if (const cublasStatus_t status = send(name, v.handle->stream, BlasKind::reduce, request, terms, finish); status != CUBLAS_STATUS_SUCCESS) return status;
    return v.handle->fetch(result, bytes_of(type));
}

constexpr const char* kMagnitude = "y0 = abs(x0)";
constexpr const char* kSquare = "y0 = x0 * x0";
constexpr const char* kProduct = "y0 = x0 * x1";
constexpr const char* kAxpy = "y0 = s0 * x0 + x1";
constexpr const char* kRotate = "y0 = s0 * x0 + s1 * x1; y1 = s0 * x1 - s1 * x0";

/// x and y by the matrix [h11 h12; h21 h22] that five numbers stand for; the first says which of the others count.
template <class T, class Int>
cublasStatus_t rotm(const char* name, const Vectors<Int>& v, const T* parameters) {
    if (v.handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (v.handle->on_device()) {
        heddle_missing(name);
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    const T flag = parameters[0];
    if (flag == T(-2)) return CUBLAS_STATUS_SUCCESS;
    const double h11 = flag == T(0) ? 1 : parameters[1], h21 = flag == T(1) ? -1 : parameters[2];
    const double h12 = flag == T(1) ? 1 : parameters[3], h22 = flag == T(0) ? 1 : parameters[4];
    return map(name, v, "y0 = s0 * x0 + s1 * x1; y1 = s2 * x0 + s3 * x1", 3, 3, {Factor{h11}, Factor{h12}, Factor{h21}, Factor{h22}});
}

/// The rotation that turns (a, b) into (r, 0), on the host, as LAPACK's working note 148 has it.
template <class T>
cublasStatus_t rotg(const char* name, cublasHandle_t handle, T* a, T* b, T* c, T* s) {
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (handle->on_device()) {
        heddle_missing(name);
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    const T larger = std::abs(*a) > std::abs(*b) ? *a : *b;
    if (larger == T(0)) {
        *c = 1;
        *s = *a = *b = 0;
        return CUBLAS_STATUS_SUCCESS;
    }
    const T r = std::copysign(std::hypot(*a, *b), larger);
    *c = *a / r;
    *s = *b / r;
    *b = std::abs(*a) > std::abs(*b) ? *s : *c != T(0) ? 1 / *c : T(1);
    *a = r;
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

// Arguments of these macros are types and names, which parentheses would spoil.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define HEDDLE_LEVEL_1(letter, lower, T, Int, suffix)                                                                                                                       \
    HEDDLE_API cublasStatus_t cublas##letter##copy_v2##suffix(cublasHandle_t handle, Int n, const T* x, Int incx, T* y, Int incy) {                                         \
        return map<Int>("cublas" #letter "copy", {handle, n, x, incx, kNumber<T>, y, incy, kNumber<T>}, "y0 = x0", 1, 2);                                                   \
    }                                                                                                                                                                       \
    HEDDLE_API cublasStatus_t cublas##letter##swap_v2##suffix(cublasHandle_t handle, Int n, T* x, Int incx, T* y, Int incy) {                                               \
        return map<Int>("cublas" #letter "swap", {handle, n, x, incx, kNumber<T>, y, incy, kNumber<T>}, "y0 = x1; y1 = x0", 3, 3);                                          \
    }                                                                                                                                                                       \
    HEDDLE_API cublasStatus_t cublas##letter##scal_v2##suffix(cublasHandle_t handle, Int n, const T* alpha, T* x, Int incx) {                                               \
        if (handle == nullptr || alpha == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                                                                                      \
        return map<Int>("cublas" #letter "scal", {handle, n, x, incx, kNumber<T>}, "y0 = s0 * x0", 1, 1, {handle->factor(alpha, kNumber<T>)});                              \
    }                                                                                                                                                                       \
    HEDDLE_API cublasStatus_t cublas##letter##axpy_v2##suffix(cublasHandle_t handle, Int n, const T* alpha, const T* x, Int incx, T* y, Int incy) {                         \
        if (handle == nullptr || alpha == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                                                                                      \
        return map<Int>("cublas" #letter "axpy", {handle, n, x, incx, kNumber<T>, y, incy, kNumber<T>}, kAxpy, 3, 2, {handle->factor(alpha, kNumber<T>)});                  \
    }                                                                                                                                                                       \
    HEDDLE_API cublasStatus_t cublas##letter##rot_v2##suffix(cublasHandle_t handle, Int n, T* x, Int incx, T* y, Int incy, const T* c, const T* s) {                        \
        if (handle == nullptr || c == nullptr || s == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                                                                          \
        return map<Int>("cublas" #letter "rot", {handle, n, x, incx, kNumber<T>, y, incy, kNumber<T>}, kRotate, 3, 3,                                                       \
                        {handle->factor(c, kNumber<T>), handle->factor(s, kNumber<T>)});                                                                                    \
    }                                                                                                                                                                       \
    HEDDLE_API cublasStatus_t cublas##letter##rotm_v2##suffix(cublasHandle_t handle, Int n, T* x, Int incx, T* y, Int incy, const T* parameters) {                          \
        return rotm<T, Int>("cublas" #letter "rotm", {handle, n, x, incx, kNumber<T>, y, incy, kNumber<T>}, parameters);                                                    \
    }                                                                                                                                                                       \
    HEDDLE_API cublasStatus_t cublas##letter##dot_v2##suffix(cublasHandle_t handle, Int n, const T* x, Int incx, const T* y, Int incy, T* result) {                         \
        return reduce<Int>("cublas" #letter "dot", {handle, n, x, incx, kNumber<T>, y, incy, kNumber<T>}, kProduct, "", result, kNumber<T>);                                \
    }                                                                                                                                                                       \
    HEDDLE_API cublasStatus_t cublas##letter##asum_v2##suffix(cublasHandle_t handle, Int n, const T* x, Int incx, T* result) {                                              \
        return reduce<Int>("cublas" #letter "asum", {handle, n, x, incx, kNumber<T>}, kMagnitude, "", result, kNumber<T>);                                                  \
    }                                                                                                                                                                       \
    HEDDLE_API cublasStatus_t cublas##letter##nrm2_v2##suffix(cublasHandle_t handle, Int n, const T* x, Int incx, T* result) {                                              \
        return reduce<Int>("cublas" #letter "nrm2", {handle, n, x, incx, kNumber<T>}, kSquare, "y0 = sqrt(x0)", result, kNumber<T>);                                        \
    }                                                                                                                                                                       \
    HEDDLE_API cublasStatus_t cublasI##lower##amax_v2##suffix(cublasHandle_t handle, Int n, const T* x, Int incx, Int* result) {                                            \
        return reduce<Int>("cublasI" #lower "amax", {handle, n, x, incx, kNumber<T>}, kMagnitude, "", result, sizeof(Int) == 8 ? Number::i64 : Number::i32, 1);             \
    }                                                                                                                                                                       \
    HEDDLE_API cublasStatus_t cublasI##lower##amin_v2##suffix(cublasHandle_t handle, Int n, const T* x, Int incx, Int* result) {                                            \
        return reduce<Int>("cublasI" #lower "amin", {handle, n, x, incx, kNumber<T>}, kMagnitude, "", result, sizeof(Int) == 8 ? Number::i64 : Number::i32, 2);             \
    }
HEDDLE_LEVEL_1(S, s, float, int, )
HEDDLE_LEVEL_1(S, s, float, std::int64_t, _64)
HEDDLE_LEVEL_1(D, d, double, int, )
HEDDLE_LEVEL_1(D, d, double, std::int64_t, _64)
#undef HEDDLE_LEVEL_1
HEDDLE_API cublasStatus_t cublasSrotg_v2(cublasHandle_t handle, float* a, float* b, float* c, float* s) { return rotg("cublasSrotg", handle, a, b, c, s); }
HEDDLE_API cublasStatus_t cublasDrotg_v2(cublasHandle_t handle, double* a, double* b, double* c, double* s) { return rotg("cublasDrotg", handle, a, b, c, s); }

// The same with the types as arguments: numbers are computed in 32 bits where no operand has more.
#define HEDDLE_LEVEL_1_EX(Int, suffix)                                                                                                                                              \
    HEDDLE_API cublasStatus_t cublasDotEx##suffix(cublasHandle_t handle, Int n, const void* x, Enumeration x_type, Int incx, const void* y, Enumeration y_type, Int incy,           \
                                                  void* result, Enumeration result_type, Enumeration) {                                                                             \
        Vectors<Int> v{handle, n, x, incx, {}, y, incy, {}};                                                                                                                        \
        Number type{};                                                                                                                                                              \
        if (!number_of(x_type, &v.x_type) || !number_of(y_type, &v.y_type) || !number_of(result_type, &type)) return CUBLAS_STATUS_NOT_SUPPORTED;                                   \
        return reduce("cublasDotEx", v, kProduct, "", result, type);                                                                                                                \
    }                                                                                                                                                                               \
    HEDDLE_API cublasStatus_t cublasNrm2Ex##suffix(cublasHandle_t handle, Int n, const void* x, Enumeration x_type, Int incx, void* result, Enumeration result_type, Enumeration) { \
        Vectors<Int> v{handle, n, x, incx};                                                                                                                                         \
        Number type{};                                                                                                                                                              \
        if (!number_of(x_type, &v.x_type) || !number_of(result_type, &type)) return CUBLAS_STATUS_NOT_SUPPORTED;                                                                    \
        return reduce("cublasNrm2Ex", v, kSquare, "y0 = sqrt(x0)", result, type);                                                                                                   \
    }                                                                                                                                                                               \
    HEDDLE_API cublasStatus_t cublasAxpyEx##suffix(cublasHandle_t handle, Int n, const void* alpha, Enumeration alpha_type, const void* x, Enumeration x_type, Int incx, void* y,   \
                                                   Enumeration y_type, Int incy, Enumeration) {                                                                                     \
        Vectors<Int> v{handle, n, x, incx, {}, y, incy, {}};                                                                                                                        \
        Number type{};                                                                                                                                                              \
        if (handle == nullptr || !number_of(alpha_type, &type) || !number_of(x_type, &v.x_type) || !number_of(y_type, &v.y_type)) return CUBLAS_STATUS_NOT_SUPPORTED;               \
        return map("cublasAxpyEx", v, kAxpy, 3, 2, {handle->factor(alpha, type)});                                                                                                  \
    }                                                                                                                                                                               \
    HEDDLE_API cublasStatus_t cublasScalEx##suffix(cublasHandle_t handle, Int n, const void* alpha, Enumeration alpha_type, void* x, Enumeration x_type, Int incx, Enumeration) {   \
        Vectors<Int> v{handle, n, x, incx};                                                                                                                                         \
        Number type{};                                                                                                                                                              \
        if (handle == nullptr || !number_of(alpha_type, &type) || !number_of(x_type, &v.x_type)) return CUBLAS_STATUS_NOT_SUPPORTED;                                                \
        return map("cublasScalEx", v, "y0 = s0 * x0", 1, 1, {handle->factor(alpha, type)});                                                                                         \
    }
HEDDLE_LEVEL_1_EX(int, )
HEDDLE_LEVEL_1_EX(std::int64_t, _64)
#undef HEDDLE_LEVEL_1_EX
// NOLINTEND(bugprone-macro-parentheses)
