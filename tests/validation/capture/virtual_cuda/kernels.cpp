// The driver API: modules and kernels, which Heddle's functional machine runs.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "isa/ptx/parser.h"
#include "state.h"

using namespace heddle;
using namespace heddle::virtual_cuda;

struct CUmod_st {
    std::shared_ptr<const ptx::Module> module;
    std::map<std::string, std::unique_ptr<CUfunc_st>> functions;
};

namespace {

void run_kernel(CUfunction function, const CUlaunchConfig& config, const ptx::Dim3& cluster,
                const std::vector<std::byte>& parameters) {
    ptx::LaunchContext context;
    context.kernel = function->kernel.get();
    context.grid = {config.gridDimX, config.gridDimY, config.gridDimZ};
    context.block = {config.blockDimX, config.blockDimY, config.blockDimZ};
    context.cluster = cluster;
    context.dynamic_shared_bytes = config.sharedMemBytes;
    context.parameters = parameters;
    context.memory = &driver().memory;
    context.compute_capability = 90;
    ptx::run_functionally(context);
}

/// What the real driver refuses.
CUresult check_launch(CUfunction f, const CUlaunchConfig& config, const ptx::Dim3& cluster) {
    const std::uint64_t threads = std::uint64_t{config.blockDimX} * config.blockDimY * config.blockDimZ;
    if (threads == 0 || threads > 1024 || config.gridDimX == 0 || config.gridDimY == 0 ||
        config.gridDimZ == 0 || config.gridDimY > 65535 || config.gridDimZ > 65535 || config.blockDimZ > 64)
        return CUDA_ERROR_INVALID_VALUE;
    if (static_cast<int>(config.sharedMemBytes) > f->dynamic_shared_limit) return CUDA_ERROR_INVALID_VALUE;
    const unsigned size = cluster.x * cluster.y * cluster.z;
    if (size > (f->non_portable_cluster ? 16u : 8u) || config.gridDimX % cluster.x != 0 ||
        config.gridDimY % cluster.y != 0 || config.gridDimZ % cluster.z != 0)
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    return CUDA_SUCCESS;
}

/// Writes into the buffer that the JIT options name.
void jit_log(unsigned options, CUjit_option* names, void** values, const std::string& text) {
    char* buffer = nullptr;
    std::size_t bytes = 0;
    for (unsigned i = 0; i < options; ++i) {
        if (names[i] == CU_JIT_ERROR_LOG_BUFFER) buffer = static_cast<char*>(values[i]);
        if (names[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            bytes = reinterpret_cast<std::uintptr_t>(values[i]);
    }
    if (buffer == nullptr || bytes == 0) return;
    const std::size_t count = std::min(bytes - 1, text.size());
    std::memcpy(buffer, text.data(), count);
    buffer[count] = 0;
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned options,
                                    CUjit_option* names, void** values) {
    if (driver().sticky != CUDA_SUCCESS) return driver().sticky;
    if (driver().context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    try {
        auto loaded = std::make_unique<CUmod_st>();
        loaded->module = ptx::parse_shared(static_cast<const char*>(image), "image");
        *module = own(std::move(loaded));
        return CUDA_SUCCESS;
    } catch (const std::exception& failure) {
        jit_log(options, names, values, failure.what());
        return CUDA_ERROR_INVALID_PTX;
    }
}
CUresult CUDAAPI cuModuleLoadData(CUmodule* module, const void* image) {
    return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}
CUresult CUDAAPI cuModuleUnload(CUmodule module) {
    return destroy(module);
}
CUresult CUDAAPI cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    std::unique_ptr<CUfunc_st>& found = module->functions[name];
    try {
        if (!found) {
            auto kernel = std::make_shared<ptx::LoadedKernel>(module->module, name, 90);
            ptx::allocate_module_variables(*kernel, driver().memory);
            found = std::make_unique<CUfunc_st>(CUfunc_st{name, std::move(kernel)});
        }
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "virtual CUDA: %s\n", failure.what());
        return CUDA_ERROR_NOT_FOUND;
    }
    *function = found.get();
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
    *value = 0;
    if (!function->kernel) return CUDA_SUCCESS;
    if (attribute == CU_FUNC_ATTRIBUTE_NUM_REGS)
        *value = static_cast<int>(function->kernel->registers_per_thread());
    if (attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
        *value = static_cast<int>(function->kernel->static_shared_bytes());
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) *value = 1024;
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        if (value > 227 << 10) return CUDA_ERROR_INVALID_VALUE;
        function->dynamic_shared_limit = std::max(function->dynamic_shared_limit, value);
    }
    if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED)
        function->non_portable_cluster = value != 0;
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuFuncGetName(const char** name, CUfunction function) {
    *name = function->name.c_str();
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuKernelGetName(const char** name, CUkernel kernel) {
    *name = reinterpret_cast<CUfunction>(kernel)->name.c_str();
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
    *function = reinterpret_cast<CUfunction>(kernel);
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                                  void** extra) {
    if (driver().sticky != CUDA_SUCCESS) return driver().sticky;
    if (extra != nullptr || !function->kernel) return CUDA_ERROR_INVALID_VALUE;
    ptx::Dim3 cluster;
    for (unsigned i = 0; i < config->numAttrs; ++i) {
        const CUlaunchAttribute& attribute = config->attrs[i];
        if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            cluster = {attribute.value.clusterDim.x, attribute.value.clusterDim.y,
                       attribute.value.clusterDim.z};
    }
    if (const CUresult refused = check_launch(function, *config, cluster); refused != CUDA_SUCCESS)
        return refused;
    const auto declared = function->kernel->parameters();
    std::vector<std::vector<std::byte>> values;
    for (std::size_t i = 0; i < declared.size(); ++i) {
        const auto* from = static_cast<const std::byte*>(parameters[i]);
        values.emplace_back(from, from + declared[i].bytes);
    }
    Work work;
    work.function = function;
    const unsigned grid[3] = {config->gridDimX, config->gridDimY, config->gridDimZ};
    const unsigned block[3] = {config->blockDimX, config->blockDimY, config->blockDimZ};
    std::copy_n(grid, 3, work.grid);
    std::copy_n(block, 3, work.block);
    work.shared_bytes = config->sharedMemBytes;
    CUlaunchConfig copy = *config;
    copy.attrs = nullptr;
    copy.numAttrs = 0;
    work.perform = [=, packed = ptx::pack_parameters(*function->kernel, values)] {
        run_kernel(function, copy, cluster, packed);
    };
    return submit(config->hStream, std::move(work));
}
CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                CUstream stream, void** parameters, void** extra) {
    CUlaunchConfig config{};
    config.gridDimX = grid_x;
    config.gridDimY = grid_y;
    config.gridDimZ = grid_z;
    config.blockDimX = block_x;
    config.blockDimY = block_y;
    config.blockDimZ = block_z;
    config.sharedMemBytes = shared_bytes;
    config.hStream = stream;
    return cuLaunchKernelEx(&config, function, parameters, extra);
}

}  // extern "C"
