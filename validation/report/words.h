// Pieces of text that the table for people and the HTML report have in common.
#pragma once

#include <string>
#include <vector>

#include "validation/compare/result.h"

namespace heddle::validation {

/// What stands on top of every page: "compared with: capture h100-2026-11-21 of NVIDIA H100 80GB HBM3,
/// 2026-11-21, driver 580.95". Of a capture made by the simulator it begins with NOT SILICON.
std::string reference_line(const Reference& reference);
/// "simulated: h100-sxm", or empty.
std::string simulated_line(const Reference& reference);

/// "41.3 us", "33 cycles".
std::string format_quantity(double value, const std::string& unit);

/// The captured figure or range of a row, and how far the simulated one is from it ("within" a range).
std::string captured_text(const ComparisonRow& row);
std::string difference_text(const ComparisonRow& row);

/// Headings and cells, the first row being the heading.
struct Cells {
    std::vector<std::vector<std::string>> rows;
    std::vector<bool> right;
};
Cells category_cells(const Comparison& comparison);
Cells bar_cells(const Comparison& comparison);
/// Columns that no row fills are left out.
Cells row_cells(const std::vector<const ComparisonRow*>& rows);

}  // namespace heddle::validation
