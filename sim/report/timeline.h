// timeline.json in the Chrome trace format, which Perfetto and chrome://tracing open.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "models/gpu/kernel_result.h"

namespace heddle::sim {

/// The averages of one kernel, for kernels without a series.
struct KernelRates {
    double start_us = 0, end_us = 0;
    /// Values that add up when kernels run concurrently, such as "DRAM traffic" {"GB/s"}: by counter, then by
    /// value.
    std::map<std::string, std::map<std::string, double>> sums;
    /// Values of which only those of the kernel that started last are shown.
    std::map<std::string, std::map<std::string, double>> shares;
};

/// Collects a device's kernels as slices, their averages as counter tracks, and their time series as finer
/// counter tracks. The file has these processes: the device (kernels, with a thread for each stream and the
/// host; traffic, L2, power, clock), its units (a counter for each with its cycles by reason), and, for
/// series, one for each GPC or SM (instructions per cycle and SM, utilisation of the tensor cores, sub-core
/// cycles by reason).
///
/// The file follows the Trace Event Format: every event has name, ph, pid and, where it has a place in time,
/// ts; slices (X) have dur >= 0 and a tid; counters (C) have numbers as args; metadata (M) name every process
/// and thread and come first; everything else is sorted by ts.
class Timeline {
  public:
    using Json = nlohmann::ordered_json;

    explicit Timeline(const std::string& device);
    /// Adds a kernel as a slice of its stream's thread; `arguments` is shown with it.
    void add_kernel(const std::string& name, const std::string& kind, double start_us, double time_us,
                    Json arguments, std::uint32_t stream = 0);
    /// Adds the host's work for one launch as a slice of the host's thread.
    void add_launch(const std::string& name, double start_us, double time_us);
    /// Adds the averages of a kernel, which text() combines with those of concurrent kernels.
    void add_rates(KernelRates rates) { rates_.push_back(std::move(rates)); }
    /// Adds the series of a kernel that was launched at `start_us`. Intervals that a sampled run did not
    /// simulate appear as slices of a separate thread and as counters at zero.
    void add_series(const models::gpu::Series& series, double start_us);
    /// Adds a counter of the device that has this value from `at_us` on.
    void add_counter(const std::string& name, double at_us, const std::string& unit, double value);
    /// Returns the whole file. `other_data` becomes its "otherData".
    std::string text(const Json& other_data) const;

  private:
    void name_thread(unsigned thread, const std::string& name);
    void name_process(unsigned process, const std::string& name);
    static Json counter(unsigned process, const std::string& name, double at_us, Json values);
    void add_point(const models::gpu::Series& series, const models::gpu::SeriesPoint& point, double at_us,
                   double microseconds);
    void add_zeros(const models::gpu::Series& series, double at_us);
    Json rate_events() const;

    std::string device_;
    Json names_ = Json::array(), events_ = Json::array();
    std::vector<KernelRates> rates_;
    bool has_groups_ = false, has_host_ = false, has_left_out_ = false;
    std::set<std::uint32_t> streams_{0};
};

}  // namespace heddle::sim
