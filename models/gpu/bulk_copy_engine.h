// The bulk copy engine of an SM (TMA): carries out bulk and tensor copies line by line.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "isa/ptx/execution.h"
#include "models/gpu/crossbar_port.h"
#include "models/gpu/load_store_unit.h"

namespace heddle::models::gpu {

struct BulkCopyStatistics {
    std::uint64_t copies = 0, bytes = 0;  ///< bytes as the instructions say
    std::uint64_t load_sectors = 0, store_sectors = 0;
};

/// Copies start one after another and overlap; a limited number of lines is under way. What the copies do to
/// values was settled when the instruction issued (isa/ptx): here it is only a matter of when they end.
class BulkCopyEngine {
  public:
    /// Tags of its requests have this bit, those of the load-store unit do not.
    static constexpr std::uint32_t kTag = 1u << 31;

    BulkCopyEngine(const GpuConfig& config, CrossbarPort& port, LoadStoreUnit& load_store);
    void reset();

    /// A copy begins. `id` is the caller's own. Copies without lines end in a known time as well.
    void begin(std::uint32_t id, const ptx::AsyncOperation& operation, Cycle now);
    /// Copies between shared memories pass through the cluster's network: when one may leave, and that it has
    /// ended.
    Cycle begin_shared_copy(std::uint32_t bytes, Cycle now);
    void end_shared_copy(std::uint32_t id, Cycle at) { ended_.push_back({id, at, at}); }
    /// A response with kTag, in its cycle of arrival.
    void respond(MemoryRequest& response, Cycle now);

    struct Ended {
        std::uint32_t id;
        Cycle sent;   ///< source read: shared memory may be written again (stores)
        Cycle ready;  ///< data in place; of stores: sent, their acknowledgements are still to come
    };
    /// What has ended since the last call.
    std::vector<Ended> take_ended();

    const BulkCopyStatistics& statistics() const { return statistics_; }

  private:
    struct Line {
        std::uint64_t line;
        SectorMask sectors;
    };
    struct Copy {
        std::uint32_t id = 0;
        bool loads = false, reduces = false, used = false;
        std::vector<Line> lines;
        std::size_t next = 0;           // line to be sent
        std::uint32_t outstanding = 0;  // loads under way
        Cycle start = 0, last = 0;
    };

    void count(std::uint32_t bytes) {
        ++statistics_.copies;
        statistics_.bytes += bytes;
    }
    static void split(const ptx::AsyncOperation& operation, std::vector<Line>& lines);
    void pump(Cycle now);
    void send_line(std::uint32_t index, Cycle now);
    void end(std::uint32_t index);
    std::uint32_t new_copy();

    const GpuConfig config_;
    CrossbarPort& port_;
    LoadStoreUnit& load_store_;
    std::vector<Copy> copies_;
    std::vector<std::uint32_t> free_;
    std::deque<std::uint32_t> queue_;  // copies with lines to be sent, oldest first
    std::uint32_t under_way_ = 0;
    BandwidthServer starts_;
    std::vector<Ended> ended_;
    BulkCopyStatistics statistics_;
};

}  // namespace heddle::models::gpu
