// What kernels of channel statistics write of each channel: its mean, 1 / standard deviation, and the running
// statistics that batch norm keeps.
#pragma once

#include <vector>

#include "workloads/kernels/welford.h"

namespace heddle::kernels {

/// Emits the code that writes these statistics.
class ChannelStatisticsOutput {
  public:
    /// Declares the pointers mean and rstd, with `running` also running_mean, running_variance, new_mean and
    /// new_variance (f32 of each channel).
    ChannelStatisticsOutput(PtxWriter& w, bool running);
    /// Declares epsilon, momentum and unbias (f32; unbias = n / (n - 1)).
    void declare_numbers();
    struct Deviation {
        Reg variance, rstd;  ///< rstd: 1 / standard deviation
    };
    /// Reduces over all elements of a channel.
    Deviation deviation(const Welford& all);
    /// Stores the statistics of a channel (b32). The running variance is that of a sample, so it is
    /// multiplied by unbias.
    void store(const Reg& mean, const Deviation& deviation, const Reg& channel);
    void store(const Welford& all, const Reg& channel) { store(all.mean, deviation(all), channel); }

  private:
    PtxWriter& w_;
    Reg mean_, rstd_;
    std::vector<Reg> running_;  ///< old mean, old variance, new mean, new variance; or none
    Reg epsilon_, momentum_, unbias_;
};

}  // namespace heddle::kernels
