#include "isa/ptx/machine/reduction.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "isa/numerics/formats.h"

namespace heddle::ptx {
namespace {

using enum ReductionOperation;

struct Half {
    std::uint16_t bits;
    static constexpr std::uint16_t kNan = 0x7FFF;
    float value() const { return numerics::fp16_to_fp32(bits); }
    static Half rounded(float value) { return {std::isnan(value) ? kNan : numerics::fp32_to_fp16(value)}; }
};
struct Bfloat {
    std::uint16_t bits;
    static constexpr std::uint16_t kNan = 0x7FFF;
    float value() const { return numerics::bf16_to_fp32(bits); }
    static Bfloat rounded(float value) { return {std::isnan(value) ? kNan : numerics::fp32_to_bf16(value)}; }
};

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>;

float flush(float value) {
    return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}
float canonical(float value) {
    return std::isnan(value) ? std::bit_cast<float>(0x7FFFFFFFu) : value;
}
// Addition of such floats keeps subnormals.
struct WholeFloat {
    float value;
    friend bool operator<(WholeFloat a, WholeFloat b) { return a.value < b.value; }
};

template <class T>
T add_elements(T a, T b) {
    if constexpr (kIsHalf<T>) {
        return T::rounded(a.value() + b.value());  // 24 bits hold enough for one rounding
    } else if constexpr (std::is_same_v<T, float>) {
        return canonical(flush(flush(a) + flush(b)));
    } else if constexpr (std::is_same_v<T, WholeFloat>) {
        return {canonical(a.value + b.value)};
    } else if constexpr (std::is_same_v<T, double>) {
        return a + b;
    } else {
        using Bits = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<Bits>(a) + static_cast<Bits>(b));
    }
}

template <class T>
bool below(T a, T b) {
    if constexpr (kIsHalf<T>) {
        if (a.value() == b.value()) return (a.bits >> 15) > (b.bits >> 15);
        return a.value() < b.value();
    } else {
        return a < b;
    }
}

template <class T>
T extreme(T a, T b, bool smallest) {
    if constexpr (kIsHalf<T>) {
        const bool no_a = std::isnan(a.value()), no_b = std::isnan(b.value());
        if (no_a && no_b) return {T::kNan};
        if (no_a || no_b) return no_a ? b : a;
    }
    return (smallest ? below(b, a) : below(a, b)) ? b : a;
}

template <class T>
T combine(ReductionOperation operation, T a, T b) {
    switch (operation) {
        case add:
            return add_elements(a, b);
        case minimum:
            return extreme(a, b, true);
        case maximum:
            return extreme(a, b, false);
        default:
            break;
    }
    if constexpr (std::is_integral_v<T>) {
        switch (operation) {
            case increment:
                return a >= b ? T{0} : static_cast<T>(a + 1);
            case decrement:
                return a == 0 || a > b ? b : static_cast<T>(a - 1);
            case and_:
                return a & b;
            case or_:
                return a | b;
            default:
                return a ^ b;
        }
    }
    return a;
}

template <class T>
void reduce_as(ReductionOperation operation, std::byte* to, const std::byte* from, std::size_t bytes) {
    for (std::size_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
        T old, value;
        std::memcpy(&old, to + at, sizeof(T));
        std::memcpy(&value, from + at, sizeof(T));
        const T result = combine(operation, old, value);
        std::memcpy(to + at, &result, sizeof(T));
    }
}

}  // namespace

ReductionOperation reduction_operation(const Instruction& n) {
    if (n.has(Modifier::add)) return add;
    if (n.has(Modifier::min)) return minimum;
    if (n.has(Modifier::max)) return maximum;
    if (n.has(Modifier::inc)) return increment;
    if (n.has(Modifier::dec)) return decrement;
    if (n.has(Modifier::and_)) return and_;
    if (n.has(Modifier::or_)) return or_;
    return n.has(Modifier::xor_) ? exclusive_or : none;
}

bool can_reduce(ReductionOperation operation, Type type) {
    const unsigned bits = bits_of(type);
    const bool integer = !is_float(type) && (bits == 32 || bits == 64);
    const bool half = type == Type::f16 || type == Type::bf16;
    switch (operation) {
        case add:
            return integer || half || type == Type::f32 || type == Type::f64;
        case minimum:
        case maximum:
            return integer || half;
        case increment:
        case decrement:
            return integer && bits == 32;
        default:
            return integer;
    }
}

void reduce_elements(ReductionOperation operation, Type type, std::byte* to, const std::byte* from,
                     std::size_t bytes, bool keeps_subnormals) {
    switch (type) {
        case Type::f16:
            return reduce_as<Half>(operation, to, from, bytes);
        case Type::bf16:
            return reduce_as<Bfloat>(operation, to, from, bytes);
        case Type::f32:
            return keeps_subnormals ? reduce_as<WholeFloat>(operation, to, from, bytes)
                                    : reduce_as<float>(operation, to, from, bytes);
        case Type::f64:
            return reduce_as<double>(operation, to, from, bytes);
        case Type::s32:
            return reduce_as<std::int32_t>(operation, to, from, bytes);
        case Type::s64:
            return reduce_as<std::int64_t>(operation, to, from, bytes);
        case Type::b64:
        case Type::u64:
            return reduce_as<std::uint64_t>(operation, to, from, bytes);
        default:
            return reduce_as<std::uint32_t>(operation, to, from, bytes);
    }
}

}  // namespace heddle::ptx
