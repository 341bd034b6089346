// Memory that starts as zeros.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <vector>

#include "isa/common/out_of_memory.h"

namespace heddle::ptx {

/// Of the C library's zeros, which for a large piece are pages that nobody has touched: where timing alone is
/// asked for, next to nothing of a CTA's shared memory is ever written.
template <class T>
struct ZeroedAllocator {
    using value_type = T;  ///< as the standard library asks of allocators
    ZeroedAllocator() = default;
    template <class U>
    ZeroedAllocator(const ZeroedAllocator<U>&) noexcept {}
    /// Zeroed memory, from calloc(); throws std::bad_alloc when there is none.
    T* allocate(std::size_t count) {
        if (void* memory = std::calloc(count, sizeof(T))) return static_cast<T*>(memory);
        throw_out_of_memory();
    }
    void deallocate(T* memory, std::size_t) noexcept { std::free(memory); }
    /// Elements of a fresh piece are zeros already.
    template <class U>
    void construct(U*) noexcept {}
    friend bool operator==(const ZeroedAllocator&, const ZeroedAllocator&) { return true; }
};

/// Bytes that are zero after the first resize(). Resize it once only: bytes that are cut off and added again
/// are not cleared.
using ZeroedBytes = std::vector<std::byte, ZeroedAllocator<std::byte>>;

}  // namespace heddle::ptx
