// f16, f16x2, bf16, bf16x2 arithmetic. Sums and products of two are rounded to single precision first, which
// is innocuous because single precision has more than twice the digits plus two; fused multiply-add rounds to
// odd on the way.
#include "isa/numerics/formats.h"
#include "isa/ptx/handlers/float_bits.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

inline Half flush16(Half value) {
    return (value.bits & 0x7C00u) == 0 ? Half{static_cast<std::uint16_t>(value.bits & 0x8000u)} : value;
}
inline Bfloat flush16(Bfloat value) {
    return value;
}

template <bool kFlush, class T>
T flush16_if(T value) {
    if constexpr (kFlush)
        return flush16(value);
    else
        return value;
}

enum class Finish { plain, saturate, relu };

template <bool kFlush, Finish kFinish, class T>
T finish16(float value) {
    if constexpr (kFinish == Finish::saturate) value = saturate(value);
    if constexpr (kFinish == Finish::relu) value = value < 0 || value == 0 ? 0.0f : value;  // NaN stays
    return flush16_if<kFlush>(from_float<T>(value));
}

template <bool kFlush, Finish kFinish>
struct Add {
    template <class T>
    T operator()(T a, T b) const {
        return finish16<kFlush, kFinish, T>(to_float(flush16_if<kFlush>(a)) +
                                            to_float(flush16_if<kFlush>(b)));
    }
};
template <bool kFlush, Finish kFinish>
struct Subtract {
    template <class T>
    T operator()(T a, T b) const {
        return finish16<kFlush, kFinish, T>(to_float(flush16_if<kFlush>(a)) -
                                            to_float(flush16_if<kFlush>(b)));
    }
};
template <bool kFlush, Finish kFinish>
struct Multiply {
    template <class T>
    T operator()(T a, T b) const {
        return finish16<kFlush, kFinish, T>(to_float(flush16_if<kFlush>(a)) *
                                            to_float(flush16_if<kFlush>(b)));
    }
};
template <bool kFlush, Finish kFinish>
struct FusedMultiplyAdd {
    template <class T>
    T operator()(T a, T b, T c) const {
        const double x = to_float(flush16_if<kFlush>(a)), y = to_float(flush16_if<kFlush>(b));
        const double z = to_float(flush16_if<kFlush>(c));
        return finish16<kFlush, kFinish, T>(to_float_odd(add_to_odd(x * y, z)));
    }
};
// bfloat16 rounded toward zero, up or down: the exact sum rounded to odd in double precision, then once.
template <numerics::Rounding kRounding, bool kRelu>
struct FusedDirected {
    Bfloat operator()(Bfloat a, Bfloat b, Bfloat c) const {
        const double product = static_cast<double>(to_float(a)) * to_float(b), z = to_float(c);
        double sum = add_to_odd(product, z);
        // An exact zero of parts that cancel is negative when rounding down.
        if (sum == 0 && std::signbit(product) != std::signbit(z))
            sum = kRounding == numerics::Rounding::down ? -0.0 : 0.0;
        const std::uint64_t bits = numerics::convert(numerics::Format::bf16, numerics::Format::fp64,
                                                     std::bit_cast<std::uint64_t>(sum), {kRounding});
        return {static_cast<std::uint16_t>(kRelu && (bits & 0x8000u) != 0 ? 0 : bits)};
    }
};
template <bool kFlush, Finish>
struct Absolute {
    template <class T>
    T operator()(T a) const {
        return {static_cast<std::uint16_t>(flush16_if<kFlush>(a).bits & 0x7FFFu)};
    }
};
template <bool kFlush, Finish>
struct Negate {
    template <class T>
    T operator()(T a) const {
        return {static_cast<std::uint16_t>(flush16_if<kFlush>(a).bits ^ 0x8000u)};
    }
};
template <bool kFlush, bool kNan, bool kMaximum>
struct Extreme {
    template <class T>
    T operator()(T a_given, T b_given) const {
        return extreme16<kNan, kMaximum>(flush16_if<kFlush>(a_given), flush16_if<kFlush>(b_given));
    }
};
// .xorsign.abs: of the magnitudes, with the product of the signs unless the result is NaN.
template <bool kFlush, bool kNan, bool kMaximum>
struct ExtremeMagnitude {
    template <class T>
    T operator()(T a, T b) const {
        const auto magnitude = [](T v) { return T{static_cast<std::uint16_t>(v.bits & 0x7FFFu)}; };
        const T extreme = Extreme<kFlush, kNan, kMaximum>()(magnitude(a), magnitude(b));
        const auto sign = static_cast<std::uint16_t>((a.bits ^ b.bits) & 0x8000u);
        return is_nan(extreme) ? extreme : T{static_cast<std::uint16_t>(extreme.bits | sign)};
    }
};

