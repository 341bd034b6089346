// What travels between SMs, L2 slices and memory channels: one pooled object for a cache line, or for up to
// four neighbours of one chunk, which go the same way.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/common/cycle.h"

namespace heddle::models {

inline constexpr unsigned kLineBytes = 128;   ///< cache line of L1 and L2 (all NVIDIA GPUs since Fermi)
inline constexpr unsigned kSectorBytes = 32;  ///< the unit of transfer: a line has four sectors
inline constexpr unsigned kSectorsPerLine = kLineBytes / kSectorBytes;

using SectorMask = std::uint8_t;  ///< bit i: bytes 32 i .. 32 i + 31 of the line
inline constexpr SectorMask kWholeLine = (1u << kSectorsPerLine) - 1;

/// Sectors of neighbouring lines: four bits for each, the first line's lowest.
using LinesMask = std::uint16_t;
inline constexpr unsigned kMostLines = 4;  ///< of a request

/// Number of sectors in a mask.
inline unsigned sector_count(LinesMask mask) {
    return static_cast<unsigned>(std::popcount(mask));
}
/// The sectors of the i-th line.
inline SectorMask sectors_of(LinesMask mask, unsigned i) {
    return static_cast<SectorMask>(mask >> kSectorsPerLine * (i % kMostLines) & kWholeLine);
}
inline LinesMask at_line(SectorMask sectors, unsigned i) {
    return static_cast<LinesMask>(sectors << kSectorsPerLine * (i % kMostLines));
}
/// A mask with the lowest bit of each line that has any sector.
inline LinesMask touched_lines(LinesMask mask) {
    return static_cast<LinesMask>((mask | mask >> 1 | mask >> 2 | mask >> 3) & 0x1111);
}
inline unsigned line_count(LinesMask mask) {
    return static_cast<unsigned>(std::popcount(touched_lines(mask)));
}

/// What a request does to its line.
enum class RequestKind : std::uint8_t {
    load,
    store,
    atomic,      ///< performed in the L2 slice
    write_back,  ///< L2 sends dirty sectors to a memory channel
    none,        ///< the request lies in the pool
    invalidate,  ///< L2 slice -> a slice of another partition: its copy of these sectors is old
};

/// How long a line stays in L2 after this access, as the PTX ISA names it (L2::evict_...).
enum class EvictionPolicy : std::uint8_t {
    none,       ///< nothing said: as `normal`, but a line that was to go last stays so
    normal,     ///< least recently used
    first,      ///< the line goes before all others
    last,       ///< the line goes after all others
    unchanged,  ///< the access does not renew the line
};

/// At any time a request belongs to exactly one block, or lies in exactly one DelayQueue. Half a cache line
/// of the host: hundreds of thousands are under way at once.
///
/// Loads, stores and write-backs may be of several lines: of `line`, the first, and lines above it that lie
/// in the same slice and DRAM row since they belong to one chunk (L2Config::interleave_bytes), and in the
/// same aligned group of kMostLines. What a line costs, it costs in either case; they are answered together.
struct MemoryRequest {
    MemoryRequest* next = nullptr;  ///< link of whichever queue holds it
    union {
        std::uint32_t line =
            0;              ///< to L2: low bits of address / kLineBytes, so lines of 512 GiB are told apart
        LinesMask missing;  ///< in L2: sectors that memory still has to deliver
    };
    std::uint32_t key =
        0;  ///< on the way to L2: PartitionedHash::key() of the first line; else the sender's own
    std::uint32_t arrival =
        0;  ///< cycle, in a DelayQueue; between a GPC and L2: its place there that others may join
    std::uint32_t tag = 0;                  ///< the issuer's own
    std::uint16_t issuer = 0;               ///< SM, or L2 slice on the way to memory or another partition
    LinesMask sectors = 0;                  ///< of the first line there is one
    RequestKind kind = RequestKind::load;   ///< load, store or atomic
    std::uint8_t atomic_conflicts : 6 = 0;  ///< atomics: operations on the most contended word, at most 32
    std::uint8_t done_lines : 2 = 0;        ///< in L2: served, while the next finds no room
    std::uint8_t port = 0;                  ///< of the crossbar: the issuer's GPC
    bool returning : 1 = false;   ///< on its way back from memory or another partition to an L2 slice
    bool wants_data : 1 = false;  ///< loads, and atomics whose old value is used
    bool from_slice : 1 = false;  ///< asked by an L2 slice of another partition, for its copy
    bool crosses : 1 = false;     ///< stores, atomics: the line's home is not the issuer's partition
    bool remote : 1 = false;      ///< to the memory of another device, through the link
    EvictionPolicy policy : 3 = EvictionPolicy::none;  ///< priority of its lines when the cache must evict
                                                       ///< one
};
static_assert(sizeof(MemoryRequest) == 32);

/// Hands out requests without allocating on each. Every group of blocks has one; requests may go back to
/// another one than they came from.
class alignas(64) MemoryRequestPool {
  public:
    MemoryRequest& take() {
        if (free_ == nullptr) grow();
        MemoryRequest& request = *free_;
        free_ = request.next;
        __builtin_prefetch(free_, 1);  // for the next one that is taken: it has lain there for long
        ++in_use_;
        request = MemoryRequest{};
        return request;
    }
    /// Throws when the request was given back already: somebody was answered twice.
    void give_back(MemoryRequest& request) {
        if (request.kind == RequestKind::none) given_back_twice();
        request.kind = RequestKind::none;
        request.next = free_;
        free_ = &request;
        --in_use_;
    }
    /// Handed out, less those that came back: of all pools together, those under way.
    std::size_t in_use() const { return in_use_; }
    /// Takes every request back, wherever it is: only when all blocks are reset as well.
    void reset();

  private:
    static constexpr std::size_t kChunk = 4096;
    void grow();
    [[noreturn]] static void given_back_twice();
    std::vector<std::unique_ptr<MemoryRequest[]>> chunks_;
    MemoryRequest* free_ = nullptr;
    std::size_t in_use_ = 0;
};

}  // namespace heddle::models
