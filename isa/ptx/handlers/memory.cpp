// ld, st, ldu, prefetch, cp.async.
#include "isa/ptx/handlers/memory_access.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

// DecodedInstruction::immediate of every access: the state space, for spaces known at run time only.
StateSpace space_of(const Decoded& i) {
    return static_cast<StateSpace>(i.immediate & 0xFu);
}

template <class Register, class T>
Register extend(T value) {
    if constexpr (std::is_signed_v<T>)
        return static_cast<Register>(static_cast<std::make_signed_t<Register>>(value));
    else
        return static_cast<Register>(value);
}

template <class T, class Register, unsigned kCount>
void read_rows(State& warp, const Decoded& i, const Located& located, std::uint32_t mask) {
    for (unsigned n = 0; n < kCount; ++n) {
        const std::uint32_t operand = kCount == 1 ? i.operand[0] : warp.elements[i.operand[0] + n];
        Word<Register>* destination = words<Register>(warp, operand);
        if (mask == kAllLanes) {
            if (located.contiguous) {
                const std::byte* from = located.at(0) + n * sizeof(T);
                if constexpr (kCount == 1 && sizeof(T) == sizeof(Word<Register>)) {
                    std::memcpy(destination, from, kWarpSize * sizeof(T));
                } else {
                    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
                        destination[lane] = pack<Register>(
                            extend<Register>(read_unaligned<T>(from + lane * kCount * sizeof(T))));
                    }
                }
            } else {
                for (unsigned lane = 0; lane < kWarpSize; ++lane) {
                    destination[lane] =
                        pack<Register>(extend<Register>(read_unaligned<T>(located.at(lane) + n * sizeof(T))));
                }
            }
            continue;
        }
        for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(rest));
            destination[lane] =
                pack<Register>(extend<Register>(read_unaligned<T>(located.at(lane) + n * sizeof(T))));
        }
    }
}

template <StateSpace kSpace, class T, class Register, unsigned kCount>
void load(State& warp, const Decoded& i, std::uint32_t mask) {
    const StateSpace space = kSpace == StateSpace::none ? space_of(i) : kSpace;
    MemoryAccess& access = begin_access(warp, mask, space, sizeof(T) * kCount, false);
    compute_addresses(warp, i.operand[1], i.wide_address, i.offset, access.address);
    with_memory<kSpace>(warp, i, mask, access, [&](const Located& located, std::uint32_t lanes) {
        read_rows<T, Register, kCount>(warp, i, located, lanes);
    });
}

template <class T, class Register, unsigned kCount>
void write_rows(State& warp, const Decoded& i, const Located& located, std::uint32_t mask) {
    for (unsigned n = 0; n < kCount; ++n) {
        const std::uint32_t operand = kCount == 1 ? i.operand[1] : warp.elements[i.operand[1] + n];
        const Word<Register>* source = words<Register>(warp, operand);
        if (mask == kAllLanes && located.contiguous) {
            std::byte* to = located.at(0) + n * sizeof(T);
            if constexpr (kCount == 1 && sizeof(T) == sizeof(Word<Register>)) {
                std::memcpy(to, source, kWarpSize * sizeof(T));
            } else {
                for (unsigned lane = 0; lane < kWarpSize; ++lane) {
                    const T value = static_cast<T>(source[lane]);
                    std::memcpy(to + lane * kCount * sizeof(T), &value, sizeof(T));
                }
            }
            continue;
        }
        for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(rest));
            const T value = static_cast<T>(source[lane]);
            std::memcpy(located.at(lane) + n * sizeof(T), &value, sizeof(T));
        }
    }
}

template <StateSpace kSpace, class T, class Register, unsigned kCount>
void store(State& warp, const Decoded& i, std::uint32_t mask) {
    const StateSpace space = kSpace == StateSpace::none ? space_of(i) : kSpace;
    MemoryAccess& access = begin_access(warp, mask, space, sizeof(T) * kCount, true);
    compute_addresses(warp, i.operand[0], i.wide_address, i.offset, access.address);
    with_memory<kSpace>(warp, i, mask, access, [&](const Located& located, std::uint32_t lanes) {
        write_rows<T, Register, kCount>(warp, i, located, lanes);
    });
}

/// Timing mode, nothing depends on the value: the access alone. The address is operand 1 of loads, 0 of
/// stores.
template <StateSpace kSpace, bool kWrite, unsigned kBytes>
void report(State& warp, const Decoded& i, std::uint32_t mask) {
    const StateSpace space = kSpace == StateSpace::none ? space_of(i) : kSpace;
    MemoryAccess& access = begin_access(warp, mask, space, kBytes, kWrite);
    compute_addresses(warp, i.operand[kWrite ? 0 : 1], i.wide_address, i.offset, access.address);
    check_access<kSpace>(warp, i, mask, access);
}

