// shfl, vote, match, redux, activemask, bar.warp.sync: lanes of one warp exchange values.
#include "isa/ptx/handlers/lanes.h"
#include "isa/ptx/machine/paths.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

/// Calls body(group) for each set of active lanes that name the same members, as soon as all that are named
/// and alive have come: `group` are all of them. Until then the lanes wait.
template <class Body>
void for_each_group(State& warp, std::uint32_t members_operand, std::uint32_t mask, Body body) {
    const std::uint32_t* members = words<std::uint32_t>(warp, members_operand);
    for (std::uint32_t rest = mask; rest != 0;) {
        const auto first = static_cast<unsigned>(std::countr_zero(rest));
        const std::uint32_t named = members[first];
        std::uint32_t group = rest & collect([=](unsigned lane) { return members[lane] == named; });
        if (const std::uint32_t unnamed = group & ~named; unnamed != 0) {
            fail_running(warp, static_cast<unsigned>(std::countr_zero(unnamed)),
                         "this lane executes a .sync instruction whose member mask does not name it",
                         "let exactly the named lanes reach the instruction");
        }
        rest &= ~group;
        if ((named & warp.live & ~group) != 0) group = join_named_lanes(warp, group, named);
        if (group != 0) body(group);
    }
}

enum class ShuffleMode { up, down, butterfly, index };

// PTX manual, shfl.sync: c holds the clamp in bits 4..0 and the segment mask in bits 12..8.
template <ShuffleMode kMode>
void shuffle(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t* a = words<std::uint32_t>(warp, i.operand[2]);
    const std::uint32_t* b = words<std::uint32_t>(warp, i.operand[3]);
    const std::uint32_t* c = words<std::uint32_t>(warp, i.operand[4]);
    std::uint32_t result[kWarpSize];
    std::uint32_t in_range = 0;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        const auto self = static_cast<std::int32_t>(lane);
        const auto distance = static_cast<std::int32_t>(b[lane] & 31u);
        const auto clamp = static_cast<std::int32_t>(c[lane] & 31u),
                   segment = static_cast<std::int32_t>(c[lane] >> 8 & 31u);
        const std::int32_t last = (self & segment) | (clamp & ~segment);
        const std::int32_t first = self & segment;
        std::int32_t source = 0;
        bool valid = false;
        switch (kMode) {
            case ShuffleMode::up:
                source = self - distance;
                valid = source >= last;
                break;
            case ShuffleMode::down:
                source = self + distance;
                valid = source <= last;
                break;
            case ShuffleMode::butterfly:
                source = self ^ distance;
                valid = source <= last;
                break;
            case ShuffleMode::index:
                source = first | (distance & ~segment);
                valid = source <= last;
                break;
        }
        if (!valid) source = self;
        result[lane] = a[source & 31];
        in_range |= static_cast<std::uint32_t>(valid) << lane;
    }
    for_each_group(warp, i.operand[5], mask, [&](std::uint32_t group) {
        assign<std::uint32_t>(warp, i.operand[0], group, [&](unsigned lane) { return result[lane]; });
        assign_predicate(warp, i.operand[1], group, in_range);
    });
}

enum class VoteMode { all, any, uniform, ballot };

template <VoteMode kMode>
void vote(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t value = predicate(warp, i.operand[1]) ^ (i.negated ? kAllLanes : 0u);
    for_each_group(warp, i.operand[2], mask, [&](std::uint32_t group) {
        const std::uint32_t yes = value & group;
        if constexpr (kMode == VoteMode::ballot) {
            assign<std::uint32_t>(warp, i.operand[0], group, [=](unsigned) { return yes; });
        } else {
            const bool all = yes == group, none = yes == 0;
            const bool result = kMode == VoteMode::all ? all : kMode == VoteMode::any ? !none : all || none;
            assign_predicate(warp, i.operand[0], group, result ? kAllLanes : 0u);
        }
    });
}

