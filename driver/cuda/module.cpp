// Modules, libraries, kernels and variables.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

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

/// How long a file of ELF is that lies in memory: to the end of its last section or table of headers.
std::uint64_t elf_bytes(const char* bytes) {
    const auto get = [&]<class Value>(std::uint64_t at, Value) {
        Value value{};
        std::memcpy(&value, bytes + at, sizeof value);
        return value;
    };
    constexpr std::uint32_t kNoBytesInTheFile = 8;  // SHT_NOBITS
    const std::uint64_t sections = get(40, std::uint64_t{}), section_bytes = get(58, std::uint16_t{}), section_count = get(60, std::uint16_t{});
    std::uint64_t end = std::max({std::uint64_t{64}, sections + section_bytes * section_count,
                                  get(32, std::uint64_t{}) + std::uint64_t{get(54, std::uint16_t{})} * get(56, std::uint16_t{})});
    for (std::uint64_t i = 0; i < section_count && section_bytes >= 64; ++i) {
        const std::uint64_t header = sections + i * section_bytes;
        if (get(header + 4, std::uint32_t{}) != kNoBytesInTheFile) end = std::max(end, get(header + 24, std::uint64_t{}) + get(header + 32, std::uint64_t{}));
    }
    return end;
}

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
    if (std::memcmp(bytes, "\177ELF", 4) == 0) return {bytes, elf_bytes(bytes)};
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
    const std::uint32_t facts[] = {d.maximum_threads, d.shared_bytes, d.constant_bytes, d.local_bytes, d.registers, d.ptx_architecture};
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
        return CUDA_SUCCESS;
    }
    if (attribute == 9) return without_effect("a preferred size of shared memory");
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuKernelGetAttribute(int* value, int attribute, CUfunction kernel, CUdevice) { return cuFuncGetAttribute(value, attribute, kernel); }
HEDDLE_API CUresult cuKernelSetAttribute(int attribute, int value, CUfunction kernel, CUdevice) { return cuFuncSetAttribute(kernel, attribute, value); }
HEDDLE_API CUresult cuFuncSetCacheConfig(CUfunction, int) {
    HEDDLE_CALL;
    return without_effect("a preferred size of shared memory");
}
HEDDLE_API CUresult cuKernelSetCacheConfig(CUfunction, int, CUdevice) {
    HEDDLE_CALL;
    return without_effect("a preferred size of shared memory");
}
HEDDLE_API CUresult cuFuncSetSharedMemConfig(CUfunction, int) {
    HEDDLE_CALL;
    return without_effect("a width of banks of shared memory");
}

