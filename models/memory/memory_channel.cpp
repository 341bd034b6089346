#include "models/memory/memory_channel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

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
    for (int i = 0; i < responses.size(); ++i) receivers_.emplace_back(responses[i]);
}

std::uint32_t MemoryBlock::bytes_moved(LinesMask sectors) const {
    const std::uint32_t burst = config_.burst_bytes;
    std::uint32_t moved = 0;
    for (unsigned rest = sectors; rest != 0; rest >>= kSectorsPerLine) {
        const std::uint32_t bytes = sector_count(static_cast<LinesMask>(rest & kWholeLine)) * kSectorBytes;
        moved += (bytes + burst - 1) / burst * burst;
    }
    return moved;
}

void MemoryBlock::answer(MemoryRequest& request, Cycle arrival) {
    const std::uint32_t sectors = sector_count(request.sectors), lines = line_count(request.sectors);
    if (request.kind == RequestKind::write_back) {
        statistics_.write_requests += lines;
        statistics_.write_sectors += sectors;
        statistics_.write_bytes += bytes_moved(request.sectors);
    } else {
        statistics_.read_requests += lines;
        statistics_.read_sectors += sectors;
        statistics_.read_bytes += bytes_moved(request.sectors);
    }
    receivers_[request.issuer - first_issuer_].respond(*this, request, arrival);
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
    if (!std::exchange(used_, false) && hertz == reset_at_hertz_) return;
    reset_at_hertz_ = hertz;
    const DramBursts timing = in_bursts(config_.timing, rate);
    slots_per_cycle_ = static_cast<std::uint64_t>(std::llround(rate / hertz * (1u << kFraction)));
    // An idle channel with a closed row answers a read of burst_bytes after `latency`.
    const unsigned bursts_of_answer = config_.burst_bytes / kBurstBytes;
    const double bursts = (static_cast<double>(bursts_of_answer) - 1) * timing.ccd_l + 1;
    const double in_dram = (timing.rcd + timing.cl + bursts) / rate;
    return_latency_ = static_cast<Cycle>(std::max(1.0, std::round((config_.latency - in_dram) * hertz)));
    window_mask_ = std::bit_floor(std::min(return_latency_, kLongestWindow)) - 1;
    buses_.clear();
    const double all = static_cast<double>(config_.channels) * config_.pseudo_channels;
    for (std::uint32_t i = 0; i < config_.pseudo_channels; ++i) {
        const double phase = (position_ + static_cast<double>(i) * config_.channels + 1) / all;
        buses_.push_back({PseudoChannel(config_, timing, phase), {}, kNever});
    }
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
    used_ = true;
    const DramAddress place = map_.locate(line_in_channel(request));
    const bool write = request.kind == RequestKind::write_back;
    const unsigned lines = line_count(request.sectors);
    if (!write) statistics_.reads += lines;
    buses_[place.pseudo_channel].arriving.push_back(
        {{&request, place.row, place.bank, bytes_moved(request.sectors) / kBurstBytes, write, lines},
         static_cast<std::uint32_t>(arrival)});
    wake(end_of(arrival));
}

bool MemoryChannel::can_act(Cycle now) const {
    if (end_of(now) != now) return false;
    const Slot slot = slot_of(now);
    return std::any_of(buses_.begin(), buses_.end(), [=](const Bus& bus) {
        return bus.pseudo_channel.next_decision() <= slot ||
               std::any_of(bus.arriving.begin(), bus.arriving.end(),
                           [now](const Arrival& arrival) { return arrival.at <= now; });
    });
}

Cycle MemoryChannel::tick(Cycle now) {
    Cycle next = kNever;
    for (Bus& bus : buses_) {
        pass_window(bus, now);
        if (!bus.arriving.empty()) next = std::min(next, end_of(bus.arriving.front().at));
        if (bus.decision != kNever) next = std::min(next, end_of(bus.decision));
    }
    return next;
}

