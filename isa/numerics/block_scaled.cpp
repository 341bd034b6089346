#include "isa/numerics/block_scaled.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <vector>

#include "isa/numerics/block_sum.h"

namespace heddle::numerics {
namespace {

/// significand * 2^(exponent - fraction bits); a NaN has no number.
struct Scale {
    bool nan = false;
    int significand = 1;
    int exponent = 0;
    int fraction_bits = 0;
};

Scale scale_of(ScaleFormat format, std::uint8_t bits) {
    if (format == ScaleFormat::ue8m0) return {bits == 0xFF, 1, static_cast<int>(bits) - 127, 0};
    const Decoded number = decode(Format::e4m3, bits & 0x7Fu);
    return {number.number_class == NumberClass::nan, static_cast<int>(number.significand), number.exponent,
            3};
}

/// A summand before alignment: significand * 2^lsb_exponent, seen by alignment with `exponent`.
struct Summand {
    std::int64_t significand = 0;
    int lsb_exponent = 0;
    int exponent = 0;
};

struct Block {
    std::vector<Summand> summands;
    bool nan = false, positive_infinity = false, negative_infinity = false;
};

void add_special(Block& block, const BlockScaledParameters& parameters, Operand a, Operand b) {
    if (is_nan(parameters.input, a) || is_nan(parameters.input_b, b) || is_zero(a) || is_zero(b))
        block.nan = true;
    else
        ((a.significand < 0) != (b.significand < 0) ? block.negative_infinity : block.positive_infinity) =
            true;
}

/// Products [first, first + count) with one pair of scales, added exactly: one summand. `count` is 1 when the
/// products are aligned one by one; then their own exponents count.
void add_group(Block& block, const BlockScaledParameters& parameters, std::span<const std::uint8_t> a,
               std::span<const std::uint8_t> b, Scale scale_a, Scale scale_b) {
    if (scale_a.nan || scale_b.nan) {
        block.nan = true;
        return;
    }
    const int fraction =
        static_cast<int>(traits(parameters.input).fraction_bits + traits(parameters.input_b).fraction_bits);
    const int scale_exponent = scale_a.exponent + scale_b.exponent;
    const int scale_fraction = scale_a.fraction_bits + scale_b.fraction_bits;
    const std::int64_t scale = std::int64_t{scale_a.significand} * scale_b.significand;
    const bool alone = parameters.group_length == 1;
    // In units of the smallest product, so that the sum is exact: narrow formats span few exponents.
    const int smallest =
        traits(parameters.input).minimum_exponent() + traits(parameters.input_b).minimum_exponent();
    std::int64_t sum = 0;
    int exponent = alone ? 0 : smallest;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const Operand x = operand_of(parameters.input, a[i]), y = operand_of(parameters.input_b, b[i]);
        if (is_special(x) || is_special(y)) {
            add_special(block, parameters, x, y);
            continue;
        }
        if (is_zero(x) || is_zero(y)) continue;
        const std::int64_t product = std::int64_t{x.significand} * y.significand;
        if (alone) {
            sum = product;
            exponent = x.exponent + y.exponent;
        } else {
            sum += product << (x.exponent + y.exponent - smallest);
        }
    }
    if (sum == 0 || scale == 0) return;
    block.summands.push_back({sum * scale, exponent + scale_exponent - fraction - scale_fraction,
                              (alone ? exponent : 0) + scale_exponent});
}

std::uint32_t fused_sum(const BlockScaledParameters& parameters, Block block, std::uint32_t c_bits) {
    const Operand c = operand_of(Format::fp32, c_bits);
    if (is_nan(Format::fp32, c)) block.nan = true;
    if (is_special(c)) (c.significand < 0 ? block.negative_infinity : block.positive_infinity) = true;
    if (block.nan || (block.positive_infinity && block.negative_infinity)) return 0x7FFFFFFFu;
    if (block.positive_infinity) return 0x7F800000u;
    if (block.negative_infinity) return 0xFF800000u;
    if (!is_zero(c)) block.summands.push_back({c.significand, c.exponent - 23, c.exponent});

    int largest = parameters.minimum_exponent;
    for (const Summand& summand : block.summands) largest = std::max(largest, summand.exponent);
    const int unit = largest - parameters.alignment_fraction_bits;
    std::int64_t sum = 0;
    for (const Summand& summand : block.summands)
        sum += align(summand.significand, summand.lsb_exponent - unit);
    if (sum == 0) return 0;
    const std::uint64_t magnitude =
        sum < 0 ? -static_cast<std::uint64_t>(sum) : static_cast<std::uint64_t>(sum);
    return static_cast<std::uint32_t>(
        encode(Format::fp32, sum < 0, magnitude, unit,
               {.rounding = Rounding::toward_zero, .overflow = Overflow::infinity}));
}

}  // namespace

BlockScaledParameters mxf8f6f4_parameters(Format input, Format input_b) {
    for (const Format format : {input, input_b})
        if (traits(format).storage_bits != 8)
            throw std::invalid_argument(std::string("mxf8f6f4 does not multiply ") + traits(format).name);
    return {input, input_b, ScaleFormat::ue8m0, 32, 1, 32, 25, -133};
}

BlockScaledParameters mxf4nvf4_parameters(ScaleFormat scale, unsigned scale_block) {
    if (scale_block != 16 && (scale_block != 32 || scale != ScaleFormat::ue8m0))
        throw std::invalid_argument("fp4 takes ue8m0 scales for 16 or 32 elements, or ue4m3 scales for 16");
    return {Format::e2m1, Format::e2m1, scale, scale_block, 16, 64, 35, -133};
}

std::uint32_t block_scaled_dot_product(const BlockScaledParameters& parameters,
                                       std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                                       std::span<const std::uint8_t> scales_a,
                                       std::span<const std::uint8_t> scales_b, std::uint32_t c) {
    const std::size_t scales = (a.size() + parameters.scale_block - 1) / parameters.scale_block;
    if (a.size() != b.size() || scales_a.size() != scales || scales_b.size() != scales)
        throw std::invalid_argument("block-scaled dot product of vectors whose lengths do not fit");
    for (std::size_t first = 0; first < a.size(); first += parameters.block_length) {
        const std::size_t end = std::min<std::size_t>(a.size(), first + parameters.block_length);
        Block block;
        for (std::size_t k = first; k < end; k += parameters.group_length) {
            const std::size_t count = std::min<std::size_t>(parameters.group_length, end - k);
            const std::size_t scale = k / parameters.scale_block;
            add_group(block, parameters, a.subspan(k, count), b.subspan(k, count),
                      scale_of(parameters.scale, scales_a[scale]),
                      scale_of(parameters.scale, scales_b[scale]));
        }
        c = fused_sum(parameters, std::move(block), c);
    }
    return c;
}

void matrix_multiply_accumulate_block_scaled(const BlockScaledParameters& parameters, std::size_t m,
                                             std::size_t n, std::size_t k, const std::uint8_t* a,
                                             const std::uint8_t* b, const std::uint8_t* scales_a,
                                             const std::uint8_t* scales_b, const float* c, float* d) {
    const std::size_t scales = (k + parameters.scale_block - 1) / parameters.scale_block;
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            d[i * n + j] = std::bit_cast<float>(block_scaled_dot_product(
                parameters, {a + i * k, k}, {b + j * k, k}, {scales_a + i * scales, scales},
                {scales_b + j * scales, scales}, std::bit_cast<std::uint32_t>(c[i * n + j])));
        }
    }
}

}  // namespace heddle::numerics
