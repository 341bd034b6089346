// cvt. The frequent conversions have their own loops; the others go through numerics::convert() lane by lane.
#include <limits>

#include "isa/numerics/formats.h"
#include "isa/ptx/handlers/float_bits.h"

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
template <class D, class S, class Register, class SourceRow>
void integer_to_integer(State& warp, const Decoded& i, std::uint32_t mask) {
    const SourceRow* a = words<SourceRow>(warp, i.operand[1]);
    assign<Register>(warp, i.operand[0], mask, [=](unsigned lane) {
        return extend<Register>(
            static_cast<D>(static_cast<S>(static_cast<std::make_unsigned_t<S>>(a[lane]))));
    });
}

template <class D, class S, class SourceRow>
Handler choose_integer_register(unsigned register_bits) {
    return with_register<D>(register_bits, [=](auto register_tag) -> Handler {
        return integer_to_integer<D, S, decltype(register_tag), SourceRow>;
    });
}

// cvt.sat between integers: rare, so one function for all types. `immediate` holds widths and signs, see
// conversion_immediate(): destination bits in 0x7F, source bits in 0x3F80, then the signs of both.
template <class SourceRow, class Register>
void clamp_integer(State& warp, const Decoded& i, std::uint32_t mask) {
    const SourceRow* a = words<SourceRow>(warp, i.operand[1]);
    const unsigned to = i.immediate & 0x7Fu, from = i.immediate >> 7 & 0x7Fu;
    const bool to_signed = (i.immediate >> 14 & 1u) != 0, from_signed = (i.immediate >> 15 & 1u) != 0;
    const std::uint64_t top = std::uint64_t{1} << (to - 1);
    const std::uint64_t highest = to_signed ? top - 1 : top - 1 + top;
    const std::uint64_t lowest = to_signed ? ~std::uint64_t{0} << (to - 1) : 0;
    assign<Register>(warp, i.operand[0], mask, [=](unsigned lane) {
        std::uint64_t value = a[lane];
        if (from < 64) value &= (std::uint64_t{1} << from) - 1;
        const bool negative = from_signed && (value >> (from - 1) & 1u) != 0;
        if (negative && from < 64) value |= ~std::uint64_t{0} << from;
        if (negative) return static_cast<Register>(to_signed && value >= lowest ? value : lowest);
        return static_cast<Register>(value > highest ? highest : value);
    });
}

template <class SourceRow>
Handler choose_clamp(unsigned register_bits) {
    switch (register_bits) {
        case 64:
            return clamp_integer<SourceRow, std::uint64_t>;
        case 32:
            return clamp_integer<SourceRow, std::uint32_t>;
        default:
            return clamp_integer<SourceRow, std::uint16_t>;
    }
}

// cvt.pack: both sources clamped and side by side, b lowest. Parts of less than 16 bits push c up.
// `immediate`: bits of a part in 0x7F, its sign in 0x80.
template <bool kMerges>
void pack_saturated(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t* a = words<std::uint32_t>(warp, i.operand[1]);
    const std::uint32_t* b = words<std::uint32_t>(warp, i.operand[2]);
    const std::uint32_t* c = kMerges ? words<std::uint32_t>(warp, i.operand[3]) : a;
    const unsigned bits = i.immediate & 0x7Fu;
    const bool has_sign = (i.immediate & 0x80u) != 0;
    const std::int64_t high = (std::int64_t{1} << (has_sign ? bits - 1 : bits)) - 1;
    const std::int64_t low = has_sign ? -high - 1 : 0;
    const auto part = [=](std::uint32_t word) {
        const std::int64_t value = static_cast<std::int32_t>(word);
        const std::int64_t clamped = value < low ? low : value > high ? high : value;
        return static_cast<std::uint32_t>(clamped) & ((1u << bits) - 1);
    };
    assign<std::uint32_t>(warp, i.operand[0], mask, [=](unsigned lane) {
        const std::uint32_t both = part(a[lane]) << bits | part(b[lane]);
        return kMerges ? c[lane] << (2 * bits) | both : both;
    });
}

bool source_is_wide(const Instruction& instruction) {
    const Operand& source = instruction.operands[1];
    return bits_of(source.kind == Operand::Kind::immediate ? instruction.type(1) : source.type) == 64;
}

Handler integers(const Instruction& instruction, unsigned register_bits) {
    const bool wide = source_is_wide(instruction);
    if (instruction.has(Modifier::sat)) {
        return wide ? choose_clamp<std::uint64_t>(register_bits) : choose_clamp<std::uint32_t>(register_bits);
    }
    return with_any_integer(instruction.type(0), [&](auto d_tag) -> Handler {
        using D = decltype(d_tag);
        return with_any_integer(instruction.type(1), [&](auto s_tag) -> Handler {
            using S = decltype(s_tag);
            if constexpr (sizeof(S) < 8) {
                if (!wide) return choose_integer_register<D, S, std::uint32_t>(register_bits);
            }
            return choose_integer_register<D, S, std::uint64_t>(register_bits);
        });
    });
}

