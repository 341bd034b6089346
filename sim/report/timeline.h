// timeline.json in the Chrome trace format, which Perfetto and chrome://tracing open.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
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
    /// `stream`: a thread of the device for each.
    void add_kernel(const std::string& name, const std::string& kind, double start_us, double time_us,
                    Json arguments, std::uint32_t stream = 0);
    /// The host's work until it has launched something.
    void add_launch(const std::string& name, double start_us, double time_us);
    /// `start_us`: when the kernel was launched. What a sampled run left out shows as slices of a thread of
    /// its own and as counters at zero.
    void add_series(const models::gpu::Series& series, double start_us);
    /// The whole file.
    std::string text(const Json& other_data) const;

  private:
    void name_thread(unsigned thread, const std::string& name);
    void name_process(unsigned process, const std::string& name);
    void counter(unsigned process, const char* name, double at_us, Json values);
    void add_point(const models::gpu::Series& series, const models::gpu::SeriesPoint& point, double at_us,
                   double microseconds);
    void add_zeros(const models::gpu::Series& series, double at_us);

    Json events_ = Json::array();
    bool has_groups_ = false, has_host_ = false;
    std::set<std::uint32_t> streams_{0};
};

}  // namespace heddle::sim