void active_mask(State& warp, const Decoded& i, std::uint32_t mask) {
    assign<std::uint32_t>(warp, i.operand[0], mask, [=](unsigned) { return mask; });
}

template <class T, class Op>
void reduce(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t* a = words<T>(warp, i.operand[1]);
    for_each_group(warp, i.operand[2], mask, [&](std::uint32_t group) {
        T total = unpack<T>(a[std::countr_zero(group)]);
        for (std::uint32_t rest = group & (group - 1); rest != 0; rest &= rest - 1) {
            total = Op()(total, unpack<T>(a[std::countr_zero(rest)]));
        }
        assign<T>(warp, i.operand[0], group, [=](unsigned) { return total; });
    });
}
struct Sum {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
    }
};
struct Smaller {
    template <class T>
    T operator()(T a, T b) const {
        return b < a ? b : a;
    }
};
struct Larger {
    template <class T>
    T operator()(T a, T b) const {
        return a < b ? b : a;
    }
};
struct Both {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return a & b; }
};
struct Either {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return a | b; }
};
struct OneOf {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return a ^ b; }
};

// Of f32: NaN loses, or wins with .NaN; -0 is less than +0.
template <bool kMaximum, bool kAbsolute, bool kNan>
struct FloatExtreme {
    static float value(float a) { return kAbsolute ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(a) & 0x7FFFFFFFu) : a; }
    float operator()(float a, float b) const {
        const float x = value(a), y = value(b);
        const bool x_nan = x != x, y_nan = y != y;
        if (x_nan || y_nan) return kNan || (x_nan && y_nan) ? std::bit_cast<float>(0x7FFFFFFFu) : x_nan ? y : x;
        if (x == y) return (std::bit_cast<std::uint32_t>(x) >> 31 != 0) == kMaximum ? y : x;
        return (x < y) == kMaximum ? y : x;
    }
};

// A lane alone gives its own value, too, through the operation.
template <class Op>
void reduce_floats(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t* a = words<float>(warp, i.operand[1]);
    for_each_group(warp, i.operand[2], mask, [&](std::uint32_t group) {
        const float first = unpack<float>(a[std::countr_zero(group)]);
        float total = Op()(first, first);
        for (std::uint32_t rest = group & (group - 1); rest != 0; rest &= rest - 1) total = Op()(total, unpack<float>(a[std::countr_zero(rest)]));
        assign<float>(warp, i.operand[0], group, [=](unsigned) { return total; });
    });
}

template <bool kMaximum>
Handler choose_float_reduction(const Instruction& n) {
    const bool nan = n.has(Modifier::nan_propagating);
    if (n.has(Modifier::abs)) return nan ? reduce_floats<FloatExtreme<kMaximum, true, true>> : reduce_floats<FloatExtreme<kMaximum, true, false>>;
    return nan ? reduce_floats<FloatExtreme<kMaximum, false, true>> : reduce_floats<FloatExtreme<kMaximum, false, false>>;
}

Handler choose_reduction(const Instruction& n) {
    if (n.type() == Type::f32) return n.has(Modifier::max) ? choose_float_reduction<true>(n) : choose_float_reduction<false>(n);
    const bool is_signed = n.type() == Type::s32;
    if (n.has(Modifier::add)) return reduce<std::uint32_t, Sum>;
    if (n.has(Modifier::min))
        return is_signed ? reduce<std::int32_t, Smaller> : reduce<std::uint32_t, Smaller>;
    if (n.has(Modifier::max)) return is_signed ? reduce<std::int32_t, Larger> : reduce<std::uint32_t, Larger>;
    if (n.has(Modifier::and_)) return reduce<std::uint32_t, Both>;
    return n.has(Modifier::or_) ? reduce<std::uint32_t, Either> : reduce<std::uint32_t, OneOf>;
}

