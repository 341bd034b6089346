// bar, barrier, barrier.cluster.
#include <algorithm>
#include <bit>

#include "isa/ptx/machine/checker.h"
#include "isa/ptx/machine/control.h"
#include "isa/ptx/machine/paths.h"
#include "isa/ptx/machine/tensor_access.h"

namespace heddle::ptx {
namespace {

std::uint32_t* narrow_row(Warp::State& warp, std::uint32_t operand) {
    return reinterpret_cast<std::uint32_t*>(warp.bank[operand >> 31] + (operand & ~kConstantBank));
}

// DecodedInstruction::immediate of bar and barrier.
enum BarrierOperation : std::uint16_t { kSynchronize, kArrive, kReducePopulation, kReduceAnd, kReduceOr };

std::uint32_t uniform_operand(Warp::State& warp, std::uint32_t operand, std::uint32_t mask) {
    const std::uint32_t* row = narrow_row(warp, operand);
    const std::uint32_t value = row[std::countr_zero(mask)];
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        if (row[lane] != value) {
            fail_running(warp, lane, "lanes of a warp name different barriers or thread counts at once",
                         "branch by the operand, or make it the same for the whole warp");
        }
    }
    return value;
}

// How many warps a barrier waits for; 0: all that have not exited.
std::uint32_t expected_warps(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    if (i.operand[1] == kAbsent) return 0;
    const std::uint32_t threads = uniform_operand(warp, i.operand[1], mask);
    if (threads == 0 || threads % kWarpSize != 0) {
        fail_running(warp, lane, "a barrier for " + std::to_string(threads) + " threads",
                     "the number must be a positive multiple of 32");
    }
    const auto warps = static_cast<std::uint32_t>(warp.cta->warps.size());
    const std::uint32_t expected = threads / kWarpSize;
    if (expected > warps) {
        fail_running(warp, lane,
                     "a barrier for " + std::to_string(threads) + " threads, more than the CTA has");
    }
    return expected;
}

// Without a count the whole CTA is meant; a count that says the same may stand beside it.
bool same_expectation(const Cta::Implementation& cta, std::uint32_t a, std::uint32_t b) {
    const auto all = static_cast<std::uint32_t>(cta.warps.size());
    return (a == 0 ? all : a) == (b == 0 ? all : b);
}

bool has_expected_warps(const Cta::Implementation& cta, const Barrier& barrier) {
    const std::uint32_t needed = barrier.expected_warps != 0 ? barrier.expected_warps : cta.unfinished;
    return barrier.arrived_warps >= needed;
}

// A warp that has all of its lanes at the barrier counts as 32 threads, whatever the number of its lanes
// (PTX manual, "bar": the arrival count is incremented by the warp size).
void count_arrival(Warp::State& warp, Barrier& barrier) {
    std::uint32_t& lanes = barrier.arrived_lanes[warp.index];
    if (lanes == 0 || (lanes & warp.live) != warp.live) return;
    lanes = 0;
    ++barrier.arrived_warps;
}

void wait_at_barrier(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    const std::uint32_t number = uniform_operand(warp, i.operand[0], mask);
    if (number >= kBarrierCount)
        fail_running(warp, lane, "barrier " + std::to_string(number) + " does not exist; there are 16");
    Cta::Implementation& cta = *warp.cta;
    Barrier& barrier = cta.barriers[number];
    cta.used_barriers |= 1u << number;
    const std::uint32_t expected = expected_warps(warp, i, mask);
    if (barrier.in_use() && !same_expectation(cta, barrier.expected_warps, expected)) {
        fail_running(warp, lane,
                     "barrier " + std::to_string(number) + " is used with different thread counts at once");
    }
    // A count holds for warps that arrive and then exit, too: these have not to be waited for, but were
    // counted.
    barrier.expected_warps = barrier.in_use() ? std::max(barrier.expected_warps, expected) : expected;
    barrier.arrived_lanes[warp.index] |= mask;
    if (i.immediate >= kReducePopulation) {
        const std::uint32_t value = *narrow_row(warp, i.operand[3]) ^ (i.negated ? kAllLanes : 0u);
        barrier.operation = static_cast<std::uint8_t>(i.immediate);
        barrier.total += static_cast<std::uint32_t>(std::popcount(value & mask));
        barrier.lanes += static_cast<std::uint32_t>(std::popcount(mask));
        barrier.reductions.push_back({warp.index, i.operand[2], mask});
    }
    if (i.immediate != kArrive) {
        barrier.waiting |= 1u << warp.index;
        make_wait(warp, mask, warp.pc, PathWait::cta_barrier, number);
    }
    count_arrival(warp, barrier);
    if (has_expected_warps(cta, barrier)) cta.release(number);
}

void deliver(Cta::Implementation& cta, const Barrier& barrier, const Barrier::Reduction& reduction) {
    std::uint32_t* row = narrow_row(cta.states[reduction.warp], reduction.operand);
    if (barrier.operation == kReducePopulation) {
        for (unsigned lane = 0; lane < kWarpSize; ++lane) {
            if ((reduction.mask >> lane & 1u) != 0) row[lane] = barrier.total;
        }
        return;
    }
    const bool result = barrier.operation == kReduceAnd ? barrier.total == barrier.lanes : barrier.total != 0;
    *row = (*row & ~reduction.mask) | (result ? reduction.mask : 0u);
}

void arrive_at_cluster_barrier(Warp::State& warp, const DecodedInstruction&, std::uint32_t mask) {
    ClusterState& cluster = warp.cta->own_cluster();
    if (const std::uint32_t again = mask & warp.cluster_arrived; again != 0) {
        fail_running(warp, static_cast<unsigned>(std::countr_zero(again)),
                     "a second barrier.cluster.arrive before barrier.cluster.wait",
                     "each arrive needs a wait before the next arrive");
    }
    warp.cluster_arrived |= mask;
    cluster.arrived_threads += static_cast<unsigned>(std::popcount(mask));
    cluster.complete_barrier_if_due();
}

void wait_at_cluster_barrier(Warp::State& warp, const DecodedInstruction&, std::uint32_t mask) {
    // Lanes that have arrived in an earlier, completed phase have nothing to wait for.
    const std::uint32_t waiting = mask & warp.cluster_arrived;
    if (waiting != 0) make_wait(warp, waiting, warp.pc, PathWait::cluster_barrier, 0);
}

// wgmma.wait_group, which all warps of the warpgroup execute (.aligned). On the device no warp passes before
// the products of all four are done; here they are done when a warp has issued them. So the warps meet, and
// none can go on to overwrite operands that another has yet to read.
void meet_warpgroup(Warp::State& warp, const DecodedInstruction&, std::uint32_t mask) {
    require_warpgroup(warp, mask);
    const unsigned number = kBarrierCount + warp.index / kWarpgroupSize;
    Barrier& barrier = warp.cta->barriers[number];
    warp.cta->used_barriers |= 1u << number;
    barrier.expected_warps = kWarpgroupSize;
    barrier.waiting |= 1u << warp.index;
    ++barrier.arrived_warps;
    make_wait(warp, mask, warp.pc, PathWait::cta_barrier, number);
    if (barrier.arrived_warps == kWarpgroupSize) warp.cta->release(number);
}

}  // namespace

