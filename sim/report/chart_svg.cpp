// The picture that needs no script.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/report/chart.h"
#include "sim/report/numbers.h"
#include "sim/report/page.h"

namespace heddle::sim {
namespace {

constexpr double kWidth = 760, kHeight = 340, kTop = 10, kRight = 24, kLeft = 84, kBottom = 44;
constexpr double kNameWidth = 250, kBarWidth = 360, kRowHeight = 24;
constexpr std::size_t kLongestName = 38;

std::string shortened(const std::string& name) {
    if (name.size() <= kLongestName) return name;
    std::size_t end = kLongestName - 1;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80)
        --end;  // not inside a character
    return name.substr(0, end) + "\u2026";
}

std::string line(double x1, double y1, double x2, double y2, const char* colour = "line") {
    return fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"var(--{})\"/>\n", x1, y1, x2,
        y2, colour);
}

std::string text_at(double x, double y, const char* anchor, const std::string& text) {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                       escape_html(text));
}

/// Values to pixels.
class Scale {
  public:
    Scale(const ChartAxis& axis, double start, double length) : axis_(axis), start_(start), length_(length) {
        if (axis.from_zero && !axis.logarithmic) include(0);
    }
    bool shows(double value) const { return std::isfinite(value) && (!axis_.logarithmic || value > 0); }
    void include(double value) {
        if (!shows(value)) return;
        low_ = std::min(low_, value);
        high_ = std::max(high_, value);
    }
    bool empty() const { return !(low_ <= high_); }
    /// After the last include(): ends at round numbers.
    void settle() {
        if (axis_.logarithmic) {
            low_ = std::pow(10, std::floor(std::log10(low_)));
            high_ = std::pow(10, std::ceil(std::log10(high_)));
            if (high_ <= low_) high_ = low_ * 10;
            return;
        }
        if (high_ <= low_) {
            const double by = low_ == 0 ? 1 : std::abs(low_) * 0.1;
            high_ += by;
            if (low_ != 0) low_ -= by;
        }
        const double least = (high_ - low_) / 5;
        step_ = axis_.unit == "iB" ? std::exp2(std::ceil(std::log2(least))) : round_step(least);
        low_ = std::floor(low_ / step_ + 1e-9) * step_;
        high_ = std::ceil(high_ / step_ - 1e-9) * step_;
    }
    double place(double value) const {
        const double part = axis_.logarithmic ? (std::log10(value) - std::log10(low_)) /
                                                    (std::log10(high_) - std::log10(low_))
                                              : (value - low_) / (high_ - low_);
        return start_ + part * length_;
    }
    std::vector<double> ticks() const {
        std::vector<double> ticks;
        if (!axis_.logarithmic) {
            const auto count = static_cast<int>(std::lround((high_ - low_) / step_));
            for (int i = 0; i <= count; ++i)
                ticks.push_back(std::abs(low_ + i * step_) < step_ * 1e-6 ? 0 : low_ + i * step_);
            return ticks;
        }
        const auto first = static_cast<int>(std::lround(std::log10(low_)));
        const auto last = static_cast<int>(std::lround(std::log10(high_)));
        const int every = std::max(1, (last - first + 5) / 6);
        for (int e = first; e <= last; e += every) ticks.push_back(std::pow(10, e));
        return ticks;
    }
    std::string text(double value) const { return format_value(value, axis_.unit); }

  private:
    static double round_step(double least) {
        const double decade = std::pow(10, std::floor(std::log10(least)));
        for (const double factor : {1.0, 2.0, 5.0})
            if (factor * decade >= least) return factor * decade;
        return 10 * decade;
    }

    const ChartAxis& axis_;
    double start_, length_;
    double low_ = std::numeric_limits<double>::infinity(), high_ = -low_, step_ = 1;
};

std::string begin(double width, double height, const Chart& chart) {
    return fmt::format(
        "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" aria-label=\"{2}\">\n", width,
        height, escape_html(chart.title));
}

