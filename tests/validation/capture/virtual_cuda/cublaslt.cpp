// cublasLt as far as the capture program uses it: column-major products in double precision, rounded once,
// with an own idea of algorithms. Attribute sizes are those of the real library (INNER_SHAPE and
// CLUSTER_SHAPE are uint16).
#include <cublasLt.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "elements.h"
#include "state.h"

using namespace heddle::virtual_cuda;

namespace {

/// Attributes as they were set.
using Attributes = std::map<int, std::vector<std::byte>>;

template <typename T>
T value_of(const Attributes& attributes, int attribute, T otherwise) {
    const auto found = attributes.find(attribute);
    if (found != attributes.end()) std::memcpy(&otherwise, found->second.data(), sizeof(T));
    return otherwise;
}

struct Operation {
    cublasComputeType_t compute;
    cudaDataType_t scale;
    Attributes attributes;
};
struct Layout {
    cudaDataType_t type;
    std::uint64_t rows, columns;
    std::int64_t leading;
    Attributes attributes;
    std::int64_t batch() const {
        return value_of<std::int32_t>(attributes, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 1);
    }
    std::int64_t stride() const {
        return value_of<std::int64_t>(attributes, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 0);
    }
};
struct Preference {
    Attributes attributes;
};

template <typename T, typename Handle>
T* object(Handle handle) {
    return reinterpret_cast<T*>(handle);
}

/// A product, every field taken from the descriptors.
struct Product {
    const Operation& operation;
    const Layout &a, &b, &c, &d;
    cublasOperation_t transpose_a, transpose_b;
    std::uint64_t m, n, k;

    Product(cublasLtMatmulDesc_t description, cublasLtMatrixLayout_t a_layout,
            cublasLtMatrixLayout_t b_layout, cublasLtMatrixLayout_t c_layout, cublasLtMatrixLayout_t d_layout)
        : operation(*object<Operation>(description)),
          a(*object<Layout>(a_layout)),
          b(*object<Layout>(b_layout)),
          c(*object<Layout>(c_layout)),
          d(*object<Layout>(d_layout)),
          transpose_a(static_cast<cublasOperation_t>(
              value_of<std::int32_t>(operation.attributes, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N))),
          transpose_b(static_cast<cublasOperation_t>(
              value_of<std::int32_t>(operation.attributes, CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N))),
          m(transpose_a == CUBLAS_OP_N ? a.rows : a.columns),
          n(transpose_b == CUBLAS_OP_N ? b.columns : b.rows),
          k(transpose_a == CUBLAS_OP_N ? a.columns : a.rows) {}

