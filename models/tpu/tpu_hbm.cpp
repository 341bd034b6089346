#include "models/tpu/tpu_hbm.h"

#include <algorithm>
#include <cmath>

namespace heddle::models {

TpuHbm::TpuHbm(const sc_core::sc_module_name& name, ClockDomain& clock, const HbmConfig& config,
               unsigned queues)
    : Block(name, clock), requests("requests"), config_(config), queues_(queues) {
    requests.bind(*this);
}

void TpuHbm::reset() {
    for (Queue& queue : queues_) queue = {};
    turn_ = 0;
    bus_free_at_ = 0;
    statistics_ = {};
    // Cycles per byte; the clock may have changed since the last run.
    units_per_byte_ = clock().hertz() / (config_.bandwidth * config_.efficiency) * (1u << kFraction);
}

void TpuHbm::request(unsigned queue, const HbmRequest& request, Cycle at) {
    queues_[queue].waiting.push_back({request, at, request.bytes});
    wake(at);
}

TpuHbm::Instant TpuHbm::ready_at(const Queue& queue) const {
    return std::max(queue.free_at, instant(queue.waiting.front().visible));
}

void TpuHbm::serve(Queue& queue) {
    Waiting& waiting = queue.waiting.front();
    const HbmRequest& request = waiting.request;
    const std::uint64_t bytes = std::min<std::uint64_t>(waiting.left, config_.arbitration_bytes);
    const Instant start = std::max(bus_free_at_, ready_at(queue));
    const auto busy = static_cast<Instant>(std::llround(static_cast<double>(bytes) * units_per_byte_));
    const double share = static_cast<double>(bytes) / static_cast<double>(request.bytes);
    const auto client = static_cast<Instant>(
        std::llround(static_cast<double>(request.least_cycles) * share * (1u << kFraction)));
    bus_free_at_ = start + busy;
    queue.free_at = start + std::max(client, busy);
    statistics_.busy_cycles += static_cast<double>(busy) / (1u << kFraction);
    (request.write ? statistics_.bytes_written : statistics_.bytes_read) += bytes;
    if (probe() != nullptr) probe()->add(request.write ? 1 : 0, start >> kFraction, bytes);
    waiting.left -= bytes;
    if (waiting.left > 0) return;
    request.client->served(request.number, cycle_at_or_after(queue.free_at) + config_.latency_cycles);
    queue.waiting.pop_front();
}

Cycle TpuHbm::tick(Cycle now) {
    while (bus_free_at_ <= instant(now)) {
        bool served = false;
        for (unsigned i = 0; i < queues_.size() && !served; ++i) {
            const unsigned index = (turn_ + i) % static_cast<unsigned>(queues_.size());
            Queue& queue = queues_[index];
            if (queue.waiting.empty() || ready_at(queue) > instant(now)) continue;
            serve(queue);
            turn_ = (index + 1) % static_cast<unsigned>(queues_.size());
            served = true;
        }
        if (!served) break;
    }
    Cycle next = kNever;
    for (const Queue& queue : queues_) {
        if (queue.waiting.empty()) continue;
        next = std::min(next, cycle_at_or_after(std::max(ready_at(queue), bus_free_at_)));
    }
    return next;
}

std::vector<SignalDeclaration> TpuHbm::signals() const {
    constexpr SignalKind kAmount = SignalKind::amount;
    return {{"read_bytes", 32, "B", "Bytes of the pieces that begin to move on the bus, to a core.", kAmount},
            {"written_bytes", 32, "B", "Bytes of the pieces that begin to move on the bus, from a core.",
             kAmount}};
}

bool TpuHbm::can_act(Cycle now) const {
    if (bus_free_at_ > instant(now)) return false;
    return std::any_of(queues_.begin(), queues_.end(), [&](const Queue& queue) {
        return !queue.waiting.empty() && ready_at(queue) <= instant(now);
    });
}

}  // namespace heddle::models