// .ftz concerns single precision alone.
std::uint64_t flush_bits(numerics::Format format, std::uint64_t bits) {
    if (format != numerics::Format::fp32) return bits;
    return (bits & 0x7F800000u) == 0 ? (bits & 0x80000000u) : bits;
}

// --- float to integer

enum class Integral { nearest, zero, down, up };
Integral integral_rounding(const Instruction& instruction) {
    if (instruction.has(Modifier::rni)) return Integral::nearest;
    if (instruction.has(Modifier::rmi)) return Integral::down;
    if (instruction.has(Modifier::rpi)) return Integral::up;
    return Integral::zero;
}
template <class T>
T round_to_integral(Integral rounding, T value) {
    switch (rounding) {
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
template <class D, class Register, Integral kRounding, bool kFlush>
struct SingleToInteger {
    Register operator()(float a) const {
        const double value = round_to_integral(kRounding, flush_if<kFlush>(a));
        using Limits = std::numeric_limits<D>;
        constexpr double low = static_cast<double>(Limits::min());
        // 2^bits: exact, one above the largest value.
        constexpr double high =
            2.0 * static_cast<double>(D{1} << (8 * sizeof(D) - (std::is_signed_v<D> ? 2 : 1)));
        constexpr D nan = sizeof(D) == 8 ? static_cast<D>(std::uint64_t{1} << 63) : D{0};
        const bool inside = value > low && value < high;
        const D converted = static_cast<D>(inside ? value : 0.0);
        const D result =
            inside ? converted : (value <= low ? Limits::min() : (value >= high ? Limits::max() : nan));
        return extend<Register>(result);
    }
};

template <class D, class Register, Integral kRounding>
Handler single_to_integer(bool flushes) {
    return flushes ? unary<SingleToInteger<D, Register, kRounding, true>, Register, float>
                   : unary<SingleToInteger<D, Register, kRounding, false>, Register, float>;
}

// Every other combination. `immediate`, see conversion_immediate(): destination bits in 0x7F, its sign in
// 0x80, source format in 0xF00, rounding in 0x3000, .ftz in 0x4000.
template <class SourceRow, class Register>
void float_to_integer_slowly(State& warp, const Decoded& i, std::uint32_t mask) {
    const SourceRow* a = words<SourceRow>(warp, i.operand[1]);
    const unsigned bits = i.immediate & 0x7Fu;
    const bool is_signed = (i.immediate & 0x80u) != 0;
    const auto format = static_cast<numerics::Format>(i.immediate >> 8 & 0xFu);
    const auto rounding = static_cast<Integral>(i.immediate >> 12 & 3u);
    const std::uint64_t top = std::uint64_t{1} << (bits - 1),
                        lowest = is_signed ? ~std::uint64_t{0} << (bits - 1) : 0;
    const double high = std::ldexp(1.0, static_cast<int>(bits) - (is_signed ? 1 : 0));
    const double low = is_signed ? -high : 0.0;
    const bool top_bit = format == numerics::Format::fp64 || bits == 64,
               flushes = (i.immediate & 0x4000u) != 0;
    Word<Register>* destination = words<Register>(warp, i.operand[0]);
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        const std::uint64_t source = flushes ? flush_bits(format, a[lane]) : a[lane];
        const double value = round_to_integral(rounding, numerics::to_double(format, source));
        std::uint64_t result = top_bit ? (is_signed ? lowest : top) : 0;  // NaN
        if (value >= high)
            result = is_signed ? top - 1 : top - 1 + top;
        else if (value <= low)
            result = lowest;
        else if (value < 0)
            result = ~static_cast<std::uint64_t>(-value) + 1;
        else if (value >= 0)
            result = static_cast<std::uint64_t>(value);
        destination[lane] = static_cast<Register>(result);
    }
}

template <class D, class Register>
Handler choose_single_to_integer(const Instruction& instruction) {
    const bool flushes = instruction.has(Modifier::ftz);
    switch (integral_rounding(instruction)) {
        case Integral::nearest:
            return single_to_integer<D, Register, Integral::nearest>(flushes);
        case Integral::zero:
            return single_to_integer<D, Register, Integral::zero>(flushes);
        case Integral::down:
            return single_to_integer<D, Register, Integral::down>(flushes);
        case Integral::up:
            return single_to_integer<D, Register, Integral::up>(flushes);
    }
    return nullptr;
}

Handler float_to_integer(const Instruction& instruction, unsigned register_bits) {
    const Type to = instruction.type(0), from = instruction.type(1);
    if (from == Type::f32 && bits_of(to) == register_bits) {
        switch (to) {
            case Type::s32:
                return choose_single_to_integer<std::int32_t, std::uint32_t>(instruction);
            case Type::u32:
                return choose_single_to_integer<std::uint32_t, std::uint32_t>(instruction);
            case Type::s64:
                return choose_single_to_integer<std::int64_t, std::uint64_t>(instruction);
            case Type::u64:
                return choose_single_to_integer<std::uint64_t, std::uint64_t>(instruction);
            default:
                break;
        }
    }
    if (from == Type::f64) {
        if (register_bits == 64) return float_to_integer_slowly<std::uint64_t, std::uint64_t>;
        if (register_bits == 32) return float_to_integer_slowly<std::uint64_t, std::uint32_t>;
        return float_to_integer_slowly<std::uint64_t, std::uint16_t>;
    }
    if (register_bits == 64) return float_to_integer_slowly<std::uint32_t, std::uint64_t>;
    if (register_bits == 32) return float_to_integer_slowly<std::uint32_t, std::uint32_t>;
    return float_to_integer_slowly<std::uint32_t, std::uint16_t>;
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
    const unsigned shift = to == numerics::Format::fp16 || to == numerics::Format::bf16 ? 16 : to == numerics::Format::e2m1 ? 4 : 8;
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
    const unsigned narrow = static_cast<numerics::Format>(i.immediate >> 4 & 0xFu) == numerics::Format::e2m1 ? 4 : 8;
    const unsigned from = widens ? narrow : 16, to = widens ? 16 : 8;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        if ((mask >> lane & 1u) == 0) continue;
        const std::uint32_t field = (1u << from) - 1;
        d[lane] = static_cast<std::uint32_t>(convert_one(a[lane] & field, i.immediate) |
                                             convert_one(a[lane] >> from & field, i.immediate) << to);
    }
}

