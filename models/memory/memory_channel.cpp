#include "models/memory/memory_channel.h"

#include <algorithm>
#include <cmath>

namespace heddle::models {
namespace {

constexpr unsigned kFraction = 28;  // bits of slots_per_cycle_; cycles are below 2^32, the ratio below 16

}  // namespace

MemoryBlock::MemoryBlock(const sc_core::sc_module_name& name, ClockDomain& clock, const MemoryConfig& config,
                         std::uint32_t position, std::uint32_t first_issuer, std::uint32_t issuers)
    : Block(name, clock),
      requests("requests"),
      responses("responses"),
      config_(config),
      position_(position),
      first_issuer_(first_issuer),
      issuers_(issuers),
      chunk_bits_(chunk_bits_of(config.interleave_bytes)) {
    requests.bind(*this);
}

void MemoryBlock::end_of_elaboration() {
    receivers_.clear();
    for (int i = 0; i < responses.size(); ++i) receivers_.push_back(responses[i]);
}

std::uint32_t MemoryBlock::bytes_moved(const MemoryRequest& request) const {
    const std::uint32_t bytes = sector_count(request.sectors) * kSectorBytes;
    return (bytes + config_.burst_bytes - 1) / config_.burst_bytes * config_.burst_bytes;
}

void MemoryBlock::answer(MemoryRequest& request, Cycle arrival) {
    const std::uint32_t sectors = sector_count(request.sectors);
    if (request.kind == RequestKind::write_back) {
        ++statistics_.write_requests;
        statistics_.write_sectors += sectors;
        statistics_.write_bytes += bytes_moved(request);
    } else {
        ++statistics_.read_requests;
        statistics_.read_sectors += sectors;
        statistics_.read_bytes += bytes_moved(request);
    }
    receivers_[request.issuer - first_issuer_]->respond(request, arrival);
}

MemoryChannel::MemoryChannel(const sc_core::sc_module_name& name, ClockDomain& clock,
                             const MemoryConfig& config, std::uint32_t position, std::uint32_t first_issuer,
                             std::uint32_t issuers)
    : MemoryBlock(name, clock, config, position, first_issuer, issuers), map_(config) {
    reset();
}

void MemoryChannel::reset() {
    const double rate = config_.bursts_per_second();
    const double hertz = clock().hertz();
    const DramBursts timing = in_bursts(config_.timing, rate);
    slots_per_cycle_ = static_cast<std::uint64_t>(std::llround(rate / hertz * (1u << kFraction)));
    // An idle channel with a closed row answers a read of burst_bytes after `latency`.
    const double bursts = (config_.burst_bytes / kBurstBytes - 1.0) * timing.ccd_l + 1;
    const double in_dram = (timing.rcd + timing.cl + bursts) / rate;
    return_latency_ = static_cast<Cycle>(std::max(1.0, std::round((config_.latency - in_dram) * hertz)));
    inbox_.reset();
    pseudo_channels_.clear();
    const double all = static_cast<double>(config_.channels) * config_.pseudo_channels;
    for (std::uint32_t i = 0; i < config_.pseudo_channels; ++i)
        pseudo_channels_.emplace_back(config_, timing,
                                      (position_ + static_cast<double>(i) * config_.channels + 1) / all);
    decisions_.assign(config_.pseudo_channels, kNever);
    statistics_ = {};
}

Slot MemoryChannel::slot_of(Cycle now) const {
    return (now * slots_per_cycle_ + (1ull << kFraction) - 1) >> kFraction;
}

Cycle MemoryChannel::cycle_of(Slot slot) const {
    return slot == 0 ? 0 : ((slot - 1) << kFraction) / slots_per_cycle_ + 1;
}

Cycle MemoryChannel::cycle_after(Slot slot) const {
    return ((slot << kFraction) + slots_per_cycle_ - 1) / slots_per_cycle_;
}

void MemoryChannel::send(MemoryRequest& request, Cycle arrival) {
    inbox_.push(request, arrival);
    wake(arrival);
}

bool MemoryChannel::can_act(Cycle now) const {
    if (inbox_.due(now)) return true;
    const Slot slot = slot_of(now);
    return std::any_of(pseudo_channels_.begin(), pseudo_channels_.end(),
                       [slot](const PseudoChannel& p) { return p.next_decision() <= slot; });
}

Cycle MemoryChannel::tick(Cycle now) {
    const Slot slot = slot_of(now);
    for (MemoryRequest* request = inbox_.pop(now); request != nullptr;) {
        MemoryRequest* const following = request->next;
        arrive(*request, slot);
        request = following;
    }
    Cycle next = inbox_.next(now + 1);
    for (std::size_t i = 0; i < pseudo_channels_.size(); ++i) {
        if (decisions_[i] <= now) serve(i, now, slot);
        next = std::min(next, decisions_[i]);
    }
    return next;
}

void MemoryChannel::arrive(MemoryRequest& request, Slot now) {
    const DramAddress place = map_.locate(line_in_channel(request));
    const bool write = request.kind == RequestKind::write_back;
    if (!write) ++statistics_.reads;
    pseudo_channels_[place.pseudo_channel].arrive(
        {&request, place.row, place.bank, bytes_moved(request) / kBurstBytes, write}, now);
    decisions_[place.pseudo_channel] = 0;
}

void MemoryChannel::serve(std::size_t index, Cycle now, Slot slot) {
    PseudoChannel& pseudo_channel = pseudo_channels_[index];
    PseudoChannel::Served served{};
    while (pseudo_channel.serve(slot, served)) {
        const Cycle end = cycle_after(served.end);
        const bool write = served.request->kind == RequestKind::write_back;
        if (served.row_hit && !write) ++statistics_.row_hits;
        answer(*served.request, std::max(now + 1, write ? end : end + return_latency_));
    }
    const Slot next = pseudo_channel.next_decision();
    decisions_[index] = next == kNoSlot ? kNever : std::max(now + 1, cycle_of(next));
}

MemoryChannelStatistics MemoryChannel::statistics() const {
    MemoryChannelStatistics result = statistics_;
    std::uint64_t bursts = 0;
    for (const PseudoChannel& pseudo_channel : pseudo_channels_) {
        const PseudoChannelStatistics& s = pseudo_channel.statistics();
        bursts += s.bursts;
        result.activations += s.activations;
        result.refreshes += s.refreshes;
        result.turnarounds += s.turnarounds;
    }
    result.busy_cycles = static_cast<double>(bursts << kFraction) / static_cast<double>(slots_per_cycle_) /
                         config_.pseudo_channels;
    return result;
}

}  // namespace heddle::models
