// Types of buffer elements and scalar arguments: their bits, and their conversion from and to numbers.
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

/// The name as launch files write it, such as "bf16".
std::string name_of(ElementType type);
/// Reads such a name. Throws heddle::Error that names the nearest type, without a location, which the caller
/// knows.
ElementType element_type(const std::string& name);
std::size_t bytes_of(ElementType type);
bool is_float(ElementType type);
bool is_signed(ElementType type);

/// Returns the value of an element; 64-bit integers beyond 2^53 are rounded.
double to_double(ElementType type, std::uint64_t bits);
/// Converts with one rounding to nearest even. Integers are rounded to nearest even and then reduced modulo
/// 2^bits, as unsigned arithmetic wraps; NaN and infinities become 0.
std::uint64_t from_double(ElementType type, double value);

/// Returns the bits of a number given as text: decimal, 0x..., inf or nan. Throws heddle::Error without a
/// location for text that is not a number, and for integers outside the type's range.
std::uint64_t parse_element(ElementType type, const std::string& text);

/// Returns the distance between two elements in representable numbers (0: equal, also for -0 and +0). For two
/// NaN it is 0, for NaN and a number 2^64 - 1.
std::uint64_t ulp_distance(ElementType type, std::uint64_t a, std::uint64_t b);

/// Read and write one element of a buffer as its bits.
std::uint64_t load_element(ElementType type, std::span<const std::byte> bytes, std::uint64_t index);
void store_element(ElementType type, std::span<std::byte> bytes, std::uint64_t index, std::uint64_t bits);

/// Formats an element for people: "0.5", "-3".
std::string format_element(ElementType type, std::uint64_t bits);

}  // namespace heddle::kernel
