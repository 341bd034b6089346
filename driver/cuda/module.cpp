// Modules, libraries, kernels and variables.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "driver/cuda/state.h"

using namespace heddle::driver;

#define HEDDLE_CALL                                                  \
    const std::lock_guard<std::recursive_mutex> lock(Client::get().mutex); \
    if (const CUresult status = ready(); status != CUDA_SUCCESS) return status

namespace heddle::driver {
namespace {

constexpr std::uint32_t kFatBinary = 0xBA55ED50, kWrapper = 0x466243B1;

/// What a program carries for nvcc's host code.
struct Wrapper {
    std::uint32_t magic, version;
    const void* data;
    const void* more;
};

/// How long an image is: its own header says so, or PTX ends with a zero.
std::string_view image_bytes(const void* image) {
    const auto* bytes = static_cast<const char*>(image);
    std::uint32_t magic = 0;
    std::memcpy(&magic, bytes, sizeof magic);
    if (magic == kWrapper) {
        Wrapper wrapper;
        std::memcpy(&wrapper, bytes, sizeof wrapper);
        return image_bytes(wrapper.data);
    }
    if (magic == kFatBinary) {
        std::uint16_t header = 0;
        std::uint64_t size = 0;
        std::memcpy(&header, bytes + 6, sizeof header);
        std::memcpy(&size, bytes + 8, sizeof size);
        return {bytes, header + size};
    }
    if (std::memcmp(bytes, "\177ELF", 4) == 0) return {bytes, 64};
    return {bytes, std::strlen(bytes)};
}

}  // namespace

CUresult load_module(const void* image, CUmodule* module) {
    if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::string_view bytes = image_bytes(image);
    const Received received =
        Client::get().ask(Call::load_module, Writer().put(static_cast<std::uint32_t>(current_device())).put_bytes(bytes.data(), bytes.size()));
    if (received.status != CUDA_SUCCESS) return received.status;
    *module = new Module{received.reader().get<std::uint32_t>(), {}};
    return CUDA_SUCCESS;
}

CUresult find_function(CUmodule module, std::string_view name, CUfunction* function) {
    if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    auto found = module->functions.find(name);
    if (found == module->functions.end()) {
        const Received received = Client::get().ask(Call::function, Writer().put(module->number).put_text(name));
        if (received.status != CUDA_SUCCESS) return received.status;
        auto loaded = std::make_unique<Function>();
        loaded->module = module;
        loaded->name = name;
        Reader reader = received.reader();
        loaded->description = reader.get<FunctionDescription>();
        for (std::uint32_t i = 0; i < loaded->description.parameters; ++i) loaded->parameters.push_back(reader.get<ParameterDescription>());
        found = module->functions.emplace(std::string(name), std::move(loaded)).first;
    }
    *function = found->second.get();
    return CUDA_SUCCESS;
}

CUresult find_variable(CUmodule module, std::string_view name, CUdeviceptr* address, std::size_t* bytes) {
    if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const Received received = Client::get().ask(Call::variable, Writer().put(module->number).put_text(name));
    if (received.status != CUDA_SUCCESS) return received.status;
    Reader reader = received.reader();
    const auto where = reader.get<std::uint64_t>();
    const auto size = reader.get<std::uint64_t>();
    if (address != nullptr) *address = where;
    if (bytes != nullptr) *bytes = size;
    return CUDA_SUCCESS;
}

}  // namespace heddle::driver

HEDDLE_API CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    HEDDLE_CALL;
    return load_module(image, module);
}
HEDDLE_API CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, int*, void**) { return cuModuleLoadData(module, image); }
HEDDLE_API CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) { return cuModuleLoadData(module, image); }
HEDDLE_API CUresult cuModuleLoad(CUmodule* module, const char* path) {
    HEDDLE_CALL;
    std::ifstream file(path, std::ios::binary);
    if (!file) return 301;  // CUDA_ERROR_FILE_NOT_FOUND
    std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    bytes.resize(bytes.size() + 64);
    return load_module(bytes.data(), module);
}
HEDDLE_API CUresult cuModuleUnload(CUmodule module) {
    HEDDLE_CALL;
    if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult status = Client::get().synchronise();
    delete module;
    return status;
}
HEDDLE_API CUresult cuModuleGetLoadingMode(int* mode) {
    *mode = 2;  // lazy
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    HEDDLE_CALL;
    return find_function(module, name, function);
}
HEDDLE_API CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, std::size_t* bytes, CUmodule module, const char* name) {
    HEDDLE_CALL;
    return find_variable(module, name, address, bytes);
}
namespace {
std::vector<std::string> names_of(CUmodule module) {
    std::vector<std::string> names;
    const Received received = Client::get().ask(Call::list_functions, Writer().put(module->number));
    for (Reader reader = received.reader();;) {
        const std::string name(reader.get_text());
        if (reader.failed()) return names;
        names.push_back(name);
    }
}
}  // namespace
HEDDLE_API CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule module) {
    HEDDLE_CALL;
    *count = static_cast<unsigned>(names_of(module).size());
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule module) {
    HEDDLE_CALL;
    const std::vector<std::string> names = names_of(module);
    for (unsigned i = 0; i < count && i < names.size(); ++i)
        if (const CUresult status = find_function(module, names[i], &functions[i]); status != CUDA_SUCCESS) return status;
    return CUDA_SUCCESS;
}

