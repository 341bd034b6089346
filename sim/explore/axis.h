// A parameter to vary, and over what: `sm.count=66..264:33`, `tensor.macs_per_cycle.f16=512..4096:*2`,
// `l2.size=25MiB,50MiB`.
#pragma once

#include <string>
#include <vector>

#include "models/common/parameter.h"

namespace heddle::explore {

/// Values in base units; words by their position among the choices.
struct Axis {
    std::string path;
    std::string text;            ///< the range as asked for
    std::vector<double> values;  ///< in the order of the text, each once; empty: any number from low to high
    double low = 0, high = 0;
    bool logarithmic = false;  ///< steps are factors, or low and high are a factor of 8 and more apart
    bool integral = false;

    bool continuous() const { return values.empty(); }
    /// Of a coordinate: an index of `values`, or 0..1 of a continuous axis, whose numbers are rounded to four
    /// digits.
    double value_at(double coordinate) const;
};

/// Reads `PATH=RANGE`. Parts of a range are separated by commas: a value; `LOW..HIGH:STEP`,
/// `LOW..HIGH:*FACTOR`; `LOW..HIGH` is every whole number of a count, and any number of other quantities. A
/// unit behind HIGH holds for LOW and STEP too where they have none. Throws heddle::Error that names --vary,
/// the token, and the nearest parameter.
Axis parse_axis(const std::string& assignment, const models::ParameterList& parameters);

/// Without blanks and tabs at its ends.
std::string trimmed(const std::string& text);

/// To so many digits, as the double nearest to that decimal. The smallest doubles too, which std::stod()
/// refuses.
double rounded(double value, int digits);

/// The parameter of a path. Throws heddle::Error naming `option` and the nearest path.
const models::Parameter& find_parameter(const std::string& path, const models::ParameterList& parameters,
                                        const std::string& option);

}  // namespace heddle::explore
