// The machine forms: what machine instructions (SASS) compute where PTX has no instruction of the same meaning.
#include <cmath>

#include "isa/ptx/handlers/float_bits.h"
#include "isa/ptx/machine_form.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

namespace form = machine_form;

/// Immediate number `n` of the instruction: eight bits.
unsigned flags_of(const Decoded& i, unsigned n = 0) {
    return static_cast<unsigned>(i.offset >> (8 * n)) & 0xFFu;
}
/// A word with all bits set when `condition` holds.
std::uint32_t all_if(bool condition) {
    return condition ? 0xFFFFFFFFu : 0;
}
const std::uint32_t* element(State& warp, std::uint32_t vector, unsigned n) {
    return words<std::uint32_t>(warp, warp.elements[vector + n]);
}
std::uint32_t element_predicate(State& warp, std::uint32_t vector, unsigned n) {
    return predicate(warp, warp.elements[vector + n]);
}
/// Writes pairs: value(lane) is 64 bits wide and may read the rows that are written.
template <class Value>
void assign_pair(State& warp, std::uint32_t vector, std::uint32_t mask, Value value) {
    std::uint64_t result[kWarpSize];
    for (unsigned lane = 0; lane < kWarpSize; ++lane) result[lane] = value(lane);
    assign<std::uint32_t>(warp, warp.elements[vector], mask, [&](unsigned lane) { return static_cast<std::uint32_t>(result[lane]); });
    assign<std::uint32_t>(warp, warp.elements[vector + 1], mask, [&](unsigned lane) { return static_cast<std::uint32_t>(result[lane] >> 32); });
}

void add_three(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t *a = words<std::uint32_t>(warp, i.operand[1]), *b = words<std::uint32_t>(warp, i.operand[2]),
                        *c = words<std::uint32_t>(warp, i.operand[3]);
    const unsigned flags = flags_of(i);
    const std::uint32_t na = all_if(flags & form::kNegateA), nb = all_if(flags & form::kNegateB), nc = all_if(flags & form::kNegateC);
    const std::uint32_t ones = 0u - na - nb - nc;  // of the two's complements
    assign<std::uint32_t>(warp, i.operand[0], mask, [=](unsigned lane) { return (a[lane] ^ na) + (b[lane] ^ nb) + (c[lane] ^ nc) + ones; });
}

// The carry of a sum of three is 0, 1 or 2: as many of the two predicates are set.
void add_three_carry(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t *a = element(warp, i.operand[2], 0), *b = element(warp, i.operand[2], 1), *c = element(warp, i.operand[2], 2);
    const unsigned flags = flags_of(i), negated = flags_of(i, 1);
    const std::uint32_t na = all_if(flags & 1u), nb = all_if(flags & 2u), nc = all_if(flags & 4u);
    const bool extended = (flags & form::kExtended) != 0;
    const std::uint32_t ones = extended ? 0u : 0u - na - nb - nc;
    const std::uint32_t in0 = extended ? element_predicate(warp, i.operand[3], 0) ^ all_if(negated & 1u) : 0;
    const std::uint32_t in1 = extended ? element_predicate(warp, i.operand[3], 1) ^ all_if(negated & 2u) : 0;
    std::uint32_t low[kWarpSize], carry[kWarpSize];
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        const std::uint64_t sum = std::uint64_t{a[lane] ^ na} + (b[lane] ^ nb) + (c[lane] ^ nc) + ones + (in0 >> lane & 1u) + (in1 >> lane & 1u);
        low[lane] = static_cast<std::uint32_t>(sum);
        carry[lane] = static_cast<std::uint32_t>(sum >> 32);
    }
    assign<std::uint32_t>(warp, i.operand[0], mask, [&](unsigned lane) { return low[lane]; });
    assign_predicate(warp, warp.elements[i.operand[1]], mask, collect([&](unsigned lane) { return carry[lane] != 0; }));
    assign_predicate(warp, warp.elements[i.operand[1] + 1], mask, collect([&](unsigned lane) { return carry[lane] > 1; }));
}

void multiply_add(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t *a = words<std::uint32_t>(warp, i.operand[1]), *b = words<std::uint32_t>(warp, i.operand[2]),
                        *c = words<std::uint32_t>(warp, i.operand[3]);
    const std::uint32_t na = all_if(flags_of(i) & form::kNegateA), nc = all_if(flags_of(i) & form::kNegateC);
    assign<std::uint32_t>(warp, i.operand[0], mask, [=](unsigned lane) { return ((a[lane] * b[lane]) ^ na) - na + (c[lane] ^ nc) - nc; });
}

