// Logic, shifts, bit fields.
#include "isa/ptx/handlers/lanes.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

struct And {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(a & b);
    }
};
struct Or {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(a | b);
    }
};
struct ExclusiveOr {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(a ^ b);
    }
};
struct Not {
    template <class T>
    T operator()(T a) const {
        return static_cast<T>(~a);
    }
};
struct LogicalNot {
    template <class T>
    T operator()(T a) const {
        return a == 0 ? 1 : 0;
    }
};

// Shift amounts are unsigned 32-bit values, clamped to the width.
struct ShiftLeft {
    template <class T>
    T operator()(T a, std::uint32_t n) const {
        constexpr std::uint32_t width = 8 * sizeof(T);
        using Wide = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
        const Wide shifted = static_cast<Wide>(a) << (n & (8 * sizeof(Wide) - 1));
        return n >= width ? T{0} : static_cast<T>(shifted);
    }
};
struct ShiftRight {
    template <class T>
    T operator()(T a, std::uint32_t n) const {
        constexpr std::uint32_t width = 8 * sizeof(T);
        const std::uint32_t clamped = n >= width ? width - 1 : n;
        const T shifted = static_cast<T>(a >> clamped);
        if constexpr (std::is_signed_v<T>) return shifted;
        return n >= width ? T{0} : shifted;
    }
};

template <bool kClamp>
std::uint32_t funnel_amount(std::uint32_t c) {
    return kClamp ? (c < 32 ? c : 32) : c & 31u;
}
template <bool kClamp>
struct FunnelLeft {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
        const std::uint64_t both = std::uint64_t{b} << 32 | a;
        return static_cast<std::uint32_t>(both << funnel_amount<kClamp>(c) >> 32);
    }
};
template <bool kClamp>
struct FunnelRight {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
        const std::uint64_t both = std::uint64_t{b} << 32 | a;
        return static_cast<std::uint32_t>(both >> funnel_amount<kClamp>(c));
    }
};

// bfe: only the low 8 bits of position and length count. Beyond the top the field is filled with zeros, or
// for signed types with the sign: the bit at min(position + length - 1, width - 1).
struct ExtractField {
    template <class T>
    T operator()(T a, std::uint32_t position_operand, std::uint32_t length_operand) const {
        using U = std::make_unsigned_t<T>;
        constexpr std::uint32_t width = 8 * sizeof(T);
        const std::uint32_t position = position_operand & 0xFFu, length = length_operand & 0xFFu;
        if (length == 0) return 0;
        const std::uint32_t top = position + length - 1 < width - 1 ? position + length - 1 : width - 1;
        const bool sign = std::is_signed_v<T> && (static_cast<U>(a) >> top & 1u) != 0;
        const U shifted =
            position >= width ? (sign ? ~U{0} : U{0}) : static_cast<U>(static_cast<U>(a) >> position);
        if (length >= width && position == 0) return a;
        // Bits of the field that exist in `a`.
        const std::uint32_t available =
            position >= width ? 0 : (length < width - position ? length : width - position);
        const U field = available >= width ? ~U{0} : static_cast<U>((U{1} << available) - 1);
        return static_cast<T>((shifted & field) | (sign ? static_cast<U>(~field) : U{0}));
    }
};
struct InsertField {
    template <class T>
    T operator()(T a, T b, std::uint32_t position_operand, std::uint32_t length_operand) const {
        constexpr std::uint32_t width = 8 * sizeof(T);
        const std::uint32_t position = position_operand & 0xFFu, length = length_operand & 0xFFu;
        if (length == 0 || position >= width) return b;
        const T low = length >= width ? ~T{0} : static_cast<T>((T{1} << length) - 1);
        const T field = static_cast<T>(low << position);
        return static_cast<T>((b & ~field) | (static_cast<T>(a << position) & field));
    }
};

template <class T>
void insert_field(State& warp, const Decoded& i, std::uint32_t mask) {
    const Word<T>* a = words<T>(warp, i.operand[1]);
    const Word<T>* b = words<T>(warp, i.operand[2]);
    const std::uint32_t* c = words<std::uint32_t>(warp, i.operand[3]);
    const std::uint32_t* d = words<std::uint32_t>(warp, i.operand[4]);
    assign<T>(warp, i.operand[0], mask, [=](unsigned lane) {
        return InsertField()(unpack<T>(a[lane]), unpack<T>(b[lane]), c[lane], d[lane]);
    });
}