// ---- Scales: ue8m0 has an exponent of 8 bits and nothing else, so 2^(bits - 127); 0xFF is NaN. Zero becomes the smallest. ----

// A binary32, rounded towards zero or up. `saturates`: infinity becomes the largest number, else NaN.
std::uint32_t to_scale(std::uint32_t bits, bool up, bool saturates) {
    const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return 0xFF;
    if (magnitude == 0x7F800000u) return saturates ? 0xFE : 0xFF;
    const bool negative = bits >> 31 != 0;
    std::uint32_t exponent = magnitude >> 23, fraction = magnitude & 0x7FFFFFu;
    if (negative) return 0;  // scales have no sign: what lies below the smallest
    // A subnormal number is at most half of what exponent 1 stands for, 2^-127 is the number of code 0.
    if (exponent == 0) return up && fraction > 0x400000u ? 1 : 0;
    if (up && fraction != 0) ++exponent;
    return exponent >= 0xFF ? (saturates ? 0xFEu : 0xFFu) : exponent;
}

template <bool kUp, bool kSaturates>
void pack_scales(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t *a = words<float>(warp, i.operand[1]), *b = words<float>(warp, i.operand[2]);
    std::uint32_t* d = words<std::uint32_t>(warp, i.operand[0]);
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        if ((mask >> lane & 1u) != 0) d[lane] = to_scale(a[lane], kUp, kSaturates) << 8 | to_scale(b[lane], kUp, kSaturates);
    }
}
template <bool kUp, bool kSaturates>
void narrow_scales(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t* a = words<std::uint32_t>(warp, i.operand[1]);
    std::uint32_t* d = words<std::uint32_t>(warp, i.operand[0]);
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        if ((mask >> lane & 1u) != 0)
            d[lane] = to_scale(a[lane] & 0xFFFF0000u, kUp, kSaturates) << 8 | to_scale(a[lane] << 16, kUp, kSaturates);
    }
}
// Exact: 2^-127 is a subnormal bfloat16.
void widen_scales(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t* a = words<std::uint32_t>(warp, i.operand[1]);
    std::uint32_t* d = words<std::uint32_t>(warp, i.operand[0]);
    const auto wide = [](std::uint32_t code) { return code == 0xFF ? 0x7FFFu : code == 0 ? 0x40u : code << 7; };
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        if ((mask >> lane & 1u) != 0) d[lane] = wide(a[lane] >> 8 & 0xFF) << 16 | wide(a[lane] & 0xFF);
    }
}
template <bool kUp, bool kSaturates>
Handler choose_scales(const Instruction& n) {
    return n.type(1) == Type::f32 ? pack_scales<kUp, kSaturates> : narrow_scales<kUp, kSaturates>;
}

