// f32 and f64 arithmetic, rounding to nearest even. Other roundings: handlers/rounding.cpp.
#include "isa/ptx/handlers/float_bits.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

template <bool kFlush, bool kSaturate>
struct Add {
    template <class T>
    T operator()(T a, T b) const {
        const T x = flush_if<kFlush>(a), y = flush_if<kFlush>(b);
        return finish<kFlush, kSaturate>(with_first_nan(x + y, x, y, y));
    }
};
template <bool kFlush, bool kSaturate>
struct Subtract {
    template <class T>
    T operator()(T a, T b) const {
        const T x = flush_if<kFlush>(a), y = flush_if<kFlush>(b);
        return finish<kFlush, kSaturate>(with_first_nan(x - y, x, y, y));
    }
};
template <bool kFlush, bool kSaturate>
struct Multiply {
    template <class T>
    T operator()(T a, T b) const {
        const T x = flush_if<kFlush>(a), y = flush_if<kFlush>(b);
        return finish<kFlush, kSaturate>(with_first_nan(x * y, x, y, y));
    }
};
template <bool kFlush, bool kSaturate>
struct FusedMultiplyAdd {
    template <class T>
    T operator()(T a, T b, T c) const {
        const T x = flush_if<kFlush>(a), y = flush_if<kFlush>(b), z = flush_if<kFlush>(c);
        return finish<kFlush, kSaturate>(with_first_nan(std::fma(x, y, z), x, y, z));
    }
};
// div.rn, and div.approx and div.full, whose errors of 2 ulp contain the correctly rounded quotient.
template <bool kFlush, bool>
struct Divide {
    template <class T>
    T operator()(T a, T b) const {
        const T x = flush_if<kFlush>(a), y = flush_if<kFlush>(b);
        return finish<kFlush, false>(with_first_nan(x / y, x, y, y));
    }
};
// div.approx is specified for 2^-126 <= |b| <= 2^126; above, it returns 0 (or NaN for an infinite dividend).
template <bool kFlush, bool>
struct DivideApproximately {
    float operator()(float a, float b) const {
        const float x = flush_if<kFlush>(a), y = flush_if<kFlush>(b);
        const float magnitude = std::fabs(y);
        const bool huge = magnitude > 0x1p126f && magnitude < std::bit_cast<float>(0x7F800000u);
        const float zero = std::copysign(0.0f, x) * std::copysign(1.0f, y);
        const float above =
            std::fabs(x) == std::bit_cast<float>(0x7F800000u) ? std::bit_cast<float>(kNan32) : zero;
        return finish<kFlush, false>(huge && x == x ? above : x / y);
    }
};
template <bool kFlush, bool>
struct Reciprocal {
    template <class T>
    T operator()(T a) const {
        return finish<kFlush, false>(T{1} / flush_if<kFlush>(a));
    }
};
template <bool kFlush, bool>
struct SquareRoot {
    template <class T>
    T operator()(T a) const {
        return finish<kFlush, false>(std::sqrt(flush_if<kFlush>(a)));
    }
};
// abs and neg change the sign bit alone, of NaNs too.
template <bool kFlush, bool>
struct Absolute {
    template <class T>
    T operator()(T a) const {
        return std::fabs(flush_if<kFlush>(a));
    }
};
template <bool kFlush, bool>
struct Negate {
    template <class T>
    T operator()(T a) const {
        return -flush_if<kFlush>(a);
    }
};

// min and max: a number beats NaN unless .NaN is given; +0 is greater than -0.
template <class T>
bool less(T a, T b) {
    return a < b || (a == b && std::signbit(a) && !std::signbit(b));
}
template <class T>
T quiet_nan() {
    if constexpr (sizeof(T) == 4)
        return std::bit_cast<float>(kNan32);
    else
        return std::bit_cast<double>(std::uint64_t{0x7FFFFFFFFFFFFFFFu});
}
template <bool kFlush, bool kNan, bool kMaximum>
struct Extreme {
    template <class T>
    T operator()(T a, T b) const {
        const T x = flush_if<kFlush>(a), y = flush_if<kFlush>(b);
        const T extreme = less(x, y) != kMaximum ? x : y;
        // NOLINTNEXTLINE(misc-redundant-expression): a NaN differs from itself.
        const bool a_nan = x != x, b_nan = y != y;
        if constexpr (kNan)
            return a_nan || b_nan ? quiet_nan<T>() : extreme;
        else
            return a_nan ? (b_nan ? quiet_nan<T>() : y) : (b_nan ? x : extreme);
    }
};
// Of three, in the order of their operands.
template <bool kFlush, bool kNan, bool kMaximum, bool kAbsolute>
struct ExtremeOfThree {
    float operator()(float a, float b, float c) const {
        const Extreme<kFlush, kNan, kMaximum> extreme;
        if constexpr (kAbsolute)
            return extreme(extreme(std::fabs(a), std::fabs(b)), std::fabs(c));
        else
            return extreme(extreme(a, b), c);
    }
};
// .xorsign.abs: of the magnitudes, with the product of the signs unless the result is NaN.
template <bool kFlush, bool kNan, bool kMaximum>
struct ExtremeMagnitude {
    float operator()(float a, float b) const {
        const float extreme = Extreme<kFlush, kNan, kMaximum>()(std::fabs(a), std::fabs(b));
        const std::uint32_t sign =
            (std::bit_cast<std::uint32_t>(a) ^ std::bit_cast<std::uint32_t>(b)) & 0x80000000u;
        return extreme != extreme ? extreme
                                  : std::bit_cast<float>(std::bit_cast<std::uint32_t>(extreme) | sign);
    }
};
// copysign d, a, b: the sign of a, the magnitude of b.
struct CopySign {
    template <class T>
    T operator()(T a, T b) const {
        return std::copysign(b, a);
    }
};

