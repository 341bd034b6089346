#include "sim/report/timeline.h"

#include <array>

namespace heddle::sim {
namespace {

using models::gpu::CycleReason;
using models::gpu::kCycleReasonCount;
using models::gpu::Series;
using models::gpu::SeriesGroup;
using models::gpu::SeriesPoint;

constexpr unsigned kSubCores = 4;
constexpr unsigned kKernels = 0, kLeftOut = 1, kHost = 2, kStreams = 10;  // threads of the device

double ratio(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

/// Per cent of the sub-cores' cycles, by reason.
nlohmann::ordered_json reasons(const SeriesGroup& group) {
    double total = 0;
    for (const std::uint64_t cycles : group.cycles) total += static_cast<double>(cycles);
    nlohmann::ordered_json json;
    for (std::size_t r = 0; r < kCycleReasonCount; ++r)
        json[models::gpu::name_of(static_cast<CycleReason>(r))] =
            100 * ratio(static_cast<double>(group.cycles[r]), total);
    return json;
}

}  // namespace

Timeline::Timeline(const std::string& device) {
    name_process(0, device);
    name_thread(kKernels, "kernels");
}

void Timeline::name_thread(unsigned thread, const std::string& name) {
    events_.push_back(
        {{"ph", "M"}, {"pid", 0}, {"tid", thread}, {"name", "thread_name"}, {"args", {{"name", name}}}});
}

void Timeline::name_process(unsigned process, const std::string& name) {
    events_.push_back({{"ph", "M"}, {"pid", process}, {"name", "process_name"}, {"args", {{"name", name}}}});
}

void Timeline::add_kernel(const std::string& name, const std::string& kind, double start_us, double time_us,
                          Json arguments, std::uint32_t stream) {
    const unsigned thread = stream == 0 ? kKernels : kStreams + stream;
    if (streams_.insert(stream).second) name_thread(thread, "stream " + std::to_string(stream));
    events_.push_back({{"ph", "X"},
                       {"cat", kind},
                       {"name", name},
                       {"pid", 0},
                       {"tid", thread},
                       {"ts", start_us},
                       {"dur", time_us},
                       {"args", std::move(arguments)}});
}

void Timeline::add_launch(const std::string& name, double start_us, double time_us) {
    if (!has_host_) name_thread(kHost, "host");
    has_host_ = true;
    events_.push_back({{"ph", "X"},
                       {"cat", "host"},
                       {"name", name},
                       {"pid", 0},
                       {"tid", kHost},
                       {"ts", start_us},
                       {"dur", time_us},
                       {"args", Json::object()}});
}

void Timeline::counter(unsigned process, const char* name, double at_us, Json values) {
    events_.push_back(
        {{"ph", "C"}, {"pid", process}, {"name", name}, {"ts", at_us}, {"args", std::move(values)}});
}

void Timeline::add_point(const Series& series, const SeriesPoint& point, double at_us, double microseconds) {
    const double bytes_per_sector = 32, seconds = microseconds * 1e-6;
    const double loads = static_cast<double>(point.l2_load_sectors);
    counter(0, "L2 hit rate", at_us, {{"%", 100 * ratio(static_cast<double>(point.l2_hit_sectors), loads)}});
    counter(0, "L2 traffic", at_us,
            {{"GB/s", ratio(static_cast<double>(point.l2_sectors) * bytes_per_sector, seconds) / 1e9}});
    counter(0, "DRAM traffic", at_us,
            {{"GB/s", ratio(static_cast<double>(point.dram_bytes), seconds) / 1e9}});
    counter(0, "power", at_us, {{"W", ratio(point.energy, seconds)}});
    const auto cycles = static_cast<double>(point.end - point.begin);
    for (std::size_t g = 0; g < point.groups.size(); ++g) {
        const SeriesGroup& group = point.groups[g];
        const double sm_cycles = cycles * series.group_sms[g];
        const auto process = static_cast<unsigned>(g + 1);
        counter(process, "instructions per cycle and SM", at_us,
                {{"issued", ratio(static_cast<double>(group.instructions), sm_cycles)}});
        counter(process, "tensor cores", at_us,
                {{"%", 100 * ratio(group.tensor_cycles, sm_cycles * kSubCores)}});
        counter(process, "sub-core cycles, %", at_us, reasons(group));
    }
}

void Timeline::add_zeros(const Series& series, double at_us) {
    SeriesPoint nothing;
    nothing.groups.resize(series.group_sms.size());
    add_point(series, nothing, at_us, 0);
}

void Timeline::add_series(const Series& series, double start_us) {
    if (series.points.empty()) return;
    if (!has_groups_) {
        const char* const what = series.by_sm ? "SM " : "GPC ";
        for (std::size_t g = 0; g < series.group_sms.size(); ++g) {
            name_process(static_cast<unsigned>(g + 1),
                         what + std::to_string(g) +
                             (series.by_sm ? "" : ": " + std::to_string(series.group_sms[g]) + " SMs"));
        }
        has_groups_ = true;
    }
    const auto time = [&](models::Cycle cycle) {
        return start_us + static_cast<double>(series.start + cycle) / series.clock * 1e6;
    };
    for (std::size_t i = 0; i < series.points.size(); ++i) {
        const SeriesPoint& point = series.points[i];
        const double begin = time(point.begin), end = time(point.end);
        add_point(series, point, begin, end - begin);
        const bool last = i + 1 == series.points.size();
        if (!last && series.points[i + 1].begin == point.end) continue;
        add_zeros(series, end);
        if (last) continue;
        events_.push_back({{"ph", "X"},
                           {"cat", "sampling"},
                           {"name", "left out by --sample"},
                           {"pid", 0},
                           {"tid", kLeftOut},
                           {"ts", end},
                           {"dur", time(series.points[i + 1].begin) - end},
                           {"args", Json::object()}});
    }
}

std::string Timeline::text(const Json& other_data) const {
    Json json;
    json["displayTimeUnit"] = "ns";
    json["otherData"] = other_data;
    json["traceEvents"] = events_;
    return json.dump(0, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace heddle::sim
