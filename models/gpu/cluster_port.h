// An SM's port to the network that joins the SMs of a GPC: distributed shared memory.
#pragma once

#include <cstdint>
#include <systemc>
#include <utility>
#include <vector>

#include "models/gpu/gpu_config.h"
#include "models/memory/bandwidth_server.h"
#include "models/memory/memory_request.h"

namespace heddle::models::gpu {

/// An SM, as the others of its GPC see it.
class ClusterNeighbour : public virtual sc_core::sc_interface {
  public:
    /// Receives a message of a ClusterPort, which arrives in cycle `arrival`. Ownership passes to the
    /// receiver.
    virtual void deliver(MemoryRequest& message, Cycle arrival) = 0;
    /// Receives a copy of sectors that arrive in cycle `arrival` and that another SM has asked for. Returns
    /// the cycle in which they have passed this SM's port.
    virtual Cycle receive_multicast(LinesMask sectors, Cycle arrival) = 0;
};

/// What travels between two SMs. Loads and atomics go out without data and come back with them; stores and
/// copies carry them.
///
/// A port passes cluster.bytes_per_cycle, in and out together: Luo et al. (arXiv 2402.13499) measure 3.28
/// TB/s when all SMs of an H800 read from another, 16.4 bytes per cycle that each receives and sends.
///
/// The network is a star: the latency between two SMs is the sum of both's ways to the middle. Every pair of
/// a cluster of 16, as the authors' log on an H800 has it, obeys that within 1 cycle; it is the same between
/// the two SMs of a TPC. The ways get shorter from the first TPC of a GPC (107 cycles) to the last (90),
/// evenly here.
class ClusterPort {
  public:
    /// Tags of its messages have the bit kTag; those of bulk copies have kCopyTag as well.
    static constexpr std::uint32_t kTag = 1u << 30, kCopyTag = 1u << 29;

    ClusterPort(const ClusterConfig& config, std::uint32_t sm, MemoryRequestPool& pool)
        : config_(config), sm_(sm), pool_(pool) {}
    /// Connects it to the SMs of its GPC, `sms`, this one included, with the two of a TPC side by side.
    /// `places` has, for each SM of the GPU, its index in `sms`.
    void connect(std::vector<ClusterNeighbour*> sms, std::vector<std::uint16_t> places);
    void reset() { port_.reset(); }
    ClusterNeighbour& neighbour(std::uint32_t sm) { return *sms_[places_[sm]]; }

    /// A warp asks SM `sm` for `bytes` (load, atomic) or sends them (store); `wavefronts` cycles of its
    /// shared memory. The message leaves in cycle `leave` at the earliest.
    void request(std::uint32_t sm, RequestKind kind, bool answered, std::uint32_t tag, std::uint32_t bytes,
                 std::uint32_t wavefronts, Cycle leave);
    /// Sends an answer to the SM that asked; its data leave in cycle `leave` at the earliest.
    void answer(MemoryRequest& request, Cycle leave);
    /// Tells the SM that began a copy that it has ended.
    void confirm(MemoryRequest& request, Cycle at);
    /// Returns the cycle in which data that arrive in cycle `now` have passed the port.
    Cycle receive(const MemoryRequest& request, Cycle now) { return now + pass(bytes_of(request), now); }
    void give_back(MemoryRequest& request) { pool_.give_back(request); }

    /// What a message carries in the fields of a MemoryRequest: bytes of data in `line`, and in `key` the
    /// cycles that it takes of the receiver's shared memory.
    static std::uint32_t bytes_of(const MemoryRequest& request) { return request.line; }
    static std::uint32_t wavefronts_of(const MemoryRequest& request) { return request.key; }
    /// Cycles to SM `sm` and back, without the time that data take.
    Cycle latency(std::uint32_t sm) const;

  private:
    Cycle pass(std::uint32_t bytes, Cycle now);

    const ClusterConfig config_;
    const std::uint32_t sm_;
    MemoryRequestPool& pool_;
    std::vector<ClusterNeighbour*> sms_;
    std::vector<std::uint16_t> places_;
    std::vector<double> ways_;  // cycles to the middle, there and back, of each of sms_
    BandwidthServer port_;
};

}  // namespace heddle::models::gpu
