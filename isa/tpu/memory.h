// HBM of the virtual TPU: allocations with bounds, with or without values behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle::tpu {

/// A piece of HBM or CMEM.
struct Allocation {
    std::string name;             ///< for messages
    std::uint64_t base = 0;       ///< address of the first byte
    std::uint64_t bytes = 0;      ///< size
    std::vector<std::byte> data;  ///< `bytes` long when it holds values, else empty
};

/// All allocations of one chip. Addresses of HBM and CMEM share one space, see kCommonMemoryBase.
class Memory {
  public:
    /// Chooses an address (512-byte aligned, ascending, with a gap behind each allocation so that running off
    /// the end of one never lands in the next). Without values only the bounds are known: enough for the
    /// timing mode.
    std::uint64_t allocate(std::string name, std::uint64_t bytes, bool with_values);
    /// Allocates at an address of the caller's choice. Throws heddle::Error when it overlaps another
    /// allocation.
    void allocate_at(std::string name, std::uint64_t base, std::uint64_t bytes, bool with_values);
    void clear();

    /// The bytes [address, address + count); throws heddle::Error when they do not lie in one allocation that
    /// holds values.
    std::byte* at(std::uint64_t address, std::uint64_t count);
    const std::byte* at(std::uint64_t address, std::uint64_t count) const;
    /// Throws heddle::Error when they do not lie in one allocation.
    void check(std::uint64_t address, std::uint64_t count) const;

    /// Copies into or out of one allocation. Both throw as at() does.
    void write(std::uint64_t address, std::span<const std::byte> bytes);
    void read(std::uint64_t address, std::span<std::byte> bytes) const;
    /// All allocations, in ascending order of addresses.
    std::span<const Allocation> allocations() const { return allocations_; }

  private:
    const Allocation& find(std::uint64_t address, std::uint64_t count) const;

    std::vector<Allocation> allocations_;  // ascending base
    mutable std::size_t last_found_ = 0;
};

}  // namespace heddle::tpu
