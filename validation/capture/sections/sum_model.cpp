#include "validation/capture/sections/sum_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "isa/target/generation.h"

namespace heddle::capture {
namespace {

using numerics::Format;
using numerics::NumberClass;

/// (-1)^negative * significand * 2^lsb; `exponent` is what alignment sees.
struct Term {
    NumberClass number_class = NumberClass::zero;
    bool negative = false;
    int exponent = 0, lsb = 0;
    std::uint64_t significand = 0;
};

struct Number {
    numerics::Decoded decoded;
    int fraction_bits = 0;
};

Number read_input(const SumModel& model, Format format, std::uint64_t bits) {
    using In = SumModel::Tf32Input;
    Number number{numerics::decode(format, bits), static_cast<int>(numerics::traits(format).fraction_bits)};
    if (format == Format::tf32 && model.tf32_input != In::truncate &&
        number.decoded.number_class != NumberClass::nan) {
        if (model.tf32_input == In::all_bits) {
            number = {numerics::decode(Format::fp32, bits), 23};
        } else {
            const auto rounding = model.tf32_input == In::nearest_even ? numerics::Rounding::nearest_even
                                                                       : numerics::Rounding::nearest_away;
            number.decoded = numerics::decode(
                format, numerics::convert(format, Format::fp32, bits, {.rounding = rounding}));
        }
    }
    numerics::Decoded& d = number.decoded;
    const bool subnormal =
        d.number_class == NumberClass::finite && d.significand >> number.fraction_bits == 0;
    if (subnormal && model.flush_subnormal_inputs) {
        d.number_class = NumberClass::zero;
        d.significand = 0;
    }
    return number;
}

Term term_of(const Number& number) {
    return {number.decoded.number_class, number.decoded.negative, number.decoded.exponent,
            number.decoded.exponent - number.fraction_bits, number.decoded.significand};
}

Term product(const Number& a, const Number& b) {
    const auto either = [&](NumberClass c) {
        return a.decoded.number_class == c || b.decoded.number_class == c;
    };
    Term term;
    term.negative = a.decoded.negative != b.decoded.negative;
    if (either(NumberClass::nan) || (either(NumberClass::infinity) && either(NumberClass::zero))) {
        term.number_class = NumberClass::nan;
    } else if (either(NumberClass::infinity)) {
        term.number_class = NumberClass::infinity;
    } else if (!either(NumberClass::zero)) {
        term = {NumberClass::finite, term.negative, a.decoded.exponent + b.decoded.exponent,
                a.decoded.exponent + b.decoded.exponent - a.fraction_bits - b.fraction_bits,
                a.decoded.significand * b.decoded.significand};
    }
    return term;
}

std::int64_t aligned(SumModel::Alignment alignment, const Term& term, int unit) {
    const int shift = term.lsb - unit;
    const std::int64_t sign = term.negative ? -1 : 1;
    if (shift >= 0) return sign * static_cast<std::int64_t>(term.significand << shift);
    const int right = -shift;
    const std::uint64_t kept = right >= 64 ? 0 : term.significand >> right;
    const std::uint64_t rest = term.significand - (right >= 64 ? 0 : kept << right);
    std::uint64_t magnitude = kept;
    if (alignment == SumModel::Alignment::floor && term.negative && rest != 0) ++magnitude;
    if (alignment == SumModel::Alignment::nearest && right < 63) {
        const std::uint64_t half = std::uint64_t{1} << (right - 1);
        if (rest > half || (rest == half && (kept & 1) != 0)) ++magnitude;
    }
    return sign * static_cast<std::int64_t>(magnitude);
}

std::uint64_t zero_of(const SumModel& model, const std::vector<Term>& terms, bool cut_negative) {
    const std::uint64_t minus = std::uint64_t{1}
                                << (numerics::traits(model.parameters.output).storage_bits - 1);
    if (model.zero_sign == SumModel::ZeroSign::positive) return 0;
    bool all_negative_zeros = true, any_positive = false;
    for (const Term& term : terms) {
        if (!(term.number_class == NumberClass::zero && term.negative)) all_negative_zeros = false;
        if (!term.negative) any_positive = true;
    }
    if (all_negative_zeros) return minus;
    const bool cut = model.zero_sign == SumModel::ZeroSign::of_truncated_sum && cut_negative && !any_positive;
    return cut ? minus : 0;
}

// Rounds a magnitude, in units of 2^unit, to as many fraction bits as the result keeps; still in these units.
std::uint64_t round_to_result(const numerics::DotProductParameters& p, std::uint64_t magnitude, int unit,
                              bool negative) {
    const numerics::FormatTraits output = numerics::traits(p.output);
    if (p.result_fraction_bits >= output.fraction_bits) return magnitude;
    const int exponent = std::max(63 - std::countl_zero(magnitude) + unit, output.minimum_exponent());
    const int shift = exponent - static_cast<int>(p.result_fraction_bits) - unit;
    if (shift <= 0) return magnitude;
    if (shift > 62) return 0;
    std::uint64_t kept = magnitude >> shift;
    const std::uint64_t rest = magnitude - (kept << shift), half = std::uint64_t{1} << (shift - 1);
    using numerics::Rounding;
    const bool up =
        (p.rounding == Rounding::up && !negative && rest != 0) ||
        (p.rounding == Rounding::down && negative && rest != 0) ||
        (p.rounding == Rounding::nearest_away && rest >= half) ||
        (p.rounding == Rounding::nearest_even && (rest > half || (rest == half && (kept & 1) != 0)));
    return (kept + (up ? 1 : 0)) << shift;
}

std::uint64_t infinity(Format output, bool negative) {
    return numerics::encode(output, negative, 1, 2000, {.overflow = numerics::Overflow::infinity});
}

// The sum of some terms, rounded once: steps 2 to 4 of numerics::DotProductParameters.
std::uint64_t fused(const SumModel& model, const std::vector<Term>& terms) {
    const numerics::DotProductParameters& p = model.parameters;
    const numerics::FormatTraits output = numerics::traits(p.output);
    bool nan = false, infinite[2] = {false, false}, finite_negative = false;
    int emax = model.clamp_exponent ? p.minimum_exponent : -100000;
    for (const Term& term : terms) {
        if (term.number_class == NumberClass::nan) nan = true;
        if (term.number_class == NumberClass::infinity) infinite[term.negative] = true;
        if (term.number_class != NumberClass::finite) continue;
        emax = std::max(emax, term.exponent);
        finite_negative = finite_negative || term.negative;
    }
    if (nan || (infinite[0] && infinite[1])) return output.nan;
    if (infinite[0] || infinite[1]) return infinity(p.output, infinite[1]);

    const int unit = emax - p.alignment_fraction_bits;
    std::int64_t sum = 0;
    for (const Term& term : terms)
        if (term.number_class == NumberClass::finite) sum += aligned(model.alignment, term, unit);
    if (sum == 0) return zero_of(model, terms, finite_negative);
    const std::uint64_t magnitude = round_to_result(
        p, sum < 0 ? -static_cast<std::uint64_t>(sum) : static_cast<std::uint64_t>(sum), unit, sum < 0);
    return numerics::encode(
        p.output, sum < 0, magnitude, unit,
        {.rounding = p.rounding,
         .overflow = model.overflow_to_largest ? numerics::Overflow::saturate : numerics::Overflow::infinity,
         .flush_subnormal_result = model.flush_subnormal_results});
}

std::uint64_t chain_of_fma(const SumModel& model, std::span<const std::uint64_t> a,
                           std::span<const std::uint64_t> b, std::uint64_t c) {
    const numerics::DotProductParameters& p = model.parameters;
    float sum = numerics::to_float(p.output, static_cast<std::uint32_t>(c));
    for (std::size_t k = 0; k < a.size(); ++k)
        sum = std::fma(numerics::to_float(p.input, static_cast<std::uint32_t>(a[k])),
                       numerics::to_float(p.input_b, static_cast<std::uint32_t>(b[k])), sum);
    return numerics::from_float(p.output, sum);
}

std::vector<std::vector<Term>> blocks_of(const SumModel& model, std::span<const std::uint64_t> a,
                                         std::span<const std::uint64_t> b) {
    const std::size_t length = model.parameters.block_length;
    std::vector<std::vector<Term>> blocks;
    for (std::size_t k = 0; k < a.size(); ++k) {
        if (k % length == 0) blocks.emplace_back();
        blocks.back().push_back(product(read_input(model, model.parameters.input, a[k]),
                                        read_input(model, model.parameters.input_b, b[k])));
    }
    return blocks;
}

Term addend(const SumModel& model, std::uint64_t bits) {
    const Format output = model.parameters.output;
    return term_of(
        {numerics::decode(output, bits), static_cast<int>(numerics::traits(output).fraction_bits)});
}

std::uint64_t tree(const SumModel& model, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                   std::uint64_t c) {
    std::vector<std::uint64_t> sums;
    for (const auto& block : blocks_of(model, a, b)) sums.push_back(fused(model, block));
    while (sums.size() > 1) {
        std::vector<std::uint64_t> next;
        for (std::size_t i = 0; i + 1 < sums.size(); i += 2)
            next.push_back(fused(model, {addend(model, sums[i]), addend(model, sums[i + 1])}));
        if (sums.size() % 2 != 0) next.push_back(sums.back());
        sums = next;
    }
    return fused(model, {addend(model, sums[0]), addend(model, c)});
}

std::uint64_t unpacked(const SumModel& model, std::span<const std::uint64_t> a,
                       std::span<const std::uint64_t> b, std::uint64_t c) {
    SumModel inner = model;
    inner.parameters.input = inner.parameters.input_b = Format::fp16;
    std::uint64_t sum = 0;
    for (const std::size_t half : {0u, 1u}) {
        std::vector<std::uint64_t> some_a, some_b;
        for (std::size_t k = 0; k < a.size(); ++k) {
            if (k / 2 % 2 != half) continue;
            const numerics::Conversion how{.flush_subnormal_input = model.flush_subnormal_inputs};
            some_a.push_back(numerics::convert(Format::fp16, model.parameters.input, a[k], how));
            some_b.push_back(numerics::convert(Format::fp16, model.parameters.input_b, b[k], how));
        }
        for (auto& block : blocks_of(inner, some_a, some_b)) {
            block.push_back(addend(inner, sum));
            sum = fused(inner, block);
        }
    }
    const Format output = model.parameters.output;
    const double total = numerics::to_double(output, sum) + numerics::to_double(output, c);
    // A sum of two floats need not be exact in double, but rounding it twice is harmless: 53 >= 2 * 24 + 2.
    numerics::Conversion last{.flush_subnormal_result = model.flush_subnormal_results};
    if (model.overflow_to_largest && std::isfinite(total)) last.overflow = numerics::Overflow::saturate;
    const std::uint64_t bits =
        numerics::convert(output, Format::fp64, std::bit_cast<std::uint64_t>(total), last);
    return std::isnan(total) ? numerics::traits(output).nan : bits;
}

}  // namespace

std::uint64_t evaluate(const SumModel& model, std::span<const std::uint64_t> a,
                       std::span<const std::uint64_t> b, std::uint64_t c) {
    if (model.chain_of_fma) return chain_of_fma(model, a, b, c);
    if (model.tree_of_blocks) return tree(model, a, b, c);
    if (model.parameters.unpacks_to_fp16) return unpacked(model, a, b, c);
    for (auto& block : blocks_of(model, a, b)) {
        block.push_back(addend(model, c));
        c = fused(model, block);
    }
    return c;
}

std::optional<SumModel> model_of(const MatrixInstruction& instruction, unsigned compute_capability) {
    const auto a = format_of(instruction.a), b = format_of(instruction.b), sum = format_of(instruction.sum);
    if (!a || !b || !sum || *a == Format::fp64) return std::nullopt;
    try {
        SumModel model;
        model.parameters = numerics::parameters_for(target::generation_of(compute_capability), *a, *b, *sum,
                                                    instruction.kind == MatrixInstruction::Kind::wgmma
                                                        ? numerics::Instruction::wgmma
                                                        : numerics::Instruction::mma_sync);
        return model;
    } catch (const std::invalid_argument&) {
        return std::nullopt;
    }
}

namespace {

using numerics::Rounding;

Rounding rounding_of(const std::string& qualifier) {
    if (qualifier == ".rz") return Rounding::toward_zero;
    if (qualifier == ".rm") return Rounding::down;
    return qualifier == ".rp" ? Rounding::up : Rounding::nearest_even;
}

std::int64_t integer_of(Element element, std::uint64_t bits) {
    switch (element) {
        case Element::s8:
            return static_cast<std::int8_t>(bits);
        case Element::s4:
            return static_cast<std::int64_t>(bits & 7) - static_cast<std::int64_t>(bits & 8);
        default:
            return static_cast<std::int64_t>(bits);
    }
}

std::uint64_t integer_sum(const MatrixInstruction& i, std::span<const std::uint64_t> a,
                          std::span<const std::uint64_t> b, std::uint64_t c) {
    std::int64_t sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(c));
    const bool exclusive = i.qualifier.find(".xor") != std::string::npos;
    for (std::size_t k = 0; k < a.size(); ++k) {
        if (i.a == Element::b1)
            sum += static_cast<std::int64_t>(exclusive ? a[k] ^ b[k] : a[k] & b[k]);
        else
            sum += integer_of(i.a, a[k]) * integer_of(i.b, b[k]);
    }
    if (i.qualifier == ".satfinite") sum = std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX);
    return static_cast<std::uint32_t>(sum);
}

