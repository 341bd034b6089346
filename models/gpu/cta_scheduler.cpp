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
    current_ = kNone;
    queue_.clear();
    arrivals_.clear();
    places_.clear();
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
        if (!launch.order.sms.empty()) {
            launch.allowed.resize(receivers_.size());
            for (const std::uint32_t sm : launch.order.sms) launch.allowed.at(sm) = true;
        }
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

std::uint64_t CtaScheduler::places_of_wave() const {
    const unsigned size = launches_.front().cluster_size;
    if (size == 1) return places_.size();
    std::vector<std::uint64_t> by_gpc(gpc_of_sm_.size());
    for (const auto& [at, sm] : places_) ++by_gpc[gpc_of_sm_[sm]];
    std::uint64_t wave = 0;
    for (const std::uint64_t places_of_gpc : by_gpc) wave += places_of_gpc / size * size;
    return wave;
}

/// CTAs of the launch for which an SM has room.
unsigned CtaScheduler::room(const Launch& launch, std::uint32_t sm) const {
    if (!launch.allowed.empty() && !launch.allowed[sm]) return 0;
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
        const auto behind = std::find_if(queue_.begin(), queue_.end(), [&](std::uint32_t other) {
            return launches_[other].order.priority > launches_[number].order.priority;
        });
        queue_.insert(behind, number);
    }
    choose_launch(now);
}

/// The first of the queue, and the places that it may fill: of SMs with the most room first.
void CtaScheduler::choose_launch(Cycle now) {
    while (!queue_.empty() && !launches_[queue_.front()].waits_for_places()) queue_.pop_front();
    const std::uint32_t first = queue_.empty() ? kNone : queue_.front();
    if (first == current_) return;
    current_ = first;
    places_.clear();
    if (current_ == kNone) return;
    std::vector<unsigned> rooms(receivers_.size());
    for (std::uint32_t sm = 0; sm < rooms.size(); ++sm) rooms[sm] = room(launches_[current_], sm);
    for (unsigned level = *std::max_element(rooms.begin(), rooms.end()); level != 0; --level) {
        for (std::uint32_t sm = 0; sm < rooms.size(); ++sm)
            if (rooms[sm] >= level) places_.emplace_back(std::max(now, taken_[sm].since), sm);
    }
    std::stable_sort(places_.begin(), places_.end(),
                     [](const Place& a, const Place& b) { return a.first < b.first; });
}

// Kept in order of time; SMs report at the ends of windows, so the place is near the end.
void CtaScheduler::add_place(Cycle at, std::uint32_t sm) {
    auto place = places_.end();
    while (place != places_.begin() && std::prev(place)->first > at) --place;
    places_.emplace(place, at, sm);
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
    if (current_ == kNone) return;
    const auto known = std::count_if(places_.begin(), places_.end(), [sm](const Place& place) { return place.second == sm; });
    const unsigned now_free = room(launches_[current_], sm);
    for (auto i = static_cast<unsigned>(known); i < now_free; ++i) add_place(at, sm);
    wake(std::max({at, pace_.free_at(), clock().now() + 1}));
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
    choose_launch(clock().now());
}

std::vector<LaunchSpan> CtaScheduler::spans() const {
    std::vector<LaunchSpan> spans;
    for (const Launch& launch : launches_) {
        spans.push_back(launch.span);
        spans.back().ctas = launch.finished;
    }
    return spans;
}

std::pair<Cycle, std::uint32_t> CtaScheduler::next_cluster() const {
    std::vector<unsigned> free(gpc_of_sm_.size());  // by GPC
    for (const auto& [at, sm] : places_) {
        const std::uint32_t gpc = gpc_of_sm_[sm];
        if (++free[gpc] == launches_[current_].cluster_size) return {at, gpc};
    }
    return {kNever, 0};
}

Cycle CtaScheduler::next_place() const {
    if (current_ == kNone || places_.size() < launches_[current_].cluster_size) return kNever;
    const Cycle place = launches_[current_].cluster_size == 1 ? places_.front().first : next_cluster().first;
    return place == kNever ? kNever : std::max(place, pace_.free_at());
}

Cycle CtaScheduler::next() const {
    return std::min(next_place(), arrivals_.empty() ? kNever : arrivals_.front().first);
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
        Launch& launch = launches_[current_];
        if (launch.cluster_size > 1) {
            start_cluster(at);
        } else {
            const std::uint32_t sm = places_.front().second;
            places_.pop_front();
            start(launch, launch.block(launch.handed_out), sm, at, {});
        }
        if (!launch.waits_for_places()) choose_launch(at);
    }
    return next();
}

void CtaScheduler::start(Launch& launch, std::uint64_t index, std::uint32_t sm, Cycle at, ClusterPlace place) {
    pace_.take(at, fine(config_.launch.cta_interval));
    take(launch, sm, 1);
    if (launch.handed_out++ == 0) launch.span.begin = at;
    ++handed_out_;
    launch.span.cta_cycles -= at;
    receivers_[sm]->start_cta({static_cast<std::uint32_t>(&launch - launches_.data()), index},
                              at + config_.launch.cta_latency, std::move(place));
}

// The first free places of a GPC, on as many different SMs as possible. At least as many are free.
std::vector<std::size_t> CtaScheduler::choose_places(Cycle now, std::uint32_t gpc) const {
    const unsigned size = launches_[current_].cluster_size;
    std::vector<std::size_t> chosen, others;
    std::vector<bool> taken(receivers_.size());
    for (std::size_t i = 0; i < places_.size() && places_[i].first <= now && chosen.size() < size; ++i) {
        const std::uint32_t sm = places_[i].second;
        if (gpc_of_sm_[sm] != gpc) continue;
        (taken[sm] ? others : chosen).push_back(i);
        taken[sm] = true;
    }
    for (std::size_t i = 0; chosen.size() < size; ++i) chosen.push_back(others[i]);
    std::sort(chosen.begin(), chosen.end());
    return chosen;
}

void CtaScheduler::start_cluster(Cycle now) {
    Launch& launch = launches_[current_];
    const std::vector<std::size_t> chosen = choose_places(now, next_cluster().second);
    const auto cluster = std::make_shared<ClusterRun>(*launch.launch);
    for (unsigned rank = 0; rank < launch.cluster_size; ++rank)
        cluster->sms[rank] = static_cast<std::uint16_t>(places_[chosen[rank]].second);
    const std::uint64_t number = launch.handed_out / launch.cluster_size;
    for (unsigned rank = 0; rank < launch.cluster_size; ++rank)
        start(launch, ptx::cta_of_cluster(*launch.launch, number, rank), places_[chosen[rank]].second, now,
              {cluster, rank});
    for (std::size_t i = chosen.size(); i-- > 0;)
        places_.erase(places_.begin() + static_cast<std::ptrdiff_t>(chosen[i]));
}

}  // namespace heddle::models::gpu
