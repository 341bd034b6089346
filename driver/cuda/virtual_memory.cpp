// Virtual memory: addresses are reserved, memory is made, and the one mapped to the other, piece by piece (what PyTorch's expandable segments use).
#include <algorithm>
#include <cstring>

#include "driver/cuda/state.h"

using namespace heddle::driver;

#define HEDDLE_CALL                                                  \
    const std::lock_guard<std::recursive_mutex> lock(Client::get().mutex); \
    if (const CUresult status = ready(); status != CUDA_SUCCESS) return status

namespace {

constexpr std::uint64_t kGranularity = 2 << 20;

/// CUmemAllocationProp.
struct AllocationProperties {
    int type, handle_types;
    CUmemLocation location;
    void* windows;
    unsigned char compression, rdma;
    unsigned short usage;
    unsigned char reserved[4];
};
/// CUmemAccessDesc. Flags: 1 read, 3 read and write.
struct AccessDescription {
    CUmemLocation location;
    unsigned flags;
};

/// Memory that cuMemCreate made. It lies at addresses that the program is never told.
struct Physical {
    std::uint64_t address, bytes;
    AllocationProperties properties;
    unsigned handles = 1, mappings = 0;
};
struct Mapping {
    std::uint64_t bytes, offset;
    Physical* physical;
    unsigned access = 0;
};
struct Reservation {
    std::uint64_t bytes;
    std::map<std::uint64_t, Mapping> mappings;  ///< by address
};

std::map<std::uint64_t, Reservation>& reservations() {
    static auto* const all = new std::map<std::uint64_t, Reservation>;
    return *all;
}

/// The reservation that holds a whole range; nullptr: none.
std::pair<const std::uint64_t, Reservation>* reservation_of(std::uint64_t address, std::uint64_t bytes) {
    auto after = reservations().upper_bound(address);
    if (after == reservations().begin()) return nullptr;
    auto& found = *std::prev(after);
    const std::uint64_t at = address - found.first;
    return at <= found.second.bytes && bytes <= found.second.bytes - at ? &found : nullptr;
}

bool is_whole(std::uint64_t value) {
    return value % kGranularity == 0;
}

CUresult end_when_unused(Physical* physical) {
    if (physical->handles != 0 || physical->mappings != 0) return CUDA_SUCCESS;
    const CUresult status = release(physical->address);
    delete physical;
    return status;
}

/// Neighbours that can be reached are one range, over which copies and vectors may go.
CUresult tell_reachable(const std::pair<const std::uint64_t, Reservation>& reservation) {
    std::vector<Range> runs;
    for (const auto& [address, mapping] : reservation.second.mappings) {
        if (mapping.access == 0) continue;
        if (!runs.empty() && runs.back().base + runs.back().bytes == address)
            runs.back().bytes += mapping.bytes;
        else
            runs.push_back({address, mapping.bytes, MemoryKind::device, mapping.physical->properties.location.id});
    }
    const std::uint64_t end = reservation.first + reservation.second.bytes;
    ranges().erase(ranges().lower_bound(reservation.first), ranges().lower_bound(end));
    Writer content;
    content.put(reservation.first).put(reservation.second.bytes);
    for (const Range& run : runs) {
        ranges()[run.base] = run;
        content.put(run.base).put(run.bytes);
    }
    return Client::get().ask(Call::reachable, content).status;
}

/// Both sides map the addresses to other bytes of the shared memory.
CUresult remap_both(std::uint64_t address, std::uint64_t bytes, std::uint64_t from) {
    if (!Client::get().remap(reinterpret_cast<void*>(address), bytes, from)) return 304;  // CUDA_ERROR_OPERATING_SYSTEM
    return Client::get().ask(Call::remap, Writer().put(address).put(bytes).put(from)).status;
}

/// Memory of a device, without a handle for other processes, is what there is.
CUresult check_properties(const AllocationProperties* properties) {
    if (properties == nullptr || properties->type != 1) return CUDA_ERROR_INVALID_VALUE;
    if (properties->location.type != 1) return missing("cuMemCreate of memory of the host");
    if (properties->location.id < 0 || static_cast<std::size_t>(properties->location.id) >= Client::get().devices().size()) return CUDA_ERROR_INVALID_DEVICE;
    return CUDA_SUCCESS;
}

}  // namespace

