#include "validation/compare/result.h"

#include <algorithm>
#include <cmath>

namespace heddle::validation {
namespace {

/// The value below which `fraction` of the sorted values lie, interpolated between neighbours.
double quantile(const std::vector<double>& sorted, double fraction) {
    if (sorted.empty()) return 0;
    const double place = fraction * static_cast<double>(sorted.size() - 1);
    const std::size_t below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (sorted[above] - sorted[below]) * (place - static_cast<double>(below));
}

std::optional<double> correlation(const std::vector<double>& x, const std::vector<double>& y) {
    if (x.size() < 3) return std::nullopt;
    const double n = static_cast<double>(x.size());
    double mean_x = 0, mean_y = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        mean_x += x[i] / n;
        mean_y += y[i] / n;
    }
    double xx = 0, yy = 0, xy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        yy += (y[i] - mean_y) * (y[i] - mean_y);
        xy += (x[i] - mean_x) * (y[i] - mean_y);
    }
    if (!(xx > 0) || !(yy > 0)) return std::nullopt;
    return xy / std::sqrt(xx * yy);
}

void summarise_quantities(const std::vector<const ComparisonRow*>& rows, CategorySummary& summary) {
    std::vector<double> errors, captured, simulated;
    for (const ComparisonRow* row : rows) {
        const std::optional<double> error = relative_error(*row);
        if (!error) continue;
        errors.push_back(*error);
        captured.push_back(std::log(*row->captured));
        simulated.push_back(std::log(*row->simulated));
    }
    summary.quantities = errors.size();
    if (errors.empty()) return;
    for (const double error : errors) summary.mean_error += error / static_cast<double>(errors.size());
    std::sort(errors.begin(), errors.end());
    summary.median_error = quantile(errors, 0.5);
    summary.error_90 = quantile(errors, 0.9);
    summary.largest_error = errors.back();
    summary.correlation = correlation(captured, simulated);
}

CategorySummary summary_of(const std::string& category, const std::vector<const ComparisonRow*>& rows) {
    CategorySummary summary;
    summary.category = category;
    summary.rows = rows.size();
    summarise_quantities(rows, summary);
    for (const ComparisonRow* row : rows) {
        if (row->frobenius)
            summary.largest_frobenius = std::max(summary.largest_frobenius.value_or(0), *row->frobenius);
        if (!row->bits) continue;
        ++summary.rows_with_bits;
        if (row->bits->all()) ++summary.rows_identical;
        summary.bits.identical += row->bits->identical;
        summary.bits.total += row->bits->total;
    }
    return summary;
}

/// How bad a row is; 0: not at all, or not known.
double badness(const ComparisonRow& row) {
    if (const std::optional<double> error = relative_error(row)) return *error;
    if (row.bits && row.bits->total > 0) return 1 - row.bits->fraction();
    return row.frobenius && row.bound && *row.bound > 0 ? *row.frobenius / *row.bound : 0;
}

}  // namespace

Bar at_least(std::string text, double reached, double required, std::string unit) {
    return {std::move(text), required, reached, std::move(unit), true};
}

Bar at_most(std::string text, double reached, double required, std::string unit) {
    return {std::move(text), required, reached, std::move(unit), false};
}

bool Comparison::holds() const {
    return std::all_of(bars.begin(), bars.end(), [](const Bar& bar) { return bar.holds(); });
}

bool anything_compared(const std::vector<Comparison>& comparisons) {
    const auto compared = [](const ComparisonRow& row) {
        return (row.captured && row.simulated) || (row.bits && row.bits->total > 0) || row.frobenius;
    };
    return std::any_of(comparisons.begin(), comparisons.end(), [&](const Comparison& each) {
        return std::any_of(each.rows.begin(), each.rows.end(), compared);
    });
}

std::optional<double> relative_error(const ComparisonRow& row) {
    if (!row.captured || !row.simulated || !(*row.captured > 0) || !(*row.simulated > 0)) return std::nullopt;
    if (row.range && *row.simulated >= row.range->first && *row.simulated <= row.range->second) return 0;
    const double nearest = !row.range                          ? *row.captured
                           : *row.simulated < row.range->first ? row.range->first
                                                               : row.range->second;
    return std::abs(*row.simulated / nearest - 1);
}

std::vector<CategorySummary> summarise(const std::vector<ComparisonRow>& rows) {
    std::vector<std::string> categories;
    std::map<std::string, std::vector<const ComparisonRow*>> by_category;
    std::vector<const ComparisonRow*> all;
    all.reserve(rows.size());
    for (const ComparisonRow& row : rows) {
        std::vector<const ComparisonRow*>& members = by_category[row.category];
        if (members.empty()) categories.push_back(row.category);
        members.push_back(&row);
        all.push_back(&row);
    }
    std::vector<CategorySummary> summaries;
    summaries.reserve(categories.size() + 1);
    for (const std::string& category : categories)
        summaries.push_back(summary_of(category, by_category[category]));
    if (summaries.size() > 1) summaries.push_back(summary_of("all", all));
    return summaries;
}

std::vector<const ComparisonRow*> worst_rows(const std::vector<ComparisonRow>& rows, std::size_t count) {
    std::vector<const ComparisonRow*> worst;
    for (const ComparisonRow& row : rows)
        if (badness(row) > 0) worst.push_back(&row);
    std::stable_sort(worst.begin(), worst.end(), [](const ComparisonRow* a, const ComparisonRow* b) {
        return badness(*a) > badness(*b);
    });
    if (worst.size() > count) worst.resize(count);
    return worst;
}

void add_error_bars(Comparison& comparison, const CompareOptions& options) {
    for (const CategorySummary& summary : summarise(comparison.rows)) {
        const auto bar = options.error_bars.find(summary.category);
        if (bar != options.error_bars.end() && summary.quantities > 0)
            comparison.bars.push_back(
                at_most("mean error of " + summary.category, summary.mean_error * 100, bar->second));
    }
}

}  // namespace heddle::validation
