// Approximate functions. The manual states bounds, not bits: ex2 2 ulp, lg2 2^-22 absolute near 1, rcp and
// rsqrt 1 and 2 ulp, sqrt 1 ulp (relative 2^-23), sin and cos 2^-20.5 absolute in [-2 pi, 2 pi], tanh
// relative 2^-11. Here they are computed in double precision and rounded once, so the error stays below
// 0.5001 ulp, and the result is the same on every host. The bits of the hardware's tables are not published;
// compare with silicon in ulps.
#include "isa/ptx/handlers/float_bits.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

constexpr double kNan = std::bit_cast<double>(std::uint64_t{0x7FF8000000000000u});
constexpr double kInfinity = std::bit_cast<double>(std::uint64_t{0x7FF0000000000000u});

// 2^x for |x| <= 1000, relative error below 2^-40.
double power_of_two(double x) {
    // Adding 1.5 * 2^52 leaves the nearest integer in the low bits.
    const double shifted = x + 0x1.8p52;
    const double fraction = x - (shifted - 0x1.8p52);
    const double scale = std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1023) << 52);
    const double y = fraction * 0.69314718055994530942;  // at most 0.347 in magnitude
    // Taylor series of e^y: the first term left out is y^12 / 12!.
    double sum = 1.0 / 39916800;
    sum = sum * y + 1.0 / 3628800;
    sum = sum * y + 1.0 / 362880;
    sum = sum * y + 1.0 / 40320;
    sum = sum * y + 1.0 / 5040;
    sum = sum * y + 1.0 / 720;
    sum = sum * y + 1.0 / 120;
    sum = sum * y + 1.0 / 24;
    sum = sum * y + 1.0 / 6;
    sum = sum * y + 0.5;
    sum = sum * y + 1;
    sum = sum * y + 1;
    return sum * scale;
}

struct Exponential2 {
    float operator()(float a) const {
        // Beyond these, single precision overflows or underflows to zero anyway; NaN fails both comparisons.
        const double x = a < -200.0f ? -200.0 : (a > 200.0f ? 200.0 : static_cast<double>(a));
        const double result = power_of_two(a == a ? x : 0.0);
        return static_cast<float>(a == a ? result : kNan);
    }
};

struct Logarithm2 {
    float operator()(float a) const {
        const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(a));  // subnormals become normal
        // Mantissa in [sqrt(1/2), sqrt(2)).
        const std::uint64_t shifted = bits + (0x3FF0000000000000u - 0x3FE6A09E667F3BCDu);
        const auto exponent = static_cast<double>(static_cast<std::int32_t>(shifted >> 52) - 1023);
        const double m = std::bit_cast<double>((shifted & 0xFFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu);
        const double t = (m - 1) / (m + 1), t2 = t * t;  // |t| < 0.172
        double sum = 1.0 / 17;
        sum = sum * t2 + 1.0 / 15;
        sum = sum * t2 + 1.0 / 13;
        sum = sum * t2 + 1.0 / 11;
        sum = sum * t2 + 1.0 / 9;
        sum = sum * t2 + 1.0 / 7;
        sum = sum * t2 + 1.0 / 5;
        sum = sum * t2 + 1.0 / 3;
        sum = sum * t2 + 1;
        const double finite = exponent + sum * t * 2.8853900817779268147;  // 2 / ln 2
        const double result = a > 0 ? (a < std::bit_cast<float>(0x7F800000u) ? finite : kInfinity)
                                    : (a == 0 ? -kInfinity : kNan);
        return static_cast<float>(result);
    }
};

// sin(x + quarter * pi / 2).
template <int kQuarter>
struct Sine {
    float operator()(float a) const {
        // Range reduction needs an exact quotient: beyond 2^30 quarter turns the library does it, lane by
        // lane.
        const double x = a;
        if (!(std::fabs(x) < 0x1p30)) {
            if (!(std::fabs(a) < std::bit_cast<float>(0x7F800000u))) return std::bit_cast<float>(kNan32);
            return static_cast<float>(kQuarter == 0 ? std::sin(x) : std::cos(x));
        }
        const double shifted = x * 0.63661977236758134308 + 0x1.8p52;  // 2 / pi
        const double turns = shifted - 0x1.8p52;
        const auto quarter = (std::bit_cast<std::uint64_t>(shifted) + kQuarter) & 3u;
        // pi / 2 in two parts, the first with 30 trailing zero bits: turns times it is exact.
        const double y = (x - turns * 0x1.921fb5p0) - turns * 0x1.10b4611a62633p-26;
        const double y2 = y * y;
        double sine = -1.0 / 39916800;
        sine = sine * y2 + 1.0 / 362880;
        sine = sine * y2 - 1.0 / 5040;
        sine = sine * y2 + 1.0 / 120;
        sine = sine * y2 - 1.0 / 6;
        sine = (sine * y2) * y + y;
        double cosine = 1.0 / 479001600;
        cosine = cosine * y2 - 1.0 / 3628800;
        cosine = cosine * y2 + 1.0 / 40320;
        cosine = cosine * y2 - 1.0 / 720;
        cosine = cosine * y2 + 1.0 / 24;
        cosine = cosine * y2 - 0.5;
        cosine = cosine * y2 + 1;
        const double magnitude = (quarter & 1u) != 0 ? cosine : sine;
        const float result = static_cast<float>((quarter & 2u) != 0 ? -magnitude : magnitude);
        return kQuarter == 0 && a == 0 ? a : result;  // the sign of zero
    }
};

