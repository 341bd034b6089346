// An SM's port to the crossbar, shared by its load-store unit and its bulk copy engine.
#pragma once

#include <cstdint>

#include "models/gpu/gpc.h"
#include "models/gpu/gpu_config.h"
#include "models/memory/bandwidth_server.h"
#include "models/memory/memory_ports.h"
#include "models/memory/memory_request.h"

namespace heddle::models::gpu {

class CrossbarPort {
  public:
    CrossbarPort(const GpuConfig& config, std::uint32_t sm, MemoryRequestPool& pool)
        : pool_(pool),
          sm_(sm),
          store_sector_time_(fine(kSectorBytes / config.crossbar.request_bytes)),
          response_sector_time_(fine(kSectorBytes / config.crossbar.response_bytes)) {}

    void connect(CrossbarInterface& crossbar) { crossbar_ = &crossbar; }
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
    Cycle send(MemoryRequest& request, Cycle leave) { return inject(request, leave, 1u << kFineBits, 0); }
    /// Sends a request that carries its sectors' data.
    Cycle send_data(MemoryRequest& request, Cycle leave) {
        const unsigned sectors = sector_count(request.sectors);
        return inject(request, leave, sectors * store_sector_time_, sectors);
    }
    /// A response that arrives in cycle `now` with `sectors` sectors has passed the port: in the returned
    /// one.
    Cycle receive(unsigned sectors, Cycle now) { return in_.take(now, sectors * response_sector_time_); }
    void give_back(MemoryRequest& response) { pool_.give_back(response); }

  private:
    Cycle inject(MemoryRequest& request, Cycle leave, FineCycles duration, unsigned data_sectors) {
        const Cycle begin = out_.take(leave, duration);
        crossbar_->send(request, begin, data_sectors);
        return begin;
    }

    MemoryRequestPool& pool_;
    const std::uint32_t sm_;
    const FineCycles store_sector_time_, response_sector_time_;
    CrossbarInterface* crossbar_ = nullptr;
    BandwidthServer out_, in_;
};

}  // namespace heddle::models::gpu
