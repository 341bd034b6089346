#include "validation/capture/sections/matrix_questions.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

namespace heddle::capture {
namespace {

using numerics::Format;
using numerics::Rounding;

// Writes the operands of one question.
class Operands {
  public:
    Operands(const MatrixInstruction& instruction, const SumModel& base)
        : instruction_(instruction),
          a_(*format_of(instruction.a)),
          b_(*format_of(instruction.b)),
          sum_(*format_of(instruction.sum)) {
        products_.k = instruction.k;
        // Places that every block length from 4 on has in one block.
        for (unsigned i = 0; i < 4; ++i)
            places_[i] = base.parameters.unpacks_to_fp16 ? i % 2 + 4 * (i / 2) : i;
        clear();
    }

    unsigned k() const { return instruction_.k; }
    unsigned place(unsigned i) const { return places_[i]; }

    /// Product at `k` becomes significand * 2^exponent. False when the formats cannot say so.
    bool product(unsigned at, double significand, int exponent) {
        // B takes a power of two, A the rest: as evenly as the ranges allow.
        for (const int shift :
             {0, 1, -1, 2, -2, 3, -3, 4, -4, 6, -6, 8, -8, 16, -16, 32, -32, 48, -48, 64, -64}) {
            const int of_b = exponent / 2 + shift;
            const double x = std::ldexp(significand, exponent - of_b), y = std::ldexp(1.0, of_b);
            if (!exact(a_, x) || !exact(b_, y)) continue;
            a_row_[at] = bits(a_, x);
            b_row_[at] = bits(b_, y);
            return true;
        }
        fits_ = false;
        return false;
    }
    void raw(unsigned at, std::uint64_t a_bits, std::uint64_t b_bits) {
        a_row_[at] = a_bits;
        b_row_[at] = b_bits;
    }
    void c(double value) {
        if (!exact(sum_, value)) fits_ = false;
        c_ = bits(sum_, value);
    }
    void c_bits(std::uint64_t value) { c_ = value; }
    /// Keeps the row, unless something in it could not be represented, and starts another.
    void row() {
        if (fits_) products_.add(a_row_, b_row_, c_);
        clear();
    }
    DotProducts take() { return products_; }

    static std::uint64_t bits(Format format, double value) {
        return numerics::convert(format, Format::fp64, std::bit_cast<std::uint64_t>(value));
    }
    static bool exact(Format format, double value) {
        return numerics::to_double(format, bits(format, value)) == value;
    }
    Format a() const { return a_; }
    Format b() const { return b_; }
    Format sum() const { return sum_; }

