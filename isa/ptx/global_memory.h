// Device memory of the virtual GPU: allocations with bounds, with or without values behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace heddle::ptx {

/// Memory for allocations that others reach as well, such as a program that shares memory with its virtual
/// GPU.
class MemoryArena {
  public:
    virtual ~MemoryArena() = default;
    /// An address, a multiple of `alignment`, with so many bytes that are zero. Throws heddle::Error when there is no room.
    virtual std::uint64_t allocate(std::uint64_t bytes, std::uint64_t alignment) = 0;
    virtual void release(std::uint64_t address, std::uint64_t bytes) = 0;
    /// The address in this process of the bytes at a device address.
    virtual std::byte* at(std::uint64_t address) = 0;
};

/// The bytes of an allocation: its own, or those of an arena. Copies have bytes of their own.
class AllocationBytes {
  public:
    AllocationBytes() = default;
    AllocationBytes(const AllocationBytes& other) : own_(other.begin(), other.end()), bytes_(own_) {}
    AllocationBytes(AllocationBytes&&) = default;
    AllocationBytes& operator=(AllocationBytes other) {
        own_ = std::move(other.own_);
        bytes_ = other.bytes_;
        return *this;
    }
    ~AllocationBytes() = default;
    /// Makes `count` zero bytes of its own, or refers to bytes of the caller, who keeps them alive.
    void own(std::size_t count) {
        own_.assign(count, std::byte{0});
        bytes_ = own_;
    }
    void borrow(std::byte* first, std::size_t count) { bytes_ = {first, count}; }

    /// The bytes, whoever owns them; empty when there are none.
    std::byte* data() { return bytes_.data(); }
    const std::byte* data() const { return bytes_.data(); }
    std::size_t size() const { return bytes_.size(); }
    std::byte* begin() { return data(); }
    const std::byte* begin() const { return data(); }
    std::byte* end() { return data() + size(); }
    const std::byte* end() const { return data() + size(); }

  private:
    std::vector<std::byte> own_;
    std::span<std::byte> bytes_;
};

/// How far a neighbour's memory lies behind a device's own (GlobalMemory::mirror), and the bytes that can lie there.
inline constexpr std::uint64_t kPeerDistance = 304ull << 30, kPeerBytes = 80ull << 30;

/// A buffer in device memory. `backed` buffers hold values; the others only have addresses (timing mode), and
/// reading a value from them is an error of the caller.
struct Allocation {
    std::string name;         ///< for messages
    std::uint64_t base = 0;   ///< address of the first byte
    std::uint64_t bytes = 0;  ///< size
    bool backed = false;      ///< it holds values
    bool mapped = false;      ///< map() made it
    bool image = false;       ///< mirror() made it: its bytes are those of the allocation kPeerDistance before it
    AllocationBytes data;  ///< `bytes` long when backed
    /// Whether all bytes [address, address + count) are its own.
    bool contains(std::uint64_t address, std::uint64_t count) const {
        return address >= base && count <= bytes && address - base <= bytes - count;
    }
};

/// What became of a call of free() on the device.
enum class HeapRelease : std::uint8_t { released, twice, unknown };

/// Allocations lie at ascending addresses, 256-byte aligned, with an unmapped guard gap after each, so that
/// running off the end of a buffer never lands in the next.
class GlobalMemory {
  public:
    /// With an arena, all that is allocated lies there, but for the device's heap. The arena must outlive the memory; copies do without.
    explicit GlobalMemory(MemoryArena* arena = nullptr) { arena_.arena = arena; }
    /// Returns the base address, a multiple of 256 and of `alignment`, which is a power of two.
    std::uint64_t allocate(std::string name, std::uint64_t bytes, bool backed, std::uint64_t alignment = 1);
    /// Releases an allocation that allocate() made; its addresses are not used again. Returns false when none
    /// begins there.
    bool release(std::uint64_t base);
    /// Addresses [base, base + bytes.size()) lead to these bytes, which whoever maps them owns; copies of this memory have copies. The addresses must be free.
    void map(std::string name, std::uint64_t base, std::span<std::byte> bytes);
    /// Ends what map() made. Returns false when it made nothing that begins there.
    bool unmap(std::uint64_t base);
    void clear();
    /// The device's heap: memory that kernels allocate. Returns 0 when `limit` bytes do not suffice for all
    /// that is allocated at the time. Addresses are not used again, so that uses after the release are found.
    std::uint64_t allocate_heap(std::string name, std::uint64_t bytes, std::uint64_t alignment,
                                std::uint64_t limit);
    HeapRelease release_heap(std::uint64_t address);
    std::uint64_t heap_bytes() const { return heap_bytes_; }  ///< allocated now, with 16 for each block
    /// The allocation that holds [address, address + count), or nullptr.
    Allocation* find(std::uint64_t address, std::uint64_t count);
    const Allocation* find(std::uint64_t address, std::uint64_t count) const;
    /// The allocation nearest to an address, for error messages; nullptr when there is none.
    const Allocation* nearest(std::uint64_t address) const;
    std::span<const Allocation> allocations() const { return allocations_; }
    /// Variables of several modules that have the same name are told apart by what is set here before a kernel of one of them is
    /// loaded or launched. "": there is one module.
    void set_module(std::string name) { module_ = std::move(name); }
    const std::string& module() const { return module_; }

    /// Every allocation appears kPeerDistance behind itself as well, with the same bytes: as the memory of a neighbour that does the same.
    /// To be called after the last allocation. Throws heddle::Error when there is no room.
    void mirror();
    /// To be called on the copy of a memory that may have images: they are made those of the copy.
    void mirror_again() {
        if (has_images()) mirror();
    }
    bool has_images() const { return !allocations_.empty() && allocations_.back().image; }

    /// Copies for hosts. They check the bounds and throw heddle::Error when a byte lies in no allocation.
    void write(std::uint64_t address, std::span<const std::byte> bytes);
    void read(std::uint64_t address, std::span<std::byte> bytes) const;

  private:
    const Allocation* find_heap(std::uint64_t address) const;

    struct OptionalArena {
        MemoryArena* arena = nullptr;
        OptionalArena() = default;
        OptionalArena(const OptionalArena& /*other*/) {}
        OptionalArena(OptionalArena&&) = default;
        OptionalArena& operator=(const OptionalArena& other) {
            if (this != &other) arena = nullptr;
            return *this;
        }
        OptionalArena& operator=(OptionalArena&&) = default;
    } arena_;
    std::string module_;
    std::vector<Allocation> allocations_;  // ascending base
    std::deque<Allocation> heap_;  // ascending base; released blocks have no bytes; they stay in place
    std::uint64_t next_ = 0x7f0000000000ull;
    std::uint64_t next_heap_ = 0x7f8000000000ull;
    std::uint64_t heap_bytes_ = 0;
};

}  // namespace heddle::ptx