HEDDLE_API CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const AllocationProperties* properties, int) {
    HEDDLE_CALL;
    if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult status = check_properties(properties); status != CUDA_SUCCESS) return status;
    *bytes = kGranularity;
    return CUDA_SUCCESS;
}
// The wanted address is a wish, which is not granted.
HEDDLE_API CUresult cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t alignment, CUdeviceptr, unsigned long long flags) {
    HEDDLE_CALL;
    if (address == nullptr || bytes == 0 || !is_whole(bytes) || flags != 0 || (alignment & (alignment - 1)) != 0) return CUDA_ERROR_INVALID_VALUE;
    const Received received = Client::get().ask(Call::reserve, Writer().put(std::uint64_t{bytes}).put(std::max<std::uint64_t>(alignment, kGranularity)));
    if (received.status != CUDA_SUCCESS) return received.status;
    *address = received.reader().get<std::uint64_t>();
    reservations()[*address] = {bytes, {}};
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
    HEDDLE_CALL;
    const auto found = reservations().find(address);
    if (found == reservations().end() || found->second.bytes != bytes || !found->second.mappings.empty()) return CUDA_ERROR_INVALID_VALUE;
    reservations().erase(found);
    return Client::get().ask(Call::give_up, Writer().put(address).put(std::uint64_t{bytes})).status;
}
HEDDLE_API CUresult cuMemCreate(Physical** handle, std::size_t bytes, const AllocationProperties* properties, unsigned long long flags) {
    HEDDLE_CALL;
    if (handle == nullptr || bytes == 0 || !is_whole(bytes) || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult status = check_properties(properties); status != CUDA_SUCCESS) return status;
    if (properties->handle_types != 0) return missing("cuMemCreate of memory for other processes");
    CUresult status = CUDA_SUCCESS;
    const std::uint64_t address = allocate(bytes, MemoryKind::device, status);
    if (status == CUDA_SUCCESS) *handle = new Physical{address, bytes, *properties};
    return status;
}
HEDDLE_API CUresult cuMemRelease(Physical* handle) {
    HEDDLE_CALL;
    if (handle == nullptr || handle->handles == 0) return CUDA_ERROR_INVALID_VALUE;
    --handle->handles;
    return end_when_unused(handle);
}
HEDDLE_API CUresult cuMemGetAllocationPropertiesFromHandle(AllocationProperties* properties, Physical* handle) {
    if (properties == nullptr || handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *properties = handle->properties;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset, Physical* handle, unsigned long long flags) {
    HEDDLE_CALL;
    auto* const reservation = reservation_of(address, bytes);
    if (reservation == nullptr || handle == nullptr || flags != 0 || bytes == 0 || !is_whole(bytes) || !is_whole(address) || !is_whole(offset) ||
        offset > handle->bytes || bytes > handle->bytes - offset)
        return CUDA_ERROR_INVALID_VALUE;
    auto& mappings = reservation->second.mappings;
    const auto next = mappings.lower_bound(address);
    if (next != mappings.end() && next->first < address + bytes) return CUDA_ERROR_INVALID_VALUE;
    if (next != mappings.begin() && std::prev(next)->first + std::prev(next)->second.bytes > address) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult status = remap_both(address, bytes, handle->address + offset); status != CUDA_SUCCESS) return status;
    mappings[address] = {bytes, offset, handle};
    ++handle->mappings;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
    HEDDLE_CALL;
    auto* const reservation = reservation_of(address, bytes);
    if (reservation == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto& mappings = reservation->second.mappings;
    const auto first = mappings.lower_bound(address), end = mappings.lower_bound(address + bytes);
    // Whole mappings alone can be ended.
    if (first == end || first->first != address || std::prev(end)->first + std::prev(end)->second.bytes != address + bytes) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult status = Client::get().synchronise(); status != CUDA_SUCCESS) return status;
    std::vector<Physical*> unmapped;
    for (auto each = first; each != end; ++each) unmapped.push_back(each->second.physical);
    mappings.erase(first, end);
    if (const CUresult status = tell_reachable(*reservation); status != CUDA_SUCCESS) return status;
    if (const CUresult status = remap_both(address, bytes, address); status != CUDA_SUCCESS) return status;
    for (Physical* const physical : unmapped) {
        --physical->mappings;
        if (const CUresult status = end_when_unused(physical); status != CUDA_SUCCESS) return status;
    }
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuMemSetAccess(CUdeviceptr address, std::size_t bytes, const AccessDescription* descriptions, std::size_t count) {
    HEDDLE_CALL;
    auto* const reservation = reservation_of(address, bytes);
    if (reservation == nullptr || descriptions == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    unsigned access = 0;
    for (std::size_t i = 0; i < count; ++i) access = std::max(access, descriptions[i].flags);
    auto& mappings = reservation->second.mappings;
    std::uint64_t at = address;
    for (auto each = mappings.lower_bound(address); each != mappings.end() && each->first < address + bytes; ++each) {
        if (each->first != at) return CUDA_ERROR_INVALID_VALUE;
        at += each->second.bytes;
    }
    if (at != address + bytes) return CUDA_ERROR_INVALID_VALUE;
    for (auto each = mappings.lower_bound(address); each != mappings.end() && each->first < at; ++each) each->second.access = access;
    return tell_reachable(*reservation);
}
HEDDLE_API CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation*, CUdeviceptr address) {
    HEDDLE_CALL;
    const auto* const reservation = reservation_of(address, 1);
    if (flags == nullptr || reservation == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto after = reservation->second.mappings.upper_bound(address);
    if (after == reservation->second.mappings.begin()) return CUDA_ERROR_INVALID_VALUE;
    const auto& [base, mapping] = *std::prev(after);
    if (address - base >= mapping.bytes) return CUDA_ERROR_INVALID_VALUE;
    *flags = mapping.access;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuMemRetainAllocationHandle(Physical** handle, void* address) {
    HEDDLE_CALL;
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const auto* const reservation = reservation_of(at, 1);
    if (handle == nullptr || reservation == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto after = reservation->second.mappings.upper_bound(at);
    if (after == reservation->second.mappings.begin() || at - std::prev(after)->first >= std::prev(after)->second.bytes) return CUDA_ERROR_INVALID_VALUE;
    *handle = std::prev(after)->second.physical;
    ++(*handle)->handles;
    return CUDA_SUCCESS;
}