/// What happens at a pseudo channel up to cycle `now`. The rest of what arrives stays, in order of time.
void MemoryChannel::pass_window(Bus& bus, Cycle now) {
    std::vector<Arrival>& arriving = bus.arriving;
    for (std::size_t i = 1; i < arriving.size(); ++i) {  // nearly in order
        const Arrival arrival = arriving[i];
        std::size_t place = i;
        for (; place > 0 && arriving[place - 1].at > arrival.at; --place)
            arriving[place] = arriving[place - 1];
        arriving[place] = arrival;
    }
    std::size_t taken = 0;
    for (; taken < arriving.size() && arriving[taken].at <= now; ++taken) {
        const Arrival& arrival = arriving[taken];
        decide(bus, arrival.at);
        bus.pseudo_channel.arrive(arrival.what, slot_of(arrival.at));
        if (probe() != nullptr) [[unlikely]]
            tell_queues(bus, arrival.at);
        plan(bus, arrival.at);
    }
    arriving.erase(arriving.begin(), arriving.begin() + static_cast<std::ptrdiff_t>(taken));
    decide(bus, now + 1);
}

/// Decides what is to be decided before cycle `end`.
void MemoryChannel::decide(Bus& bus, Cycle end) {
    while (bus.decision < end) serve(bus, bus.decision);
}

void MemoryChannel::serve(Bus& bus, Cycle now) {
    PseudoChannel::Served served{};
    while (bus.pseudo_channel.serve(slot_of(now), served)) {
        if (probe() != nullptr) [[unlikely]]
            tell_served(bus, served, now);
        if (served.request == nullptr) continue;
        if (served.request->kind != RequestKind::write_back)  // further lines find the row open
            statistics_.row_hits += line_count(served.request->sectors) - (served.row_hit ? 0 : 1);
        answer(*served.request, std::max(now + 1, cycle_after(served.end) + return_latency_));
    }
    plan(bus, now + 1);
}

std::vector<SignalDeclaration> MemoryChannel::signals() const {
    std::vector<SignalDeclaration> list;
    for (std::size_t i = 0; i < buses_.size(); ++i) {
        const std::string path = "pseudo_channel" + std::to_string(i) + ".";
        list.push_back({path + "reads", 16, "lines", "Reads that wait to be chosen."});
        list.push_back({path + "writes", 16, "lines", "Writes that wait to be chosen."});
        list.push_back({path + "bank", 8, "", "Bank of the piece that the scheduler chose last.",
                        SignalKind::level, kNoValue});
        list.push_back({path + "row", 32, "", "Row of it in the bank.", SignalKind::level, kNoValue});
        list.push_back(
            {path + "bytes", 16, "B", "Bytes whose bursts begin on the data bus.", SignalKind::amount});
    }
    return list;
}

void MemoryChannel::tell_queues(const Bus& bus, Cycle now) {
    const std::size_t first = 5 * static_cast<std::size_t>(&bus - buses_.data());
    probe()->set(first, now, bus.pseudo_channel.queued(false));
    probe()->set(first + 1, now, bus.pseudo_channel.queued(true));
}

void MemoryChannel::tell_served(const Bus& bus, const PseudoChannel::Served& served, Cycle now) {
    const std::size_t first = 5 * static_cast<std::size_t>(&bus - buses_.data());
    tell_queues(bus, now);
    probe()->set(first + 2, now, served.bank);
    probe()->set(first + 3, now, served.row);
    for (std::uint32_t burst = 0; burst < served.bursts; ++burst) {
        const Slot begin = served.end - 1 - std::uint64_t{burst} * bus.pseudo_channel.burst_distance();
        probe()->add(first + 4, (begin << kFraction) / slots_per_cycle_, kBurstBytes);
    }
}

/// Finds out when the pseudo channel may decide next, at `from` at the earliest.
void MemoryChannel::plan(Bus& bus, Cycle from) {
    const Slot next = bus.pseudo_channel.next_decision();
    if (next <= slot_of(from))
        bus.decision = from;
    else
        bus.decision = next == kNoSlot ? kNever : std::max(from, cycle_of(next));
}

MemoryChannelStatistics MemoryChannel::statistics() const {
    MemoryChannelStatistics result = statistics_;
    std::uint64_t bursts = 0;
    for (const Bus& bus : buses_) {
        const PseudoChannelStatistics& s = bus.pseudo_channel.statistics();
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
