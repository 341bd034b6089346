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
bool AccessPattern::recall(const ptx::MemoryAccess& access) {
    if (access.lanes != kAllLanes) return false;
    const auto offset = static_cast<std::uint32_t>(access.address[0] % kLineBytes);
    if (bytes_ == access.bytes_per_lane && offset_ == offset && alike(access.address, distance_)) return true;
    bytes_ = access.bytes_per_lane;
    offset_ = offset;
    measure(access.address, distance_);
    wavefronts_ = lines_ = 0;
    return true;
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
    if (!recall(access)) return gpu::coalesce(access, result);
    const std::uint64_t first = access.address[0] / kLineBytes;
    if (lines_ == 0) {
        gpu::coalesce(access, result);
        lines_ = static_cast<std::uint8_t>(result.count);
        for (unsigned i = 0; i < lines_; ++i) {
            line_[i] = result.lines[i].line - first;
            sectors_[i] = result.lines[i].sectors;
        }
        return;
    }
    result.count = lines_;
    for (unsigned i = 0; i < lines_; ++i) result.lines[i] = {first + line_[i], sectors_[i]};
}

unsigned AccessPattern::wavefronts_of_coalesced(const ptx::MemoryAccess& access) {
    if (access.lanes != kAllLanes) return gpu::shared_wavefronts(access);
    if (wavefronts_ == 0) wavefronts_ = static_cast<std::uint8_t>(gpu::shared_wavefronts(access));
    return wavefronts_;
}

unsigned AccessPattern::shared_wavefronts(const ptx::MemoryAccess& access) {
    recall(access);
    return wavefronts_of_coalesced(access);
}

unsigned AccessPattern::shared_wavefronts_of_copy(const ptx::MemoryAccess& access) {
    if (!recall_copy(access)) return gpu::shared_wavefronts_of_copy(access);
    if (copy_wavefronts_ == 0)
        copy_wavefronts_ = static_cast<std::uint8_t>(gpu::shared_wavefronts_of_copy(access));
    return copy_wavefronts_;
}

}  // namespace heddle::models::gpu
