// cvt. The frequent conversions have their own loops; the others go through numerics::convert() lane by lane.
#include <limits>
#include <utility>

#include "isa/numerics/formats.h"
#include "isa/ptx/float_bits.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

// Sign or zero extension of T into a register of `Register` bits (an unsigned type).
template <class Register, class T>
Register extend(T value) {
    if constexpr (std::is_signed_v<T>)
        return static_cast<Register>(static_cast<std::make_signed_t<Register>>(value));
    else
        return static_cast<Register>(value);
}

template <class D, class S, class Register>
struct Truncate {
    Register operator()(S a) const { return extend<Register>(static_cast<D>(a)); }
};
template <class D, class S, class Register>
struct Clamp {
    Register operator()(S a) const {
        using Limits = std::numeric_limits<D>;
        D result = static_cast<D>(a);
        if (std::cmp_less(a, Limits::min())) result = Limits::min();
        if (std::cmp_greater(a, Limits::max())) result = Limits::max();
        return extend<Register>(result);
    }
};

/// choose(S{}) for every integer type, 8 bits included.
template <class Choose>
Handler with_any_integer(Type type, Choose choose) {
    switch (type) {
        case Type::u8:
            return choose(std::uint8_t{});
        case Type::s8:
            return choose(std::int8_t{});
        default:
            return with_integer(type, choose);
    }
}

template <class D, class Choose>
Handler with_register(unsigned bits, Choose choose) {
    if (bits == 64) return choose(std::uint64_t{});
    if constexpr (sizeof(D) <= 4) {
        if (bits == 32) return choose(std::uint32_t{});
    }
    if constexpr (sizeof(D) <= 2) {
        if (bits == 16) return choose(std::uint16_t{});
    }
    return nullptr;
}

// A source register may be wider than the source type: its row decides the stride, the type picks the low
// bits.
template <class D, class S, class Register, class SourceRow, bool kClamp>
void integer_to_integer(State& warp, const Decoded& i, std::uint32_t mask) {
    const SourceRow* a = words<SourceRow>(warp, i.operand[1]);
    using Op = std::conditional_t<kClamp, Clamp<D, S, Register>, Truncate<D, S, Register>>;
    assign<Register>(warp, i.operand[0], mask, [=](unsigned lane) {
        return Op()(static_cast<S>(static_cast<std::make_unsigned_t<S>>(a[lane])));
    });
}

template <class D, class S, class SourceRow>
Handler choose_integer_register(bool clamp, unsigned register_bits) {
    return with_register<D>(register_bits, [=](auto register_tag) -> Handler {
        using Register = decltype(register_tag);
        return clamp ? integer_to_integer<D, S, Register, SourceRow, true>
                     : integer_to_integer<D, S, Register, SourceRow, false>;
    });
}

bool source_is_wide(const Instruction& instruction) {
    const Operand& source = instruction.operands[1];
    return bits_of(source.kind == Operand::Kind::immediate ? instruction.type(1) : source.type) == 64;
}

Handler integers(const Instruction& instruction, unsigned register_bits) {
    const bool clamp = instruction.has(Modifier::sat), wide = source_is_wide(instruction);
    return with_any_integer(instruction.type(0), [&](auto d_tag) -> Handler {
        using D = decltype(d_tag);
        return with_any_integer(instruction.type(1), [&](auto s_tag) -> Handler {
            using S = decltype(s_tag);
            if constexpr (sizeof(S) < 8) {
                if (!wide) return choose_integer_register<D, S, std::uint32_t>(clamp, register_bits);
            }
            return choose_integer_register<D, S, std::uint64_t>(clamp, register_bits);
        });
    });
}

// --- float to integer

template <class S>
double to_double(S value) {
    if constexpr (std::is_floating_point_v<S>)
        return value;
    else
        return to_float(value);
}

enum class Integral { nearest, zero, down, up };
Integral integral_rounding(const Instruction& instruction) {
    if (instruction.has(Modifier::rni)) return Integral::nearest;
    if (instruction.has(Modifier::rmi)) return Integral::down;
    if (instruction.has(Modifier::rpi)) return Integral::up;
    return Integral::zero;
}
template <Integral kRounding, class T>
T round_to_integral(T value) {
    switch (kRounding) {
        case Integral::nearest:
            return std::nearbyint(value);
        case Integral::zero:
            return std::trunc(value);
        case Integral::down:
            return std::floor(value);
        case Integral::up:
            return std::ceil(value);
    }
    return value;
}