std::string grid(const Scale& x, const Scale& y, const Chart& chart) {
    std::string svg;
    for (const double tick : x.ticks()) {
        svg += line(x.place(tick), kTop, x.place(tick), kHeight - kBottom);
        svg += text_at(x.place(tick), kHeight - kBottom + 16, "middle", x.text(tick));
    }
    for (const double tick : y.ticks()) {
        svg += line(kLeft, y.place(tick), kWidth - kRight, y.place(tick));
        svg += text_at(kLeft - 6, y.place(tick) + 4, "end", y.text(tick));
    }
    svg += text_at(kLeft + (kWidth - kLeft - kRight) / 2, kHeight - 6, "middle", chart.x.name);
    return svg +
           fmt::format("<text transform=\"translate(13 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                       kTop + (kHeight - kTop - kBottom) / 2, escape_html(chart.y.name));
}

std::string points_svg(const Chart& chart, std::size_t s, const Scale& x, const Scale& y) {
    const ChartSeries& series = chart.series[s];
    std::string svg;
    for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
        if (!x.shows(series.x[i]) || !y.shows(series.y[i])) continue;
        const std::string name = i < series.points.size() ? series.points[i] : series.name;
        svg += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" class=\"c{}\" fill-opacity=\"0.7\">"
            "<title>{}: {}, {}</title></circle>\n",
            x.place(series.x[i]), y.place(series.y[i]), colour_of(chart, s), escape_html(name),
            escape_html(x.text(series.x[i])), escape_html(y.text(series.y[i])));
    }
    return svg;
}

std::string line_svg(const Chart& chart, std::size_t s, const Scale& x, const Scale& y) {
    const ChartSeries& series = chart.series[s];
    const std::string colour = series.faint ? "faint" : "c" + std::to_string(colour_of(chart, s));
    std::string svg, points;
    const auto flush = [&] {
        if (!points.empty())
            svg += fmt::format(
                "<polyline points=\"{}\" style=\"fill: none; stroke: var(--{}); stroke-width: {}\"/>\n",
                points, colour, series.faint ? 1 : 2);
        points.clear();
    };
    for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
        if (!x.shows(series.x[i]) || !y.shows(series.y[i])) {
            flush();
            continue;
        }
        points += fmt::format("{:.1f},{:.1f} ", x.place(series.x[i]), y.place(series.y[i]));
    }
    flush();
    return svg;
}

std::string plot_svg(const Chart& chart) {
    Scale x(chart.x, kLeft, kWidth - kLeft - kRight),
        y(chart.y, kHeight - kBottom, -(kHeight - kBottom - kTop));
    for (const ChartSeries& series : chart.series) {
        for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
            if (!x.shows(series.x[i]) || !y.shows(series.y[i])) continue;
            x.include(series.x[i]);
            y.include(series.y[i]);
        }
    }
    if (x.empty() || y.empty()) return {};
    x.settle();
    y.settle();
    std::string svg = begin(kWidth, kHeight, chart) + grid(x, y, chart);
    for (std::size_t s = chart.series.size(); s-- > 0;)  // the first on top
        svg += chart.series[s].line ? line_svg(chart, s, x, y) : points_svg(chart, s, x, y);
    return svg + "</svg>\n";
}

