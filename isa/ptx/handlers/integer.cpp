// Integer arithmetic.
#include <limits>

#include "isa/ptx/handlers/lanes.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

// Arithmetic wraps: it is done on unsigned words at least as wide as int.
template <class T>
using Unsigned = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
// The type that holds every product of two T.
__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;
template <std::size_t kBytes, bool kSigned>
struct Wider {
    using type = std::conditional_t<kSigned, std::int64_t, std::uint64_t>;
};
template <bool kSigned>
struct Wider<2, kSigned> {
    using type = std::conditional_t<kSigned, std::int32_t, std::uint32_t>;
};
template <bool kSigned>
struct Wider<8, kSigned> {
    using type = std::conditional_t<kSigned, Int128, Uint128>;
};
template <class T>
using Double = typename Wider<sizeof(T), std::is_signed_v<T>>::type;

template <class T>
T wrap(Unsigned<T> value) {
    return static_cast<T>(value);
}

template <class T>
T multiply_high(T a, T b) {
    if constexpr (sizeof(T) == 8) {
        return static_cast<T>((static_cast<Double<T>>(a) * static_cast<Double<T>>(b)) >> 64);
    } else {
        using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
        return static_cast<T>((static_cast<Wide>(a) * static_cast<Wide>(b)) >> (8 * sizeof(T)));
    }
}

struct Add {
    template <class T>
    T operator()(T a, T b) const {
        return wrap<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
    }
};
struct Subtract {
    template <class T>
    T operator()(T a, T b) const {
        return wrap<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
    }
};
struct MultiplyLow {
    template <class T>
    T operator()(T a, T b) const {
        return wrap<T>(static_cast<Unsigned<T>>(a) * static_cast<Unsigned<T>>(b));
    }
};
struct MultiplyHigh {
    template <class T>
    T operator()(T a, T b) const {
        return multiply_high(a, b);
    }
};
struct MultiplyWide {
    template <class T>
    Double<T> operator()(T a, T b) const {
        return static_cast<Double<T>>(static_cast<Double<T>>(a) * static_cast<Double<T>>(b));
    }
};
struct MultiplyAddLow {
    template <class T>
    T operator()(T a, T b, T c) const {
        return Add()(MultiplyLow()(a, b), c);
    }
};
struct MultiplyAddHigh {
    template <class T>
    T operator()(T a, T b, T c) const {
        return Add()(multiply_high(a, b), c);
    }
};
struct MultiplyAddWide {
    template <class T>
    Double<T> operator()(T a, T b, Double<T> c) const {
        return Add()(static_cast<Double<T>>(static_cast<Double<T>>(a) * static_cast<Double<T>>(b)), c);
    }
};

std::int32_t clamp_to_s32(std::int64_t value) {
    constexpr std::int64_t low = std::numeric_limits<std::int32_t>::min();
    constexpr std::int64_t high = std::numeric_limits<std::int32_t>::max();
    return static_cast<std::int32_t>(value < low ? low : value > high ? high : value);
}
struct AddSaturated {
    std::int32_t operator()(std::int32_t a, std::int32_t b) const {
        return clamp_to_s32(std::int64_t{a} + b);
    }
};
struct SubtractSaturated {
    std::int32_t operator()(std::int32_t a, std::int32_t b) const {
        return clamp_to_s32(std::int64_t{a} - b);
    }
};
struct MultiplyAddHighSaturated {
    std::int32_t operator()(std::int32_t a, std::int32_t b, std::int32_t c) const {
        return clamp_to_s32(std::int64_t{multiply_high(a, b)} + c);
    }
};