// One instruction's worth of products.
std::uint64_t one(const MatrixInstruction& i, const std::optional<SumModel>& model,
                  std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t c) {
    if (i.sum == Element::s32) return integer_sum(i, a, b, c);
    if (i.sum == Element::f64) {
        std::vector<double> x, y;
        for (const std::uint64_t bits : a) x.push_back(std::bit_cast<double>(bits));
        for (const std::uint64_t bits : b) y.push_back(std::bit_cast<double>(bits));
        const double addend = std::bit_cast<double>(c);
        double result = 0;
        numerics::matrix_multiply_accumulate_fp64(1, 1, x.size(), x.data(), y.data(), &addend, &result,
                                                  rounding_of(i.qualifier));
        return std::bit_cast<std::uint64_t>(result);
    }
    const std::vector<std::uint32_t> x(a.begin(), a.end()), y(b.begin(), b.end());
    return numerics::dot_product(model->parameters, x, y, static_cast<std::uint32_t>(c));
}

bool has_model(const MatrixInstruction& i, const std::optional<SumModel>& model) {
    return model.has_value() || !i.is_float();
}

}  // namespace

std::optional<std::vector<std::uint64_t>> predict(const MatrixInstruction& instruction,
                                                  unsigned compute_capability, const DotProducts& products) {
    const std::optional<SumModel> model = model_of(instruction, compute_capability);
    if (!has_model(instruction, model)) return std::nullopt;
    std::vector<std::uint64_t> results;
    for (std::size_t n = 0; n < products.count(); ++n) {
        std::uint64_t c = products.c[n];
        for (unsigned k = 0; k < products.k; k += instruction.k)
            c = one(instruction, model, products.a_row(n).subspan(k, instruction.k),
                    products.b_row(n).subspan(k, instruction.k), c);
        results.push_back(c);
    }
    return results;
}

