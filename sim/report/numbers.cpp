#include "sim/report/numbers.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace heddle::sim {
namespace {

std::string three_digits(double value) {
    const double magnitude = std::abs(value);
    if (magnitude >= 99.95) return fmt::format("{:.0f}", value);
    if (magnitude >= 9.995) return fmt::format("{:.1f}", value);
    return fmt::format("{:.2f}", value);
}

}  // namespace

std::string format_si(double value, const std::string& unit) {
    constexpr std::array kPrefixes{"p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
    if (value == 0) return "0 " + unit;
    std::size_t step = 4;
    while (std::abs(value) < 0.9995 && step > 0) {
        value *= 1000;
        --step;
    }
    // 999.6 would print as 1000.
    while (std::abs(value) >= 999.5 && step + 1 < kPrefixes.size()) {
        value /= 1000;
        ++step;
    }
    return three_digits(value) + " " + kPrefixes[step] + unit;
}

std::string format_binary(double bytes) {
    constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    if (bytes == 0) return "0 B";
    std::size_t unit = 0;
    for (; bytes >= 999.5 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
    return (unit == 0 ? fmt::format("{:.0f}", bytes) : three_digits(bytes)) + " " + kUnits[unit];
}

std::string format_microseconds(double microseconds) {
    if (microseconds == 0) return "0 us";
    if (std::abs(microseconds) < 0.9995) return three_digits(microseconds * 1e3) + " ns";
    if (std::abs(microseconds) < 999.5) return three_digits(microseconds) + " us";
    if (std::abs(microseconds) < 999.5e3) return three_digits(microseconds / 1e3) + " ms";
    return three_digits(microseconds / 1e6) + " s";
}

std::string format_share(double fraction) {
    return fmt::format("{:.1f} %", fraction * 100);
}

std::string format_difference(double simulated, double measured) {
    if (!(measured > 0)) return {};
    return fmt::format("{:+.1f} %", (simulated / measured - 1) * 100);
}

std::string format_value(double value, const std::string& unit) {
    if (!std::isfinite(value)) return {};
    if (unit == "us") return format_microseconds(value);
    if (unit == "%") return format_share(value);
    if (unit == "iB") return format_binary(value);
    if (unit == "count")
        return (value < 0 ? "-" : "") + format_count(static_cast<std::uint64_t>(std::round(std::abs(value))));
    if (unit.empty()) return fmt::format("{:.4g}", value);
    if (unit.back() == '$' || (unit.back() >= '0' && unit.back() <= '9'))
        return fmt::format("{:.4g} {}", value, unit);
    return format_si(value, unit);
}

std::string format_count(std::uint64_t count) {
    std::string text = std::to_string(count);
    for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
    return text;
}

}  // namespace heddle::sim
