#include "sim/kernel/buffers.h"

#include <cmath>
#include <numbers>

#include "isa/common/activity.h"
#include "isa/numerics/counter_random.h"
#include "sim/kernel/files.h"

namespace heddle::kernel {
namespace {

/// The upper 53 bits as a fraction: 0 <= u < 1.
double fraction(std::uint64_t bits) {
    return static_cast<double>(bits >> 11) * 0x1p-53;
}

struct FillOneElement {
    ElementType type;
    std::uint64_t index;

    std::uint64_t operator()(const FillConstant& fill) const { return fill.bits; }
    std::uint64_t operator()(const FillIota& fill) const {
        return from_double(type, fill.start + fill.step * static_cast<double>(index));
    }
    std::uint64_t operator()(const FillUniform& fill) const {
        const double value =
            fill.low + (fill.high - fill.low) * fraction(numerics::random_bits(fill.seed, index));
        return from_double(type, is_float(type) ? value : std::floor(value));
    }
    std::uint64_t operator()(const FillNormal& fill) const {
        const double u = fraction(numerics::random_bits(fill.seed, 2 * index));
        const double v = fraction(numerics::random_bits(fill.seed, 2 * index + 1));
        const double standard = std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * std::numbers::pi * v);
        return from_double(type, fill.mean + fill.stddev * standard);
    }
    std::uint64_t operator()(const FillFile&) const { return 0; }
};

std::uint64_t elements_of(const std::vector<std::uint64_t>& shape) {
    std::uint64_t count = 1;
    for (const std::uint64_t extent : shape) count *= extent;
    return count;
}

}  // namespace

std::uint64_t fill_element(const Fill& fill, ElementType type, std::uint64_t index) {
    return std::visit(FillOneElement{type, index}, fill);
}

Buffer fill_buffer(const BufferDeclaration& declaration) {
    Buffer buffer{declaration.name, declaration.type, declaration.shape, {}};
    if (const auto* file = std::get_if<FillFile>(&declaration.fill)) {
        FileValues read = read_values(file->path, buffer.type);
        if (buffer.shape.empty()) buffer.shape = read.shape;
        buffer.values = std::move(read.values);
        if (buffer.values.empty()) throw Error("the file is empty", {file->path, 0, ""});
        if (elements_of(buffer.shape) != buffer.count()) {
            throw Error("the buffer has " + std::to_string(elements_of(buffer.shape)) + " elements, " +
                            file->path + " has " + std::to_string(buffer.count()),
                        declaration.where);
        }
        return buffer;
    }
    const std::uint64_t count = elements_of(buffer.shape);
    const Doing doing("the values of buffer " + buffer.name);
    buffer.values.resize(count * bytes_of(buffer.type));
    const auto* constant = std::get_if<FillConstant>(&declaration.fill);
    if (constant != nullptr && constant->bits == 0) return buffer;
    for (std::uint64_t i = 0; i < count; ++i) {
        store_element(buffer.type, buffer.values, i, fill_element(declaration.fill, buffer.type, i));
    }
    return buffer;
}

}  // namespace heddle::kernel
