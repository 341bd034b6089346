#include "isa/ptx/global_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "isa/common/error.h"
#include "isa/common/hexadecimal.h"

namespace heddle::ptx {
namespace {

constexpr std::uint64_t kGlobalMemoryAlignment = 256;
constexpr std::uint64_t kHeapBase = 0x7f8000000000u;
constexpr std::uint64_t kHeapHeader = 16;  // also the gap between blocks of the heap
constexpr std::uint64_t kGuardGap = 4096;  // more than the largest access of a warp

}  // namespace

std::uint64_t GlobalMemory::allocate(std::string name, std::uint64_t bytes, bool backed,
                                     std::uint64_t alignment) {
    Allocation allocation;
    if (arena_.arena != nullptr) {
        allocation.name = std::move(name);
        allocation.base = arena_.arena->allocate(bytes, std::max(alignment, kGlobalMemoryAlignment));
        allocation.bytes = bytes;
        allocation.backed = true;
        allocation.data.borrow(arena_.arena->at(allocation.base), bytes);
        const auto place = std::upper_bound(
            allocations_.begin(), allocations_.end(), allocation.base,
            [](std::uint64_t value, const Allocation& other) { return value < other.base; });
        return allocations_.insert(place, std::move(allocation))->base;
    }
    next_ = (next_ + alignment - 1) / alignment * alignment;
    allocation.name = std::move(name);
    allocation.base = next_;
    allocation.bytes = bytes;
    allocation.backed = backed;
    if (backed) allocation.data.own(bytes);
    next_ = (next_ + bytes + kGuardGap + kGlobalMemoryAlignment - 1) / kGlobalMemoryAlignment * kGlobalMemoryAlignment;
    allocations_.push_back(std::move(allocation));
    return allocations_.back().base;
}

bool GlobalMemory::release(std::uint64_t base) {
    const auto found = std::lower_bound(
        allocations_.begin(), allocations_.end(), base,
        [](const Allocation& allocation, std::uint64_t value) { return allocation.base < value; });
    if (found == allocations_.end() || found->base != base) return false;
    if (arena_.arena != nullptr && !found->mapped) arena_.arena->release(found->base, found->bytes);
    allocations_.erase(found);
    return true;
}

void GlobalMemory::mirror() {
    std::erase_if(allocations_, [](const Allocation& allocation) { return allocation.image; });
    const std::size_t count = allocations_.size();
    if (count == 0) return;
    const Allocation& last = allocations_.back();
    if (last.base + last.bytes - allocations_.front().base > kPeerBytes)
        throw Error("memory that a neighbour can reach is limited to " + std::to_string(kPeerBytes >> 30) + " GiB", {}, "use smaller buffers");
    allocations_.reserve(2 * count);
    for (std::size_t i = 0; i < count; ++i) {
        Allocation& own = allocations_[i];
        Allocation image;
        image.name = own.name + " of the neighbour";
        image.base = own.base + kPeerDistance;
        image.bytes = own.bytes;
        image.backed = own.backed;
        image.image = true;
        image.data.borrow(own.data.data(), own.data.size());
        allocations_.push_back(std::move(image));
    }
}

void GlobalMemory::map(std::string name, std::uint64_t base, std::span<std::byte> bytes) {
    Allocation allocation;
    allocation.name = std::move(name);
    allocation.base = base;
    allocation.bytes = bytes.size();
    allocation.backed = true;
    allocation.mapped = true;
    allocation.data.borrow(bytes.data(), bytes.size());
    const auto place = std::upper_bound(
        allocations_.begin(), allocations_.end(), base,
        [](std::uint64_t value, const Allocation& other) { return value < other.base; });
    allocations_.insert(place, std::move(allocation));
}

bool GlobalMemory::unmap(std::uint64_t base) {
    const Allocation* const found = find(base, 1);
    return found != nullptr && found->base == base && found->mapped && release(base);
}

void GlobalMemory::clear() {
    while (!allocations_.empty()) release(allocations_.back().base);
    *this = GlobalMemory(arena_.arena);
}

std::uint64_t GlobalMemory::allocate_heap(std::string name, std::uint64_t bytes, std::uint64_t alignment,
                                          std::uint64_t limit) {
    const std::uint64_t room = limit > heap_bytes_ ? limit - heap_bytes_ : 0;
    if (room < kHeapHeader || bytes > room - kHeapHeader) return 0;
    Allocation block;
    block.name = std::move(name);
    block.base = (next_heap_ + kHeapHeader + alignment - 1) / alignment * alignment;
    block.bytes = bytes;
    block.backed = true;
    block.data.own(bytes);
    next_heap_ = block.base + bytes;
    heap_bytes_ += bytes + kHeapHeader;
    heap_.push_back(std::move(block));
    return heap_.back().base;
}

HeapRelease GlobalMemory::release_heap(std::uint64_t address) {
    auto* block = const_cast<Allocation*>(find_heap(address));
    if (block == nullptr || block->base != address) return HeapRelease::unknown;
    if (!block->backed) return HeapRelease::twice;
    heap_bytes_ -= block->bytes + kHeapHeader;
    block->name += ", freed";
    block->bytes = 0;
    block->backed = false;
    block->data = {};
    return HeapRelease::released;
}

// The block that starts last at or before the address.
const Allocation* GlobalMemory::find_heap(std::uint64_t address) const {
    const auto after = std::upper_bound(
        heap_.begin(), heap_.end(), address,
        [](std::uint64_t value, const Allocation& allocation) { return value < allocation.base; });
    return after == heap_.begin() ? nullptr : &*(after - 1);
}

const Allocation* GlobalMemory::find(std::uint64_t address, std::uint64_t count) const {
    if (address >= kHeapBase) {
        const Allocation* block = find_heap(address);
        if (block != nullptr && block->contains(address, count)) return block;  // else it may be what a host mapped so high
    }
    const auto after = std::upper_bound(
        allocations_.begin(), allocations_.end(), address,
        [](std::uint64_t value, const Allocation& allocation) { return value < allocation.base; });
    if (after == allocations_.begin()) return nullptr;
    const Allocation& candidate = *(after - 1);
    return candidate.contains(address, count) ? &candidate : nullptr;
}

Allocation* GlobalMemory::find(std::uint64_t address, std::uint64_t count) {
    return const_cast<Allocation*>(std::as_const(*this).find(address, count));
}

const Allocation* GlobalMemory::nearest(std::uint64_t address) const {
    if (address >= kHeapBase) {
        if (const Allocation* block = find_heap(address)) return block;
    }
    const Allocation* best = nullptr;
    std::uint64_t best_distance = 0;
    for (const Allocation& allocation : allocations_) {
        const std::uint64_t end = allocation.base + allocation.bytes;
        const std::uint64_t distance = address < allocation.base ? allocation.base - address
                                       : address >= end          ? address - end
                                                                 : 0;
        if (best == nullptr || distance < best_distance) {
            best = &allocation;
            best_distance = distance;
        }
    }
    return best;
}

void GlobalMemory::write(std::uint64_t address, std::span<const std::byte> bytes) {
    Allocation* allocation = find(address, bytes.size());
    if (allocation == nullptr || !allocation->backed) {
        throw Error("a copy of " + std::to_string(bytes.size()) + " bytes to " + hexadecimal(address) +
                    (allocation == nullptr
                         ? " is outside of every allocation"
                         : " goes to buffer " + allocation->name + ", which holds no values"),
                    {}, "", Error::Kind::out_of_bounds);
    }
    std::copy(bytes.begin(), bytes.end(),
              allocation->data.begin() + static_cast<std::ptrdiff_t>(address - allocation->base));
}

void GlobalMemory::read(std::uint64_t address, std::span<std::byte> bytes) const {
    const Allocation* allocation = find(address, bytes.size());
    if (allocation == nullptr || !allocation->backed) {
        throw Error("a copy of " + std::to_string(bytes.size()) + " bytes from " + hexadecimal(address) +
                    (allocation == nullptr
                         ? " is outside of every allocation"
                         : " comes from buffer " + allocation->name + ", which holds no values"),
                    {}, "", Error::Kind::out_of_bounds);
    }
    const auto first = allocation->data.begin() + static_cast<std::ptrdiff_t>(address - allocation->base);
    std::copy(first, first + static_cast<std::ptrdiff_t>(bytes.size()), bytes.begin());
}

}  // namespace heddle::ptx
