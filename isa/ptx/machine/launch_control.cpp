// clusterlaunchcontrol, and st.bulk.
//
// A request to cancel the launch of a cluster that has not begun is always declined, as hardware may at any time: the answer says so, and the
// thread blocks of the grid are all launched. Programs that go on with the tile of a cancelled cluster end instead, and another thread block
// does that tile. An answer has no bit set, so queries need not look at it, and nothing that steers depends on shared memory.
#include <cstring>

#include "isa/ptx/machine/copy_targets.h"

namespace heddle::ptx {
namespace {

constexpr unsigned kAnswerBytes = 16;

void decline(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const AsyncDetails details = details_of(i);
    for_each_lane(mask, [&](unsigned lane) {
        AsyncOperation operation;
        operation.kind = AsyncOperation::Kind::answer;
        operation.warp = warp.index;
        operation.bytes = kAnswerBytes;
        CopyTarget target;
        target.space = details.space == StateSpace::generic ? StateSpace::generic : StateSpace::shared_cluster;
        target.address = lane_address(warp, i.operand[0], lane);
        target.barrier = lane_address(warp, i.operand[1], lane);
        target.multicast = details.multicast;
        target.mask = (1u << warp.cta->own_cluster().size) - 1;
        for (const SharedPlace& place : find_targets(warp, lane, target, operation)) {
            if (place.cta->shared.size() >= place.offset + kAnswerBytes) std::memset(place.cta->shared.data() + place.offset, 0, kAnswerBytes);
        }
        warp.cta->started.push_back(std::move(operation));
    });
}

void not_cancelled(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    narrow_lane(warp, i.operand[0], 0) &= ~mask;
}

// Undefined for a request that was declined: zeros here.
template <unsigned kCount>
void no_first_block(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    for (unsigned element = 0; element < kCount; ++element) {
        const std::uint32_t row = kCount == 1 ? i.operand[0] : warp.elements[i.operand[0] + element];
        for_each_lane(mask, [&](unsigned lane) { narrow_lane(warp, row, lane) = 0; });
    }
}

// st.bulk [a], bytes, 0
void fill(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const StateSpace given = details_of(i).space;
    for_each_lane(mask, [&](unsigned lane) {
        const std::uint64_t bytes = wide_lane(warp, i.operand[1], lane);
        if (bytes % 8 != 0) fail_running(warp, lane, "st.bulk of " + std::to_string(bytes) + " bytes", "the size must be a multiple of 8");
        const SharedPlace place = find_shared(warp, lane, given, lane_address(warp, i.operand[0], lane), bytes, 8, "the destination of st.bulk");
        if (place.cta->shared.size() >= place.offset + bytes) std::memset(place.cta->shared.data() + place.offset, 0, bytes);
        ++place.cta->changes;
    });
}

}  // namespace

Handler select_bulk_fill() {
    return fill;
}

Handler select_launch_control(const Instruction& n) {
    if (n.has(Modifier::try_cancel)) return decline;
    if (n.has(Modifier::is_canceled)) return not_cancelled;
    return n.has(Modifier::first_ctaid) ? no_first_block<4> : no_first_block<1>;
}

}  // namespace heddle::ptx
