#include "models/gpu/cta_scheduler.h"

#include <algorithm>

#include "isa/common/activity.h"
#include "isa/common/error.h"
#include "models/gpu/gpc_layout.h"

namespace heddle::models::gpu {
namespace {

/// Shares of registers are fractions; so much rounding may add up.
constexpr double kRoundingOfShares = 1e-9;

}  // namespace

CtaScheduler::CtaScheduler(const sc_core::sc_module_name& name, ClockDomain& clock, const GpuConfig& config,
                           std::vector<std::uint32_t> gpc_of_sm)
    : Block(name, clock), sms("sms"), reports("reports"), config_(config), gpc_of_sm_(std::move(gpc_of_sm)) {
    reports.bind(*this);
}

void CtaScheduler::end_of_elaboration() {
    receivers_.clear();
    for (int i = 0; i < sms.size(); ++i) receivers_.push_back(sms[i]);
}

void CtaScheduler::reset() {
    launches_.clear();
    taken_.clear();
    partitions_.clear();
    arrivals_.clear();
    ctas_ = handed_out_ = finished_ = 0;
    last_finish_ = 0;
    left_out_ = nullptr;
    wave_ = 0;
    wave_ends_.clear();
    pace_.reset();
}

void CtaScheduler::begin(std::vector<ScheduledLaunch> launches) {
    taken_.assign(receivers_.size(), {});
    for (ScheduledLaunch& scheduled : launches) {
        Launch launch;
        static_cast<ScheduledLaunch&>(launch) = std::move(scheduled);
        launch.ctas = launch.blocks == nullptr ? launch.launch->grid.count() : launch.blocks->size();
        launch.cluster_size = ptx::cluster_size(*launch.launch);
        ctas_ += launch.ctas;
        launch.partition = partition_of(launch.order.sms);
        std::vector<std::uint64_t> places(gpc_of_sm_.size());  // by GPC, or all together
        for (std::uint32_t sm = 0; sm < receivers_.size(); ++sm)
            places[launch.cluster_size == 1 ? 0 : gpc_of_sm_[sm]] += room(launch, sm);
        const std::uint64_t most = *std::max_element(places.begin(), places.end());
        if (launch.cluster_size > most) {
            throw Error("a cluster of " + std::to_string(launch.cluster_size) +
                            " thread blocks does not fit: a GPC of this GPU holds " + std::to_string(most) +
                            " at once",
                        {}, "use smaller clusters or thread blocks");
        }
        launch.waits = static_cast<std::uint32_t>(launch.order.after.size());
        const auto number = static_cast<std::uint32_t>(launches_.size());
        for (const std::uint32_t before : launch.order.after) {
            if (before >= number) throw Error("internal: a launch waits for a later one of its run");
            launches_[before].dependents.push_back(number);
        }
        launches_.push_back(std::move(launch));
    }
    for (std::uint32_t i = 0; i < launches_.size(); ++i)
        if (launches_[i].waits == 0) make_ready(i, launches_[i].order.earliest);
    come(1);
    if (launches_.size() == 1) wave_ = places_of_wave();
}

std::uint32_t CtaScheduler::partition_of(const std::vector<std::uint32_t>& sms_of_launch) {
    const auto known = std::find_if(partitions_.begin(), partitions_.end(),
                                    [&](const Partition& partition) { return partition.sms == sms_of_launch; });
    if (known != partitions_.end()) return static_cast<std::uint32_t>(known - partitions_.begin());
    Partition partition;
    partition.sms = sms_of_launch;
    if (!sms_of_launch.empty()) partition.allowed.resize(receivers_.size());
    for (const std::uint32_t sm : sms_of_launch) partition.allowed.at(sm) = true;
    partitions_.push_back(std::move(partition));
    return static_cast<std::uint32_t>(partitions_.size() - 1);
}

std::uint64_t CtaScheduler::places_of_wave() const {
    const unsigned size = launches_.front().cluster_size;
    const std::deque<Place>& places = partitions_.front().places;
    if (size == 1) return places.size();
    std::vector<std::uint64_t> by_gpc(gpc_of_sm_.size());
    for (const auto& [at, sm] : places) ++by_gpc[gpc_of_sm_[sm]];
    std::uint64_t wave = 0;
    for (const std::uint64_t places_of_gpc : by_gpc) wave += places_of_gpc / size * size;
    return wave;
}

/// CTAs of the launch for which an SM has room.
unsigned CtaScheduler::room(const Launch& launch, std::uint32_t sm) const {
    const Partition& partition = partitions_[launch.partition];
    if (!partition.allowed.empty() && !partition.allowed[sm]) return 0;
    const Occupancy& needs = launch.occupancy;
    const Taken& taken = taken_[sm];
    if (taken.ctas == 0) return needs.ctas_per_sm;
    const double registers = (1 - taken.registers) * needs.warps_by_registers / needs.warps_per_cta;
    unsigned room = std::min({config_.sm.ctas - taken.ctas, (config_.sm.warps - taken.warps) / needs.warps_per_cta,
                              static_cast<unsigned>(std::max(0.0, registers + kRoundingOfShares))});
    if (needs.shared_bytes_per_cta != 0)
        room = std::min(room,
                        static_cast<unsigned>((config_.shared.bytes - taken.shared) / needs.shared_bytes_per_cta));
    return room;
}

/// `sign`: 1, a CTA takes what it needs of the SM; -1, it gives it back.
void CtaScheduler::take(const Launch& launch, std::uint32_t sm, int sign) {
    const Occupancy& needs = launch.occupancy;
    Taken& taken = taken_[sm];
    taken.ctas += static_cast<unsigned>(sign);
    taken.warps += static_cast<unsigned>(sign) * needs.warps_per_cta;
    taken.shared += static_cast<std::uint64_t>(sign) * needs.shared_bytes_per_cta;
    taken.registers += sign * static_cast<double>(needs.warps_per_cta) / needs.warps_by_registers;
    if (taken.ctas == 0) taken.registers = 0;
}

/// Nothing that it waits for is left; it comes to the device in cycle `at`.
void CtaScheduler::make_ready(std::uint32_t number, Cycle at) {
    Launch& launch = launches_[number];
    launch.span.ready = at = std::max(at, launch.order.earliest);
    const auto later = std::upper_bound(arrivals_.begin(), arrivals_.end(), at,
                                        [](Cycle cycle, const auto& arrival) { return cycle < arrival.first; });
    arrivals_.insert(later, {at, number});
    wake(at);
}

/// Launches whose time has come queue up.
void CtaScheduler::come(Cycle now) {
    while (!arrivals_.empty() && arrivals_.front().first <= now) {
        const std::uint32_t number = arrivals_.front().second;
        arrivals_.erase(arrivals_.begin());
        Partition& partition = partitions_[launches_[number].partition];
        const auto behind = std::find_if(partition.queue.begin(), partition.queue.end(), [&](std::uint32_t other) {
            return launches_[other].order.priority > launches_[number].order.priority;
        });
        partition.queue.insert(behind, number);
    }
    for (Partition& partition : partitions_) choose_launch(partition, now);
}

/// The first of the queue, and the places that it may fill: of SMs with the most room first.
void CtaScheduler::choose_launch(Partition& partition, Cycle now) {
    std::deque<std::uint32_t>& queue = partition.queue;
    while (!queue.empty() && !launches_[queue.front()].waits_for_places()) queue.pop_front();
    const std::uint32_t first = queue.empty() ? kNone : queue.front();
    if (first == partition.current) return;
    partition.current = first;
    partition.places.clear();
    if (first == kNone) return;
    std::vector<unsigned> rooms(receivers_.size());
    for (std::uint32_t sm = 0; sm < rooms.size(); ++sm) rooms[sm] = room(launches_[first], sm);
    for (unsigned level = *std::max_element(rooms.begin(), rooms.end()); level != 0; --level) {
        for (std::uint32_t sm = 0; sm < rooms.size(); ++sm)
            if (rooms[sm] >= level) partition.places.emplace_back(std::max(now, taken_[sm].since), sm);
    }
    std::stable_sort(partition.places.begin(), partition.places.end(),
                     [](const Place& a, const Place& b) { return a.first < b.first; });
}

/// What an SM has room for has changed in cycle `at`. Places are kept in order of time; SMs report at the ends of windows, so a new one
/// is near the end.
void CtaScheduler::match_places(Partition& partition, std::uint32_t sm, Cycle at) {
    if (partition.current == kNone) return;
    std::deque<Place>& places = partition.places;
    const auto on_sm = [sm](const Place& place) { return place.second == sm; };
    auto known = static_cast<unsigned>(std::count_if(places.begin(), places.end(), on_sm));
    const unsigned free = room(launches_[partition.current], sm);
    for (; known > free; --known) places.erase(std::next(std::find_if(places.rbegin(), places.rend(), on_sm)).base());
    for (; known < free; ++known) {
        auto place = places.end();
        while (place != places.begin() && std::prev(place)->first > at) --place;
        places.emplace(place, at, sm);
    }
}

void CtaScheduler::cta_finished(std::uint32_t sm, std::uint32_t number, Cycle at) {
    Launch& launch = launches_[number];
    this_activity().set_done(++finished_);
    ++launch.finished;
    launch.span.cta_cycles += at;
    launch.span.end = std::max(launch.span.end, at);
    last_finish_ = std::max(last_finish_, at);
    if (left_out_ != nullptr && finished_ % wave_ == 0) wave_ends_.push_back(at + *left_out_);
    take(launch, sm, -1);
    taken_[sm].since = std::max(taken_[sm].since, at);
    if (launch.finished == launch.ctas) ended(number, launch.span.end);
    for (Partition& partition : partitions_) match_places(partition, sm, at);
    if (waiting() != 0) wake(std::max({at, pace_.free_at(), clock().now() + 1}));
}

void CtaScheduler::cta_triggered(std::uint32_t number, Cycle at) {
    Launch& launch = launches_[number];
    if (++launch.triggered != launch.ctas) return;
    for (const std::uint32_t dependent : launch.dependents) {
        Launch& next = launches_[dependent];
        if (next.order.programmatic && next.order.after.back() == number && --next.waits == 0)
            make_ready(dependent, std::max(at + next.order.gap, clock().now() + 1));
    }
}

/// Others that waited for this launch are ready, or go on.
void CtaScheduler::ended(std::uint32_t number, Cycle at) {
    for (const std::uint32_t dependent : launches_[number].dependents) {
        Launch& next = launches_[dependent];
        if (next.order.programmatic && next.order.after.back() == number) {
            const Cycle release = std::max(at + next.order.flush_gap, clock().now() + config_.launch.cta_latency);
            for (CtaReceiver* const receiver : receivers_) receiver->release_dependents(dependent, release);
        } else if (--next.waits == 0) {
            make_ready(dependent, std::max(at + next.order.gap, clock().now() + 1));
        }
    }
}

void CtaScheduler::skip(std::uint64_t count) {
    Launch& launch = launches_.front();
    launch.handed_out += count;
    launch.finished += count;
    handed_out_ += count;
    finished_ += count;
    choose_launch(partitions_.front(), clock().now());
}

std::vector<LaunchSpan> CtaScheduler::spans() const {
    std::vector<LaunchSpan> spans;
    for (const Launch& launch : launches_) {
        spans.push_back(launch.span);
        spans.back().ctas = launch.finished;
    }
    return spans;
}

std::pair<Cycle, std::uint32_t> CtaScheduler::next_cluster(const Partition& partition) const {
    std::vector<unsigned> free(gpc_of_sm_.size());  // by GPC
    for (const auto& [at, sm] : partition.places) {
        const std::uint32_t gpc = gpc_of_sm_[sm];
        if (++free[gpc] == launches_[partition.current].cluster_size) return {at, gpc};
    }
    return {kNever, 0};
}

Cycle CtaScheduler::next_place(const Partition& partition) const {
    if (partition.current == kNone) return kNever;
    const unsigned size = launches_[partition.current].cluster_size;
    if (partition.places.size() < size) return kNever;
    const Cycle place = size == 1 ? partition.places.front().first : next_cluster(partition).first;
    return place == kNever ? kNever : std::max(place, pace_.free_at());
}

Cycle CtaScheduler::next() const {
    Cycle next = arrivals_.empty() ? kNever : arrivals_.front().first;
    for (const Partition& partition : partitions_) next = std::min(next, next_place(partition));
    return next;
}

bool CtaScheduler::can_act(Cycle now) const {
    return next() <= now;
}

Cycle CtaScheduler::tick(Cycle now) {
    for (Cycle at = next(); at <= now; at = next()) {
        if (!arrivals_.empty() && arrivals_.front().first <= at) {
            come(at);
            continue;
        }
        const auto first = std::find_if(partitions_.begin(), partitions_.end(),
                                        [&](const Partition& partition) { return next_place(partition) == at; });
        Launch& launch = launches_[first->current];
        if (launch.cluster_size > 1) {
            start_cluster(*first, at);
        } else {
            const std::uint32_t sm = first->places.front().second;
            first->places.pop_front();
            start(launch, launch.block(launch.handed_out), sm, at, {});
        }
        if (!launch.waits_for_places()) choose_launch(*first, at);
    }
    return next();
}

void CtaScheduler::start(Launch& launch, std::uint64_t index, std::uint32_t sm, Cycle at, ClusterPlace place) {
    pace_.take(at, fine(config_.launch.cta_interval));
    take(launch, sm, 1);
    if (launch.handed_out++ == 0) launch.span.begin = at;
    ++handed_out_;
    launch.span.cta_cycles -= at;
    for (std::uint32_t other = 0; partitions_.size() > 1 && other < partitions_.size(); ++other)
        if (other != launch.partition) match_places(partitions_[other], sm, at);
    receivers_[sm]->start_cta({static_cast<std::uint32_t>(&launch - launches_.data()), index},
                              at + config_.launch.cta_latency, std::move(place));
}

// The first free places of a GPC, on as many different SMs as possible. At least as many are free.
std::vector<std::size_t> CtaScheduler::choose_places(const Partition& partition, Cycle now, std::uint32_t gpc) const {
    const unsigned size = launches_[partition.current].cluster_size;
    const std::deque<Place>& places = partition.places;
    std::vector<std::size_t> chosen, others;
    std::vector<bool> taken(receivers_.size());
    for (std::size_t i = 0; i < places.size() && places[i].first <= now && chosen.size() < size; ++i) {
        const std::uint32_t sm = places[i].second;
        if (gpc_of_sm_[sm] != gpc) continue;
        (taken[sm] ? others : chosen).push_back(i);
        taken[sm] = true;
    }
    for (std::size_t i = 0; chosen.size() < size; ++i) chosen.push_back(others[i]);
    std::sort(chosen.begin(), chosen.end());
    return chosen;
}

void CtaScheduler::start_cluster(Partition& partition, Cycle now) {
    Launch& launch = launches_[partition.current];
    std::deque<Place>& places = partition.places;
    const std::vector<std::size_t> chosen = choose_places(partition, now, next_cluster(partition).second);
    const auto cluster = std::make_shared<ClusterRun>(*launch.launch);
    for (unsigned rank = 0; rank < launch.cluster_size; ++rank)
        cluster->sms[rank] = static_cast<std::uint16_t>(places[chosen[rank]].second);
    const std::uint64_t number = launch.handed_out / launch.cluster_size;
    for (unsigned rank = 0; rank < launch.cluster_size; ++rank)
        start(launch, ptx::cta_of_cluster(*launch.launch, number, rank), cluster->sms[rank], now, {cluster, rank});
    for (std::size_t i = chosen.size(); i-- > 0;)
        places.erase(places.begin() + static_cast<std::ptrdiff_t>(chosen[i]));
}

}  // namespace heddle::models::gpu
