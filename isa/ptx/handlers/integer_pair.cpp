// Two 16-bit integers in a word, and minima and maxima that are not negative (.relu): add, min, max of sm_90.
// Source: PTX ISA 9.0, "Integer Arithmetic Instructions: add, min, max".
#include <algorithm>

#include "isa/ptx/handlers/lanes.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

struct Sum {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(a + b);
    }
};
struct Minimum {
    template <class T>
    T operator()(T a, T b) const {
        return std::min(a, b);
    }
};
struct Maximum {
    template <class T>
    T operator()(T a, T b) const {
        return std::max(a, b);
    }
};

template <class Op>
struct NotNegative {
    template <class T>
    T operator()(T a, T b) const {
        return std::max<T>(Op()(a, b), 0);
    }
};

template <class Op, class Half>
struct Pairwise {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
        const Half low = Op()(static_cast<Half>(a), static_cast<Half>(b));
        const Half high = Op()(static_cast<Half>(a >> 16), static_cast<Half>(b >> 16));
        return static_cast<std::uint32_t>(static_cast<std::uint16_t>(low)) |
               static_cast<std::uint32_t>(static_cast<std::uint16_t>(high)) << 16;
    }
};

template <class Op>
Handler choose(const Instruction& instruction) {
    using std::int32_t, std::uint32_t, std::int16_t, std::uint16_t;
    const bool relu = instruction.has(Modifier::relu);
    switch (instruction.type()) {
        case Type::s32:
            return relu ? binary<NotNegative<Op>, int32_t, int32_t, int32_t> : nullptr;
        case Type::u16x2:
            return binary<Pairwise<Op, uint16_t>, uint32_t, uint32_t, uint32_t>;
        case Type::s16x2:
            return relu ? binary<Pairwise<NotNegative<Op>, int16_t>, uint32_t, uint32_t, uint32_t>
                        : binary<Pairwise<Op, int16_t>, uint32_t, uint32_t, uint32_t>;
        default:
            return nullptr;
    }
}

}  // namespace

Handler select_integer_pair(const Instruction& instruction) {
    switch (instruction.opcode) {
        case Opcode::add:
            return choose<Sum>(instruction);
        case Opcode::min:
            return choose<Minimum>(instruction);
        case Opcode::max:
            return choose<Maximum>(instruction);
        default:
            return nullptr;
    }
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
