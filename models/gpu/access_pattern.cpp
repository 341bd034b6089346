#include "models/gpu/access_pattern.h"

namespace heddle::models::gpu {
namespace {

constexpr std::uint32_t kAllLanes = ~std::uint32_t{0};

/// Whether the lanes' addresses are `distance` away from the first one.
template <class Address>
bool alike(const std::array<Address, ptx::kWarpSize>& address,
           const std::array<Address, ptx::kWarpSize>& distance) {
    const Address first = address[0];
    Address difference = 0;
    for (unsigned lane = 0; lane < ptx::kWarpSize; ++lane)
        difference |= (address[lane] - first) ^ distance[lane];
    return difference == 0;
}

template <class Address>
void measure(const std::array<Address, ptx::kWarpSize>& address,
             std::array<Address, ptx::kWarpSize>& distance) {
    for (unsigned lane = 0; lane < ptx::kWarpSize; ++lane) distance[lane] = address[lane] - address[0];
}

}  // namespace

// Lines, sectors and banks follow from the distances and the first address's place in its line.
AccessPattern::Place* AccessPattern::recall(const ptx::MemoryAccess& access) {
    static_assert(kLineBytes <= 256);
    if (access.lanes != kAllLanes || access.texels != nullptr) return nullptr;
    const auto offset = static_cast<std::uint8_t>(access.address[0] % kLineBytes);
    if (bytes_ != access.bytes_per_lane || !alike(access.address, distance_)) {
        bytes_ = access.bytes_per_lane;
        measure(access.address, distance_);
        for (Place& place : places_) place.wavefronts = place.lines = 0;
    }
    Place& place = places_[offset / kPlaceBytes % kPlaces];
    if (place.offset != offset) {
        place.offset = offset;
        place.wavefronts = place.lines = 0;
    }
    return &place;
}

bool AccessPattern::recall_copy(const ptx::MemoryAccess& access) {
    if ((access.lanes | access.zero_filled_lanes) != kAllLanes) return false;
    const std::uint32_t offset = access.shared_address[0] % kLineBytes;
    if (copy_bytes_ == access.bytes_per_lane && copy_offset_ == offset &&
        alike(access.shared_address, copy_distance_))
        return true;
    copy_bytes_ = access.bytes_per_lane;
    copy_offset_ = offset;
    measure(access.shared_address, copy_distance_);
    copy_wavefronts_ = 0;
    return true;
}

void AccessPattern::coalesce(const ptx::MemoryAccess& access, CoalescedAccess& result) {
    Place* const place = recall(access);
    const std::uint64_t first = access.address[0] / kLineBytes;
    if (place != nullptr && place->lines != 0) {
        result.count = place->lines;
        for (unsigned i = 0; i < place->lines; ++i)
            result.lines[i] = {first + static_cast<std::uint64_t>(std::int64_t{place->line[i]}),
                               place->sectors[i]};
        return;
    }
    gpu::coalesce(access, result);
    if (place == nullptr) return;
    for (unsigned i = 0; i < result.count; ++i) {
        const auto distance = static_cast<std::int64_t>(result.lines[i].line - first);
        place->line[i] = static_cast<std::int32_t>(distance);
        place->sectors[i] = result.lines[i].sectors;
        if (place->line[i] != distance) return;  // too far away to be remembered
    }
    place->lines = static_cast<std::uint8_t>(result.count);
}

unsigned AccessPattern::wavefronts_at(Place* place, const ptx::MemoryAccess& access) {
    if (place == nullptr) return gpu::shared_wavefronts(access);
    if (place->wavefronts == 0) place->wavefronts = static_cast<std::uint8_t>(gpu::shared_wavefronts(access));
    return place->wavefronts;
}

unsigned AccessPattern::wavefronts_of_coalesced(const ptx::MemoryAccess& access) {
    const auto offset = static_cast<std::uint8_t>(access.address[0] % kLineBytes);
    return wavefronts_at(access.lanes == kAllLanes ? &places_[offset / kPlaceBytes % kPlaces] : nullptr,
                         access);
}

unsigned AccessPattern::shared_wavefronts(const ptx::MemoryAccess& access) {
    return wavefronts_at(recall(access), access);
}

unsigned AccessPattern::shared_wavefronts_of_copy(const ptx::MemoryAccess& access) {
    if (!recall_copy(access)) return gpu::shared_wavefronts_of_copy(access);
    if (copy_wavefronts_ == 0)
        copy_wavefronts_ = static_cast<std::uint8_t>(gpu::shared_wavefronts_of_copy(access));
    return copy_wavefronts_;
}

}  // namespace heddle::models::gpu
