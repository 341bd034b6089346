// Products with layouts and epilogues, transforms, and which algorithm there is: cublasLt.
#include <algorithm>
#include <utility>

#include "driver/cublaslt/descriptors.h"

using namespace heddle::driver;

namespace heddle::driver {
namespace {

constexpr int kRows = 1;  // cublasLtOrder_t
// Bits of cublasLtEpilogue_t.
constexpr int kRelu = 2, kBias = 4, kBiasGradient = 16, kGelu = 32, kGeluGradient = 64, kAuxiliary = 128, kBiasGradientA = 256, kBiasGradientB = 512;

/// The columns-first matrix that a layout describes, transposed where it has rows first.
ProductOperand operand_of(const void* address, const Layout& layout, bool transposed, bool* known) {
    ProductOperand operand;
    operand.address = address_of(address);
    operand.leading = layout.leading;
    operand.stride = layout.stride;
    operand.transposed = transposed != (layout.order == kRows);
    *known = *known && number_of(layout.type, &operand.type) && (layout.order == 0 || layout.order == kRows);
    return operand;
}

/// A sum of op(A) or op(B) over k: what BGRADA and BGRADB put where the bias would be.
struct BiasGradient {
    bool wanted = false;
    ReduceRequest request;
};

struct Question {
    ProductRequest product;
    BiasGradient gradient;
};

/// Sums `matrix`, of `outputs` by `extent` when it is columns-first and not transposed.
BiasGradient sum_along(const ProductOperand& matrix, std::uint32_t outputs, std::uint32_t extent, const void* to, Number type) {
    BiasGradient gradient;
    gradient.wanted = true;
    gradient.request.outputs = outputs;
    gradient.request.extent = extent;
    gradient.request.inputs = 1;
    gradient.request.input[0] = {matrix.address, 1, matrix.leading, 0, matrix.type};
    if (matrix.transposed != 0) std::swap(gradient.request.input[0].row, gradient.request.input[0].column);
    gradient.request.output = {address_of(to), 1, 0, 0, type};
    return gradient;
}

Factor scale_at(const void* pointer) {
    Factor factor;
    factor.address = address_of(pointer);
    return factor;
}

/// What is asked, or NOT_SUPPORTED with the reason on standard error.
cublasStatus_t question_of(const MatmulDescription& how, const void* alpha, const void* a, const Layout& a_layout, const void* b, const Layout& b_layout, const void* beta,
                           const void* c, const Layout& c_layout, const void* d, const Layout& d_layout, Question* question) {
    const auto refuse = [](const char* what) {
        heddle_missing(what);
        return CUBLAS_STATUS_NOT_SUPPORTED;
    };
    ProductRequest& r = question->product;
    const ComputeRules rules = compute_rules(how.compute_type);
    bool known = rules.known;
    Number scale{};
    known = number_of(how.scale_type, &scale) && known;
    r.a = operand_of(a, a_layout, how.transa != 0, &known);
    r.b = operand_of(b, b_layout, how.transb != 0, &known);
    r.c = operand_of(c, c_layout, false, &known);
    r.d = operand_of(d, d_layout, false, &known);
    if (!known) return refuse("cublasLtMatmul of a type or an order that the kernel library does not have");
    if (how.transc != 0 || how.fill_mode < 0) return refuse("cublasLtMatmul with a transposed C");
    if (how.pointer_mode > 1) return refuse("cublasLtMatmul with a vector of alphas");
    if (how.largest_d != nullptr || how.auxiliary_scale != nullptr || how.auxiliary_largest != nullptr)
        return refuse("cublasLtMatmul that reports the largest magnitude of its result");
    const auto inner = how.transa != 0 ? a_layout.rows : a_layout.columns;
    if (inner != (how.transb != 0 ? b_layout.columns : b_layout.rows) || d_layout.rows != (how.transa != 0 ? a_layout.columns : a_layout.rows) ||
        d_layout.columns != (how.transb != 0 ? b_layout.rows : b_layout.columns))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (std::max({d_layout.rows, d_layout.columns, inner}) > 0x7fffffff) return CUBLAS_STATUS_NOT_SUPPORTED;
    r.m = static_cast<std::uint32_t>(d_layout.rows);
    r.n = static_cast<std::uint32_t>(d_layout.columns);
    r.k = static_cast<std::uint32_t>(inner);
    r.batch = static_cast<std::uint32_t>(d_layout.batch);
    r.tf32 = rules.tf32;
    const bool on_device = how.pointer_mode == 1;
    r.alpha = factor_of(alpha, scale, on_device);
    r.beta = factor_of(beta, scale, on_device);
    r.scale_a = scale_at(how.scale_a);
    r.scale_b = scale_at(how.scale_b);
    r.scale_d = scale_at(how.scale_d);
    if (how.scale_c != nullptr) return refuse("cublasLtMatmul with a scale of C");

    const Number d_type = r.d.type;
    Number bias_type = r.a.type == Number::e4m3 || r.a.type == Number::e5m2 ? Number::bf16 : d_type;
    if (how.bias_type >= 0 && !number_of(how.bias_type, &bias_type)) return refuse("cublasLtMatmul with a bias of an unknown type");
    const int epilogue = how.epilogue;
    if ((epilogue & (kRelu | 8)) != 0 && (epilogue & kAuxiliary) != 0) return refuse("cublasLtMatmul with the bit mask of a ReLU");
    if ((epilogue & kBias) != 0) {
        r.bias = address_of(how.bias);
        r.bias_type = bias_type;
    }
    r.activation = (epilogue & kRelu) != 0           ? Activation::relu
                   : (epilogue & kGelu) != 0         ? Activation::gelu
                   : (epilogue & kGeluGradient) != 0 ? Activation::gelu_gradient
                                                     : Activation::none;
    if ((epilogue & kAuxiliary) != 0) {
        r.auxiliary.address = address_of(how.auxiliary);
        r.auxiliary.leading = how.auxiliary_leading;
        r.auxiliary.stride = how.auxiliary_stride;
        r.auxiliary.type = d_type;
        if (how.auxiliary_type >= 0 && !number_of(how.auxiliary_type, &r.auxiliary.type)) return refuse("cublasLtMatmul with an auxiliary output of an unknown type");
    }
    if ((epilogue & kBiasGradientA) != 0) question->gradient = sum_along(r.a, r.m, r.k, how.bias, bias_type);
    if ((epilogue & kBiasGradientB) != 0) {
        ProductOperand turned = r.b;
        turned.transposed = turned.transposed == 0;
        question->gradient = sum_along(turned, r.n, r.k, how.bias, bias_type);
    }
    if ((epilogue & kBiasGradient) != 0) question->gradient = sum_along(r.d, r.m, r.n, how.bias, bias_type);

    if (r.d.transposed != 0 || r.c.transposed != 0) {
        // Rows first: D^T = op(B)^T op(A)^T, in columns.
        if (r.d.transposed != r.c.transposed && r.c.address != 0) return refuse("cublasLtMatmul whose C and D are of different orders");
        if (r.bias != 0) return refuse("cublasLtMatmul with a bias and a result in rows");
        std::swap(r.a, r.b);
        std::swap(r.m, r.n);
        std::swap(r.scale_a, r.scale_b);
        r.a.transposed = r.a.transposed == 0;
        r.b.transposed = r.b.transposed == 0;
        r.c.transposed = r.d.transposed = 0;
    }
    return CUBLAS_STATUS_SUCCESS;
}

/// cublasLtMatmulAlgo_t and the result of a heuristic, which the program holds.
struct Algorithm {
    std::uint64_t data[8];
};
struct HeuristicResult {
    Algorithm algorithm;
    std::size_t workspace_bytes;
    cublasStatus_t state;
    float waves;
    int reserved[4];
};
/// The one that there is: the kernel library chooses.
constexpr int kAlgorithm = 1;

cublasStatus_t check(const MatmulDescription* how, const Layout* a, const Layout* b, const Layout* c, const Layout* d, HeuristicResult* result) {
    if (how == nullptr || a == nullptr || b == nullptr || c == nullptr || d == nullptr || result == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    // Addresses are not known yet: aligned ones stand for them.
    const double zero = 0, one = 1;
    const float zero_f = 0, one_f = 1;
    MatmulDescription plain = *how;
    plain.pointer_mode = 0;
    plain.scale_a = plain.scale_b = plain.scale_d = nullptr;
    const bool wide = how->scale_type == 1;
    const void* const place = reinterpret_cast<const void*>(kMemoryBase);
    Question question;
    plain.compute_type = how->compute_type;
    cublasStatus_t status = question_of(plain, wide ? static_cast<const void*>(&one) : &one_f, place, *a, place, *b, wide ? static_cast<const void*>(&zero) : &zero_f, place, *c,
                                        place, *d, &question);
    if (status == CUBLAS_STATUS_SUCCESS) {
        question.product.alpha = Factor{1};
        question.product.beta = Factor{0};
        status = send("cublasLtMatmul", nullptr, BlasKind::product, question.product, {}, {}, true);
    }
    *result = {};
    result->algorithm.data[0] = kAlgorithm;
    result->state = status;
    result->waves = 1;
    return status;
}

}  // namespace
}  // namespace heddle::driver

HEDDLE_API cublasStatus_t cublasLtCreate(void** handle) {
    // A product needs nothing of a handle: some memory makes it one.
    *handle = new int(0);
    return CUBLAS_STATUS_SUCCESS;
}
HEDDLE_API cublasStatus_t cublasLtDestroy(void* handle) {
    delete static_cast<int*>(handle);
    return CUBLAS_STATUS_SUCCESS;
}
HEDDLE_API std::size_t cublasLtGetVersion() { return HEDDLE_CUBLAS * 10000; }
HEDDLE_API std::size_t cublasLtGetCudartVersion() { return HEDDLE_CUBLAS * 1000; }
HEDDLE_API cublasStatus_t cublasLtGetProperty(int type, int* value) {
    *value = type == 0 ? HEDDLE_CUBLAS : 0;
    return CUBLAS_STATUS_SUCCESS;
}
HEDDLE_API const char* cublasLtGetStatusName(cublasStatus_t status) { return status == CUBLAS_STATUS_SUCCESS ? "CUBLAS_STATUS_SUCCESS" : status == CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_EXECUTION_FAILED"; }
HEDDLE_API const char* cublasLtGetStatusString(cublasStatus_t status) { return cublasLtGetStatusName(status); }
HEDDLE_API cublasStatus_t cublasLtLoggerSetLevel(int) { return CUBLAS_STATUS_SUCCESS; }
HEDDLE_API cublasStatus_t cublasLtLoggerSetMask(int) { return CUBLAS_STATUS_SUCCESS; }
HEDDLE_API cublasStatus_t cublasLtLoggerForceDisable() { return CUBLAS_STATUS_SUCCESS; }

HEDDLE_API cublasStatus_t cublasLtMatmul(void*, const MatmulDescription* how, const void* alpha, const void* a, const Layout* a_layout, const void* b, const Layout* b_layout,
                                         const void* beta, const void* c, const Layout* c_layout, void* d, const Layout* d_layout, const void*, void*, std::size_t,
                                         CUstream stream) {
    if (how == nullptr || a_layout == nullptr || b_layout == nullptr || c_layout == nullptr || d_layout == nullptr || alpha == nullptr || beta == nullptr)
        return CUBLAS_STATUS_INVALID_VALUE;
    Question question;
    if (const cublasStatus_t status = question_of(*how, alpha, a, *a_layout, b, *b_layout, beta, c, *c_layout, d, *d_layout, &question); status != CUBLAS_STATUS_SUCCESS) return status;
    if (const cublasStatus_t status = send("cublasLtMatmul", stream, BlasKind::product, question.product); status != CUBLAS_STATUS_SUCCESS) return status;
    if (!question.gradient.wanted) return CUBLAS_STATUS_SUCCESS;
    return send("cublasLtMatmul", stream, BlasKind::reduce, question.gradient.request, "y0 = x0", "");
}

HEDDLE_API cublasStatus_t cublasLtMatmulAlgoGetHeuristic(void*, const MatmulDescription* how, const Layout* a, const Layout* b, const Layout* c, const Layout* d,
                                                         const Preference*, int wanted, HeuristicResult* results, int* found) {
    if (found == nullptr || wanted < 1) return CUBLAS_STATUS_INVALID_VALUE;
    *found = 0;
    const cublasStatus_t status = check(how, a, b, c, d, results);
    if (status == CUBLAS_STATUS_SUCCESS) *found = 1;
    return status;
}
HEDDLE_API cublasStatus_t cublasLtMatmulAlgoCheck(void*, const MatmulDescription* how, const Layout* a, const Layout* b, const Layout* c, const Layout* d, const Algorithm*,
                                                  HeuristicResult* result) {
    return check(how, a, b, c, d, result);
}
HEDDLE_API cublasStatus_t cublasLtMatmulAlgoGetIds(void*, int, int, int, int, int, int, int wanted, int* ids, int* found) {
    if (ids == nullptr || found == nullptr || wanted < 1) return CUBLAS_STATUS_INVALID_VALUE;
    ids[0] = kAlgorithm;
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}
HEDDLE_API cublasStatus_t cublasLtMatmulAlgoInit(void*, int, int, int, int, int, int, int id, Algorithm* algorithm) {
    if (algorithm == nullptr || id != kAlgorithm) return CUBLAS_STATUS_INVALID_VALUE;
    *algorithm = {};
    algorithm->data[0] = kAlgorithm;
    return CUBLAS_STATUS_SUCCESS;
}

/// C = alpha op(A) + beta op(B), with types and orders of their own.
HEDDLE_API cublasStatus_t cublasLtMatrixTransform(void*, const TransformDescription* how, const void* alpha, const void* a, const Layout* a_layout, const void* beta, const void* b,
                                                  const Layout* b_layout, void* c, const Layout* c_layout, CUstream stream) {
    if (how == nullptr || c_layout == nullptr || a_layout == nullptr || alpha == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    Number scale{};
    bool known = number_of(how->scale_type, &scale);
    const auto strided = [&](const void* address, const Layout& layout, bool transposed) {
        const ProductOperand operand = operand_of(address, layout, transposed, &known);
        StridedOperand result{operand.address, 1, operand.leading, operand.stride, operand.type};
        if (operand.transposed != 0) std::swap(result.row, result.column);
        return result;
    };
    MapRequest request;
    request.rows = static_cast<std::uint32_t>(c_layout->rows);
    request.columns = static_cast<std::uint32_t>(c_layout->columns);
    request.batch = static_cast<std::uint32_t>(c_layout->batch);
    request.outputs = request.inputs = request.factors = 1;
    request.output[0] = strided(c, *c_layout, false);
    request.input[0] = strided(a, *a_layout, how->transa != 0);
    const bool on_device = how->pointer_mode == 1;
    request.factor[0] = factor_of(alpha, scale, on_device);
    if (b != nullptr && b_layout != nullptr && beta != nullptr) {
        request.inputs = request.factors = 2;
        request.input[1] = strided(b, *b_layout, how->transb != 0);
        request.factor[1] = factor_of(beta, scale, on_device);
    }
    if (!known) {
        heddle_missing("cublasLtMatrixTransform of a type or an order that the kernel library does not have");
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    return send("cublasLtMatrixTransform", stream, BlasKind::map, request, request.inputs == 2 ? "y0 = s0 * x0 + (s1 != 0 ? s1 * x1 : 0)" : "y0 = s0 * x0");
}