    /// What the real library would refuse, as far as its documentation says.
    cublasStatus_t check() const {
        const std::uint64_t k_of_b = transpose_b == CUBLAS_OP_N ? b.rows : b.columns;
        if (k != k_of_b || d.rows != m || d.columns != n || c.rows != m || c.columns != n)
            return CUBLAS_STATUS_INVALID_VALUE;
        for (const Layout* layout : {&a, &b, &c, &d}) {
            if (layout->leading < static_cast<std::int64_t>(layout->rows)) return CUBLAS_STATUS_INVALID_VALUE;
            if (layout->batch() != d.batch()) return CUBLAS_STATUS_INVALID_VALUE;
            if (layout->batch() > 1 && layout->stride() == 0) return CUBLAS_STATUS_INVALID_VALUE;
        }
        if (is_fp8(a.type) != is_fp8(b.type)) return CUBLAS_STATUS_NOT_SUPPORTED;
        if (is_fp8(a.type)) {
            if (transpose_a != CUBLAS_OP_T || transpose_b != CUBLAS_OP_N) return CUBLAS_STATUS_NOT_SUPPORTED;
            if (a.type == CUDA_R_8F_E5M2 && b.type == CUDA_R_8F_E5M2) return CUBLAS_STATUS_NOT_SUPPORTED;
            if (a.leading % 16 != 0 || b.leading % 16 != 0 || operation.compute != CUBLAS_COMPUTE_32F)
                return CUBLAS_STATUS_NOT_SUPPORTED;
            if (c.type != CUDA_R_16BF && c.type != CUDA_R_16F && c.type != CUDA_R_32F)
                return CUBLAS_STATUS_NOT_SUPPORTED;
        } else if (a.type != b.type) {
            return CUBLAS_STATUS_NOT_SUPPORTED;
        }
        switch (operation.compute) {
            case CUBLAS_COMPUTE_64F:
                return a.type == CUDA_R_64F && operation.scale == CUDA_R_64F ? CUBLAS_STATUS_SUCCESS
                                                                             : CUBLAS_STATUS_NOT_SUPPORTED;
            case CUBLAS_COMPUTE_16F:
                return a.type == CUDA_R_16F && operation.scale == CUDA_R_16F && d.type == CUDA_R_16F
                           ? CUBLAS_STATUS_SUCCESS
                           : CUBLAS_STATUS_NOT_SUPPORTED;
            case CUBLAS_COMPUTE_32I: {
                if (a.type != CUDA_R_8I) return CUBLAS_STATUS_NOT_SUPPORTED;
                const bool integers = operation.scale == CUDA_R_32I && d.type == CUDA_R_32I;
                const bool narrow = operation.scale == CUDA_R_32F && d.type == CUDA_R_8I;
                return integers || narrow ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
            }
            default:
                return operation.scale == CUDA_R_32F && a.type != CUDA_R_64F && a.type != CUDA_R_8I
                           ? CUBLAS_STATUS_SUCCESS
                           : CUBLAS_STATUS_NOT_SUPPORTED;
        }
    }
};

std::vector<std::byte> read(CUdeviceptr address, std::uint64_t bytes) {
    std::vector<std::byte> values(bytes);
    driver().memory.read(address, values);
    return values;
}

std::uint64_t extent(const Layout& layout) {
    const std::uint64_t one = static_cast<std::uint64_t>(layout.leading) * (layout.columns - 1) + layout.rows;
    return (one + static_cast<std::uint64_t>((layout.batch() - 1) * layout.stride())) * size_of(layout.type);
}

double scale_at(const Operation& operation, int attribute) {
    const auto address = value_of<CUdeviceptr>(operation.attributes, attribute, 0);
    return address == 0 ? 1.0 : decoded(CUDA_R_32F, read(address, 4).data());
}

double activated(std::int32_t epilogue, double x) {
    if ((epilogue & CUBLASLT_EPILOGUE_RELU) != 0) return x > 0 ? x : 0;
    if ((epilogue & CUBLASLT_EPILOGUE_GELU) != 0)
        return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    return x;
}

void multiply(const Product& x, double alpha, double beta, CUdeviceptr a_at, CUdeviceptr b_at,
              CUdeviceptr c_at, CUdeviceptr d_at) {
    const auto a = read(a_at, extent(x.a)), b = read(b_at, extent(x.b));
    const auto c = beta == 0 ? std::vector<std::byte>() : read(c_at, extent(x.c));
    auto d = read(d_at, extent(x.d));
    const auto epilogue = value_of<std::int32_t>(x.operation.attributes, CUBLASLT_MATMUL_DESC_EPILOGUE, 1);
    const auto bias_at = value_of<CUdeviceptr>(x.operation.attributes, CUBLASLT_MATMUL_DESC_BIAS_POINTER, 0);
    auto bias_type = static_cast<cudaDataType_t>(
        value_of<std::int32_t>(x.operation.attributes, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, -1));
    if (static_cast<int>(bias_type) == -1) bias_type = x.d.type;
    std::vector<std::byte> bias;
    if ((epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) bias = read(bias_at, x.m * size_of(bias_type));
    const double scale = scale_at(x.operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER) *
                         scale_at(x.operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
    const double scale_d =
        is_fp8(x.d.type) ? scale_at(x.operation, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER) : 1.0;
    const auto at = [](const Layout& layout, std::uint64_t row, std::uint64_t column, std::int64_t batch) {
        return (row + column * static_cast<std::uint64_t>(layout.leading) +
                static_cast<std::uint64_t>(batch * layout.stride())) *
               size_of(layout.type);
    };
    for (std::int64_t batch = 0; batch < x.d.batch(); ++batch) {
        for (std::uint64_t i = 0; i < x.m; ++i) {
            for (std::uint64_t j = 0; j < x.n; ++j) {
                double sum = 0;
                for (std::uint64_t k = 0; k < x.k; ++k) {
                    const auto of_a =
                        x.transpose_a == CUBLAS_OP_N ? at(x.a, i, k, batch) : at(x.a, k, i, batch);
                    const auto of_b =
                        x.transpose_b == CUBLAS_OP_N ? at(x.b, k, j, batch) : at(x.b, j, k, batch);
                    sum += decoded(x.a.type, a.data() + of_a) * decoded(x.b.type, b.data() + of_b);
                }
                sum *= alpha * scale;
                if (beta != 0) sum += beta * decoded(x.c.type, c.data() + at(x.c, i, j, batch));
                if (!bias.empty()) sum += decoded(bias_type, bias.data() + i * size_of(bias_type));
                encode(x.d.type, activated(epilogue, sum) * scale_d, d.data() + at(x.d, i, j, batch));
            }
        }
    }
    driver().memory.write(d_at, d);
}

/// What the 64 bytes of an algorithm hold here.
struct Algorithm {
    std::uint64_t magic = 0x4865646c65000001ull;
    std::int32_t id = 66, split_k = 1;
    std::uint32_t tile = 20, reduction_scheme = 0, swizzle = 0, custom_option = 0, stages = 7;
    std::uint16_t inner_shape = 0, cluster_shape = 2;
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

Algorithm algorithm_of(const cublasLtMatmulAlgo_t& from) {
    Algorithm algorithm;
    std::memcpy(static_cast<void*>(&algorithm), &from, sizeof algorithm);
    return algorithm;
}

/// The address and size of an attribute; a null pointer for one that is not there.
std::pair<void*, std::size_t> attribute_of(Algorithm& x, cublasLtMatmulAlgoConfigAttributes_t attribute) {
    switch (attribute) {
        case CUBLASLT_ALGO_CONFIG_ID:
            return {&x.id, 4};
        case CUBLASLT_ALGO_CONFIG_TILE_ID:
            return {&x.tile, 4};
        case CUBLASLT_ALGO_CONFIG_SPLITK_NUM:
            return {&x.split_k, 4};
        case CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME:
            return {&x.reduction_scheme, 4};
        case CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING:
            return {&x.swizzle, 4};
        case CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION:
            return {&x.custom_option, 4};
        case CUBLASLT_ALGO_CONFIG_STAGES_ID:
            return {&x.stages, 4};
        case CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID:
            return {&x.inner_shape, 2};
        case CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID:
            return {&x.cluster_shape, 2};
        default:
            return {nullptr, 0};
    }
}

cublasStatus_t set(Attributes& attributes, int attribute, const void* from, std::size_t bytes,
                   std::size_t expected) {
    if (from == nullptr || bytes != expected) return CUBLAS_STATUS_INVALID_VALUE;
    const auto* begin = static_cast<const std::byte*>(from);
    attributes[attribute].assign(begin, begin + bytes);
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cublasStatus_t CUBLASWINAPI cublasLtCreate(cublasLtHandle_t* handle) {
    *handle = reinterpret_cast<cublasLtHandle_t>(std::uintptr_t{0x1717});
    ++driver().library_handles;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtDestroy(cublasLtHandle_t) {
    if (driver().library_handles == 0) return CUBLAS_STATUS_INVALID_VALUE;
    --driver().library_handles;
    return CUBLAS_STATUS_SUCCESS;
}
size_t CUBLASWINAPI cublasLtGetVersion(void) {
    return CUBLAS_VERSION;
}
size_t CUBLASWINAPI cublasLtGetCudartVersion(void) {
    return 13000;
}
const char* CUBLASWINAPI cublasLtGetStatusName(cublasStatus_t status) {
    return status == CUBLAS_STATUS_SUCCESS ? "CUBLAS_STATUS_SUCCESS" : "CUBLAS_STATUS_VIRTUAL";
}
const char* CUBLASWINAPI cublasLtGetStatusString(cublasStatus_t status) {
    return status == CUBLAS_STATUS_SUCCESS ? "success" : "an error of the virtual library";
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description,
                                                     cublasComputeType_t compute, cudaDataType_t scale) {
    *description = reinterpret_cast<cublasLtMatmulDesc_t>(new Operation{compute, scale, {}});
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
    delete object<Operation>(description);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                                           cublasLtMatmulDescAttributes_t attribute,
                                                           const void* from, size_t bytes) {
    std::size_t expected = 4;
    switch (attribute) {
        case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
        case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE:
        case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
        case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
        case CUBLASLT_MATMUL_DESC_C_SCALE_POINTER:
        case CUBLASLT_MATMUL_DESC_D_SCALE_POINTER:
            expected = 8;
            break;
        case CUBLASLT_MATMUL_DESC_FAST_ACCUM:
            expected = 1;
            break;
        default:
            break;
    }
    return set(object<Operation>(description)->attributes, attribute, from, bytes, expected);
}
cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                                       uint64_t rows, uint64_t columns, int64_t leading) {
    *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{type, rows, columns, leading, {}});
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
    delete object<Layout>(layout);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                             cublasLtMatrixLayoutAttribute_t attribute,
                                                             const void* from, size_t bytes) {
    if (attribute == CUBLASLT_MATRIX_LAYOUT_ORDER)
        return CUBLAS_STATUS_NOT_SUPPORTED;  // column-major only, here
    const bool wide = attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET ||
                      attribute == CUBLASLT_MATRIX_LAYOUT_ROWS || attribute == CUBLASLT_MATRIX_LAYOUT_COLS ||
                      attribute == CUBLASLT_MATRIX_LAYOUT_LD;
    return set(object<Layout>(layout)->attributes, attribute, from, bytes, wide ? 8 : 4);
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
    *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
    delete object<Preference>(preference);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute, const void* from,
    size_t bytes) {
    const bool wide =
        attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES || attribute == CUBLASLT_MATMUL_PREF_IMPL_MASK;
    return set(object<Preference>(preference)->attributes, attribute, from, bytes, wide ? 8 : 4);
}

/// Up to three: one chain, and, where the reduction schemes and the workspace allow, K in two and four
/// slices.
cublasStatus_t CUBLASWINAPI cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t description, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int requested,
    cublasLtMatmulHeuristicResult_t results[], int* count) {
    *count = 0;
    const Product product(description, a, b, c, d);
    if (const cublasStatus_t refused = product.check(); refused != CUBLAS_STATUS_SUCCESS) return refused;
    const Attributes& wishes = object<Preference>(preference)->attributes;
    const auto mask = value_of<std::uint32_t>(wishes, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 7);
    const auto workspace = value_of<std::uint64_t>(wishes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 0);
    for (const int split : {1, 2, 4}) {
        const std::uint64_t bytes =
            split == 1 ? 0 : static_cast<std::uint64_t>(split) * product.m * product.n * 4;
        if (*count >= requested || (split > 1 && (mask == 0 || bytes > workspace))) continue;
        cublasLtMatmulHeuristicResult_t& result = results[(*count)++];
        result = {};
        Algorithm algorithm;
        algorithm.split_k = split;
        algorithm.reduction_scheme = split > 1 ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE : 0;
        std::memcpy(&result.algo, &algorithm, sizeof algorithm);
        result.workspaceSize = bytes;
        result.state = CUBLAS_STATUS_SUCCESS;
        result.wavesCount = 1;
    }
    return *count > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                                                    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                                    const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulHeuristicResult_t* result) {
    const Product product(description, a, b, c, d);
    *result = {};
    result->algo = *algo;
    result->state = product.check();
    const Algorithm algorithm = algorithm_of(*algo);
    if (algorithm.split_k > 1)
        result->workspaceSize = static_cast<std::size_t>(algorithm.split_k) * product.m * product.n * 4;
    result->wavesCount = 1;
    return result->state;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulAlgoConfigGetAttribute(
    const cublasLtMatmulAlgo_t* algo, cublasLtMatmulAlgoConfigAttributes_t attribute, void* to, size_t bytes,
    size_t* written) {
    Algorithm algorithm = algorithm_of(*algo);
    const auto [from, size] = attribute_of(algorithm, attribute);
    if (from == nullptr || bytes != size) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(to, from, size);
    if (written != nullptr) *written = size;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulAlgoConfigSetAttribute(
    cublasLtMatmulAlgo_t* algo, cublasLtMatmulAlgoConfigAttributes_t attribute, const void* from,
    size_t bytes) {
    Algorithm algorithm = algorithm_of(*algo);
    const auto [to, size] = attribute_of(algorithm, attribute);
    if (to == nullptr || bytes != size) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(to, from, size);
    std::memcpy(algo, &algorithm, sizeof algorithm);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t*,
                                                              cublasLtMatmulAlgoCapAttributes_t attribute,
                                                              void* to, size_t bytes, size_t* written) {
    if (attribute == CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS) {
        if (bytes != 8) return CUBLAS_STATUS_INVALID_VALUE;
        const std::uint64_t flags =
            CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA | CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F;
        std::memcpy(to, &flags, 8);
    } else {
        std::memset(to, 0, bytes);
    }
    if (written != nullptr) *written = bytes;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                                           const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                                           const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                                           const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                                           cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo,
                                           void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    const Product checked(description, a_layout, b_layout, c_layout, d_layout);
    if (const cublasStatus_t refused = checked.check(); refused != CUBLAS_STATUS_SUCCESS) return refused;
    const Algorithm algorithm = algo == nullptr ? Algorithm{} : algorithm_of(*algo);
    if (algorithm.magic != Algorithm{}.magic) return CUBLAS_STATUS_INVALID_VALUE;
    const std::uint64_t needed =
        algorithm.split_k > 1 ? static_cast<std::uint64_t>(algorithm.split_k) * checked.m * checked.n * 4 : 0;
    if (needed > workspace_bytes || (needed > 0 && workspace == nullptr)) return CUBLAS_STATUS_INVALID_VALUE;
    const auto address = [](const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); };
    for (const void* pointer : {a, b, static_cast<const void*>(d)})
        if (pointer == nullptr || address(pointer) % 16 != 0) return CUBLAS_STATUS_INVALID_VALUE;
    const double by_alpha = decoded(checked.operation.scale, static_cast<const std::byte*>(alpha));
    const double by_beta = decoded(checked.operation.scale, static_cast<const std::byte*>(beta));
    Work work;
    work.function = named_function("virtual_gemm_64x64_" + std::to_string(algorithm.split_k) + "_slices");
    work.grid[0] = static_cast<unsigned>((checked.m + 63) / 64);
    work.grid[1] = static_cast<unsigned>((checked.n + 63) / 64);
    work.block[0] = 128;
    work.shared_bytes = 1024;
    // The descriptors may be gone when a graph runs.
    work.perform = [operation = checked.operation, la = checked.a, lb = checked.b, lc = checked.c,
                    ld = checked.d, by_alpha, by_beta, a = address(a), b = address(b), c = address(c),
                    d = address(d)]() mutable {
        const Product product(
            reinterpret_cast<cublasLtMatmulDesc_t>(&operation), reinterpret_cast<cublasLtMatrixLayout_t>(&la),
            reinterpret_cast<cublasLtMatrixLayout_t>(&lb), reinterpret_cast<cublasLtMatrixLayout_t>(&lc),
            reinterpret_cast<cublasLtMatrixLayout_t>(&ld));
        multiply(product, by_alpha, by_beta, a, b, c, d);
    };
    return submit(reinterpret_cast<CUstream>(stream), std::move(work)) == CUDA_SUCCESS
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
