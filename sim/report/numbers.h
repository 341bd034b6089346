// Numbers formatted for people.
#pragma once

#include <cstdint>
#include <string>

namespace heddle::sim {

/// Formats three to four significant digits and an SI prefix: format_si(9.87e14, "FLOP/s") is "987 TFLOP/s".
std::string format_si(double value, const std::string& unit);

/// Formats bytes with binary prefixes: "79.6 GiB", "520 MiB".
std::string format_binary(double bytes);

/// Formats a duration that is given in microseconds: "812 ns", "41.3 us", "25.1 ms", "3.20 s".
std::string format_microseconds(double microseconds);

/// Formats a fraction of one: "93.1 %".
std::string format_share(double fraction);

/// Formats the relative difference of `simulated` from `measured`: "+2.8 %". Empty when `measured` is not
/// above 0.
std::string format_difference(double simulated, double measured);

/// Formats a value by the name of its unit, as charts and tables of a page do: "us" is a duration, "%" a
/// fraction of one, "iB" bytes with binary prefixes, "count" a whole number, "" three or four digits, and
/// anything else gets an SI prefix. Empty when the value is not finite. assets/page.js implements the same
/// rules.
std::string format_value(double value, const std::string& unit);

/// Formats a count with separators: "1,234,567".
std::string format_count(std::uint64_t count);

}  // namespace heddle::sim
