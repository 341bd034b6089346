// Loops over the 32 lanes of a warp. Included by the handler files only: they are compiled once per
// instruction set of the host (HEDDLE_PTX_VARIANT), so nothing here may have external linkage outside of that
// namespace.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "isa/ptx/machine/machine.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {

/// 16-bit floating-point numbers as bits.
struct Half {
    std::uint16_t bits;  ///< fp16
};
struct Bfloat {
    std::uint16_t bits;  ///< bf16
};
struct Half2 {
    std::uint32_t bits;  ///< .f16x2, the first in the low half
};
struct Bfloat2 {
    std::uint32_t bits;  ///< .bf16x2, the first in the low half
};

/// .f32x2; the first in the low half of 64 bits.
struct Single2 {
    float low, high;  ///< two fp32
};

/// A row holds 32-bit or 64-bit words.
template <class T>
using Word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// Between a word of a row and T; words of types below 32 bits are extended with zeros.
template <class T>
inline T unpack(Word<T> word) {
    if constexpr (sizeof(T) < 4) {
        using Narrow = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
        return std::bit_cast<T>(static_cast<Narrow>(word));
    } else {
        return std::bit_cast<T>(word);
    }
}

/// See unpack().
template <class T>
inline Word<T> pack(T value) {
    if constexpr (sizeof(T) < 4) {
        using Narrow = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
        return std::bit_cast<Narrow>(value);
    } else {
        return std::bit_cast<Word<T>>(value);
    }
}

/// Short names for what every handler takes.
using State = Warp::State;
using Decoded = DecodedInstruction;

/// The row of an operand: bytes, words of T by lane, or the mask of lanes whose predicate is true.
inline std::byte* row(State& warp, std::uint32_t operand) {
    return warp.bank[operand >> 31] + (operand & ~kConstantBank);
}
template <class T>
inline Word<T>* words(State& warp, std::uint32_t operand) {
    return reinterpret_cast<Word<T>*>(row(warp, operand));
}
inline std::uint32_t& predicate(State& warp, std::uint32_t operand) {
    return *reinterpret_cast<std::uint32_t*>(row(warp, operand));
}

/// destination[lane] = value(lane) for the lanes of `mask`. `value` must be harmless in every lane. The rows
/// read may be the row written, so there is no dependence between lanes.
template <class T, class Value>
inline void assign(State& warp, std::uint32_t operand, std::uint32_t mask, Value value) {
    Word<T>* destination = words<T>(warp, operand);
    if (mask == kAllLanes) {
#pragma GCC ivdep
        for (unsigned lane = 0; lane < kWarpSize; ++lane) destination[lane] = pack<T>(value(lane));
    } else {
#pragma GCC ivdep
        for (unsigned lane = 0; lane < kWarpSize; ++lane) {
            const Word<T> result = pack<T>(value(lane));
            destination[lane] = (mask >> lane & 1u) != 0 ? result : destination[lane];
        }
    }
}

/// The mask of lanes for which `condition(lane)` holds.
template <class Condition>
inline std::uint32_t collect(Condition condition) {
    std::uint32_t mask = 0;
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
        mask |= static_cast<std::uint32_t>(condition(lane)) << lane;
    return mask;
}

/// Sets the predicate to `value` in the lanes of `mask`; does nothing where the instruction has no such
/// operand.
inline void assign_predicate(State& warp, std::uint32_t operand, std::uint32_t mask, std::uint32_t value) {
    if (operand == kAbsent) return;
    std::uint32_t& word = predicate(warp, operand);
    word = (word & ~mask) | (value & mask);
}

/// d = op(a), op(a, b), op(a, b, c): D is what op returns, the others are its arguments' types.
template <class Op, class D, class A>
void unary(State& warp, const Decoded& i, std::uint32_t mask) {
    const Word<A>* a = words<A>(warp, i.operand[1]);
    assign<D>(warp, i.operand[0], mask,
              [=](unsigned lane) { return static_cast<D>(Op()(unpack<A>(a[lane]))); });
}

/// See unary().
template <class Op, class D, class A, class B>
void binary(State& warp, const Decoded& i, std::uint32_t mask) {
    const Word<A>* a = words<A>(warp, i.operand[1]);
    const Word<B>* b = words<B>(warp, i.operand[2]);
    assign<D>(warp, i.operand[0], mask,
              [=](unsigned lane) { return static_cast<D>(Op()(unpack<A>(a[lane]), unpack<B>(b[lane]))); });
}

/// See unary().
template <class Op, class D, class A, class B, class C>
void ternary(State& warp, const Decoded& i, std::uint32_t mask) {
    const Word<A>* a = words<A>(warp, i.operand[1]);
    const Word<B>* b = words<B>(warp, i.operand[2]);
    const Word<C>* c = words<C>(warp, i.operand[3]);
    assign<D>(warp, i.operand[0], mask, [=](unsigned lane) {
        return static_cast<D>(Op()(unpack<A>(a[lane]), unpack<B>(b[lane]), unpack<C>(c[lane])));
    });
}

/// choose(T{}) for the host type of an integer or untyped PTX type; nullptr for others.
template <class Choose>
Handler with_integer(Type type, Choose choose) {
    switch (type) {
        case Type::b16:
        case Type::u16:
            return choose(std::uint16_t{});
        case Type::b32:
        case Type::u32:
            return choose(std::uint32_t{});
        case Type::b64:
        case Type::u64:
            return choose(std::uint64_t{});
        case Type::s16:
            return choose(std::int16_t{});
        case Type::s32:
            return choose(std::int32_t{});
        case Type::s64:
            return choose(std::int64_t{});
        default:
            return nullptr;
    }
}

/// choose(T{}) for untyped words by width.
template <class Choose>
Handler with_width(unsigned bits, Choose choose) {
    switch (bits) {
        case 16:
            return choose(std::uint16_t{});
        case 32:
            return choose(std::uint32_t{});
        case 64:
            return choose(std::uint64_t{});
        default:
            return nullptr;
    }
}

/// Selectors, one per family: the handler of an instruction of that family, or nullptr when the combination
/// has none.
Handler select_integer(const Instruction& instruction);
Handler select_integer_pair(const Instruction& instruction);  ///< .u16x2, .s16x2, .relu.s32
Handler select_video(const Instruction& instruction);         ///< vabsdiff2, vabsdiff4
Handler select_logic(const Instruction& instruction);
Handler select_comparison(const Instruction& instruction);
Handler select_float(const Instruction& instruction);
Handler select_rounding(
    const Instruction& instruction);  ///< f32 and f64 with a rounding other than nearest even
Handler select_special_function(const Instruction& instruction);
Handler select_half(const Instruction& instruction);
Handler select_conversion(const Instruction& instruction, unsigned destination_bits);
Handler select_move(const Instruction& instruction);
Handler select_policy(const Instruction& instruction);
Handler select_memory(const Instruction& instruction, unsigned register_bits, bool evaluate);
Handler select_atomic(const Instruction& instruction, bool evaluate);
Handler select_matrix(const Instruction& instruction, bool evaluate);
Handler select_warp(const Instruction& instruction, bool evaluate);
Handler select_cluster(const Instruction& instruction);
Handler select_warpgroup(const Instruction& instruction);  ///< wgmma.mma_async
Handler select_machine_form(const Instruction& instruction);  ///< what is_machine_form() names

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