template <bool kSigned>
void multiply_add_wide(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t *a = element(warp, i.operand[2], 0), *b = element(warp, i.operand[2], 1);
    const std::uint32_t *low = element(warp, i.operand[3], 0), *high = element(warp, i.operand[3], 1);
    const unsigned flags = flags_of(i);
    const std::uint64_t np = flags & form::kNegateProduct ? ~std::uint64_t{0} : 0, nc = flags & form::kNegateAddend ? ~std::uint64_t{0} : 0;
    const std::uint32_t carry_in = flags & form::kAddCarry ? predicate(warp, i.operand[4]) ^ all_if(flags & form::kNegatedCarry) : 0;
    std::uint64_t result[kWarpSize];
    std::uint32_t carry_out = 0;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        std::uint64_t product;
        if constexpr (kSigned)
            product = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(a[lane])} * static_cast<std::int32_t>(b[lane]));
        else
            product = std::uint64_t{a[lane]} * b[lane];
        product = (product ^ np) - np;
        const std::uint64_t addend = ((std::uint64_t{high[lane]} << 32 | low[lane]) ^ nc) - nc;
        const std::uint64_t sum = product + addend, all = sum + (carry_in >> lane & 1u);
        carry_out |= static_cast<std::uint32_t>(sum < product || all < sum) << lane;
        result[lane] = all;
    }
    if (flags & form::kHigh) {
        for (std::uint64_t& one : result) one = (one >> 32) | (one & 0xFFFFFFFF00000000u);
    }
    assign_pair(warp, i.operand[0], mask, [&](unsigned lane) { return result[lane]; });
    assign_predicate(warp, i.operand[1], mask, carry_out);
}

void load_effective_address(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t *a = element(warp, i.operand[2], 0), *b = element(warp, i.operand[2], 1), *c = element(warp, i.operand[2], 2);
    const unsigned shift = flags_of(i) & 31u, flags = flags_of(i, 1);
    const bool high = (flags & form::kLeaHigh) != 0, is_signed = (flags & form::kLeaSigned) != 0;
    const std::uint32_t carry_in = flags & form::kLeaCarry ? predicate(warp, i.operand[3]) ^ all_if(flags & form::kLeaNegatedCarry) : 0;
    std::uint32_t low[kWarpSize], carry_out = 0;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        const std::uint32_t top = is_signed ? static_cast<std::uint32_t>(static_cast<std::int32_t>(a[lane]) >> 31) : c[lane];
        const std::uint64_t shifted = (std::uint64_t{top} << 32 | a[lane]) << shift;
        const std::uint64_t sum = (high ? shifted >> 32 : shifted & 0xFFFFFFFFu) + b[lane] + (carry_in >> lane & 1u);
        low[lane] = static_cast<std::uint32_t>(sum);
        carry_out |= static_cast<std::uint32_t>(sum >> 32 != 0) << lane;
    }
    assign<std::uint32_t>(warp, i.operand[0], mask, [&](unsigned lane) { return low[lane]; });
    assign_predicate(warp, i.operand[1], mask, carry_out);
}

// The amount is clamped to the width of the type, or wraps.
template <bool kRight, bool kSigned>
void funnel_shift(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t *low = words<std::uint32_t>(warp, i.operand[1]), *by = words<std::uint32_t>(warp, i.operand[2]),
                        *high = words<std::uint32_t>(warp, i.operand[3]);
    const unsigned flags = flags_of(i);
    const std::uint32_t width = flags & form::kShift64 ? 64 : 32;
    const bool wrap = (flags & form::kShiftWrap) != 0;
    const unsigned part = flags & form::kShiftHigh ? 32 : 0;
    assign<std::uint32_t>(warp, i.operand[0], mask, [=](unsigned lane) {
        const std::uint64_t value = std::uint64_t{high[lane]} << 32 | low[lane];
        const std::uint32_t amount = wrap ? by[lane] & (width - 1) : by[lane] < width ? by[lane] : width;
        const unsigned first = amount / 2, second = amount - first;  // a shift by 64 is two by 32
        std::uint64_t result;
        if constexpr (!kRight)
            result = value << first << second;
        else if constexpr (kSigned)
            result = static_cast<std::uint64_t>(static_cast<std::int64_t>(value) >> first >> second);
        else
            result = value >> first >> second;
        return static_cast<std::uint32_t>(result >> part);
    });
}

std::uint32_t combine(std::uint32_t a, std::uint32_t b, unsigned operation) {
    return operation == 0 ? a & b : operation == 1 ? a | b : a ^ b;
}

