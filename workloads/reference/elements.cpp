#include "workloads/reference/elements.h"

#include <bit>
#include <cstring>
#include <optional>

#include "isa/numerics/formats.h"

namespace heddle::reference {
namespace {

std::optional<numerics::Format> float_format(trace::ElementType type) {
    using trace::ElementType;
    switch (type) {
        case ElementType::f64:
            return numerics::Format::fp64;
        case ElementType::f32:
            return numerics::Format::fp32;
        case ElementType::tf32:
            return numerics::Format::tf32;
        case ElementType::f16:
            return numerics::Format::fp16;
        case ElementType::bf16:
            return numerics::Format::bf16;
        case ElementType::e4m3:
            return numerics::Format::e4m3;
        case ElementType::e5m2:
            return numerics::Format::e5m2;
        default:
            return std::nullopt;
    }
}

}  // namespace

std::vector<std::byte> encode_elements(trace::ElementType type, const std::vector<double>& values) {
    const unsigned size = trace::bytes_of(type);
    std::vector<std::byte> bytes(values.size() * size);
    const auto format = float_format(type);
    for (std::size_t i = 0; i < values.size(); ++i) {
        std::uint64_t bits;
        if (format) {
            bits =
                numerics::convert(*format, numerics::Format::fp64, std::bit_cast<std::uint64_t>(values[i]));
        } else {
            bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(values[i]));
        }
        std::memcpy(bytes.data() + i * size, &bits, size);
    }
    return bytes;
}

std::vector<double> decode_elements(trace::ElementType type, const std::byte* bytes, std::size_t count) {
    const unsigned size = trace::bytes_of(type);
    std::vector<double> values(count);
    const auto format = float_format(type);
    const bool is_unsigned = type == trace::ElementType::u8 || type == trace::ElementType::boolean;
    for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, bytes + i * size, size);
        if (format) {
            values[i] = numerics::to_double(*format, bits);
        } else if (is_unsigned) {
            values[i] = static_cast<double>(bits);
        } else {
            const unsigned shift = 64 - 8 * size;
            values[i] = static_cast<double>(static_cast<std::int64_t>(bits << shift) >> shift);
        }
    }
    return values;
}

}  // namespace heddle::reference
