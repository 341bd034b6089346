// The bulk copy engine of an SM (TMA): carries out bulk and tensor copies line by line.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "isa/ptx/execution.h"
#include "models/gpu/cluster_port.h"
#include "models/gpu/crossbar_port.h"
#include "models/gpu/load_store_unit.h"

namespace heddle::models::gpu {

/// What the engine did since reset(). Sectors have 32 bytes.
struct BulkCopyStatistics {
    std::uint64_t copies = 0, bytes = 0;                ///< bytes as the instructions say
    std::uint64_t load_sectors = 0, store_sectors = 0;  ///< between L2 and this SM, asked for and sent
    std::uint64_t prefetched_sectors = 0;               ///< to L2
    std::uint64_t multicast_sectors = 0;                ///< received by other SMs
    std::uint64_t lines = 0;                            ///< between L2 and SMs, each receiver's
};

/// Copies start one after another and overlap; a limited number of lines is under way. What the copies do to
/// values was settled when the instruction issued (isa/ptx): here it is only a matter of when they end.
///
/// Every line, or part of one, that a row of a box touches is asked of L2 in whole sectors; neighbours in one
/// line are joined, and neighbouring lines of one chunk go as one request.
///
/// No line wakes the SM. A line's answer is told as soon as it is certain, ahead of its arrival: it books the
/// ports for then, and the line that takes its place leaves then.
class BulkCopyEngine {
  public:
    /// Tags of its requests have this bit, those of the load-store unit do not.
    static constexpr std::uint32_t kTag = 1u << 31;

    BulkCopyEngine(const GpuConfig& config, CrossbarPort& port, LoadStoreUnit& load_store);
    /// Back to the state after construction: no copies, empty ports, zero counters.
    void reset();

    /// The end of a copy as far as it is known; cycles may lie in the future.
    struct Ended {
        std::uint32_t id;  ///< as passed to begin()
        Cycle sent;        ///< source read: shared memory may be written again (stores)
        Cycle ready;       ///< data in place; of stores: sent, their acknowledgements are still to come
    };

    /// Begins a copy, which the caller calls `id`. `others` are SMs that receive the same data (multicast).
    /// Copies that end at once or at a known time are appended to `ended`.
    void begin(std::uint32_t id, const ptx::AsyncOperation& operation, std::vector<ClusterNeighbour*> others,
               Cycle now, std::vector<Ended>& ended);
    /// The cycle in which a copy between shared memories of a cluster may leave the SM.
    Cycle begin_shared_copy(std::uint32_t bytes, Cycle now);
    /// Takes a response with kTag that will arrive in cycle `arrival`, and gives it back to the pool.
    void respond(MemoryRequest& response, Cycle arrival, Cycle now, std::vector<Ended>& ended);

    /// Valid as long as the engine; counts since reset().
    const BulkCopyStatistics& statistics() const { return statistics_; }

    /// A request to L2: the first cache line by number (address / 128) and the sectors of it and of the
    /// following lines.
    struct Line {
        std::uint64_t line;  ///< number of the first line
        LinesMask sectors;   ///< bit i: sector i from the first line's first
    };
    /// Replaces `lines` by the lines of an operation's pieces in global memory.
    static void split(const ptx::AsyncOperation& operation, std::vector<Line>& lines);

  private:
    struct Copy {
        std::uint32_t id = 0;
        ptx::CachePolicy cache;
        std::vector<Line> requests;
        std::vector<ClusterNeighbour*> others;
        std::size_t next = 0;           // request to be sent
        std::uint32_t outstanding = 0;  // lines under way
        Cycle start = 0, last = 0;
    };

    void count(std::uint32_t bytes) {
        ++statistics_.copies;
        statistics_.bytes += bytes;
    }
    Cycle start(Cycle now);
    void send_stores(const ptx::AsyncOperation& operation, std::uint32_t id, Cycle now,
                     std::vector<Ended>& ended);
    void send_prefetches(const ptx::AsyncOperation& operation, std::uint32_t id, Cycle now,
                         std::vector<Ended>& ended);
    void join_neighbours(std::vector<Line>& lines, const ptx::CachePolicy& cache) const;
    void send_loads(Cycle now);
    Cycle take_places(unsigned count);
    void free_places(unsigned count, Cycle at);
    std::uint32_t new_copy();

    const GpuConfig& config_;
    CrossbarPort& port_;
    LoadStoreUnit& load_store_;
    std::vector<Copy> copies_;
    std::vector<std::uint32_t> free_;
    std::deque<std::uint32_t> queue_;  // copies with requests to be sent, oldest first
    std::vector<Cycle> places_;        // ring: when places for lines under way become free
    std::size_t first_place_ = 0, place_count_ = 0;
    std::vector<Line> lines_;
    BandwidthServer starts_;
    BulkCopyStatistics statistics_;
};

}  // namespace heddle::models::gpu
