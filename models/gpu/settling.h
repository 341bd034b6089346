// Whether a row of measured times has settled: statistics for sampling.
#pragma once

#include <cstddef>
#include <vector>

namespace heddle::models::gpu {

inline constexpr double kAlike = 0.015;      ///< batches whose times differ by less are alike
inline constexpr double kVeryAlike = 0.003;  ///< two that differ by less are enough
inline constexpr double kKnown = 0.01;       ///< error of a mean that is known well
inline constexpr std::size_t kFew = 3;       ///< batches that must be alike
inline constexpr std::size_t kMany = 16;     ///< batches whose mean counts when they scatter, at most

double relative_spread(const double* values, std::size_t count);
double mean_of(const double* values, std::size_t count);
/// Relative standard error of the mean; count: at least 2.
double error_of_mean(const double* values, std::size_t count);

struct Settled {
    double mean = 0, error = 0;  ///< error: relative, of the mean
    std::size_t used = 0;        ///< of the last values; 0: they have not settled
};

/// Whether the last of these times are alike; or, when they scatter, so many that their mean is known well
/// and that they have no trend.
Settled settled(const std::vector<double>& values);

}  // namespace heddle::models::gpu
