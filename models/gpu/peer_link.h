// The link to another device that does the same: its mirror image.
//
// Ranks of a collective run the same kernel on as much data, each beside a neighbour. Where all of them begin together, what a device
// sends to the next is what it receives from the one before: one device can be simulated for all, whose stores to its neighbour come
// back to it through the link. A neighbour's memory lies at a fixed distance from one's own (ptx::GlobalMemory::mirror), as symmetric
// memory does; the values are those of ranks with the same data.
#pragma once

#include <cstdint>

#include "isa/ptx/global_memory.h"
#include "models/common/cycle.h"
#include "models/gpu/gpu_config.h"
#include "models/memory/bandwidth_server.h"
#include "models/memory/memory_request.h"

namespace heddle::models::gpu {

/// First line (address / kLineBytes) of the neighbour's memory, and how many there are.
inline constexpr std::uint32_t kPeerLines = static_cast<std::uint32_t>(ptx::kPeerDistance / kLineBytes),
                               kPeerLineCount = static_cast<std::uint32_t>(ptx::kPeerBytes / kLineBytes);

/// Both directions of the link. By symmetry a direction passes what this device stores to its neighbour and, in answers, what the other
/// neighbour loads from it: as much as this one loads. Stores and requests pass in the order in which GPCs hand them over, answers in that
/// in which L2 tells of them.
class PeerLink {
  public:
    PeerLink(const PeerConfig& config, const double& clock) : config_(config), clock_(clock) {}
    void reset() { requests_.reset(), answers_.reset(), active_ = false; }
    /// For the next run: its launches name memory of a neighbour.
    void activate() { active_ = true; }
    /// Whether a line lies there.
    bool holds(std::uint32_t line) const { return active_ && line - kPeerLines < kPeerLineCount; }
    /// Data and headers of as many packets, from cycle `at` on: the cycle in which the last has arrived.
    Cycle request(unsigned sectors, unsigned packets, Cycle at) { return pass(requests_, sectors, packets, at); }
    Cycle answer(unsigned sectors, unsigned packets, Cycle at) { return pass(answers_, sectors, packets, at); }

  private:
    Cycle pass(BandwidthServer& direction, unsigned sectors, unsigned packets, Cycle at) {
        const double cycles = (sectors * kSectorBytes + packets * config_.header) / config_.bandwidth * clock_;
        const FineCycles duration = fine(cycles);
        return direction.take(at, duration) + static_cast<Cycle>(cycles + config_.latency * clock_);
    }
    const PeerConfig& config_;
    const double& clock_;
    BandwidthServer requests_, answers_;
    bool active_ = false;
};

}  // namespace heddle::models::gpu
