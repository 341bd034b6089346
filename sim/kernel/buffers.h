// The buffers of a launch file with their values.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/kernel/launch_file.h"

namespace heddle::kernel {

/// One buffer. Elements are in row-major order.
struct Buffer {
    std::string name;
    ElementType type = ElementType::f32;
    std::vector<std::uint64_t> shape;
    std::vector<std::byte> values;

    std::uint64_t count() const { return values.size() / bytes_of(type); }
    std::uint64_t bits(std::uint64_t index) const { return load_element(type, values, index); }
    double number(std::uint64_t index) const { return to_double(type, bits(index)); }
};

/// Returns the bits of element i of a fill. Random numbers come from SplitMix64 (Steele, Lea, Flood 2014):
/// number n, counted from 0, of the sequence that starts at `seed`. uniform uses number i, with its upper 53
/// bits as a fraction u of one: low + (high - low) u, rounded down for integers. normal uses the numbers 2 i
/// and 2 i + 1 as fractions u and v: mean + stddev sqrt(-2 ln(1 - u)) cos(2 pi v).
std::uint64_t fill_element(const Fill& fill, ElementType type, std::uint64_t index);

/// Makes a buffer with the declared values. Throws heddle::Error when a file cannot be read or does not fit
/// the declared shape.
Buffer fill_buffer(const BufferDeclaration& declaration);

}  // namespace heddle::kernel
