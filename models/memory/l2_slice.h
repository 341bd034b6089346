// One slice of the L2 cache: tags, misses in flight, atomics.
#pragma once

#include <cstdint>
#include <systemc>
#include <vector>

#include "models/common/clock_domain.h"
#include "models/common/parameter.h"
#include "models/memory/bandwidth_server.h"
#include "models/memory/delay_queue.h"
#include "models/memory/memory_ports.h"
#include "models/memory/sectored_cache.h"

namespace heddle::models {

/// L2 cache and the crossbar to it. The defaults describe an H100 SXM.
struct L2Config {
    std::uint64_t bytes = 50ull << 20;
    std::uint32_t slices = 80;
    std::uint32_t ways = 16;
    double bytes_per_cycle = 64;          ///< data of one slice
    std::uint32_t latency = 92;           ///< from arrival at the slice to the response leaving it, hit
    std::uint32_t miss_latency = 30;      ///< from arrival at the slice to the read leaving for memory
    std::uint32_t fill_latency = 62;      ///< from the data's arrival from memory to the response leaving
    std::uint32_t mshrs = 256;            ///< lines of one slice that may wait for memory
    std::uint32_t write_backs = 128;      ///< evicted lines of one slice that may be on their way to memory
    std::uint32_t partitions = 2;         ///< an SM's slices are near when in its own partition
    std::uint32_t far_latency = 0;        ///< added to responses from another partition
    double atomic_interval = 1;           ///< cycles per atomic operation on one word
    std::uint32_t crossbar_latency = 69;  ///< one way, SM to slice or back
    double crossbar_request_bytes = 32;   ///< per cycle from one SM: store data; a load takes one cycle
    double crossbar_response_bytes = 64;  ///< per cycle to one SM
};
void describe(L2Config& config, ParameterList& list);

struct L2SliceStatistics {
    std::uint64_t requests = 0;
    std::uint64_t load_sectors = 0, store_sectors = 0, atomic_sectors = 0;
    std::uint64_t hit_sectors = 0;     ///< of loads and atomics, found valid
    std::uint64_t merged_sectors = 0;  ///< of loads and atomics, already on their way from memory
    std::uint64_t fill_sectors = 0;    ///< read from memory
    std::uint64_t write_back_sectors = 0;
    std::uint64_t stalls = 0;  ///< requests that found no line, MSHR or write-back buffer
    double busy_cycles = 0;
    Cycle last_store = 0;  ///< cycle in which the last store or atomic was performed
};

/// Write-back, write-allocate without fetch (stores carry byte masks), sectored, LRU. Loads of sectors on
/// their way from memory wait for them.
class L2Slice : public Block, public RequestInterface, public ResponseInterface {
  public:
    sc_core::sc_export<RequestInterface> requests;                                     ///< from SMs
    sc_core::sc_port<ResponseInterface, 0, sc_core::SC_ZERO_OR_MORE_BOUND> responses;  ///< to SMs, by issuer
    sc_core::sc_port<RequestInterface> memory_requests;
    sc_core::sc_export<ResponseInterface> memory_responses;

    L2Slice(const sc_core::sc_module_name& name, ClockDomain& clock, const L2Config& config,
            std::uint32_t position, std::uint32_t fill_bytes, MemoryRequestPool& pool);

    void send(MemoryRequest& request, Cycle arrival) override;
    void respond(MemoryRequest& request, Cycle arrival) override;
    void acknowledge(Cycle at) override;
    Cycle tick(Cycle now) override;
    bool can_act(Cycle now) const override;
    void reset() override;

    /// Puts a line into the cache as the most recently used, before a run.
    void preload(std::uint64_t line, bool dirty);
    L2SliceStatistics statistics() const;

  private:
    void end_of_elaboration() override;
    bool serve(MemoryRequest& request, Cycle now);
    bool has_room(const MemoryRequest& request, SectoredCache::Index index,
                  SectoredCache::Index victim) const;
    bool can_serve(const MemoryRequest& request) const;
    void evict(SectoredCache::Index index, Cycle now);
    void fetch(SectoredCache::Index index, std::uint64_t row, SectorMask sectors, Cycle at);
    void fill(MemoryRequest& response, Cycle now);
    void finish(MemoryRequest& request, Cycle at);
    FineCycles duration(const MemoryRequest& request) const;

    const L2Config config_;
    const std::uint32_t position_;
    const std::uint32_t fill_bytes_;
    const SliceHash hash_;
    MemoryRequestPool& pool_;
    std::vector<ResponseInterface*> issuers_;
    RequestInterface* memory_ = nullptr;
    FineCycles sector_time_, atomic_time_;

    SectoredCache cache_;
    std::vector<MemoryRequest*>
        waiting_;  // per line: requests that wait for its pending sectors, newest first
    DelayQueue inbox_;
    MemoryRequest* stalled_first_ = nullptr;  // in order of arrival; the first one found no room
    MemoryRequest* stalled_last_ = nullptr;
    BandwidthServer data_;
    std::uint32_t misses_ = 0;
    std::uint32_t write_backs_ = 0;
    L2SliceStatistics statistics_;
};

}  // namespace heddle::models
