#include "sim/kernel/element_type.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "isa/common/error.h"
#include "isa/numerics/formats.h"

namespace heddle::kernel {
namespace {

struct Traits {
    const char* name;
    std::uint8_t bytes;
    bool floating, is_signed;
    numerics::Format format;
};

constexpr std::array<Traits, 14> kTraits{{
    {"f16", 2, true, true, numerics::Format::fp16},
    {"bf16", 2, true, true, numerics::Format::bf16},
    {"f32", 4, true, true, numerics::Format::fp32},
    {"f64", 8, true, true, numerics::Format::fp64},
    {"e4m3", 1, true, true, numerics::Format::e4m3},
    {"e5m2", 1, true, true, numerics::Format::e5m2},
    {"s8", 1, false, true, {}},
    {"s16", 2, false, true, {}},
    {"s32", 4, false, true, {}},
    {"s64", 8, false, true, {}},
    {"u8", 1, false, false, {}},
    {"u16", 2, false, false, {}},
    {"u32", 4, false, false, {}},
    {"u64", 8, false, false, {}},
}};

const Traits& traits(ElementType type) {
    return kTraits[static_cast<std::size_t>(type)];
}

unsigned bits_of(ElementType type) {
    return 8u * traits(type).bytes;
}

std::uint64_t mask_of(ElementType type) {
    return bits_of(type) == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits_of(type)) - 1;
}

std::int64_t sign_extended(ElementType type, std::uint64_t bits) {
    const unsigned shift = 64 - bits_of(type);
    return static_cast<std::int64_t>(bits << shift) >> shift;
}

/// Elements in the order of the numbers that they stand for, as integers without a hole between -0 and +0.
std::int64_t place_in_order(ElementType type, std::uint64_t bits) {
    const std::uint64_t sign = std::uint64_t{1} << (bits_of(type) - 1);
    const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
    return (bits & sign) != 0 ? -magnitude : magnitude;
}

std::uint64_t parse_integer(ElementType type, const std::string& text) {
    const bool negative = !text.empty() && text[0] == '-';
    const bool hexadecimal = text.compare(negative ? 1 : 0, 2, "0x") == 0;
    const char* first = text.data() + (negative ? 1 : 0) + (hexadecimal ? 2 : 0);
    const char* last = text.data() + text.size();
    std::uint64_t magnitude = 0;
    const auto [end, failure] = std::from_chars(first, last, magnitude, hexadecimal ? 16 : 10);
    const std::uint64_t half = std::uint64_t{1} << (bits_of(type) - 1);
    // Hexadecimal digits are bits: 0xFFFFFFFF is an s32 too.
    const std::uint64_t largest = !is_signed(type) || hexadecimal ? mask_of(type) : half - 1;
    if (failure == std::errc::invalid_argument || end != last) {
        throw Error("`" + text + "` is not an integer", {}, "write a number such as 42, -7 or 0xFF");
    }
    const bool fits = negative ? is_signed(type) && magnitude <= half : magnitude <= largest;
    if (failure != std::errc{} || !fits) throw Error("`" + text + "` does not fit " + name_of(type));
    return (negative ? std::uint64_t{0} - magnitude : magnitude) & mask_of(type);
}

}  // namespace

std::string name_of(ElementType type) {
    return traits(type).name;
}

ElementType element_type(const std::string& name) {
    std::array<std::string, kTraits.size()> names;
    for (std::size_t i = 0; i < kTraits.size(); ++i) {
        names[i] = kTraits[i].name;
        if (names[i] == name) return static_cast<ElementType>(i);
    }
    const std::string near = nearest_word(name, names.data(), names.size());
    std::string remedy = near.empty() ? "known:" : "did you mean `" + near + "`?";
    for (const std::string& known : names) remedy += near.empty() ? " " + known : "";
    throw Error("there is no element type `" + name + "`", {}, remedy);
}

std::size_t bytes_of(ElementType type) {
    return traits(type).bytes;
}

bool is_float(ElementType type) {
    return traits(type).floating;
}

bool is_signed(ElementType type) {
    return traits(type).is_signed;
}

double to_double(ElementType type, std::uint64_t bits) {
    if (is_float(type)) return numerics::to_double(traits(type).format, bits);
    return is_signed(type) ? static_cast<double>(sign_extended(type, bits))
                           : static_cast<double>(bits & mask_of(type));
}

std::uint64_t from_double(ElementType type, double value) {
    if (is_float(type)) {
        return numerics::convert(traits(type).format, numerics::Format::fp64,
                                 std::bit_cast<std::uint64_t>(value));
    }
    if (!std::isfinite(value)) return 0;
    double whole = std::fmod(std::nearbyint(value), 0x1p64);
    if (whole < 0) whole = -whole;
    const auto magnitude = static_cast<std::uint64_t>(whole);
    return (value < 0 ? std::uint64_t{0} - magnitude : magnitude) & mask_of(type);
}

std::uint64_t parse_element(ElementType type, const std::string& text) {
    if (!is_float(type)) return parse_integer(type, text);
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != 0) {
        throw Error("`" + text + "` is not a number", {}, "write a number such as 2.5, -1e-3, inf or nan");
    }
    return from_double(type, value);
}

std::uint64_t ulp_distance(ElementType type, std::uint64_t a, std::uint64_t b) {
    if (!is_float(type)) {
        const std::uint64_t difference = is_signed(type)
                                             ? static_cast<std::uint64_t>(sign_extended(type, a)) -
                                                   static_cast<std::uint64_t>(sign_extended(type, b))
                                             : (a & mask_of(type)) - (b & mask_of(type));
        const bool less = is_signed(type) ? sign_extended(type, a) < sign_extended(type, b)
                                          : (a & mask_of(type)) < (b & mask_of(type));
        return less ? std::uint64_t{0} - difference : difference;
    }
    const bool nan_a = std::isnan(to_double(type, a)), nan_b = std::isnan(to_double(type, b));
    if (nan_a || nan_b) return nan_a && nan_b ? 0 : ~std::uint64_t{0};
    const std::int64_t place_a = place_in_order(type, a), place_b = place_in_order(type, b);
    return place_a > place_b ? static_cast<std::uint64_t>(place_a) - static_cast<std::uint64_t>(place_b)
                             : static_cast<std::uint64_t>(place_b) - static_cast<std::uint64_t>(place_a);
}

std::uint64_t load_element(ElementType type, std::span<const std::byte> bytes, std::uint64_t index) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + index * bytes_of(type), bytes_of(type));
    return bits;
}

void store_element(ElementType type, std::span<std::byte> bytes, std::uint64_t index, std::uint64_t bits) {
    std::memcpy(bytes.data() + index * bytes_of(type), &bits, bytes_of(type));
}

std::string format_element(ElementType type, std::uint64_t bits) {
    if (type == ElementType::f64) return fmt::format("{}", to_double(type, bits));
    if (is_float(type)) return fmt::format("{}", static_cast<float>(to_double(type, bits)));
    if (is_signed(type)) return std::to_string(sign_extended(type, bits));
    return std::to_string(bits & mask_of(type));
}

}  // namespace heddle::kernel