// bmsk: b ones from bit a on. .clamp: both are limited to 32; .wrap: taken modulo 32.
template <bool kClamp>
struct BitMask {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
        const std::uint32_t first = kClamp ? (a < 32 ? a : 32) : a & 31u,
                            count = kClamp ? (b < 32 ? b : 32) : b & 31u;
        const std::uint64_t ones = (std::uint64_t{1} << count) - 1;
        return static_cast<std::uint32_t>(ones << first);
    }
};
// szext: extends from bit b - 1 by sign or zeros. .wrap takes b modulo 32; a width of 0 gives 0, of 32 or
// more a itself.
template <bool kClamp>
struct ExtendFrom {
    template <class T>
    T operator()(T a, std::uint32_t b) const {
        const std::uint32_t width = kClamp ? b : b & 31u;
        if (width >= 32) return a;
        if (width == 0) return 0;
        const auto shifted = static_cast<std::uint32_t>(a) << (32 - width);
        return static_cast<T>(static_cast<T>(shifted) >> (32 - width));
    }
};

struct CountOnes {
    template <class T>
    std::uint32_t operator()(T a) const {
        return static_cast<std::uint32_t>(std::popcount(a));
    }
};
struct CountLeadingZeros {
    template <class T>
    std::uint32_t operator()(T a) const {
        return static_cast<std::uint32_t>(std::countl_zero(a));
    }
};
// The most significant bit that is not the sign; 0xFFFFFFFF when there is none.
template <bool kShiftAmount>
struct FindLeadingBit {
    template <class T>
    std::uint32_t operator()(T a) const {
        using U = std::make_unsigned_t<T>;
        constexpr std::uint32_t width = 8 * sizeof(T);
        const U magnitude = std::is_signed_v<T> && a < 0 ? static_cast<U>(~a) : static_cast<U>(a);
        if (magnitude == 0) return 0xFFFFFFFFu;
        const auto leading = static_cast<std::uint32_t>(std::countl_zero(magnitude));
        return kShiftAmount ? leading : width - 1 - leading;
    }
};
struct Reverse {
    template <class T>
    T operator()(T a) const {
        T result = 0;
        for (unsigned bit = 0; bit < 8 * sizeof(T); ++bit)
            result |= static_cast<T>((a >> bit & 1u) << (8 * sizeof(T) - 1 - bit));
        return result;
    }
};

// prmt: bytes of {b, a} picked by the nibbles of c; bit 3 of a nibble replicates the sign of the byte.
struct Permute {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
        const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
        std::uint32_t result = 0;
        for (unsigned n = 0; n < 4; ++n) {
            const std::uint32_t select = c >> (4 * n) & 0xFu;
            std::uint32_t byte = static_cast<std::uint32_t>(bytes >> (8 * (select & 7u))) & 0xFFu;
            if ((select & 8u) != 0) byte = (byte & 0x80u) != 0 ? 0xFFu : 0u;
            result |= byte << (8 * n);
        }
        return result;
    }
};

// fns: the place of the n-th set bit of `mask`, counted from bit `base` upward (n > 0) or downward (n < 0),
// the base itself when n is 0 and its bit is set; all ones when there is none. Source: PTX ISA 9.0, "fns".
struct FindNthSet {
    std::uint32_t operator()(std::uint32_t mask, std::uint32_t base, std::int32_t offset) const {
        const int step = offset < 0 ? -1 : 1;
        std::int64_t left = offset == 0 ? 1 : std::int64_t{offset} * step;
        for (std::int64_t bit = base; bit >= 0 && bit < 32; bit += step) {
            if ((mask >> bit & 1u) != 0 && --left == 0) return static_cast<std::uint32_t>(bit);
            if (offset == 0) break;
        }
        return ~0u;
    }
};

