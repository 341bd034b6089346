#include "sim/run/time/unclaimed_jobs.h"

#include <cstdlib>
#include <utility>

#include "isa/common/error.h"

namespace heddle::sim {
namespace {

/// A claim is renewed so many times within the patience of others.
constexpr int kRenewals = 10;
constexpr std::chrono::seconds kSayAgain{1};

}  // namespace

std::chrono::milliseconds UnclaimedJobs::claim_patience() {
    const char* const text = std::getenv("HEDDLE_CLAIM_SECONDS");
    if (text == nullptr) return std::chrono::seconds(30);
    char* end = nullptr;
    const double seconds = std::strtod(text, &end);
    if (end == text || *end != 0 || !(seconds >= 0.1 && seconds <= 1e6))
        throw Error("`" + std::string(text) + "` is no time", {"HEDDLE_CLAIM_SECONDS", 0, ""},
                    "give seconds: 30");
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

UnclaimedJobs::UnclaimedJobs(std::size_t count, const KernelCache& cache, Functions functions,
                             std::chrono::milliseconds patience)
    : cache_(cache), functions_(std::move(functions)), patience_(patience) {
    for (std::size_t job = 0; job < count; ++job) open_.push_back(job);
}

std::optional<std::size_t> UnclaimedJobs::next() {
    for (auto job = open_.begin(); job != open_.end();) {
        std::optional<KernelClaim> claim = claim_of(*job);
        if (!claim) {
            ++job;
            continue;
        }
        const std::size_t unclaimed = *job;
        job = open_.erase(job);
        waited_.erase(unclaimed);
        if (functions_.take(unclaimed)) continue;
        claims_[unclaimed] = {*std::move(claim), Clock::now()};
        waiting_.reset();
        waiting_text_.clear();
        return unclaimed;
    }
    say_that_it_waits();
    return {};
}

std::optional<KernelClaim> UnclaimedJobs::claim_of(std::size_t job) {
    const std::string key = functions_.key(job);
    std::optional<KernelClaim> claim = cache_.claim(key);
    if (claim) return claim;
    const std::optional<std::int64_t> renewed = cache_.claim_renewed(key);
    if (!renewed) return {};  // let go of just now: the next time it is free
    const Clock::time_point now = Clock::now();
    const auto [waited, first] = waited_.try_emplace(job, Waited{*renewed, now});
    if (waited->second.renewed != *renewed) waited->second = {*renewed, now};
    if (now - waited->second.since < patience_) return {};
    return cache_.take_over(key, *renewed);
}

void UnclaimedJobs::say_that_it_waits() {
    const Clock::time_point now = Clock::now();
    if (!open_.empty() && waiting_ != nullptr && now - said_ < kSayAgain) return;
    said_ = now;
    const std::string holder = open_.empty() ? "" : cache_.claim_holder(functions_.key(open_.front()));
    const std::string text =
        holder.empty() ? "" : "waiting for " + holder + " to simulate " + functions_.name(open_.front());
    if (text == waiting_text_) return;
    waiting_text_ = text;
    waiting_.reset();
    if (!text.empty()) waiting_ = std::make_unique<Doing>(text);
}

void UnclaimedJobs::still_running(std::size_t job) {
    const auto claimed = claims_.find(job);
    const Clock::time_point now = Clock::now();
    if (claimed == claims_.end() || now - claimed->second.renewed < patience_ / kRenewals) return;
    claimed->second.claim.renew();
    claimed->second.renewed = now;
}

}  // namespace heddle::sim
