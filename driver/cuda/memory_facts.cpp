// What is known of memory at an address: attributes of pointers, advice on managed memory and where it was prefetched to.
#include <algorithm>
#include <cstring>

#include "driver/cuda/per_thread.h"
#include "driver/cuda/state.h"

using namespace heddle::driver;

#define HEDDLE_CALL                                                  \
    const std::lock_guard<std::recursive_mutex> lock(Client::get().mutex); \
    if (const CUresult status = ready(); status != CUDA_SUCCESS) return status

namespace {

/// As the interface names places: a device, -1: the host, -2: none.
constexpr int kHost = -1, kNone = -2;

/// Of pages of managed memory. It changes no time.
struct Advice {
    bool read_mostly = false;
    int preferred = kNone, prefetched = kNone;
    std::vector<int> accessed_by{};
    bool operator==(const Advice&) const = default;
};

/// From an address on, until the next.
std::map<std::uint64_t, Advice>& advices() {
    static auto* const all = new std::map<std::uint64_t, Advice>{{0, {}}};
    return *all;
}

void cut_at(std::uint64_t address) {
    advices().emplace(address, std::prev(advices().upper_bound(address))->second);
}

CUresult check_managed(std::uint64_t address, std::size_t bytes) {
    const Range range = range_of(address);
    const bool inside = range.base != 0 && range.kind == MemoryKind::managed && bytes != 0 && address + bytes <= range.base + range.bytes;
    return inside ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

bool is_place(int place) {
    return place >= kHost && place < static_cast<int>(Client::get().devices().size());
}

template <class Change>
CUresult advise(std::uint64_t address, std::size_t bytes, Change change) {
    HEDDLE_CALL;
    if (const CUresult status = check_managed(address, bytes); status != CUDA_SUCCESS) return status;
    cut_at(address);
    cut_at(address + bytes);
    for (auto each = advices().find(address); each->first < address + bytes; ++each) change(each->second);
    return CUDA_SUCCESS;
}

int place_of(CUmemLocation location) {
    return location.type == 1 ? location.id : kHost;
}

CUresult advise(std::uint64_t address, std::size_t bytes, int advice, int place) {
    HEDDLE_CALL;
    without_effect("advice on managed memory");
    if (advice < 1 || advice > 6 || ((advice == 3 || advice >= 5) && !is_place(place))) return CUDA_ERROR_INVALID_VALUE;
    return advise(address, bytes, [=](Advice& of) {
        if (advice <= 2) of.read_mostly = advice == 1;
        if (advice == 3 || advice == 4) of.preferred = advice == 3 ? place : kNone;
        if (advice >= 5) std::erase(of.accessed_by, place);
        if (advice == 5) of.accessed_by.push_back(place);
    });
}

CUresult prefetch(std::uint64_t address, std::size_t bytes, int place) {
    HEDDLE_CALL;
    without_effect("a prefetch of managed memory");
    if (!is_place(place)) return CUDA_ERROR_INVALID_DEVICE;
    return advise(address, bytes, [place](Advice& of) { of.prefetched = place; });
}

/// CUmemLocationType of a place.
int location_type(int place) {
    return place == kNone ? 0 : place == kHost ? 2 : 1;
}

}  // namespace

HEDDLE_API CUresult cuMemAdvise_v2(CUdeviceptr address, std::size_t bytes, int advice, CUmemLocation location) { return advise(address, bytes, advice, place_of(location)); }
HEDDLE_API CUresult cuMemAdvise(CUdeviceptr address, std::size_t bytes, int advice, CUdevice place) { return advise(address, bytes, advice, place); }
HEDDLE_API CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, std::size_t bytes, CUmemLocation location, unsigned flags, CUstream) {
    return flags != 0 ? CUDA_ERROR_INVALID_VALUE : prefetch(address, bytes, place_of(location));
}
HEDDLE_API CUresult cuMemPrefetchAsync(CUdeviceptr address, std::size_t bytes, CUdevice place, CUstream) { return prefetch(address, bytes, place); }
HEDDLE_API CUresult cuMemRangeGetAttribute(void* data, std::size_t room, int attribute, CUdeviceptr address, std::size_t bytes) {
    HEDDLE_CALL;
    if (const CUresult status = check_managed(address, bytes); status != CUDA_SUCCESS) return status;
    if (data == nullptr || room == 0 || room % sizeof(int) != 0) return CUDA_ERROR_INVALID_VALUE;
    // What pages differ in is not said.
    auto each = std::prev(advices().upper_bound(address));
    Advice all = each->second;
    for (++each; each != advices().end() && each->first < address + bytes; ++each) {
        const Advice& other = each->second;
        all.read_mostly = all.read_mostly && other.read_mostly;
        if (all.preferred != other.preferred) all.preferred = kNone;
        if (all.prefetched != other.prefetched) all.prefetched = kNone;
        std::erase_if(all.accessed_by, [&](int place) { return std::find(other.accessed_by.begin(), other.accessed_by.end(), place) == other.accessed_by.end(); });
    }
    if (attribute == 3) {
        std::vector<int> places(room / sizeof(int), kNone);
        std::copy_n(all.accessed_by.begin(), std::min(places.size(), all.accessed_by.size()), places.begin());
        std::memcpy(data, places.data(), room);
        return CUDA_SUCCESS;
    }
    const int answers[] = {all.read_mostly, all.preferred, 0, all.prefetched, location_type(all.preferred), std::max(0, all.preferred), location_type(all.prefetched), std::max(0, all.prefetched)};
    if (attribute < 1 || attribute > 8 || room != sizeof(int)) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(data, &answers[attribute - 1], sizeof(int));
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuMemRangeGetAttributes(void** data, const std::size_t* rooms, const int* attributes, std::size_t count, CUdeviceptr address, std::size_t bytes) {
    for (std::size_t i = 0; i < count; ++i)
        if (const CUresult status = cuMemRangeGetAttribute(data[i], rooms[i], attributes[i], address, bytes); status != CUDA_SUCCESS) return status;
    return CUDA_SUCCESS;
}

HEDDLE_API CUresult cuPointerSetAttribute(const void*, int attribute, CUdeviceptr address) {
    HEDDLE_CALL;
    return attribute == 6 && range_of(address).base != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;  // to be synchronous alone can be set, and all is
}
HEDDLE_API CUresult cuPointerGetAttribute(void* value, int attribute, CUdeviceptr address) {
    HEDDLE_CALL;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::uint64_t device_side = registered_address(reinterpret_cast<void*>(address));
    const Range range = range_of(device_side != 0 ? device_side : address);
    if (range.base == 0) return CUDA_ERROR_INVALID_VALUE;
    const auto give = [value](const auto& what) {
        std::memcpy(value, &what, sizeof what);  // NOLINT(bugprone-sizeof-expression): pointers among them
        return CUDA_SUCCESS;
    };
    switch (attribute) {
        case 1: return give(&primary_context(range.device));
        case 2: return give(range.kind == MemoryKind::host ? 1u : 2u);
        case 3: return give(address);
        case 4: return range.kind == MemoryKind::device ? CUDA_ERROR_INVALID_VALUE : give(address);
        case 5: return missing("cuPointerGetAttribute of tokens for other devices");
        case 6: return give(1);
        case 7: case 20: return give(static_cast<unsigned long long>(range.base));
        case 8: return give(range.kind == MemoryKind::managed);
        case 9: return give(range.device);
        case 10: case 15: case 21: return give(false);
        case 11: case 19: return give(range.base);
        case 12: case 18: return give(static_cast<std::size_t>(range.bytes));
        case 13: return give(true);
        case 14: return give(std::uint64_t{0});
        case 16: return give(3);
        case 17: return give(static_cast<void*>(nullptr));
        default: return CUDA_ERROR_INVALID_VALUE;
    }
}
// Of addresses that nobody allocated here everything is zero, but for the device: there is none.
HEDDLE_API CUresult cuPointerGetAttributes(unsigned count, const int* attributes, void** values, CUdeviceptr address) {
    for (unsigned i = 0; i < count; ++i) {
        if (cuPointerGetAttribute(values[i], attributes[i], address) == CUDA_SUCCESS) continue;
        constexpr int narrow[] = {2, 6, 16}, single[] = {8, 10, 13, 15, 21};
        const int none = kNone, attribute = attributes[i];
        const auto among = [attribute](const auto& list) { return std::find(std::begin(list), std::end(list), attribute) != std::end(list); };
        if (attribute < 1 || attribute > 21 || attribute == 5) return CUDA_ERROR_INVALID_VALUE;
        if (attribute == 9)
            std::memcpy(values[i], &none, sizeof none);
        else
            std::memset(values[i], 0, among(narrow) ? 4 : among(single) ? 1 : 8);
    }
    return CUDA_SUCCESS;
}

// Also for the default streams of threads.
HEDDLE_PER_THREAD(cuMemPrefetchAsync, _ptsz)
HEDDLE_PER_THREAD(cuMemPrefetchAsync_v2, _ptsz)
