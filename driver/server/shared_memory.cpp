#include "driver/server/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "driver/protocol/protocol.h"
#include "isa/common/error.h"

namespace heddle::driver {
namespace {

constexpr std::uint64_t kPage = 4096;
/// Running off the end of a buffer never lands in the next.
constexpr std::uint64_t kGap = kPage;

std::uint64_t rounded(std::uint64_t value, std::uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

}  // namespace

SharedMemory::SharedMemory() : free_{{kMemoryBase, kMemoryBytes}} {
    descriptor_ = memfd_create("heddle device memory", MFD_CLOEXEC);
    if (descriptor_ < 0 || ftruncate(descriptor_, static_cast<off_t>(kMemoryBytes)) != 0)
        throw Error(std::string("cannot make memory to share: ") + std::strerror(errno));
    void* const mapped = mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor_, 0);
    if (mapped == MAP_FAILED)
        throw Error(std::string("cannot map memory to share: ") + std::strerror(errno), {},
                    "allow a terabyte of addresses (ulimit -v unlimited)");
    bytes_ = static_cast<std::byte*>(mapped);
}

SharedMemory::~SharedMemory() {
    munmap(bytes_, kMemoryBytes);
    close(descriptor_);
}

std::byte* SharedMemory::at(std::uint64_t address) {
    return bytes_ + (address - kMemoryBase);
}

void SharedMemory::remap(std::uint64_t address, std::uint64_t bytes, std::uint64_t from) {
    if (mmap(at(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, descriptor_, static_cast<off_t>(from - kMemoryBase)) == MAP_FAILED)
        throw Error(std::string("cannot map memory at another address: ") + std::strerror(errno));
}

void SharedMemory::import_from(const std::string& path, std::uint64_t address, std::uint64_t bytes, std::uint64_t offset) {
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    const bool mapped = file >= 0 && mmap(at(address), rounded(bytes, kPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file, static_cast<off_t>(offset)) != MAP_FAILED;
    const int why = errno;
    if (file >= 0) close(file);
    if (!mapped) throw Error(std::string("memory of another process cannot be mapped: ") + std::strerror(why));
}

// First fit. Pages that were never written, or were given back, are zero and take no memory.
std::uint64_t SharedMemory::allocate(std::uint64_t bytes, std::uint64_t alignment) {
    const std::uint64_t needed = rounded(bytes, kPage) + kGap;
    for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
        const std::uint64_t first = rounded(hole->first, std::max(alignment, kPage));
        const std::uint64_t end = hole->first + hole->second;
        if (first > end || end - first < needed) continue;
        const std::uint64_t begin = hole->first;
        free_.erase(hole);
        if (first > begin) free_[begin] = first - begin;
        if (first + needed < end) free_[first + needed] = end - first - needed;
        return first;
    }
    throw Error("the addresses of device memory are used up");
}

void SharedMemory::release(std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t size = rounded(bytes, kPage);
    if (size != 0 && fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                               static_cast<off_t>(address - kMemoryBase), static_cast<off_t>(size)) != 0)
        std::memset(at(address), 0, bytes);
    auto place = free_.emplace(address, size + kGap).first;
    const auto next = std::next(place);
    if (next != free_.end() && place->first + place->second == next->first) {
        place->second += next->second;
        free_.erase(next);
    }
    if (place == free_.begin()) return;
    const auto before = std::prev(place);
    if (before->first + before->second == place->first) {
        before->second += place->second;
        free_.erase(place);
    }
}

}  // namespace heddle::driver
