// An SM's port to the crossbar, shared by its load-store unit and its bulk copy engine.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "models/gpu/gpu_config.h"
#include "models/memory/address_hash.h"
#include "models/memory/bandwidth_server.h"
#include "models/memory/memory_ports.h"
#include "models/memory/memory_request.h"

namespace heddle::models::gpu {

class CrossbarPort {
  public:
    CrossbarPort(const GpuConfig& config, std::uint32_t sm, MemoryRequestPool& pool)
        : pool_(pool),
          sm_(sm),
          hash_(config.l2.slices),
          latency_(config.l2.crossbar_latency),
          store_sector_time_(fine(kSectorBytes / config.l2.crossbar_request_bytes)),
          response_sector_time_(fine(kSectorBytes / config.l2.crossbar_response_bytes)) {}

    void set_slices(std::vector<RequestInterface*> slices) { slices_ = std::move(slices); }
    void reset() {
        out_.reset();
        in_.reset();
    }

    MemoryRequest& make(RequestKind kind, std::uint64_t line, SectorMask sectors) {
        MemoryRequest& request = pool_.take();
        request.kind = kind;
        request.line = line;
        request.sectors = sectors;
        request.issuer = static_cast<std::uint16_t>(sm_);
        return request;
    }
    /// Sends a request that carries no data. It leaves in cycle `leave` at the earliest; returns when.
    Cycle send(MemoryRequest& request, Cycle leave) { return inject(request, leave, 1u << kFineBits); }
    /// Sends a request that carries its sectors' data.
    Cycle send_data(MemoryRequest& request, Cycle leave) {
        return inject(request, leave, sector_count(request.sectors) * store_sector_time_);
    }
    /// A response that arrives in cycle `now` with `sectors` sectors has passed the port: in the returned
    /// one.
    Cycle receive(unsigned sectors, Cycle now) { return in_.take(now, sectors * response_sector_time_); }
    void give_back(MemoryRequest& response) { pool_.give_back(response); }

  private:
    Cycle inject(MemoryRequest& request, Cycle leave, FineCycles duration) {
        const Cycle begin = out_.take(leave, duration);
        slices_[hash_.slice(request.line)]->send(request, begin + latency_);
        return begin;
    }

    MemoryRequestPool& pool_;
    const std::uint32_t sm_;
    const SliceHash hash_;
    const Cycle latency_;
    const FineCycles store_sector_time_, response_sector_time_;
    std::vector<RequestInterface*> slices_;
    BandwidthServer out_, in_;
};

}  // namespace heddle::models::gpu
