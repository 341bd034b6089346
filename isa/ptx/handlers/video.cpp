// Video instructions, scalar and SIMD, lane by lane as the manual's pseudo code says (PTX ISA 9.0, "Scalar
// Video Instructions", "SIMD Video Instructions"). DecodedInstruction::target holds the operation, `offset`
// the selectors, see video_instruction.h.
//
// Where the manual's 33-bit intermediate differs from what ptxas 13.0 emits for lack of such hardware (.min
// and .max of a sum that left its 32 bits), the manual counts.
#include <algorithm>
#include <limits>

#include "isa/ptx/handlers/lanes.h"
#include "isa/ptx/video_instruction.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

__extension__ typedef __int128 Int128;

/// The low `bits` of `value`, extended by sign or zeros.
std::int64_t extended(std::uint64_t value, unsigned bits, bool is_signed) {
    const std::uint64_t top = value << (64 - bits);
    return is_signed ? static_cast<std::int64_t>(top) >> (64 - bits)
                     : static_cast<std::int64_t>(top >> (64 - bits));
}

struct Range {
    std::int64_t low, high;
};
Range range_of(unsigned bits, bool is_signed) {
    const std::int64_t span = std::int64_t{1} << bits;
    return is_signed ? Range{-span / 2, span / 2 - 1} : Range{0, span - 1};
}

bool holds(VideoComparison comparison, std::int64_t a, std::int64_t b) {
    switch (comparison) {
        case VideoComparison::equal:
            return a == b;
        case VideoComparison::not_equal:
            return a != b;
        case VideoComparison::less:
            return a < b;
        case VideoComparison::less_equal:
            return a <= b;
        case VideoComparison::greater:
            return a > b;
        case VideoComparison::greater_equal:
            return a >= b;
    }
    return false;
}

// What one part of a and b give, exact. Shifts to the left may need 65 bits.
Int128 combine(const VideoDetails& details, std::int64_t a, std::int64_t b) {
    switch (details.operation) {
        case VideoOperation::subtract:
            return a - b;
        case VideoOperation::absolute_difference:
            return a < b ? b - a : a - b;
        case VideoOperation::minimum:
            return std::min(a, b);
        case VideoOperation::maximum:
            return std::max(a, b);
        case VideoOperation::shift_left:
            return Int128{a} * (Int128{1} << (details.wraps ? b & 31 : std::min<std::int64_t>(b, 32)));
        case VideoOperation::shift_right:
            return a >> (details.wraps ? b & 31 : std::min<std::int64_t>(b, 32));
        case VideoOperation::compare:
            return holds(details.comparison, a, b) ? 1 : 0;
        case VideoOperation::average:
            return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
        default:
            return a + b;
    }
}

// --- scalar: one part of each operand

std::int64_t select_part(std::uint32_t word, PartSelector selector, bool is_signed) {
    if (!selector.present()) return extended(word, 32, is_signed);
    const unsigned bits = selector.halves() ? 16 : 8;
    return extended(word >> (bits * selector.part(0)), bits, is_signed);
}

std::uint32_t merge(std::uint32_t value, std::uint32_t c, PartSelector selector) {
    if (!selector.present()) return value;
    const unsigned bits = selector.halves() ? 16 : 8, shift = bits * selector.part(0);
    const std::uint32_t field = ((1u << bits) - 1) << shift;
    return (value << shift & field) | (c & ~field);
}

std::uint32_t scalar_result(const VideoDetails& details, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    Int128 exact = combine(details, select_part(a, details.a, details.a_signed),
                           select_part(b, details.b, details.b_signed));
    if (details.saturates) {
        const unsigned bits = !details.d.present() ? 32 : details.d.halves() ? 16 : 8;
        const Range range = range_of(bits, details.d_signed);
        exact = std::clamp<Int128>(exact, range.low, range.high);
    }
    std::int64_t value = extended(static_cast<std::uint64_t>(exact), 33, true);
    const std::int64_t addend = extended(c, 32, details.d_signed);
    if (details.secondary == VideoSecondary::add) value += addend;
    if (details.secondary == VideoSecondary::minimum) value = std::min(value, addend);
    if (details.secondary == VideoSecondary::maximum) value = std::max(value, addend);
    return merge(static_cast<std::uint32_t>(value), c, details.d);
}

std::uint32_t multiply_add(const VideoDetails& details, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    const bool product_signed = details.a_signed || details.b_signed || details.negates_product;
    const bool result_signed = product_signed || details.negates_c;
    Int128 product =
        Int128{select_part(a, details.a, details.a_signed)} * select_part(b, details.b, details.b_signed);
    if (details.negates_product) product = -product;
    const Int128 addend = extended(c, 32, product_signed);
    Int128 value = product + (details.negates_c ? -addend : addend) + (details.plus_one ? 1 : 0);
    value >>= details.scale;
    if (details.saturates) {
        const Range range = range_of(32, result_signed);
        value = std::clamp<Int128>(value, range.low, range.high);
    }
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(value));
}

