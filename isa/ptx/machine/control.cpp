#include "isa/ptx/machine/control.h"

#include <bit>

namespace heddle::ptx {
namespace {

const std::uint32_t* narrow_row(const Warp::State& warp, std::uint32_t operand) {
    return reinterpret_cast<const std::uint32_t*>(warp.bank[operand >> 31] + (operand & ~kConstantBank));
}
std::uint32_t* narrow_row(Warp::State& warp, std::uint32_t operand) {
    return reinterpret_cast<std::uint32_t*>(warp.bank[operand >> 31] + (operand & ~kConstantBank));
}

// Divergence. The path that runs is in the state; the others wait on a stack. When lanes part at a branch,
// they meet again at its post-dominator: an entry for all of them waits there, then each side runs up to it.
// Sides that are there already (a loop exit) just wait. An entry is not pushed twice for the same meeting
// point, so a loop that lanes leave one by one does not let the stack grow.
void branch(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const std::uint32_t staying = warp.active & ~mask;
    if (staying == 0) {
        warp.pc = i.target;
        return;
    }
    const std::uint32_t next = warp.pc;
    const std::uint32_t meet = i.reconvergence;
    if (meet != kNowhere && meet != warp.reconvergence) {
        warp.paths.push_back({meet, warp.active, warp.reconvergence});
        warp.reconvergence = meet;
    }
    if (i.target == warp.reconvergence) {
        warp.active = staying;  // the others wait in the entry below
    } else if (next == warp.reconvergence) {
        warp.active = mask;
        warp.pc = i.target;
    } else {
        warp.paths.push_back({i.target, mask, warp.reconvergence});
        warp.active = staying;
    }
}

// brx.idx: each lane goes where its index says.
void branch_indexed(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const std::uint32_t* index = narrow_row(warp, i.operand[0]);
    const std::uint32_t next = warp.pc, staying = warp.active & ~mask, meet = i.reconvergence;
    const std::uint32_t everybody = warp.active, outer = warp.reconvergence;
    std::vector<DivergentPath> sides;
    if (staying != 0) sides.push_back({next, staying, 0});
    for (std::uint32_t rest = mask; rest != 0;) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        if (index[lane] >= i.immediate) {
            fail_running(warp, lane,
                         "branch number " + std::to_string(index[lane]) + " of " +
                             std::to_string(i.immediate) + " targets");
        }
        const std::uint32_t target = warp.elements[i.target + index[lane]];
        std::uint32_t together = 0;
        for (std::uint32_t others = rest; others != 0; others &= others - 1) {
            const auto other = static_cast<unsigned>(std::countr_zero(others));
            const bool same = index[other] < i.immediate && warp.elements[i.target + index[other]] == target;
            together |= static_cast<std::uint32_t>(same) << other;
        }
        sides.push_back({target, together, 0});
        rest &= ~together;
    }
    if (sides.size() == 1) {
        warp.pc = sides[0].pc;
        return;
    }
    const std::uint32_t inner = meet != kNowhere ? meet : outer;
    if (inner != outer) warp.paths.push_back({meet, everybody, outer});
    for (const DivergentPath& side : sides) {
        if (side.pc != inner) warp.paths.push_back({side.pc, side.lanes, inner});
    }
    resume_waiting_path(warp);
}

void exit_lanes(Warp::State& warp, const DecodedInstruction&, std::uint32_t mask) {
    warp.live &= ~mask;
    warp.active &= ~mask;
    for (DivergentPath& path : warp.paths) path.lanes &= ~mask;
    if (warp.active == 0) resume_waiting_path(warp);
}

void trap(Warp::State& warp, const DecodedInstruction&, std::uint32_t mask) {
    fail_running(warp, static_cast<unsigned>(std::countr_zero(mask)), "the kernel executed trap",
                 "a check in the kernel has failed");
}

// DecodedInstruction::immediate of bar and barrier.
enum BarrierOperation : std::uint16_t { kSynchronize, kArrive, kReducePopulation, kReduceAnd, kReduceOr };

std::uint32_t uniform_operand(const Warp::State& warp, std::uint32_t operand, std::uint32_t mask) {
    return narrow_row(warp, operand)[std::countr_zero(mask)];
}

// How many warps a barrier waits for; 0: all that have not exited.
std::uint32_t expected_warps(const Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
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
    return expected == warps ? 0 : expected;
}

void wait_at_barrier(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    if (mask != warp.live) {
        fail_running(warp, lane, "some lanes of the warp are at a barrier and others are not",
                     "every lane that has not exited must reach the barrier together");
    }
    const std::uint32_t number = uniform_operand(warp, i.operand[0], mask);
    if (number >= kBarrierCount)
        fail_running(warp, lane, "barrier " + std::to_string(number) + " does not exist; there are 16");
    Barrier& barrier = warp.cta->barriers[number];
    const std::uint32_t expected = expected_warps(warp, i, mask);
    if (barrier.arrived_warps != 0 && barrier.expected_warps != expected) {
        fail_running(warp, lane,
                     "barrier " + std::to_string(number) + " is used with different thread counts at once");
    }
    barrier.expected_warps = expected;
    ++barrier.arrived_warps;
    if (i.immediate != kArrive) {
        barrier.waiting |= 1u << warp.index;
        warp.blocked = true;
        warp.barrier = static_cast<std::uint8_t>(number);
    }
    if (i.immediate >= kReducePopulation) {
        const std::uint32_t value = *narrow_row(warp, i.operand[3]) ^ (i.negated ? kAllLanes : 0u);
        barrier.operation = static_cast<std::uint8_t>(i.immediate);
        barrier.total += static_cast<std::uint32_t>(std::popcount(value & mask));
        barrier.lanes += static_cast<std::uint32_t>(std::popcount(mask));
        barrier.reductions[warp.index] = {i.operand[2], mask};
    }
    const std::uint32_t needed = expected != 0 ? expected : warp.cta->unfinished;
    if (barrier.arrived_warps >= needed) warp.cta->release(number);
}

void deliver(Warp::State& warp, const Barrier& barrier) {
    const Barrier::Reduction& reduction = barrier.reductions[warp.index];
    std::uint32_t* row = narrow_row(warp, reduction.operand);
    if (barrier.operation == kReducePopulation) {
        for (unsigned lane = 0; lane < kWarpSize; ++lane) {
            if ((reduction.mask >> lane & 1u) != 0) row[lane] = barrier.total;
        }
        return;
    }
    const bool result = barrier.operation == kReduceAnd ? barrier.total == barrier.lanes : barrier.total != 0;
    *row = (*row & ~reduction.mask) | (result ? reduction.mask : 0u);
}

}  // namespace

