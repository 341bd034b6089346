// Types of buffer elements and scalar arguments: their bits, and conversion from and to numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle::kernel {

enum class ElementType : std::uint8_t {
    f16,
    bf16,
    f32,
    f64,
    e4m3,
    e5m2,
    s8,
    s16,
    s32,
    s64,
    u8,
    u16,
    u32,
    u64
};

std::string name_of(ElementType type);
/// Throws heddle::Error (without a place: the caller knows it) naming the nearest type.
ElementType element_type(const std::string& name);
std::size_t bytes_of(ElementType type);
bool is_float(ElementType type);
bool is_signed(ElementType type);

/// The value of an element; 64-bit integers beyond 2^53 are rounded.
double to_double(ElementType type, std::uint64_t bits);
/// Rounds to nearest even once. Integers: to nearest even, then modulo 2^bits as unsigned arithmetic wraps;
/// NaN and infinities become 0.
std::uint64_t from_double(ElementType type, double value);

/// The bits of the text of a number: decimal, 0x..., inf, nan. Integers must lie in the type's range; throws
/// heddle::Error (without a place).
std::uint64_t parse_element(ElementType type, const std::string& text);

/// How many representable numbers lie between two elements (0: the same, also for -0 and +0). NaN beside NaN
/// is 0, NaN beside a number 2^64 - 1.
std::uint64_t ulp_distance(ElementType type, std::uint64_t a, std::uint64_t b);

/// One element of a buffer, as its bits.
std::uint64_t load_element(ElementType type, std::span<const std::byte> bytes, std::uint64_t index);
void store_element(ElementType type, std::span<std::byte> bytes, std::uint64_t index, std::uint64_t bits);

/// As people write it: "0.5", "-3".
std::string format_element(ElementType type, std::uint64_t bits);

}  // namespace heddle::kernel