// Results beyond the range are clamped. NaN: zero unless the source is f64 or the destination has 64 bits,
// then the top bit alone (PTX ISA 9.0, cvt).
template <class D, class S, class Register, Integral kRounding, bool kFlush>
struct ToInteger {
    Register operator()(S a) const {
        double value = to_double(a);
        if constexpr (kFlush && std::is_same_v<S, float>) value = flush(a);
        value = round_to_integral<kRounding>(value);
        using Limits = std::numeric_limits<D>;
        constexpr double low = static_cast<double>(Limits::min());
        // 2^bits: exact, one above the largest value.
        constexpr double high =
            2.0 * static_cast<double>(D{1} << (8 * sizeof(D) - (std::is_signed_v<D> ? 2 : 1)));
        constexpr bool top_bit = std::is_same_v<S, double> || sizeof(D) == 8;
        constexpr D nan = top_bit ? static_cast<D>(std::make_unsigned_t<D>{1} << (8 * sizeof(D) - 1)) : D{0};
        const bool inside = value > low && value < high;
        const D converted = static_cast<D>(inside ? value : 0.0);
        const D result =
            inside ? converted : (value <= low ? Limits::min() : (value >= high ? Limits::max() : nan));
        return extend<Register>(result);
    }
};

template <class D, class S, Integral kRounding>
Handler choose_to_integer(bool flushes, unsigned register_bits) {
    return with_register<D>(register_bits, [=](auto tag) -> Handler {
        using Register = decltype(tag);
        if constexpr (std::is_same_v<S, float>) {
            if (flushes) return unary<ToInteger<D, S, Register, kRounding, true>, Register, S>;
        }
        return unary<ToInteger<D, S, Register, kRounding, false>, Register, S>;
    });
}

template <class S>
Handler float_to_integer(const Instruction& instruction, unsigned register_bits) {
    const bool flushes = instruction.has(Modifier::ftz);
    return with_any_integer(instruction.type(0), [&](auto tag) -> Handler {
        using D = decltype(tag);
        switch (integral_rounding(instruction)) {
            case Integral::nearest:
                return choose_to_integer<D, S, Integral::nearest>(flushes, register_bits);
            case Integral::zero:
                return choose_to_integer<D, S, Integral::zero>(flushes, register_bits);
            case Integral::down:
                return choose_to_integer<D, S, Integral::down>(flushes, register_bits);
            case Integral::up:
                return choose_to_integer<D, S, Integral::up>(flushes, register_bits);
        }
        return nullptr;
    });
}

// --- float to float, and integer to float: one general path with every rounding

// DecodedInstruction::immediate of cvt: formats, rounding and flags, see conversion_immediate() in
// decoder.cpp.
constexpr std::uint16_t kRelu = 1u << 12, kSaturate = 1u << 13, kFlushBit = 1u << 14;

numerics::Conversion conversion_of(std::uint16_t immediate) {
    numerics::Conversion conversion;
    conversion.rounding = static_cast<numerics::Rounding>(immediate >> 8 & 7u);
    if ((immediate >> 11 & 1u) != 0) conversion.overflow = numerics::Overflow::saturate;
    return conversion;
}

// .ftz concerns single precision alone.
std::uint64_t flush_bits(numerics::Format format, std::uint64_t bits) {
    if (format != numerics::Format::fp32) return bits;
    return (bits & 0x7F800000u) == 0 ? (bits & 0x80000000u) : bits;
}

// .relu: negative results and -0 become +0. .sat: to [0, 1], NaN becomes +0.
std::uint64_t limit(numerics::Format format, std::uint64_t bits, std::uint16_t immediate) {
    if ((immediate & (kRelu | kSaturate)) == 0) return bits;
    const double value = numerics::to_double(format, bits);
    const bool saturate = (immediate & kSaturate) != 0;
    if (value <= 0 || (saturate && value != value)) return 0;
    if (saturate && value > 1)
        return numerics::convert(format, numerics::Format::fp64, std::bit_cast<std::uint64_t>(1.0));
    return bits;
}

std::uint64_t convert_one(std::uint64_t bits, std::uint16_t immediate) {
    const auto to = static_cast<numerics::Format>(immediate & 0xFu);
    const auto from = static_cast<numerics::Format>(immediate >> 4 & 0xFu);
    if ((immediate & kFlushBit) != 0) bits = flush_bits(from, bits);
    std::uint64_t result = numerics::convert(to, from, bits, conversion_of(immediate));
    if ((immediate & kFlushBit) != 0) result = flush_bits(to, result);
    return limit(to, result, immediate);
}

