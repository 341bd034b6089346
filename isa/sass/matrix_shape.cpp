#include "isa/sass/matrix_shape.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace heddle::sass {
namespace {

using ptx::Type;
using Modifiers = std::span<const std::string_view>;

bool has(Modifiers modifiers, std::string_view word) {
    return std::find(modifiers.begin(), modifiers.end(), word) != modifiers.end();
}

bool starts_with(std::string_view text, std::string_view start) {
    return text.substr(0, start.size()) == start;
}

struct ShapeName {
    std::string_view name;
    std::uint16_t m, n, k;
};

// The digits of m, n and k, one behind another.
constexpr auto kShapes = std::to_array<ShapeName>({
    {"884", 8, 8, 4},
    {"1684", 16, 8, 4},
    {"1688", 16, 8, 8},
    {"16816", 16, 8, 16},
    {"16832", 16, 8, 32},
    {"16864", 16, 8, 64},
    {"168128", 16, 8, 128},
    {"168256", 16, 8, 256},
    {"8816", 8, 8, 16},
    {"8832", 8, 8, 32},
    {"8864", 8, 8, 64},
    {"88128", 8, 8, 128},
});

/// "64x256x16"
bool read_warpgroup_shape(std::string_view word, MatrixShape& shape) {
    const char *at = word.data(), *end = word.data() + word.size();
    for (std::uint32_t* const size : {&shape.m, &shape.n, &shape.k}) {
        const auto [stop, error] = std::from_chars(at, end, *size);
        if (error != std::errc{} || *size == 0 || *size > 1024) return false;
        at = stop;
        if (size != &shape.k && (at == end || *at++ != 'x')) return false;
    }
    return at == end;
}

bool read_shape(Modifiers modifiers, MatrixShape& shape) {
    for (const std::string_view word : modifiers) {
        for (const ShapeName& known : kShapes) {
            if (known.name != word) continue;
            shape.m = known.m;
            shape.n = known.n;
            shape.k = known.k;
            return true;
        }
        if (word.find('x') != std::string_view::npos && read_warpgroup_shape(word, shape)) return true;
    }
    return false;
}

void read_type(std::string_view name, Modifiers modifiers, MatrixShape& shape) {
    switch (name.front()) {
        case 'H':
            shape.type = has(modifiers, "BF16")   ? Type::bf16
                         : has(modifiers, "TF32") ? Type::tf32
                                                  : Type::f16;
            shape.bits = shape.type == Type::tf32 ? 32 : 16;
            return;
        case 'I': {
            const bool four = has(modifiers, "S4") || has(modifiers, "U4");
            shape.type = four ? Type::s4 : Type::s8;
            shape.bits = four ? 4 : 8;
            return;
        }
        case 'B':
            shape.type = Type::b1;
            shape.bits = 1;
            return;
        case 'D':
            shape.type = Type::f64;
            shape.bits = 64;
            return;
        default:  // QMMA, QGMMA
            shape.type = has(modifiers, "E5M2") ? Type::e5m2 : Type::e4m3;
            shape.bits = 8;
    }
}

unsigned registers_of(std::uint32_t elements, unsigned bits) {
    return std::max(1u, elements * bits / (32 * 32));
}

}  // namespace

std::optional<MatrixShape> matrix_shape(std::string_view name, Modifiers modifiers) {
    MatrixShape shape;
    if (!read_shape(modifiers, shape)) return {};
    read_type(name, modifiers, shape);
    const bool warpgroup = name.find("GMMA") != std::string_view::npos;
    const bool narrow =
        !modifiers.empty() && name.front() == 'H' && has(modifiers, "F16") && !has(modifiers, "F32");
    const unsigned sum_bits = name.front() == 'D' ? 64 : narrow ? 16 : 32;
    if (warpgroup) {  // each of four warps holds a quarter of the rows
        shape.a_registers = registers_of(shape.m / 4 * shape.k, shape.bits);
        shape.accumulator_registers = registers_of(shape.m / 4 * shape.n, sum_bits);
        return shape;
    }
    const bool volta =
        name == "HMMA" && std::any_of(modifiers.begin(), modifiers.end(),
                                      [](std::string_view word) { return starts_with(word, "STEP"); });
    if (volta) {
        // m8n8k4 for each of four groups of lanes, 1024 products, in four steps with sums of 32 bits and in
        // two with 16 (Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 4).
        shape = {8, 8, narrow ? 8u : 4u, Type::f16, 2, 2, 2, 16};
        return shape;
    }
    const bool sparse = has(modifiers, "SP");
    const std::uint32_t held = sparse ? shape.k / 2 : shape.k;  // of A, along k
    shape.a_registers = registers_of(shape.m * held, shape.bits);
    shape.b_registers = registers_of(shape.n * shape.k, shape.bits);
    shape.accumulator_registers = registers_of(shape.m * shape.n, sum_bits);
    if (sparse) shape.k = held;  // products that are carried out
    return shape;
}

}  // namespace heddle::sass
