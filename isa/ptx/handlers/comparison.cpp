// setp, set, selp, slct, testp, isspacep.
#include "isa/ptx/handlers/float_bits.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

struct Equal {
    template <class T>
    bool operator()(T a, T b) const {
        return a == b;
    }
};
struct NotEqual {  // ordered: false when one is NaN
    template <class T>
    bool operator()(T a, T b) const {
        if constexpr (std::is_floating_point_v<T>)
            return a < b || a > b;
        else
            return a != b;
    }
};
struct Less {
    template <class T>
    bool operator()(T a, T b) const {
        return a < b;
    }
};
struct LessEqual {
    template <class T>
    bool operator()(T a, T b) const {
        return a <= b;
    }
};
struct Greater {
    template <class T>
    bool operator()(T a, T b) const {
        return a > b;
    }
};
struct GreaterEqual {
    template <class T>
    bool operator()(T a, T b) const {
        return a >= b;
    }
};
/// The unordered comparison is true when the opposite ordered one is false.
template <class Opposite>
struct Unordered {
    template <class T>
    bool operator()(T a, T b) const {
        return !Opposite()(a, b);
    }
};
struct BothNumbers {
    template <class T>
    bool operator()(T a, T b) const {
        // NOLINTNEXTLINE(misc-redundant-expression): a NaN differs from itself.
        return a == a && b == b;
    }
};

// How an operand is read for a comparison.
template <class T>
struct Plain {
    using Stored = T;
    static T read(Word<T> word) { return unpack<T>(word); }
};
struct Flushed {
    using Stored = float;
    static float read(std::uint32_t word) { return flush(unpack<float>(word)); }
};
// .ftz flushes subnormal halves; bfloat16 has no .ftz.
template <class T, bool kFlush>
inline float read_half(std::uint32_t word) {
    const auto bits = static_cast<std::uint16_t>(word);
    const bool subnormal = kFlush && (bits & 0x7C00u) == 0;
    return to_float(T{subnormal ? static_cast<std::uint16_t>(bits & 0x8000u) : bits});
}
template <class T, bool kFlush>
struct Widened {
    using Stored = T;
    static float read(std::uint32_t word) { return read_half<T, kFlush>(word); }
};

template <class Compare, class Read>
std::uint32_t compare(State& warp, std::uint32_t a_operand, std::uint32_t b_operand) {
    const auto* a = words<typename Read::Stored>(warp, a_operand);
    const auto* b = words<typename Read::Stored>(warp, b_operand);
    return collect([=](unsigned lane) { return Compare()(Read::read(a[lane]), Read::read(b[lane])); });
}

// DecodedInstruction::immediate of setp: how the result combines with the predicate operand.
std::uint32_t combine(std::uint16_t how, std::uint32_t value, std::uint32_t other) {
    switch (how) {
        case 1:
            return value & other;
        case 2:
            return value | other;
        case 3:
            return value ^ other;
        default:
            return value;
    }
}

template <class Compare, class Read>
void set_predicate(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t result = compare<Compare, Read>(warp, i.operand[2], i.operand[3]);
    std::uint32_t other = 0;
    if (i.immediate != 0) other = predicate(warp, i.operand[4]) ^ (i.negated ? kAllLanes : 0u);
    assign_predicate(warp, i.operand[0], mask, combine(i.immediate, result, other));
    assign_predicate(warp, i.operand[1], mask, combine(i.immediate, ~result, other));
}

// setp of packed halves: the first predicate is the low half's, the second the high half's.
template <class Compare, class T, bool kFlush>
void set_predicate_pair(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t* a = words<std::uint32_t>(warp, i.operand[2]);
    const std::uint32_t* b = words<std::uint32_t>(warp, i.operand[3]);
    const auto holds = [=](unsigned lane, unsigned shift) {
        return Compare()(read_half<T, kFlush>(a[lane] >> shift), read_half<T, kFlush>(b[lane] >> shift));
    };
    const std::uint32_t low = collect([=](unsigned lane) { return holds(lane, 0); });
    const std::uint32_t high = collect([=](unsigned lane) { return holds(lane, 16); });
    std::uint32_t other = 0;
    if (i.immediate != 0) other = predicate(warp, i.operand[4]) ^ (i.negated ? kAllLanes : 0u);
    assign_predicate(warp, i.operand[0], mask, combine(i.immediate, low, other));
    assign_predicate(warp, i.operand[1], mask, combine(i.immediate, high, other));
}

// The predicate operand of set with a boolean operation; 0 when there is none.
std::uint32_t other_predicate(State& warp, const Decoded& i) {
    return i.immediate == 0 ? 0 : predicate(warp, i.operand[3]) ^ (i.negated ? kAllLanes : 0u);
}