enum class PermuteMode { f4e, b4e, rc8, ecl, ecr, rc16 };
// The byte that each mode puts into result byte n: PTX manual, table of prmt modes.
template <PermuteMode kMode>
struct PermuteByMode {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
        const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
        const std::uint32_t s = c & 3u;
        std::uint32_t result = 0;
        for (std::uint32_t n = 0; n < 4; ++n) {
            std::uint32_t source = 0;
            switch (kMode) {
                case PermuteMode::f4e:
                    source = s + n;
                    break;
                case PermuteMode::b4e:
                    source = (s + 8 - n) & 7u;
                    break;
                case PermuteMode::rc8:
                    source = s;
                    break;
                case PermuteMode::ecl:
                    source = n < s ? s : n;
                    break;
                case PermuteMode::ecr:
                    source = n < s ? n : s;
                    break;
                case PermuteMode::rc16:
                    source = (s & 1u) * 2 + (n & 1u);
                    break;
            }
            result |= (static_cast<std::uint32_t>(bytes >> (8 * source)) & 0xFFu) << (8 * n);
        }
        return result;
    }
};

// kPredicate: lop3.or, lop3.and d|p, a, b, c, table, q: p is whether d is not zero, combined with q.
enum class LookupPredicate { none, either, both };
template <LookupPredicate kPredicate>
void lookup3(State& warp, const Decoded& i, std::uint32_t mask) {
    constexpr unsigned first = kPredicate == LookupPredicate::none ? 1 : 2;
    const std::uint32_t* a = words<std::uint32_t>(warp, i.operand[first]);
    const std::uint32_t* b = words<std::uint32_t>(warp, i.operand[first + 1]);
    const std::uint32_t* c = words<std::uint32_t>(warp, i.operand[first + 2]);
    std::uint32_t term[8];  // all ones where the table has a one
    for (unsigned n = 0; n < 8; ++n) term[n] = (i.immediate >> n & 1u) != 0 ? kAllLanes : 0u;
    std::uint32_t result[kWarpSize];
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        const std::uint32_t x = a[lane], y = b[lane], z = c[lane];
        const std::uint32_t z0 = (term[0] & ~z) | (term[1] & z), z1 = (term[2] & ~z) | (term[3] & z);
        const std::uint32_t z2 = (term[4] & ~z) | (term[5] & z), z3 = (term[6] & ~z) | (term[7] & z);
        result[lane] = (((z0 & ~y) | (z1 & y)) & ~x) | (((z2 & ~y) | (z3 & y)) & x);
    }
    if constexpr (kPredicate != LookupPredicate::none) {
        const std::uint32_t other = predicate(warp, i.operand[5]) ^ (i.negated ? kAllLanes : 0u);
        const std::uint32_t any = collect([&](unsigned lane) { return result[lane] != 0; });
        assign_predicate(warp, i.operand[1], mask,
                         kPredicate == LookupPredicate::either ? any | other : any & other);
    }
    assign<std::uint32_t>(warp, i.operand[0], mask, [&](unsigned lane) { return result[lane]; });
}

template <class Op>
void predicate_binary(State& warp, const Decoded& i, std::uint32_t mask) {
    assign_predicate(warp, i.operand[0], mask,
                     Op()(predicate(warp, i.operand[1]), predicate(warp, i.operand[2])));
}
void predicate_not(State& warp, const Decoded& i, std::uint32_t mask) {
    assign_predicate(warp, i.operand[0], mask, ~predicate(warp, i.operand[1]));
}

template <class Op>
Handler choose_logic(Type type) {
    if (type == Type::pred) return predicate_binary<Op>;
    return with_width(bits_of(type), [](auto tag) -> Handler {
        using T = decltype(tag);
        return binary<Op, T, T, T>;
    });
}
template <class Op>
Handler choose_unary(Type type) {
    return with_width(bits_of(type), [](auto tag) -> Handler {
        using T = decltype(tag);
        return unary<Op, T, T>;
    });
}
template <class Op>
Handler choose_count(Type type) {
    return with_integer(type, [](auto tag) -> Handler {
        using T = decltype(tag);
        if constexpr (sizeof(T) == 2)
            return nullptr;
        else if constexpr (std::is_signed_v<T>)
            return unary<FindLeadingBit<false>, std::uint32_t, T>;
        else
            return unary<Op, std::uint32_t, T>;
    });
}
template <bool kShiftAmount>
Handler choose_find(Type type) {
    return with_integer(type, [](auto tag) -> Handler {
        using T = decltype(tag);
        if constexpr (sizeof(T) == 2)
            return nullptr;
        else
            return unary<FindLeadingBit<kShiftAmount>, std::uint32_t, T>;
    });
}
template <class Op>
Handler choose_shift(Type type) {
    return with_integer(type, [](auto tag) -> Handler {
        using T = decltype(tag);
        return binary<Op, T, T, std::uint32_t>;
    });
}
template <class Op>
Handler three_words() {
    return ternary<Op, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
}

