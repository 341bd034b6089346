#include "models/gpu/settling.h"

#include <algorithm>
#include <cmath>

namespace heddle::models::gpu {

double relative_spread(const double* values, std::size_t count) {
    const auto [low, high] = std::minmax_element(values, values + count);
    return (*high - *low) / *high;
}

double mean_of(const double* values, std::size_t count) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += values[i];
    return sum / static_cast<double>(count);
}

/// Relative standard error of the mean.
double error_of_mean(const double* values, std::size_t count) {
    const double mean = mean_of(values, count);
    double squares = 0;
    for (std::size_t i = 0; i < count; ++i) squares += (values[i] - mean) * (values[i] - mean);
    const auto n = static_cast<double>(count);
    return std::sqrt(squares / (n - 1) / n) / mean;
}

namespace {

/// Time per turn over all of them: what one batch is late the next makes up for.
double time_per_turn(const std::vector<Batch>& batches) {
    double time = 0, turns = 0;
    for (const Batch& batch : batches) {
        time += batch.time;
        turns += batch.turns;
    }
    return time / turns;
}

/// Times per turn of groups of `in_group` batches, the last groups.
std::vector<double> times_of_groups(const std::vector<Batch>& batches, std::size_t in_group) {
    std::vector<double> times;
    for (std::size_t end = batches.size(); end >= in_group; end -= in_group) {
        const auto last = batches.begin() + static_cast<std::ptrdiff_t>(end);
        times.push_back(time_per_turn({last - static_cast<std::ptrdiff_t>(in_group), last}));
    }
    std::reverse(times.begin(), times.end());
    return times;
}

/// Relative standard error of time_per_turn().
double error_of(const std::vector<Batch>& batches) {
    constexpr std::size_t kGroups = 5;
    const std::vector<double> single = times_of_groups(batches, 1);
    const double independent = error_of_mean(single.data(), single.size());
    if (batches.size() < 2 * kGroups) return independent;
    // Batches may make up for one another, or not: longer ones tell.
    const std::vector<double> grouped = times_of_groups(batches, batches.size() / kGroups);
    return std::max(independent / 2, error_of_mean(grouped.data(), grouped.size()));
}

/// The last one is unlike the others: something begins.
bool stands_out(const std::vector<Batch>& batches) {
    constexpr double kFar = 3, kLeast = 0.004;
    if (batches.size() < 2 * kFew) return false;
    const std::vector<double> times = times_of_groups(batches, 1);
    const std::size_t before = times.size() - 1;
    const double scatter = error_of_mean(times.data(), before) * std::sqrt(static_cast<double>(before));
    return std::abs(times.back() / mean_of(times.data(), before) - 1) > kFar * std::max(kLeast, scatter);
}

}  // namespace

Settled settled(const std::vector<Batch>& batches) {
    if (batches.size() < 2) return {};
    const Settled result{time_per_turn(batches), error_of(batches), batches.size()};
    const std::vector<double> single = times_of_groups(batches, 1);
    if (batches.size() == 2) return relative_spread(single.data(), 2) < kVeryAlike ? result : Settled{};
    if (relative_spread(single.data() + single.size() - kFew, kFew) < kAlike && result.error < kKnown)
        return result;
    if (batches.size() < 2 * kFew - 1 || result.error >= kKnown || stands_out(batches)) return {};
    const std::vector<double> halves = times_of_groups(batches, batches.size() / 2);
    return std::abs(halves[0] / halves[1] - 1) < kAlike ? result : Settled{};
}

bool has_trend(const std::vector<Batch>& batches) {
    constexpr double kTrend = 0.003;
    const std::vector<double> times = times_of_groups(batches, 1);
    const std::size_t half = times.size() / 2;
    if (half < kFew) return true;  // not known
    const double *const first = times.data(), *const second = times.data() + times.size() - half;
    const double scatter = std::hypot(error_of_mean(first, half), error_of_mean(second, half));
    return std::abs(mean_of(first, half) / mean_of(second, half) - 1) > std::max(kTrend, 2 * scatter);
}

void LoopTimes::begin_stretch() {
    if (present_.empty()) return;
    if (!goes_on()) earlier_.clear();
    earlier_.insert(earlier_.end(), present_.begin(), present_.end());
    if (earlier_.size() > kMany)
        earlier_.erase(earlier_.begin(), earlier_.end() - static_cast<std::ptrdiff_t>(kMany));
    present_.clear();
}

void LoopTimes::add(const Batch& batch) {
    present_.push_back(batch);
    if (present_.size() > 2 * kMany) present_.erase(present_.begin());
}

/// Of one batch, relative.
double LoopTimes::scatter() const {
    constexpr double kLeast = 0.002;
    const std::vector<Batch>& from = earlier_.size() >= 2 ? earlier_ : present_;
    if (from.size() < 2) return kAlike;
    return std::max(kLeast, error_of(from) * std::sqrt(static_cast<double>(from.size())));
}

bool LoopTimes::goes_on() const {
    if (earlier_.size() < 2 || present_.empty()) return false;
    const auto few = static_cast<double>(present_.size()), many = static_cast<double>(earlier_.size());
    const double allowed = 2 * scatter() * std::sqrt(1 / few + 1 / many);
    return std::abs(time_per_turn(present_) / time_per_turn(earlier_) - 1) <= allowed;
}

Settled LoopTimes::settled(bool latest) const {
    if (goes_on()) {
        std::vector<Batch> all = earlier_;
        all.insert(all.end(), present_.begin(), present_.end());
        const double error = error_of(all);
        if (error < kKnown && !stands_out(all)) return {time_per_turn(all), error, all.size()};
        if (!latest) return {};
    }
    for (auto begin = present_.begin();; begin += (present_.end() - begin) / 2) {
        const std::vector<Batch> batches(begin, present_.end());
        const Settled result = gpu::settled(batches);
        if (!latest || result.used != 0 || batches.size() < 4 * kFew) return result;
    }
}

Settled LoopTimes::before() const {
    if (earlier_.size() < 2) return {};
    const double error = error_of(earlier_);
    return error < kKnown ? Settled{time_per_turn(earlier_), error, earlier_.size()} : Settled{};
}

Settled LoopTimes::present() const {
    if (present_.empty()) return {};
    return {time_per_turn(present_), scatter() / std::sqrt(static_cast<double>(present_.size())),
            present_.size()};
}

}  // namespace heddle::models::gpu