// match.any d, a, members.
template <class T>
void match_any(State& warp, const Decoded& i, std::uint32_t mask) {
    const Word<T>* a = words<T>(warp, i.operand[1]);
    for_each_group(warp, i.operand[2], mask, [&](std::uint32_t group) {
        std::uint32_t result[kWarpSize];
        for (unsigned lane = 0; lane < kWarpSize; ++lane) {
            result[lane] = group & collect([=](unsigned other) { return a[other] == a[lane]; });
        }
        assign<std::uint32_t>(warp, i.operand[0], group, [&](unsigned lane) { return result[lane]; });
    });
}

// match.all d|p, a, members.
template <class T>
void match_all(State& warp, const Decoded& i, std::uint32_t mask) {
    const Word<T>* a = words<T>(warp, i.operand[2]);
    for_each_group(warp, i.operand[3], mask, [&](std::uint32_t group) {
        const Word<T> first = a[std::countr_zero(group)];
        const bool same = (group & ~collect([=](unsigned lane) { return a[lane] == first; })) == 0;
        assign<std::uint32_t>(warp, i.operand[0], group, [=](unsigned) { return same ? group : 0u; });
        assign_predicate(warp, i.operand[1], group, same ? kAllLanes : 0u);
    });
}

// elect d|p, members: the lowest of the lanes that are named and alive; d is its number in all of them.
void elect_leader(State& warp, const Decoded& i, std::uint32_t mask) {
    for_each_group(warp, i.operand[2], mask, [&](std::uint32_t group) {
        const auto leader = static_cast<std::uint32_t>(std::countr_zero(group));
        assign<std::uint32_t>(warp, i.operand[0], group, [=](unsigned) { return leader; });
        assign_predicate(warp, i.operand[1], group, 1u << leader);
    });
}

/// bar.warp.sync; and the others in timing mode, when nothing depends on what they exchange.
template <unsigned kMembers>
void synchronize_warp(State& warp, const Decoded& i, std::uint32_t mask) {
    for_each_group(warp, i.operand[kMembers], mask, [](std::uint32_t) {});
}

}  // namespace

Handler select_synchronization(const Instruction& n) {
    switch (n.opcode) {
        case Opcode::shfl:
            return synchronize_warp<5>;
        case Opcode::vote:
        case Opcode::redux:
        case Opcode::elect:
            return synchronize_warp<2>;
        case Opcode::match:
            return n.has(Modifier::any) ? synchronize_warp<2> : synchronize_warp<3>;
        case Opcode::bar:
            return synchronize_warp<0>;
        default:
            return nullptr;
    }
}

Handler select_warp(const Instruction& n, bool evaluate) {
    if (!evaluate) return select_synchronization(n);
    switch (n.opcode) {
        case Opcode::shfl:
            if (n.has(Modifier::up)) return shuffle<ShuffleMode::up>;
            if (n.has(Modifier::down)) return shuffle<ShuffleMode::down>;
            return n.has(Modifier::bfly) ? shuffle<ShuffleMode::butterfly> : shuffle<ShuffleMode::index>;
        case Opcode::vote:
            if (n.has(Modifier::ballot)) return vote<VoteMode::ballot>;
            if (n.has(Modifier::all)) return vote<VoteMode::all>;
            return n.has(Modifier::any) ? vote<VoteMode::any> : vote<VoteMode::uniform>;
        case Opcode::activemask:
            return active_mask;
        case Opcode::elect:
            return elect_leader;
        case Opcode::redux:
            return choose_reduction(n);
        case Opcode::match: {
            const bool wide = bits_of(n.type()) == 64;
            if (n.has(Modifier::any)) return wide ? match_any<std::uint64_t> : match_any<std::uint32_t>;
            return wide ? match_all<std::uint64_t> : match_all<std::uint32_t>;
        }
        case Opcode::bar:
            return synchronize_warp<0>;
        default:
            return nullptr;
    }
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
