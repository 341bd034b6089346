#include "validation/report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/report/chart.h"
#include "sim/report/data_table.h"
#include "sim/report/page.h"
#include "validation/report/print.h"
#include "validation/report/scatter.h"
#include "validation/report/words.h"

namespace heddle::validation {
namespace {

using sim::escape_html;

std::string table(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right) {
    if (rows.size() < 2) return {};
    sim::HtmlTable html(rows.front(), right);
    for (std::size_t i = 1; i < rows.size(); ++i) html.row(rows[i]);
    return html.html();
}

std::string table(const Cells& cells) {
    return table(cells.rows, cells.right);
}

sim::Chart histogram_chart(const Histogram& histogram, const std::string& id) {
    sim::Chart chart;
    chart.id = id;
    chart.title = histogram.title;
    chart.x = {"count", "count"};
    chart.y.name = "bin";
    sim::ChartSeries series{"count", {}};
    series.colour = 2;
    for (const Histogram::Bin& bin : histogram.bins) {
        chart.labels.push_back(bin.label);
        series.y.push_back(static_cast<double>(bin.count));
    }
    chart.series = {series};
    return chart;
}

std::string lines(const std::vector<std::string>& texts, const char* heading) {
    if (texts.empty()) return {};
    std::string html = *heading == '\0' ? "<ul>\n" : std::string("<h3>") + heading + "</h3>\n<ul>\n";
    for (const std::string& text : texts) html += "<li>" + escape_html(text) + "</li>\n";
    return html + "</ul>\n";
}

double or_nothing(const std::optional<double>& number) {
    return number ? *number : std::nan("");
}

/// Every row, to be sorted and filtered.
std::string all_rows(const Comparison& comparison, const std::string& id) {
    if (comparison.rows.empty()) return {};
    sim::DataTable table{id + "-rows",
                         "Rows of " + comparison.title,
                         {{"row"},
                          {"category"},
                          {"captured", ""},
                          {"simulated", ""},
                          {"unit"},
                          {"error", "%"},
                          {"identical", "%"},
                          {"note"}},
                         {}};
    for (const ComparisonRow& row : comparison.rows) {
        const bool both = relative_error(row).has_value();
        table.rows.push_back({row.name, row.category, or_nothing(row.captured), or_nothing(row.simulated),
                              row.unit, both ? *row.simulated / *row.captured - 1 : std::nan(""),
                              row.bits ? row.bits->fraction() : std::nan(""), row.note});
    }
    return fmt::format("<details><summary>All {} rows</summary>\n", comparison.rows.size()) +
           sim::data_table_html(table) + "</details>\n";
}

std::string charts(const std::vector<sim::Chart>& charts) {
    std::string html;
    for (const sim::Chart& chart : charts) html += chart_html(chart);
    return html;
}

sim::PageSection section(const Comparison& comparison, std::size_t number) {
    const std::string id = fmt::format("comparison-{}", number);
    std::string html = "<p class=\"faint\">" + escape_html(reference_line(comparison.reference)) + "</p>\n";
    const std::string simulated = simulated_line(comparison.reference);
    if (!simulated.empty()) html += "<p class=\"faint\">" + escape_html(simulated) + "</p>\n";
    html += table(bar_cells(comparison)) + table(category_cells(comparison));
    html += "<div class=\"charts\">\n" + charts(scatter_charts(comparison.rows, id)) +
            charts(error_charts(comparison.rows, id)) + chart_html(error_histogram(comparison.rows, id));
    for (std::size_t i = 0; i < comparison.histograms.size(); ++i)
        html +=
            chart_html(histogram_chart(comparison.histograms[i], fmt::format("{}-histogram-{}", id, i + 1)));
    html += "</div>\n";
    for (const ResultTable& extra : comparison.tables)
        if (extra.rows.size() > 1)
            html += "<h3>" + escape_html(extra.title) + "</h3>\n" + table(extra.rows, extra.right);
    const std::vector<const ComparisonRow*> worst = worst_rows(comparison.rows);
    if (!worst.empty()) html += "<h3>The worst rows</h3>\n" + table(row_cells(worst));
    html +=
        lines(comparison.notes, "Notes") + lines(comparison.missing, "Missing") + all_rows(comparison, id);
    return {id, comparison.title, html};
}

std::string head(const std::vector<Comparison>& comparisons, const std::vector<std::string>& missing) {
    std::size_t bars = 0, held = 0;
    bool silicon = true;
    for (const Comparison& comparison : comparisons) {
        bars += comparison.bars.size();
        held += static_cast<std::size_t>(std::count_if(comparison.bars.begin(), comparison.bars.end(),
                                                       [](const Bar& bar) { return bar.holds(); }));
        silicon = silicon && comparison.reference.silicon;
    }
    std::string html;
    if (!silicon)
        html +=
            "<p><strong>NOT SILICON: at least one of these comparisons is with a capture that Heddle's own "
            "simulator made. It tests the tools and says nothing about accuracy.</strong></p>\n";
    html += "<div class=\"figures\">\n" +
            sim::html_figure("comparisons", std::to_string(comparisons.size())) +
            sim::html_figure("bars that hold", fmt::format("{} of {}", held, bars)) + "</div>\n";
    const std::string failure = failure_of(comparisons, missing);
    if (!failure.empty()) html += "<p><strong>" + escape_html(failure) + "</strong></p>\n";
    return html;
}

}  // namespace

std::string comparisons_html(const std::string& title, const std::vector<Comparison>& comparisons,
                             const std::vector<std::string>& missing) {
    std::vector<sim::PageSection> sections;
    sections.reserve(comparisons.size() + 1);
    for (const Comparison& comparison : comparisons)
        sections.push_back(section(comparison, sections.size() + 1));
    sections.push_back({"missing", "Not yet recorded", lines(missing, "")});
    return sim::html_page(title, "Heddle beside what was measured", head(comparisons, missing), sections);
}

}  // namespace heddle::validation
