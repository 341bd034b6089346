// Numbers with units, as hardware files write them: "1830 MHz", "50 MiB", "3.35 TB/s", "29 cycles", "93 %".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/common/parameter.h"

namespace heddle::sim {

/// Returns what a value of this quantity looks like, for error messages: "a frequency such as `1830 MHz`".
std::string expected_form(models::Quantity quantity);

/// Reads a number with its unit and converts it to the quantity's base unit (hertz, bytes, bytes per second,
/// bytes per cycle, cycles, seconds, watts, joules, 0..1). Decimal prefixes are powers of 1000 and binary
/// ones (`KiB`) of 1024; `Gb/s` counts bits. Throws heddle::Error without a location, which the caller knows.
double parse_quantity(const std::string& text, models::Quantity quantity);

/// Returns the shortest form that parse_quantity() reads back to exactly the same value: "50 MiB", "3.35
/// TB/s", "93 %".
std::string format_quantity(double value, models::Quantity quantity);

/// Reads one parameter's text: a quantity, one of its choices, or true/false where only 0 and 1 are allowed.
/// Checks the range. Throws heddle::Error without a location.
double parse_parameter(const std::string& text, const models::Parameter& parameter);

/// Reads a list's text, `[16, 18]`, `16, 18` or its word for an empty one. Throws as parse_parameter() does.
std::vector<std::uint32_t> parse_list(const std::string& text, const models::Parameter& parameter);

/// Formats the current value as a hardware file would write it.
std::string format_parameter(const models::Parameter& parameter);
/// Formats any value of this parameter as a hardware file would write it.
std::string format_parameter(const models::Parameter& parameter, double value);

/// Formats the allowed values for people: "1 .. 1024", "lru | random".
std::string format_range(const models::Parameter& parameter);

}  // namespace heddle::sim
