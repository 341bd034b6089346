#include "isa/tpu/memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "isa/common/error.h"
#include "isa/common/hexadecimal.h"

namespace heddle::tpu {
namespace {

constexpr std::uint64_t kAlignment = 512;

bool ends_before(const Allocation& allocation, std::uint64_t address) {
    return allocation.base + allocation.bytes <= address;
}

}  // namespace

std::uint64_t Memory::allocate(std::string name, std::uint64_t bytes, bool with_values) {
    std::uint64_t base = kAlignment;
    if (!allocations_.empty()) {
        const Allocation& last = allocations_.back();
        base = (last.base + last.bytes + kAlignment) / kAlignment * kAlignment + kAlignment;
    }
    allocate_at(std::move(name), base, bytes, with_values);
    return base;
}

void Memory::allocate_at(std::string name, std::uint64_t base, std::uint64_t bytes, bool with_values) {
    const auto next = std::lower_bound(allocations_.begin(), allocations_.end(), base, ends_before);
    if (next != allocations_.end() && next->base < base + bytes) {
        throw Error("HBM: " + name + " at " + hexadecimal(base) + " overlaps " + next->name + " at " +
                    hexadecimal(next->base));
    }
    Allocation allocation{std::move(name), base, bytes, {}};
    if (with_values) allocation.data.resize(bytes);
    allocations_.insert(next, std::move(allocation));
}

void Memory::clear() {
    allocations_.clear();
    last_found_ = 0;
}

const Allocation& Memory::find(std::uint64_t address, std::uint64_t count) const {
    const auto holds = [&](const Allocation& a) {
        return address >= a.base && count <= a.bytes && address - a.base <= a.bytes - count;
    };
    if (last_found_ < allocations_.size() && holds(allocations_[last_found_]))
        return allocations_[last_found_];
    const auto found = std::lower_bound(allocations_.begin(), allocations_.end(), address, ends_before);
    if (found != allocations_.end() && holds(*found)) {
        last_found_ = static_cast<std::size_t>(found - allocations_.begin());
        return *found;
    }
    std::string near;
    if (found != allocations_.end() && (found->base <= address || found == allocations_.begin())) {
        near = found->name + " is [" + hexadecimal(found->base) + ", " +
               hexadecimal(found->base + found->bytes) + ")";
    } else if (!allocations_.empty()) {
        const Allocation& before = *(found - 1);
        near = before.name + " is [" + hexadecimal(before.base) + ", " +
               hexadecimal(before.base + before.bytes) + ")";
    } else {
        near = "nothing is allocated";
    }
    throw Error(
        "HBM: " + std::to_string(count) + " bytes at " + hexadecimal(address) + " lie in no allocation", {},
        near);
}

std::byte* Memory::at(std::uint64_t address, std::uint64_t count) {
    return const_cast<std::byte*>(std::as_const(*this).at(address, count));
}

const std::byte* Memory::at(std::uint64_t address, std::uint64_t count) const {
    const Allocation& allocation = find(address, count);
    if (allocation.data.empty() && count != 0) {
        throw Error("HBM: " + allocation.name + " holds no values", {},
                    "allocate it with values, or run in timing mode");
    }
    return allocation.data.data() + (address - allocation.base);
}

void Memory::check(std::uint64_t address, std::uint64_t count) const {
    find(address, count);
}

void Memory::write(std::uint64_t address, std::span<const std::byte> bytes) {
    if (!bytes.empty()) std::memcpy(at(address, bytes.size()), bytes.data(), bytes.size());
}

void Memory::read(std::uint64_t address, std::span<std::byte> bytes) const {
    if (!bytes.empty()) std::memcpy(bytes.data(), at(address, bytes.size()), bytes.size());
}

}  // namespace heddle::tpu