struct HyperbolicTangent {
    float operator()(float a) const {
        const double x = a > 20.0f ? 20.0 : (a < -20.0f ? -20.0 : (a == a ? static_cast<double>(a) : 0.0));
        const double e = power_of_two(x * 2.8853900817779268147);  // e^2x
        const double large = 1 - 2 / (e + 1);
        const double x2 = x * x;
        const double small = x - x * x2 * (1.0 / 3) + x * x2 * x2 * (2.0 / 15);  // where `large` would cancel
        const float result = static_cast<float>(a == a ? (x2 < 1e-4 ? small : large) : kNan);
        return a == 0 ? a : result;  // the sign of zero
    }
};
struct ReciprocalSquareRoot {
    float operator()(float a) const { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a))); }
};
struct Reciprocal {
    float operator()(float a) const { return 1.0f / a; }
};
struct SquareRoot {
    float operator()(float a) const { return std::sqrt(a); }
};

template <class Function, bool kFlush>
struct Single {
    float operator()(float a) const { return finish<kFlush, false>(Function()(flush_if<kFlush>(a))); }
};
template <class Function, class T>
struct Narrow {
    T operator()(T a) const { return from_float<T>(Function()(to_float(a))); }
};
// ex2.approx.ftz.bf16: subnormal inputs and results are zeros.
template <class T>
struct FlushedExponential {
    T operator()(T a) const { return from_float<T>(Single<Exponential2, true>()(to_float(a))); }
};

template <class Op, class T, class Packed>
void both_halves(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t* a = words<Packed>(warp, i.operand[1]);
    assign<std::uint32_t>(warp, i.operand[0], mask, [=](unsigned lane) {
        const T low = Op()(T{static_cast<std::uint16_t>(a[lane])});
        const T high = Op()(T{static_cast<std::uint16_t>(a[lane] >> 16)});
        return static_cast<std::uint32_t>(low.bits) | static_cast<std::uint32_t>(high.bits) << 16;
    });
}

template <class Function>
Handler choose_single(const Instruction& instruction) {
    return instruction.has(Modifier::ftz) ? unary<Single<Function, true>, float, float>
                                          : unary<Single<Function, false>, float, float>;
}

template <class Function, class BfloatOp>
Handler choose_function(const Instruction& instruction) {
    switch (instruction.type()) {
        case Type::f32:
            return choose_single<Function>(instruction);
        case Type::f16:
            return unary<Narrow<Function, Half>, Half, Half>;
        case Type::f16x2:
            return both_halves<Narrow<Function, Half>, Half, Half2>;
        case Type::bf16:
            return unary<BfloatOp, Bfloat, Bfloat>;
        case Type::bf16x2:
            return both_halves<BfloatOp, Bfloat, Bfloat2>;
        default:
            return nullptr;
    }
}

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 work on the upper 32 bits of input and result.
double upper_word(double value) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) & 0xFFFFFFFF00000000u);
}
double flush64(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    return (bits & 0x7FF0000000000000u) == 0 ? std::bit_cast<double>(bits & 0x8000000000000000u) : value;
}
struct ReciprocalDouble {
    double operator()(double a) const { return flush64(upper_word(1.0 / flush64(upper_word(a)))); }
};
struct ReciprocalSquareRootUpper {
    double operator()(double a) const { return upper_word(1.0 / std::sqrt(flush64(upper_word(a)))); }
};
struct ReciprocalSquareRootDouble {
    double operator()(double a) const { return 1.0 / std::sqrt(a); }
};

}  // namespace

Handler select_special_function(const Instruction& instruction) {
    const bool is_double = instruction.type() == Type::f64;
    switch (instruction.opcode) {
        case Opcode::ex2: {
            using Flushed = FlushedExponential<Bfloat>;
            return choose_function<Exponential2, Flushed>(instruction);
        }
        case Opcode::tanh:
            return choose_function<HyperbolicTangent, Narrow<HyperbolicTangent, Bfloat>>(instruction);
        case Opcode::lg2:
            return choose_single<Logarithm2>(instruction);
        case Opcode::sin:
            return choose_single<Sine<0>>(instruction);
        case Opcode::cos:
            return choose_single<Sine<1>>(instruction);
        case Opcode::rcp:
            return is_double ? unary<ReciprocalDouble, double, double>
                             : choose_single<Reciprocal>(instruction);
        case Opcode::sqrt:
            return choose_single<SquareRoot>(instruction);
        case Opcode::rsqrt:
            if (!is_double) return choose_single<ReciprocalSquareRoot>(instruction);
            return instruction.has(Modifier::ftz) ? unary<ReciprocalSquareRootUpper, double, double>
                                                  : unary<ReciprocalSquareRootDouble, double, double>;
        default:
            return nullptr;
    }
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
