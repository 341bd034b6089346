#include "validation/capture/sections/matrix_questions.h"

#include <algorithm>

#include "validation/capture/sections/question_operands.h"

namespace heddle::capture {
namespace {

using numerics::Rounding;

std::string length_text(unsigned length, unsigned k) {
    return "L=" + text(static_cast<int>(length)) + (length == k ? " (the whole instruction)" : "");
}

// ---- 1: how many products are added at once, and in which order the blocks follow ----

MatrixQuestion block_length(const MatrixInstruction& i, const SumModel& base) {
    QuestionOperands o(i, base);
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
    QuestionOperands o(i, base);
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
    QuestionOperands o(i, base);
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
    QuestionOperands o(i, base);
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
