#include "models/gpu/cta_scheduler.h"

#include <algorithm>

#include "isa/common/activity.h"
#include "isa/common/error.h"
#include "models/gpu/gpc_layout.h"

namespace heddle::models::gpu {

CtaScheduler::CtaScheduler(const sc_core::sc_module_name& name, ClockDomain& clock,
                           const LaunchConfig& config, std::vector<std::uint32_t> gpc_of_sm)
    : Block(name, clock), sms("sms"), reports("reports"), config_(config), gpc_of_sm_(std::move(gpc_of_sm)) {
    reports.bind(*this);
}

void CtaScheduler::end_of_elaboration() {
    receivers_.clear();
    for (int i = 0; i < sms.size(); ++i) receivers_.push_back(sms[i]);
}

void CtaScheduler::reset() {
    ctas_ = handed_out_ = finished_ = 0;
    last_finish_ = 0;
    left_out_ = nullptr;
    wave_ = 0;
    wave_ends_.clear();
    places_.clear();
    pace_.reset();
}

void CtaScheduler::begin(const ptx::LaunchContext& launch, unsigned per_sm,
                         const std::vector<std::uint64_t>* blocks) {
    launch_ = &launch;
    blocks_ = blocks;
    ctas_ = blocks == nullptr ? launch.grid.count() : blocks->size();
    cluster_size_ = ptx::cluster_size(launch);
    const std::size_t places =
        cluster_size_ == 1 ? receivers_.size() * per_sm : largest_gpc(gpc_of_sm_) * per_sm;
    if (cluster_size_ > places) {
        throw Error("a cluster of " + std::to_string(cluster_size_) +
                        " thread blocks does not fit: a GPC of this GPU holds " + std::to_string(places) +
                        " at once",
                    {}, "use smaller clusters or thread blocks");
    }
    for (unsigned round = 0; round < per_sm; ++round) {
        for (std::uint32_t sm = 0; sm < receivers_.size(); ++sm) places_.emplace_back(1, sm);
    }
    wave_ = places_.size();
    if (cluster_size_ > 1) {
        std::vector<std::uint64_t> by_gpc(gpc_of_sm_.size());
        for (const auto& [at, sm] : places_) ++by_gpc[gpc_of_sm_[sm]];
        wave_ = 0;
        for (const std::uint64_t places_of_gpc : by_gpc)
            wave_ += places_of_gpc / cluster_size_ * cluster_size_;
    }
    wake(1);
}

void CtaScheduler::cta_finished(std::uint32_t sm, Cycle at) {
    this_activity().set_done(++finished_);
    last_finish_ = std::max(last_finish_, at);
    if (left_out_ != nullptr && finished_ % wave_ == 0) wave_ends_.push_back(at + *left_out_);
    // Kept in order of time; SMs report at the ends of windows, so the place is near the end.
    auto place = places_.end();
    while (place != places_.begin() && std::prev(place)->first > at) --place;
    places_.emplace(place, at, sm);
    if (handed_out_ < ctas_) wake(std::max({at, pace_.free_at(), clock().now() + 1}));
}

std::pair<Cycle, std::uint32_t> CtaScheduler::next_cluster() const {
    std::vector<unsigned> free(gpc_of_sm_.size());  // by GPC
    for (const auto& [at, sm] : places_) {
        const std::uint32_t gpc = gpc_of_sm_[sm];
        if (++free[gpc] == cluster_size_) return {at, gpc};
    }
    return {kNever, 0};
}

Cycle CtaScheduler::next() const {
    if (handed_out_ == ctas_ || places_.size() < cluster_size_) return kNever;
    const Cycle place = cluster_size_ == 1 ? places_.front().first : next_cluster().first;
    return place == kNever ? kNever : std::max(place, pace_.free_at());
}

bool CtaScheduler::can_act(Cycle now) const {
    return next() <= now;
}

Cycle CtaScheduler::tick(Cycle now) {
    for (Cycle at = next(); at <= now; at = next()) {
        if (cluster_size_ > 1) {
            start_cluster(at);
            continue;
        }
        const std::uint32_t sm = places_.front().second;
        places_.pop_front();
        pace_.take(at, fine(config_.cta_interval));
        receivers_[sm]->start_cta(block(handed_out_++), at + config_.cta_latency, {});
    }
    return next();
}

// The first free places of a GPC, on as many different SMs as possible. At least cluster_size_ are free.
std::vector<std::size_t> CtaScheduler::choose_places(Cycle now, std::uint32_t gpc) const {
    std::vector<std::size_t> chosen, others;
    std::vector<bool> taken(receivers_.size());
    for (std::size_t i = 0; i < places_.size() && places_[i].first <= now && chosen.size() < cluster_size_;
         ++i) {
        const std::uint32_t sm = places_[i].second;
        if (gpc_of_sm_[sm] != gpc) continue;
        (taken[sm] ? others : chosen).push_back(i);
        taken[sm] = true;
    }
    for (std::size_t i = 0; chosen.size() < cluster_size_; ++i) chosen.push_back(others[i]);
    std::sort(chosen.begin(), chosen.end());
    return chosen;
}

void CtaScheduler::start_cluster(Cycle now) {
    const std::vector<std::size_t> chosen = choose_places(now, next_cluster().second);
    const auto cluster = std::make_shared<ClusterRun>(*launch_);
    for (unsigned rank = 0; rank < cluster_size_; ++rank)
        cluster->sms[rank] = static_cast<std::uint16_t>(places_[chosen[rank]].second);
    const std::uint64_t number = handed_out_ / cluster_size_;
    for (unsigned rank = 0; rank < cluster_size_; ++rank) {
        pace_.take(now, fine(config_.cta_interval));
        receivers_[places_[chosen[rank]].second]->start_cta(ptx::cta_of_cluster(*launch_, number, rank),
                                                            now + config_.cta_latency, {cluster, rank});
    }
    for (std::size_t i = chosen.size(); i-- > 0;)
        places_.erase(places_.begin() + static_cast<std::ptrdiff_t>(chosen[i]));
    handed_out_ += cluster_size_;
}

}  // namespace heddle::models::gpu
