#include "sim/config/quantity.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <string_view>

#include "isa/common/error.h"

namespace heddle::sim {
namespace {

using models::Parameter;
using models::Quantity;

struct Unit {
    std::string_view symbol;
    double factor;
    bool preferred = true;  ///< format_quantity() may choose it
};

constexpr double kKibi = 1024.0, kMebi = kKibi * 1024, kGibi = kMebi * 1024, kTebi = kGibi * 1024;

constexpr std::array kCountUnits{Unit{"", 1}};
constexpr std::array kFrequencyUnits{Unit{"Hz", 1}, Unit{"kHz", 1e3}, Unit{"MHz", 1e6}, Unit{"GHz", 1e9}};
constexpr std::array kByteUnits{Unit{"B", 1},       Unit{"KiB", kKibi}, Unit{"MiB", kMebi},
                                Unit{"GiB", kGibi}, Unit{"TiB", kTebi}, Unit{"kB", 1e3},
                                Unit{"MB", 1e6},    Unit{"GB", 1e9},    Unit{"TB", 1e12}};
constexpr std::array kBandwidthUnits{Unit{"B/s", 1},
                                     Unit{"kB/s", 1e3},
                                     Unit{"MB/s", 1e6},
                                     Unit{"GB/s", 1e9},
                                     Unit{"TB/s", 1e12},
                                     Unit{"KiB/s", kKibi, false},
                                     Unit{"MiB/s", kMebi, false},
                                     Unit{"GiB/s", kGibi, false},
                                     Unit{"TiB/s", kTebi, false},
                                     Unit{"Mb/s", 1e6 / 8, false},
                                     Unit{"Gb/s", 1e9 / 8, false},
                                     Unit{"Tb/s", 1e12 / 8, false}};
constexpr std::array kPerCycleUnits{Unit{"B/cycle", 1}, Unit{"KiB/cycle", kKibi, false}};
constexpr std::array kCycleUnits{Unit{"cycles", 1}, Unit{"cycle", 1, false}};
constexpr std::array kTimeUnits{Unit{"ps", 1e-12}, Unit{"ns", 1e-9}, Unit{"us", 1e-6},
                                Unit{"ms", 1e-3},  Unit{"s", 1},     Unit{"\u00b5s", 1e-6, false}};
constexpr std::array kPowerUnits{Unit{"mW", 1e-3}, Unit{"W", 1}, Unit{"kW", 1e3}};
constexpr std::array kEnergyUnits{Unit{"pJ", 1e-12}, Unit{"nJ", 1e-9}, Unit{"uJ", 1e-6}, Unit{"mJ", 1e-3},
                                  Unit{"J", 1}};
constexpr std::array kRatioUnits{Unit{"%", 0.01}, Unit{"", 1, false}};

std::span<const Unit> units_of(Quantity quantity) {
    switch (quantity) {
        case Quantity::count:
            return kCountUnits;
        case Quantity::frequency:
            return kFrequencyUnits;
        case Quantity::bytes:
            return kByteUnits;
        case Quantity::bandwidth:
            return kBandwidthUnits;
        case Quantity::per_cycle:
            return kPerCycleUnits;
        case Quantity::cycles:
            return kCycleUnits;
        case Quantity::time:
            return kTimeUnits;
        case Quantity::power:
            return kPowerUnits;
        case Quantity::energy:
            return kEnergyUnits;
        case Quantity::ratio:
            return kRatioUnits;
    }
    return kCountUnits;
}

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string shortest(double number) {
    std::array<char, 40> buffer{};
    // Plain notation up to 2^53, where every whole number is exact; beyond it, whatever is shortest.
    const bool plain = std::abs(number) < 9007199254740992.0 && (number == 0 || std::abs(number) >= 1e-6);
    const auto result =
        plain ? std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::fixed)
              : std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
    return result.ec == std::errc{} ? std::string(buffer.data(), result.ptr) : std::to_string(number);
}

/// value * factor, but exact where the factor is the reciprocal of a whole number (0.01, 1e-9): the division
/// rounds once and gives the double nearest to the decimal that the file states.
double scaled(double number, double factor) {
    return factor < 1 ? number / std::round(1 / factor) : number * factor;
}

[[noreturn]] void wrong_unit(const std::string& text, Quantity quantity) {
    std::string remedy = "write " + expected_form(quantity);
    std::string units;
    for (const Unit& unit : units_of(quantity)) {
        if (unit.symbol.empty()) continue;
        units += (units.empty() ? "" : ", ") + std::string(unit.symbol);
    }
    if (!units.empty()) remedy += " (units: " + units + ")";
    throw Error("`" + text + "` is not " + expected_form(quantity), {}, remedy);
}

bool is_switch(const Parameter& parameter) {
    return parameter.integral && parameter.quantity == Quantity::count && parameter.minimum == 0 &&
           parameter.maximum == 1;
}

std::string joined(const std::vector<std::string>& words, const std::string& separator) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
    return text;
}

}  // namespace

std::string expected_form(Quantity quantity) {
    switch (quantity) {
        case Quantity::count:
            return "a bare number such as `132`";
        case Quantity::frequency:
            return "a frequency such as `1830 MHz`";
        case Quantity::bytes:
            return "a size such as `50 MiB`";
        case Quantity::bandwidth:
            return "a bandwidth such as `3.35 TB/s`";
        case Quantity::per_cycle:
            return "bytes per cycle such as `64 B/cycle`";
        case Quantity::cycles:
            return "a number of cycles such as `29 cycles`";
        case Quantity::time:
            return "a time such as `1.5 us`";
        case Quantity::power:
            return "a power such as `700 W`";
        case Quantity::energy:
            return "an energy such as `100 pJ`";
        case Quantity::ratio:
            return "a ratio such as `93 %` or `0.93`";
    }
    return "a number";
}

