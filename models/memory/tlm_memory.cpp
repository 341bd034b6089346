#include "models/memory/tlm_memory.h"

#include <algorithm>
#include <bit>

namespace heddle::models {

TlmMemoryChannel::TlmMemoryChannel(const sc_core::sc_module_name& name, ClockDomain& clock,
                                   const MemoryConfig& config, std::uint32_t position,
                                   std::uint32_t first_issuer, std::uint32_t issuers, bool blocking)
    : MemoryBlock(name, clock, config, position, first_issuer, issuers),
      requester("requester", blocking, "memory model", "hbm.model") {
    clock.share_kernel();
}

void TlmMemoryChannel::reset() {
    requester.reset();
    inbox_.reset();
    statistics_ = {};
}

void TlmMemoryChannel::send(MemoryRequest& request, Cycle arrival) {
    inbox_.push(request, arrival);
    wake(arrival);
}

bool TlmMemoryChannel::can_act(Cycle now) const {
    return inbox_.due(now) || requester.due();
}

// While anything is under way the block looks every cycle: answers come when the model likes.
Cycle TlmMemoryChannel::tick(Cycle now) {
    for (MemoryRequest* request = inbox_.pop(now); request != nullptr;) {
        MemoryRequest* const following = request->next;
        begin(*request, now);
        request = following;
    }
    requester.take(now, [&](MemoryRequest& request) {
        if (--request.arrival == 0) answer(request, now + 1);
    });
    requester.check_alive(now, clock().hertz());
    return requester.outstanding() != 0 ? now + 1 : inbox_.next(now + 1);
}

/// A transaction for each line. `arrival` counts those under way.
void TlmMemoryChannel::begin(MemoryRequest& request, Cycle now) {
    request.arrival = line_count(request.sectors);
    const tlm::tlm_command command =
        request.kind == RequestKind::write_back ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND;
    for (unsigned i = 0; i < kMostLines; ++i) {
        const LinesMask sectors = sectors_of(request.sectors, i);
        if (sectors == 0) continue;
        const auto first = static_cast<std::uint32_t>(std::countr_zero(sectors));
        const std::uint32_t from = first * kSectorBytes / config_.burst_bytes * config_.burst_bytes;
        requester.begin(request, command, (line_in_channel(request) + i) * kLineBytes + from,
                        std::min(bytes_moved(sectors), kLineBytes - from), now);
    }
}

MemoryChannelStatistics TlmMemoryChannel::statistics() const {
    MemoryChannelStatistics result = statistics_;
    result.reads = result.read_requests;
    return result;
}

}  // namespace heddle::models
