// Device memory of one process in another, by handles that travel between them.
#include <cstring>

#include "driver/cuda/state.h"

using namespace heddle::driver;

#define HEDDLE_CALL                                                  \
    const std::lock_guard<std::recursive_mutex> lock(Client::get().mutex); \
    if (const CUresult status = ready(); status != CUDA_SUCCESS) return status

namespace {

constexpr std::uint64_t kMagic = 0x656c646465684950;  // "PIheddle"
constexpr std::uint64_t kPage = 4096;

/// CUipcMemHandle: 64 bytes.
struct Handle {
    std::uint64_t magic, base, bytes;
    std::uint32_t process, descriptor, device, unused;
    std::uint64_t rest[3];
};
static_assert(sizeof(Handle) == 64);

/// What was opened, by address: bytes.
std::map<std::uint64_t, std::uint64_t>& opened() {
    static auto* const all = new std::map<std::uint64_t, std::uint64_t>;
    return *all;
}

std::uint64_t whole_pages(std::uint64_t bytes) {
    return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

HEDDLE_API CUresult cuIpcGetMemHandle(Handle* handle, CUdeviceptr address) {
    HEDDLE_CALL;
    const Range range = range_of(address);
    if (handle == nullptr || range.base == 0 || range.kind != MemoryKind::device || opened().count(range.base) != 0) return CUDA_ERROR_INVALID_VALUE;
    *handle = {};
    handle->magic = kMagic;
    handle->base = range.base;
    handle->bytes = range.bytes;
    handle->process = static_cast<std::uint32_t>(Client::get().process());
    handle->descriptor = static_cast<std::uint32_t>(Client::get().memory_descriptor());
    handle->device = static_cast<std::uint32_t>(range.device);
    return CUDA_SUCCESS;
}
// As with CUDA a process does not open what is its own, and the other one must live.
HEDDLE_API CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, Handle handle, unsigned flags) {
    HEDDLE_CALL;
    Client& client = Client::get();
    if (address == nullptr || flags != 1 || handle.magic != kMagic) return CUDA_ERROR_INVALID_VALUE;
    if (handle.process == static_cast<std::uint32_t>(client.process())) return CUDA_ERROR_INVALID_CONTEXT;
    const Received reserved = client.ask(Call::reserve, Writer().put(handle.bytes).put(kPage));
    if (reserved.status != CUDA_SUCCESS) return reserved.status;
    const auto at = reserved.reader().get<std::uint64_t>();
    const std::string path = "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.descriptor);
    const std::uint64_t offset = handle.base - kMemoryBase;
    const CUresult imported = client.ask(Call::import_memory, Writer().put(at).put(handle.bytes).put(handle.process).put(handle.descriptor).put(offset)).status;
    if (imported != CUDA_SUCCESS || !client.remap_file(reinterpret_cast<void*>(at), whole_pages(handle.bytes), path, offset)) {
        client.ask(Call::give_up, Writer().put(at).put(handle.bytes));
        return 205;  // CUDA_ERROR_MAP_FAILED
    }
    opened()[at] = handle.bytes;
    ranges()[at] = {at, handle.bytes, MemoryKind::device, static_cast<CUdevice>(handle.device)};
    *address = at;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuIpcOpenMemHandle(CUdeviceptr* address, Handle handle, unsigned flags) { return cuIpcOpenMemHandle_v2(address, handle, flags); }
HEDDLE_API CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
    HEDDLE_CALL;
    const auto found = opened().find(address);
    if (found == opened().end()) return CUDA_ERROR_INVALID_VALUE;
    Client& client = Client::get();
    if (const CUresult status = client.synchronise(); status != CUDA_SUCCESS) return status;
    client.remap(reinterpret_cast<void*>(address), whole_pages(found->second), address);
    const CUresult status = client.ask(Call::end_import, Writer().put(address).put(found->second)).status;
    ranges().erase(address);
    opened().erase(found);
    return status;
}
