// mbarrier.*, cp.async.mbarrier.arrive. Lanes act one after another, lowest first.
#include <cstring>

#include "isa/common/hexadecimal.h"
#include "isa/ptx/machine/checker.h"
#include "isa/ptx/machine/copy_targets.h"
#include "isa/ptx/machine/memory_barrier.h"
#include "isa/ptx/machine/paths.h"

namespace heddle::ptx {
namespace {

constexpr unsigned kBytes = 8;  // of an mbarrier object

SharedPlace find_object(const Warp::State& warp, const DecodedInstruction& i, std::uint32_t slot,
                        unsigned lane) {
    return find_shared(warp, lane, details_of(i).space, lane_address(warp, slot, lane), kBytes, kBytes,
                       "the mbarrier");
}

// Whether the mbarrier is that of a CTA of the cluster that has exited. PTX does not define what an arrival
// there does; hardware goes on and nobody is signalled, so that it is nothing but a finding of a checked run.
bool is_gone(Warp::State& warp, const DecodedInstruction& i, std::uint32_t slot, unsigned lane,
             MemoryAccess& access) {
    std::uint64_t address = lane_address(warp, slot, lane);
    const StateSpace space = details_of(i).space;
    if (space == StateSpace::shared) return false;
    if (space == StateSpace::generic) address -= kSharedWindow;
    if (!has_exited(*warp.cta, address)) return false;
    access.space = StateSpace::shared_cluster;
    access.lanes |= 1u << lane;
    access.address[lane] = address;
    if (warp.cta->checker != nullptr) warp.cta->checker->arrives_at_exited(warp, lane, address);
    return true;
}

MemoryBarrier read_object(const Warp::State& warp, unsigned lane, const SharedPlace& place) {
    const std::optional<MemoryBarrier> barrier = find_memory_barrier(*place.cta, place.offset);
    if (!barrier) {
        fail_running(warp, lane, "there is no mbarrier at shared address " + hexadecimal(place.offset),
                     "initialise it with mbarrier.init, and let all threads know before they use it");
    }
    return *barrier;
}

void initialize(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    MemoryAccess& access = begin_shared_report(warp, kBytes, true, false);
    for_each_lane(mask, [&](unsigned lane) {
        const SharedPlace place = find_object(warp, i, i.operand[0], lane);
        const std::uint32_t count = narrow_lane(warp, i.operand[1], lane);
        if (count == 0 || count > kMaximumArrivals) {
            fail_running(warp, lane, "mbarrier.init for " + std::to_string(count) + " arrivals",
                         "the count must be 1 to " + std::to_string(kMaximumArrivals));
        }
        store_memory_barrier(*place.cta, place.offset, {false, count, count, 0});
        report_lane(access, warp, lane, place);
    });
    ++warp.cta->changes;
}

void invalidate(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    MemoryAccess& access = begin_shared_report(warp, kBytes, true, false);
    for_each_lane(mask, [&](unsigned lane) {
        const SharedPlace place = find_object(warp, i, i.operand[0], lane);
        read_object(warp, lane, place);
        std::memset(place.cta->shared.data() + place.offset, 0, kBytes);
        report_lane(access, warp, lane, place);
    });
}

MemoryBarrier arrive_or_fail(const Warp::State& warp, unsigned lane, const SharedPlace& place,
                             std::uint32_t arrivals, std::int64_t expected_bytes, std::int64_t arrived_bytes,
                             bool drop) {
    read_object(warp, lane, place);
    const std::optional<MemoryBarrier> before =
        arrive_at_memory_barrier(*place.cta, place.offset, arrivals, expected_bytes, arrived_bytes, drop);
    if (!before) {
        fail_running(
            warp, lane,
            std::to_string(arrivals) + " arrivals, " + std::to_string(expected_bytes - arrived_bytes) +
                " more bytes at the mbarrier at shared address " + hexadecimal(place.offset) + ": " +
                describe_memory_barrier(*place.cta, place.offset),
            "more arrive in this phase than mbarrier.init said, or the byte count leaves its range of "
            "20 bits");
    }
    return *before;
}

enum class Extra { none, expects_bytes, never_completes };

// Slots: state, address, count or bytes.
template <bool kDrop, Extra kExtra>
void arrive(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    MemoryAccess& access = begin_shared_report(warp, kBytes, true, true);
    for_each_lane(mask, [&](unsigned lane) {
        if (is_gone(warp, i, i.operand[1], lane, access)) return;
        const SharedPlace place = find_object(warp, i, i.operand[1], lane);
        const std::uint32_t given = i.operand[2] == kAbsent ? 1 : narrow_lane(warp, i.operand[2], lane);
        const std::uint32_t count = kExtra == Extra::expects_bytes ? 1 : given;
        if (count == 0 || count > kMaximumArrivals) {
            fail_running(warp, lane, "mbarrier.arrive with a count of " + std::to_string(count),
                         "the count must be 1 to " + std::to_string(kMaximumArrivals));
        }
        if constexpr (kExtra == Extra::never_completes) {
            const MemoryBarrier now = read_object(warp, lane, place);
            if (now.pending == count && now.transactions == 0) {
                fail_running(warp, lane, "mbarrier.arrive.noComplete completes the phase",
                             "use mbarrier.arrive for the last arrival");
            }
        }
        const MemoryBarrier before = arrive_or_fail(
            warp, lane, place, count, kExtra == Extra::expects_bytes ? std::int64_t{given} : 0, 0, kDrop);
        wide_lane(warp, i.operand[0], lane) = MemoryBarrier::encode(before);
        report_lane(access, warp, lane, place);
    });
}

template <bool kExpects>
void transact(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    MemoryAccess& access = begin_shared_report(warp, kBytes, true, true);
    for_each_lane(mask, [&](unsigned lane) {
        if (is_gone(warp, i, i.operand[0], lane, access)) return;
        const SharedPlace place = find_object(warp, i, i.operand[0], lane);
        const std::int64_t bytes = narrow_lane(warp, i.operand[1], lane);
        arrive_or_fail(warp, lane, place, 0, kExpects ? bytes : 0, kExpects ? 0 : bytes, false);
        report_lane(access, warp, lane, place);
    });
}

bool same_in_all_lanes(const Warp::State& warp, std::uint32_t row) {
    const std::uint32_t* const values = &narrow_lane(warp, row, 0);
    std::uint32_t difference = 0;
    for (unsigned lane = 1; lane < kWarpSize; ++lane) difference |= values[lane] ^ values[0];
    return difference == 0;
}

// The lanes of `mask` whose phase is complete: the one of the state, or the one of the parity that is not
// that of the phase going on.
std::uint32_t complete_lanes(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    MemoryAccess& access = begin_shared_report(warp, kBytes, false, false);
    const bool by_parity = details_of(i).parity;
    const std::uint32_t row = warp.elements[i.operand[1]];
    const bool wide = warp.elements[i.operand[1] + 1] != 0;
    if (mask == kAllLanes && by_parity && !wide && same_in_all_lanes(warp, row) &&
        same_in_all_lanes(warp, i.operand[2])) {
        const SharedPlace place = find_object(warp, i, i.operand[1], 0);
        const bool phase = (narrow_lane(warp, i.operand[2], 0) & 1u) != 0;
        const bool complete = phase != read_object(warp, 0, place).phase;
        report_lane(access, warp, 0, place);
        access.lanes = mask;
        access.address.fill(access.address[0]);
        return complete ? kAllLanes : 0;
    }
    std::uint32_t complete = 0;
    // Mostly all lanes look at one object, and nothing changes it meanwhile.
    std::uint64_t address = ~std::uint64_t{0};
    SharedPlace place{};
    MemoryBarrier barrier{};
    for_each_lane(mask, [&](unsigned lane) {
        if (const std::uint64_t own = lane_address(warp, i.operand[1], lane); own != address) {
            place = find_object(warp, i, i.operand[1], lane);
            barrier = read_object(warp, lane, place);
            address = own;
        }
        bool phase = false;
        if (by_parity) {
            phase = (narrow_lane(warp, i.operand[2], lane) & 1u) != 0;
        } else {
            const auto state = MemoryBarrier::decode(wide_lane(warp, i.operand[2], lane));
            if (!state) {
                fail_running(warp, lane, "this is not a state that mbarrier.arrive returned",
                             "wait with the state of an arrival, or with .parity");
            }
            phase = state->phase;
        }
        complete |= static_cast<std::uint32_t>(phase != barrier.phase) << lane;
        report_lane(access, warp, lane, place);
    });
    return complete;
}

void answer(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask, std::uint32_t complete) {
    std::uint32_t& result = narrow_lane(warp, i.operand[0], 0);
    result = (result & ~mask) | (complete & mask);
}

void test_wait(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    answer(warp, i, mask, complete_lanes(warp, i, mask));
}

// Waits when all lanes of the path wait for one object. Else lanes whose phase is not complete go on without
// success, as they may at any time: together with the others, into the loop around this instruction.
void try_wait(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const bool timed_out = warp.timed_out;
    const std::uint32_t complete = complete_lanes(warp, i, mask);
    const MemoryAccess& access = warp.cta->scratch->access;
    const std::uint64_t first = access.address[static_cast<unsigned>(std::countr_zero(mask))];
    bool together = mask == warp.active;
    for_each_lane(mask, [&](unsigned lane) { together = together && access.address[lane] == first; });
    if (complete == 0 && together && !timed_out) {
        make_wait(warp, mask, warp.pc - 1, PathWait::memory_barrier, first);
        return;
    }
    answer(warp, i, mask, complete);
}

void count_pending(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    for_each_lane(mask, [&](unsigned lane) {
        const auto state = MemoryBarrier::decode(wide_lane(warp, i.operand[1], lane));
        if (!state) fail_running(warp, lane, "this is not a state that mbarrier.arrive returned");
        narrow_lane(warp, i.operand[0], lane) = state->pending;
    });
}

// cp.async.mbarrier.arrive: the arrival comes when the lane's earlier cp.async are done. Without .noinc it
// adds itself to the arrivals that the phase needs.
template <bool kAdds>
void arrive_after_copies(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    MemoryAccess& access = begin_shared_report(warp, kBytes, true, true);
    AsyncOperation operation;
    operation.kind = AsyncOperation::Kind::arrive_after_copies;
    operation.warp = warp.index;
    for_each_lane(mask, [&](unsigned lane) {
        const SharedPlace place = find_object(warp, i, i.operand[0], lane);
        MemoryBarrier barrier = read_object(warp, lane, place);
        if constexpr (kAdds) {
            if (barrier.pending == kMaximumArrivals)
                fail_running(warp, lane, "too many arrivals are pending");
            ++barrier.pending;
            store_memory_barrier(*place.cta, place.offset, barrier);
        }
        report_lane(access, warp, lane, place);
        for (AsyncOperation::Signal& signal : operation.signals) {
            if (signal.address != place.offset) continue;
            ++signal.arrivals;
            return;
        }
        operation.signals.push_back({static_cast<std::uint16_t>(place.cta->cluster_rank),
                                     static_cast<std::uint32_t>(place.offset), 1, 0});
    });
    warp.cta->started.push_back(std::move(operation));
}

template <bool kDrop>
Handler choose_arrival(const Instruction& n) {
    if (n.has(Modifier::expect_tx)) return arrive<kDrop, Extra::expects_bytes>;
    return n.has(Modifier::no_complete) ? arrive<kDrop, Extra::never_completes> : arrive<kDrop, Extra::none>;
}

}  // namespace

Handler select_memory_barrier(const Instruction& n) {
    if (n.opcode == Opcode::cp)
        return n.has(Modifier::noinc) ? arrive_after_copies<false> : arrive_after_copies<true>;
    if (n.has(Modifier::init)) return initialize;
    if (n.has(Modifier::inval)) return invalidate;
    if (n.has(Modifier::arrive)) return choose_arrival<false>(n);
    if (n.has(Modifier::arrive_drop)) return choose_arrival<true>(n);
    if (n.has(Modifier::expect_tx)) return transact<true>;
    if (n.has(Modifier::complete_tx)) return transact<false>;
    if (n.has(Modifier::test_wait)) return test_wait;
    return n.has(Modifier::try_wait) ? try_wait : count_pending;
}

}  // namespace heddle::ptx
