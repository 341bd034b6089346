#include "sim/explore/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "isa/common/error.h"
#include "sim/config/quantity.h"

namespace heddle::explore {
namespace {

using models::Parameter;

constexpr std::size_t kMostValues = 100000;
constexpr double kFarApart = 8;

[[noreturn]] void refuse(const std::string& problem, const std::string& path, const std::string& remedy) {
    throw Error(problem, {"--vary", 0, path}, remedy);
}

/// The unit behind a number: "MiB" of "50 MiB".
std::string unit_of(const std::string& text) {
    std::size_t at = 0;
    while (at < text.size() && (std::isdigit(static_cast<unsigned char>(text[at])) != 0 || text[at] == '.' ||
                                text[at] == '-' || text[at] == '+'))
        ++at;
    return trimmed(text.substr(at));
}

bool is_bare(const std::string& text) {
    double number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    return failure == std::errc{} && end == text.data() + text.size();
}

std::string with_unit(const std::string& text, const std::string& unit) {
    return is_bare(text) && !unit.empty() ? text + " " + unit : text;
}

double value_of(const std::string& text, const Parameter& parameter) {
    try {
        return sim::parse_parameter(text, parameter);
    } catch (const Error& failure) {
        refuse(failure.problem(), parameter.path, failure.remedy());
    }
}

/// Of a step or a factor: not bound to the parameter's range.
double step_of(const std::string& text, const Parameter& parameter) {
    try {
        return sim::parse_quantity(text, parameter.quantity);
    } catch (const Error& failure) {
        refuse(failure.problem(), parameter.path, failure.remedy());
    }
}

class AxisReader {
  public:
    AxisReader(Axis& axis, const Parameter& parameter) : axis_(axis), parameter_(parameter) {}

    void read() {
        const std::string& text = axis_.text;
        for (std::size_t begin = 0; begin <= text.size();) {
            const std::size_t end = std::min(text.find(',', begin), text.size());
            part(trimmed(text.substr(begin, end - begin)));
            begin = end + 1;
        }
        if (any_number_ && !axis_.values.empty())
            refuse("`" + text + "` mixes single values with a range without steps", axis_.path,
                   "give the range a step: `1..8:1`");
        if (any_number_) {
            axis_.logarithmic = axis_.low > 0 && axis_.high >= kFarApart * axis_.low;
            return;
        }
        std::vector<double> once;
        for (const double value : axis_.values)
            if (std::find(once.begin(), once.end(), value) == once.end()) once.push_back(value);
        axis_.values = std::move(once);
        const auto [low, high] = std::minmax_element(axis_.values.begin(), axis_.values.end());
        axis_.low = *low;
        axis_.high = *high;
        axis_.logarithmic = parameter_.choices.empty() && axis_.values.size() > 2 && *low > 0 && factors_;
    }

  private:
    void part(const std::string& text) {
        if (text.empty())
            refuse("`" + axis_.text + "` has an empty part", axis_.path, "write values between the commas");
        const std::size_t dots = text.find("..");
        if (dots == std::string::npos) {
            axis_.values.push_back(value_of(text, parameter_));
            return;
        }
        if (!parameter_.choices.empty())
            refuse("`" + text + "`: words have no range", axis_.path,
                   "list them: " + sim::format_range(parameter_));
        const std::string low_text = trimmed(text.substr(0, dots));
        std::string high_text = trimmed(text.substr(dots + 2)), step_text;
        if (const std::size_t colon = high_text.find(':'); colon != std::string::npos) {
            step_text = trimmed(high_text.substr(colon + 1));
            high_text = trimmed(high_text.substr(0, colon));
            if (step_text.empty())
                refuse("`" + text + "` has no step behind the colon", axis_.path,
                       "write `1..8:1` or `1..8:*2`");
        }
        const std::string unit = unit_of(high_text);
        const double low = value_of(with_unit(low_text, unit), parameter_),
                     high = value_of(high_text, parameter_);
        if (low > high)
            refuse("`" + text + "` is an empty range: it ends before it begins", axis_.path,
                   "write the smaller end first");
        if (step_text.empty() && !axis_.integral) {
            any_number_ = true;
            axis_.low = low;
            axis_.high = high;
        } else if (!step_text.empty() && step_text[0] == '*') {
            multiply(low, high, step_text);
        } else {
            add(low, high, step_text.empty() ? 1 : step_of(with_unit(step_text, unit), parameter_), text);
        }
    }