// ld.param with a constant address: the same value in every lane. `offset` is into the parameter block.
template <class T, class Register>
void load_parameter(State& warp, const Decoded& i, std::uint32_t mask) {
    for (unsigned n = 0; n < i.elements; ++n) {
        const std::uint32_t operand = i.elements == 1 ? i.operand[0] : warp.elements[i.operand[0] + n];
        const std::byte* from = warp.cta->launch.parameters.data() + i.offset + n * sizeof(T);
        const Register value = extend<Register>(read_unaligned<T>(from));
        assign<Register>(warp, operand, mask, [=](unsigned) { return value; });
    }
}

template <class T, class Choose>
Handler with_register(unsigned bits, Choose choose) {
    if (bits == 64) return choose(std::uint64_t{});
    if constexpr (sizeof(T) <= 4) {
        if (bits == 32) return choose(std::uint32_t{});
    }
    if constexpr (sizeof(T) <= 2) {
        if (bits == 16) return choose(std::uint16_t{});
    }
    return nullptr;
}

/// choose(T{}) for the type in memory: its width and, when the register is wider, its sign.
template <class Choose>
Handler with_element(Type type, unsigned register_bits, Choose choose) {
    const bool sign = is_signed(type) && bits_of(type) < register_bits;
    switch (bits_of(type)) {
        case 8:
            return sign ? choose(std::int8_t{}) : choose(std::uint8_t{});
        case 16:
            return sign ? choose(std::int16_t{}) : choose(std::uint16_t{});
        case 32:
            return sign ? choose(std::int32_t{}) : choose(std::uint32_t{});
        case 64:
            return choose(std::uint64_t{});
        default:
            return nullptr;
    }
}

// .b128 is loaded and stored as two of 64 bits.
Type element_type(const Instruction& instruction) {
    return instruction.type() == Type::b128 ? Type::b64 : instruction.type();
}

unsigned vector_size(const Instruction& instruction) {
    if (instruction.type() == Type::b128) return 2;
    if (instruction.has(Modifier::v8)) return 8;
    return instruction.has(Modifier::v4) ? 4 : instruction.has(Modifier::v2) ? 2 : 1;
}

template <StateSpace kSpace>
Handler choose_load(const Instruction& instruction, unsigned register_bits) {
    return with_element(element_type(instruction), register_bits, [&](auto element) -> Handler {
        using T = decltype(element);
        return with_register<T>(register_bits, [&](auto tag) -> Handler {
            using Register = decltype(tag);
            switch (vector_size(instruction)) {
                case 1:
                    return load<kSpace, T, Register, 1>;
                case 2:
                    return load<kSpace, T, Register, 2>;
                case 8:
                    if constexpr (sizeof(T) <= 2)
                        return load<kSpace, T, Register, 8>;
                    else
                        return nullptr;
                default:
                    if constexpr (sizeof(T) <= 4)
                        return load<kSpace, T, Register, 4>;
                    else
                        return nullptr;
            }
        });
    });
}

template <StateSpace kSpace>
Handler choose_store(const Instruction& instruction, unsigned register_bits) {
    const unsigned bits = bits_of(element_type(instruction));
    return with_width(bits == 8 ? 16 : bits, [&](auto element) -> Handler {
        using Wide = decltype(element);
        const bool byte = bits == 8;
        return with_register<Wide>(std::max(register_bits, 8u * static_cast<unsigned>(sizeof(Wide))),
                                   [&](auto tag) -> Handler {
                                       using Register = decltype(tag);
                                       const unsigned count = vector_size(instruction);
                                       if constexpr (sizeof(Wide) == 2) {
                                           if (byte) {
                                               return count == 1   ? store<kSpace, std::uint8_t, Register, 1>
                                                      : count == 2 ? store<kSpace, std::uint8_t, Register, 2>
                                                      : count == 4 ? store<kSpace, std::uint8_t, Register, 4>
                                                                   : store<kSpace, std::uint8_t, Register, 8>;
                                           }
                                           if (count == 8) return store<kSpace, Wide, Register, 8>;
                                       }
                                       if (count == 1) return store<kSpace, Wide, Register, 1>;
                                       if (count == 2) return store<kSpace, Wide, Register, 2>;
                                       if constexpr (sizeof(Wide) <= 4)
                                           return count == 4 ? store<kSpace, Wide, Register, 4> : nullptr;
                                       else
                                           return nullptr;
                                   });
    });
}

template <StateSpace kSpace, bool kWrite>
Handler choose_report(const Instruction& instruction) {
    switch (bytes_of(element_type(instruction)) * vector_size(instruction)) {
        case 1:
            return report<kSpace, kWrite, 1>;
        case 2:
            return report<kSpace, kWrite, 2>;
        case 4:
            return report<kSpace, kWrite, 4>;
        case 8:
            return report<kSpace, kWrite, 8>;
        case 16:
            return report<kSpace, kWrite, 16>;
        default:
            return nullptr;
    }
}

