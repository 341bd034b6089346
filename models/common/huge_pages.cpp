#include "models/common/huge_pages.h"

#include <cstdlib>

#if defined(__linux__) && defined(__GLIBC__)
#include <malloc.h>
#include <sys/mman.h>

#include <cstdint>
#endif

namespace heddle::models {

#if defined(__linux__) && defined(__GLIBC__)
void prefer_huge_pages(std::size_t bytes) {
    constexpr std::uintptr_t kPage = std::uintptr_t{2} << 20;
    constexpr std::size_t kBlock = std::size_t{24} << 20, kUsualPad = std::size_t{128} << 10;
    // Blocks up to 32 MiB come from the heap, and what is freed there stays.
    mallopt(M_MMAP_THRESHOLD, static_cast<int>(std::size_t{32} << 20));
    mallopt(M_TRIM_THRESHOLD, static_cast<int>(2 * (kBlock + bytes)));
    // One block makes the heap grow, with room for all behind it.
    mallopt(M_TOP_PAD, static_cast<int>(bytes));
    void* const block = std::malloc(kBlock);
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(block), end = begin + kBlock + bytes;
    const std::uintptr_t first = (begin + kPage - 1) / kPage * kPage;
    if (block != nullptr) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
    std::free(block);
    mallopt(M_TOP_PAD, static_cast<int>(kUsualPad));
}
#else
void prefer_huge_pages(std::size_t) {}
#endif

}  // namespace heddle::models