double parse_quantity(const std::string& text, Quantity quantity) {
    const std::string_view trimmed = trim(text);
    double number = 0;
    const auto [end, failure] = std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), number);
    if (failure != std::errc{} || !std::isfinite(number)) wrong_unit(text, quantity);
    const std::string_view unit = trim(trimmed.substr(static_cast<std::size_t>(end - trimmed.data())));
    for (const Unit& known : units_of(quantity)) {
        if (known.symbol == unit) return scaled(number, known.factor);
    }
    wrong_unit(text, quantity);
}

std::string format_quantity(double value, Quantity quantity) {
    std::string best;
    for (const Unit& unit : units_of(quantity)) {
        if (!unit.preferred) continue;
        const double number = unit.factor < 1 ? value * std::round(1 / unit.factor) : value / unit.factor;
        // Rounding to 12 digits takes out what the division added; the text must still read back exactly.
        for (const double candidate : {std::round(number * 1e6) / 1e6, number}) {
            if (scaled(candidate, unit.factor) != value) continue;
            std::string text = shortest(candidate);
            if (!unit.symbol.empty()) text += " " + std::string(unit.symbol);
            const bool shorter = text.size() < best.size();
            // 1.5 GB reads better than 1500 MB, 512 KiB better than 0.5 MiB.
            const bool same_and_larger = text.size() == best.size() && std::abs(candidate) >= 1;
            if (best.empty() || shorter || same_and_larger) best = text;
            break;
        }
    }
    // The base unit needs no arithmetic, so it always reads back.
    for (const Unit& unit : units_of(quantity)) {
        if (!best.empty() || unit.factor != 1) continue;
        best = shortest(value) + (unit.symbol.empty() ? "" : " " + std::string(unit.symbol));
    }
    return quantity == Quantity::cycles && best == "1 cycles" ? "1 cycle" : best;
}

double parse_parameter(const std::string& text, const Parameter& parameter) {
    if (!parameter.choices.empty()) {
        for (std::size_t i = 0; i < parameter.choices.size(); ++i) {
            if (parameter.choices[i] == text) return static_cast<double>(i);
        }
        const std::string near = nearest_word(text, parameter.choices.data(), parameter.choices.size());
        throw Error("`" + text + "` is not one of its choices", {},
                    (near.empty() ? "write one of: " : "did you mean `" + near + "`? One of: ") +
                        joined(parameter.choices, ", "));
    }
    if (is_switch(parameter) && (text == "true" || text == "false")) return text == "true" ? 1 : 0;
    const double value = parse_quantity(text, parameter.quantity);
    if (parameter.integral && value != std::floor(value)) {
        throw Error("`" + text + "` is not a whole number of its base unit", {}, "write a whole number");
    }
    if (value < parameter.minimum || value > parameter.maximum) {
        throw Error("`" + text + "` is out of range", {}, "allowed: " + format_range(parameter));
    }
    return value;
}

std::vector<std::uint32_t> parse_list(const std::string& text, const Parameter& parameter) {
    std::string_view rest = trim(text);
    if (rest == parameter.none) return {};
    const bool brackets = rest.size() >= 2 && rest.front() == '[' && rest.back() == ']';
    if (brackets) rest = trim(rest.substr(1, rest.size() - 2));
    std::vector<std::uint32_t> values;
    while (true) {
        const std::size_t comma = rest.find(',');
        const std::string item(trim(rest.substr(0, comma)));
        try {
            values.push_back(static_cast<std::uint32_t>(parse_parameter(item, parameter)));
        } catch (const Error&) {
            throw Error("`" + text + "` is not a list of numbers", {}, "allowed: " + format_range(parameter));
        }
        if (comma == std::string_view::npos) return values;
        rest = rest.substr(comma + 1);
    }
}

std::string format_parameter(const Parameter& parameter) {
    if (parameter.list != nullptr) {
        std::vector<std::string> words;
        for (const std::uint32_t value : *parameter.list) words.push_back(std::to_string(value));
        return words.empty() ? parameter.none : "[" + joined(words, ", ") + "]";
    }
    if (parameter.text != nullptr) return parameter.text->empty() ? "none" : *parameter.text;
    return format_parameter(parameter, parameter.get());
}

std::string format_parameter(const Parameter& parameter, double value) {
    if (!parameter.choices.empty()) {
        const auto index = static_cast<std::size_t>(value);
        return index < parameter.choices.size() ? parameter.choices[index] : shortest(value);
    }
    if (is_switch(parameter)) return value != 0 ? "true" : "false";
    return format_quantity(value, parameter.quantity);
}

std::string format_range(const Parameter& parameter) {
    if (parameter.text != nullptr) return "a path | none";
    if (parameter.list != nullptr) {
        const std::string one = shortest(parameter.minimum) + " .. " + shortest(parameter.maximum);
        return parameter.none + " | [" + one + ", ...]";
    }
    if (!parameter.choices.empty()) return joined(parameter.choices, " | ");
    if (is_switch(parameter)) return "false | true";
    return format_quantity(parameter.minimum, parameter.quantity) + " .. " +
           format_quantity(parameter.maximum, parameter.quantity);
}

}  // namespace heddle::sim
