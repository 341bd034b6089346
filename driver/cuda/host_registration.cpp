// Memory of the program that kernels reach (cuMemHostRegister): its pages are moved into the memory that both sides share, and stay where they are for the
// program.
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "driver/cuda/state.h"

using namespace heddle::driver;

#define HEDDLE_CALL                                                  \
    const std::lock_guard<std::recursive_mutex> lock(Client::get().mutex); \
    if (const CUresult status = ready(); status != CUDA_SUCCESS) return status

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr CUresult kAlreadyRegistered = 712, kNotRegistered = 713, kOperatingSystem = 304;

/// Whole pages around what the program registered.
struct Registration {
    std::uint64_t given, bytes;    ///< what the program named
    std::uint64_t first, size;     ///< its pages
    std::uint64_t shared;          ///< where they lie now
    unsigned flags;
};

/// By the first page.
std::map<std::uint64_t, Registration>& registrations() {
    static auto* const all = new std::map<std::uint64_t, Registration>;
    return *all;
}

const Registration* registration_of(std::uint64_t address) {
    const auto after = registrations().upper_bound(address);
    if (after == registrations().begin()) return nullptr;
    const Registration& found = std::prev(after)->second;
    return address - found.first < found.size ? &found : nullptr;
}

/// Every page can be read and written by the program.
bool is_mapped(std::uint64_t first, std::uint64_t size) {
    std::vector<unsigned char> resident(size / kPage);
    return mincore(reinterpret_cast<void*>(first), size, resident.data()) == 0;
}

}  // namespace

namespace heddle::driver {

std::uint64_t registered_address(const void* address) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const Registration* const found = registration_of(at);
    return found == nullptr || at - found->given >= found->bytes ? 0 : found->shared + (at - found->first);
}

}  // namespace heddle::driver

HEDDLE_API CUresult cuMemHostRegister_v2(void* address, std::size_t bytes, unsigned flags) {
    HEDDLE_CALL;
    if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    const auto given = reinterpret_cast<std::uintptr_t>(address);
    if (is_shared(address)) return kAlreadyRegistered;
    Registration fresh{given, bytes, given / kPage * kPage, 0, 0, flags};
    fresh.size = (given + bytes + kPage - 1) / kPage * kPage - fresh.first;
    const auto next = registrations().lower_bound(fresh.first);
    const Registration* const before = registration_of(fresh.first);
    const Registration* const behind = next != registrations().end() && next->first < fresh.first + fresh.size ? &next->second : nullptr;
    for (const Registration* other : {before, behind}) {
        if (other == nullptr) continue;
        if (given < other->given + other->bytes && other->given < given + bytes) return kAlreadyRegistered;
        return missing("cuMemHostRegister of a page that is registered in part");
    }
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (here + (64 << 10) >= fresh.first && here < fresh.first + fresh.size + (64 << 10)) return missing("cuMemHostRegister of the stack of the calling thread");
    if (!is_mapped(fresh.first, fresh.size)) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult status = Client::get().synchronise(); status != CUDA_SUCCESS) return status;
    CUresult status = CUDA_SUCCESS;
    fresh.shared = allocate(fresh.size, MemoryKind::host, status);
    if (status != CUDA_SUCCESS) return status;
    void* const pages = reinterpret_cast<void*>(fresh.first);
    std::memcpy(reinterpret_cast<void*>(fresh.shared), pages, fresh.size);
    if (!Client::get().remap(pages, fresh.size, fresh.shared)) {
        complain(std::string("memory of the program cannot be registered: ") + std::strerror(errno));
        release(fresh.shared);
        return kOperatingSystem;
    }
    registrations()[fresh.first] = fresh;
    // Kernels reach it at the program's own address, too.
    return Client::get().ask(Call::alias, Writer().put(fresh.first).put(fresh.size).put(fresh.shared)).status;
}
HEDDLE_API CUresult cuMemHostRegister(void* address, std::size_t bytes, unsigned flags) { return cuMemHostRegister_v2(address, bytes, flags); }
HEDDLE_API CUresult cuMemHostUnregister(void* address) {
    HEDDLE_CALL;
    const Registration* const found = registration_of(reinterpret_cast<std::uintptr_t>(address));
    if (found == nullptr || found->given != reinterpret_cast<std::uintptr_t>(address)) return kNotRegistered;
    if (const CUresult status = Client::get().synchronise(); status != CUDA_SUCCESS) return status;
    const Registration old = *found;
    registrations().erase(old.first);
    if (const CUresult status = Client::get().ask(Call::end_alias, Writer().put(old.first)).status; status != CUDA_SUCCESS) return status;
    void* const pages = reinterpret_cast<void*>(old.first);
    if (mmap(pages, old.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != pages) return kOperatingSystem;
    std::memcpy(pages, reinterpret_cast<void*>(old.shared), old.size);
    return release(old.shared);
}
HEDDLE_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* host, unsigned) {
    HEDDLE_CALL;
    const std::uint64_t registered = registered_address(host);
    if (device == nullptr || (registered == 0 && range_of(reinterpret_cast<std::uintptr_t>(host)).base == 0)) return CUDA_ERROR_INVALID_VALUE;
    *device = registered != 0 ? registered : reinterpret_cast<std::uintptr_t>(host);
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuMemHostGetFlags(unsigned* flags, void* host) {
    HEDDLE_CALL;
    const Registration* const registered = registration_of(reinterpret_cast<std::uintptr_t>(host));
    const Range range = range_of(reinterpret_cast<std::uintptr_t>(host));
    if (flags == nullptr || (registered == nullptr && range.kind != MemoryKind::host)) return CUDA_ERROR_INVALID_VALUE;
    *flags = registered != nullptr ? registered->flags : 3;
    return CUDA_SUCCESS;
}
