// atom and red, on global, shared and generic addresses. Lanes act one after another, lowest first: the
// manual leaves the order open; this one is the same on every run.
#include "isa/ptx/handlers/float_bits.h"
#include "isa/ptx/handlers/memory_access.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

struct AddOp {
    template <class T>
    T operator()(T old, T b) const {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(static_cast<std::make_unsigned_t<T>>(old) +
                                  static_cast<std::make_unsigned_t<T>>(b));
        else if constexpr (std::is_same_v<T, float>)
            return canonical(old + b);
        else
            return old + b;
    }
    Half operator()(Half old, Half b) const { return to_half(to_float(old) + to_float(b)); }
    Bfloat operator()(Bfloat old, Bfloat b) const { return to_bfloat(to_float(old) + to_float(b)); }
    template <class T>
    static std::uint32_t packed(std::uint32_t old, std::uint32_t b) {
        const T low = AddOp()(T{static_cast<std::uint16_t>(old)}, T{static_cast<std::uint16_t>(b)});
        const T high =
            AddOp()(T{static_cast<std::uint16_t>(old >> 16)}, T{static_cast<std::uint16_t>(b >> 16)});
        return static_cast<std::uint32_t>(high.bits) << 16 | low.bits;
    }
    Half2 operator()(Half2 old, Half2 b) const { return {packed<Half>(old.bits, b.bits)}; }
    Bfloat2 operator()(Bfloat2 old, Bfloat2 b) const { return {packed<Bfloat>(old.bits, b.bits)}; }
};
// On global memory f32 atomics flush subnormal inputs and results; shared ones do not: PTX manual, atom.
struct AddFlushed {
    float operator()(float old, float b) const { return finish<true, false>(flush(old) + flush(b)); }
};
struct MinimumOp {
    template <class T>
    T operator()(T old, T b) const {
        return b < old ? b : old;
    }
};
struct MaximumOp {
    template <class T>
    T operator()(T old, T b) const {
        return old < b ? b : old;
    }
};
struct AndOp {
    template <class T>
    T operator()(T old, T b) const {
        return old & b;
    }
};
struct OrOp {
    template <class T>
    T operator()(T old, T b) const {
        return old | b;
    }
};
struct ExclusiveOrOp {
    template <class T>
    T operator()(T old, T b) const {
        return old ^ b;
    }
};
struct ExchangeOp {
    template <class T>
    T operator()(T, T b) const {
        return b;
    }
};
struct IncrementOp {
    std::uint32_t operator()(std::uint32_t old, std::uint32_t b) const { return old >= b ? 0 : old + 1; }
};
struct DecrementOp {
    std::uint32_t operator()(std::uint32_t old, std::uint32_t b) const {
        return old == 0 || old > b ? b : old - 1;
    }
};

// Operands: atom d, [a], b(, c); red [a], b.
template <bool kReturns>
struct Slots {
    static constexpr unsigned address = kReturns ? 1 : 0, b = address + 1, c = b + 1;
};

template <StateSpace kSpace, class T, class Op, bool kReturns>
void modify(State& warp, const Decoded& i, std::uint32_t mask) {
    const StateSpace space =
        kSpace == StateSpace::none ? static_cast<StateSpace>(i.immediate & 0xFu) : kSpace;
    MemoryAccess& access = begin_access(warp, mask, space, sizeof(T), true, true);
    compute_addresses(warp, i.operand[Slots<kReturns>::address], i.wide_address, i.offset, access.address);
    const Word<T>* b = words<T>(warp, i.operand[Slots<kReturns>::b]);
    Word<T> previous[kWarpSize] = {};
    with_memory<kSpace>(warp, i, mask, access, [&](const Located& located, std::uint32_t lanes) {
        for (; lanes != 0; lanes &= lanes - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
            const T old = read_unaligned<T>(located.at(lane));
            const T updated = Op()(old, unpack<T>(b[lane]));
            std::memcpy(located.at(lane), &updated, sizeof(T));
            previous[lane] = pack<T>(old);
            warp.cta->changes += pack<T>(updated) != previous[lane] ? 1 : 0;
        }
    });
    if constexpr (kReturns)
        assign<Word<T>>(warp, i.operand[0], mask, [&](unsigned lane) { return previous[lane]; });
}