// The upper halves decide; where they are equal, the result of the lower halves does.
void compare_extended(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t *a = words<std::uint32_t>(warp, i.operand[2]), *b = words<std::uint32_t>(warp, i.operand[3]);
    const unsigned flags = flags_of(i), negated = flags_of(i, 1);
    const std::uint32_t flip = flags & form::kCompareSigned ? 0x80000000u : 0;
    const std::uint32_t accumulator = predicate(warp, i.operand[4]) ^ all_if(negated & 1u);
    const std::uint32_t lower = predicate(warp, i.operand[5]) ^ all_if(negated & 2u);
    const std::uint32_t less = collect([=](unsigned lane) { return (a[lane] ^ flip) < (b[lane] ^ flip); });
    const std::uint32_t equal = collect([=](unsigned lane) { return a[lane] == b[lane]; });
    std::uint32_t strict = 0;
    switch (flags & 7u) {
        case form::kLess:
        case form::kLessEqual:
            strict = less;
            break;
        case form::kGreater:
        case form::kGreaterEqual:
            strict = ~(less | equal);
            break;
        case form::kNotEqual:
            strict = ~equal;
            break;
        default:
            break;
    }
    const std::uint32_t result = strict | (equal & lower);
    assign_predicate(warp, i.operand[0], mask, combine(result, accumulator, flags >> 4 & 3u));
    assign_predicate(warp, i.operand[1], mask, combine(~result, accumulator, flags >> 4 & 3u));
}

std::uint32_t look_up(unsigned table, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    std::uint32_t result = 0;
    for (unsigned row = 0; row < 8; ++row) {
        if ((table >> row & 1u) == 0) continue;
        result |= (row & 4u ? a : ~a) & (row & 2u ? b : ~b) & (row & 1u ? c : ~c);
    }
    return result;
}
void combine_predicates(State& warp, const Decoded& i, std::uint32_t mask) {
    const unsigned negated = flags_of(i, 2);
    const std::uint32_t a = predicate(warp, i.operand[2]) ^ all_if(negated & 1u), b = predicate(warp, i.operand[3]) ^ all_if(negated & 2u),
                        c = predicate(warp, i.operand[4]) ^ all_if(negated & 4u);
    assign_predicate(warp, i.operand[0], mask, look_up(flags_of(i), a, b, c));
    assign_predicate(warp, i.operand[1], mask, look_up(flags_of(i, 1), a, b, c));
}

template <bool kFlush>
void fused_multiply_add(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t *a = words<float>(warp, i.operand[1]), *b = words<float>(warp, i.operand[2]), *c = words<float>(warp, i.operand[3]);
    const unsigned flags = flags_of(i);
    // The sign of a product is that of one factor.
    const std::uint32_t product = ((flags & form::kNegateA) != 0) != ((flags & form::kNegateB) != 0) ? 0x80000000u : 0;
    const std::uint32_t addend = flags & form::kNegateC ? 0x80000000u : 0;
    assign<float>(warp, i.operand[0], mask, [=](unsigned lane) {
        const float x = flush_if<kFlush>(std::bit_cast<float>(a[lane] ^ product)), y = flush_if<kFlush>(std::bit_cast<float>(b[lane])),
                    z = flush_if<kFlush>(std::bit_cast<float>(c[lane] ^ addend));
        return finish<kFlush, false>(std::fma(x, y, z));
    });
}

// Whether a / b needs the slow path: the quotient, the reciprocal or the remainders of the fast one would not be normal numbers.
void check_division(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t *a = words<std::uint32_t>(warp, i.operand[1]), *b = words<std::uint32_t>(warp, i.operand[2]);
    assign_predicate(warp, i.operand[0], mask, collect([=](unsigned lane) {
                         const auto ea = static_cast<std::int32_t>(a[lane] >> 23 & 0xFFu), eb = static_cast<std::int32_t>(b[lane] >> 23 & 0xFFu);
                         return ea < 27 || ea == 255 || eb == 0 || eb > 251 || ea - eb < -124 || ea - eb > 124;
                     }));
}

