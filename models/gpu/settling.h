// Whether a row of measured times has settled: statistics for sampling.
#pragma once

#include <cstddef>
#include <vector>

namespace heddle::models::gpu {

inline constexpr double kAlike = 0.015;      ///< batches whose times differ by less are alike
inline constexpr double kVeryAlike = 0.004;  ///< two that differ by less are enough
inline constexpr double kKnown = 0.006;      ///< error of a mean that is known well
inline constexpr std::size_t kFew = 3;       ///< batches that must be alike
inline constexpr std::size_t kMany = 48;     ///< batches whose mean counts when they scatter, at most

/// The difference of the largest and the smallest value, divided by the largest.
double relative_spread(const double* values, std::size_t count);
/// The arithmetic mean.
double mean_of(const double* values, std::size_t count);
/// Relative standard error of the mean; count: at least 2.
double error_of_mean(const double* values, std::size_t count);

/// The mean of a row of times, if they have settled.
struct Settled {
    double mean = 0, error = 0;  ///< error: relative, of the mean
    std::size_t used = 0;        ///< of the last values; 0: they have not settled
};

/// Some turns of a loop, or some waves of thread blocks, and how long they took.
struct Batch {
    double time = 0, turns = 0;  ///< cycles for all turns of the batch, and their number
};
/// Whether these times are alike; or, when they scatter, so many that their mean is known well and that they
/// have no trend.
Settled settled(const std::vector<Batch>& batches);

/// Whether the later half takes another time for a turn than the first one: by more than 0.3 %, and than its
/// scatter explains; true also of fewer than 2 kFew. Thread blocks that begin together come out of step over
/// dozens of waves, and little by little.
bool has_trend(const std::vector<Batch>& batches);

/// Times that one loop takes for a turn, batch after batch, in stretches: between two of them something was
/// left out, or the loop was left and entered again.
class LoopTimes {
  public:
    /// The batches that follow belong to a new stretch.
    void begin_stretch();
    /// A batch of the present stretch.
    void add(const Batch& batch);
    /// The mean of the present stretch; or of all stretches, where the present one agrees with those before
    /// it. With `latest`, where neither has settled, that of the later half of the present stretch, of the
    /// half of that, and so on: the beginning of a visit may wait for memory.
    Settled settled(bool latest) const;
    /// The mean of the stretches before the present one.
    Settled before() const;
    /// The mean of the present stretch alone; `used` is 0 when it has no batch.
    Settled present() const;

  private:
    bool goes_on() const;
    double scatter() const;

    std::vector<Batch> earlier_, present_;
};

}  // namespace heddle::models::gpu
