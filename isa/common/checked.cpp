#include "isa/common/checked.h"

#include <charconv>
#include <cmath>

namespace heddle {
namespace {

std::string text_of(double value) {
    if (std::isnan(value)) return "nan";
    char buffer[32];
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

}  // namespace

bool Gate::admits(double value) const {
    // Not a number compares as neither.
    return value >= least && value <= most && (!whole || value == std::floor(value));
}

std::string Gate::range() const {
    return std::string(whole ? "a whole number" : "a finite number") + " from " + text_of(least) + " to " +
           text_of(most);
}

void Gate::refuse(const std::string& text, const SourceLocation& where) const {
    throw Error("`" + text + "` is not " + what, where, "expected " + range());
}

void Gate::refuse(double value, const SourceLocation& where) const {
    refuse(text_of(value), where);
}

double Gate::check(double value, const SourceLocation& where) const {
    if (!admits(value)) refuse(value, where);
    return value;
}
std::int64_t Gate::check(std::int64_t value, const SourceLocation& where) const {
    if (!admits(value)) refuse(std::to_string(value), where);
    return value;
}
std::uint64_t Gate::check(std::uint64_t value, const SourceLocation& where) const {
    if (!admits(value)) refuse(std::to_string(value), where);
    return value;
}

std::optional<std::int64_t> whole_number(double value) {
    constexpr double kEnd = 0x1p63;  // the first that has no place
    if (!(value >= -kEnd && value < kEnd) || value != std::floor(value)) return std::nullopt;
    return static_cast<std::int64_t>(value);
}

}  // namespace heddle