// --- SIMD: kLanes parts side by side

// Part `index` of an operand: by default its own, else one of all parts of a and b.
template <unsigned kLanes>
std::int64_t select_lane(std::uint32_t own, std::uint64_t both, PartSelector selector, unsigned index,
                         bool is_signed) {
    constexpr unsigned bits = 32 / kLanes;
    if (!selector.present()) return extended(own >> (bits * index), bits, is_signed);
    return extended(both >> (bits * selector.part(index)), bits, is_signed);
}

bool writes_part(PartSelector mask, unsigned index) {
    if (!mask.present()) return true;
    for (unsigned n = 0; n < mask.count(); ++n) {
        if (mask.part(n) == index) return true;
    }
    return false;
}

template <unsigned kLanes>
std::uint32_t simd_result(const VideoDetails& details, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    constexpr unsigned bits = 32 / kLanes;
    constexpr std::uint32_t field = (1u << bits) - 1;
    const std::uint64_t both = std::uint64_t{b} << 32 | a;
    const bool accumulates = details.secondary == VideoSecondary::add;
    std::uint32_t result = c;
    for (unsigned n = 0; n < kLanes; ++n) {
        if (!writes_part(details.d, n)) continue;
        auto value = static_cast<std::int64_t>(
            combine(details, select_lane<kLanes>(a, both, details.a, n, details.a_signed),
                    select_lane<kLanes>(b, both, details.b, n, details.b_signed)));
        if (accumulates) {
            result += static_cast<std::uint32_t>(value);
            continue;
        }
        if (details.saturates) {
            const Range range = range_of(bits, details.d_signed);
            value = std::clamp(value, range.low, range.high);
        }
        result = (result & ~(field << (bits * n))) | (static_cast<std::uint32_t>(value) & field)
                                                         << (bits * n);
    }
    return result;
}

using Function = std::uint32_t (*)(const VideoDetails&, std::uint32_t, std::uint32_t, std::uint32_t);

template <Function kFunction>
void perform(State& warp, const Decoded& i, std::uint32_t mask) {
    const VideoDetails details = unpack_video(i.target, static_cast<std::uint64_t>(i.offset));
    const std::uint32_t* a = words<std::uint32_t>(warp, i.operand[1]);
    const std::uint32_t* b = words<std::uint32_t>(warp, i.operand[2]);
    const std::uint32_t* c = i.operand[3] == kAbsent ? a : words<std::uint32_t>(warp, i.operand[3]);
    std::uint32_t result[kWarpSize] = {};
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        result[lane] = kFunction(details, a[lane], b[lane], c[lane]);
    }
    assign<std::uint32_t>(warp, i.operand[0], mask, [&](unsigned lane) { return result[lane]; });
}

// vabsdiff2, vabsdiff4 as CUDA's intrinsics print them: no selectors, masks or saturation.
template <unsigned kBits, bool kSigned, bool kAdd>
struct Difference {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
        constexpr std::uint32_t field = (1u << kBits) - 1;
        std::uint32_t result = kAdd ? c : 0;
        for (unsigned n = 0; n < 32 / kBits; ++n) {
            const auto part = [=](std::uint32_t word) {
                const std::uint32_t top = word << (32 - kBits * (n + 1));
                return kSigned ? static_cast<std::int32_t>(top) >> (32 - kBits)
                               : static_cast<std::int32_t>(top >> (32 - kBits));
            };
            const std::int32_t difference = part(a) - part(b);
            const auto magnitude = static_cast<std::uint32_t>(difference < 0 ? -difference : difference);
            result += kAdd ? magnitude : (magnitude & field) << (kBits * n);
        }
        return result;
    }
};
template <unsigned kBits>
Handler choose_difference(const VideoDetails& details) {
    using W = std::uint32_t;
    const bool add = details.secondary == VideoSecondary::add;
    if (details.a_signed) {
        return add ? ternary<Difference<kBits, true, true>, W, W, W, W>
                   : ternary<Difference<kBits, true, false>, W, W, W, W>;
    }
    return add ? ternary<Difference<kBits, false, true>, W, W, W, W>
               : ternary<Difference<kBits, false, false>, W, W, W, W>;
}

}  // namespace

Handler select_video(const Instruction& instruction) {
    const VideoDetails details = video_details(instruction);
    const unsigned lanes = video_lanes(instruction);
    const bool plain = !details.a.present() && !details.b.present() && !details.d.present() &&
                       !details.saturates && details.a_signed == details.b_signed;
    if (plain && details.operation == VideoOperation::absolute_difference && lanes > 1)
        return lanes == 2 ? choose_difference<16>(details) : choose_difference<8>(details);
    if (lanes == 2) return perform<simd_result<2>>;
    if (lanes == 4) return perform<simd_result<4>>;
    return instruction.opcode == Opcode::vmad ? perform<multiply_add> : perform<scalar_result>;
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
