#include "isa/numerics/dot_product_unit.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace heddle::numerics {
namespace {

/// An exact product, or C: (-1)^negative * significand * 2^lsb_exponent. `exponent` is the one that alignment
/// sees.
struct Term {
    NumberClass number_class = NumberClass::zero;
    bool negative = false;
    int exponent = 0;
    int lsb_exponent = 0;
    std::uint64_t significand = 0;
};

Term addend(Format format, std::uint32_t bits) {
    const Decoded number = decode(format, bits);
    return {number.number_class, number.negative, number.exponent,
            number.exponent - static_cast<int>(traits(format).fraction_bits), number.significand};
}

Term product(Format a_format, Format b_format, std::uint32_t a_bits, std::uint32_t b_bits) {
    const Decoded a = decode(a_format, a_bits), b = decode(b_format, b_bits);
    const auto either = [&](NumberClass wanted) {
        return a.number_class == wanted || b.number_class == wanted;
    };
    Term term;
    term.negative = a.negative != b.negative;
    if (either(NumberClass::nan) || (either(NumberClass::infinity) && either(NumberClass::zero))) {
        term.number_class = NumberClass::nan;
    } else if (either(NumberClass::infinity)) {
        term.number_class = NumberClass::infinity;
    } else if (!either(NumberClass::zero)) {
        term.number_class = NumberClass::finite;
        term.exponent = a.exponent + b.exponent;
        term.lsb_exponent =
            term.exponent - static_cast<int>(traits(a_format).fraction_bits + traits(b_format).fraction_bits);
        term.significand = a.significand * b.significand;
    }
    return term;
}

/// The magnitude of a term in units of 2^unit_exponent, cut towards zero.
std::int64_t aligned(const Term& term, int unit_exponent) {
    const int shift = term.lsb_exponent - unit_exponent;
    if (shift <= -64) return 0;
    const std::uint64_t magnitude = shift >= 0 ? term.significand << shift : term.significand >> -shift;
    const std::int64_t value = static_cast<std::int64_t>(magnitude);
    return term.negative ? -value : value;
}

/// Steps 1 to 4 of the header for one block of products.
std::uint32_t fused_block(const DotProductParameters& parameters, std::span<const std::uint32_t> a,
                          std::span<const std::uint32_t> b, std::uint32_t c) {
    std::vector<Term> terms;
    for (std::size_t k = 0; k < a.size(); ++k)
        terms.push_back(product(parameters.input, parameters.input_b, a[k], b[k]));
    terms.push_back(addend(parameters.output, c));

    bool nan = false, positive_infinity = false, negative_infinity = false;
    int emax = parameters.minimum_exponent;
    for (const Term& term : terms) {
        if (term.number_class == NumberClass::nan) nan = true;
        if (term.number_class == NumberClass::infinity)
            (term.negative ? negative_infinity : positive_infinity) = true;
        if (term.number_class == NumberClass::finite) emax = std::max(emax, term.exponent);
    }
    const FormatTraits output = traits(parameters.output);
    if (nan || (positive_infinity && negative_infinity)) return static_cast<std::uint32_t>(output.nan);
    if (positive_infinity || negative_infinity) {
        return static_cast<std::uint32_t>(convert(
            parameters.output, Format::fp32,
            std::bit_cast<std::uint32_t>(negative_infinity ? -std::numeric_limits<float>::infinity()
                                                           : std::numeric_limits<float>::infinity())));
    }

    const int unit_exponent = emax - parameters.alignment_fraction_bits;
    std::int64_t sum = 0;
    for (const Term& term : terms)
        if (term.number_class == NumberClass::finite) sum += aligned(term, unit_exponent);
    if (sum == 0) return 0;
    const std::uint64_t result =
        encode(parameters.output, sum < 0, static_cast<std::uint64_t>(std::abs(sum)), unit_exponent,
               {.rounding = parameters.rounding, .overflow = Overflow::infinity});
    // To leave fewer fraction bits is to round toward zero once more, which is the same as once.
    const unsigned removed = output.fraction_bits - parameters.result_fraction_bits;
    return static_cast<std::uint32_t>(result >> removed << removed);
}

std::uint32_t chained_blocks(const DotProductParameters& parameters, std::span<const std::uint32_t> a,
                             std::span<const std::uint32_t> b, std::uint32_t c) {
    for (std::size_t k = 0; k < a.size(); k += parameters.block_length) {
        const std::size_t length = std::min<std::size_t>(parameters.block_length, a.size() - k);
        c = fused_block(parameters, a.subspan(k, length), b.subspan(k, length), c);
    }
    return c;
}

std::uint32_t add_to_nearest(Format format, std::uint32_t a, std::uint32_t b) {
    // The sum of two fp16 numbers is exact in double, that of two fp32 numbers is rounded by the processor.
    if (format == Format::fp16) {
        const double sum = to_double(format, a) + to_double(format, b);
        return static_cast<std::uint32_t>(convert(format, Format::fp64, std::bit_cast<std::uint64_t>(sum)));
    }
    const float sum = std::bit_cast<float>(a) + std::bit_cast<float>(b);
    return std::isnan(sum) ? 0x7FFFFFFFu : std::bit_cast<std::uint32_t>(sum);
}

}  // namespace

std::uint32_t dot_product(const DotProductParameters& parameters, std::span<const std::uint32_t> a,
                          std::span<const std::uint32_t> b, std::uint32_t c) {
    if (a.size() != b.size()) throw std::invalid_argument("dot product of vectors of unequal length");
    if (!parameters.unpacks_to_fp16) return chained_blocks(parameters, a, b, c);

    DotProductParameters inner = parameters;
    inner.input = inner.input_b = Format::fp16;
    inner.unpacks_to_fp16 = false;
    const std::size_t instruction_length = 2 * parameters.block_length;
    for (std::size_t k = 0; k < a.size(); k += instruction_length) {
        const std::size_t end = std::min(a.size(), k + instruction_length);
        std::uint32_t sum = 0;
        for (const std::size_t half : {0u, 1u}) {
            std::vector<std::uint32_t> a_half, b_half;
            for (std::size_t i = k; i < end; ++i) {
                if ((i - k) / 2 % 2 != half) continue;
                a_half.push_back(static_cast<std::uint32_t>(convert(Format::fp16, parameters.input, a[i])));
                b_half.push_back(static_cast<std::uint32_t>(convert(Format::fp16, parameters.input_b, b[i])));
            }
            sum = chained_blocks(inner, a_half, b_half, sum);
        }
        c = add_to_nearest(parameters.output, sum, c);
    }
    return c;
}

}  // namespace heddle::numerics
