// Everything that can be compared with silicon on this machine: captures, recorded vectors, publications; and
// a line for whatever is not yet recorded.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "validation/compare/result.h"

namespace heddle::validation {

enum class Subject : std::uint8_t { numerics, kernels, timing, losses, tpu };

const char* name_of(Subject subject);
/// All of them, in the order in which they are shown.
const std::vector<Subject>& subjects();

struct ValidationOptions {
    std::vector<Subject> subjects;                ///< what to compare
    std::vector<std::filesystem::path> captures;  ///< folders; see installed_captures()
    std::filesystem::path data;                   ///< third-party recordings; may be empty; see data_folder()
    bool allow_simulator = false;                 ///< a capture by the simulator is refused otherwise
    CompareOptions compare;
};

struct Validation {
    std::vector<Comparison> comparisons;
    std::vector<std::string> missing;  ///< "not yet recorded: ..."
    /// Everything that is told as not yet recorded where it is not: what sections of captures are good for.
    std::vector<std::string> looked_for;
    bool holds() const;
};

/// Throws heddle::Error for a capture or recording that is damaged, or is not there though it was named.
Validation validate(const ValidationOptions& options);

/// Captures that came with the program: <source>/validation/captures, or share/heddle/captures beside the
/// installed one.
std::vector<std::filesystem::path> installed_captures();

/// Third-party recordings: $HEDDLE_DATA, or ../shared/data beside the source tree, or empty.
std::filesystem::path data_folder();

}  // namespace heddle::validation
