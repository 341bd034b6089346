#include "sim/report/timeline.h"

#include <algorithm>

namespace heddle::sim {
namespace {

using models::gpu::CycleReason;
using models::gpu::kCycleReasonCount;
using models::gpu::Series;
using models::gpu::SeriesGroup;
using models::gpu::SeriesPoint;

constexpr unsigned kSubCores = 4;
constexpr unsigned kKernels = 0, kLeftOut = 1, kHost = 2, kStreams = 10;  // threads of the device
constexpr unsigned kUnits = 1'000'000;  // a process; groups of series have numbers from 1

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

Timeline::Timeline(const std::string& device) : device_(device) {
    name_process(0, device);
    name_thread(kKernels, "kernels");
}

void Timeline::name_thread(unsigned thread, const std::string& name) {
    names_.push_back(
        {{"ph", "M"}, {"pid", 0}, {"tid", thread}, {"name", "thread_name"}, {"args", {{"name", name}}}});
}

void Timeline::name_process(unsigned process, const std::string& name) {
    names_.push_back({{"ph", "M"}, {"pid", process}, {"name", "process_name"}, {"args", {{"name", name}}}});
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

Timeline::Json Timeline::counter(unsigned process, const std::string& name, double at_us, Json values) {
    return {{"ph", "C"},    {"pid", process}, {"tid", 0},
            {"name", name}, {"ts", at_us},    {"args", std::move(values)}};
}

void Timeline::add_counter(const std::string& name, double at_us, const std::string& unit, double value) {
    events_.push_back(counter(0, name, at_us, {{unit, value}}));
}

void Timeline::add_point(const Series& series, const SeriesPoint& point, double at_us, double microseconds) {
    const double bytes_per_sector = 32, seconds = microseconds * 1e-6;
    const double loads = static_cast<double>(point.l2_load_sectors);
    const auto add = [&](unsigned process, const char* name, Json values) {
        events_.push_back(counter(process, name, at_us, std::move(values)));
    };
    add(0, "L2 hit rate", {{"%", 100 * ratio(static_cast<double>(point.l2_hit_sectors), loads)}});
    add(0, "L2 traffic",
        {{"GB/s", ratio(static_cast<double>(point.l2_sectors) * bytes_per_sector, seconds) / 1e9}});
    add(0, "DRAM traffic", {{"GB/s", ratio(static_cast<double>(point.dram_bytes), seconds) / 1e9}});
    add(0, "power", {{"W", ratio(point.energy, seconds)}});
    const auto cycles = static_cast<double>(point.end - point.begin);
    for (std::size_t g = 0; g < point.groups.size(); ++g) {
        const SeriesGroup& group = point.groups[g];
        const double sm_cycles = cycles * series.group_sms[g];
        const auto process = static_cast<unsigned>(g + 1);
        add(process, "instructions per cycle and SM",
            {{"issued", ratio(static_cast<double>(group.instructions), sm_cycles)}});
        add(process, "tensor cores", {{"%", 100 * ratio(group.tensor_cycles, sm_cycles * kSubCores)}});
        add(process, "sub-core cycles, %", reasons(group));
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
        if (!has_left_out_) name_thread(kLeftOut, "left out by --sample");
        has_left_out_ = true;
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

Timeline::Json Timeline::rate_events() const {
    struct Edge {
        double at_us;
        bool begins;
        std::size_t kernel;
    };
    std::vector<Edge> edges;
    std::map<std::string, std::map<std::string, double>> zeros;  // every counter's values
    std::set<std::string> of_units;
    for (std::size_t k = 0; k < rates_.size(); ++k) {
        if (!(rates_[k].end_us > rates_[k].start_us)) continue;
        edges.push_back({rates_[k].start_us, true, k});
        edges.push_back({rates_[k].end_us, false, k});
        for (const auto& [name, values] : rates_[k].sums)
            for (const auto& [key, value] : values) zeros[name][key] = 0;
        for (const auto& [name, values] : rates_[k].shares) {
            of_units.insert(name);
            for (const auto& [key, value] : values) zeros[name][key] = 0;
        }
    }
    // Of one moment the ends come first, and one event of each counter remains.
    std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
        return a.at_us != b.at_us ? a.at_us < b.at_us : a.begins < b.begins;
    });
    Json events = Json::array();
    std::map<std::string, std::map<std::string, double>> last;
    std::set<std::size_t> running;
    for (std::size_t e = 0; e < edges.size(); ++e) {
        if (edges[e].begins) {
            running.insert(edges[e].kernel);
        } else {
            running.erase(edges[e].kernel);
        }
        if (e + 1 < edges.size() && edges[e + 1].at_us == edges[e].at_us) continue;
        auto now = zeros;
        for (const std::size_t k : running) {  // in the order of the step: the last to start is the last
            for (const auto& [name, values] : rates_[k].sums)
                for (const auto& [key, value] : values) now[name][key] += value;
            for (const auto& [name, values] : rates_[k].shares) {
                now[name] = zeros[name];
                for (const auto& [key, value] : values) now[name][key] = value;
            }
        }
        for (const auto& [name, values] : now) {
            const auto known = last.find(name);
            if (known != last.end() && known->second == values) continue;
            events.push_back(counter(of_units.contains(name) ? kUnits : 0, name, edges[e].at_us, values));
            last[name] = values;
        }
    }
    return events;
}

std::string Timeline::text(const Json& other_data) const {
    Json json;
    json["displayTimeUnit"] = "ns";
    json["otherData"] = other_data;
    Json events = names_;
    const Json rates = rate_events();
    if (!rates.empty())
        events.push_back({{"ph", "M"},
                          {"pid", kUnits},
                          {"name", "process_name"},
                          {"args", {{"name", "units of " + device_}}}});
    std::vector<const Json*> timed;
    for (const Json& event : rates) timed.push_back(&event);
    for (const Json& event : events_) timed.push_back(&event);  // of one moment a series has the last word
    std::stable_sort(timed.begin(), timed.end(), [](const Json* a, const Json* b) {
        return a->at("ts").get<double>() < b->at("ts").get<double>();
    });
    for (const Json* event : timed) events.push_back(*event);
    json["traceEvents"] = std::move(events);
    return json.dump(0, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace heddle::sim
