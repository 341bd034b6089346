// An SM's port to the crossbar, shared by its load-store unit and its bulk copy engine.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "models/gpu/eviction.h"
#include "models/gpu/gpc.h"
#include "models/gpu/gpu_config.h"
#include "models/memory/bandwidth_calendar.h"
#include "models/memory/memory_ports.h"
#include "models/memory/memory_request.h"

namespace heddle::models::gpu {

/// Makes requests, books the bytes that they take of the port in each direction, translates their addresses
/// and sends them to the GPC. Cycles that it takes and returns may lie in the future.
class CrossbarPort {
  public:
    CrossbarPort(const GpuConfig& config, std::uint32_t sm, MemoryRequestPool& pool)
        : pool_(pool),
          sm_(sm),
          request_bytes_(static_cast<std::uint32_t>(std::max(1.0, config.crossbar.request_bytes))),
          together_(std::min(kMostLines, config.l2.interleave_bytes / kLineBytes) - 1),
          out_(config.crossbar.request_bytes),
          in_(config.crossbar.response_bytes),
          bulk_in_(config.load_store.wavefront_bytes),
          translation_(config.translation) {}

    /// Connects it to the GPC's port, which must outlive it. To be called before the first run.
    void connect(CrossbarInterface& crossbar) { crossbar_ = &crossbar; }
    /// Forgets bookings and translations; the connection and the window stay.
    void reset() {
        out_.reset();
        in_.reset();
        bulk_in_.reset();
        translation_.reset();
    }
    /// Sets the launch's access policy window, which names the eviction policy of a range of addresses.
    void set_window(const ptx::AccessPolicyWindow& window) { window_ = WindowPolicy(window); }

    /// Takes a request from the pool and fills it in for `line` (address / 128) and its sectors. Whoever
    /// calls owns it until send() or send_data() passes it on; the tag is for the caller to set.
    MemoryRequest& make(RequestKind kind, std::uint64_t line, LinesMask sectors,
                        const ptx::CachePolicy& cache = {}) {
        MemoryRequest& request = pool_.take();
        request.kind = kind;
        request.line = static_cast<std::uint32_t>(line);
        request.sectors = sectors;
        request.issuer = static_cast<std::uint16_t>(sm_);
        request.policy = policy_of(line, cache);
        return request;
    }
    /// Whether `line`, above `first`, may go with it in one request.
    bool may_join(std::uint64_t first, std::uint64_t line, const ptx::CachePolicy& cache = {}) const {
        return (first | together_) == (line | together_) && policy_of(first, cache) == policy_of(line, cache);
    }
    /// Sends a request that carries no data. It leaves in cycle `leave` at the earliest; returns when.
    Cycle send(MemoryRequest& request, Cycle leave) {
        const Cycle begin = out_.take(leave, request_bytes_ * line_count(request.sectors));
        pass_on(request, begin);
        return begin;
    }
    /// Sends a request that carries its sectors' data; it leaves with the last line's.
    Cycle send_data(MemoryRequest& request, Cycle leave) {
        const unsigned sectors = sector_count(request.sectors);
        const auto last_line = static_cast<unsigned>(std::bit_width(request.sectors) - 1) / kSectorsPerLine;
        const Cycle cycles =
            sector_count(sectors_of(request.sectors, last_line)) * kSectorBytes / request_bytes_;
        const Cycle last = out_.take(leave, sectors * kSectorBytes);
        const Cycle begin = std::max(leave, last + 1 - std::min(last, std::max<Cycle>(cycles, 1)));
        pass_on(request, begin);
        return begin;
    }
    /// Returns the cycle in which a response of so many sectors, which arrives in cycle `arrival`, has passed
    /// the port. `arrival` may lie in the future.
    Cycle receive(unsigned sectors, Cycle arrival) { return in_.take(arrival, sectors * kSectorBytes); }
    /// The same for data of bulk copies, this SM's own and multicasts. They go past L1, whose return path has
    /// crossbar.response_bytes, into shared memory, and as fast as that takes them: an H200 multiplies in
    /// steps for which each SM receives at least 77 bytes per cycle (recorded products, 1024x512).
    Cycle receive_bulk(unsigned sectors, Cycle arrival) {
        return bulk_in_.take(arrival, sectors * kSectorBytes);
    }
    /// Returns a response to the pool; it must not be used afterwards.
    void give_back(MemoryRequest& response) { pool_.give_back(response); }

  private:
    EvictionPolicy policy_of(std::uint64_t line, const ptx::CachePolicy& cache) const {
        return cache.primary != ptx::CachePriority::none ? eviction_policy(cache, line) : window_.of(line);
    }
    /// The page is known, then the request leaves for the crossbar. Others overtake it meanwhile.
    void pass_on(MemoryRequest& request, Cycle at) {
        if (translation_.enabled())
            at = translation_.translate(request.line, at, [this](std::uint64_t page, Cycle asked) {
                return crossbar_->translate(page, asked);
            });
        crossbar_->send(request, at);
    }

    MemoryRequestPool& pool_;
    const std::uint32_t sm_;
    const std::uint32_t request_bytes_;
    const std::uint64_t together_;  // low bits of lines that may go together
    CrossbarInterface* crossbar_ = nullptr;
    BandwidthCalendar out_, in_, bulk_in_;
    SmTranslation translation_;
    WindowPolicy window_;
};

}  // namespace heddle::models::gpu
