// mov, cvta and reads of the clock.
#include "isa/ptx/handlers/lanes.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

struct Identity {
    template <class T>
    T operator()(T a) const {
        return a;
    }
};

void move_predicate(State& warp, const Decoded& i, std::uint32_t mask) {
    assign_predicate(warp, i.operand[0], mask, predicate(warp, i.operand[1]));
}

// mov.bN d, {a, b, ...}: element 0 in the low bits. Part is the type of an element.
template <class Whole, class Part>
void pack_vector(State& warp, const Decoded& i, std::uint32_t mask) {
    constexpr unsigned count = sizeof(Whole) / sizeof(Part);
    const std::uint32_t* parts[count];
    for (unsigned n = 0; n < count; ++n) parts[n] = words<Part>(warp, warp.elements[i.operand[1] + n]);
    assign<Whole>(warp, i.operand[0], mask, [&](unsigned lane) {
        Whole value = 0;
        for (unsigned n = 0; n < count; ++n)
            value |= static_cast<Whole>(Whole{static_cast<Part>(parts[n][lane])} << (8 * sizeof(Part) * n));
        return value;
    });
}

template <class Whole, class Part>
void unpack_vector(State& warp, const Decoded& i, std::uint32_t mask) {
    constexpr unsigned count = sizeof(Whole) / sizeof(Part);
    // A destination may be the source: of 16-bit parts of a 32-bit register, whose rows are of one size.
    Word<Whole> source[kWarpSize];
    for (unsigned lane = 0; lane < kWarpSize; ++lane) source[lane] = words<Whole>(warp, i.operand[1])[lane];
    for (unsigned n = 0; n < count; ++n) {
        assign<Part>(warp, warp.elements[i.operand[0] + n], mask, [&](unsigned lane) {
            return static_cast<Part>(source[lane] >> (8 * sizeof(Part) * n));
        });
    }
}

// mov.b128: registers of 128 bits are two of 64.
void move_halves(State& warp, const Decoded& i, std::uint32_t mask) {
    std::uint64_t source[2][kWarpSize];
    for (unsigned n = 0; n < 2; ++n) {
        const std::uint64_t* from = words<std::uint64_t>(warp, warp.elements[i.operand[1] + n]);
        for (unsigned lane = 0; lane < kWarpSize; ++lane) source[n][lane] = from[lane];
    }
    for (unsigned n = 0; n < 2; ++n) {
        assign<std::uint64_t>(warp, warp.elements[i.operand[0] + n], mask,
                              [&](unsigned lane) { return source[n][lane]; });
    }
}

void add_offset(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint64_t* a = words<std::uint64_t>(warp, i.operand[1]);
    const auto offset = static_cast<std::uint64_t>(i.offset);
    assign<std::uint64_t>(warp, i.operand[0], mask, [=](unsigned lane) { return a[lane] + offset; });
}

template <class T, unsigned kShift>
void read_clock(State& warp, const Decoded& i, std::uint32_t mask) {
    const T value = static_cast<T>(warp.clock >> kShift);
    assign<T>(warp, i.operand[0], mask, [=](unsigned) { return value; });
}

// %globaltimer
template <class T, unsigned kShift>
void read_timer(State& warp, const Decoded& i, std::uint32_t mask) {
    const LaunchContext& launch = warp.cta->launch;
    const auto time = static_cast<std::uint64_t>(
        launch.start_nanoseconds + static_cast<double>(warp.clock) * launch.nanoseconds_per_cycle);
    const T value = static_cast<T>(time >> kShift);
    assign<T>(warp, i.operand[0], mask, [=](unsigned) { return value; });
}

Handler choose_clock(const Instruction& instruction) {
    switch (static_cast<SpecialRegister>(instruction.operands[1].index)) {
        case SpecialRegister::clock:
            return read_clock<std::uint32_t, 0>;
        case SpecialRegister::clock_hi:
            return read_clock<std::uint32_t, 32>;
        case SpecialRegister::clock64:
            return read_clock<std::uint64_t, 0>;
        case SpecialRegister::globaltimer:
            return read_timer<std::uint64_t, 0>;
        case SpecialRegister::globaltimer_lo:
            return read_timer<std::uint32_t, 0>;
        case SpecialRegister::globaltimer_hi:
            return read_timer<std::uint32_t, 32>;
        default:
            return nullptr;
    }
}

Handler choose_vector(const Instruction& instruction) {
    const bool unpacks = instruction.operands[0].kind == Operand::Kind::vector;
    const std::size_t count = instruction.operands[unpacks ? 0 : 1].elements.size();
    if (bits_of(instruction.type()) == 128) return move_halves;
    if (bits_of(instruction.type()) == 16)
        return unpacks ? unpack_vector<std::uint16_t, std::uint8_t>
                       : pack_vector<std::uint16_t, std::uint8_t>;
    if (bits_of(instruction.type()) == 32 && count == 4)
        return unpacks ? unpack_vector<std::uint32_t, std::uint8_t>
                       : pack_vector<std::uint32_t, std::uint8_t>;
    if (bits_of(instruction.type()) == 32) {
        return unpacks ? unpack_vector<std::uint32_t, std::uint16_t>
                       : pack_vector<std::uint32_t, std::uint16_t>;
    }
    if (count == 4) {
        return unpacks ? unpack_vector<std::uint64_t, std::uint16_t>
                       : pack_vector<std::uint64_t, std::uint16_t>;
    }
    return unpacks ? unpack_vector<std::uint64_t, std::uint32_t> : pack_vector<std::uint64_t, std::uint32_t>;
}

}  // namespace

Handler select_move(const Instruction& instruction) {
    if (instruction.opcode == Opcode::cvta) return bits_of(instruction.type()) == 64 ? add_offset : nullptr;
    const Operand &destination = instruction.operands[0], &source = instruction.operands[1];
    if (destination.kind == Operand::Kind::vector || source.kind == Operand::Kind::vector) {
        return choose_vector(instruction);
    }
    if (instruction.type() == Type::pred) return move_predicate;
    if (source.kind == Operand::Kind::special) {
        if (const Handler clock = choose_clock(instruction)) return clock;
    }
    return with_width(bits_of(instruction.type()), [](auto tag) -> Handler {
        using T = decltype(tag);
        return unary<Identity, T, T>;
    });
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
