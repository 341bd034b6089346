#include "sim/report/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/report/chart.h"
#include "sim/report/numbers.h"
#include "sim/report/page.h"

namespace heddle::sim {
namespace {

constexpr double kWidth = 760, kHeight = 360, kLeft = 90, kRight = 20, kTop = 12, kBottom = 34;

/// Decades of values on an axis of `length` pixels.
struct Axis {
    double low = 0, high = 1, start = 0, length = 1;  // low and high: powers of ten
    double place(double value) const { return start + (std::log10(value) - low) / (high - low) * length; }
};

std::string line(double x1, double y1, double x2, double y2, const char* colour) {
    return fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"var(--{})\"/>\n", x1, y1, x2,
        y2, colour);
}

std::string grid(const Axis& x, const Axis& y) {
    std::string svg;
    for (double decade = x.low; decade <= x.high; ++decade) {
        const double at = x.place(std::pow(10, decade));
        svg += line(at, kTop, at, kHeight - kBottom, "line");
        svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\">{:g}</text>\n", at - 8, kHeight - 8,
                           std::pow(10, decade));
    }
    for (double decade = y.low; decade <= y.high; ++decade) {
        const double at = y.place(std::pow(10, decade));
        svg += line(kLeft, at, kWidth - kRight, at, "line");
        svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" class=\"name\">{}</text>\n", kLeft - 6, at + 4,
                           format_si(std::pow(10, decade), "FLOP/s"));
    }
    return svg;
}

}  // namespace

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

std::string roofline_chart(const std::vector<RooflinePoint>& points, double bytes_per_second,
                           double flops_per_second) {
    if (points.empty() || bytes_per_second <= 0 || flops_per_second <= 0) return {};
    const double ridge = flops_per_second / bytes_per_second;
    double least = ridge, most = ridge, lowest = flops_per_second;
    for (const RooflinePoint& point : points) {
        least = std::min(least, point.intensity);
        most = std::max(most, point.intensity);
        lowest = std::min(lowest, point.flops);
    }
    const Axis x{std::floor(std::log10(least)), std::ceil(std::log10(most * 1.01)), kLeft,
                 kWidth - kLeft - kRight};
    const Axis y{std::floor(std::log10(lowest)), std::ceil(std::log10(flops_per_second)), kHeight - kBottom,
                 -(kHeight - kBottom - kTop)};
    std::string svg = fmt::format("<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\">\n",
                                  kWidth, kHeight);
    svg += grid(x, y);
    // The slanted roof starts where it enters the chart.
    const double start = std::max(std::pow(10, x.low), std::pow(10, y.low) / bytes_per_second);
    svg += line(x.place(start), y.place(start * bytes_per_second), x.place(ridge), y.place(flops_per_second),
                "c1");
    svg += line(x.place(ridge), y.place(flops_per_second), kWidth - kRight, y.place(flops_per_second), "c1");
    for (const RooflinePoint& point : points) {
        svg += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" class=\"c0\" "
            "fill-opacity=\"0.7\"><title>{}</title></circle>\n",
            x.place(point.intensity), y.place(point.flops),
            escape_html(fmt::format("{}: {:.3g} FLOP/B, {}, {} of the roof; nearest ceiling: {}", point.name,
                                    point.intensity, format_si(point.flops, "FLOP/s"),
                                    format_share(point.flops / point.ceiling), point.bound_by)));
    }
    return svg +
           "</svg>\n<p class=\"faint\">FLOP/s over FLOP per byte of memory. Rest the mouse on a point.</p>\n";
}

}  // namespace heddle::sim
