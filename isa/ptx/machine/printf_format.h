// The formatting of the device's printf. Source of the rules: CUDA C++ Programming Guide, "Formatted Output".
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace heddle::ptx {

/// The source of the arguments of a printf call.
struct PrintfSource {
    /// The next argument, 4 or 8 bytes wide, from the argument buffer, where each lies at its natural
    /// alignment.
    std::function<std::uint64_t(unsigned bytes)> argument;
    /// The string at an address, without its zero, or its first `limit` characters.
    std::function<std::string(std::uint64_t address, std::size_t limit)> text;
};

/// What one call prints.
struct Printed {
    std::string text;        ///< UTF-8 or any other bytes of the program
    unsigned arguments = 0;  ///< used; what the device's printf returns
    std::string problem;     ///< a conversion that printf does not know; empty: none
};

/// Flags "#0 +-", width (also *), precision (also *), sizes hh h l ll j z t L, conversions d i u o x X c s p
/// f F e E g G a A %. What follows the 32nd argument is printed as it is written in the format.
Printed format_printf(std::string_view format, const PrintfSource& source);

}  // namespace heddle::ptx