    void multiply(double low, double high, const std::string& step_text) {
        double factor = 0;
        const auto [end, failure] =
            std::from_chars(step_text.data() + 1, step_text.data() + step_text.size(), factor);
        if (failure != std::errc{} || end != step_text.data() + step_text.size() || !(factor > 1) ||
            !(low > 0))
            refuse("`" + step_text + "` is no factor that leads from the low to the high end", axis_.path,
                   "write a bare number above 1: `1..8:*2`, and begin above 0");
        factors_ = true;
        for (double value = low; value <= high * (1 + 1e-12); value *= factor) push(value);
    }

    void add(double low, double high, double step, const std::string& text) {
        if (!(step > 0))
            refuse("`" + text + "` never ends: its step is not above 0", axis_.path, "write `1..8:1`");
        if ((high - low) / step > static_cast<double>(kMostValues))
            refuse("`" + text + "` has too many values", axis_.path, "take a larger step");
        const auto count = static_cast<std::size_t>(std::floor((high - low) / step * (1 + 1e-12) + 1e-9));
        for (std::size_t i = 0; i <= count; ++i) push(low + static_cast<double>(i) * step);
    }

    void push(double value) {
        // Steps of a decimal fraction would leave its binary dust in every name.
        const double clean = axis_.integral ? value : rounded(value, 12);
        if (axis_.integral && clean != std::floor(clean))
            refuse(fmt::format("`{}` leads to {:g}, and this parameter is a whole number", axis_.text, clean),
                   axis_.path, "take a whole step");
        axis_.values.push_back(clean);
        if (axis_.values.size() > kMostValues)
            refuse("`" + axis_.text + "` has too many values", axis_.path, "take a larger step");
    }

    Axis& axis_;
    const Parameter& parameter_;
    bool any_number_ = false, factors_ = false;
};

}  // namespace

std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t");
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

double rounded(double value, int digits) {
    const std::string text = fmt::format("{:.{}g}", value, digits);
    double nearest = value;
    std::from_chars(text.data(), text.data() + text.size(), nearest);
    return nearest;
}

double Axis::value_at(double coordinate) const {
    if (!continuous()) {
        const double last = static_cast<double>(values.size()) - 1;
        return values[static_cast<std::size_t>(std::clamp(std::floor(coordinate), 0.0, last))];
    }
    const double part = std::clamp(coordinate, 0.0, 1.0);
    const double value = logarithmic ? low * std::pow(high / low, part) : low + (high - low) * part;
    return std::clamp(rounded(value, 4), low, high);
}

const Parameter& find_parameter(const std::string& path, const models::ParameterList& parameters,
                                const std::string& option) {
    std::vector<std::string> paths;
    for (const Parameter& parameter : parameters.parameters()) {
        if (parameter.path == path) return parameter;
        paths.push_back(parameter.path);
    }
    // A parameter of the same group is nearer to what was meant.
    const std::string group = path.substr(0, path.rfind('.') + 1);
    std::vector<std::string> siblings;
    for (const std::string& other : paths)
        if (!group.empty() && other.rfind(group, 0) == 0) siblings.push_back(other);
    std::string near = nearest_word(path, siblings.data(), siblings.size());
    if (near.empty()) near = nearest_word(path, paths.data(), paths.size());
    throw Error(
        "unknown parameter `" + path + "`", {option, 0, ""},
        near.empty() ? "`heddle hardware describe` lists every parameter" : "did you mean `" + near + "`?");
}

Axis parse_axis(const std::string& assignment, const models::ParameterList& parameters) {
    const std::size_t equals = assignment.find('=');
    if (equals == 0 || equals == std::string::npos)
        throw Error("`" + assignment + "` varies nothing", {"--vary", 0, ""},
                    "write a parameter and its values: --vary 'sm.count=66..264:33'");
    Axis axis;
    axis.path = trimmed(assignment.substr(0, equals));
    axis.text = trimmed(assignment.substr(equals + 1));
    const Parameter& parameter = find_parameter(axis.path, parameters, "--vary");
    if (parameter.text != nullptr || parameter.list != nullptr)
        refuse("this parameter is not one number", axis.path, "it can be set with --set only");
    axis.integral = parameter.integral;
    AxisReader(axis, parameter).read();
    return axis;
}

}  // namespace heddle::explore
