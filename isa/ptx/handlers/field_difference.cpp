// vabsdiff2, vabsdiff4: absolute differences of the bytes or halves of two words, or (.add) their sum plus c.
// Of the forms of the manual those that CUDA's intrinsics print: no selectors, masks or saturation. Source:
// PTX ISA 9.0, "SIMD Video Instructions".
#include "isa/ptx/handlers/lanes.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

template <unsigned kBits, bool kSigned>
std::int32_t field(std::uint32_t word, unsigned n) {
    const std::uint32_t top = word << (32 - kBits * (n + 1));
    if constexpr (kSigned) {
        return static_cast<std::int32_t>(top) >> (32 - kBits);
    } else {
        return static_cast<std::int32_t>(top >> (32 - kBits));
    }
}

template <unsigned kBits, bool kSignedA, bool kSignedB, bool kAdd>
struct Difference {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
        constexpr std::uint32_t mask = (1u << kBits) - 1;
        std::uint32_t result = kAdd ? c : 0;
        for (unsigned n = 0; n < 32 / kBits; ++n) {
            const std::int32_t difference = field<kBits, kSignedA>(a, n) - field<kBits, kSignedB>(b, n);
            const auto magnitude = static_cast<std::uint32_t>(difference < 0 ? -difference : difference);
            result += kAdd ? magnitude : (magnitude & mask) << (kBits * n);
        }
        return result;
    }
};

template <unsigned kBits, bool kSignedA, bool kSignedB>
Handler choose_sum(bool add) {
    using W = std::uint32_t;
    return add ? ternary<Difference<kBits, kSignedA, kSignedB, true>, W, W, W, W>
               : ternary<Difference<kBits, kSignedA, kSignedB, false>, W, W, W, W>;
}

template <unsigned kBits>
Handler choose(const Instruction& n) {
    const bool add = n.has(Modifier::add), b_signed = n.type(2) == Type::s32;
    if (n.type(1) == Type::s32) {
        return b_signed ? choose_sum<kBits, true, true>(add) : choose_sum<kBits, true, false>(add);
    }
    return b_signed ? choose_sum<kBits, false, true>(add) : choose_sum<kBits, false, false>(add);
}

}  // namespace

Handler select_field_difference(const Instruction& instruction) {
    return instruction.opcode == Opcode::vabsdiff2 ? choose<16>(instruction) : choose<8>(instruction);
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
