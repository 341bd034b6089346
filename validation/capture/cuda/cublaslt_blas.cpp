#include "validation/capture/cuda/cublaslt_blas.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace heddle::capture {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

std::string blob_of(const cublasLtMatmulAlgo_t& algorithm) {
    unsigned char bytes[sizeof algorithm.data];
    std::memcpy(bytes, algorithm.data, sizeof bytes);
    std::string text;
    for (const unsigned char byte : bytes) {
        text += kDigits[byte >> 4];
        text += kDigits[byte & 15];
    }
    return text;
}

cublasLtMatmulAlgo_t algorithm_of(const std::string& blob) {
    cublasLtMatmulAlgo_t algorithm{};
    unsigned char bytes[sizeof algorithm.data] = {};
    if (blob.size() != 2 * sizeof bytes)
        throw DeviceError("the algorithm was not made by cublasLt: its blob has " +
                          std::to_string(blob.size()) + " digits");
    const auto digit = [](char c) {
        return static_cast<unsigned>(std::find(kDigits, kDigits + 16, c) - kDigits);
    };
    for (std::size_t i = 0; i < sizeof bytes; ++i)
        bytes[i] = static_cast<unsigned char>(digit(blob[2 * i]) << 4 | digit(blob[2 * i + 1]));
    std::memcpy(algorithm.data, bytes, sizeof bytes);
    return algorithm;
}

/// Destroys a preference at the end of the scope.
using Preference = std::unique_ptr<std::remove_pointer_t<cublasLtMatmulPreference_t>,
                                   cublasStatus_t (*)(cublasLtMatmulPreference_t)>;

}  // namespace

CublasLtBlas::CublasLtBlas(const CudaContext& context)
    : context_(context), api_(load_cublaslt()), handle_(make_handle()) {
    // Absent scales of fp8 operands mean one, but some versions ask for a pointer all the same.
    context_.check(context_.api().cuMemAlloc(&scale_one_, 256), "cuMemAlloc(256) for a scale");
    static constexpr float kOne = 1.0f;
    context_.check(context_.api().cuMemcpyHtoDAsync(scale_one_, &kOne, sizeof kOne, context_.stream()),
                   "cuMemcpyHtoDAsync of a scale");
    context_.wait();
}

CublasLtBlas::Handle CublasLtBlas::make_handle() const {
    cublasLtHandle_t made = nullptr;
    check(api_.cublasLtCreate(&made), "cublasLtCreate");
    return Handle(made, {&context_, api_.cublasLtDestroy});
}

void CublasLtBlas::check(cublasStatus_t status, const std::string& call) const {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    try {
        check_cublaslt(api_, status, call);
    } catch (const DeviceError& error) {
        const bool may_be_lost =
            status == CUBLAS_STATUS_EXECUTION_FAILED || status == CUBLAS_STATUS_INTERNAL_ERROR;
        throw DeviceError(error.what(), may_be_lost && context_.find_lost());
    }
}

std::string CublasLtBlas::version() const {
    const std::size_t number = api_.cublasLtGetVersion();
    return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
           std::to_string(number % 100);
}

CUdeviceptr CublasLtBlas::workspace(std::uint64_t bytes) {
    if (bytes <= workspace_bytes_) return workspace_;
    context_.wait();
    CUdeviceptr larger = 0;
    context_.check(context_.api().cuMemAlloc(&larger, bytes),
                   [&] { return "cuMemAlloc(" + std::to_string(bytes) + ") for a workspace"; });
    if (workspace_ != 0) context_.check(context_.api().cuMemFree(workspace_), "cuMemFree(workspace)");
    workspace_ = larger;
    workspace_bytes_ = bytes;
    return workspace_;
}

std::vector<cublasLtMatmulHeuristicResult_t> CublasLtBlas::heuristic(const GemmProblem& problem,
                                                                     const CublasLtProblem& description,
                                                                     unsigned maximum) const {
    cublasLtMatmulPreference_t made = nullptr;
    check(api_.cublasLtMatmulPreferenceCreate(&made), "cublasLtMatmulPreferenceCreate");
    const Preference preference(made, api_.cublasLtMatmulPreferenceDestroy);
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value,
                         const char* name) {
        check(api_.cublasLtMatmulPreferenceSetAttribute(made, attribute, &value, sizeof value),
              std::string("cublasLtMatmulPreferenceSetAttribute(") + name + ")");
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, problem.workspace_bytes, "MAX_WORKSPACE_BYTES");
    if (!problem.allow_split_k)
        set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE},
            "REDUCTION_SCHEME_MASK");
    std::vector<cublasLtMatmulHeuristicResult_t> results(std::max(maximum, 1u));
    int found = 0;
    const cublasStatus_t status = api_.cublasLtMatmulAlgoGetHeuristic(
        handle_.get(), description.operation(), description.a(), description.b(), description.c(),
        description.d(), made, static_cast<int>(results.size()), results.data(), &found);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED)
        found = 0;
    else
        check(status, "cublasLtMatmulAlgoGetHeuristic for " + problem.name());
    results.resize(static_cast<std::size_t>(std::max(found, 0)));
    const auto unusable = [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; };
    results.erase(std::remove_if(results.begin(), results.end(), unusable), results.end());
    return results;
}

