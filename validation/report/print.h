// Comparisons for people, on a terminal, and for scripts.
#pragma once

#include <string>
#include <vector>

#include "validation/compare/result.h"

namespace heddle::validation {

/// Where the other side's figures come from, categories, the worst rows, tables, bars, notes and what is
/// missing. `all_rows` adds every row; `width`: of the lines, 0: no limit.
std::string format_comparison(const Comparison& comparison, bool all_rows = false, std::size_t width = 0);

/// {"schema": 1, "holds": ..., "comparisons": [...], "missing": [...]}: everything, with every row. Figures
/// that are not numbers are null.
std::string comparisons_json(const std::vector<Comparison>& comparisons,
                             const std::vector<std::string>& missing);

/// The bars that do not hold, or that nothing was compared and why, for the last line of a failing command;
/// empty when all hold. `missing`: what there was nothing to compare with.
std::string failure_of(const std::vector<Comparison>& comparisons, const std::vector<std::string>& missing);

}  // namespace heddle::validation