// Division by zero is unspecified in the manual; the hardware's sequences return all ones, and the dividend
// as rest.
struct Divide {
    template <class T>
    T operator()(T a, T b) const {
        if (b == 0) return static_cast<T>(~T{0});
        if constexpr (std::is_signed_v<T>) {
            if (b == -1) return Subtract()(T{0}, a);
        }
        return static_cast<T>(a / b);
    }
};
struct Remainder {
    template <class T>
    T operator()(T a, T b) const {
        if (b == 0) return a;
        if constexpr (std::is_signed_v<T>) {
            if (b == -1) return 0;
        }
        return static_cast<T>(a % b);
    }
};
struct Minimum {
    template <class T>
    T operator()(T a, T b) const {
        return b < a ? b : a;
    }
};
struct Maximum {
    template <class T>
    T operator()(T a, T b) const {
        return a < b ? b : a;
    }
};
struct Absolute {
    template <class T>
    T operator()(T a) const {
        return a < 0 ? Subtract()(T{0}, a) : a;
    }
};
struct Negate {
    template <class T>
    T operator()(T a) const {
        return Subtract()(T{0}, a);
    }
};
struct SumOfAbsoluteDifference {
    template <class T>
    T operator()(T a, T b, T c) const {
        return Add()(c, a < b ? Subtract()(b, a) : Subtract()(a, b));
    }
};

// mul24, mad24: the low 24 bits of each operand, sign-extended for s32. lo: bits 31..0 of the 48-bit product,
// hi: 47..16.
template <class T>
std::int64_t product24(T a, T b) {
    if constexpr (std::is_signed_v<T>) {
        const auto extend = [](T v) {
            return std::int64_t{static_cast<std::int32_t>(static_cast<std::uint32_t>(v) << 8) >> 8};
        };
        return extend(a) * extend(b);
    } else {
        return static_cast<std::int64_t>(std::uint64_t{a & 0xFFFFFFu} * (b & 0xFFFFFFu));
    }
}
struct Multiply24Low {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(product24(a, b));
    }
};
struct Multiply24High {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(product24(a, b) >> 16);
    }
};
struct MultiplyAdd24Low {
    template <class T>
    T operator()(T a, T b, T c) const {
        return Add()(Multiply24Low()(a, b), c);
    }
};
struct MultiplyAdd24High {
    template <class T>
    T operator()(T a, T b, T c) const {
        return Add()(Multiply24High()(a, b), c);
    }
};

struct MultiplyAdd24HighSaturated {
    std::int32_t operator()(std::int32_t a, std::int32_t b, std::int32_t c) const {
        return clamp_to_s32(std::int64_t{Multiply24High()(a, b)} + c);
    }
};

// dp4a, dp2a: c plus the products of bytes with bytes, or of the two 16-bit parts of a with the low or high
// pair of bytes of b.
template <bool kSigned, unsigned kBits>
std::int32_t part(std::uint32_t word, unsigned index) {
    const std::uint32_t field = word >> (kBits * index) << (32 - kBits);
    if constexpr (kSigned) return static_cast<std::int32_t>(field) >> (32 - kBits);
    return static_cast<std::int32_t>(field >> (32 - kBits));
}
template <bool kSignedA, bool kSignedB>
struct DotProduct4 {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
        for (unsigned n = 0; n < 4; ++n)
            c += static_cast<std::uint32_t>(part<kSignedA, 8>(a, n) * part<kSignedB, 8>(b, n));
        return c;
    }
};
template <bool kSignedA, bool kSignedB, unsigned kFirst>
struct DotProduct2 {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
        for (unsigned n = 0; n < 2; ++n) {
            c += static_cast<std::uint32_t>(part<kSignedA, 16>(a, n) * part<kSignedB, 8>(b, kFirst + n));
        }
        return c;
    }
};

// add.cc, addc, sub.cc, subc, mad.cc, madc. Operands: d, a, b, (c,) then the carry read and the carry
// written. A subtraction is a + ~b + carry, as on the hardware: the flag is clear when it borrows. The manual
// speaks of a borrow, which is the same as long as additions and subtractions are not mixed in one chain;
// nvcc mixes them in its 128-bit division.
enum class CarryOp { add, subtract, multiply_low_add, multiply_high_add };

