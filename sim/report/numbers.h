// Figures as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace heddle::sim {

/// Three to four significant digits and a prefix of the SI: format_si(9.87e14, "FLOP/s") is "987 TFLOP/s".
std::string format_si(double value, const std::string& unit);

/// Bytes: "79.6 GiB", "520 MiB".
std::string format_binary(double bytes);

/// A duration given in microseconds: "812 ns", "41.3 us", "25.1 ms", "3.20 s".
std::string format_microseconds(double microseconds);

/// A fraction of one: "93.1 %".
std::string format_share(double fraction);

/// How far `simulated` is from `measured`: "+2.8 %". Empty when measured is not above 0.
std::string format_difference(double simulated, double measured);

/// By the name of a unit, as charts and tables of a page carry it: "us" a duration, "%" a fraction of one,
/// "iB" bytes in powers of 1024, "count" a whole number, "" three or four digits, anything else with a prefix
/// of the SI. Empty when the value is not finite. assets/page.js writes the same.
std::string format_value(double value, const std::string& unit);

/// "1,234,567".
std::string format_count(std::uint64_t count);

}  // namespace heddle::sim