// ---- Stochastic rounding (.rs): random bits are added below the last bit that is kept, and the sum is cut. Of two elements the upper 16
// of the 32 random bits belong to the first operand; of four each has a byte, the last operand the lowest. That all 16 (8) bits of an
// element count, for every format, is an assumption: the manual's figures are of f16x2 and bf16x2. ----

std::uint64_t round_stochastically(numerics::Format to, std::uint32_t bits, std::uint32_t random, unsigned random_bits, const Decoded& i) {
    const numerics::Decoded value = numerics::decode(numerics::Format::fp32, bits);
    numerics::Conversion conversion = conversion_of(i.immediate);
    conversion.rounding = numerics::Rounding::toward_zero;
    if (value.number_class != numerics::NumberClass::finite)
        return limit(to, numerics::convert(to, numerics::Format::fp32, bits, conversion), i.immediate);
    // In units of 2^-30 of the last place that `to` has at this exponent.
    const numerics::FormatTraits traits = numerics::traits(to);
    constexpr int kBelow = 30;
    int leading = value.exponent;
    for (std::uint64_t s = value.significand; s != 0 && s >> 23 == 0; s <<= 1) --leading;
    const int last = std::max(leading, traits.minimum_exponent()) - static_cast<int>(traits.fraction_bits);
    const int shift = value.exponent - 23 - (last - kBelow);
    std::uint64_t magnitude = shift >= 0 ? value.significand << shift : shift > -64 ? value.significand >> -shift : 0;
    magnitude += std::uint64_t{random} << (kBelow - static_cast<int>(random_bits));
    // Cut here: the carry may have made another last bit, below which encode() cuts again.
    magnitude = magnitude >> kBelow << kBelow;
    return limit(to, numerics::encode(to, value.negative, magnitude, last - kBelow, conversion), i.immediate);
}

void pack_stochastically(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t *a = words<float>(warp, i.operand[1]), *b = words<float>(warp, i.operand[2]), *random = words<std::uint32_t>(warp, i.operand[3]);
    std::uint32_t* d = words<std::uint32_t>(warp, i.operand[0]);
    const auto to = static_cast<numerics::Format>(i.immediate & 0xFu);
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        if ((mask >> lane & 1u) == 0) continue;
        d[lane] = static_cast<std::uint32_t>(round_stochastically(to, a[lane], random[lane] >> 16, 16, i) << 16 |
                                             round_stochastically(to, b[lane], random[lane] & 0xFFFFu, 16, i));
    }
}

void pack_four_stochastically(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t* random = words<std::uint32_t>(warp, i.operand[2]);
    std::uint32_t* d = words<std::uint32_t>(warp, i.operand[0]);
    const auto to = static_cast<numerics::Format>(i.immediate & 0xFu);
    const unsigned width = to == numerics::Format::e2m1 ? 4 : 8;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        if ((mask >> lane & 1u) == 0) continue;
        std::uint32_t result = 0;
        for (unsigned e = 0; e < 4; ++e) {
            const std::uint32_t bits = words<float>(warp, warp.elements[i.operand[1] + 3 - e])[lane];
            result |= static_cast<std::uint32_t>(round_stochastically(to, bits, random[lane] >> 8 * e & 0xFFu, 8, i)) << e * width;
        }
        d[lane] = result;
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
        if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>) {
            return from_float<T>(finish<false, kSaturates>(round_to_integral(kRounding, to_float(a))));
        } else {
            return finish<kFlush, kSaturates>(round_to_integral(kRounding, flush_if<kFlush>(a)));
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
    if (to == Type::ue8m0x2) {
        const bool up = instruction.has(Modifier::rp), saturates = instruction.has(Modifier::satfinite);
        if (up) return saturates ? choose_scales<true, true>(instruction) : choose_scales<true, false>(instruction);
        return saturates ? choose_scales<false, true>(instruction) : choose_scales<false, false>(instruction);
    }
    if (from == Type::ue8m0x2) return widen_scales;
    if (instruction.has(Modifier::rs)) return instruction.operands[1].kind == Operand::Kind::vector ? pack_four_stochastically : pack_stochastically;
    const bool packed_source = from == Type::e2m1x2 || from == Type::e2m3x2 || from == Type::e3m2x2 || from == Type::f16x2 || from == Type::e4m3x2 || from == Type::e5m2x2;
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
        return to == Type::bf16 ? round_in_place<Bfloat>(instruction) : round_in_place<Half>(instruction);
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
    if (instruction.has(Modifier::pack))
        return instruction.operands.size() == 4 ? pack_saturated<true> : pack_saturated<false>;
    if (!is_float(to) && !is_float(from)) return integers(instruction, register_bits);
    if (!is_float(from))
        return source_is_wide(instruction) == (bits_of(from) == 64) ? integer_to_float(instruction) : nullptr;
    if (!is_float(to)) return float_to_integer(instruction, register_bits);
    return floats(instruction);
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
