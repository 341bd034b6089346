#include "driver/cublas/complex.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

extern "C" CUresult cuMemcpy(CUdeviceptr, CUdeviceptr, std::size_t);

using namespace heddle::driver;

#define HEDDLE_TRY(call)                                                          \
    if (const cublasStatus_t status = (call); status != CUBLAS_STATUS_SUCCESS) \
    return status

namespace heddle::driver {
namespace {

/// A complex scalar: of the host or of the device, or two numbers.
struct ComplexFactor {
    Factor real, imaginary;
};

ComplexFactor complex_factor(cublasHandle_t handle, const void* value, Number type) {
    return {handle->factor(value, type), handle->factor(static_cast<const char*>(value) + bytes_of(type), type)};
}

/// outputs = text(inputs, factors), element for element.
struct Map {
    const char* name;
    std::int64_t rows, columns = 1;
    Part part = Part::all;
    std::int64_t batch = 1;
};
cublasStatus_t map(cublasHandle_t handle, const Map& how, std::initializer_list<StridedOperand> to, std::initializer_list<StridedOperand> from, const char* text,
                   std::initializer_list<Factor> factors = {}) {
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (how.rows < 0 || how.columns < 0 || how.batch < 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (too_large(how.rows) || too_large(how.columns) || too_large(how.batch)) return CUBLAS_STATUS_NOT_SUPPORTED;
    MapRequest request;
    request.rows = static_cast<std::uint32_t>(how.rows);
    request.columns = static_cast<std::uint32_t>(how.columns);
    request.batch = static_cast<std::uint32_t>(how.batch);
    request.part = how.part;
    for (const StridedOperand& operand : to) request.output[request.outputs++] = operand;
    for (const StridedOperand& operand : from) request.input[request.inputs++] = operand;
    for (const Factor& factor : factors) request.factor[request.factors++] = factor;
    return send(how.name, handle->stream, BlasKind::map, request, text);
}

/// Two real matrices beside one another, each dense, for each entry of a batch.
struct Planes {
    std::uint64_t real, imaginary;
    std::int64_t rows, elements;

    Parts operands(Number type) const {
        Parts parts{matrix_operand(real, rows, type), matrix_operand(imaginary, rows, type)};
        parts.real.batch = parts.imaginary.batch = elements;
        return parts;
    }
};

/// Cuts a workspace into matrices.
class Workspace {
  public:
    Workspace(std::uint64_t first, Number type) : next_(first), bytes_(bytes_of(type)) {}
    Planes take(std::int64_t rows, std::int64_t columns, std::int64_t batch) {
        const std::uint64_t size = (static_cast<std::uint64_t>(rows * columns * batch) * bytes_ + 255) / 256 * 256;
        const Planes planes{next_, next_ + size, rows, rows * columns};
        next_ += 2 * size;
        return planes;
    }
    std::uint64_t next() const { return next_; }

  private:
    std::uint64_t next_;
    unsigned bytes_;
};

std::uint64_t workspace_bytes(std::int64_t elements, Number type) {
    return 2 * (static_cast<std::uint64_t>(elements) * bytes_of(type) + 255) / 256 * 256 + 512;
}

std::uint64_t gemm_bytes(const ComplexGemm& g) {
    return workspace_bytes(g.m * g.k * g.batch, g.type) + workspace_bytes(g.k * g.n * g.batch, g.type) + workspace_bytes(g.m * g.n * g.batch, g.type);
}

/// A + B of products: C = alpha A B + beta C of real planes.
cublasStatus_t multiply(cublasHandle_t handle, const ComplexGemm& g, std::uint64_t a, const Planes& of_a, std::uint64_t b, const Planes& of_b, std::uint64_t c, const Planes& of_c,
                        double alpha, double beta) {
    ProductRequest request;
    request.m = static_cast<std::uint32_t>(g.m);
    request.n = static_cast<std::uint32_t>(g.n);
    request.k = static_cast<std::uint32_t>(g.k);
    request.batch = static_cast<std::uint32_t>(g.batch);
    const auto operand = [&](std::uint64_t address, const Planes& planes, bool transposed) {
        ProductOperand result;
        result.address = address;
        result.leading = std::max<std::int64_t>(1, planes.rows);
        result.stride = planes.elements;
        result.type = g.type;
        result.transposed = transposed;
        return result;
    };
    request.a = operand(a, of_a, g.transa != 0);
    request.b = operand(b, of_b, g.transb != 0);
    request.c = request.d = operand(c, of_c, false);
    request.alpha = Factor{alpha};
    request.beta = Factor{beta};
    request.tf32 = handle->tf32() && g.type == Number::f32;
    return send(g.name, handle->stream, BlasKind::product, request);
}

constexpr const char* kParts = "y0 = x0; y1 = x1";
constexpr const char* kConjugate = "y0 = x0; y1 = 0 - x1";
/// alpha x + beta y, of which beta y is not looked at where beta is 0.
constexpr const char* kCombine =
    "y0 = s0 * x0 - s1 * x1 + (abs(s2) + abs(s3) != 0 ? s2 * x2 - s3 * x3 : 0); y1 = s0 * x1 + s1 * x0 + (abs(s2) + abs(s3) != 0 ? s2 * x3 + s3 * x2 : 0)";

cublasStatus_t gemm_in(cublasHandle_t handle, const ComplexGemm& g, std::uint64_t memory, const ComplexFactor& alpha, const ComplexFactor& beta) {
    Workspace workspace(memory, g.type);
    const auto split = [&](std::uint64_t address, std::int64_t leading, std::int64_t stride, std::int64_t rows, std::int64_t columns, bool conjugate, Planes& planes) {
        planes = workspace.take(rows, columns, g.batch);
        const Parts from = complex_matrix(address, leading, g.type, false, stride), to = planes.operands(g.type);
        return map(handle, {g.name, rows, columns, Part::all, g.batch}, {to.real, to.imaginary}, {from.real, from.imaginary}, conjugate ? kConjugate : kParts);
    };
    Planes a{}, b{};
    HEDDLE_TRY(split(g.a, g.lda, g.stride_a, g.transa != 0 ? g.k : g.m, g.transa != 0 ? g.m : g.k, g.transa == 2, a));
    HEDDLE_TRY(split(g.b, g.ldb, g.stride_b, g.transb != 0 ? g.n : g.k, g.transb != 0 ? g.k : g.n, g.transb == 2, b));
    const Planes t = workspace.take(g.m, g.n, g.batch);
    HEDDLE_TRY(multiply(handle, g, a.real, a, b.real, b, t.real, t, 1, 0));
    HEDDLE_TRY(multiply(handle, g, a.imaginary, a, b.imaginary, b, t.real, t, -1, 1));
    HEDDLE_TRY(multiply(handle, g, a.real, a, b.imaginary, b, t.imaginary, t, 1, 0));
    HEDDLE_TRY(multiply(handle, g, a.imaginary, a, b.real, b, t.imaginary, t, 1, 1));
    const Parts from = t.operands(g.type), to = complex_matrix(g.c, g.ldc, g.type, false, g.stride_c);
    return map(handle, {g.name, g.m, g.n, Part::all, g.batch}, {to.real, to.imaginary}, {from.real, from.imaginary, to.real, to.imaginary}, kCombine,
               {alpha.real, alpha.imaginary, beta.real, beta.imaginary});
}

cublasStatus_t check(cublasHandle_t handle, const ComplexGemm& g) {
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    const auto is_operation = [](Enumeration operation) { return operation >= 0 && operation <= 2; };
    if (g.m < 0 || g.n < 0 || g.k < 0 || g.batch < 0 || !is_operation(g.transa) || !is_operation(g.transb) || g.lda < std::max<std::int64_t>(1, g.transa != 0 ? g.k : g.m) ||
        g.ldb < std::max<std::int64_t>(1, g.transb != 0 ? g.n : g.k) || g.ldc < std::max<std::int64_t>(1, g.m))
        return CUBLAS_STATUS_INVALID_VALUE;
    for (const std::int64_t extent : {g.m, g.n, g.k, g.batch})
        if (too_large(extent)) return CUBLAS_STATUS_NOT_SUPPORTED;
    return CUBLAS_STATUS_SUCCESS;
}

/// y = alpha op(A) x + beta y.
struct ComplexGemv {
    const char* name;
    Enumeration trans;
    std::int64_t m, n;
    Number type;
    Parts a, x, y;
    std::int64_t batch = 1;
};
cublasStatus_t gemv(cublasHandle_t handle, const ComplexGemv& g, const ComplexFactor& alpha, const ComplexFactor& beta, std::uint64_t offset = 0) {
    if (g.m < 0 || g.n < 0 || g.batch < 0 || g.trans < 0 || g.trans > 2) return CUBLAS_STATUS_INVALID_VALUE;
    if (too_large(g.m) || too_large(g.n) || too_large(g.batch)) return CUBLAS_STATUS_NOT_SUPPORTED;
    const std::int64_t outputs = g.trans != 0 ? g.n : g.m, extent = g.trans != 0 ? g.m : g.n;
    if (outputs == 0 || g.batch == 0) return CUBLAS_STATUS_SUCCESS;
    const CUdeviceptr memory = handle->workspace_of(offset + workspace_bytes(outputs * g.batch, g.type));
    if (memory == 0) return CUBLAS_STATUS_ALLOC_FAILED;
    Workspace workspace(memory + offset, g.type);
    const Parts t = workspace.take(outputs, 1, g.batch).operands(g.type);
    ReduceRequest request;
    request.outputs = static_cast<std::uint32_t>(outputs);
    request.extent = static_cast<std::uint32_t>(extent);
    request.batch = static_cast<std::uint32_t>(g.batch);
    request.inputs = 4;
    StridedOperand operands[] = {g.a.real, g.a.imaginary, g.x.real, g.x.imaginary};
    for (unsigned i = 0; i < 4; ++i) {
        request.input[i] = operands[i];
        if (i < 2 && g.trans != 0) std::swap(request.input[i].row, request.input[i].column);
        if (i >= 2) {
            request.input[i].column = operands[i].row;
            request.input[i].row = 0;
        }
    }
    const bool conjugate = g.trans == 2;
    request.output = t.real;
    HEDDLE_TRY(send(g.name, handle->stream, BlasKind::reduce, request, conjugate ? "y0 = x0 * x2 + x1 * x3" : "y0 = x0 * x2 - x1 * x3", ""));
    request.output = t.imaginary;
    HEDDLE_TRY(send(g.name, handle->stream, BlasKind::reduce, request, conjugate ? "y0 = x0 * x3 - x1 * x2" : "y0 = x0 * x3 + x1 * x2", ""));
    return map(handle, {g.name, outputs, 1, Part::all, g.batch}, {g.y.real, g.y.imaginary}, {t.real, t.imaginary, g.y.real, g.y.imaginary}, kCombine,
               {alpha.real, alpha.imaginary, beta.real, beta.imaginary});
}

Part triangle(Enumeration uplo, bool strictly = false) {
    if (uplo == kFillLower) return strictly ? Part::strictly_lower : Part::lower;
    return strictly ? Part::strictly_upper : Part::upper;
}

/// The whole of a symmetric or Hermitian matrix of which a triangle is given.
cublasStatus_t write_whole(cublasHandle_t handle, const char* name, Enumeration uplo, bool hermitian, std::int64_t n, const void* a, std::int64_t lda, Number type, std::uint64_t to) {
    const Parts whole = complex_matrix(to, n, type), given = complex_matrix(address_of(a), lda, type), turned = complex_matrix(address_of(a), lda, type, true);
    HEDDLE_TRY(map(handle, {name, n, n, triangle(uplo)}, {whole.real, whole.imaginary}, {given.real, given.imaginary}, kParts));
    const Enumeration other = uplo == kFillLower ? kFillUpper : kFillLower;
    HEDDLE_TRY(map(handle, {name, n, n, triangle(other, true)}, {whole.real, whole.imaginary}, {turned.real, turned.imaginary}, hermitian ? kConjugate : kParts));
    if (!hermitian) return CUBLAS_STATUS_SUCCESS;
    StridedOperand diagonal = whole.imaginary;
    diagonal.row = 2 * (n + 1);
    return map(handle, {name, n}, {diagonal}, {}, "y0 = 0");
}

/// The triangle of C = alpha op(A) op(B)' + beta C, ' a transposition, with conjugates where `hermitian`; with `both`, conj(alpha) op(B) op(A)' is added.
struct RankK {
    const char* name;
    Enumeration uplo, trans;
    std::int64_t n, k;
    Number type;
    const void* a;
    std::int64_t lda;
    const void* b;
    std::int64_t ldb;
    void* c;
    std::int64_t ldc;
    bool hermitian, both;
};
cublasStatus_t rank_k(cublasHandle_t handle, const RankK& r, const ComplexFactor& alpha, const ComplexFactor& beta) {
    if (r.n < 0 || r.k < 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (r.n == 0) return CUBLAS_STATUS_SUCCESS;
    const Enumeration turn = r.hermitian ? 2 : 1;
    ComplexGemm g{r.name, r.trans != 0 ? turn : 0, r.trans != 0 ? 0 : turn, r.n, r.n, r.k, 1, r.type};
    const std::uint64_t whole_bytes = workspace_bytes(r.n * r.n, r.type);
    const CUdeviceptr whole = handle->workspace_of(whole_bytes + gemm_bytes(g));
    if (whole == 0) return CUBLAS_STATUS_ALLOC_FAILED;
    g.c = whole;
    g.ldc = r.n;
    const ComplexFactor none{Factor{0}, Factor{0}}, one{Factor{1}, Factor{0}};
    g.a = address_of(r.a), g.lda = r.lda, g.b = address_of(r.b), g.ldb = r.ldb;
    HEDDLE_TRY(check(handle, g));
    HEDDLE_TRY(gemm_in(handle, g, whole + whole_bytes, alpha, none));
    if (r.both) {
        std::swap(g.a, g.b);
        std::swap(g.lda, g.ldb);
        ComplexFactor second = alpha;
        if (r.hermitian) {
            if (second.imaginary.address != 0) {
                heddle_missing("her2k with a scalar on the device");
                return CUBLAS_STATUS_NOT_SUPPORTED;
            }
            second.imaginary.value = -second.imaginary.value;
        }
        HEDDLE_TRY(gemm_in(handle, g, whole + whole_bytes, second, one));
    }
    const Parts from = complex_matrix(whole, r.n, r.type), to = complex_matrix(address_of(r.c), r.ldc, r.type);
    HEDDLE_TRY(map(handle, {r.name, r.n, r.n, triangle(r.uplo)}, {to.real, to.imaginary}, {from.real, from.imaginary, to.real, to.imaginary}, kCombine,
                   {Factor{1}, Factor{0}, beta.real, beta.imaginary}));
    if (!r.hermitian) return CUBLAS_STATUS_SUCCESS;
    StridedOperand diagonal = to.imaginary;
    diagonal.row = 2 * (r.ldc + 1);
    return map(handle, {r.name, r.n}, {diagonal}, {}, "y0 = 0");
}

/// A = A + alpha x y', y' conjugated where it is asked for; of a part of A.
cublasStatus_t ger(cublasHandle_t handle, const Map& how, const ComplexFactor& alpha, const Parts& x, Parts y, bool conjugate, const Parts& a, Number type) {
    if (how.rows <= 0 || how.columns <= 0) return how.rows < 0 || how.columns < 0 ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
    const CUdeviceptr memory = handle->workspace_of(workspace_bytes(how.rows, type));
    if (memory == 0) return CUBLAS_STATUS_ALLOC_FAILED;
    Parts scaled = Workspace(memory, type).take(how.rows, 1, 1).operands(type);
    scaled.real.column = scaled.imaginary.column = 0;  // the same in each column
    HEDDLE_TRY(map(handle, {how.name, how.rows}, {scaled.real, scaled.imaginary}, {x.real, x.imaginary}, "y0 = s0 * x0 - s1 * x1; y1 = s0 * x1 + s1 * x0", {alpha.real, alpha.imaginary}));
    std::swap(y.real.row, y.real.column);
    std::swap(y.imaginary.row, y.imaginary.column);
    return map(handle, how, {a.real, a.imaginary}, {scaled.real, scaled.imaginary, y.real, y.imaginary, a.real, a.imaginary},
               conjugate ? "y0 = x4 + x0 * x2 + x1 * x3; y1 = x5 + x1 * x2 - x0 * x3" : "y0 = x4 + x0 * x2 - x1 * x3; y1 = x5 + x1 * x2 + x0 * x3");
}

/// C = alpha A B + beta C, or alpha B A + beta C, for a symmetric or Hermitian A.
cublasStatus_t symm(cublasHandle_t handle, ComplexGemm g, Enumeration side, Enumeration uplo, bool hermitian) {
    if (handle == nullptr || g.alpha == nullptr || g.beta == nullptr || g.m < 0 || g.n < 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (g.m == 0 || g.n == 0) return CUBLAS_STATUS_SUCCESS;
    const std::int64_t order = side == kSideRight ? g.n : g.m;
    g.k = order;
    const std::uint64_t bytes = workspace_bytes(order * order, g.type);
    const CUdeviceptr whole = handle->workspace_of(bytes + gemm_bytes(g));
    if (whole == 0) return CUBLAS_STATUS_ALLOC_FAILED;
    HEDDLE_TRY(write_whole(handle, g.name, uplo, hermitian, order, reinterpret_cast<const void*>(g.a), g.lda, g.type, whole));
    g.a = whole;
    g.lda = order;
    if (side == kSideRight) {
        std::swap(g.a, g.b);
        std::swap(g.lda, g.ldb);
    }
    HEDDLE_TRY(check(handle, g));
    return gemm_in(handle, g, whole + bytes, complex_factor(handle, g.alpha, g.type), complex_factor(handle, g.beta, g.type));
}

/// C = alpha op(A) + beta op(B) with any of the three operations.
cublasStatus_t geam(cublasHandle_t handle, const char* name, Enumeration ta, Enumeration tb, std::int64_t m, std::int64_t n, const void* alpha, const void* a, std::int64_t lda,
                    const void* beta, const void* b, std::int64_t ldb, void* c, std::int64_t ldc, Number type) {
    if (handle == nullptr || alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    const Parts to = complex_matrix(address_of(c), ldc, type);
    const Parts first = a == nullptr ? to : complex_matrix(address_of(a), lda, type, ta != 0), second = b == nullptr ? to : complex_matrix(address_of(b), ldb, type, tb != 0);
    const ComplexFactor s = complex_factor(handle, alpha, type), t = complex_factor(handle, beta, type);
    const std::string x1 = ta == 2 ? "(0 - x1)" : "x1", x3 = tb == 2 ? "(0 - x3)" : "x3";
    const std::string text = "y0 = (abs(s0) + abs(s1) != 0 ? s0 * x0 - s1 * " + x1 + " : 0) + (abs(s2) + abs(s3) != 0 ? s2 * x2 - s3 * " + x3 + " : 0); " +
                             "y1 = (abs(s0) + abs(s1) != 0 ? s0 * " + x1 + " + s1 * x0 : 0) + (abs(s2) + abs(s3) != 0 ? s2 * " + x3 + " + s3 * x2 : 0)";
    return map(handle, {name, m, n}, {to.real, to.imaginary}, {first.real, first.imaginary, second.real, second.imaginary}, text.c_str(), {s.real, s.imaginary, t.real, t.imaginary});
}

/// A number of vectors: the texts of its parts (the second: nullptr where it is real).
cublasStatus_t reduce(cublasHandle_t handle, const char* name, std::int64_t n, std::initializer_list<StridedOperand> vectors, const char* real, const char* imaginary, const char* finish,
                      void* result, Number type, std::uint32_t position = 0) {
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (result == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    if (too_large(n)) return CUBLAS_STATUS_NOT_SUPPORTED;
    ReduceRequest request;
    request.extent = static_cast<std::uint32_t>(std::max<std::int64_t>(0, n));
    request.position = position;
    for (StridedOperand vector : vectors) {
        std::swap(vector.row, vector.column);
        request.input[request.inputs++] = vector;
    }
    request.output = {handle->place_for(result), 0, 0, 0, type};
    HEDDLE_TRY(send(name, handle->stream, BlasKind::reduce, request, real, finish));
    if (imaginary == nullptr) return handle->fetch(result, bytes_of(type));
    request.output.address += bytes_of(type);
    HEDDLE_TRY(send(name, handle->stream, BlasKind::reduce, request, imaginary, finish));
    return handle->fetch(result, 2 * bytes_of(type));
}

}  // namespace

Parts complex_vector(const void* x, std::int64_t count, std::int64_t increment, Number type) {
    const std::int64_t first = increment < 0 ? (1 - count) * increment : 0;
    const std::uint64_t address = address_of(x) + static_cast<std::uint64_t>(2 * first * bytes_of(type));
    return {{address, 2 * increment, 0, 0, type}, {address + bytes_of(type), 2 * increment, 0, 0, type}};
}

Parts complex_matrix(std::uint64_t address, std::int64_t leading, Number type, bool transposed, std::int64_t stride) {
    StridedOperand real{address, 2, 2 * leading, 2 * stride, type};
    if (transposed) std::swap(real.row, real.column);
    StridedOperand imaginary = real;
    imaginary.address += bytes_of(type);
    return {real, imaginary};
}

cublasStatus_t complex_gemm(cublasHandle_t handle, const ComplexGemm& g) {
    HEDDLE_TRY(check(handle, g));
    if (g.alpha == nullptr || g.beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    if (g.m == 0 || g.n == 0 || g.batch == 0) return CUBLAS_STATUS_SUCCESS;
    const CUdeviceptr memory = handle->workspace_of(gemm_bytes(g));
    if (memory == 0) return CUBLAS_STATUS_ALLOC_FAILED;
    return gemm_in(handle, g, memory, complex_factor(handle, g.alpha, g.type), complex_factor(handle, g.beta, g.type));
}

}  // namespace heddle::driver

namespace {

/// Entries of a batch that lie anywhere: one after another.
cublasStatus_t gemm_at_addresses(cublasHandle_t handle, ComplexGemm gemm, const void* const* a, const void* const* b, void* const* c, std::int64_t batch) {
    if (batch <= 0) return batch < 0 ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
    std::vector<std::uint64_t> addresses[3];
    const void* const lists[] = {a, b, c};
    for (unsigned i = 0; i < 3; ++i) {
        addresses[i].resize(static_cast<std::size_t>(batch));
        if (cuMemcpy(address_of(addresses[i].data()), address_of(lists[i]), addresses[i].size() * sizeof(std::uint64_t)) != CUDA_SUCCESS) return CUBLAS_STATUS_MAPPING_ERROR;
    }
    for (std::size_t i = 0; i < addresses[0].size(); ++i) {
        gemm.a = addresses[0][i];
        gemm.b = addresses[1][i];
        gemm.c = addresses[2][i];
        HEDDLE_TRY(complex_gemm(handle, gemm));
    }
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

// Arguments of these macros are types and names, which parentheses would spoil. T is the type of the parts; complex numbers are two of them.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define HEDDLE_COMPLEX_1(letter, mixed, norm, index, T, Int, suffix)                                                                                                              \
    HEDDLE_API cublasStatus_t cublas##letter##copy_v2##suffix(cublasHandle_t handle, Int n, const void* x, Int incx, void* y, Int incy) {                                        \
        const Parts from = complex_vector(x, n, incx, kNumber<T>), to = complex_vector(y, n, incy, kNumber<T>);                                                                  \
        return map(handle, {"cublas" #letter "copy", std::max<Int>(0, n)}, {to.real, to.imaginary}, {from.real, from.imaginary}, kParts);                                        \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##letter##swap_v2##suffix(cublasHandle_t handle, Int n, void* x, Int incx, void* y, Int incy) {                                              \
        const Parts a = complex_vector(x, n, incx, kNumber<T>), b = complex_vector(y, n, incy, kNumber<T>);                                                                      \
        return map(handle, {"cublas" #letter "swap", std::max<Int>(0, n)}, {a.real, a.imaginary, b.real, b.imaginary}, {a.real, a.imaginary, b.real, b.imaginary},              \
                   "y0 = x2; y1 = x3; y2 = x0; y3 = x1");                                                                                                                        \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##letter##scal_v2##suffix(cublasHandle_t handle, Int n, const void* alpha, void* x, Int incx) {                                              \
        if (handle == nullptr || alpha == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                                                                                           \
        const Parts v = complex_vector(x, n, incx, kNumber<T>);                                                                                                                  \
        const ComplexFactor factor = complex_factor(handle, alpha, kNumber<T>);                                                                                                  \
        return map(handle, {"cublas" #letter "scal", std::max<Int>(0, n)}, {v.real, v.imaginary}, {v.real, v.imaginary},                                                         \
                   "y0 = s0 * x0 - s1 * x1; y1 = s0 * x1 + s1 * x0", {factor.real, factor.imaginary});                                                                           \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##mixed##scal_v2##suffix(cublasHandle_t handle, Int n, const T* alpha, void* x, Int incx) {                                                  \
        if (handle == nullptr || alpha == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                                                                                           \
        const Parts v = complex_vector(x, n, incx, kNumber<T>);                                                                                                                  \
        return map(handle, {"cublas" #mixed "scal", std::max<Int>(0, n)}, {v.real, v.imaginary}, {v.real, v.imaginary}, "y0 = s0 * x0; y1 = s0 * x1",                            \
                   {handle->factor(alpha, kNumber<T>)});                                                                                                                         \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##letter##axpy_v2##suffix(cublasHandle_t handle, Int n, const void* alpha, const void* x, Int incx, void* y, Int incy) {                     \
        if (handle == nullptr || alpha == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                                                                                           \
        const Parts from = complex_vector(x, n, incx, kNumber<T>), to = complex_vector(y, n, incy, kNumber<T>);                                                                  \
        const ComplexFactor factor = complex_factor(handle, alpha, kNumber<T>);                                                                                                  \
        return map(handle, {"cublas" #letter "axpy", std::max<Int>(0, n)}, {to.real, to.imaginary}, {from.real, from.imaginary, to.real, to.imaginary}, kCombine,                \
                   {factor.real, factor.imaginary, Factor{1}, Factor{0}});                                                                                                       \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##letter##dotu_v2##suffix(cublasHandle_t handle, Int n, const void* x, Int incx, const void* y, Int incy, void* result) {                    \
        const Parts a = complex_vector(x, n, incx, kNumber<T>), b = complex_vector(y, n, incy, kNumber<T>);                                                                      \
        return reduce(handle, "cublas" #letter "dotu", n, {a.real, a.imaginary, b.real, b.imaginary}, "y0 = x0 * x2 - x1 * x3", "y0 = x0 * x3 + x1 * x2", "", result,           \
                      kNumber<T>);                                                                                                                                               \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##letter##dotc_v2##suffix(cublasHandle_t handle, Int n, const void* x, Int incx, const void* y, Int incy, void* result) {                    \
        const Parts a = complex_vector(x, n, incx, kNumber<T>), b = complex_vector(y, n, incy, kNumber<T>);                                                                      \
        return reduce(handle, "cublas" #letter "dotc", n, {a.real, a.imaginary, b.real, b.imaginary}, "y0 = x0 * x2 + x1 * x3", "y0 = x0 * x3 - x1 * x2", "", result,           \
                      kNumber<T>);                                                                                                                                               \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##norm##nrm2_v2##suffix(cublasHandle_t handle, Int n, const void* x, Int incx, T* result) {                                                  \
        const Parts v = complex_vector(x, n, incx, kNumber<T>);                                                                                                                  \
        return reduce(handle, "cublas" #norm "nrm2", n, {v.real, v.imaginary}, "y0 = x0 * x0 + x1 * x1", nullptr, "y0 = sqrt(x0)", result, kNumber<T>);                          \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##norm##asum_v2##suffix(cublasHandle_t handle, Int n, const void* x, Int incx, T* result) {                                                  \
        const Parts v = complex_vector(x, n, incx, kNumber<T>);                                                                                                                  \
        return reduce(handle, "cublas" #norm "asum", n, {v.real, v.imaginary}, "y0 = abs(x0) + abs(x1)", nullptr, "", result, kNumber<T>);                                       \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##index##amax_v2##suffix(cublasHandle_t handle, Int n, const void* x, Int incx, Int* result) {                                               \
        const Parts v = complex_vector(x, n, incx, kNumber<T>);                                                                                                                  \
        return reduce(handle, "cublas" #index "amax", incx <= 0 ? 0 : n, {v.real, v.imaginary}, "y0 = abs(x0) + abs(x1)", nullptr, "", result,                                  \
                      sizeof(Int) == 8 ? Number::i64 : Number::i32, 1);                                                                                                          \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##index##amin_v2##suffix(cublasHandle_t handle, Int n, const void* x, Int incx, Int* result) {                                               \
        const Parts v = complex_vector(x, n, incx, kNumber<T>);                                                                                                                  \
        return reduce(handle, "cublas" #index "amin", incx <= 0 ? 0 : n, {v.real, v.imaginary}, "y0 = abs(x0) + abs(x1)", nullptr, "", result,                                  \
                      sizeof(Int) == 8 ? Number::i64 : Number::i32, 2);                                                                                                          \
    }
HEDDLE_COMPLEX_1(C, Cs, Sc, Ic, float, int, )
HEDDLE_COMPLEX_1(C, Cs, Sc, Ic, float, std::int64_t, _64)
HEDDLE_COMPLEX_1(Z, Zd, Dz, Iz, double, int, )
HEDDLE_COMPLEX_1(Z, Zd, Dz, Iz, double, std::int64_t, _64)
#undef HEDDLE_COMPLEX_1

#define HEDDLE_COMPLEX_2_3(letter, T, Int, suffix)                                                                                                                               \
    HEDDLE_API cublasStatus_t cublas##letter##gemv_v2##suffix(cublasHandle_t handle, Enumeration trans, Int m, Int n, const void* alpha, const void* a, Int lda, const void* x,  \
                                                              Int incx, const void* beta, void* y, Int incy) {                                                                   \
        if (handle == nullptr || alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                                                                        \
        return gemv(handle, {"cublas" #letter "gemv", trans, m, n, kNumber<T>, complex_matrix(address_of(a), lda, kNumber<T>),                                                   \
                             complex_vector(x, trans != 0 ? m : n, incx, kNumber<T>), complex_vector(y, trans != 0 ? n : m, incy, kNumber<T>)},                                  \
                    complex_factor(handle, alpha, kNumber<T>), complex_factor(handle, beta, kNumber<T>));                                                                        \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##letter##gemvStridedBatched##suffix(cublasHandle_t handle, Enumeration trans, Int m, Int n, const void* alpha, const void* a, Int lda,      \
                                                                         long long stride_a, const void* x, Int incx, long long stride_x, const void* beta, void* y, Int incy,   \
                                                                         long long stride_y, Int batch) {                                                                        \
        if (handle == nullptr || alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                                                                        \
        ComplexGemv g{"cublas" #letter "gemvStridedBatched", trans, m, n, kNumber<T>, complex_matrix(address_of(a), lda, kNumber<T>, false, stride_a),                           \
                      complex_vector(x, trans != 0 ? m : n, incx, kNumber<T>), complex_vector(y, trans != 0 ? n : m, incy, kNumber<T>), batch};                                  \
        g.x.real.batch = g.x.imaginary.batch = 2 * stride_x;                                                                                                                     \
        g.y.real.batch = g.y.imaginary.batch = 2 * stride_y;                                                                                                                     \
        return gemv(handle, g, complex_factor(handle, alpha, kNumber<T>), complex_factor(handle, beta, kNumber<T>));                                                             \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##letter##geru_v2##suffix(cublasHandle_t handle, Int m, Int n, const void* alpha, const void* x, Int incx, const void* y, Int incy, void* a, \
                                                              Int lda) {                                                                                                         \
        if (handle == nullptr || alpha == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                                                                                           \
        return ger(handle, {"cublas" #letter "geru", m, n}, complex_factor(handle, alpha, kNumber<T>), complex_vector(x, m, incx, kNumber<T>),                                   \
                   complex_vector(y, n, incy, kNumber<T>), false, complex_matrix(address_of(a), lda, kNumber<T>), kNumber<T>);                                                   \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##letter##gerc_v2##suffix(cublasHandle_t handle, Int m, Int n, const void* alpha, const void* x, Int incx, const void* y, Int incy, void* a, \
                                                              Int lda) {                                                                                                         \
        if (handle == nullptr || alpha == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                                                                                           \
        return ger(handle, {"cublas" #letter "gerc", m, n}, complex_factor(handle, alpha, kNumber<T>), complex_vector(x, m, incx, kNumber<T>),                                   \
                   complex_vector(y, n, incy, kNumber<T>), true, complex_matrix(address_of(a), lda, kNumber<T>), kNumber<T>);                                                    \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##letter##her_v2##suffix(cublasHandle_t handle, Enumeration uplo, Int n, const T* alpha, const void* x, Int incx, void* a, Int lda) {        \
        if (handle == nullptr || alpha == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                                                                                           \
        const Parts v = complex_vector(x, n, incx, kNumber<T>), to = complex_matrix(address_of(a), lda, kNumber<T>);                                                             \
        HEDDLE_TRY(ger(handle, {"cublas" #letter "her", n, n, triangle(uplo)}, {handle->factor(alpha, kNumber<T>), Factor{0}}, v, v, true, to, kNumber<T>));                     \
        StridedOperand diagonal = to.imaginary;                                                                                                                                  \
        diagonal.row = 2 * (std::int64_t{lda} + 1);                                                                                                                              \
        return map(handle, {"cublas" #letter "her", n}, {diagonal}, {}, "y0 = 0");                                                                                               \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##letter##hemv_v2##suffix(cublasHandle_t handle, Enumeration uplo, Int n, const void* alpha, const void* a, Int lda, const void* x, Int incx, \
                                                              const void* beta, void* y, Int incy) {                                                                             \
        if (handle == nullptr || alpha == nullptr || beta == nullptr || n < 0) return CUBLAS_STATUS_INVALID_VALUE;                                                               \
        if (n == 0) return CUBLAS_STATUS_SUCCESS;                                                                                                                                \
        const std::int64_t order = n;                                                                                                                                            \
        const std::uint64_t bytes = workspace_bytes(order * order, kNumber<T>);                                                                                                  \
        const CUdeviceptr whole = handle->workspace_of(bytes + workspace_bytes(order, kNumber<T>));                                                                              \
        if (whole == 0) return CUBLAS_STATUS_ALLOC_FAILED;                                                                                                                       \
        HEDDLE_TRY(write_whole(handle, "cublas" #letter "hemv", uplo, true, order, a, lda, kNumber<T>, whole));                                                                  \
        return gemv(handle, {"cublas" #letter "hemv", 0, order, order, kNumber<T>, complex_matrix(whole, order, kNumber<T>), complex_vector(x, n, incx, kNumber<T>),             \
                             complex_vector(y, n, incy, kNumber<T>)},                                                                                                            \
                    complex_factor(handle, alpha, kNumber<T>), complex_factor(handle, beta, kNumber<T>), bytes);                                                                 \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##letter##gemm_v2##suffix(cublasHandle_t handle, Enumeration ta, Enumeration tb, Int m, Int n, Int k, const void* alpha, const void* a,      \
                                                              Int lda, const void* b, Int ldb, const void* beta, void* c, Int ldc) {                                             \
        return complex_gemm(handle, {"cublas" #letter "gemm", ta, tb, m, n, k, 1, kNumber<T>, address_of(a), lda, 0, address_of(b), ldb, 0, address_of(c), ldc, 0, alpha, beta}); \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##letter##gemm3m##suffix(cublasHandle_t handle, Enumeration ta, Enumeration tb, Int m, Int n, Int k, const void* alpha, const void* a,       \
                                                             Int lda, const void* b, Int ldb, const void* beta, void* c, Int ldc) {                                              \
        return cublas##letter##gemm_v2##suffix(handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                                                                    \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##letter##gemmStridedBatched##suffix(cublasHandle_t handle, Enumeration ta, Enumeration tb, Int m, Int n, Int k, const void* alpha,          \
                                                                         const void* a, Int lda, long long stride_a, const void* b, Int ldb, long long stride_b,                 \
                                                                         const void* beta, void* c, Int ldc, long long stride_c, Int batch) {                                    \
        return complex_gemm(handle, {"cublas" #letter "gemmStridedBatched", ta, tb, m, n, k, batch, kNumber<T>, address_of(a), lda, stride_a, address_of(b), ldb, stride_b,      \
                                     address_of(c), ldc, stride_c, alpha, beta});                                                                                                \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##letter##gemmBatched##suffix(cublasHandle_t handle, Enumeration ta, Enumeration tb, Int m, Int n, Int k, const void* alpha,                 \
                                                                  const void* const* a, Int lda, const void* const* b, Int ldb, const void* beta, void* const* c, Int ldc,       \
                                                                  Int batch) {                                                                                                   \
        return gemm_at_addresses(handle, {"cublas" #letter "gemmBatched", ta, tb, m, n, k, 1, kNumber<T>, 0, lda, 0, 0, ldb, 0, 0, ldc, 0, alpha, beta}, a, b, c, batch);        \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##letter##hemm_v2##suffix(cublasHandle_t handle, Enumeration side, Enumeration uplo, Int m, Int n, const void* alpha, const void* a,         \
                                                              Int lda, const void* b, Int ldb, const void* beta, void* c, Int ldc) {                                             \
        return symm(handle, {"cublas" #letter "hemm", 0, 0, m, n, 0, 1, kNumber<T>, address_of(a), lda, 0, address_of(b), ldb, 0, address_of(c), ldc, 0, alpha, beta}, side,     \
                    uplo, true);                                                                                                                                                 \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##letter##symm_v2##suffix(cublasHandle_t handle, Enumeration side, Enumeration uplo, Int m, Int n, const void* alpha, const void* a,         \
                                                              Int lda, const void* b, Int ldb, const void* beta, void* c, Int ldc) {                                             \
        return symm(handle, {"cublas" #letter "symm", 0, 0, m, n, 0, 1, kNumber<T>, address_of(a), lda, 0, address_of(b), ldb, 0, address_of(c), ldc, 0, alpha, beta}, side,     \
                    uplo, false);                                                                                                                                                \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##letter##herk_v2##suffix(cublasHandle_t handle, Enumeration uplo, Enumeration trans, Int n, Int k, const T* alpha, const void* a, Int lda,  \
                                                              const T* beta, void* c, Int ldc) {                                                                                 \
        if (handle == nullptr || alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                                                                        \
        return rank_k(handle, {"cublas" #letter "herk", uplo, trans, n, k, kNumber<T>, a, lda, a, lda, c, ldc, true, false},                                                     \
                      {handle->factor(alpha, kNumber<T>), Factor{0}}, {handle->factor(beta, kNumber<T>), Factor{0}});                                                            \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##letter##her2k_v2##suffix(cublasHandle_t handle, Enumeration uplo, Enumeration trans, Int n, Int k, const void* alpha, const void* a,       \
                                                               Int lda, const void* b, Int ldb, const T* beta, void* c, Int ldc) {                                               \
        if (handle == nullptr || alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                                                                        \
        return rank_k(handle, {"cublas" #letter "her2k", uplo, trans, n, k, kNumber<T>, a, lda, b, ldb, c, ldc, true, true}, complex_factor(handle, alpha, kNumber<T>),          \
                      {handle->factor(beta, kNumber<T>), Factor{0}});                                                                                                            \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##letter##syrk_v2##suffix(cublasHandle_t handle, Enumeration uplo, Enumeration trans, Int n, Int k, const void* alpha, const void* a,        \
                                                              Int lda, const void* beta, void* c, Int ldc) {                                                                     \
        if (handle == nullptr || alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                                                                        \
        return rank_k(handle, {"cublas" #letter "syrk", uplo, trans, n, k, kNumber<T>, a, lda, a, lda, c, ldc, false, false}, complex_factor(handle, alpha, kNumber<T>),         \
                      complex_factor(handle, beta, kNumber<T>));                                                                                                                 \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##letter##syr2k_v2##suffix(cublasHandle_t handle, Enumeration uplo, Enumeration trans, Int n, Int k, const void* alpha, const void* a,       \
                                                               Int lda, const void* b, Int ldb, const void* beta, void* c, Int ldc) {                                            \
        if (handle == nullptr || alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                                                                        \
        return rank_k(handle, {"cublas" #letter "syr2k", uplo, trans, n, k, kNumber<T>, a, lda, b, ldb, c, ldc, false, true}, complex_factor(handle, alpha, kNumber<T>),         \
                      complex_factor(handle, beta, kNumber<T>));                                                                                                                 \
    }                                                                                                                                                                            \
    HEDDLE_API cublasStatus_t cublas##letter##geam##suffix(cublasHandle_t handle, Enumeration ta, Enumeration tb, Int m, Int n, const void* alpha, const void* a, Int lda,       \
                                                           const void* beta, const void* b, Int ldb, void* c, Int ldc) {                                                         \
        return geam(handle, "cublas" #letter "geam", ta, tb, m, n, alpha, a, lda, beta, b, ldb, c, ldc, kNumber<T>);                                                             \
    }
HEDDLE_COMPLEX_2_3(C, float, int, )
HEDDLE_COMPLEX_2_3(C, float, std::int64_t, _64)
HEDDLE_COMPLEX_2_3(Z, double, int, )
HEDDLE_COMPLEX_2_3(Z, double, std::int64_t, _64)
#undef HEDDLE_COMPLEX_2_3
// NOLINTEND(bugprone-macro-parentheses)