void require_warpgroup(const Warp::State& warp, std::uint32_t mask) {
    if (mask != kAllLanes) {
        fail_running(warp, static_cast<unsigned>(std::countr_one(mask)),
                     "wgmma needs all 32 lanes of the warp", "do not branch around it lane by lane");
    }
    if (warp.index / kWarpgroupSize * kWarpgroupSize + kWarpgroupSize > warp.cta->warps.size()) {
        fail_running(warp, 0, "wgmma needs a warpgroup of four warps",
                     "launch blocks of a multiple of 128 threads");
    }
}

void Cta::Implementation::release(unsigned number) {
    Barrier& barrier = barriers[number];
    for (const Barrier::Reduction& reduction : barrier.reductions) deliver(*this, barrier, reduction);
    std::uint32_t waiting = barrier.waiting;
    Barrier next;  // lanes of a warp that is not complete wait for the next time
    next.arrived_lanes = barrier.arrived_lanes;
    for (std::size_t w = 0; w < states.size(); ++w) {
        if (next.arrived_lanes[w] == 0) continue;
        next.waiting |= waiting & 1u << w;
        waiting &= ~(1u << w);
    }
    const bool for_all = barrier.expected_warps == 0;
    barrier = std::move(next);
    if (checker != nullptr) checker->barrier_released(number, waiting, for_all);
    for (std::uint32_t rest = waiting; rest != 0; rest &= rest - 1) {
        wake(states[static_cast<std::size_t>(std::countr_zero(rest))], PathWait::cta_barrier, number);
    }
    ++changes;
}

void Cta::Implementation::lanes_exited(Warp::State& warp) {
    if (warp.finished) {
        if (unfinished == 1) end_tensor_memory(warp);
        --unfinished;
        ++changes;
        if (unfinished == 0 && cluster != nullptr) {
            cluster->ctas[cluster_rank] = nullptr;
            cluster->exited |= 1u << cluster_rank;
        }
    }
    constexpr std::uint32_t kNamed = (1u << kBarrierCount) - 1;
    for (std::uint32_t rest = used_barriers & kNamed; rest != 0; rest &= rest - 1) {
        const auto number = static_cast<unsigned>(std::countr_zero(rest));
        Barrier& barrier = barriers[number];
        if (!warp.finished) count_arrival(warp, barrier);
        if (warp.finished) barrier.arrived_lanes[warp.index] = 0;
        if (unfinished != 0 && barrier.arrived_warps != 0 && has_expected_warps(*this, barrier))
            release(number);
    }
}

void ClusterState::threads_exited(Warp::State& warp, std::uint32_t lanes) {
    live_threads -= static_cast<unsigned>(std::popcount(lanes));
    arrived_threads -= static_cast<unsigned>(std::popcount(lanes & warp.cluster_arrived));
    warp.cluster_arrived &= ~lanes;
    complete_barrier_if_due();
}

void ClusterState::complete_barrier_if_due() {
    if (arrived_threads == 0 || arrived_threads < live_threads) return;
    arrived_threads = 0;
    ++phase;
    for (Cta::Implementation* cta : ctas) {
        if (cta == nullptr) continue;
        for (Warp::State& warp : cta->states) {
            warp.cluster_arrived = 0;
            wake(warp, PathWait::cluster_barrier, 0);
        }
        ++cta->changes;
        if (cta->checker != nullptr) cta->checker->cluster_barrier_released();
    }
}

Handler select_barrier(const Instruction& n) {
    if (n.opcode == Opcode::wgmma) return meet_warpgroup;
    if (n.has(Modifier::cluster)) {
        return n.has(Modifier::arrive) ? arrive_at_cluster_barrier : wait_at_cluster_barrier;
    }
    return n.has(Modifier::warp) ? nullptr : wait_at_barrier;
}

}  // namespace heddle::ptx
