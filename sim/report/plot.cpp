#include "sim/report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sim/report/chart.h"
#include "sim/report/page.h"

namespace heddle::sim {
namespace {

constexpr double kWidth = 920, kHeight = 260, kLeft = 70, kRight = 20, kTop = 10, kBottom = 36;

struct Range {
    double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
    void add(double value) {
        if (!std::isfinite(value)) return;
        low = std::min(low, value);
        high = std::max(high, value);
    }
    bool empty() const { return !(low <= high); }
    void widen() {
        if (high > low) return;
        const double by = low == 0 ? 1 : std::abs(low) * 0.1;
        low -= by;
        high += by;
    }
};

class Canvas {
  public:
    Canvas(Range x, Range y) : x_(x), y_(y) {
        x_.widen();
        y_.widen();
    }
    double across(double value) const {
        return kLeft + (value - x_.low) / (x_.high - x_.low) * (kWidth - kLeft - kRight);
    }
    double up(double value) const {
        return kHeight - kBottom - (value - y_.low) / (y_.high - y_.low) * (kHeight - kBottom - kTop);
    }
    std::string begin(const std::string& x_name) const {
        std::string svg = fmt::format(
            "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\">\n", kWidth, kHeight);
        for (int i = 0; i <= 4; ++i) {
            const double y = y_.low + (y_.high - y_.low) * i / 4, x = x_.low + (x_.high - x_.low) * i / 4;
            svg += line(kLeft, up(y), kWidth - kRight, up(y));
            svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" class=\"name\">{:.4g}</text>\n", kLeft - 6,
                               up(y) + 4, y);
            svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.4g}{}</text>\n",
                               across(x), kHeight - 14, x, i == 4 ? " " + escape_html(x_name) : "");
        }
        return svg;
    }
    static std::string line(double x1, double y1, double x2, double y2, const char* colour = "--line") {
        return fmt::format(
            "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" style=\"stroke: var({})\"/>\n", x1,
            y1, x2, y2, colour);
    }

  private:
    Range x_, y_;
};

std::vector<std::string> names_of(const std::vector<Curve>& curves) {
    std::vector<std::string> names;
    for (const Curve& curve : curves) names.push_back(curve.name);
    return names;
}

}  // namespace

std::string line_plot(const std::vector<double>& x, const std::vector<Curve>& curves,
                      const std::string& x_name, bool from_zero) {
    Range across, up;
    for (const double value : x) across.add(value);
    for (const Curve& curve : curves)
        for (const double value : curve.y) up.add(value);
    if (across.empty() || up.empty()) return {};
    if (from_zero) up.add(0);
    const Canvas canvas(across, up);
    std::string svg = canvas.begin(x_name);
    for (std::size_t c = curves.size(); c-- > 0;) {
        std::string points;
        const auto flush = [&] {
            if (points.empty()) return;
            svg += fmt::format(
                "<polyline points=\"{}\" style=\"fill: none; stroke: var(--c{}); stroke-width: {}\"/>\n",
                points, c % kPaletteSize, c == 0 ? 1.5 : 3.5);
            points.clear();
        };
        for (std::size_t i = 0; i < x.size(); ++i) {
            if (i >= curves[c].y.size() || !std::isfinite(curves[c].y[i])) {
                flush();
                continue;
            }
            points += fmt::format("{:.1f},{:.1f} ", canvas.across(x[i]), canvas.up(curves[c].y[i]));
        }
        flush();
    }
    return svg + "</svg>\n" + legend(names_of(curves));
}

std::string area_plot(const std::vector<double>& x, const std::vector<Curve>& curves, double limit,
                      const std::string& x_name) {
    Range across, up;
    up.add(0);
    for (const double value : x) across.add(value);
    if (across.empty()) return {};
    std::vector<double> sums(x.size(), 0);
    for (const Curve& curve : curves)
        for (std::size_t i = 0; i < x.size(); ++i) sums[i] += curve.y.at(i);
    for (const double value : sums) up.add(value);
    const bool shows_limit = limit > 0 && limit < 4 * up.high;
    if (shows_limit) up.add(limit);
    const Canvas canvas(across, up);
    std::string svg = canvas.begin(x_name);
    std::vector<double> below(x.size(), 0);
    for (std::size_t c = 0; c < curves.size(); ++c) {
        std::string upper, lower;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double left = canvas.across(x[i]),
                         right = canvas.across(i + 1 < x.size() ? x[i + 1] : x[i]);
            const double top = canvas.up(below[i] + curves[c].y[i]), bottom = canvas.up(below[i]);
            upper += fmt::format("{:.1f},{:.1f} {:.1f},{:.1f} ", left, top, right, top);
            lower = fmt::format("{:.1f},{:.1f} {:.1f},{:.1f} ", right, bottom, left, bottom) + lower;
            below[i] += curves[c].y[i];
        }
        svg += fmt::format("<polygon points=\"{}{}\" class=\"c{}\"><title>{}</title></polygon>\n", upper,
                           lower, c % kPaletteSize, escape_html(curves[c].name));
    }
    if (shows_limit) svg += Canvas::line(kLeft, canvas.up(limit), kWidth - kRight, canvas.up(limit), "--c3");
    return svg + "</svg>\n" + legend(names_of(curves));
}

std::string text_plot(const std::vector<double>& y, std::size_t width, std::size_t height) {
    // Eighths of a character's height.
    static const std::array<const char*, 9> kLevels{" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                                    "\u2585", "\u2586", "\u2587", "\u2588"};
    if (y.empty()) return {};
    const std::size_t columns = std::min(width, y.size());
    std::vector<double> means(columns);
    Range range;
    for (std::size_t c = 0; c < columns; ++c) {
        const std::size_t begin = c * y.size() / columns, end = (c + 1) * y.size() / columns;
        for (std::size_t i = begin; i < end; ++i) means[c] += y[i] / static_cast<double>(end - begin);
        range.add(means[c]);
    }
    if (range.empty()) return {};
    const double low = range.low, span = std::max(range.high - range.low, 1e-300);
    std::string text;
    for (std::size_t row = height; row-- > 0;) {
        const std::string label = row + 1 == height ? fmt::format("{:.4g}", range.high)
                                  : row == 0        ? fmt::format("{:.4g}", range.low)
                                                    : "";
        text += fmt::format("{:>9} ", label);
        std::string line;
        for (const double mean : means) {
            // The smallest value still shows.
            const double level =
                std::isfinite(mean) ? 1 + (mean - low) / span * (8 * static_cast<double>(height) - 1) : 0;
            const double here = std::clamp(level - 8 * static_cast<double>(row), 0.0, 8.0);
            line += kLevels[static_cast<std::size_t>(here)];
        }
        while (!line.empty() && line.back() == ' ') line.pop_back();
        text += line + "\n";
    }
    return text;
}

}  // namespace heddle::sim