// set: DecodedInstruction::offset is what true is written as: all ones, or 1 in the destination's format.
template <class Compare, class Read>
void set_word(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t result = combine(
        i.immediate, compare<Compare, Read>(warp, i.operand[1], i.operand[2]), other_predicate(warp, i));
    const auto yes = static_cast<std::uint32_t>(i.offset);
    assign<std::uint32_t>(warp, i.operand[0], mask,
                          [=](unsigned lane) { return (result >> lane & 1u) != 0 ? yes : 0u; });
}
template <class Compare, class T, bool kFlush>
void set_word_pair(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t* a = words<std::uint32_t>(warp, i.operand[1]);
    const std::uint32_t* b = words<std::uint32_t>(warp, i.operand[2]);
    const auto yes = static_cast<std::uint32_t>(i.offset) & 0xFFFFu;  // of each half
    const std::uint32_t other = other_predicate(warp, i);
    assign<std::uint32_t>(warp, i.operand[0], mask, [=, &i](unsigned lane) {
        const auto one = [=, &i](unsigned shift) -> std::uint32_t {
            const bool holds =
                Compare()(read_half<T, kFlush>(a[lane] >> shift), read_half<T, kFlush>(b[lane] >> shift));
            return (combine(i.immediate, holds ? 1u : 0u, other >> lane) & 1u) != 0 ? yes << shift : 0u;
        };
        return one(0) | one(16);
    });
}

/// choose(Compare()) for the comparison that the instruction names; nullptr for an unordered one.
template <class Choose>
Handler with_ordered(const Instruction& n, Choose choose) {
    if (n.has(Modifier::eq)) return choose(Equal());
    if (n.has(Modifier::ne)) return choose(NotEqual());
    if (n.has(Modifier::lt) || n.has(Modifier::lo)) return choose(Less());
    if (n.has(Modifier::le) || n.has(Modifier::ls)) return choose(LessEqual());
    if (n.has(Modifier::gt) || n.has(Modifier::hi)) return choose(Greater());
    if (n.has(Modifier::ge) || n.has(Modifier::hs)) return choose(GreaterEqual());
    return nullptr;
}
template <class Choose>
Handler with_comparison(const Instruction& n, Choose choose) {
    if (const Handler ordered = with_ordered(n, choose)) return ordered;
    if (n.has(Modifier::equ)) return choose(Unordered<NotEqual>());
    if (n.has(Modifier::neu)) return choose(Unordered<Equal>());
    if (n.has(Modifier::ltu)) return choose(Unordered<GreaterEqual>());
    if (n.has(Modifier::leu)) return choose(Unordered<Greater>());
    if (n.has(Modifier::gtu)) return choose(Unordered<LessEqual>());
    if (n.has(Modifier::geu)) return choose(Unordered<Less>());
    if (n.has(Modifier::num)) return choose(BothNumbers());
    if (n.has(Modifier::nan)) return choose(Unordered<BothNumbers>());
    return nullptr;
}

template <class Read>
Handler choose_integer(const Instruction& n) {
    return with_ordered(n, [&](auto compare) -> Handler {
        using Compare = decltype(compare);
        return n.opcode == Opcode::set ? set_word<Compare, Read> : set_predicate<Compare, Read>;
    });
}
template <class Read>
Handler choose_float(const Instruction& n) {
    return with_comparison(n, [&](auto compare) -> Handler {
        using Compare = decltype(compare);
        return n.opcode == Opcode::set ? set_word<Compare, Read> : set_predicate<Compare, Read>;
    });
}
template <class T, bool kFlush>
Handler choose_pair(const Instruction& n) {
    return with_comparison(n, [&](auto compare) -> Handler {
        using Compare = decltype(compare);
        return n.opcode == Opcode::set ? set_word_pair<Compare, T, kFlush>
                                       : set_predicate_pair<Compare, T, kFlush>;
    });
}

Handler choose_comparison(const Instruction& instruction) {
    const Type type = instruction.opcode == Opcode::set ? instruction.type(1) : instruction.type();
    const bool flushes = instruction.has(Modifier::ftz);
    switch (type) {
        case Type::f32:
            return flushes ? choose_float<Flushed>(instruction) : choose_float<Plain<float>>(instruction);
        case Type::f64:
            return choose_float<Plain<double>>(instruction);
        case Type::f16:
            return flushes ? choose_float<Widened<Half, true>>(instruction)
                           : choose_float<Widened<Half, false>>(instruction);
        case Type::bf16:
            return choose_float<Widened<Bfloat, false>>(instruction);
        case Type::f16x2:
            return flushes ? choose_pair<Half, true>(instruction) : choose_pair<Half, false>(instruction);
        case Type::bf16x2:
            return choose_pair<Bfloat, false>(instruction);
        default:
            break;
    }
    return with_integer(
        type, [&](auto tag) -> Handler { return choose_integer<Plain<decltype(tag)>>(instruction); });
}

template <class T>
void select(State& warp, const Decoded& i, std::uint32_t mask) {
    const Word<T>* a = words<T>(warp, i.operand[1]);
    const Word<T>* b = words<T>(warp, i.operand[2]);
    const std::uint32_t choice = predicate(warp, i.operand[3]);
    assign<Word<T>>(warp, i.operand[0], mask,
                    [=](unsigned lane) { return (choice >> lane & 1u) != 0 ? a[lane] : b[lane]; });
}