template <class D, class S>
void general(State& warp, const Decoded& i, std::uint32_t mask) {
    const S* a = words<S>(warp, i.operand[1]);
    D* d = words<D>(warp, i.operand[0]);
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        if ((mask >> lane & 1u) != 0) d[lane] = static_cast<D>(convert_one(a[lane], i.immediate));
    }
}

// cvt d, a, b to a packed format: a becomes the upper half.
void general_pack(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t* a = words<float>(warp, i.operand[1]);
    const std::uint32_t* b = words<float>(warp, i.operand[2]);
    std::uint32_t* d = words<std::uint32_t>(warp, i.operand[0]);
    const auto to = static_cast<numerics::Format>(i.immediate & 0xFu);
    const unsigned shift = to == numerics::Format::fp16 || to == numerics::Format::bf16 ? 16 : 8;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        if ((mask >> lane & 1u) == 0) continue;
        d[lane] = static_cast<std::uint32_t>(convert_one(a[lane], i.immediate) << shift |
                                             convert_one(b[lane], i.immediate));
    }
}

// Between packed formats: f16x2 and two fp8.
void general_packed(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t* a = words<std::uint32_t>(warp, i.operand[1]);
    std::uint32_t* d = words<std::uint32_t>(warp, i.operand[0]);
    const bool widens = static_cast<numerics::Format>(i.immediate & 0xFu) == numerics::Format::fp16;
    const unsigned from = widens ? 8 : 16, to = widens ? 16 : 8;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        if ((mask >> lane & 1u) == 0) continue;
        const std::uint32_t field = (1u << from) - 1;
        d[lane] = static_cast<std::uint32_t>(convert_one(a[lane] & field, i.immediate) |
                                             convert_one(a[lane] >> from & field, i.immediate) << to);
    }
}

struct SingleToHalf {
    Half operator()(float a) const { return to_half(a); }
};
struct HalfToSingle {
    float operator()(Half a) const { return to_float(a); }
};
struct SingleToBfloat {
    Bfloat operator()(float a) const { return to_bfloat(a); }
};
struct BfloatToSingle {
    float operator()(Bfloat a) const { return to_float(a); }
};
struct SingleToDouble {
    double operator()(float a) const { return a; }
};
struct DoubleToSingle {
    float operator()(double a) const { return canonical(static_cast<float>(a)); }
};
template <class T>
struct Pack {
    std::uint32_t operator()(float a, float b) const {
        return static_cast<std::uint32_t>(from_float<T>(a).bits) << 16 | from_float<T>(b).bits;
    }
};

// To an integral value in the same format.
template <Integral kRounding, bool kFlush, bool kSaturates, class T>
struct RoundIntegral {
    T operator()(T a) const {
        if constexpr (std::is_same_v<T, Half>) {
            return to_half(finish<false, kSaturates>(round_to_integral<kRounding>(to_float(a))));
        } else {
            return finish<kFlush, kSaturates>(round_to_integral<kRounding>(flush_if<kFlush>(a)));
        }
    }
};
template <class T, bool kFlush, bool kSaturates>
Handler choose_integral(const Instruction& instruction) {
    switch (integral_rounding(instruction)) {
        case Integral::nearest:
            return unary<RoundIntegral<Integral::nearest, kFlush, kSaturates, T>, T, T>;
        case Integral::zero:
            return unary<RoundIntegral<Integral::zero, kFlush, kSaturates, T>, T, T>;
        case Integral::down:
            return unary<RoundIntegral<Integral::down, kFlush, kSaturates, T>, T, T>;
        case Integral::up:
            return unary<RoundIntegral<Integral::up, kFlush, kSaturates, T>, T, T>;
    }
    return nullptr;
}
template <class T>
Handler round_in_place(const Instruction& instruction) {
    const bool saturates = instruction.has(Modifier::sat);
    if (instruction.has(Modifier::ftz)) {
        return saturates ? choose_integral<T, true, true>(instruction)
                         : choose_integral<T, true, false>(instruction);
    }
    return saturates ? choose_integral<T, false, true>(instruction)
                     : choose_integral<T, false, false>(instruction);
}

bool rounds_to_integral(const Instruction& n) {
    return n.has(Modifier::rni) || n.has(Modifier::rzi) || n.has(Modifier::rmi) || n.has(Modifier::rpi);
}

