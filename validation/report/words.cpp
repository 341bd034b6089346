#include "validation/report/words.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/numbers.h"

namespace heddle::validation {
namespace {

/// 99.99 % must not print as 100 %.
std::string per_cent(double value) {
    std::string text = fmt::format("{:.5g}", value);
    for (int digits = 6; value != 100 && text == "100" && digits <= 17; ++digits)
        text = fmt::format("{:.{}g}", value, digits);
    return text + " %";
}

std::string share(double fraction) {
    return fmt::format("{:.1f} %", 100 * fraction);
}

std::string bits_text(const BitCount& bits) {
    return sim::format_count(bits.identical) + " of " + sim::format_count(bits.total);
}

std::string short_number(double value) {
    return fmt::format("{:.3g}", value);
}

/// Takes away the columns that are empty in every row but the heading; the first always stays.
Cells without_empty_columns(Cells cells) {
    for (std::size_t column = cells.right.size(); column-- > 1;) {
        const bool empty = std::all_of(cells.rows.begin() + 1, cells.rows.end(),
                                       [&](const auto& row) { return row[column].empty(); });
        if (!empty) continue;
        for (auto& row : cells.rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
        cells.right.erase(cells.right.begin() + static_cast<std::ptrdiff_t>(column));
    }
    return cells;
}

std::string bar_value(double value, const std::string& unit) {
    return unit == "%" ? per_cent(value) : fmt::format("{:.4g}{}{}", value, unit.empty() ? "" : " ", unit);
}

}  // namespace

std::string reference_line(const Reference& reference) {
    std::string line = reference.silicon ? "" : "NOT SILICON, made by Heddle's own simulator; ";
    line += "compared with: " + reference.kind;
    if (!reference.name.empty()) line += " " + reference.name;
    if (!reference.device.empty()) line += " of " + reference.device;
    if (!reference.date.empty()) line += ", " + reference.date;
    if (!reference.driver.empty()) line += ", " + reference.driver;
    return line;
}

std::string simulated_line(const Reference& reference) {
    return reference.hardware.empty() ? "" : "simulated: " + reference.hardware;
}

std::string format_quantity(double value, const std::string& unit) {
    if (unit == "us") return sim::format_microseconds(value);
    return fmt::format("{:.4g}{}{}", value, unit.empty() ? "" : " ", unit);
}

Cells category_cells(const Comparison& comparison) {
    Cells cells{{{"category", "rows", "rows identical", "elements identical", "worst Frobenius error",
                  "with figures", "mean error", "median", "90 %", "worst", "r"}},
                {false, true, true, true, true, true, true, true, true, true, true}};
    for (const CategorySummary& summary : summarise(comparison.rows)) {
        std::vector<std::string> row{summary.category, sim::format_count(summary.rows)};
        row.push_back(
            summary.rows_with_bits == 0 ? "" : bits_text({summary.rows_identical, summary.rows_with_bits}));
        row.push_back(summary.rows_with_bits == 0 ? "" : bits_text(summary.bits));
        row.push_back(summary.largest_frobenius ? short_number(*summary.largest_frobenius) : "");
        const bool figures = summary.quantities > 0;
        row.push_back(figures ? sim::format_count(summary.quantities) : "");
        for (const double error :
             {summary.mean_error, summary.median_error, summary.error_90, summary.largest_error})
            row.push_back(figures ? share(error) : "");
        row.push_back(summary.correlation ? fmt::format("{:.3f}", *summary.correlation) : "");
        cells.rows.push_back(std::move(row));
    }
    return without_empty_columns(std::move(cells));
}

Cells bar_cells(const Comparison& comparison) {
    Cells cells{{{"bar", "required", "reached", ""}}, {false, true, true, false}};
    for (const Bar& bar : comparison.bars) {
        cells.rows.push_back({bar.text,
                              (bar.at_least ? "at least " : "at most ") + bar_value(bar.required, bar.unit),
                              bar_value(bar.reached, bar.unit), bar.holds() ? "holds" : "DOES NOT HOLD"});
    }
    return cells;
}

std::string captured_text(const ComparisonRow& row) {
    if (!row.captured) return "";
    if (!row.range) return format_quantity(*row.captured, row.unit);
    return fmt::format("{:.4g} to ", row.range->first) + format_quantity(row.range->second, row.unit);
}

std::string difference_text(const ComparisonRow& row) {
    if (!row.captured || !row.simulated) return "";
    if (!row.range) return sim::format_difference(*row.simulated, *row.captured);
    if (*row.simulated < row.range->first) return sim::format_difference(*row.simulated, row.range->first);
    if (*row.simulated > row.range->second) return sim::format_difference(*row.simulated, row.range->second);
    return "within";
}

Cells row_cells(const std::vector<const ComparisonRow*>& rows) {
    Cells cells{{{"name", "category", "captured", "simulated", "difference", "bits identical", "largest ULP",
                  "Frobenius error", "bound", "note"}},
                {false, false, true, true, true, true, true, true, true, false}};
    for (const ComparisonRow* row : rows) {
        cells.rows.push_back({row->name, row->category, captured_text(*row),
                              row->simulated ? format_quantity(*row->simulated, row->unit) : "",
                              difference_text(*row), row->bits ? bits_text(*row->bits) : "",
                              row->largest_ulp ? sim::format_count(*row->largest_ulp) : "",
                              row->frobenius ? short_number(*row->frobenius) : "",
                              row->bound ? short_number(*row->bound) : "", row->note});
    }
    return without_empty_columns(std::move(cells));
}

}  // namespace heddle::validation