// The lanes that run exchange values; what a lane that does not run holds is undefined.
void shuffle_active(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t *a = words<std::uint32_t>(warp, i.operand[2]), *b = words<std::uint32_t>(warp, i.operand[3]),
                        *c = words<std::uint32_t>(warp, i.operand[4]);
    const unsigned mode = flags_of(i);
    std::uint32_t result[kWarpSize], in_range = 0;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        const auto self = static_cast<std::int32_t>(lane);
        const auto distance = static_cast<std::int32_t>(b[lane] & 31u), clamp = static_cast<std::int32_t>(c[lane] & 31u),
                   segment = static_cast<std::int32_t>(c[lane] >> 8 & 31u);
        const std::int32_t last = (self & segment) | (clamp & ~segment), first = self & segment;
        const std::int32_t source = mode == form::kShuffleUp          ? self - distance
                                    : mode == form::kShuffleDown      ? self + distance
                                    : mode == form::kShuffleButterfly ? self ^ distance
                                                                      : first | (distance & ~segment);
        const bool valid = mode == form::kShuffleUp ? source >= last : source <= last;
        result[lane] = a[(valid ? source : self) & 31];
        in_range |= static_cast<std::uint32_t>(valid) << lane;
    }
    assign<std::uint32_t>(warp, i.operand[0], mask, [&](unsigned lane) { return result[lane]; });
    assign_predicate(warp, i.operand[1], mask, in_range);
}

double pair_as_double(const std::uint32_t* low, const std::uint32_t* high, unsigned lane, bool negated, bool absolute) {
    std::uint64_t bits = std::uint64_t{high[lane]} << 32 | low[lane];
    if (absolute) bits &= ~std::uint64_t{0} >> 1;
    if (negated) bits ^= std::uint64_t{1} << 63;
    return std::bit_cast<double>(bits);
}

template <form::Double kOperation>
void double_arithmetic(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t *a = element(warp, i.operand[1], 0), *ah = element(warp, i.operand[1], 1);
    const std::uint32_t *b = element(warp, i.operand[2], 0), *bh = element(warp, i.operand[2], 1);
    const std::uint32_t *c = element(warp, i.operand[3], 0), *ch = element(warp, i.operand[3], 1);
    const unsigned signs = flags_of(i, 1);
    assign_pair(warp, i.operand[0], mask, [=](unsigned lane) {
        const double x = pair_as_double(a, ah, lane, signs & 1u, signs & 8u), y = pair_as_double(b, bh, lane, signs & 2u, signs & 16u);
        double result;
        if constexpr (kOperation == form::kDoubleAdd) {
            result = with_first_nan(x + y, x, y, y);
        } else if constexpr (kOperation == form::kDoubleMultiply) {
            result = with_first_nan(x * y, x, y, y);
        } else {
            const double z = pair_as_double(c, ch, lane, signs & 4u, signs & 32u);
            result = with_first_nan(std::fma(x, y, z), x, y, z);
        }
        return std::bit_cast<std::uint64_t>(result);
    });
}

void first_lane(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t value = words<std::uint32_t>(warp, i.operand[1])[std::countr_zero(mask)];
    assign<std::uint32_t>(warp, i.operand[0], mask, [=](unsigned) { return value; });
}

/// The first immediate of an instruction that is not decoded yet.
unsigned first_immediate(const Instruction& n) {
    for (std::size_t o = 1; o < n.operands.size(); ++o) {
        if (n.operands[o].kind == Operand::Kind::immediate && n.operands[o].type == Type::u64) return static_cast<unsigned>(n.operands[o].bits);
    }
    return 0;
}

}  // namespace

Handler select_machine_form(const Instruction& n) {
    switch (n.opcode) {
        case Opcode::machine_iadd3:
            return add_three;
        case Opcode::machine_iadd3_carry:
            return add_three_carry;
        case Opcode::machine_imad:
            return multiply_add;
        case Opcode::machine_imad_wide:
            return first_immediate(n) & form::kSigned ? multiply_add_wide<true> : multiply_add_wide<false>;
        case Opcode::machine_lea:
            return load_effective_address;
        case Opcode::machine_shf: {
            const unsigned flags = first_immediate(n);
            if ((flags & form::kShiftRight) == 0) return funnel_shift<false, false>;
            return flags & form::kShiftSigned ? funnel_shift<true, true> : funnel_shift<true, false>;
        }
        case Opcode::machine_isetp_extended:
            return compare_extended;
        case Opcode::machine_plop3:
            return combine_predicates;
        case Opcode::machine_ffma:
            return first_immediate(n) & form::kFlush ? fused_multiply_add<true> : fused_multiply_add<false>;
        case Opcode::machine_fchk:
            return check_division;
        case Opcode::machine_shfl:
            return shuffle_active;
        case Opcode::machine_double:
            switch (first_immediate(n)) {
                case form::kDoubleAdd:
                    return double_arithmetic<form::kDoubleAdd>;
                case form::kDoubleMultiply:
                    return double_arithmetic<form::kDoubleMultiply>;
                default:
                    return double_arithmetic<form::kDoubleMultiplyAdd>;
            }
        case Opcode::machine_first_lane:
            return first_lane;
        default:
            return nullptr;
    }
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