Handler choose_funnel(const Instruction& instruction) {
    const bool clamp = instruction.has(Modifier::clamp);
    if (instruction.has(Modifier::l))
        return clamp ? three_words<FunnelLeft<true>>() : three_words<FunnelLeft<false>>();
    return clamp ? three_words<FunnelRight<true>>() : three_words<FunnelRight<false>>();
}

Handler choose_extension(const Instruction& instruction) {
    const bool clamp = instruction.has(Modifier::clamp);
    if (instruction.type() == Type::s32) {
        return clamp ? binary<ExtendFrom<true>, std::int32_t, std::int32_t, std::uint32_t>
                     : binary<ExtendFrom<false>, std::int32_t, std::int32_t, std::uint32_t>;
    }
    return clamp ? binary<ExtendFrom<true>, std::uint32_t, std::uint32_t, std::uint32_t>
                 : binary<ExtendFrom<false>, std::uint32_t, std::uint32_t, std::uint32_t>;
}

Handler choose_permute(const Instruction& instruction) {
    if (instruction.has(Modifier::f4e)) return three_words<PermuteByMode<PermuteMode::f4e>>();
    if (instruction.has(Modifier::b4e)) return three_words<PermuteByMode<PermuteMode::b4e>>();
    if (instruction.has(Modifier::rc8)) return three_words<PermuteByMode<PermuteMode::rc8>>();
    if (instruction.has(Modifier::ecl)) return three_words<PermuteByMode<PermuteMode::ecl>>();
    if (instruction.has(Modifier::ecr)) return three_words<PermuteByMode<PermuteMode::ecr>>();
    if (instruction.has(Modifier::rc16)) return three_words<PermuteByMode<PermuteMode::rc16>>();
    return three_words<Permute>();
}

}  // namespace

Handler select_logic(const Instruction& instruction) {
    const Type type = instruction.type();
    switch (instruction.opcode) {
        case Opcode::and_:
            return choose_logic<And>(type);
        case Opcode::or_:
            return choose_logic<Or>(type);
        case Opcode::xor_:
            return choose_logic<ExclusiveOr>(type);
        case Opcode::not_:
            return type == Type::pred ? predicate_not : choose_unary<Not>(type);
        case Opcode::cnot:
            return choose_unary<LogicalNot>(type);
        case Opcode::lop3:
            if (instruction.has(Modifier::or_)) return lookup3<LookupPredicate::either>;
            return instruction.has(Modifier::and_) ? lookup3<LookupPredicate::both>
                                                   : lookup3<LookupPredicate::none>;
        case Opcode::shl:
            return with_width(bits_of(type), [](auto tag) -> Handler {
                using T = decltype(tag);
                return binary<ShiftLeft, T, T, std::uint32_t>;
            });
        case Opcode::shr:
            return choose_shift<ShiftRight>(type);
        case Opcode::shf:
            return choose_funnel(instruction);
        case Opcode::bmsk:
            return instruction.has(Modifier::clamp)
                       ? binary<BitMask<true>, std::uint32_t, std::uint32_t, std::uint32_t>
                       : binary<BitMask<false>, std::uint32_t, std::uint32_t, std::uint32_t>;
        case Opcode::szext:
            return choose_extension(instruction);
        case Opcode::bfe:
            return with_integer(type, [](auto tag) -> Handler {
                using T = decltype(tag);
                if constexpr (sizeof(T) == 2)
                    return nullptr;
                else
                    return ternary<ExtractField, T, T, std::uint32_t, std::uint32_t>;
            });
        case Opcode::bfi:
            return bits_of(type) == 64 ? insert_field<std::uint64_t> : insert_field<std::uint32_t>;
        case Opcode::fns:
            return ternary<FindNthSet, std::uint32_t, std::uint32_t, std::uint32_t, std::int32_t>;
        case Opcode::bfind:
            return instruction.has(Modifier::shiftamt) ? choose_find<true>(type) : choose_find<false>(type);
        case Opcode::popc:
            return choose_count<CountOnes>(type);
        case Opcode::clz:
            return choose_count<CountLeadingZeros>(type);
        case Opcode::brev:
            return choose_unary<Reverse>(type);
        case Opcode::prmt:
            return choose_permute(instruction);
        default:
            return nullptr;
    }
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