std::optional<std::vector<std::uint64_t>> predict_tiles(
    const MatrixInstruction& i, unsigned compute_capability, unsigned steps, std::span<const std::uint64_t> a,
    std::span<const std::uint64_t> b, std::span<const std::uint64_t> c, std::span<const SparseRow> rows) {
    const std::optional<SumModel> model = model_of(i, compute_capability);
    if (!has_model(i, model)) return std::nullopt;
    const unsigned stored = i.stored_k();
    std::vector<std::uint64_t> d(c.begin(), c.end());
    for (std::size_t tile = 0; tile < c.size() / (i.m * i.n); ++tile) {
        for (unsigned step = 0; step < steps; ++step) {
            const std::size_t at = tile * steps + step;
            for (unsigned m = 0; m < i.m; ++m) {
                for (unsigned n = 0; n < i.n; ++n) {
                    const auto column = b.subspan((at * i.n + n) * i.k, i.k);
                    std::vector<std::uint64_t> met(column.begin(), column.end());
                    if (!rows.empty()) {
                        met.clear();
                        for (const std::uint8_t k : rows[at * i.m + m]) met.push_back(column[k]);
                    }
                    std::uint64_t& sum = d[(tile * i.m + m) * i.n + n];
                    sum = one(i, model, a.subspan((at * i.m + m) * stored, stored), met, sum);
                }
            }
        }
    }
    return d;
}

}  // namespace heddle::capture
