#include "models/gpu/cta_scheduler.h"

#include <algorithm>

namespace heddle::models::gpu {

CtaScheduler::CtaScheduler(const sc_core::sc_module_name& name, ClockDomain& clock,
                           const LaunchConfig& config)
    : Block(name, clock), sms("sms"), reports("reports"), config_(config) {
    reports.bind(*this);
}

void CtaScheduler::end_of_elaboration() {
    receivers_.clear();
    for (int i = 0; i < sms.size(); ++i) receivers_.push_back(sms[i]);
}

void CtaScheduler::reset() {
    ctas_ = handed_out_ = finished_ = 0;
    last_finish_ = 0;
    places_.clear();
    pace_.reset();
}

void CtaScheduler::begin(std::uint64_t ctas, unsigned per_sm) {
    ctas_ = ctas;
    for (unsigned round = 0; round < per_sm; ++round) {
        for (std::uint32_t sm = 0; sm < receivers_.size(); ++sm) places_.emplace_back(1, sm);
    }
    wake(1);
}

void CtaScheduler::cta_finished(std::uint32_t sm, Cycle at) {
    ++finished_;
    last_finish_ = std::max(last_finish_, at);
    // Kept in order of time; SMs report at most a few cycles ahead, so the place is near the end.
    auto place = places_.end();
    while (place != places_.begin() && std::prev(place)->first > at) --place;
    places_.emplace(place, at, sm);
    if (handed_out_ < ctas_) wake(std::max(at, pace_.free_at()));
}

Cycle CtaScheduler::next() const {
    if (handed_out_ == ctas_ || places_.empty()) return kNever;
    return std::max(places_.front().first, pace_.free_at());
}

bool CtaScheduler::can_act(Cycle now) const {
    return next() <= now;
}

Cycle CtaScheduler::tick(Cycle now) {
    while (next() <= now) {
        const std::uint32_t sm = places_.front().second;
        places_.pop_front();
        pace_.take(now, fine(config_.cta_interval));
        receivers_[sm]->start_cta(handed_out_++, now + config_.cta_latency);
    }
    return next();
}

}  // namespace heddle::models::gpu
