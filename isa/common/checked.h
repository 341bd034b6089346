// The gate for numbers from files: what becomes a size, a count, a time or a rate is finite and one that
// there can be, and arithmetic with sizes never wraps around.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "isa/common/error.h"

namespace heddle {

/// A kind of number that files hold, with the range of values that are accepted.
struct Gate {
    const char* what;    ///< "a time in microseconds": what a value that is refused is not
    double least, most;  ///< that there can be; both are admitted
    bool whole = false;  ///< fractions are refused

    /// Whether the value is finite, within the range, and whole where that is asked for.
    bool admits(double value) const;
    bool admits(std::int64_t value) const { return admits(static_cast<double>(value)); }
    bool admits(std::uint64_t value) const { return admits(static_cast<double>(value)); }

    /// The accepted range for messages, such as "a finite number from 0 to 1e+15".
    std::string range() const;

    /// Returns the value if it is admitted. Otherwise throws heddle::Error, which says what was expected and
    /// which range is accepted.
    double check(double value, const SourceLocation& where) const;
    std::int64_t check(std::int64_t value, const SourceLocation& where) const;
    std::uint64_t check(std::uint64_t value, const SourceLocation& where) const;
    /// Throws the error of check(); `text` is what the file has in place of a value.
    [[noreturn]] void refuse(const std::string& text, const SourceLocation& where) const;
    [[noreturn]] void refuse(double value, const SourceLocation& where) const;
};

namespace gates {

/// 2^44: as bytes alone that is 16 TiB, more than any memory; and 8 bytes of each can be counted in 63 bits.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 44;
/// 2^60: of all tensors of a step together.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;
/// The most threads, thread blocks, ranks or stages, all of which are counted in 31 bits.
inline constexpr std::int64_t kMostThings = (std::int64_t{1} << 31) - 1;

inline constexpr Gate kMicroseconds{"a time in microseconds", 0, 1e15};  // 32 years
inline constexpr Gate kSeconds{"a time in seconds", 0, 1e9};
inline constexpr Gate kFinite{"a number", -1e300, 1e300};
inline constexpr Gate kShare{"a share", 0, 1};
inline constexpr Gate kElements{"a number of elements", 0, static_cast<double>(kMostElements), true};
inline constexpr Gate kBytes{"a number of bytes", 0, static_cast<double>(kMostBytes), true};
inline constexpr Gate kThings{"a count", 0, static_cast<double>(kMostThings), true};

}  // namespace gates

/// The product a * b and the sum a + b; nothing when the type cannot hold them.
template <class Integer>
std::optional<Integer> checked_product(Integer a, Integer b) {
    Integer result;
    return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}
template <class Integer>
std::optional<Integer> checked_sum(Integer a, Integer b) {
    Integer result;
    return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}

/// The value in another integer type; nothing when that type cannot hold it.
template <class To, class From>
std::optional<To> narrowed(From value) {
    return std::in_range<To>(value) ? std::optional(static_cast<To>(value)) : std::nullopt;
}

/// A number of a file as an integer; nothing when it is a fraction or does not fit 64 bits.
std::optional<std::int64_t> whole_number(double value);

}  // namespace heddle
