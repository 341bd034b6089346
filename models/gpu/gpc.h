// The crossbar's port of a graphics processing cluster (GPC), which its SMs share, and the coalescer at it.
#pragma once

#include <array>
#include <cstdint>
#include <systemc>
#include <vector>

#include "models/common/clock_domain.h"
#include "models/gpu/gpu_config.h"
#include "models/gpu/peer_link.h"
#include "models/gpu/translation.h"
#include "models/memory/address_hash.h"
#include "models/memory/arrival_windows.h"
#include "models/memory/bandwidth_calendar.h"
#include "models/memory/memory_ports.h"
#include "models/memory/memory_request.h"

namespace heddle::models::gpu {

/// The way from an SM to L2, as the SM sees it.
class CrossbarInterface : public virtual sc_core::sc_interface {
  public:
    /// The request leaves the SM in cycle `leave`, which lies in the SM's present window or later; stores and
    /// atomics with their data. Ownership passes to the crossbar.
    virtual void send(MemoryRequest& request, Cycle leave) = 0;
    /// The cycle from which a page can be used that an SM does not know and asks for in cycle `at`.
    virtual Cycle translate(std::uint64_t page, Cycle at) = 0;
};

/// What a GPC's port did since reset().
struct GpcStatistics {
    std::uint64_t requests = 0;        ///< lines that SMs requested
    std::uint64_t joined = 0;          ///< loads that were answered together with another SM's, lines
    std::uint64_t joined_sectors = 0;  ///< of these loads, 32 bytes each
    std::uint64_t walks = 0;           ///< page walks
    std::uint64_t request_bytes = 0, response_bytes = 0;  ///< through the GPC's port
};

/// Brings requests of its SMs to the slices of its partition, stores and atomics to the line's home, and
/// answers back. It looks at requests once per window of cycles (lookahead.h), in order of time; answers pass
/// when they are told, ahead of time: its port is a calendar of bookings.
///
/// Coalescer: while a load of a line is under way, loads of the same sectors by other SMs of the GPC join it.
/// They cost L2 nothing (Nsight Compute's documentation names the unit L2
/// Request Coalescer, LRC). A limited number of lines can be joined, in sets of four by hash.
class Gpc : public Block, public CrossbarInterface, public ResponseInterface {
  public:
    sc_core::sc_export<CrossbarInterface> requests;   ///< from SMs
    sc_core::sc_port<ResponseInterface, 0> sms;       ///< to SMs, as in `members`
    sc_core::sc_port<RequestInterface, 0> slices;     ///< all, by position
    sc_core::sc_export<ResponseInterface> responses;  ///< from slices

    /// `members`: the SMs of the GPC. `peers` must outlive it.
    Gpc(const sc_core::sc_module_name& name, ClockDomain& clock, const GpuConfig& config,
        std::uint32_t position, std::vector<std::uint32_t> members, MemoryRequestPool& pool, PeerLink& peers);

    void send(MemoryRequest& request, Cycle leave) override;
    void respond(MemoryRequest& request, Cycle arrival) override;
    void acknowledge(Cycle at, unsigned lines) override;
    Cycle translate(std::uint64_t page, Cycle at) override { return translation_.translate(page, at); }
    Cycle tick(Cycle now) override;
    bool can_act(Cycle now) const override;
    void prefetch(Cycle now, unsigned stage) const override;
    void reset() override;

    /// Indices of its SMs in the GPU, in the order of the port `sms`.
    const std::vector<std::uint32_t>& members() const { return members_; }
    std::uint32_t partition() const { return partition_; }  ///< of L2, to which it is attached
    /// Counts since reset(), the page walks of its translation included.
    GpcStatistics statistics() const;

  private:
    static constexpr unsigned kWays = 4;
    /// Loads under way, which others may join until their answers have passed. One cache line of the host.
    struct alignas(64) Flights {
        std::array<std::uint32_t, kWays> lines{};
        std::array<std::uint32_t, kWays> answered{};  // cycle in which the answer passes the GPC's port
        std::array<LinesMask, kWays> sectors{};
        std::uint8_t joined = 0;  // one bit per way: others have joined
    };
    static constexpr std::uint32_t kUnknown = ~std::uint32_t{0};  // when it is answered
    static constexpr std::uint32_t kNobody = 0;  // MemoryRequest::arrival of who cannot be joined

    void end_of_elaboration() override;
    void pass_on(MemoryRequest& request, std::uint32_t set, Cycle leave);
    bool join(MemoryRequest& request, std::uint32_t set, Cycle at);
    void answer_joined(MemoryRequest& leader, Cycle at);
    void answer(MemoryRequest& request, Cycle at);

    const std::uint32_t position_, partition_;
    const std::vector<std::uint32_t> members_;
    const Cycle near_latency_, far_latency_,
        link_latency_;  // SM to port, port to slice, to another partition
    const PartitionedHash hash_;
    MemoryRequestPool& pool_;
    PeerLink& peers_;
    std::vector<Peer<RequestInterface>> slices_;
    std::vector<ResponseInterface*> sms_;
    std::vector<std::uint16_t> local_;  // by SM: its place in members_
    ArrivalWindows inbox_;              // by the cycle in which they leave the SM
    BandwidthCalendar out_, in_;
    GpcTranslation translation_;
    std::vector<Flights> flights_;        // sets, by hash of the line
    std::vector<MemoryRequest*> joined_;  // by set and way, newest first
    std::uint64_t set_mask_ = 0;
    GpcStatistics statistics_;
};

}  // namespace heddle::models::gpu
