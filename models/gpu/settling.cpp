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

Settled settled(const std::vector<double>& values) {
    if (values.size() < kFew) return {};
    const double* const last = values.data() + values.size() - kFew;
    if (relative_spread(last, kFew) < kAlike) return {mean_of(last, kFew), error_of_mean(last, kFew), kFew};
    for (std::size_t count = std::min(kMany, values.size()); count >= 2 * kFew - 1; --count) {
        const double* const first = values.data() + values.size() - count;
        const std::size_t half = count / 2;
        const double trend = mean_of(first, half) / mean_of(first + count - half, half) - 1;
        const double error = error_of_mean(first, count);
        if (std::abs(trend) < kAlike && error < kKnown) return {mean_of(first, count), error, count};
    }
    return {};
}

}  // namespace heddle::models::gpu
