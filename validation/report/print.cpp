#include "validation/report/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/report/numbers.h"
#include "sim/report/text_table.h"
#include "validation/report/words.h"

namespace heddle::validation {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestNote = 160;

std::string aligned(const Cells& cells, std::size_t width) {
    return cells.rows.size() < 2 ? "" : "\n" + sim::fit_columns(cells.rows, cells.right, width);
}

/// Notes with a row's inputs are long; all of them are in the JSON and the HTML.
Cells with_short_notes(Cells cells) {
    for (auto& row : cells.rows)
        for (std::string& cell : row)
            if (cell.size() > kLongestNote) cell = cell.substr(0, kLongestNote) + "...";
    return cells;
}

std::string histogram_text(const Histogram& histogram) {
    std::uint64_t total = 0;
    for (const Histogram::Bin& bin : histogram.bins) total += bin.count;
    if (total == 0) return {};
    std::string text = "\n" + histogram.title + ":";
    const char* separator = " ";
    for (const Histogram::Bin& bin : histogram.bins) {
        text += separator + bin.label + ": " + sim::format_count(bin.count);
        separator = ", ";
    }
    return text + "\n";
}

template <typename T>
Json optional_json(const std::optional<T>& value) {
    return value ? Json(*value) : Json();
}

Json bits_json(const BitCount& bits) {
    return {{"identical", bits.identical}, {"total", bits.total}};
}

Json row_json(const ComparisonRow& row) {
    Json json{{"name", row.name}, {"category", row.category}};
    if (row.captured || row.simulated) {
        json["captured"] = optional_json(row.captured);
        json["simulated"] = optional_json(row.simulated);
        if (row.range) json["captured_range"] = {row.range->first, row.range->second};
        json["unit"] = row.unit;
        json["error"] = optional_json(relative_error(row));
    }
    if (row.bits) json["bits"] = bits_json(*row.bits);
    if (row.largest_ulp) json["largest_ulp"] = *row.largest_ulp;
    if (row.frobenius) json["frobenius"] = *row.frobenius;
    if (row.bound) json["bound"] = *row.bound;
    if (!row.note.empty()) json["note"] = row.note;
    return json;
}

Json category_json(const CategorySummary& summary) {
    Json json{{"category", summary.category}, {"rows", summary.rows}};
    if (summary.rows_with_bits > 0) {
        json["rows_with_bits"] = summary.rows_with_bits;
        json["rows_identical"] = summary.rows_identical;
        json["bits"] = bits_json(summary.bits);
    }
    if (summary.largest_frobenius) json["largest_frobenius"] = *summary.largest_frobenius;
    if (summary.quantities > 0) {
        json["quantities"] = summary.quantities;
        json["mape"] = summary.mean_error;
        json["median"] = summary.median_error;
        json["p90"] = summary.error_90;
        json["largest_error"] = summary.largest_error;
        json["correlation"] = optional_json(summary.correlation);
    }
    return json;
}

Json bar_json(const Bar& bar) {
    return {{"text", bar.text},       {"at_least", bar.at_least}, {"required", bar.required},
            {"reached", bar.reached}, {"unit", bar.unit},         {"holds", bar.holds()}};
}

Json comparison_json(const Comparison& comparison) {
    const Reference& reference = comparison.reference;
    Json json{{"title", comparison.title},
              {"reference",
               {{"kind", reference.kind},
                {"name", reference.name},
                {"device", reference.device},
                {"date", reference.date},
                {"driver", reference.driver},
                {"silicon", reference.silicon},
                {"hardware", reference.hardware}}},
              {"holds", comparison.holds()}};
    for (const char* list : {"bars", "categories", "rows", "worst", "tables", "histograms"})
        json[list] = Json::array();
    for (const Bar& bar : comparison.bars) json["bars"].push_back(bar_json(bar));
    for (const CategorySummary& summary : summarise(comparison.rows))
        json["categories"].push_back(category_json(summary));
    for (const ComparisonRow& row : comparison.rows) json["rows"].push_back(row_json(row));
    for (const ComparisonRow* row : worst_rows(comparison.rows)) json["worst"].push_back(row->name);
    for (const ResultTable& table : comparison.tables)
        json["tables"].push_back({{"title", table.title}, {"rows", table.rows}});
    for (const Histogram& histogram : comparison.histograms) {
        Json bins = Json::array();
        for (const Histogram::Bin& bin : histogram.bins)
            bins.push_back({{"label", bin.label}, {"count", bin.count}});
        json["histograms"].push_back({{"title", histogram.title}, {"bins", bins}});
    }
    json["notes"] = comparison.notes;
    json["missing"] = comparison.missing;
    return json;
}

}  // namespace

std::string format_comparison(const Comparison& comparison, bool all_rows, std::size_t width) {
    std::string text = comparison.title + "\n" + reference_line(comparison.reference) + "\n";
    const std::string simulated = simulated_line(comparison.reference);
    if (!simulated.empty()) text += simulated + "\n";
    text += aligned(category_cells(comparison), width);
    std::vector<const ComparisonRow*> shown = worst_rows(comparison.rows);
    if (all_rows) {
        shown.clear();
        for (const ComparisonRow& row : comparison.rows) shown.push_back(&row);
    }
    if (!shown.empty()) {
        text += all_rows ? "\nrows:" : fmt::format("\nthe worst {}:", shown.size());
        text += aligned(with_short_notes(row_cells(shown)), width);
    }
    for (const ResultTable& table : comparison.tables)
        if (table.rows.size() > 1)
            text += "\n" + table.title + ":\n" + sim::fit_columns(table.rows, table.right, width);
    for (const Histogram& histogram : comparison.histograms)
        text += sim::wrap_lines(histogram_text(histogram), width);
    text += aligned(bar_cells(comparison), width);
    if (!comparison.notes.empty() || !comparison.missing.empty()) text += "\n";
    for (const std::string& note : comparison.notes) text += sim::wrap_lines("note: " + note + "\n", width);
    for (const std::string& line : comparison.missing) text += sim::wrap_lines(line + "\n", width);
    return text;
}

std::string comparisons_json(const std::vector<Comparison>& comparisons,
                             const std::vector<std::string>& missing) {
    Json json{{"schema", 1}, {"holds", failure_of(comparisons, missing).empty()}};
    json["comparisons"] = Json::array();
    for (const Comparison& comparison : comparisons)
        json["comparisons"].push_back(comparison_json(comparison));
    json["missing"] = missing;
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string failure_of(const std::vector<Comparison>& comparisons, const std::vector<std::string>& missing) {
    if (!anything_compared(comparisons)) {
        std::string why;
        for (const Comparison& comparison : comparisons)
            if (why.empty() && !comparison.missing.empty()) why = comparison.missing.front();
        if (why.empty() && !missing.empty()) why = missing.front();
        return "nothing was compared" + (why.empty() ? "" : ": " + why);
    }
    std::size_t failed = 0, all = 0;
    std::string first;
    for (const Comparison& comparison : comparisons) {
        for (const Bar& bar : comparison.bars) {
            ++all;
            if (bar.holds()) continue;
            if (failed++ == 0)
                first = fmt::format("{}: {}: {:.7g} {}", comparison.title, bar.text, bar.reached, bar.unit);
        }
    }
    return failed == 0 ? "" : fmt::format("{} of {} bars do not hold, the first: {}", failed, all, first);
}

}  // namespace heddle::validation