template <class T, class C>
void select_by_sign(State& warp, const Decoded& i, std::uint32_t mask) {
    const Word<T>* a = words<T>(warp, i.operand[1]);
    const Word<T>* b = words<T>(warp, i.operand[2]);
    const std::uint32_t* c = words<C>(warp, i.operand[3]);
    const bool flushes = i.immediate != 0;
    assign<Word<T>>(warp, i.operand[0], mask, [=](unsigned lane) {
        C value = unpack<C>(c[lane]);
        if constexpr (std::is_same_v<C, float>) value = flushes ? flush(value) : value;
        return value >= C{0} ? a[lane] : b[lane];
    });
}

enum class Property { finite, infinite, number, not_a_number, normal, subnormal };
template <class T, Property kProperty>
bool has_property(T value) {
    constexpr unsigned fraction = sizeof(T) == 4 ? 23 : 52;
    constexpr Word<T> all_exponent = sizeof(T) == 4 ? Word<T>{0xFF} : Word<T>{0x7FF};
    const Word<T> bits = std::bit_cast<Word<T>>(value);
    const Word<T> exponent = bits >> fraction & all_exponent;
    const bool zero_fraction = (bits & ((Word<T>{1} << fraction) - 1)) == 0;
    switch (kProperty) {
        case Property::finite:
            return exponent != all_exponent;
        case Property::infinite:
            return exponent == all_exponent && zero_fraction;
        case Property::number:
            return exponent != all_exponent || zero_fraction;
        case Property::not_a_number:
            return exponent == all_exponent && !zero_fraction;
        case Property::normal:
            return exponent != all_exponent && (exponent != 0 || zero_fraction);  // zeros count as normal numbers
        case Property::subnormal:
            return exponent == 0 && !zero_fraction;
    }
    return false;
}
template <class T, Property kProperty>
void test_property(State& warp, const Decoded& i, std::uint32_t mask) {
    const Word<T>* a = words<T>(warp, i.operand[1]);
    assign_predicate(warp, i.operand[0], mask,
                     collect([=](unsigned lane) { return has_property<T, kProperty>(unpack<T>(a[lane])); }));
}
template <class T>
Handler choose_property(const Instruction& n) {
    if (n.has(Modifier::finite)) return test_property<T, Property::finite>;
    if (n.has(Modifier::infinite)) return test_property<T, Property::infinite>;
    if (n.has(Modifier::number)) return test_property<T, Property::number>;
    if (n.has(Modifier::notanumber)) return test_property<T, Property::not_a_number>;
    if (n.has(Modifier::normal)) return test_property<T, Property::normal>;
    return test_property<T, Property::subnormal>;
}

// isspacep: the windows of generic addresses; `offset` is where the window starts, `target` its successor /
// 2^32.
void is_in_space(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint64_t* a = words<std::uint64_t>(warp, i.operand[1]);
    const auto start = static_cast<std::uint64_t>(i.offset);
    const bool global = start == kGlobalWindow;
    assign_predicate(warp, i.operand[0], mask, collect([=](unsigned lane) {
                         if (global) return a[lane] >= start || a[lane] < kParameterWindow;
                         return a[lane] >= start && a[lane] < start + (std::uint64_t{1} << 40);
                     }));
}

// isspacep.shared::cta: of the shared window, the CTA's own part.
void is_in_own_shared(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint64_t* a = words<std::uint64_t>(warp, i.operand[1]);
    const std::uint64_t self = std::uint64_t{warp.cta->cluster_rank} + 1;
    assign_predicate(warp, i.operand[0], mask, collect([=](unsigned lane) {
                         const std::uint64_t tag = (a[lane] - kSharedWindow) >> kClusterRankShift;
                         return a[lane] >= kSharedWindow && (tag == 0 || tag == self);
                     }));
}

}  // namespace

Handler select_comparison(const Instruction& instruction) {
    switch (instruction.opcode) {
        case Opcode::set:
        case Opcode::setp:
            return choose_comparison(instruction);
        case Opcode::selp:
            return with_width(bits_of(instruction.type()),
                              [](auto tag) -> Handler { return select<decltype(tag)>; });
        case Opcode::slct: {
            const bool by_float = instruction.type(1) == Type::f32;
            return with_width(bits_of(instruction.type()), [=](auto tag) -> Handler {
                using T = decltype(tag);
                return by_float ? select_by_sign<T, float> : select_by_sign<T, std::int32_t>;
            });
        }
        case Opcode::testp:
            return instruction.type() == Type::f64 ? choose_property<double>(instruction)
                                                   : choose_property<float>(instruction);
        case Opcode::isspacep:
            return instruction.space == StateSpace::shared ? is_in_own_shared : is_in_space;
        default:
            return nullptr;
    }
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