template <class T, CarryOp kOp, bool kReads, bool kWrites>
void with_carry(State& warp, const Decoded& i, std::uint32_t mask) {
    constexpr bool multiply = kOp == CarryOp::multiply_low_add || kOp == CarryOp::multiply_high_add;
    constexpr unsigned first_carry = multiply ? 4 : 3;
    const Word<T>* a = words<T>(warp, i.operand[1]);
    const Word<T>* b = words<T>(warp, i.operand[2]);
    const Word<T>* c = multiply ? words<T>(warp, i.operand[3]) : b;
    const std::uint32_t carry_in = kReads ? predicate(warp, i.operand[first_carry]) : 0;
    Word<T> result[kWarpSize];
    std::uint32_t carry_out = 0;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        const Word<T> carry = carry_in >> lane & 1u;
        Word<T> left = a[lane], right = b[lane];
        if constexpr (kOp == CarryOp::multiply_low_add) left = left * right;
        if constexpr (kOp == CarryOp::multiply_high_add)
            left = pack<T>(multiply_high(unpack<T>(left), unpack<T>(right)));
        if constexpr (multiply) right = c[lane];
        bool out = false;
        if constexpr (kOp == CarryOp::subtract) {
            const bool borrows = kReads && carry == 0;
            result[lane] = left - right - (borrows ? 1 : 0);
            out = left > right || (left == right && !borrows);
        } else {
            result[lane] = left + right + carry;
            out = result[lane] < left || (carry != 0 && result[lane] == left);
        }
        carry_out |= static_cast<std::uint32_t>(out) << lane;
    }
    assign<T>(warp, i.operand[0], mask, [&](unsigned lane) { return static_cast<T>(result[lane]); });
    if constexpr (kWrites) assign_predicate(warp, i.operand[first_carry + (kReads ? 1 : 0)], mask, carry_out);
}

template <CarryOp kOp>
Handler choose_carry(const Instruction& instruction, bool reads) {
    const bool writes = instruction.has(Modifier::cc);
    return with_integer(instruction.type(), [&](auto tag) -> Handler {
        using T = decltype(tag);
        if (reads) return writes ? with_carry<T, kOp, true, true> : with_carry<T, kOp, true, false>;
        return with_carry<T, kOp, false, true>;
    });
}

template <class Op>
Handler choose_binary(Type type) {
    return with_integer(type, [](auto tag) -> Handler {
        using T = decltype(tag);
        return binary<Op, T, T, T>;
    });
}
template <class Op>
Handler choose_ternary(Type type) {
    return with_integer(type, [](auto tag) -> Handler {
        using T = decltype(tag);
        return ternary<Op, T, T, T, T>;
    });
}
template <class Op>
Handler choose_unary(Type type) {
    switch (type) {
        case Type::s16:
            return unary<Op, std::int16_t, std::int16_t>;
        case Type::s32:
            return unary<Op, std::int32_t, std::int32_t>;
        case Type::s64:
            return unary<Op, std::int64_t, std::int64_t>;
        default:
            return nullptr;
    }
}
template <class Op>
Handler choose_wide_product(Type type) {
    switch (type) {
        case Type::u16:
            return binary<Op, std::uint32_t, std::uint16_t, std::uint16_t>;
        case Type::s16:
            return binary<Op, std::int32_t, std::int16_t, std::int16_t>;
        case Type::u32:
            return binary<Op, std::uint64_t, std::uint32_t, std::uint32_t>;
        case Type::s32:
            return binary<Op, std::int64_t, std::int32_t, std::int32_t>;
        default:
            return nullptr;
    }
}
template <class Op>
Handler choose_wide_sum(Type type) {
    switch (type) {
        case Type::u16:
            return ternary<Op, std::uint32_t, std::uint16_t, std::uint16_t, std::uint32_t>;
        case Type::s16:
            return ternary<Op, std::int32_t, std::int16_t, std::int16_t, std::int32_t>;
        case Type::u32:
            return ternary<Op, std::uint64_t, std::uint32_t, std::uint32_t, std::uint64_t>;
        case Type::s32:
            return ternary<Op, std::int64_t, std::int32_t, std::int32_t, std::int64_t>;
        default:
            return nullptr;
    }
}

Handler choose_24(const Instruction& instruction) {
    const bool low = instruction.has(Modifier::lo), is_signed = instruction.type() == Type::s32;
    if (instruction.opcode == Opcode::mul24) {
        if (is_signed) {
            return low ? binary<Multiply24Low, std::int32_t, std::int32_t, std::int32_t>
                       : binary<Multiply24High, std::int32_t, std::int32_t, std::int32_t>;
        }
        return low ? binary<Multiply24Low, std::uint32_t, std::uint32_t, std::uint32_t>
                   : binary<Multiply24High, std::uint32_t, std::uint32_t, std::uint32_t>;
    }
    if (instruction.has(Modifier::sat))
        return ternary<MultiplyAdd24HighSaturated, std::int32_t, std::int32_t, std::int32_t, std::int32_t>;
    if (is_signed) {
        return low ? ternary<MultiplyAdd24Low, std::int32_t, std::int32_t, std::int32_t, std::int32_t>
                   : ternary<MultiplyAdd24High, std::int32_t, std::int32_t, std::int32_t, std::int32_t>;
    }
    return low ? ternary<MultiplyAdd24Low, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>
               : ternary<MultiplyAdd24High, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
}

