// timeline.json in the Chrome trace format, which Perfetto and chrome://tracing open.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "models/gpu/kernel_result.h"

namespace heddle::sim {

/// A kernel's averages, for kernels without a series.
struct KernelRates {
    double start_us = 0, end_us = 0;
    /// That add up when kernels run beside each other: "DRAM traffic" {"GB/s"}, by counter and value.
    std::map<std::string, std::map<std::string, double>> sums;
    /// Of which the kernel that started last is shown.
    std::map<std::string, std::map<std::string, double>> shares;
};

/// Collects a device's kernels as slices, what the kernels did as counter tracks, and their time series as
/// finer ones. Processes: the device (kernels, a thread for each stream, the host; traffic, L2, power,
/// clock), its units (a counter for each: what it did, by reason), and, of series, one for each GPC or SM
/// (instructions per cycle and SM, tensor cores at work, sub-core cycles by reason).
///
/// The file keeps to the Trace Event Format: every event has name, ph, pid and, where it has a place in time,
/// ts; slices (X) have dur >= 0 and a tid; counters (C) have numbers as args; metadata (M) name every process
/// and thread and come first; everything else is sorted by ts.
class Timeline {
  public:
    using Json = nlohmann::ordered_json;

    explicit Timeline(const std::string& device);
    /// `stream`: a thread of the device for each.
    void add_kernel(const std::string& name, const std::string& kind, double start_us, double time_us,
                    Json arguments, std::uint32_t stream = 0);
    /// The host's work until it has launched something.
    void add_launch(const std::string& name, double start_us, double time_us);
    void add_rates(KernelRates rates) { rates_.push_back(std::move(rates)); }
    /// `start_us`: when the kernel was launched. What a sampled run left out shows as slices of a thread of
    /// its own and as counters at zero.
    void add_series(const models::gpu::Series& series, double start_us);
    /// A counter of the device that holds from then on.
    void add_counter(const std::string& name, double at_us, const std::string& unit, double value);
    /// The whole file.
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