// A library is a module that is loaded once for all devices, a kernel one of its functions.
HEDDLE_API CUresult cuLibraryLoadData(CUmodule* library, const void* image, int*, void**, unsigned, int*, void**, unsigned) { return cuModuleLoadData(library, image); }
HEDDLE_API CUresult cuLibraryLoadFromFile(CUmodule* library, const char* path, int*, void**, unsigned, int*, void**, unsigned) { return cuModuleLoad(library, path); }
HEDDLE_API CUresult cuLibraryUnload(CUmodule library) { return cuModuleUnload(library); }
HEDDLE_API CUresult cuLibraryGetKernel(CUfunction* kernel, CUmodule library, const char* name) { return cuModuleGetFunction(kernel, library, name); }
HEDDLE_API CUresult cuLibraryGetModule(CUmodule* module, CUmodule library) {
    *module = library;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuLibraryGetGlobal(CUdeviceptr* address, std::size_t* bytes, CUmodule library, const char* name) { return cuModuleGetGlobal_v2(address, bytes, library, name); }
HEDDLE_API CUresult cuLibraryGetManaged(CUdeviceptr* address, std::size_t* bytes, CUmodule library, const char* name) { return cuModuleGetGlobal_v2(address, bytes, library, name); }
HEDDLE_API CUresult cuLibraryGetKernelCount(unsigned* count, CUmodule library) { return cuModuleGetFunctionCount(count, library); }
HEDDLE_API CUresult cuLibraryEnumerateKernels(CUfunction* kernels, unsigned count, CUmodule library) { return cuModuleEnumerateFunctions(kernels, count, library); }
HEDDLE_API CUresult cuKernelGetFunction(CUfunction* function, CUfunction kernel) {
    *function = kernel;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuKernelGetLibrary(CUmodule* library, CUfunction kernel) {
    *library = kernel->module;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
    *module = function->module;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuFuncGetName(const char** name, CUfunction function) {
    *name = function->name.c_str();
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuKernelGetName(const char** name, CUfunction kernel) { return cuFuncGetName(name, kernel); }
HEDDLE_API CUresult cuFuncGetParamInfo(CUfunction function, std::size_t index, std::size_t* offset, std::size_t* bytes) {
    if (index >= function->parameters.size()) return CUDA_ERROR_INVALID_VALUE;
    if (offset != nullptr) *offset = function->parameters[index].offset;
    if (bytes != nullptr) *bytes = function->parameters[index].bytes;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuKernelGetParamInfo(CUfunction kernel, std::size_t index, std::size_t* offset, std::size_t* bytes) { return cuFuncGetParamInfo(kernel, index, offset, bytes); }
HEDDLE_API CUresult cuFuncIsLoaded(int* state, CUfunction) {
    *state = 1;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuFuncLoad(CUfunction) { return CUDA_SUCCESS; }
HEDDLE_API CUresult cuFuncGetAttribute(int* value, int attribute, CUfunction function) {
    HEDDLE_CALL;
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const FunctionDescription& d = function->description;
    const std::uint32_t facts[] = {d.maximum_threads, d.shared_bytes, d.constant_bytes, d.local_bytes, d.registers, d.ptx_version};
    if (attribute >= 0 && attribute < 6) {
        *value = static_cast<int>(facts[attribute]);
    } else if (attribute == 6) {
        *value = static_cast<int>(Client::get().devices()[0].compute_capability);
    } else if (attribute == 8) {
        *value = function->shared_limit;
    } else if (attribute >= 10 && attribute <= 13) {
        *value = attribute == 10 ? d.required_cluster[0] != 0 : static_cast<int>(d.required_cluster[attribute - 11]);
    } else {
        *value = 0;
    }
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
    HEDDLE_CALL;
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (attribute == 8) {
        const auto most = static_cast<int>(Client::get().devices()[0].shared_per_block_opt_in - function->description.shared_bytes);
        if (value < 0 || value > most) return CUDA_ERROR_INVALID_VALUE;
        function->shared_limit = value;
    }
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuKernelGetAttribute(int* value, int attribute, CUfunction kernel, CUdevice) { return cuFuncGetAttribute(value, attribute, kernel); }
HEDDLE_API CUresult cuKernelSetAttribute(int attribute, int value, CUfunction kernel, CUdevice) { return cuFuncSetAttribute(kernel, attribute, value); }
HEDDLE_API CUresult cuFuncSetCacheConfig(CUfunction, int) { return CUDA_SUCCESS; }
HEDDLE_API CUresult cuKernelSetCacheConfig(CUfunction, int, CUdevice) { return CUDA_SUCCESS; }
HEDDLE_API CUresult cuFuncSetSharedMemConfig(CUfunction, int) { return CUDA_SUCCESS; }

// Linking: one piece of PTX is the whole.
struct Link {
    std::vector<std::string> pieces;
};
HEDDLE_API CUresult cuLinkCreate_v2(unsigned, int*, void**, Link** link) {
    *link = new Link;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuLinkAddData_v2(Link* link, int type, void* data, std::size_t bytes, const char*, unsigned, int*, void**) {
    if (type != 1) return missing("cuLinkAddData of anything but PTX");
    link->pieces.emplace_back(static_cast<const char*>(data), bytes);
    link->pieces.back().push_back('\0');
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuLinkComplete(Link* link, void** image, std::size_t* bytes) {
    if (link->pieces.size() != 1) return missing("cuLinkComplete of several pieces of PTX");
    *image = link->pieces[0].data();
    if (bytes != nullptr) *bytes = link->pieces[0].size();
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuLinkDestroy(Link* link) {
    delete link;
    return CUDA_SUCCESS;
}

HEDDLE_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function, int threads, std::size_t shared, unsigned) {
    HEDDLE_CALL;
    const Received received = Client::get().ask(Call::occupancy, Writer().put(function->description.function).put(static_cast<std::uint32_t>(threads)).put(std::uint64_t{shared}));
    *blocks = static_cast<int>(received.reader().get<std::uint32_t>());
    return received.status;
}
HEDDLE_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads, std::size_t shared) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}
HEDDLE_API CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction function, std::size_t (*shared_of)(int), std::size_t shared, int limit, unsigned) {
    HEDDLE_CALL;
    const int most = static_cast<int>(function->description.maximum_threads);
    int best = 0, sms = 0;
    *block = *grid = 0;
    for (int threads = limit > 0 && limit < most ? limit : most; threads > 0; threads = (threads - 1) / 32 * 32) {
        int blocks = 0;
        cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, shared_of != nullptr ? shared_of(threads) : shared);
        if (blocks * threads <= best) continue;
        best = blocks * threads;
        *block = threads;
        *grid = blocks;
    }
    device_attribute(&sms, 16, current_device());
    *grid *= sms;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function, std::size_t (*shared_of)(int), std::size_t shared, int limit) {
    return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, shared_of, shared, limit, 0);
}
// Clusters do not reach over GPCs: how many fit is left at what the SMs have room for.
HEDDLE_API CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function, const CUlaunchConfig* config) {
    HEDDLE_CALL;
    unsigned size = 1;
    for (unsigned i = 0; i < config->numAttrs; ++i)
        if (config->attrs[i].id == kAttributeCluster) size = config->attrs[i].value.cluster[0] * config->attrs[i].value.cluster[1] * config->attrs[i].value.cluster[2];
    int blocks = 0, sms = 0;
    const CUresult status = cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, static_cast<int>(config->blockDimX * config->blockDimY * config->blockDimZ), config->sharedMemBytes);
    device_attribute(&sms, 16, current_device());
    *clusters = blocks * sms / static_cast<int>(size == 0 ? 1 : size);
    return status;
}
HEDDLE_API CUresult cuOccupancyMaxPotentialClusterSize(int* size, CUfunction, const CUlaunchConfig*) {
    *size = 8;
    return CUDA_SUCCESS;
}