template <StateSpace kSpace, class T>
void compare_and_swap(State& warp, const Decoded& i, std::uint32_t mask) {
    const StateSpace space =
        kSpace == StateSpace::none ? static_cast<StateSpace>(i.immediate & 0xFu) : kSpace;
    MemoryAccess& access = begin_access(warp, mask, space, sizeof(T), true, true);
    compute_addresses(warp, i.operand[1], i.wide_address, i.offset, access.address);
    const Word<T>* expected = words<T>(warp, i.operand[2]);
    const Word<T>* desired = words<T>(warp, i.operand[3]);
    Word<T> previous[kWarpSize] = {};
    with_memory<kSpace>(warp, i, mask, access, [&](const Located& located, std::uint32_t lanes) {
        for (; lanes != 0; lanes &= lanes - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
            const T old = read_unaligned<T>(located.at(lane));
            const T updated = old == unpack<T>(expected[lane]) ? unpack<T>(desired[lane]) : old;
            std::memcpy(located.at(lane), &updated, sizeof(T));
            previous[lane] = pack<T>(old);
            warp.cta->changes += pack<T>(updated) != previous[lane] ? 1 : 0;
        }
    });
    assign<Word<T>>(warp, i.operand[0], mask, [&](unsigned lane) { return previous[lane]; });
}

template <StateSpace kSpace, class T, bool kReturns>
void report(State& warp, const Decoded& i, std::uint32_t mask) {
    const StateSpace space =
        kSpace == StateSpace::none ? static_cast<StateSpace>(i.immediate & 0xFu) : kSpace;
    MemoryAccess& access = begin_access(warp, mask, space, sizeof(T) * i.elements, true, true);
    compute_addresses(warp, i.operand[Slots<kReturns>::address], i.wide_address, i.offset, access.address);
    check_access<kSpace>(warp, i, mask, access);
}

template <class T, class Op>
Handler choose_space(const Instruction& instruction) {
    const bool returns = instruction.opcode == Opcode::atom;
    switch (instruction.space) {
        case StateSpace::global:
            return returns ? modify<StateSpace::global, T, Op, true>
                           : modify<StateSpace::global, T, Op, false>;
        case StateSpace::shared:
            return returns ? modify<StateSpace::shared, T, Op, true>
                           : modify<StateSpace::shared, T, Op, false>;
        default:
            return returns ? modify<StateSpace::none, T, Op, true> : modify<StateSpace::none, T, Op, false>;
    }
}

template <class T>
Handler choose_report(const Instruction& instruction) {
    const bool returns = instruction.opcode == Opcode::atom;
    switch (instruction.space) {
        case StateSpace::global:
            return returns ? report<StateSpace::global, T, true> : report<StateSpace::global, T, false>;
        case StateSpace::shared:
            return returns ? report<StateSpace::shared, T, true> : report<StateSpace::shared, T, false>;
        default:
            return returns ? report<StateSpace::none, T, true> : report<StateSpace::none, T, false>;
    }
}

template <class T>
Handler choose_swap(const Instruction& instruction) {
    switch (instruction.space) {
        case StateSpace::global:
            return compare_and_swap<StateSpace::global, T>;
        case StateSpace::shared:
            return compare_and_swap<StateSpace::shared, T>;
        default:
            return compare_and_swap<StateSpace::none, T>;
    }
}

Handler choose_add(const Instruction& instruction) {
    switch (instruction.type()) {
        case Type::u32:
        case Type::s32:
            return choose_space<std::uint32_t, AddOp>(instruction);
        case Type::u64:
            return choose_space<std::uint64_t, AddOp>(instruction);
        case Type::f32:
            return instruction.space == StateSpace::shared ? choose_space<float, AddOp>(instruction)
                                                           : choose_space<float, AddFlushed>(instruction);
        case Type::f64:
            return choose_space<double, AddOp>(instruction);
        case Type::f16:
            return choose_space<Half, AddOp>(instruction);
        case Type::f16x2:
            return choose_space<Half2, AddOp>(instruction);
        case Type::bf16:
            return choose_space<Bfloat, AddOp>(instruction);
        case Type::bf16x2:
            return choose_space<Bfloat2, AddOp>(instruction);
        default:
            return nullptr;
    }
}

