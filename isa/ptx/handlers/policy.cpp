// createpolicy: cache policies are opaque 64-bit values (PTX ISA 9.0, "createpolicy"). The caches of the
// timing models do not look at them; a value tells its ingredients apart, so that equal policies are equal
// words.
#include "isa/ptx/handlers/lanes.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

constexpr std::uint64_t kFractional = std::uint64_t{1} << 60, kRange = std::uint64_t{2} << 60;

// Sixteenths of the accesses that get the primary priority, less one.
void create_fractional(State& warp, const Decoded& i, std::uint32_t mask) {
    const bool whole = i.operand[1] == kAbsent;
    const float* fraction =
        whole ? nullptr : reinterpret_cast<const float*>(words<std::uint32_t>(warp, i.operand[1]));
    const std::uint64_t fixed = kFractional | std::uint64_t{i.immediate} << 40;
    assign<std::uint64_t>(warp, i.operand[0], mask, [=](unsigned lane) {
        const float sixteenths = whole ? 16.0f : fraction[lane] * 16;
        const float clamped = sixteenths >= 1 ? (sixteenths <= 16 ? sixteenths : 16.0f) : 1.0f;
        return fixed | static_cast<std::uint64_t>(clamped - 1) << 52;
    });
}

// Address, primary size, total size.
void create_range(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint32_t* primary = words<std::uint32_t>(warp, i.operand[2]);
    const std::uint32_t* total = words<std::uint32_t>(warp, i.operand[3]);
    const std::uint64_t fixed = kRange | std::uint64_t{i.immediate} << 40;
    assign<std::uint64_t>(warp, i.operand[0], mask, [=](unsigned lane) {
        return fixed | std::uint64_t{total[lane] >> 12} << 20 | primary[lane] >> 12;
    });
}

void convert_property(State& warp, const Decoded& i, std::uint32_t mask) {
    const std::uint64_t* a = words<std::uint64_t>(warp, i.operand[1]);
    assign<std::uint64_t>(warp, i.operand[0], mask, [=](unsigned lane) { return a[lane]; });
}

}  // namespace

Handler select_policy(const Instruction& n) {
    if (n.has(Modifier::cvt)) return convert_property;
    return n.has(Modifier::range) ? create_range : create_fractional;
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
