// Memory that a program and its virtual GPU share: a file without a name. The program maps it at the addresses that pointers have; here, where
// there are several programs, it lies anywhere.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "isa/ptx/global_memory.h"

namespace heddle::driver {

class SharedMemory final : public ptx::MemoryArena {
  public:
    /// Throws heddle::Error when the system gives none.
    SharedMemory();
    ~SharedMemory() override;
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    std::uint64_t allocate(std::uint64_t bytes, std::uint64_t alignment) override;
    void release(std::uint64_t address, std::uint64_t bytes) override;
    std::byte* at(std::uint64_t address) override;
    /// The bytes of [address, address + bytes) are from now on those of `from`, an address that allocate() gave, or one behind it; of address itself, when they
    /// are the same. The program does the same on its side. Throws heddle::Error when the system refuses.
    void remap(std::uint64_t address, std::uint64_t bytes, std::uint64_t from);
    /// The bytes of [address, address + bytes) are from now on those of a file from an offset on. Throws heddle::Error when the system refuses.
    void import_from(const std::string& path, std::uint64_t address, std::uint64_t bytes, std::uint64_t offset);
    /// What a program maps at kMemoryBase.
    int descriptor() const { return descriptor_; }

  private:
    int descriptor_ = -1;
    std::byte* bytes_ = nullptr;
    std::map<std::uint64_t, std::uint64_t> free_;  ///< bytes by address
};

}  // namespace heddle::driver
