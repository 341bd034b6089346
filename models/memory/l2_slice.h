// One slice of the L2 cache: tags, misses in flight, atomics, copies of lines of other partitions.
#pragma once

#include <cstdint>
#include <deque>
#include <systemc>
#include <vector>

#include "models/common/clock_domain.h"
#include "models/memory/arrival_windows.h"
#include "models/memory/bandwidth_server.h"
#include "models/memory/l2_config.h"
#include "models/memory/memory_ports.h"
#include "models/memory/sectored_cache.h"
#include "models/memory/waiting_requests.h"

namespace heddle::models {

/// Counts of one slice since reset(). Sectors have 32 bytes; a line has four.
struct L2SliceStatistics {
    std::uint64_t requests = 0;  ///< lines that SMs requested
    std::uint64_t answers = 0;   ///< lines that were answered to SMs
    std::uint64_t load_sectors = 0, store_sectors = 0, atomic_sectors = 0;  ///< that requests of SMs named
    std::uint64_t hit_sectors = 0;     ///< of loads and atomics, found valid here or, by the home, for a copy
    std::uint64_t merged_sectors = 0;  ///< of loads and atomics, already requested by an earlier miss
    std::uint64_t fill_sectors = 0;    ///< read from memory
    std::uint64_t copy_sectors = 0;    ///< read from the home in another partition
    std::uint64_t invalidations = 0;   ///< copies that a store or an atomic invalidated
    std::uint64_t write_back_sectors = 0;  ///< sent to memory
    std::uint64_t dirtied_sectors = 0;     ///< that a store made dirty
    std::uint64_t stalls = 0;              ///< requests that found no line, MSHR or write-back buffer
    double busy_cycles = 0;                ///< in which the slice's data path was occupied
    Cycle last_store = 0;                  ///< cycle in which the last store or atomic was performed
};

/// A block between the GPCs' ports and memory: Heddle's own L2 slice, or a model that a plugin brings.
class L2Block : public Block, public RequestInterface, public ResponseInterface {
  public:
    sc_core::sc_export<RequestInterface> requests;                                     ///< from SMs and twins
    sc_core::sc_port<ResponseInterface, 0, sc_core::SC_ZERO_OR_MORE_BOUND> responses;  ///< to GPCs
    sc_core::sc_port<RequestInterface> memory_requests;      ///< to the memory channel behind it
    sc_core::sc_export<ResponseInterface> memory_responses;  ///< from memory and twins
    /// The slices at the same position in each partition, this one included; unbound where there is one
    /// partition.
    sc_core::sc_port<RequestInterface, 0, sc_core::SC_ZERO_OR_MORE_BOUND> twin_requests;
    sc_core::sc_port<ResponseInterface, 0, sc_core::SC_ZERO_OR_MORE_BOUND> twin_responses;

    L2Block(const sc_core::sc_module_name& name, ClockDomain& clock)
        : Block(name, clock),
          requests("requests"),
          responses("responses"),
          memory_requests("memory_requests"),
          memory_responses("memory_responses"),
          twin_requests("twin_requests"),
          twin_responses("twin_responses") {
        requests.bind(*this);
        memory_responses.bind(*this);
    }

    /// Sampling: an access that takes no time and is not counted. It adds to `read` the sectors that it would
    /// have read from memory, and to `written` the sectors that its evictions would have written back.
    virtual void pass(std::uint32_t line, SectorMask sectors, bool write, std::uint64_t& read,
                      std::uint64_t& written) = 0;
    /// Sampling: removes this part of the lines, since what was left out would have evicted them. Dirty lines
    /// stay; they stand for others that would be dirty now.
    virtual void age(double part) = 0;
    /// Empties the cache and gives it another size, bytes of this slice. Between runs.
    virtual void resize(std::uint64_t bytes) = 0;
    /// Puts a line into the cache as the most recently used, before a run. `spare_dirty`: not in place of a
    /// line that memory has to be told of, so that it may be called during a run.
    virtual void preload(std::uint32_t line, bool dirty, bool spare_dirty = false) = 0;
    virtual L2SliceStatistics statistics() const = 0;
};

/// Write-back, write-allocate without fetch (stores carry byte masks), sectored. Loads of sectors on their
/// way wait for them.
///
/// With several partitions a slice also serves loads of lines whose home is its twin, the slice at the same
/// position of another partition: it fetches what it lacks from there and keeps it as a copy, which is
/// replaced like any other line. Stores and atomics go to the home, the point of coherence, which makes
/// copies old that it has given out (a line that the home has evicted meanwhile is forgotten: assumption).
/// Twins never wait for each other in a circle: what a twin asks for needs memory alone, has a queue and
/// MSHRs of its own, and copies under way take at most half of a set.
///
/// What it sends takes a while to arrive, so it looks at its own arrivals once per window of some cycles.
class L2Slice : public L2Block {
  public:
    /// Answers go to port `MemoryRequest::port` of `responses`, `crossbar_latency` after they leave.
    L2Slice(const sc_core::sc_module_name& name, ClockDomain& clock, const L2Config& config,
            std::uint32_t crossbar_latency, std::uint32_t position, std::uint32_t fill_bytes,
            MemoryRequestPool& pool);

