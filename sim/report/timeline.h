// timeline.json in the Chrome trace format, which Perfetto and chrome://tracing open.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "models/gpu/kernel_result.h"

namespace heddle::sim {

/// Collects a device's kernels as slices and their time series as counter tracks: a process for the device
/// (kernels; L2 hit rate, L2 and DRAM traffic, power) and one for each GPC or SM (instructions per cycle and
/// SM, tensor cores at work, sub-core cycles by reason).
class Timeline {
  public:
    using Json = nlohmann::ordered_json;

    explicit Timeline(const std::string& device);
    void add_kernel(const std::string& name, const std::string& kind, double start_us, double time_us,
                    Json arguments);
    /// `start_us`: when the kernel was launched. What a sampled run left out shows as slices of a thread of
    /// its own and as counters at zero.
    void add_series(const models::gpu::Series& series, double start_us);
    /// The whole file.
    std::string text(const Json& other_data) const;

  private:
    void name_process(unsigned process, const std::string& name);
    void counter(unsigned process, const char* name, double at_us, Json values);
    void add_point(const models::gpu::Series& series, const models::gpu::SeriesPoint& point, double at_us,
                   double microseconds);
    void add_zeros(const models::gpu::Series& series, double at_us);

    Json events_ = Json::array();
    bool has_groups_ = false;
};

}  // namespace heddle::sim
