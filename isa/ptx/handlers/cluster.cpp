// mapa and getctarank: addresses in the shared memory of other CTAs of the cluster.
#include "isa/ptx/handlers/lanes.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

unsigned ranks(const State& warp) {
    return warp.cta->cluster == nullptr ? 1 : warp.cta->cluster->size;
}

/// kGeneric: addresses lie in the shared window of generic addresses.
template <class T, bool kGeneric>
void map_address(State& warp, const Decoded& i, std::uint32_t mask) {
    const Word<T>* a = words<T>(warp, i.operand[1]);
    const std::uint32_t* rank = words<std::uint32_t>(warp, i.operand[2]);
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        if (rank[lane] >= ranks(warp)) {
            fail_running(warp, lane,
                         "mapa to CTA rank " + std::to_string(rank[lane]) + " of a cluster of " +
                             std::to_string(ranks(warp)),
                         "launch the kernel with clusters");
        }
    }
    constexpr std::uint64_t window = kGeneric ? kSharedWindow : 0;
    assign<T>(warp, i.operand[0], mask, [=](unsigned lane) {
        const std::uint64_t offset = (std::uint64_t{a[lane]} - window) & kClusterOffsetMask;
        return static_cast<T>(window + cluster_address(rank[lane], offset));
    });
}

template <class T, bool kGeneric>
void get_rank(State& warp, const Decoded& i, std::uint32_t mask) {
    const Word<T>* a = words<T>(warp, i.operand[1]);
    constexpr std::uint64_t window = kGeneric ? kSharedWindow : 0;
    const std::uint32_t self = warp.cta->cluster_rank;
    assign<std::uint32_t>(warp, i.operand[0], mask, [=](unsigned lane) {
        const auto tag = static_cast<std::uint32_t>((std::uint64_t{a[lane]} - window) >> kClusterRankShift);
        return tag == 0 ? self : tag - 1;
    });
}

}  // namespace

Handler select_cluster(const Instruction& n) {
    const bool generic = n.space != StateSpace::shared_cluster, wide = bits_of(n.type()) == 64;
    if (n.opcode == Opcode::mapa) {
        if (generic) return wide ? map_address<std::uint64_t, true> : map_address<std::uint32_t, true>;
        return wide ? map_address<std::uint64_t, false> : map_address<std::uint32_t, false>;
    }
    if (generic) return wide ? get_rank<std::uint64_t, true> : get_rank<std::uint32_t, true>;
    return wide ? get_rank<std::uint64_t, false> : get_rank<std::uint32_t, false>;
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