template <class Op>
Handler choose_extreme(const Instruction& instruction) {
    switch (instruction.type()) {
        case Type::u32:
            return choose_space<std::uint32_t, Op>(instruction);
        case Type::s32:
            return choose_space<std::int32_t, Op>(instruction);
        case Type::u64:
            return choose_space<std::uint64_t, Op>(instruction);
        case Type::s64:
            return choose_space<std::int64_t, Op>(instruction);
        default:
            return nullptr;
    }
}

template <class Op>
Handler choose_bits(const Instruction& instruction) {
    return bits_of(instruction.type()) == 64 ? choose_space<std::uint64_t, Op>(instruction)
                                             : choose_space<std::uint32_t, Op>(instruction);
}

// --- .v2, .v4, .v8: each element by itself; and .b128: a vector of two .b64 that is compared as a whole.

bool is_vector(const Instruction& n) {
    return n.has(Modifier::v2) || n.has(Modifier::v4) || n.has(Modifier::v8);
}

template <bool kMaximum>
struct HalfExtremeOp {
    template <class T>
    T operator()(T old, T b) const {
        return extreme16<false, kMaximum>(old, b);
    }
    template <class T>
    static std::uint32_t packed(std::uint32_t old, std::uint32_t b) {
        const auto half = [=](unsigned shift) {
            return HalfExtremeOp()(T{static_cast<std::uint16_t>(old >> shift)},
                                   T{static_cast<std::uint16_t>(b >> shift)});
        };
        return static_cast<std::uint32_t>(half(16).bits) << 16 | half(0).bits;
    }
    Half2 operator()(Half2 old, Half2 b) const { return {packed<Half>(old.bits, b.bits)}; }
    Bfloat2 operator()(Bfloat2 old, Bfloat2 b) const { return {packed<Bfloat>(old.bits, b.bits)}; }
};

template <class T, class Op, bool kReturns>
void modify_vector(State& warp, const Decoded& i, std::uint32_t mask) {
    constexpr unsigned kMost = 8;
    const unsigned count = i.elements;
    MemoryAccess& access =
        begin_access(warp, mask, static_cast<StateSpace>(i.immediate & 0xFu), sizeof(T) * count, true, true);
    compute_addresses(warp, i.operand[Slots<kReturns>::address], i.wide_address, i.offset, access.address);
    Word<T> previous[kMost][kWarpSize] = {};
    with_memory<StateSpace::none>(warp, i, mask, access, [&](const Located& located, std::uint32_t lanes) {
        for (; lanes != 0; lanes &= lanes - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
            for (unsigned n = 0; n < count; ++n) {
                std::byte* const place = located.at(lane) + n * sizeof(T);
                const Word<T>* b = words<T>(warp, warp.elements[i.operand[Slots<kReturns>::b] + n]);
                const T old = read_unaligned<T>(place), updated = Op()(old, unpack<T>(b[lane]));
                std::memcpy(place, &updated, sizeof(T));
                previous[n][lane] = pack<T>(old);
                warp.cta->changes += pack<T>(updated) != previous[n][lane] ? 1 : 0;
            }
        }
    });
    if constexpr (kReturns) {
        for (unsigned n = 0; n < count; ++n) {
            assign<Word<T>>(warp, warp.elements[i.operand[0] + n], mask,
                            [&](unsigned lane) { return previous[n][lane]; });
        }
    }
}