Handler floats(const Instruction& instruction) {
    const Type to = instruction.type(0), from = instruction.type(1);
    const bool pair =
        instruction.operands[2 < instruction.operands.size() ? 2 : 0].kind != Operand::Kind::none &&
        instruction.operands.size() == 3;
    const bool packed_source = from == Type::f16x2 || from == Type::e4m3x2 || from == Type::e5m2x2;
    if (packed_source) return general_packed;
    const bool nearest = instruction.has(Modifier::rn);
    const bool plain =
        (instruction.modifiers.count() == (nearest ? 1u : 0u));  // no ftz, sat, relu, satfinite
    if (pair) {
        if (plain && nearest && to == Type::f16x2) return binary<Pack<Half>, std::uint32_t, float, float>;
        if (plain && nearest && to == Type::bf16x2) return binary<Pack<Bfloat>, std::uint32_t, float, float>;
        return general_pack;
    }
    if (rounds_to_integral(instruction)) {
        if (to == Type::f32) return round_in_place<float>(instruction);
        if (to == Type::f64) return round_in_place<double>(instruction);
        return round_in_place<Half>(instruction);
    }
    if (plain) {
        if (to == Type::f32 && from == Type::f16) return unary<HalfToSingle, float, Half>;
        if (to == Type::f32 && from == Type::bf16) return unary<BfloatToSingle, float, Bfloat>;
        if (to == Type::f64 && from == Type::f32) return unary<SingleToDouble, double, float>;
        if (nearest && to == Type::f16 && from == Type::f32) return unary<SingleToHalf, Half, float>;
        if (nearest && to == Type::bf16 && from == Type::f32) return unary<SingleToBfloat, Bfloat, float>;
        if (nearest && to == Type::f32 && from == Type::f64) return unary<DoubleToSingle, float, double>;
    }
    const bool wide_to = to == Type::f64, wide_from = from == Type::f64;
    if (wide_to)
        return wide_from ? general<std::uint64_t, std::uint64_t> : general<std::uint64_t, std::uint32_t>;
    return wide_from ? general<std::uint32_t, std::uint64_t> : general<std::uint32_t, std::uint32_t>;
}

template <class S, class D>
struct FromInteger {
    D operator()(S a) const { return static_cast<D>(a); }
};

// Any rounding and destination: exact integer to encode().
template <class S, class D>
void general_from_integer(State& warp, const Decoded& i, std::uint32_t mask) {
    const Word<S>* a = words<S>(warp, i.operand[1]);
    D* d = words<D>(warp, i.operand[0]);
    const auto to = static_cast<numerics::Format>(i.immediate & 0xFu);
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        if ((mask >> lane & 1u) == 0) continue;
        const S value = unpack<S>(a[lane]);
        const bool negative = value < 0;
        const auto magnitude =
            negative ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
        const std::uint64_t bits = numerics::encode(to, negative, magnitude, 0, conversion_of(i.immediate));
        d[lane] = static_cast<D>(limit(to, bits, i.immediate));
    }
}

Handler integer_to_float(const Instruction& instruction) {
    const Type to = instruction.type(0);
    const bool plain = instruction.has(Modifier::rn) && !instruction.has(Modifier::sat);
    return with_any_integer(instruction.type(1), [&](auto tag) -> Handler {
        using S = decltype(tag);
        if (plain && to == Type::f32) return unary<FromInteger<S, float>, float, S>;
        if (plain && to == Type::f64) return unary<FromInteger<S, double>, double, S>;
        return to == Type::f64 ? general_from_integer<S, std::uint64_t>
                               : general_from_integer<S, std::uint32_t>;
    });
}

}  // namespace

Handler select_conversion(const Instruction& instruction, unsigned register_bits) {
    const Type to = instruction.type(0), from = instruction.type(1);
    if (!is_float(to) && !is_float(from)) return integers(instruction, register_bits);
    if (!is_float(from))
        return source_is_wide(instruction) == (bits_of(from) == 64) ? integer_to_float(instruction) : nullptr;
    if (!is_float(to)) {
        switch (from) {
            case Type::f16:
                return float_to_integer<Half>(instruction, register_bits);
            case Type::bf16:
                return float_to_integer<Bfloat>(instruction, register_bits);
            case Type::f32:
                return float_to_integer<float>(instruction, register_bits);
            case Type::f64:
                return float_to_integer<double>(instruction, register_bits);
            default:
                return nullptr;
        }
    }
    return floats(instruction);
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
