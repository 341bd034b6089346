// The accuracy table of the README, made from comparisons.
#pragma once

#include <string>
#include <vector>

#include "validation/compare/result.h"

namespace heddle::validation {

inline constexpr const char* kAccuracyBegin = "<!-- accuracy: written by `heddle validate --readme` -->";
inline constexpr const char* kAccuracyEnd = "<!-- end of accuracy -->";

/// A Markdown table: a row for each comparison with its reference and result, and one for each line of
/// `missing`.
std::string accuracy_table(const std::vector<Comparison>& comparisons,
                           const std::vector<std::string>& missing);

/// What stands between the markers; throws heddle::Error naming `file` when they are not there.
std::string accuracy_block(const std::string& text, const std::string& file);
/// The text with `table` between the markers.
std::string with_accuracy_block(const std::string& text, const std::string& table, const std::string& file);

}  // namespace heddle::validation
