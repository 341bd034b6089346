#include "sim/report/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/report/numbers.h"

namespace heddle::sim {

std::string nearest_ceiling(const std::map<std::string, Throughput>& throughputs, double microseconds) {
    std::string best;
    double share = 0;
    for (const auto& [name, one] : throughputs) {
        const double of_ceiling = one.amount / (microseconds * 1e-6) / one.ceiling;
        if (of_ceiling <= share) continue;
        share = of_ceiling;
        best = name;
    }
    return best;
}

std::optional<RooflinePoint> roofline_point(const std::string& name,
                                            const std::map<std::string, Throughput>& throughputs,
                                            double microseconds) {
    double flops = 0, bytes = 0, at_ceiling = 0, bandwidth = 0;
    for (const auto& [resource, one] : throughputs) {
        if (one.unit == "FLOP") {
            flops += one.amount;
            at_ceiling = std::max(at_ceiling, one.amount / one.ceiling);
        }
        if (resource != "dram") continue;
        bytes = one.amount;
        bandwidth = one.ceiling;
    }
    if (flops <= 0 || bytes <= 0 || microseconds <= 0) return std::nullopt;
    RooflinePoint point;
    point.name = name;
    point.intensity = flops / bytes;
    point.flops = flops / (microseconds * 1e-6);
    point.ceiling = std::min(flops / at_ceiling, point.intensity * bandwidth);
    point.bound_by = nearest_ceiling(throughputs, microseconds);
    return point;
}

std::vector<std::vector<std::string>> throughput_rows(const std::map<std::string, Throughput>& throughputs,
                                                      double microseconds) {
    std::vector<std::vector<std::string>> rows;
    for (const auto& [name, one] : throughputs) {
        const double rate = one.amount / (microseconds * 1e-6);
        rows.push_back({name, format_si(rate, one.unit + "/s"), format_si(one.ceiling, one.unit + "/s"),
                        format_share(rate / one.ceiling)});
    }
    return rows;
}

Chart roofline_chart(const std::vector<RooflinePoint>& points, double bytes_per_second,
                     double flops_per_second) {
    Chart chart;
    chart.kind = Chart::Kind::plot;
    chart.id = "roofline";
    chart.title = "Roofline";
    chart.reading =
        "Each kernel's rate over what it computes for a byte of memory. Under the slope memory is the limit, "
        "under "
        "the flat roof the arithmetic units; far below both, latency or too little work.";
    chart.x = {"FLOP per byte of memory", "", true};
    chart.y = {"FLOP per second", "FLOP/s", true};
    if (points.empty() || bytes_per_second <= 0 || flops_per_second <= 0) return chart;
    const double ridge = flops_per_second / bytes_per_second;
    double least = ridge, most = ridge, lowest = flops_per_second;
    ChartSeries whole{"the whole step", {}}, kernels{"kernels", {}};
    for (const RooflinePoint& point : points) {
        least = std::min(least, point.intensity);
        most = std::max(most, point.intensity);
        lowest = std::min(lowest, point.flops);
        ChartSeries& series = &point == &points.front() ? whole : kernels;
        series.x.push_back(point.intensity);
        series.y.push_back(point.flops);
        series.points.push_back(fmt::format("{}: {} of the roof; nearest ceiling: {}", point.name,
                                            format_share(point.flops / point.ceiling), point.bound_by));
    }
    whole.colour = 1;
    kernels.colour = 0;
    // The slanted roof starts where it enters the chart.
    const double start = std::max(least / 2, lowest / 2 / bytes_per_second);
    ChartSeries roof{"roof", {}};
    roof.x = {std::min(start, ridge), ridge, std::max(2 * most, 4 * ridge)};
    roof.y = {roof.x.front() * bytes_per_second, flops_per_second, flops_per_second};
    roof.line = true;
    roof.colour = 3;
    chart.series = {whole, kernels, roof};
    if (kernels.y.empty()) chart.series.erase(chart.series.begin() + 1);
    return chart;
}

}  // namespace heddle::sim