// Linking: pieces of PTX become one text, or one binary of another kind is passed on.
struct Link {
    std::vector<std::string> pieces;
    bool is_ptx = true;
    std::string whole;
};
namespace {

/// The name that a declaration or a definition at the outermost level introduces; empty: none.
std::string name_introduced(std::string_view statement) {
    std::string last;
    int depth = 0;
    for (std::size_t at = 0; at < statement.size(); ++at) {
        const char c = statement[at];
        if (c == '{' || c == ';' || c == '=' || c == '[') break;
        if (c == '(') {
            // The parameters of a function come behind its name, what it returns before.
            if (depth++ == 0 && !last.empty() && last[0] != '.') break;
        }
        if (c == ')') --depth;
        if (depth != 0 || !(std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '.' || c == '%')) continue;
        std::size_t end = at;
        while (end < statement.size() && (std::isalnum(static_cast<unsigned char>(statement[end])) != 0 || std::strchr("_$.%", statement[end]) != nullptr)) ++end;
        last = statement.substr(at, end - at);
        at = end - 1;
    }
    return last.empty() || last[0] == '.' ? "" : last;
}

/// Statements of the outermost level, without comments.
std::vector<std::string> statements_of(const std::string& text) {
    std::vector<std::string> statements;
    std::string one;
    int depth = 0;
    for (std::size_t at = 0; at < text.size() && text[at] != '\0'; ++at) {
        if (text.compare(at, 2, "//") == 0) {
            while (at < text.size() && text[at] != '\n') ++at;
        } else if (text.compare(at, 2, "/*") == 0) {
            at = std::min(text.size(), text.find("*/", at + 2)) + 1;
            continue;
        }
        if (at >= text.size()) break;
        const char c = text[at];
        one += c;
        if (c == '{') ++depth;
        if (c == '}') --depth;
        const bool directive = c == '\n' && depth == 0 && (one.find(".version") != std::string::npos || one.find(".target") != std::string::npos || one.find(".address_size") != std::string::npos);
        const bool body = c == '}' && depth == 0 && one.find('=') == std::string::npos;
        if ((c == ';' && depth == 0) || directive || body) statements.push_back(std::exchange(one, ""));
    }
    return statements;
}

/// Headers once; variables, of which one that another piece defines is not declared; then functions, whose declarations lead to what another piece defines.
std::string join(const std::vector<std::string>& pieces) {
    std::string variables, functions;
    std::set<std::string> defined;
    std::vector<std::vector<std::string>> all;
    const auto has = [](const std::string& statement, const char* word) { return statement.find(word) != std::string::npos; };
    for (const std::string& piece : pieces) {
        all.push_back(statements_of(piece));
        for (const std::string& statement : all.back())
            if (!has(statement, ".extern") && (statement.back() == '}' || !has(statement, ".func"))) defined.insert(name_introduced(statement));
    }
    for (std::size_t i = 0; i < all.size(); ++i)
        for (std::string& statement : all[i]) {
            const bool is_function = has(statement, ".func") || has(statement, ".entry");
            if (const std::size_t word = statement.find(".extern"); word != std::string::npos && defined.count(name_introduced(statement)) != 0) {
                if (!is_function) continue;
                statement.replace(word, 7, ".visible");
            }
            if (statement.back() != '\n' || i == 0) (is_function ? functions : variables) += statement + "\n";
        }
    return variables + functions;
}

}  // namespace
HEDDLE_API CUresult cuLinkCreate_v2(unsigned, int*, void**, Link** link) {
    if (link == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *link = new Link;
    return CUDA_SUCCESS;
}
// Types: 0 machine code, 1 PTX, 2 a fat binary, 3 an object, 4 a library, 5 code of NVVM.
HEDDLE_API CUresult cuLinkAddData_v2(Link* link, int type, const void* data, std::size_t bytes, const char*, unsigned, int*, void**) {
    if (link == nullptr || data == nullptr || bytes == 0 || type < 0 || type > 5) return CUDA_ERROR_INVALID_VALUE;
    if (type != 1 && type != 2) return missing("cuLinkAddData of anything but PTX and fat binaries");
    if (!link->pieces.empty() && (type != 1 || !link->is_ptx)) return missing("to link several fat binaries");
    link->is_ptx = type == 1;
    link->pieces.emplace_back(static_cast<const char*>(data), bytes);
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuLinkAddFile_v2(Link* link, int type, const char* path, unsigned count, int* options, void** values) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return 301;  // CUDA_ERROR_FILE_NOT_FOUND
    const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    return cuLinkAddData_v2(link, type, bytes.data(), bytes.size(), path, count, options, values);
}
HEDDLE_API CUresult cuLinkCreate(unsigned count, int* options, void** values, Link** link) { return cuLinkCreate_v2(count, options, values, link); }
HEDDLE_API CUresult cuLinkAddData(Link* link, int type, const void* data, std::size_t bytes, const char* name, unsigned count, int* options, void** values) {
    return cuLinkAddData_v2(link, type, data, bytes, name, count, options, values);
}
HEDDLE_API CUresult cuLinkAddFile(Link* link, int type, const char* path, unsigned count, int* options, void** values) { return cuLinkAddFile_v2(link, type, path, count, options, values); }
HEDDLE_API CUresult cuLinkComplete(Link* link, void** image, std::size_t* bytes) {
    if (link == nullptr || image == nullptr || link->pieces.empty()) return CUDA_ERROR_INVALID_VALUE;
    link->whole = link->pieces.size() == 1 ? link->pieces.front() : join(link->pieces);
    *image = link->whole.data();
    if (bytes != nullptr) *bytes = link->whole.size();
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
HEDDLE_API CUresult cuOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, CUfunction function, int blocks, int) {
    HEDDLE_CALL;
    if (bytes == nullptr || function == nullptr || blocks <= 0) return CUDA_ERROR_INVALID_VALUE;
    const DeviceDescription& device = Client::get().devices()[0];
    const std::uint64_t taken = std::uint64_t{device.shared_reserved} + function->description.shared_bytes, each = device.shared_per_sm / static_cast<unsigned>(blocks);
    *bytes = each > taken ? std::min<std::uint64_t>(each - taken, device.shared_per_block_opt_in - function->description.shared_bytes) : 0;
    return CUDA_SUCCESS;
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