bool CublasLtBlas::exclude_split_k(const CublasLtProblem& description,
                                   cublasLtMatmulHeuristicResult_t& result) const {
    std::int32_t split_k = 1;
    std::size_t written = 0;
    const cublasStatus_t known = api_.cublasLtMatmulAlgoConfigGetAttribute(
        &result.algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &split_k, sizeof split_k, &written);
    if (known != CUBLAS_STATUS_SUCCESS || split_k == 0 || split_k == 1) return true;
    cublasLtMatmulHeuristicResult_t checked = result;
    const std::int32_t one = 1;
    const std::uint32_t none = CUBLASLT_REDUCTION_SCHEME_NONE;
    if (api_.cublasLtMatmulAlgoConfigSetAttribute(&checked.algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &one,
                                                  sizeof one) != CUBLAS_STATUS_SUCCESS ||
        api_.cublasLtMatmulAlgoConfigSetAttribute(&checked.algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &none,
                                                  sizeof none) != CUBLAS_STATUS_SUCCESS)
        return false;
    const cublasLtMatmulAlgo_t algorithm = checked.algo;
    const cublasStatus_t status =
        api_.cublasLtMatmulAlgoCheck(handle_.get(), description.operation(), description.a(), description.b(),
                                     description.c(), description.d(), &algorithm, &checked);
    if (status != CUBLAS_STATUS_SUCCESS) return false;
    result = checked;
    result.algo = algorithm;  // what the check leaves there is not documented
    return true;
}

GemmAlgorithm CublasLtBlas::describe(const cublasLtMatmulHeuristicResult_t& result) const {
    GemmAlgorithm algorithm;
    const auto read = [&](cublasLtMatmulAlgoConfigAttributes_t attribute, auto value) {
        std::size_t written = 0;
        const cublasStatus_t status = api_.cublasLtMatmulAlgoConfigGetAttribute(
            &result.algo, attribute, &value, sizeof value, &written);
        return status == CUBLAS_STATUS_SUCCESS ? static_cast<int>(value) : -1;
    };
    algorithm.id = read(CUBLASLT_ALGO_CONFIG_ID, std::int32_t{});
    algorithm.tile = read(CUBLASLT_ALGO_CONFIG_TILE_ID, std::uint32_t{});
    algorithm.stages = read(CUBLASLT_ALGO_CONFIG_STAGES_ID, std::uint32_t{});
    algorithm.split_k = read(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, std::int32_t{});
    algorithm.reduction_scheme = read(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, std::uint32_t{});
    algorithm.swizzle = read(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, std::uint32_t{});
    algorithm.custom_option = read(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, std::uint32_t{});
    // These two are of 16 bits: asked with 32, the library refuses.
    algorithm.inner_shape = read(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, std::uint16_t{});
    algorithm.cluster_shape = read(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, std::uint16_t{});
    std::size_t written = 0;
    std::uint64_t flags = 0;
    if (api_.cublasLtMatmulAlgoCapGetAttribute(&result.algo, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &flags,
                                               sizeof flags, &written) == CUBLAS_STATUS_SUCCESS)
        algorithm.numerical_flags = flags;
    algorithm.workspace_bytes = result.workspaceSize;
    algorithm.waves = static_cast<double>(result.wavesCount);
    algorithm.blob = blob_of(result.algo);
    return algorithm;
}

std::vector<GemmAlgorithm> CublasLtBlas::algorithms(const GemmProblem& problem, unsigned maximum) {
    context_.require_alive();
    CublasLtProblem description(api_, problem);
    // The heuristic looks at the pointers' alignment; the real ones come with run().
    const CUdeviceptr anywhere = workspace(std::max<std::uint64_t>(problem.workspace_bytes, 256));
    description.set_pointers(
        {.bias = anywhere, .scale_a = scale_one_, .scale_b = scale_one_, .scale_d = scale_one_});
    std::vector<GemmAlgorithm> found;
    for (cublasLtMatmulHeuristicResult_t& result : heuristic(problem, description, maximum))
        if (problem.allow_split_k || exclude_split_k(description, result)) found.push_back(describe(result));
    return found;
}

