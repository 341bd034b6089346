// What the questions share: their operands, and how hypotheses differ from what is believed. Private to this
// folder.
#pragma once

#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "validation/capture/sections/matrix_questions.h"

namespace heddle::capture {

using numerics::Format;

/// Writes the operands of one question.
class QuestionOperands {
  public:
    QuestionOperands(const MatrixInstruction& instruction, const SumModel& base)
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

/// The believed model with one change.
template <typename Change>
Hypothesis changed(const SumModel& base, const std::string& answer, Change change) {
    Hypothesis hypothesis{answer, base};
    change(hypothesis.model);
    return hypothesis;
}

inline std::string text(int value) {
    return std::to_string(value);
}

/// Questions 4 to 8 and about NaNs: where numbers end.
MatrixQuestion smallest_exponent_fp32(const MatrixInstruction& instruction, const SumModel& base);
MatrixQuestion smallest_exponent_fp16(const MatrixInstruction& instruction, const SumModel& base);
MatrixQuestion subnormal_inputs(const MatrixInstruction& instruction, const SumModel& base);
MatrixQuestion zero_sign(const MatrixInstruction& instruction, const SumModel& base);
MatrixQuestion tf32_input(const MatrixInstruction& instruction, const SumModel& base);
MatrixQuestion overflow(const MatrixInstruction& instruction, const SumModel& base);
MatrixQuestion specials(const MatrixInstruction& instruction, const SumModel& base);

}  // namespace heddle::capture
