// The report of a validation for a browser: one file, without links to anything outside it, readable without
// JavaScript, which adds hover, sorting and CSV files (sim/report/page.h).
#pragma once

#include <string>
#include <vector>

#include "validation/compare/result.h"

namespace heddle::validation {

/// `title` heads the page; `missing` are the lines about what is not yet recorded.
std::string comparisons_html(const std::string& title, const std::vector<Comparison>& comparisons,
                             const std::vector<std::string>& missing);

}  // namespace heddle::validation