  private:
    void clear() {
        a_row_.assign(instruction_.k, 0);
        b_row_.assign(instruction_.k, 0);
        c_ = 0;
        fits_ = true;
    }
    const MatrixInstruction& instruction_;
    Format a_, b_, sum_;
    DotProducts products_;
    unsigned places_[4] = {};
    std::vector<std::uint64_t> a_row_, b_row_;
    std::uint64_t c_ = 0;
    bool fits_ = true;
};

template <typename Change>
Hypothesis changed(const SumModel& base, std::string answer, Change change) {
    Hypothesis hypothesis{std::move(answer), base};
    change(hypothesis.model);
    return hypothesis;
}

std::string text(int value) {
    return std::to_string(value);
}

std::string length_text(unsigned length, unsigned k) {
    return "L=" + text(static_cast<int>(length)) + (length == k ? " (the whole instruction)" : "");
}

// ---- 1: how many products are added at once, and in which order the blocks follow ----

MatrixQuestion block_length(const MatrixInstruction& i, const SumModel& base) {
    Operands o(i, base);
    constexpr int kLarge = 15, kUnit = -12;  // 27 bits apart: the unit is lost beside the large
    const auto pair_and_unit = [&](unsigned pair, unsigned unit) {
        o.product(pair, 1, kLarge);
        o.product(pair + 1, -1, kLarge);
        o.product(unit, 1, kUnit);
        o.row();
    };
    for (unsigned unit = 2; unit < i.k; ++unit) pair_and_unit(0, unit);
    for (unsigned unit = 0; unit + 2 < i.k; ++unit) pair_and_unit(i.k - 2, unit);
    for (const unsigned pair : {0u, i.k - 2}) {
        o.product(pair, 1, kLarge);
        o.product(pair + 1, -1, kLarge);
        o.c(std::ldexp(1, kUnit));
        o.row();
    }
    MatrixQuestion q{1,
                     "block length",
                     "which products are added in one step: +2^15 and -2^15 side by side, "
                     "2^-12 at each other place or in C; it is lost in the same step",
                     o.take(),
                     {}};
    const unsigned believed = std::min(base.parameters.block_length, i.k);
    q.hypotheses.push_back({base.parameters.unpacks_to_fp16
                                ? "unpacked to fp16: k mod 4 in {0,1}, then {2,3}, then C"
                                : length_text(believed, i.k),
                            base});
    for (unsigned length = 1; length <= i.k; length *= 2) {
        if (length == believed && !base.parameters.unpacks_to_fp16) continue;
        q.hypotheses.push_back(changed(base, length_text(length, i.k), [&](SumModel& m) {
            m.parameters.block_length = length;
            m.parameters.unpacks_to_fp16 = false;
        }));
    }
    for (const unsigned length : {4u, 8u, 16u}) {
        if (length >= i.k) continue;
        q.hypotheses.push_back(
            changed(base, "blocks of " + text(static_cast<int>(length)) + " added as a tree, then C",
                    [&](SumModel& m) {
                        m.parameters.block_length = length;
                        m.parameters.unpacks_to_fp16 = false;
                        m.tree_of_blocks = true;
                    }));
    }
    return q;
}

// ---- 2: what is left of the sum ----

MatrixQuestion result_bits(const MatrixInstruction& i, const SumModel& base) {
    Operands o(i, base);
    for (const double sign : {1.0, -1.0}) {
        o.c(sign * (1 + std::ldexp(3, -14)));  // 1 + 2^-13 + 2^-14
        o.row();
        for (int bit = 8; bit <= 23; ++bit) {
            o.c(sign * (1 + std::ldexp(1, -bit)));
            o.row();
        }
    }
    // A carry: the sum has a larger exponent than any summand, so that alignment leaves more than fits.
    for (int bit = 4; bit <= 18; ++bit) {
        for (unsigned k = 0; k + 1 < i.k; ++k) o.product(k, 1, 0);
        o.product(i.k - 1, 1, -bit);
        o.row();
    }
    MatrixQuestion q{2,
                     "bits of the result",
                     "products are zero, C = 1 + 2^-13 + 2^-14, and 1 + 2^-i; products "
                     "of 1, the last 2^-i: how many fraction bits come back",
                     o.take(),
                     {}};
    const auto add = [&](unsigned bits, Rounding rounding, const char* how) {
        q.hypotheses.push_back(
            changed(base, text(static_cast<int>(bits)) + " fraction bits" + how, [&](SumModel& m) {
                m.parameters.result_fraction_bits = bits;
                m.parameters.rounding = rounding;
                m.parameters.unpacks_to_fp16 = false;
            }));
    };
    q.hypotheses.push_back(
        {text(static_cast<int>(base.parameters.result_fraction_bits)) + " fraction bits", base});
    for (const unsigned bits : {10u, 12u, 13u, 14u, 15u, 16u, 22u, 23u})
        if (bits != base.parameters.result_fraction_bits) add(bits, Rounding::toward_zero, "");
    return q;
}

// ---- 3: alignment ----

MatrixQuestion alignment(const MatrixInstruction& i, const SumModel& base) {
    Operands o(i, base);
    constexpr int kLarge = 12;
    const auto large_pair = [&] {
        o.product(o.place(0), 1, kLarge);
        o.product(o.place(1), -1, kLarge);
    };
    for (int j = 9; j <= 28; ++j) {
        for (const double significand : {-1.0, -1.5, 1.0, 1.5}) {
            large_pair();
            o.product(o.place(2), significand, kLarge - j);
            o.row();
        }
        large_pair();  // two that would be one together
        o.product(o.place(2), -1, kLarge - j);
        o.product(o.place(3), -1, kLarge - j);
        o.row();
        o.c(std::ldexp(1, kLarge));  // the same with C for one of the pair
        o.product(o.place(0), -1, kLarge);
        o.product(o.place(2), -1, kLarge - j);
        o.row();
    }
    if (i.sum == Element::f32) {
        o.c(1);
        o.product(o.place(0), -1, -26);
        o.row();
    }
    MatrixQuestion q{3,
                     "alignment",
                     "+2^12, -2^12 and +-(1, 1.5, 1+1) * 2^(12-j): which bits below the "
                     "largest summand count, and how the rest is cut; c=1, p=-2^-26",
                     o.take(),
                     {}};
    const int believed = base.parameters.alignment_fraction_bits;
    const auto name = [&](const char* how, int bits) { return std::string(how) + " at F=" + text(bits); };
    q.hypotheses.push_back({name("truncated", believed), base});
    for (const int bits : {10, 11, 12, 13, 14, 15, 16, 17, 20, 22, 23, 24, 25, 26, 27}) {
        if (bits == believed) continue;
        q.hypotheses.push_back(changed(base, name("truncated", bits),
                                       [&](SumModel& m) { m.parameters.alignment_fraction_bits = bits; }));
    }
    for (const int bits : {believed - 1, believed, believed + 1}) {
        q.hypotheses.push_back(changed(base, name("rounded down", bits), [&](SumModel& m) {
            m.parameters.alignment_fraction_bits = bits;
            m.alignment = SumModel::Alignment::floor;
        }));
        q.hypotheses.push_back(changed(base, name("rounded to nearest", bits), [&](SumModel& m) {
            m.parameters.alignment_fraction_bits = bits;
            m.alignment = SumModel::Alignment::nearest;
        }));
    }
    return q;
}

MatrixQuestion rounding(const MatrixInstruction& i, const SumModel& base) {
    Operands o(i, base);
    constexpr int kScale = 8;
    const int bits = static_cast<int>(base.parameters.result_fraction_bits);
    // s * (1 + 1 + 2^(1-q) + 2^-q) with q fraction bits in the result: half an ulp more than it can hold, the
    // last bit odd; and without the third, even.
    for (const double sign : {1.0, -1.0}) {
        for (const bool odd : {false, true}) {
            o.product(o.place(0), sign, kScale);
            o.product(o.place(1), sign, kScale);
            if (odd) o.product(o.place(2), sign, kScale + 1 - bits);
            o.product(o.place(3), sign, kScale - bits);
            o.row();
            // C does the same.
            o.c(sign * std::ldexp(1, kScale));
            o.product(o.place(1), sign, kScale);
            if (odd) o.product(o.place(2), sign, kScale + 1 - bits);
            o.product(o.place(3), sign, kScale - bits);
            o.row();
        }
    }
    MatrixQuestion q{
        0, "rounding", "the sum lies half way between two results: which one is given", o.take(), {}};
    const auto name = [](Rounding r) -> std::string {
        switch (r) {
            case Rounding::nearest_even:
                return "nearest even";
            case Rounding::nearest_away:
                return "nearest, ties away";
            case Rounding::toward_zero:
                return "toward zero";
            case Rounding::up:
                return "up";
            default:
                return "down";
        }
    };
    q.hypotheses.push_back({name(base.parameters.rounding) +
                                (base.parameters.unpacks_to_fp16 ? " in the product, C to nearest even" : ""),
                            base});
    for (const Rounding r : {Rounding::nearest_even, Rounding::nearest_away, Rounding::toward_zero,
                             Rounding::up, Rounding::down}) {
        if (r == base.parameters.rounding) continue;
        q.hypotheses.push_back(changed(base, name(r), [&](SumModel& m) { m.parameters.rounding = r; }));
    }
    if (i.sum == Element::f32 && !base.parameters.unpacks_to_fp16 && bits == 23)
        q.hypotheses.push_back(
            changed(base, "a chain of fused multiply-adds", [](SumModel& m) { m.chain_of_fma = true; }));
    return q;
}

// ---- 4 and 5: the smallest exponent ----

// Hypotheses about where sums are cut: 2^(e0-F), which is all that shows.
void add_exponents(MatrixQuestion& q, const SumModel& base) {
    const int believed = base.parameters.minimum_exponent, bits = base.parameters.alignment_fraction_bits;
    const auto name = [&](int e0) { return "nothing below 2^" + text(e0 - bits); };
    q.hypotheses.push_back({name(believed), base});
    for (int e0 = believed - 3; e0 <= believed + 8; ++e0) {
        if (e0 == believed) continue;
        q.hypotheses.push_back(
            changed(base, name(e0), [&](SumModel& m) { m.parameters.minimum_exponent = e0; }));
    }
    q.hypotheses.push_back(
        changed(base, "no smallest exponent", [](SumModel& m) { m.clamp_exponent = false; }));
    q.hypotheses.push_back(changed(base, "subnormal inputs count as zero",
                                   [](SumModel& m) { m.flush_subnormal_inputs = true; }));
    q.hypotheses.push_back(changed(base, "subnormal results become zero",
                                   [](SumModel& m) { m.flush_subnormal_results = true; }));
}

void add_subnormal_rows(Operands& o) {
    for (const bool of_a : {true, false}) {
        const Format small = of_a ? o.a() : o.b(), other = of_a ? o.b() : o.a();
        const numerics::FormatTraits t = numerics::traits(small);
        const double tiny = std::ldexp(1, t.minimum_exponent() - static_cast<int>(t.fraction_bits));
        for (const int up : {4, 7}) {
            const std::uint64_t x = Operands::bits(small, 3 * tiny),
                                y = Operands::bits(other, std::ldexp(1, up));
            o.raw(o.place(0), of_a ? x : y, of_a ? y : x);
            o.row();
        }
    }
    for (const std::uint64_t c : {1u, 3u}) {  // the smallest numbers of C
        o.c_bits(c);
        o.row();
    }
}

MatrixQuestion smallest_exponent_fp32(const MatrixInstruction& i, const SumModel& base) {
    Operands o(i, base);
    for (int j = 0; j <= 16; ++j) {
        o.product(o.place(0), 1, -149);
        o.product(o.place(1), -1, -150 - j);
        o.row();
    }
    add_subnormal_rows(o);
    MatrixQuestion q{4,
                     "smallest exponent",
                     "2^-149 - 2^(-150-j): kept as 2^-149 once the second lies below "
                     "2^(e0-F); subnormal inputs and C",
                     o.take(),
                     {}};
    add_exponents(q, base);
    return q;
}

MatrixQuestion smallest_exponent_fp16(const MatrixInstruction& i, const SumModel& base) {
    Operands o(i, base);
    for (int j = 0; j <= 23;
         ++j) {  // half of the smallest fp16 number, which ties to zero, and a little more
        o.product(o.place(0), 1, -25);
        o.product(o.place(1), 1, -26 - j);
        o.row();
    }
    add_subnormal_rows(o);
    MatrixQuestion q{
        i.a == Element::e5m2 || i.b == Element::e5m2 ? 5u : 0u,
        "smallest exponent",
        "2^-25 + 2^(-26-j) into fp16: 0 once the second lies below 2^(e0-F); subnormal inputs and C",
        o.take(),
        {}};
    add_exponents(q, base);
    return q;
}

// Formats whose products never come near e0 of fp32.
MatrixQuestion subnormal_inputs(const MatrixInstruction& i, const SumModel& base) {
    Operands o(i, base);
    add_subnormal_rows(o);
    MatrixQuestion q{0, "subnormal numbers", "subnormal inputs times 2^4 and 2^7; subnormal C", o.take(), {}};
    q.hypotheses.push_back({"kept", base});
    q.hypotheses.push_back(changed(base, "subnormal inputs count as zero",
                                   [](SumModel& m) { m.flush_subnormal_inputs = true; }));
    q.hypotheses.push_back(changed(base, "subnormal results become zero",
                                   [](SumModel& m) { m.flush_subnormal_results = true; }));
    return q;
}

// ---- 6: zeros ----

MatrixQuestion zero_sign(const MatrixInstruction& i, const SumModel& base) {
    Operands o(i, base);
    const auto minus_zero = [](Format f) {
        return std::uint64_t{1} << (numerics::traits(f).storage_bits - 1);
    };
    const std::uint64_t one_b = Operands::bits(o.b(), 1), c_minus = minus_zero(o.sum());
    const auto all = [&](std::uint64_t a, std::uint64_t b) {
        for (unsigned k = 0; k < i.k; ++k) o.raw(k, a, b);
    };
    all(minus_zero(o.a()), one_b);  // every product and C are -0
    o.c_bits(c_minus);
    o.row();
    all(minus_zero(o.a()), one_b);  // C is +0
    o.row();
    o.c_bits(c_minus);  // products are +0
    o.row();
    o.raw(0, minus_zero(o.a()), one_b);  // one is -0
    o.c_bits(c_minus);
    o.row();
    all(minus_zero(o.a()), one_b);  // 1 - 1, the rest -0
    o.product(o.place(0), 1, 0);
    o.product(o.place(1), -1, 0);
    o.c_bits(c_minus);
    o.row();
    if (i.sum == Element::f32) {  // a negative product that alignment cuts to nothing
        all(minus_zero(o.a()), one_b);
        o.product(o.place(0), -1, -170);
        o.c_bits(c_minus);
        o.row();
    } else {  // a negative sum that rounds to zero
        all(minus_zero(o.a()), one_b);
        o.product(o.place(0), -1, -28);
        o.c_bits(c_minus);
        o.row();
    }
    MatrixQuestion q{6,
                     "sign of zero",
                     "all products -0 and C -0; C +0; products +0; 1 - 1; a negative that is "
                     "cut to nothing",
                     o.take(),
                     {}};
    q.hypotheses.push_back({"+0", base});
    q.hypotheses.push_back(changed(base, "-0 when every summand is -0",
                                   [](SumModel& m) { m.zero_sign = SumModel::ZeroSign::ieee; }));
    q.hypotheses.push_back(changed(base, "-0 when every summand is -0 or cut from a negative number",
                                   [](SumModel& m) { m.zero_sign = SumModel::ZeroSign::of_truncated_sum; }));
    return q;
}

// ---- 7: the low bits of tf32 ----

MatrixQuestion tf32_input(const MatrixInstruction& i, const SumModel& base) {
    Operands o(i, base);
    const std::uint32_t one = 0x3F800000u;
    const std::uint32_t low[] = {0x3F801000u,  // 1 + 2^-11
                                 0x3F801001u,  // 1 + 2^-11 + 2^-23
                                 0x3F803000u,  // 1 + 3 * 2^-11
                                 0x3F800FFFu, 0x3F801FFFu, 0xBF801000u, 0xBF803000u, 0x3FFFF000u,
                                 0x7F7FF000u,   // rounding up would overflow
                                 0x7F800001u};  // a NaN whose payload is in the low bits alone
    for (const std::uint32_t value : low) {
        o.raw(o.place(0), value, one);
        o.row();
        o.raw(o.place(0), one, value);
        o.row();
    }
    MatrixQuestion q{
        7, "low bits of tf32", "A or B holds fp32 numbers such as 1 + 2^-11, the other 1", o.take(), {}};
    using In = SumModel::Tf32Input;
    q.hypotheses.push_back({"ignored", base});
    const auto add = [&](const char* name, In input) {
        q.hypotheses.push_back(changed(base, name, [&](SumModel& m) { m.tf32_input = input; }));
    };
    add("rounded to nearest even", In::nearest_even);
    add("rounded to nearest, ties away", In::nearest_away);
    add("used", In::all_bits);
    return q;
}

// ---- 8: overflow ----

MatrixQuestion overflow(const MatrixInstruction& i, const SumModel& base) {
    Operands o(i, base);
    for (const double sign : {1.0, -1.0}) {
        if (i.sum == Element::f32) {
            const double largest = std::ldexp(double{(1 << 24) - 1}, 104);
            for (const unsigned products : {1u, 2u}) {  // 2^127 + 2^127
                if (products == 1) o.c(sign * std::ldexp(1, 127));
                for (unsigned p = 0; p < products; ++p) o.product(o.place(p), sign, 127);
                o.row();
            }
            o.product(o.place(0), sign, 127);  // fits, if added exactly
            o.product(o.place(1), sign, 127);
            o.product(o.place(2), -sign, 127);
            o.row();
            for (const int exponent : {102, 103, 104}) {
                o.c(sign * largest);
                o.product(o.place(0), sign, exponent);
                o.row();
            }
        } else {
            const auto with_c = [&](double c, double significand, int exponent) {
                o.c(sign * c);
                o.product(o.place(0), sign * significand, exponent);
                o.row();
            };
            with_c(60000, 1.5, 12);  // 60000 + 6144
            with_c(65504, 1, 3);
            with_c(65504, 1, 4);
            with_c(65504, 1, 5);
            o.c(sign * 60000);
            o.product(o.place(0), sign * 1.5, 12);
            o.product(o.place(1), -sign * 1.5, 12);
            o.row();
        }
    }
    MatrixQuestion q{8,
                     "overflow",
                     i.sum == Element::f32 ? "2^127 + 2^127, with a - 2^127; the largest + 2^103"
                                           : "60000 + 6144; 65504 + 8, 16, 32",
                     o.take(),
                     {}};
    q.hypotheses.push_back({"infinity", base});
    q.hypotheses.push_back(
        changed(base, "the largest number", [](SumModel& m) { m.overflow_to_largest = true; }));
    return q;
}

// ---- NaNs and infinities: one answer, written down in full ----

MatrixQuestion specials(const MatrixInstruction& i, const SumModel& base) {
    Operands o(i, base);
    const numerics::FormatTraits a = numerics::traits(o.a()), b = numerics::traits(o.b()),
                                 s = numerics::traits(o.sum());
    const std::uint64_t one_a = Operands::bits(o.a(), 1), one_b = Operands::bits(o.b(), 1);
    const auto infinity = [](Format f) {
        return numerics::encode(f, false, 1, 2000, {.overflow = numerics::Overflow::infinity});
    };
    const auto negative = [](const numerics::FormatTraits& t) {
        return std::uint64_t{1} << (t.storage_bits - 1);
    };
    for (const std::uint64_t payload : {a.nan, a.nan | negative(a)}) {
        o.raw(1, payload, one_b);
        o.row();
    }
    o.raw(1, one_a, b.nan);
    o.row();
    for (const std::uint64_t c :
         {s.nan, s.nan | negative(s), infinity(o.sum()) | 1, infinity(o.sum()) | 1 | negative(s)}) {
        o.c_bits(c);  // quiet and signalling
        o.row();
    }
    if (a.has_infinity()) {
        const std::uint64_t inf = infinity(o.a()), minus = inf | negative(a);
        o.raw(0, inf | 1u << a.padding_bits, one_b);  // signalling
        o.row();
        o.raw(0, inf, 0);  // times zero
        o.row();
        o.raw(0, inf, one_b);
        o.raw(1, minus, one_b);
        o.row();
        o.raw(0, inf, one_b);
        o.row();
        o.raw(0, minus, one_b);
        o.row();
        o.raw(0, inf, one_b);
        o.c_bits(infinity(o.sum()) | negative(s));
        o.row();
        o.raw(0, inf, one_b);  // infinities of two steps of a long instruction
        o.raw(i.k - 1, minus, one_b);
        o.row();
    }
    o.c_bits(infinity(o.sum()));
    o.row();
    o.c_bits(infinity(o.sum()) | negative(s));
    o.product(o.place(0), 1, 8);
    o.row();
    MatrixQuestion q{0,
                     "special values",
                     "NaN, infinity times zero, infinities of both signs: the bits of the result",
                     o.take(),
                     {}};
    q.hypotheses.push_back({"one NaN of all ones without sign, infinities as usual", base});
    return q;
}

// Joins hypotheses that these operands cannot tell apart.
void join_equal(MatrixQuestion& question) {
    std::vector<Hypothesis> distinct;
    std::vector<std::vector<std::uint64_t>> results;
    std::vector<unsigned> joined;
    for (Hypothesis& hypothesis : question.hypotheses) {
        const auto own = results_of(hypothesis, question.products);
        const auto same = std::find(results.begin(), results.end(), own);
        if (same == results.end()) {
            results.push_back(own);
            distinct.push_back(std::move(hypothesis));
            joined.push_back(0);
            continue;
        }
        const auto at = static_cast<std::size_t>(same - results.begin());
        if (++joined[at] <= 2) distinct[at].answer += " or " + hypothesis.answer;
    }
    for (std::size_t i = 0; i < distinct.size(); ++i)
        if (joined[i] > 2) distinct[i].answer += " or " + std::to_string(joined[i] - 2) + " others";
    question.hypotheses = std::move(distinct);
}

}  // namespace

std::vector<std::uint64_t> results_of(const Hypothesis& hypothesis, const DotProducts& products) {
    std::vector<std::uint64_t> results;
    for (std::size_t n = 0; n < products.count(); ++n)
        results.push_back(evaluate(hypothesis.model, products.a_row(n), products.b_row(n), products.c[n]));
    return results;
}

int answer_of(const MatrixQuestion& question, const std::vector<std::uint64_t>& results) {
    for (std::size_t i = 0; i < question.hypotheses.size(); ++i)
        if (results_of(question.hypotheses[i], question.products) == results) return static_cast<int>(i);
    return -1;
}

std::vector<MatrixQuestion> questions_about(const MatrixInstruction& i, const SumModel& base) {
    std::vector<MatrixQuestion> questions;
    questions.push_back(block_length(i, base));
    if (i.sum == Element::f32) questions.push_back(result_bits(i, base));
    questions.push_back(alignment(i, base));
    questions.push_back(rounding(i, base));
    const bool wide = i.a == Element::bf16 || i.a == Element::tf32;
    if (i.sum == Element::f32)
        questions.push_back(wide ? smallest_exponent_fp32(i, base) : subnormal_inputs(i, base));
    else
        questions.push_back(i.a == Element::e4m3 && i.b == Element::e4m3 ? subnormal_inputs(i, base)
                                                                         : smallest_exponent_fp16(i, base));
    questions.push_back(zero_sign(i, base));
    if (i.a == Element::tf32) questions.push_back(tf32_input(i, base));
    if (wide || i.sum == Element::f16) questions.push_back(overflow(i, base));
    questions.push_back(specials(i, base));
    for (MatrixQuestion& question : questions) join_equal(question);
    return questions;
}

}  // namespace heddle::capture
