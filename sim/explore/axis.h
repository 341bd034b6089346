// A parameter that an exploration varies, and its range: `sm.count=66..264:33`,
// `tensor.macs_per_cycle.f16=512..4096:*2`, `l2.size=25MiB,50MiB`.
#pragma once

#include <string>
#include <vector>

#include "models/common/parameter.h"

namespace heddle::explore {

/// One axis of the design space. Values are in base units; a word is represented by its index among the
/// parameter's choices.
struct Axis {
    std::string path;
    std::string text;  ///< the range as the user wrote it
    /// Distinct values in the order of the text; empty: any number from `low` to `high`.
    std::vector<double> values;
    double low = 0, high = 0;
    bool logarithmic = false;  ///< steps are factors, or `high` is at least 8 times `low`
    bool integral = false;     ///< the parameter takes whole numbers only

    bool continuous() const { return values.empty(); }
    /// Converts a coordinate to a value: an index of `values`, or, on a continuous axis, 0..1, whose values
    /// are rounded to four digits.
    double value_at(double coordinate) const;
};

/// Reads `PATH=RANGE`. Commas separate the parts of a range: a value; `LOW..HIGH:STEP`; `LOW..HIGH:*FACTOR`;
/// or `LOW..HIGH`, which stands for every whole number of a count and for any number of other quantities. A
/// unit after HIGH also applies to LOW and STEP where they have none. Throws heddle::Error that names --vary,
/// the token and the nearest parameter.
Axis parse_axis(const std::string& assignment, const models::ParameterList& parameters);

/// Returns the text without blanks and tabs at its ends.
std::string trimmed(const std::string& text);

/// Rounds to a number of significant digits and returns the double nearest to that decimal, also for the
/// smallest doubles, which std::stod() rejects.
double rounded(double value, int digits);

/// Returns the parameter of a path. Throws heddle::Error that names `option` and the nearest path.
const models::Parameter& find_parameter(const std::string& path, const models::ParameterList& parameters,
                                        const std::string& option);

}  // namespace heddle::explore
