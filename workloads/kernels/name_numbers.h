// Numbers that names of kernels carry: "..._128x256_64x3_...". Names come from files of others: each is
// walked through once, whatever it is.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace heddle::kernels {

/// A number of `least` to `most` digits (at most 9), and the character behind it.
struct NameNumber {
    std::size_t least, most;
    char behind;
};

/// Stands for '_' or the end of the name.
inline constexpr char kWordEnd = '\0';

/// The numbers that matched a pattern, and where they end in the name.
struct NameNumbers {
    std::vector<unsigned> values;
    std::size_t end = 0;  ///< the place behind the last of them and what stands behind it
};

/// The numbers of this pattern at place `at` of the name, or nothing.
std::optional<NameNumbers> numbers_at(std::string_view name, std::size_t at,
                                      std::span<const NameNumber> pattern);

/// The first of the pattern directly behind `prefix`, which begins at `from` or later, or nothing.
std::optional<NameNumbers> first_numbers_behind(std::string_view name, std::string_view prefix,
                                                std::span<const NameNumber> pattern, std::size_t from = 0);

/// The last of them.
std::optional<NameNumbers> last_numbers_behind(std::string_view name, std::string_view prefix,
                                               std::span<const NameNumber> pattern, std::size_t from = 0);

/// The first of the pattern at the name's beginning or behind '_'.
std::optional<NameNumbers> first_numbers(std::string_view name, std::span<const NameNumber> pattern);

}  // namespace heddle::kernels