    void send(MemoryRequest& request, Cycle arrival) override;
    void respond(MemoryRequest& request, Cycle arrival) override;
    void acknowledge(Cycle at, unsigned lines) override;
    Cycle tick(Cycle now) override;
    bool can_act(Cycle now) const override;
    void prefetch(Cycle now, unsigned stage) const override;
    void reset() override;
    std::vector<SignalDeclaration> signals() const override;

    void pass(std::uint32_t line, SectorMask sectors, bool write, std::uint64_t& read,
              std::uint64_t& written) override;
    void age(double part) override;
    void resize(std::uint64_t bytes) override { cache_.resize(bytes, config_.ways, true); }
    void preload(std::uint32_t line, bool dirty, bool spare_dirty = false) override;
    L2SliceStatistics statistics() const override;

  private:
    SectorMask filled(SectorMask sectors) const;
    struct Queue {  // requests that found no room, in order of arrival
        MemoryRequest* first = nullptr;
        MemoryRequest* last = nullptr;
    };
    void end_of_elaboration() override;
    bool is_home(std::uint32_t key) const { return hash_.home_of(key) == partition_; }
    void take(MemoryRequest& request, std::uint32_t set, Cycle now);
    void retry(Queue& queue, Cycle now);
    void retry_stalled(Cycle now);
    void retry_before(Cycle end);
    void tell_signals(Cycle now);
    void end_write_backs(Cycle now);
    bool stalled() const { return stalled_.first != nullptr || stalled_twins_.first != nullptr; }
    /// Of the i-th line of a request: lines of a chunk lie in neighbouring rows.
    std::uint32_t key_of_line(std::uint32_t first, unsigned i) const {
        return first + i * hash_.partitions();
    }
    bool serve(MemoryRequest& request, std::uint32_t set, Cycle now);
    SectoredCache::Index place_for(const MemoryRequest& request, unsigned i, bool home, std::uint32_t set,
                                   Cycle now);
    bool has_room(RequestKind kind, SectorMask sectors, bool home, SectoredCache::Index index,
                  SectoredCache::Index victim) const;
    SectorMask miss(SectoredCache::Index index, SectorMask missing, bool home);
    bool wait(MemoryRequest& request);
    void wait_at(SectoredCache::Index index, MemoryRequest& request);
    SectoredCache::Index victim(std::uint32_t set, bool home) const;
    bool can_serve(const MemoryRequest& request) const;
    Cycle store(std::uint32_t key, SectorMask sectors, SectoredCache::Sectors& state, Cycle begin);
    void invalidate_copies(std::uint32_t key, SectoredCache::Sectors& state, Cycle at);
    void invalidate(MemoryRequest& request);
    void evict(SectoredCache::Index index, Cycle now);
    LinesMask take_dirty(SectoredCache::Index index, unsigned i);
    void write_back(std::uint32_t row, LinesMask sectors, Cycle now);
    void fetch(const MemoryRequest& request, LinesMask sectors, SectoredCache::Index first, Cycle at);
    void fill(MemoryRequest& response, Cycle now);
    void deliver(SectoredCache::Index index, const MemoryRequest& response, unsigned i, std::uint32_t key,
                 Cycle now);
    // Of a read that comes back. On the way to memory `tag` says the row, between twins `key` the line.
    static SectoredCache::Index index_of(const MemoryRequest& response) {
        return response.from_slice ? response.tag : response.key;
    }
    void finish(MemoryRequest& request, Cycle at, Cycle now);
    FineCycles duration(const MemoryRequest& request, unsigned sectors) const;

    const L2Config config_;  // but for its size: resize()
    const Cycle crossbar_latency_;
    const std::uint32_t position_, partition_;
    const std::uint32_t fill_bytes_;
    const PartitionedHash hash_;
    const std::uint32_t chunk_lines_, group_lines_;  // group: of a request at most
    MemoryRequestPool& pool_;
    std::vector<Peer<ResponseInterface>> issuers_;
    std::vector<Peer<RequestInterface>> twins_;
    std::vector<Peer<ResponseInterface>> twin_issuers_;
    Peer<RequestInterface> memory_;
    FineCycles sector_time_, write_sector_time_, atomic_time_, link_sector_time_;

    SectoredCache cache_;
    WaitingRequests waiting_;  // by a line's slot: for its sectors
    std::vector<std::uint16_t> free_slots_;
    ArrivalWindows inbox_;
    Queue stalled_, stalled_twins_;
    BandwidthServer data_, link_out_, link_in_;
    std::uint32_t misses_ = 0, copies_under_way_ = 0;
    std::uint32_t write_backs_ = 0;
    std::deque<Cycle> write_back_ends_;  // known ones, in order of time
    bool used_ = true;                   // a request has come since reset()
    L2SliceStatistics statistics_;
};

}  // namespace heddle::models
