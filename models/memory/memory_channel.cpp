#include "models/memory/memory_channel.h"

#include <algorithm>

#include "models/memory/address_hash.h"

namespace heddle::models {

void describe(MemoryConfig& c, ParameterList& list) {
    list.add("hbm.channels", c.channels, Quantity::count, 1, 256,
             "Channels that are simulated as blocks; L2 slices divide among them.");
    list.add("hbm.bandwidth", c.bandwidth, Quantity::bandwidth, 1e9, 1e14,
             "Peak bandwidth of all channels together, before refresh and turnaround.");
    list.add("hbm.latency", c.latency, Quantity::time, 1e-9, 1e-5,
             "From a read's arrival at an idle channel with a closed row to its data leaving for L2.");
    list.add("hbm.row_penalty", c.row_penalty, Quantity::time, 0, 1e-6,
             "Part of the latency that a read of an open row does not pay.");
    list.add("hbm.row_cycle", c.row_cycle, Quantity::time, 0, 1e-6,
             "Least time between two activations of one bank.");
    list.add("hbm.row_bytes", c.row_bytes, Quantity::bytes, 128, 65536, "Bytes of one row of one bank.");
    list.add("hbm.banks", c.banks, Quantity::count, 1, 1024, "Banks per simulated channel.");
    list.add("hbm.reorder_rows", c.reorder_rows, Quantity::count, 1, 8,
             "Rows of a bank that count as open because the controller reorders requests.");
    list.add("hbm.refresh_interval", c.refresh_interval, Quantity::time, 1e-8, 1e-3,
             "Time between two refreshes of a channel.");
    list.add("hbm.refresh_duration", c.refresh_duration, Quantity::time, 0, 1e-4,
             "Time without transfers at each refresh.");
    list.add("hbm.turnaround", c.turnaround, Quantity::time, 0, 1e-6,
             "Bus time lost at each change between reads and writes.");
    list.add("hbm.write_batch", c.write_batch, Quantity::count, 1, 64,
             "Write-backs collected before the bus turns round.");
    list.add("hbm.burst_bytes", c.burst_bytes, Quantity::bytes, 32, 128,
             "Smallest transfer; also the granularity of L2 fills.");
}

namespace {

Cycle to_cycles(double seconds, double hertz) {
    return static_cast<Cycle>(std::llround(seconds * hertz));
}

}  // namespace

MemoryChannel::MemoryChannel(const sc_core::sc_module_name& name, ClockDomain& clock,
                             const MemoryConfig& config, std::uint32_t position, std::uint32_t first_issuer,
                             std::uint32_t issuers)
    : Block(name, clock),
      requests("requests"),
      responses("responses"),
      config_(config),
      position_(position),
      first_issuer_(first_issuer),
      issuers_(issuers) {
    requests.bind(*this);
    reset();
}

void MemoryChannel::end_of_elaboration() {
    receivers_.clear();
    for (int i = 0; i < responses.size(); ++i) receivers_.push_back(responses[i]);
}

void MemoryChannel::reset() {
    const double hertz = clock().hertz();
    latency_ = to_cycles(config_.latency, hertz);
    row_penalty_ = std::min(to_cycles(config_.row_penalty, hertz), latency_ - 1);
    row_cycle_ = to_cycles(config_.row_cycle, hertz);
    refresh_interval_ = std::max<Cycle>(1, to_cycles(config_.refresh_interval, hertz));
    refresh_duration_ = std::min(to_cycles(config_.refresh_duration, hertz), refresh_interval_ - 1);
    refresh_phase_ = refresh_interval_ * position_ / config_.channels;
    byte_time_times_1024_ = fine(1024.0 * hertz / (config_.bandwidth / config_.channels));
    turnaround_ = fine(config_.turnaround * hertz);
    inbox_.reset();
    bus_.reset();
    banks_.assign(config_.banks, Bank{});
    writes_ = nullptr;
    write_count_ = 0;
    writing_ = false;
    statistics_ = {};
}

void MemoryChannel::send(MemoryRequest& request, Cycle arrival) {
    inbox_.push(request, arrival);
    wake(arrival);
}

bool MemoryChannel::can_act(Cycle now) const {
    return inbox_.due(now);
}

Cycle MemoryChannel::tick(Cycle now) {
    for (MemoryRequest* request = inbox_.pop(now); request != nullptr;) {
        MemoryRequest* const following = request->next;
        if (request->kind == RequestKind::write_back) {
            request->next = writes_;
            writes_ = request;
            if (++write_count_ >= config_.write_batch) write_batch(now);
        } else {
            read(*request, now);
        }
        request = following;
    }
    return inbox_.next(now + 1);
}

void MemoryChannel::wait_for_refresh(Cycle now) {
    const Cycle at = std::max(now, bus_.free_at());
    const Cycle into = (at + refresh_phase_) % refresh_interval_;
    if (into < refresh_duration_) bus_.block_until(at + refresh_duration_ - into);
}

bool MemoryChannel::open_row(Bank& bank, std::uint32_t row) const {
    const std::uint32_t window = config_.reorder_rows;
    std::uint32_t found = 0;
    while (found < window && bank.rows[found] != row) ++found;
    const bool hit = found < window;
    for (std::uint32_t i = std::min(found, window - 1); i > 0; --i) bank.rows[i] = bank.rows[i - 1];
    bank.rows[0] = row;
    return hit;
}

void MemoryChannel::read(MemoryRequest& request, Cycle now) {
    const std::uint32_t bytes = sector_count(request.sectors) * kSectorBytes;
    const std::uint32_t moved = (bytes + config_.burst_bytes - 1) / config_.burst_bytes * config_.burst_bytes;
    if (writing_) {
        writing_ = false;
        bus_.take(now, turnaround_);
    }
    wait_for_refresh(now);
    const Cycle begin = bus_.take(now, moved * byte_time_times_1024_ / 1024);
    // `tag` is the line's position in its slice: neighbours there are neighbours in a row.
    const std::uint64_t row = mix_bits((std::uint64_t{request.tag} / (config_.row_bytes / kLineBytes)) * 256 +
                                       request.issuer % 256);
    Bank& bank = banks_[(row >> 32) % config_.banks];
    Cycle ready = begin + latency_;
    ++statistics_.reads;
    if (open_row(bank, static_cast<std::uint32_t>(row) | 1u)) {
        ++statistics_.row_hits;
        ready -= row_penalty_;
        ready = std::max(ready, bank.activated + latency_);
    } else {
        const Cycle activation = bank.ever ? std::max(now, bank.activated + row_cycle_) : now;
        bank.ever = true;
        bank.activated = activation;
        ready = std::max(ready, activation + latency_);
    }
    statistics_.read_bytes += moved;
    receivers_[request.issuer - first_issuer_]->respond(request, ready);
}

void MemoryChannel::write_batch(Cycle now) {
    FineCycles duration = writing_ ? 0 : turnaround_;
    writing_ = true;
    for (MemoryRequest* request = writes_; request != nullptr; request = request->next) {
        const std::uint32_t bytes = sector_count(request->sectors) * kSectorBytes;
        const std::uint32_t moved =
            (bytes + config_.burst_bytes - 1) / config_.burst_bytes * config_.burst_bytes;
        duration += moved * byte_time_times_1024_ / 1024;
        statistics_.write_bytes += moved;
    }
    wait_for_refresh(now);
    bus_.take(now, duration);
    const Cycle done = std::max(now + 1, bus_.done_at());
    for (MemoryRequest* request = writes_; request != nullptr;) {
        MemoryRequest* const following = request->next;
        receivers_[request->issuer - first_issuer_]->respond(*request, done);
        request = following;
    }
    writes_ = nullptr;
    write_count_ = 0;
}

MemoryChannelStatistics MemoryChannel::statistics() const {
    MemoryChannelStatistics result = statistics_;
    result.busy_cycles = bus_.busy_cycles();
    return result;
}

}  // namespace heddle::models
