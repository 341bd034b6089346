// A comparison without any rows must not count as a success, because it would satisfy every threshold.
#pragma once

#include <cstddef>
#include <string>

#include "sim/cli/commands.h"

namespace heddle::cli {

/// Call this after the results have been printed; `rows` is the number of compared rows. When it is 0, the
/// command ends with exit code 1 and gives the reason `why`.
inline void require_compared(std::size_t rows, const std::string& why) {
    if (rows == 0) throw ComparisonFailed{"nothing was compared: " + why};
}

/// Returns that reason for a table whose rows have a `failure` each.
template <typename Rows>
std::string why_none_was_timed(const Rows& rows, const std::string& table) {
    for (const auto& row : rows)
        if (!row.failure.empty()) return "no row of " + table + " could be timed, the first: " + row.failure;
    return "no row of " + table + " is left";
}

}  // namespace heddle::cli
