#include "models/gpu/gpc.h"

#include <algorithm>
#include <bit>

#include "models/gpu/lookahead.h"

namespace heddle::models::gpu {

Gpc::Gpc(const sc_core::sc_module_name& name, ClockDomain& clock, const GpuConfig& config,
         std::uint32_t position, std::vector<std::uint32_t> members, MemoryRequestPool& pool, PeerLink& peers)
    : Block(name, clock),
      requests("requests"),
      sms("sms"),
      slices("slices"),
      responses("responses"),
      position_(position),
      partition_(position % config.l2.partitions),
      members_(std::move(members)),
      near_latency_(config.crossbar.gpc_latency),
      far_latency_(config.crossbar.latency - config.crossbar.gpc_latency),
      link_latency_(config.l2.link_latency),
      hash_(config.l2.slices, config.l2.partitions, chunk_bits_of(config.l2.interleave_bytes)),
      pool_(pool),
      peers_(peers),
      local_(config.sm.count),
      inbox_(gpc_window(config)),
      out_(config.crossbar.gpc_request_bytes),
      in_(config.crossbar.gpc_response_bytes),
      translation_(config.translation) {
    requests.bind(*this);
    responses.bind(*this);
    for (std::size_t i = 0; i < members_.size(); ++i) local_[members_[i]] = static_cast<std::uint16_t>(i);
    if (config.crossbar.coalescer >= kWays) {
        const std::uint64_t sets = std::bit_floor(config.crossbar.coalescer / kWays);
        set_mask_ = sets - 1;
        flights_.resize(sets);
        joined_.resize(sets * kWays);
    }
}

void Gpc::end_of_elaboration() {
    slices_.clear();
    sms_.clear();
    for (int i = 0; i < slices.size(); ++i) slices_.emplace_back(slices[i]);
    for (int i = 0; i < sms.size(); ++i) sms_.push_back(sms[i]);
}

void Gpc::reset() {
    inbox_.reset();
    out_.reset();
    in_.reset();
    translation_.reset();
    std::fill(flights_.begin(), flights_.end(), Flights{});
    statistics_ = {};
}

// A window's requests are known when its SMs have performed it: in the cycle after.
void Gpc::send(MemoryRequest& request, Cycle leave) {
    wake(inbox_.push(request, leave, static_cast<std::uint32_t>(mix_bits(request.line) & set_mask_)) + 1);
}

bool Gpc::can_act(Cycle now) const {
    return now > 0 && inbox_.due(now - 1);
}

void Gpc::prefetch(Cycle now, unsigned stage) const {
    if (stage < 2) return inbox_.prefetch(now - 1, stage);
    if (stage > 2) return;
    for (const ArrivalWindows::Arrival& arrival : inbox_.peek(now - 1)) {
        __builtin_prefetch(arrival.request);
        __builtin_prefetch(flights_.data() + arrival.hint);
    }
}

Cycle Gpc::tick(Cycle now) {
    const std::span<ArrivalWindows::Arrival> arrivals = inbox_.take(now - 1);
    // What leaves in the same cycle comes by SM, whenever it was sent: a cycle later another one is first.
    const auto members = static_cast<std::uint32_t>(members_.size());
    std::uint32_t first = 0;  // (its place + the cycle) % members is a request's turn
    const auto turn = [&](const ArrivalWindows::Arrival& arrival) {
        const std::uint32_t sum = local_[arrival.request->issuer] + first;
        return sum < members ? sum : sum - members;
    };
    for (std::size_t i = 1; i < arrivals.size(); ++i) {
        const ArrivalWindows::Arrival arrival = arrivals[i];
        if (arrivals[i - 1].at != arrival.at) continue;
        first = arrival.at % members;
        const std::uint32_t own = turn(arrival);
        std::size_t place = i;
        for (; place > 0 && arrivals[place - 1].at == arrival.at && turn(arrivals[place - 1]) > own; --place)
            arrivals[place] = arrivals[place - 1];
        arrivals[place] = arrival;
    }
    for (const ArrivalWindows::Arrival& arrival : arrivals)
        pass_on(*arrival.request, arrival.hint, arrival.at);
    const Cycle next = inbox_.next(now - 1);
    return next == kNever ? kNever : next + 1;
}

void Gpc::pass_on(MemoryRequest& request, std::uint32_t set, Cycle leave) {
    const unsigned lines = line_count(request.sectors);
    statistics_.requests += lines;
    request.port = static_cast<std::uint8_t>(position_);
    const bool load = request.kind == RequestKind::load;
    const Cycle at = leave + near_latency_;
    if (load && request.wants_data && !flights_.empty() && join(request, set, at)) return;
    // In another device's memory, or so a mirror image sees it.
    request.remote = peers_.holds(request.line);
    if (request.remote) request.line -= kPeerLines;
    const PartitionedHash::Place place = hash_.place(request.line);
    request.key = hash_.key(place);
    const std::uint32_t partition = load ? partition_ : place.home;
    const unsigned sectors = load ? lines : sector_count(request.sectors);
    Cycle arrival = out_.take(at, sectors * kSectorBytes) + far_latency_;
    if (partition != partition_) {
        request.crosses = true;
        arrival += link_latency_;
    }
    if (request.remote) arrival = peers_.request(load ? 0 : sectors, lines, arrival);
    slices_[hash_.slice(place.position, partition)].send(*this, request, arrival);
}

/// True: the load is answered together with one under way. False: it goes to L2, and others may join it.
bool Gpc::join(MemoryRequest& request, std::uint32_t set, Cycle at) {
    Flights& flights = flights_[set];
    unsigned place = kWays;
    for (unsigned way = 0; way < kWays; ++way) {
        const std::uint32_t answered = flights.answered[way];
        if (answered <= at) {
            place = way;
        } else if (flights.lines[way] == request.line && (request.sectors & ~flights.sectors[way]) == 0) {
            statistics_.joined += line_count(request.sectors);
            statistics_.joined_sectors += sector_count(request.sectors);
            if (answered != kUnknown) {
                answer(request, answered);
                return true;
            }
            const auto bit = static_cast<std::uint8_t>(1u << way);
            MemoryRequest*& joined = joined_[set * kWays + way];
            request.next = (flights.joined & bit) != 0 ? joined : nullptr;
            joined = &request;
            flights.joined |= bit;
            return true;
        }
    }
    request.arrival = kNobody;
    if (place == kWays) return false;
    flights.lines[place] = request.line;
    flights.answered[place] = kUnknown;
    flights.sectors[place] = request.sectors;
    request.arrival = set * kWays + place + 1;
    return false;
}

void Gpc::respond(MemoryRequest& request, Cycle arrival) {
    if (request.remote) {
        const unsigned sectors = request.wants_data ? sector_count(request.sectors) : 0;
        arrival = peers_.answer(sectors, line_count(request.sectors), arrival);
    }
    const Cycle at = arrival - near_latency_;
    if (!request.wants_data) {
        sms_[local_[request.issuer]]->acknowledge(arrival, line_count(request.sectors));
        pool_.give_back(request);
        return;
    }
    if (request.kind == RequestKind::load && request.arrival != kNobody) answer_joined(request, at);
    answer(request, at);
}

void Gpc::answer_joined(MemoryRequest& leader, Cycle at) {
    const std::uint32_t place = leader.arrival - 1;
    Flights& flights = flights_[place / kWays];
    const auto bit = static_cast<std::uint8_t>(1u << place % kWays);
    flights.answered[place % kWays] = static_cast<std::uint32_t>(at);
    if ((flights.joined & bit) == 0) return;
    flights.joined &= static_cast<std::uint8_t>(~bit);
    for (MemoryRequest* joined = joined_[place]; joined != nullptr;) {
        MemoryRequest* const following = joined->next;
        answer(*joined, at);
        joined = following;
    }
}

/// Data that reach the GPC's port in cycle `at`, or wait there since.
void Gpc::answer(MemoryRequest& request, Cycle at) {
    const Cycle passed = in_.take(at, sector_count(request.sectors) * kSectorBytes);
    sms_[local_[request.issuer]]->respond(request, passed + near_latency_);
}

void Gpc::acknowledge(Cycle, unsigned) {}  // slices answer with respond()

GpcStatistics Gpc::statistics() const {
    GpcStatistics result = statistics_;
    result.walks = translation_.walks();
    result.request_bytes = out_.booked_bytes();
    result.response_bytes = in_.booked_bytes();
    return result;
}

}  // namespace heddle::models::gpu
