#include "validation/report/scatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sim/report/chart.h"
#include "sim/report/page.h"
#include "validation/report/words.h"

namespace heddle::validation {
namespace {

constexpr double kSide = 420, kLeft = 70, kTop = 10, kBelow = 46;

/// Decades, which both axes share so that the diagonal is the line of no error.
struct Axis {
    int low = std::numeric_limits<int>::max(), high = std::numeric_limits<int>::min();

    void include(double value) {
        low = std::min(low, static_cast<int>(std::floor(std::log10(value))));
        high = std::max(high, static_cast<int>(std::floor(std::log10(value))) + 1);
    }
    double place(double value) const { return (std::log10(value) - low) / (high - low) * kSide; }
};

std::string decade(int exponent, const std::string& unit) {
    return format_quantity(std::pow(10.0, exponent), unit);
}

std::string grid(const Axis& axis, const std::string& unit) {
    std::string svg;
    for (int exponent = axis.low; exponent <= axis.high; ++exponent) {
        const double along = axis.place(std::pow(10.0, exponent));
        const double x = kLeft + along, y = kTop + kSide - along;
        svg += fmt::format(
            "<path d=\"M{0:.1f} {1}V{2}M{3} {4:.1f}H{5}\" stroke=\"var(--line)\" fill=\"none\"/>\n"
            "<text x=\"{0:.1f}\" y=\"{6}\" text-anchor=\"middle\">{7}</text>"
            "<text x=\"{8}\" y=\"{9:.1f}\" text-anchor=\"end\">{7}</text>\n",
            x, kTop, kTop + kSide, kLeft, y, kLeft + kSide, kTop + kSide + 18,
            sim::escape_html(decade(exponent, unit)), kLeft - 6, y + 4);
    }
    svg += fmt::format(
        "<path d=\"M{} {}L{} {}\" stroke=\"var(--faint)\" fill=\"none\"/>\n"
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">captured</text>"
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">simulated \u2191</text>\n",
        kLeft, kTop + kSide, kLeft + kSide, kTop, kLeft + kSide / 2, kTop + kSide + 38, kLeft + 82,
        kTop + 16);
    return svg;
}

struct Group {
    std::string unit;
    std::vector<const ComparisonRow*> rows;
};

std::vector<Group> groups_by_unit(const std::vector<ComparisonRow>& rows) {
    std::vector<Group> groups;
    for (const ComparisonRow& row : rows) {
        if (!relative_error(row)) continue;
        auto group = std::find_if(groups.begin(), groups.end(),
                                  [&](const Group& known) { return known.unit == row.unit; });
        if (group == groups.end()) group = groups.insert(groups.end(), Group{row.unit, {}});
        group->rows.push_back(&row);
    }
    return groups;
}

std::string scatter_chart(const Group& group) {
    Axis axis;
    std::vector<std::string> categories;
    for (const ComparisonRow* row : group.rows) {
        axis.include(*row->captured);
        axis.include(*row->simulated);
        if (std::find(categories.begin(), categories.end(), row->category) == categories.end())
            categories.push_back(row->category);
    }
    std::string svg = fmt::format("<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\">\n",
                                  kLeft + kSide + 40, kTop + kSide + kBelow) +
                      grid(axis, group.unit);
    for (const ComparisonRow* row : group.rows) {
        const auto colour =
            std::find(categories.begin(), categories.end(), row->category) - categories.begin();
        svg += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" class=\"c{}\" fill-opacity=\"0.7\"><title>{}: "
            "captured {}, simulated {}</title></circle>\n",
            kLeft + axis.place(*row->captured), kTop + kSide - axis.place(*row->simulated),
            colour % sim::kPaletteSize, sim::escape_html(row->name),
            sim::escape_html(format_quantity(*row->captured, row->unit)),
            sim::escape_html(format_quantity(*row->simulated, row->unit)));
    }
    return svg + "</svg>\n" + sim::legend(categories);
}

}  // namespace

std::string scatter_charts(const std::vector<ComparisonRow>& rows) {
    std::string html;
    for (const Group& group : groups_by_unit(rows)) html += scatter_chart(group);
    return html.empty() ? "" : "<h3>Simulated over captured</h3>\n" + html;
}

std::string error_histogram(const std::vector<ComparisonRow>& rows) {
    constexpr std::array kEdges{-50.0, -30.0, -20.0, -10.0, -5.0, 5.0, 10.0, 20.0, 30.0, 50.0, 100.0};
    std::array<std::size_t, kEdges.size() + 1> counts{};
    std::size_t all = 0;
    for (const ComparisonRow& row : rows) {
        if (!relative_error(row)) continue;
        const double error = 100 * (*row.simulated / *row.captured - 1);
        ++counts[static_cast<std::size_t>(std::upper_bound(kEdges.begin(), kEdges.end(), error) -
                                          kEdges.begin())];
        ++all;
    }
    if (all == 0) return {};
    std::vector<sim::Bar> bars;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const std::string name = i == 0 ? fmt::format("below {:+.0f} %", kEdges.front())
                                 : i == kEdges.size()
                                     ? fmt::format("{:+.0f} % and more", kEdges.back())
                                     : fmt::format("{:+.0f} to {:+.0f} %", kEdges[i - 1], kEdges[i]);
        const std::string count = std::to_string(counts[i]);
        bars.push_back({name, count, {{static_cast<double>(counts[i]), name + ": " + count, 0}}});
    }
    return "<h3>How far off: rows by difference of simulated from captured</h3>\n" + sim::bar_chart(bars);
}

}  // namespace heddle::validation
