#include "validation/report/html.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/chart.h"
#include "sim/report/page.h"
#include "validation/report/print.h"
#include "validation/report/scatter.h"
#include "validation/report/words.h"

namespace heddle::validation {
namespace {

using sim::escape_html;

constexpr std::size_t kShownRows = 3000;

std::string table(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right) {
    if (rows.size() < 2) return {};
    sim::HtmlTable html(rows.front(), right);
    for (std::size_t i = 1; i < rows.size(); ++i) html.row(rows[i]);
    return html.html();
}

std::string table(const Cells& cells) {
    return table(cells.rows, cells.right);
}

std::string histogram_chart(const Histogram& histogram) {
    std::vector<sim::Bar> bars;
    for (const Histogram::Bin& bin : histogram.bins) {
        const std::string count = std::to_string(bin.count);
        bars.push_back({bin.label, count, {{static_cast<double>(bin.count), bin.label + ": " + count, 2}}});
    }
    return bars.empty() ? "" : "<h3>" + escape_html(histogram.title) + "</h3>\n" + sim::bar_chart(bars);
}

std::string lines(const std::vector<std::string>& texts, const char* heading) {
    if (texts.empty()) return {};
    std::string html = std::string("<h3>") + heading + "</h3>\n<ul>\n";
    for (const std::string& text : texts) html += "<li>" + escape_html(text) + "</li>\n";
    return html + "</ul>\n";
}

std::string all_rows(const Comparison& comparison) {
    if (comparison.rows.empty()) return {};
    std::vector<const ComparisonRow*> rows;
    for (const ComparisonRow& row : comparison.rows) rows.push_back(&row);
    std::string html = fmt::format("<details><summary>All {} rows</summary>\n", rows.size());
    if (rows.size() > kShownRows) {
        html += fmt::format("<p class=\"faint\">The first {}; all are in the JSON.</p>\n", kShownRows);
        rows.resize(kShownRows);
    }
    return html + table(row_cells(rows)) + "</details>\n";
}

std::string section(const Comparison& comparison) {
    std::string html = "<h2>" + escape_html(comparison.title) + "</h2>\n<p class=\"faint\">" +
                       escape_html(reference_line(comparison.reference)) + "</p>\n";
    const std::string simulated = simulated_line(comparison.reference);
    if (!simulated.empty()) html += "<p class=\"faint\">" + escape_html(simulated) + "</p>\n";
    html += table(bar_cells(comparison)) + table(category_cells(comparison));
    html += scatter_charts(comparison.rows) + error_histogram(comparison.rows);
    for (const Histogram& histogram : comparison.histograms) html += histogram_chart(histogram);
    for (const ResultTable& extra : comparison.tables)
        if (extra.rows.size() > 1)
            html += "<h3>" + escape_html(extra.title) + "</h3>\n" + table(extra.rows, extra.right);
    const std::vector<const ComparisonRow*> worst = worst_rows(comparison.rows);
    if (!worst.empty()) html += "<h3>The worst rows</h3>\n" + table(row_cells(worst));
    return html + lines(comparison.notes, "Notes") + lines(comparison.missing, "Missing") +
           all_rows(comparison);
}

std::string head(const std::vector<Comparison>& comparisons) {
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
    const std::string failure = failure_of(comparisons);
    if (!failure.empty()) html += "<p><strong>" + escape_html(failure) + "</strong></p>\n";
    return html;
}

}  // namespace

std::string comparisons_html(const std::string& title, const std::vector<Comparison>& comparisons,
                             const std::vector<std::string>& missing) {
    std::string html = "<h1>" + escape_html(title) + "</h1>\n" + head(comparisons);
    html += lines(missing, "Not yet recorded");
    for (const Comparison& comparison : comparisons) html += section(comparison);
    return sim::html_page(title, html);
}

}  // namespace heddle::validation