/// The operation on one number or on both of a pair. Op takes and returns T; T is Half or Bfloat.
template <class Op, class T, int kOperands, bool kPacked>
void apply(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t* a = words<T>(warp, i.operand[1]);
    const std::uint32_t* b = kOperands > 1 ? words<T>(warp, i.operand[2]) : a;
    const std::uint32_t* c = kOperands > 2 ? words<T>(warp, i.operand[3]) : a;
    const auto half = [=](unsigned lane, unsigned shift) -> std::uint32_t {
        const T x{static_cast<std::uint16_t>(a[lane] >> shift)},
            y{static_cast<std::uint16_t>(b[lane] >> shift)};
        const T z{static_cast<std::uint16_t>(c[lane] >> shift)};
        if constexpr (kOperands == 1)
            return Op()(x).bits;
        else if constexpr (kOperands == 2)
            return Op()(x, y).bits;
        else
            return Op()(x, y, z).bits;
    };
    assign<std::uint32_t>(warp, i.operand[0], mask, [=](unsigned lane) {
        if constexpr (kPacked)
            return half(lane, 0) | half(lane, 16) << 16;
        else
            return half(lane, 0);
    });
}

template <class Op, int kOperands>
Handler choose_type(Type type) {
    switch (type) {
        case Type::f16:
            return apply<Op, Half, kOperands, false>;
        case Type::f16x2:
            return apply<Op, Half, kOperands, true>;
        case Type::bf16:
            return apply<Op, Bfloat, kOperands, false>;
        case Type::bf16x2:
            return apply<Op, Bfloat, kOperands, true>;
        default:
            return nullptr;
    }
}

template <template <bool, Finish> class Op, int kOperands>
Handler choose(const Instruction& instruction) {
    const Type type = instruction.type();
    const bool flushes = instruction.has(Modifier::ftz);
    if (instruction.has(Modifier::relu)) {
        return flushes ? choose_type<Op<true, Finish::relu>, kOperands>(type)
                       : choose_type<Op<false, Finish::relu>, kOperands>(type);
    }
    if (instruction.has(Modifier::sat)) {
        return flushes ? choose_type<Op<true, Finish::saturate>, kOperands>(type)
                       : choose_type<Op<false, Finish::saturate>, kOperands>(type);
    }
    return flushes ? choose_type<Op<true, Finish::plain>, kOperands>(type)
                   : choose_type<Op<false, Finish::plain>, kOperands>(type);
}

template <bool kNan, bool kMaximum>
Handler choose_magnitude(const Instruction& instruction) {
    return instruction.has(Modifier::ftz)
               ? choose_type<ExtremeMagnitude<true, kNan, kMaximum>, 2>(instruction.type())
               : choose_type<ExtremeMagnitude<false, kNan, kMaximum>, 2>(instruction.type());
}

template <numerics::Rounding kRounding>
Handler choose_directed(const Instruction& instruction) {
    const bool packed = instruction.type() == Type::bf16x2;
    if (instruction.has(Modifier::relu)) {
        using Op = FusedDirected<kRounding, true>;
        return packed ? apply<Op, Bfloat, 3, true> : apply<Op, Bfloat, 3, false>;
    }
    using Op = FusedDirected<kRounding, false>;
    return packed ? apply<Op, Bfloat, 3, true> : apply<Op, Bfloat, 3, false>;
}

template <bool kMaximum>
Handler choose_extreme(const Instruction& instruction) {
    if (instruction.has(Modifier::xorsign)) {
        return instruction.has(Modifier::nan_propagating) ? choose_magnitude<true, kMaximum>(instruction)
                                                          : choose_magnitude<false, kMaximum>(instruction);
    }
    const bool flushes = instruction.has(Modifier::ftz);
    if (instruction.has(Modifier::nan_propagating)) {
        return flushes ? choose_type<Extreme<true, true, kMaximum>, 2>(instruction.type())
                       : choose_type<Extreme<false, true, kMaximum>, 2>(instruction.type());
    }
    return flushes ? choose_type<Extreme<true, false, kMaximum>, 2>(instruction.type())
                   : choose_type<Extreme<false, false, kMaximum>, 2>(instruction.type());
}

}  // namespace

Handler select_half(const Instruction& instruction) {
    switch (instruction.opcode) {
        case Opcode::add:
            return choose<Add, 2>(instruction);
        case Opcode::sub:
            return choose<Subtract, 2>(instruction);
        case Opcode::mul:
            return choose<Multiply, 2>(instruction);
        case Opcode::fma:
            if (instruction.has(Modifier::rz))
                return choose_directed<numerics::Rounding::toward_zero>(instruction);
            if (instruction.has(Modifier::rm)) return choose_directed<numerics::Rounding::down>(instruction);
            if (instruction.has(Modifier::rp)) return choose_directed<numerics::Rounding::up>(instruction);
            return choose<FusedMultiplyAdd, 3>(instruction);
        case Opcode::abs:
            return choose<Absolute, 1>(instruction);
        case Opcode::neg:
            return choose<Negate, 1>(instruction);
        case Opcode::min:
            return choose_extreme<false>(instruction);
        case Opcode::max:
            return choose_extreme<true>(instruction);
        default:
            return nullptr;
    }
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