template <StateSpace kSpace>
Handler choose_access(const Instruction& instruction, unsigned register_bits, bool evaluate) {
    const bool writes = instruction.opcode == Opcode::st;
    if (!evaluate) {
        return writes ? choose_report<kSpace, true>(instruction) : choose_report<kSpace, false>(instruction);
    }
    return writes ? choose_store<kSpace>(instruction, register_bits)
                  : choose_load<kSpace>(instruction, register_bits);
}

Handler choose_parameter(const Instruction& instruction, unsigned register_bits) {
    return with_element(element_type(instruction), register_bits, [&](auto element) -> Handler {
        using T = decltype(element);
        return with_register<T>(register_bits,
                                [](auto tag) -> Handler { return load_parameter<T, decltype(tag)>; });
    });
}

// A prefetch is a hint: addresses outside of every buffer are no error.
void prefetch(State& warp, const Decoded& i, std::uint32_t mask) {
    MemoryAccess& access = begin_access(warp, mask, StateSpace::global, 1, false);
    compute_addresses(warp, i.operand[0], i.wide_address, i.offset, access.address);
}

// cp.async: operands are the shared address, the global address and the source size. `immediate` holds the
// bytes in bits 8 and up, `target` is the offset of the shared address. The copy is done at once; a program
// that reads the bytes before it has waited for them sees them too early, a correct program cannot tell.
// kIgnores: a predicate in place of the size: lanes in which it is true read nothing.
template <bool kEvaluate, bool kIgnores>
void copy_async(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t bytes = i.immediate >> 8;
    std::uint32_t reading = mask;
    const bool sized = !kIgnores && i.operand[2] != kAbsent;
    const std::uint32_t* size = sized ? words<std::uint32_t>(warp, i.operand[2]) : nullptr;
    if (kIgnores) reading &= ~(predicate(warp, i.operand[2]) ^ (i.negated ? kAllLanes : 0u));
    if (size != nullptr) reading = mask & collect([=](unsigned lane) { return size[lane] != 0; });

    // The shared side first: its addresses pass through the same record.
    MemoryAccess& access = begin_access(warp, mask, StateSpace::shared, bytes, true);
    compute_addresses(warp, i.operand[0], i.wide_shared_address, static_cast<std::int32_t>(i.target),
                      access.address);
    std::array<std::uint64_t, kWarpSize> scratch;
    const Located shared = locate<StateSpace::shared, kEvaluate>(warp, i, mask, access, scratch);
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        access.shared_address[lane] = static_cast<std::uint32_t>(access.address[lane]);
    }
    begin_access(warp, reading, StateSpace::global, bytes, false);
    access.zero_filled_lanes = mask & ~reading;
    compute_addresses(warp, i.operand[1], i.wide_address, i.offset, access.address);
    if constexpr (kEvaluate) {
        for (std::uint32_t rest = mask & ~reading; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(rest));
            std::memset(reinterpret_cast<std::byte*>(shared.base) + access.shared_address[lane], 0, bytes);
        }
    }
    if (reading == 0) return;
    if constexpr (!kEvaluate) {
        locate<StateSpace::global, false>(warp, i, reading, access, scratch);
    } else {
        with_memory<StateSpace::global>(
            warp, i, reading, access, [&](const Located& from, std::uint32_t lanes) {
                for (; lanes != 0; lanes &= lanes - 1) {
                    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
                    std::byte* to = reinterpret_cast<std::byte*>(shared.base) + access.shared_address[lane];
                    const std::uint32_t count = size == nullptr ? bytes : std::min(size[lane], bytes);
                    std::memcpy(to, from.at(lane), count);
                    std::memset(to + count, 0, bytes - count);
                }
            });
    }
}

}  // namespace

Handler select_memory(const Instruction& instruction, unsigned register_bits, bool evaluate) {
    if (instruction.opcode == Opcode::prefetch || instruction.opcode == Opcode::prefetchu) return prefetch;
    if (instruction.opcode == Opcode::cp) {
        if (instruction.operands[3].type == Type::pred)
            return evaluate ? copy_async<true, true> : copy_async<false, true>;
        return evaluate ? copy_async<true, false> : copy_async<false, false>;
    }
    const StateSpace space = instruction.opcode == Opcode::ldu && instruction.space == StateSpace::none
                                 ? StateSpace::generic
                                 : instruction.space;
    switch (space) {
        case StateSpace::global:
            return choose_access<StateSpace::global>(instruction, register_bits, evaluate);
        case StateSpace::shared:
            return choose_access<StateSpace::shared>(instruction, register_bits, evaluate);
        case StateSpace::parameter:
            if (instruction.operands[1].base == Operand::Kind::parameter) {
                return evaluate ? choose_parameter(instruction, register_bits) : nullptr;
            }
            [[fallthrough]];
        default:
            return choose_access<StateSpace::none>(instruction, register_bits, evaluate);
    }
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
