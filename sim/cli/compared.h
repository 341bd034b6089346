// A comparison of nothing is no success: it would pass every bar.
#pragma once

#include <cstddef>
#include <string>

#include "sim/cli/commands.h"

namespace heddle::cli {

/// To be called when the results have been printed: `rows` were compared. When none was, the command ends
/// with exit code 1 and says `why`.
inline void require_compared(std::size_t rows, const std::string& why) {
    if (rows == 0) throw ComparisonFailed{"nothing was compared: " + why};
}

/// `why` of a table whose rows have a `failure` each.
template <typename Rows>
std::string why_none_was_timed(const Rows& rows, const std::string& table) {
    for (const auto& row : rows)
        if (!row.failure.empty()) return "no row of " + table + " could be timed, the first: " + row.failure;
    return "no row of " + table + " is left";
}

}  // namespace heddle::cli