template <class Op>
Handler choose_half_vector(const Instruction& n) {
    const bool returns = n.opcode == Opcode::atom;
    switch (n.type()) {
        case Type::f16:
            return returns ? modify_vector<Half, Op, true> : modify_vector<Half, Op, false>;
        case Type::bf16:
            return returns ? modify_vector<Bfloat, Op, true> : modify_vector<Bfloat, Op, false>;
        case Type::f16x2:
            return returns ? modify_vector<Half2, Op, true> : modify_vector<Half2, Op, false>;
        case Type::bf16x2:
            return returns ? modify_vector<Bfloat2, Op, true> : modify_vector<Bfloat2, Op, false>;
        default:
            return nullptr;
    }
}

Handler choose_vector(const Instruction& n) {
    if (n.type() == Type::f32) {
        return n.opcode == Opcode::atom ? modify_vector<float, AddFlushed, true>
                                        : modify_vector<float, AddFlushed, false>;
    }
    if (n.has(Modifier::min)) return choose_half_vector<HalfExtremeOp<false>>(n);
    if (n.has(Modifier::max)) return choose_half_vector<HalfExtremeOp<true>>(n);
    return choose_half_vector<AddOp>(n);
}

// exch and cas of .b128. Without kCompare the new value is operand 2.
template <bool kCompare>
void swap_wide(State& warp, const Decoded& i, std::uint32_t mask) {
    using Pair = std::array<std::uint64_t, 2>;
    MemoryAccess& access =
        begin_access(warp, mask, static_cast<StateSpace>(i.immediate & 0xFu), sizeof(Pair), true, true);
    compute_addresses(warp, i.operand[1], i.wide_address, i.offset, access.address);
    const auto read = [&](std::uint32_t operand, unsigned lane) {
        return Pair{words<std::uint64_t>(warp, warp.elements[operand])[lane],
                    words<std::uint64_t>(warp, warp.elements[operand + 1])[lane]};
    };
    Pair previous[kWarpSize] = {};
    with_memory<StateSpace::none>(warp, i, mask, access, [&](const Located& located, std::uint32_t lanes) {
        for (; lanes != 0; lanes &= lanes - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
            const Pair old = read_unaligned<Pair>(located.at(lane));
            const Pair desired = read(i.operand[kCompare ? 3 : 2], lane);
            const Pair updated = !kCompare || old == read(i.operand[2], lane) ? desired : old;
            std::memcpy(located.at(lane), &updated, sizeof(Pair));
            previous[lane] = old;
            warp.cta->changes += updated != old ? 1 : 0;
        }
    });
    for (unsigned n = 0; n < 2; ++n) {
        assign<std::uint64_t>(warp, warp.elements[i.operand[0] + n], mask,
                              [&](unsigned lane) { return previous[lane][n]; });
    }
}

Handler choose_wide_swap(const Instruction& n) {
    return n.has(Modifier::cas) ? swap_wide<true> : swap_wide<false>;
}

}  // namespace

Handler select_atomic(const Instruction& n, bool evaluate) {
    if (!evaluate) {
        const unsigned bits = n.type() == Type::b128 ? 64 : bits_of(n.type());
        return with_width(bits, [&](auto tag) -> Handler { return choose_report<decltype(tag)>(n); });
    }
    if (n.type() == Type::b128) return choose_wide_swap(n);
    if (is_vector(n)) return choose_vector(n);
    if (n.has(Modifier::add)) return choose_add(n);
    if (n.has(Modifier::min)) return choose_extreme<MinimumOp>(n);
    if (n.has(Modifier::max)) return choose_extreme<MaximumOp>(n);
    if (n.has(Modifier::and_)) return choose_bits<AndOp>(n);
    if (n.has(Modifier::or_)) return choose_bits<OrOp>(n);
    if (n.has(Modifier::xor_)) return choose_bits<ExclusiveOrOp>(n);
    if (n.has(Modifier::exch)) return choose_bits<ExchangeOp>(n);
    if (n.has(Modifier::inc)) return choose_space<std::uint32_t, IncrementOp>(n);
    if (n.has(Modifier::dec)) return choose_space<std::uint32_t, DecrementOp>(n);
    if (n.has(Modifier::cas)) {
        return with_width(bits_of(n.type()),
                          [&](auto tag) -> Handler { return choose_swap<decltype(tag)>(n); });
    }
    return nullptr;
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
