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
    /// A message of a ClusterPort. Ownership passes to the receiver.
    virtual void deliver(MemoryRequest& message, Cycle arrival) = 0;
    /// It receives the sectors that arrive in cycle `arrival` for another SM too; they have passed its port
    /// in the returned one.
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
    /// Tags of its messages have this bit; those of bulk copies the second one too.
    static constexpr std::uint32_t kTag = 1u << 30, kCopyTag = 1u << 29;

    ClusterPort(const ClusterConfig& config, std::uint32_t sm, MemoryRequestPool& pool)
        : config_(config), sm_(sm), pool_(pool) {}
    /// `sms`: those of the GPC, this one among them, neighbours side by side. `places`: where an SM of the
    /// GPU is among them.
    void connect(std::vector<ClusterNeighbour*> sms, std::vector<std::uint16_t> places);
    void reset() { port_.reset(); }
    ClusterNeighbour& neighbour(std::uint32_t sm) { return *sms_[places_[sm]]; }

    /// A warp asks SM `sm` for `bytes` (load, atomic) or sends them (store); `wavefronts` cycles of its
    /// shared memory. The message leaves in cycle `leave` at the earliest.
    void request(std::uint32_t sm, RequestKind kind, bool answered, std::uint32_t tag, std::uint32_t bytes,
                 std::uint32_t wavefronts, Cycle leave);
    /// An answer, whose data leave in cycle `leave` at the earliest.
    void answer(MemoryRequest& request, Cycle leave);
    /// The end of a copy, told to the SM that began it.
    void confirm(MemoryRequest& request, Cycle at);
    /// Data that arrive in cycle `now` have passed the port: in the returned one.
    Cycle receive(const MemoryRequest& request, Cycle now) { return now + pass(bytes_of(request), now); }
    void give_back(MemoryRequest& request) { pool_.give_back(request); }

    /// What a message carries in the fields of a MemoryRequest: bytes of data in `line`, and in `key` the
    /// cycles that it takes of the receiver's shared memory.
    static std::uint32_t bytes_of(const MemoryRequest& request) { return request.line; }
    static std::uint32_t wavefronts_of(const MemoryRequest& request) { return request.key; }
    /// There and back, without data.
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