/// The same of both elements of .f32x2.
template <class Op>
struct Both {
    template <class... Pairs>
    Single2 operator()(Pairs... of) const {
        return {Op()(of.low...), Op()(of.high...)};
    }
};

template <template <bool, bool> class Op, class T, int kOperands>
constexpr auto make() {
    return [](auto flushes, auto saturates) -> Handler {
        using Scalar = Op<decltype(flushes)::value, decltype(saturates)::value>;
        using O = std::conditional_t<std::is_same_v<T, Single2>, Both<Scalar>, Scalar>;
        if constexpr (kOperands == 1)
            return unary<O, T, T>;
        else if constexpr (kOperands == 2)
            return binary<O, T, T, T>;
        else
            return ternary<O, T, T, T, T>;
    };
}

template <template <bool, bool> class Op, int kOperands>
Handler choose(const Instruction& instruction) {
    const bool flushes = instruction.has(Modifier::ftz), saturates = instruction.has(Modifier::sat);
    if (instruction.type() == Type::f64)
        return make<Op, double, kOperands>()(std::false_type(), std::false_type());
    if constexpr (kOperands > 1) {
        const auto pairs = make<Op, Single2, kOperands>();
        if (instruction.type() == Type::f32x2)
            return flushes ? pairs(std::true_type(), std::false_type())
                           : pairs(std::false_type(), std::false_type());
    }
    const auto f32 = make<Op, float, kOperands>();
    if (saturates)
        return flushes ? f32(std::true_type(), std::true_type()) : f32(std::false_type(), std::true_type());
    return flushes ? f32(std::true_type(), std::false_type()) : f32(std::false_type(), std::false_type());
}

Handler choose_approximate_division(const Instruction& instruction) {
    const auto f32 = make<DivideApproximately, float, 2>();
    return instruction.has(Modifier::ftz) ? f32(std::true_type(), std::false_type())
                                          : f32(std::false_type(), std::false_type());
}

template <bool kMaximum, bool kAbsolute>
Handler choose_extreme_of_three(const Instruction& instruction) {
    const bool flushes = instruction.has(Modifier::ftz);
    if (instruction.has(Modifier::nan_propagating)) {
        return flushes ? ternary<ExtremeOfThree<true, true, kMaximum, kAbsolute>, float, float, float, float>
                       : ternary<ExtremeOfThree<false, true, kMaximum, kAbsolute>, float, float, float, float>;
    }
    return flushes ? ternary<ExtremeOfThree<true, false, kMaximum, kAbsolute>, float, float, float, float>
                   : ternary<ExtremeOfThree<false, false, kMaximum, kAbsolute>, float, float, float, float>;
}

template <bool kMaximum>
Handler choose_extreme(const Instruction& instruction) {
    if (instruction.operands.size() == 4)
        return instruction.has(Modifier::abs) ? choose_extreme_of_three<kMaximum, true>(instruction) : choose_extreme_of_three<kMaximum, false>(instruction);
    if (instruction.type() == Type::f64)
        return binary<Extreme<false, false, kMaximum>, double, double, double>;
    const bool flushes = instruction.has(Modifier::ftz), nan = instruction.has(Modifier::nan_propagating);
    if (instruction.has(Modifier::xorsign)) {
        if (nan) {
            return flushes ? binary<ExtremeMagnitude<true, true, kMaximum>, float, float, float>
                           : binary<ExtremeMagnitude<false, true, kMaximum>, float, float, float>;
        }
        return flushes ? binary<ExtremeMagnitude<true, false, kMaximum>, float, float, float>
                       : binary<ExtremeMagnitude<false, false, kMaximum>, float, float, float>;
    }
    if (nan) {
        return flushes ? binary<Extreme<true, true, kMaximum>, float, float, float>
                       : binary<Extreme<false, true, kMaximum>, float, float, float>;
    }
    return flushes ? binary<Extreme<true, false, kMaximum>, float, float, float>
                   : binary<Extreme<false, false, kMaximum>, float, float, float>;
}

}  // namespace

Handler select_float(const Instruction& instruction) {
    switch (instruction.opcode) {
        case Opcode::add:
            return choose<Add, 2>(instruction);
        case Opcode::sub:
            return choose<Subtract, 2>(instruction);
        case Opcode::mul:
            return choose<Multiply, 2>(instruction);
        case Opcode::mad:
        case Opcode::fma:
            return choose<FusedMultiplyAdd, 3>(instruction);
        case Opcode::div:
            return instruction.has(Modifier::approx) ? choose_approximate_division(instruction)
                                                     : choose<Divide, 2>(instruction);
        case Opcode::rcp:
            return choose<Reciprocal, 1>(instruction);
        case Opcode::sqrt:
            return choose<SquareRoot, 1>(instruction);
        case Opcode::abs:
            return choose<Absolute, 1>(instruction);
        case Opcode::neg:
            return choose<Negate, 1>(instruction);
        case Opcode::min:
            return choose_extreme<false>(instruction);
        case Opcode::max:
            return choose_extreme<true>(instruction);
        case Opcode::copysign:
            return instruction.type() == Type::f64 ? binary<CopySign, double, double, double>
                                                   : binary<CopySign, float, float, float>;
        default:
            return nullptr;
    }
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