template <bool kSignedA, bool kSignedB>
Handler choose_dot_product(const Instruction& instruction) {
    using W = std::uint32_t;
    if (instruction.opcode == Opcode::dp4a) return ternary<DotProduct4<kSignedA, kSignedB>, W, W, W, W>;
    return instruction.has(Modifier::lo) ? ternary<DotProduct2<kSignedA, kSignedB, 0>, W, W, W, W>
                                         : ternary<DotProduct2<kSignedA, kSignedB, 2>, W, W, W, W>;
}

}  // namespace

Handler select_integer(const Instruction& instruction) {
    const Type type = instruction.type();
    const bool carry = instruction.has(Modifier::cc);
    const bool saturate = instruction.has(Modifier::sat);
    switch (instruction.opcode) {
        case Opcode::add:
            if (carry) return choose_carry<CarryOp::add>(instruction, false);
            if (saturate) return binary<AddSaturated, std::int32_t, std::int32_t, std::int32_t>;
            return choose_binary<Add>(type);
        case Opcode::addc:
            return choose_carry<CarryOp::add>(instruction, true);
        case Opcode::sub:
            if (carry) return choose_carry<CarryOp::subtract>(instruction, false);
            if (saturate) return binary<SubtractSaturated, std::int32_t, std::int32_t, std::int32_t>;
            return choose_binary<Subtract>(type);
        case Opcode::subc:
            return choose_carry<CarryOp::subtract>(instruction, true);
        case Opcode::mul:
            if (instruction.has(Modifier::wide)) return choose_wide_product<MultiplyWide>(type);
            return instruction.has(Modifier::hi) ? choose_binary<MultiplyHigh>(type)
                                                 : choose_binary<MultiplyLow>(type);
        case Opcode::mad:
            if (carry) {
                return instruction.has(Modifier::hi)
                           ? choose_carry<CarryOp::multiply_high_add>(instruction, false)
                           : choose_carry<CarryOp::multiply_low_add>(instruction, false);
            }
            if (saturate)
                return ternary<MultiplyAddHighSaturated, std::int32_t, std::int32_t, std::int32_t,
                               std::int32_t>;
            if (instruction.has(Modifier::wide)) return choose_wide_sum<MultiplyAddWide>(type);
            return instruction.has(Modifier::hi) ? choose_ternary<MultiplyAddHigh>(type)
                                                 : choose_ternary<MultiplyAddLow>(type);
        case Opcode::madc:
            return instruction.has(Modifier::hi) ? choose_carry<CarryOp::multiply_high_add>(instruction, true)
                                                 : choose_carry<CarryOp::multiply_low_add>(instruction, true);
        case Opcode::mul24:
        case Opcode::mad24:
            return choose_24(instruction);
        case Opcode::dp4a:
        case Opcode::dp2a: {
            const bool b_signed = instruction.type(1) == Type::s32;
            if (type == Type::s32) {
                return b_signed ? choose_dot_product<true, true>(instruction)
                                : choose_dot_product<true, false>(instruction);
            }
            return b_signed ? choose_dot_product<false, true>(instruction)
                            : choose_dot_product<false, false>(instruction);
        }
        case Opcode::sad:
            return choose_ternary<SumOfAbsoluteDifference>(type);
        case Opcode::div:
            return choose_binary<Divide>(type);
        case Opcode::rem:
            return choose_binary<Remainder>(type);
        case Opcode::min:
            return choose_binary<Minimum>(type);
        case Opcode::max:
            return choose_binary<Maximum>(type);
        case Opcode::abs:
            return choose_unary<Absolute>(type);
        case Opcode::neg:
            return choose_unary<Negate>(type);
        default:
            return nullptr;
    }
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