void resume_waiting_path(Warp::State& warp) {
    while (!warp.paths.empty()) {
        const DivergentPath path = warp.paths.back();
        warp.paths.pop_back();
        if (path.lanes == 0) continue;
        warp.pc = path.pc;
        warp.active = path.lanes;
        warp.reconvergence = path.reconvergence;
        if (warp.pc != warp.reconvergence) return;
    }
    if (warp.live != 0) return;
    warp.finished = true;
    warp.cta->warp_finished(warp);
}

void Cta::Implementation::release(unsigned number) {
    Barrier& barrier = barriers[number];
    for (std::uint32_t rest = barrier.waiting; rest != 0; rest &= rest - 1) {
        Warp::State& warp = states[static_cast<std::size_t>(std::countr_zero(rest))];
        warp.blocked = false;
        if (barrier.operation != 0) deliver(warp, barrier);
    }
    released_warps |= barrier.waiting;
    barrier = {};
}

void Cta::Implementation::warp_finished(Warp::State&) {
    --unfinished;
    if (unfinished == 0) return;
    for (unsigned number = 0; number < kBarrierCount; ++number) {
        const Barrier& barrier = barriers[number];
        if (barrier.arrived_warps != 0 && barrier.expected_warps == 0 && barrier.arrived_warps >= unfinished)
            release(number);
    }
}

Handler select_control(const Instruction& n) {
    switch (n.opcode) {
        case Opcode::bra:
            return branch;
        case Opcode::brx:
            return branch_indexed;
        case Opcode::ret:
        case Opcode::exit:
            return exit_lanes;
        case Opcode::trap:
            return trap;
        case Opcode::barrier:
            return wait_at_barrier;
        case Opcode::bar:
            return n.has(Modifier::warp) ? nullptr : wait_at_barrier;
        default:
            return nullptr;
    }
}

}  // namespace heddle::ptx
