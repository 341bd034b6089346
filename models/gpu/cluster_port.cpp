#include "models/gpu/cluster_port.h"

#include <algorithm>
#include <cmath>

#include "models/gpu/gpc_layout.h"

namespace heddle::models::gpu {
namespace {

constexpr Cycle kPortCycles = 2;  // of the fewest data through two ports, part of the latency

}  // namespace

void ClusterPort::connect(std::vector<ClusterNeighbour*> sms, std::vector<std::uint16_t> places) {
    sms_ = std::move(sms);
    places_ = std::move(places);
    const std::size_t last = (std::max<std::size_t>(sms_.size(), 1) - 1) / kSmsPerTpc;
    ways_.assign(sms_.size(), config_.latency / 2.0);
    for (std::size_t i = 0; i < ways_.size() && last != 0; ++i) {
        const std::size_t behind = last - i / kSmsPerTpc;
        ways_[i] += config_.spread / 2.0 * static_cast<double>(behind) / static_cast<double>(last);
    }
}

Cycle ClusterPort::latency(std::uint32_t sm) const {
    return static_cast<Cycle>(std::lround(ways_[places_[sm_]] + ways_[places_[sm]]));
}

// Cycles until `bytes` have passed the port.
Cycle ClusterPort::pass(std::uint32_t bytes, Cycle now) {
    const FineCycles time =
        std::max<FineCycles>(1u << kFineBits, fine(static_cast<double>(bytes) / config_.bytes_per_cycle));
    port_.take(now, time);
    return port_.done_at() - now;
}

void ClusterPort::request(std::uint32_t sm, RequestKind kind, bool answered, std::uint32_t tag,
                          std::uint32_t bytes, std::uint32_t wavefronts, Cycle leave) {
    MemoryRequest& message = pool_.take();
    message.kind = kind;
    message.wants_data = answered;
    message.tag = tag | kTag;
    message.issuer = static_cast<std::uint16_t>(sm_);
    message.line = bytes;
    message.key = wavefronts;
    if (kind == RequestKind::store) leave += pass(bytes, leave);
    sms_[places_[sm]]->deliver(message, leave + latency(sm) / 2);
}

void ClusterPort::answer(MemoryRequest& request, Cycle leave) {
    request.returning = true;
    const Cycle way = latency(request.issuer);
    const Cycle left = leave + pass(bytes_of(request), leave);
    sms_[places_[request.issuer]]->deliver(request, left + (way - way / 2) - kPortCycles);
}

void ClusterPort::confirm(MemoryRequest& request, Cycle at) {
    request.returning = true;
    sms_[places_[request.issuer]]->deliver(request, at);
}

}  // namespace heddle::models::gpu
