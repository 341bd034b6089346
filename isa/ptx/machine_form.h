// The immediates of machine forms (isa/ptx/forms/machine_code.h): what a translator of machine code writes and what the
// handlers read.
#pragma once

#include <cstdint>

namespace heddle::ptx::machine_form {

/// $iadd3, $imad, $ffma: sign of operands a, b, c. $imad has no kNegateB: a negated product is kNegateA.
inline constexpr unsigned kNegateA = 1, kNegateB = 2, kNegateC = 4;
/// $ffma: subnormal operands and results are zero.
inline constexpr unsigned kFlush = 8;

/// $iadd3_carry, first immediate: operands a, b, c negated (or, with kExtended, inverted); kExtended adds the two predicates.
/// The second immediate: bit per predicate that is negated.
inline constexpr unsigned kExtended = 8;

/// $imad_wide: d = a * b + c (+ predicate). The result is a pair; kHigh alone writes its upper half to both.
inline constexpr unsigned kSigned = 1, kHigh = 2, kNegateProduct = 4, kNegateAddend = 8, kAddCarry = 16, kNegatedCarry = 32;

/// $lea, first immediate: the shift. The second one: kLeaHigh takes the upper half of {c, a} << shift; kLeaSigned: c is the sign
/// of a; kLeaCarry adds the predicate; kLeaNegatedCarry; kLeaNegateA: a, as a number of 64 bits where kLeaHigh, is negated.
inline constexpr unsigned kLeaHigh = 1, kLeaSigned = 2, kLeaCarry = 4, kLeaNegatedCarry = 8;

/// $shf: operands are the lower word, the amount and the upper word.
inline constexpr unsigned kShiftRight = 1, kShiftSigned = 2, kShiftHigh = 4, kShiftWrap = 8, kShift64 = 16;

/// $isetp_extended, first immediate: comparison (3 bits), kCompareSigned, boolean operation from bit 4 (0 and, 1 or, 2 xor).
/// Second: negated accumulator 1, negated lower result 2.
enum Comparison : unsigned { kLess, kEqual, kLessEqual, kGreater, kNotEqual, kGreaterEqual };
inline constexpr unsigned kCompareSigned = 8;

/// $shfl.
enum Shuffle : unsigned { kShuffleIndex, kShuffleUp, kShuffleDown, kShuffleButterfly };

/// $double, first immediate: operation; second: kNegateA, kNegateB, kNegateC, and the same shifted left by 3 for absolute values.
enum Double : unsigned { kDoubleAdd, kDoubleMultiply, kDoubleMultiplyAdd };

}  // namespace heddle::ptx::machine_form