std::string areas_svg(const Chart& chart) {
    if (chart.series.empty() || chart.series.front().x.empty()) return {};
    const std::vector<double>& at = chart.series.front().x;
    Scale x(chart.x, kLeft, kWidth - kLeft - kRight),
        y(chart.y, kHeight - kBottom, -(kHeight - kBottom - kTop));
    y.include(0);
    std::vector<double> below(at.size(), 0);
    for (std::size_t i = 0; i < at.size(); ++i) {
        x.include(at[i]);
        double sum = 0;
        for (const ChartSeries& series : chart.series) sum += series.faint ? 0 : series.y.at(i);
        y.include(sum);
        for (const ChartSeries& series : chart.series)
            if (series.faint) y.include(series.y.at(i));
    }
    if (x.empty()) return {};
    x.settle();
    y.settle();
    std::string svg = begin(kWidth, kHeight, chart) + grid(x, y, chart);
    for (std::size_t s = 0; s < chart.series.size(); ++s) {
        const ChartSeries& series = chart.series[s];
        if (series.faint) {
            ChartSeries whole = series;
            whole.x = at;
            Chart alone;
            alone.series = {whole};
            svg += line_svg(alone, 0, x, y);
            continue;
        }
        std::string upper, lower;
        for (std::size_t i = 0; i < at.size(); ++i) {
            const double left = x.place(at[i]), right = x.place(i + 1 < at.size() ? at[i + 1] : at[i]);
            const double top = y.place(below[i] + series.y[i]), bottom = y.place(below[i]);
            upper += fmt::format("{:.1f},{:.1f} {:.1f},{:.1f} ", left, top, right, top);
            lower.insert(0, fmt::format("{:.1f},{:.1f} {:.1f},{:.1f} ", right, bottom, left, bottom));
            below[i] += series.y[i];
        }
        svg += fmt::format("<polygon points=\"{}{}\" class=\"c{}\"><title>{}</title></polygon>\n", upper,
                           lower, colour_of(chart, s), escape_html(series.name));
    }
    return svg + "</svg>\n";
}

double bar_at(const ChartSeries& series, std::size_t row) {
    return row < series.y.size() && std::isfinite(series.y[row]) ? series.y[row] : 0;
}

/// The value at the end of a row without a text of its own.
std::string bar_text(const Chart& chart, std::size_t row) {
    if (row < chart.texts.size()) return chart.texts[row];
    if (chart.stacked && chart.series.size() > 1) return {};
    std::string text;
    for (const ChartSeries& series : chart.series)
        if (row < series.y.size() && std::isfinite(series.y[row]))
            text += (text.empty() ? "" : ", ") + format_value(series.y[row], chart.x.unit);
    return text;
}

std::string bars_svg(const Chart& chart) {
    // Negative bars go to the left of a common line.
    double most = chart.full, least = 0;
    for (std::size_t row = 0; row < chart.labels.size(); ++row) {
        double sum = 0;
        for (const ChartSeries& series : chart.series) {
            const double value = bar_at(series, row);
            sum = chart.stacked ? sum + value : value;
            most = std::max(most, sum);
            least = std::min(least, sum);
        }
    }
    if (chart.labels.empty() || chart.series.empty() || most <= least) return {};
    const double scale = kBarWidth / (most - least), zero = kNameWidth - least * scale;
    std::string svg = begin(kWidth, kRowHeight * static_cast<double>(chart.labels.size()), chart);
    for (std::size_t row = 0; row < chart.labels.size(); ++row) {
        const double top = kRowHeight * static_cast<double>(row), baseline = top + kRowHeight * 0.68;
        svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}<title>{}</title></text>\n",
                           kNameWidth - 8, baseline, escape_html(shortened(chart.labels[row])),
                           escape_html(chart.labels[row]));
        double left = zero, end = zero;
        const double beside = chart.stacked ? 1 : static_cast<double>(chart.series.size());
        for (std::size_t s = 0; s < chart.series.size(); ++s) {
            const double value = bar_at(chart.series[s], row), width = std::abs(value) * scale;
            const double from = chart.stacked ? left : (value < 0 ? zero - width : zero);
            const double height = (kRowHeight - 6) / beside;
            const std::string name = chart.series[s].name.empty() ? chart.labels[row] : chart.series[s].name;
            svg += fmt::format(
                "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" class=\"c{}\">"
                "<title>{}: {}</title></rect>\n",
                from, top + 3 + (chart.stacked ? 0 : static_cast<double>(s) * height), width, height,
                colour_of(chart, s), escape_html(name), escape_html(format_value(value, chart.x.unit)));
            left += width;
            end = std::max(end, from + width);
        }
        svg += text_at(end + 6, baseline, "start", bar_text(chart, row));
    }
    return svg + "</svg>\n";
}

}  // namespace

std::string chart_svg(const Chart& chart) {
    switch (chart.kind) {
        case Chart::Kind::bars:
            return bars_svg(chart);
        case Chart::Kind::areas:
            return areas_svg(chart);
        case Chart::Kind::plot:
            return plot_svg(chart);
    }
    return {};
}

}  // namespace heddle::sim
