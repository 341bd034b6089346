// The table of accuracy (docs/validation.md), made from comparisons.
#pragma once

#include <string>
#include <vector>

#include "validation/compare/result.h"

namespace heddle::validation {

inline constexpr const char* kAccuracyBegin = "<!-- accuracy: written by `heddle validate --readme` -->";
inline constexpr const char* kAccuracyEnd = "<!-- end of accuracy -->";

/// The state of a subject of which there is no capture, as it stands in AccuracyRun::missing.
inline constexpr const char* kNotYetRecorded = "not yet recorded";

/// What one run of `heddle validate` has to say in the table.
struct AccuracyRun {
    std::vector<Comparison> comparisons;
    std::vector<std::string> missing;  ///< "not yet recorded: training": a state, and what is in it
    /// Everything about which the run would have said that it is not yet recorded. Of what a table says is
    /// missing, the rest is kept.
    std::vector<std::string> looked_for;
};

/// A Markdown table, a line that says what its words mean, and a sentence for each state of what is missing.
/// A row is a subject and what it is compared with: one comparison, or, of boards of one family
/// (Reference::family), several. Errors of rows that no hardware file uses come first, by themselves.
std::string accuracy_table(const AccuracyRun& run);

/// The same, in place of what `before` says: a table that accuracy_table() wrote, or nothing. Rows of
/// `before` that the run did not make are kept where they are; they are appended to `kept`, if that is given,
/// as "subject: what it is compared with". Throws heddle::Error naming `file` where `before` is another
/// table.
std::string renewed_accuracy_table(const std::string& before, const AccuracyRun& run, const std::string& file,
                                   std::vector<std::string>* kept = nullptr);

/// What stands between the markers; throws heddle::Error naming `file` when they are not there.
std::string accuracy_block(const std::string& text, const std::string& file);
/// The text with `table` between the markers.
std::string with_accuracy_block(const std::string& text, const std::string& table, const std::string& file);

}  // namespace heddle::validation
