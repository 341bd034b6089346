// Questions about the ends of the number range: the smallest exponent, zeros, overflow, NaNs; and the low
// bits of tf32.
#include "validation/capture/sections/question_operands.h"

namespace heddle::capture {
namespace {
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

void add_subnormal_rows(QuestionOperands& o) {
    for (const bool of_a : {true, false}) {
        const Format small = of_a ? o.a() : o.b(), other = of_a ? o.b() : o.a();
        const numerics::FormatTraits t = numerics::traits(small);
        const double tiny = std::ldexp(1, t.minimum_exponent() - static_cast<int>(t.fraction_bits));
        for (const int up : {4, 7}) {
            const std::uint64_t x = QuestionOperands::bits(small, 3 * tiny),
                                y = QuestionOperands::bits(other, std::ldexp(1, up));
            o.raw(o.place(0), of_a ? x : y, of_a ? y : x);
            o.row();
        }
    }
    for (const std::uint64_t c : {1u, 3u}) {  // the smallest numbers of C
        o.c_bits(c);
        o.row();
    }
}

}  // namespace

MatrixQuestion smallest_exponent_fp32(const MatrixInstruction& i, const SumModel& base) {
    QuestionOperands o(i, base);
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
    QuestionOperands o(i, base);
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
    QuestionOperands o(i, base);
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
    QuestionOperands o(i, base);
    const auto minus_zero = [](Format f) {
        return std::uint64_t{1} << (numerics::traits(f).storage_bits - 1);
    };
    const std::uint64_t one_b = QuestionOperands::bits(o.b(), 1), c_minus = minus_zero(o.sum());
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
    QuestionOperands o(i, base);
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
    QuestionOperands o(i, base);
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
    QuestionOperands o(i, base);
    const numerics::FormatTraits a = numerics::traits(o.a()), b = numerics::traits(o.b()),
                                 s = numerics::traits(o.sum());
    const std::uint64_t one_a = QuestionOperands::bits(o.a(), 1), one_b = QuestionOperands::bits(o.b(), 1);
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

}  // namespace heddle::capture