void CublasLtBlas::run(const GemmProblem& problem, const GemmAlgorithm& algorithm,
                       const GemmOperands& operands) {
    context_.require_alive();
    CublasLtProblem description(api_, problem);
    GemmOperands all = operands;
    for (Address* scale : {&all.scale_a, &all.scale_b, &all.scale_d})
        if (*scale == 0) *scale = scale_one_;
    description.set_pointers(all);
    const cublasLtMatmulAlgo_t chosen = algorithm_of(algorithm.blob);
    const Scalar alpha = description.scalar(problem.alpha), beta = description.scalar(problem.beta);
    // Without beta C is not read, but it has to be an address.
    const Address c = problem.in_place || operands.c == 0 ? operands.d : operands.c;
    const CUdeviceptr scratch = problem.workspace_bytes == 0 ? 0 : workspace(problem.workspace_bytes);
    check(api_.cublasLtMatmul(handle_.get(), description.operation(), alpha.address(),
                              reinterpret_cast<const void*>(operands.b), description.a(),
                              reinterpret_cast<const void*>(operands.a), description.b(), beta.address(),
                              reinterpret_cast<const void*>(c), description.c(),
                              reinterpret_cast<void*>(operands.d), description.d(), &chosen,
                              reinterpret_cast<void*>(scratch), problem.workspace_bytes,
                              reinterpret_cast<cudaStream_t>(context_.stream())),
          "cublasLtMatmul(" + problem.name() + ", algorithm " + std::to_string(algorithm.id) + ")");
}

std::string CublasLtBlas::kernel_name(const CUDA_KERNEL_NODE_PARAMS& parameters) const {
    const char* name = nullptr;
    const DriverApi& driver = context_.api();
    if (parameters.func != nullptr) {
        if (driver.cuFuncGetName == nullptr || driver.cuFuncGetName(&name, parameters.func) != CUDA_SUCCESS)
            name = nullptr;
    } else if (parameters.kern != nullptr) {
        if (driver.cuKernelGetName == nullptr ||
            driver.cuKernelGetName(&name, parameters.kern) != CUDA_SUCCESS)
            name = nullptr;
    }
    return name == nullptr ? "?" : name;
}

void CublasLtBlas::add_launches(CUgraph graph, GemmAlgorithm& algorithm) const {
    const DriverApi& driver = context_.api();
    std::size_t count = 0;
    context_.check(driver.cuGraphGetNodes(graph, nullptr, &count), "cuGraphGetNodes");
    std::vector<CUgraphNode> nodes(count);
    if (count > 0) context_.check(driver.cuGraphGetNodes(graph, nodes.data(), &count), "cuGraphGetNodes");
    algorithm.kernels.clear();
    bool first = true;
    for (CUgraphNode node : nodes) {
        CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
        context_.check(driver.cuGraphNodeGetType(node, &type), "cuGraphNodeGetType");
        std::string name = type == CU_GRAPH_NODE_TYPE_MEMSET ? "(memset)" : "(other)";
        if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
            CUDA_KERNEL_NODE_PARAMS parameters{};
            context_.check(driver.cuGraphKernelNodeGetParams(node, &parameters),
                           "cuGraphKernelNodeGetParams");
            name = kernel_name(parameters);
            if (first) {
                const std::uint32_t grid[3] = {parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ};
                const std::uint32_t block[3] = {parameters.blockDimX, parameters.blockDimY,
                                                parameters.blockDimZ};
                std::copy_n(grid, 3, algorithm.grid);
                std::copy_n(block, 3, algorithm.block);
                algorithm.shared_bytes = parameters.sharedMemBytes;
                first = false;
            }
        }
        algorithm.kernels += (algorithm.kernels.empty() ? "" : "; ") + name;
    }
}

void CublasLtBlas::observe(const GemmProblem& problem, GemmAlgorithm& algorithm,
                           const GemmOperands& operands) {
    if (problem.workspace_bytes > 0) workspace(problem.workspace_bytes);  // not while the stream is captured
    const auto multiply = [&] { run(problem, algorithm, operands); };
    CUgraph graph = nullptr;
    try {
        graph = context_.capture(multiply);
    } catch (const DeviceError& error) {
        if (error.lost) throw;
        // The library loads a kernel when it is first used, and that may not go into a graph.
        multiply();
        context_.wait();
        graph = context_.capture(multiply);
    }
    try {
        add_launches(graph, algorithm);
    } catch (...) {
        context_.api().cuGraphDestroy(graph);
        throw;
    }
    context_.check(context_.api().cuGraphDestroy(graph), "cuGraphDestroy");
}

}  // namespace heddle::capture
