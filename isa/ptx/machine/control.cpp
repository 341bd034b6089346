#include "isa/ptx/machine/control.h"

#include <algorithm>
#include <bit>

#include "isa/ptx/machine/paths.h"

namespace heddle::ptx {
namespace {

// DecodedInstruction::immediate is not 0 when the branch goes back round a loop in which lanes wait for
// others.
void branch(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const std::uint32_t staying = warp.active & ~mask;
    if (staying == 0) {
        warp.pc = i.target;
        if (i.immediate != 0) give_way(warp);
        return;
    }
    warp.spins = 0;
    open_meeting(warp, i.reconvergence);
    if (i.target == warp.reconvergence) {
        warp.meetings[warp.meeting].arrived |= mask;
        warp.active = staying;
    } else if (warp.pc == warp.reconvergence) {
        warp.meetings[warp.meeting].arrived |= staying;
        warp.active = mask;
        warp.pc = i.target;
    } else {
        warp.paths.push_back({i.target, mask, warp.meeting, PathWait::none, false, 0});
        warp.active = staying;
    }
    if (i.immediate != 0 && warp.pc == i.target) give_way(warp);
}

// brx.idx: each lane goes where its index says.
void branch_indexed(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const auto* index = reinterpret_cast<const std::uint32_t*>(warp.bank[i.operand[0] >> 31] +
                                                               (i.operand[0] & ~kConstantBank));
    const std::uint32_t staying = warp.active & ~mask;
    std::vector<Path> sides;
    if (staying != 0) sides.push_back({warp.pc, staying, 0, PathWait::none, false, 0});
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
        sides.push_back({target, together, 0, PathWait::none, false, 0});
        rest &= ~together;
    }
    if (sides.size() == 1) {
        warp.pc = sides[0].pc;
        return;
    }
    open_meeting(warp, i.reconvergence);
    for (Path& side : sides) {
        side.meeting = warp.meeting;
        if (side.pc == warp.reconvergence) {
            warp.meetings[warp.meeting].arrived |= side.lanes;
        } else {
            warp.paths.push_back(side);
        }
    }
    warp.active = 0;
    run_another(warp);
}

void exit_lanes(Warp::State& warp, const DecodedInstruction&, std::uint32_t mask) {
    leave(warp, mask);
}

// What cooperative groups do in grid.sync() when the launch has no barrier for its grid.
bool lacks_cooperation(const Cta::Implementation& cta) {
    return cta.launch.grid_workspace == 0 &&
           std::any_of(
               cta.program->specials.begin(), cta.program->specials.end(),
               [](const Program::SpecialRow& row) { return row.special == SpecialRegister::envreg2; });
}

void trap(Warp::State& warp, const DecodedInstruction&, std::uint32_t mask) {
    fail_running(warp, static_cast<unsigned>(std::countr_zero(mask)), "the kernel executed trap",
                 lacks_cooperation(*warp.cta) ? "a barrier of the grid needs a cooperative launch"
                                              : "a check in the kernel has failed",
                 Error::Kind::trap);
}

// Without a debugger the hardware reports an error too.
void stop_at_breakpoint(Warp::State& warp, const DecodedInstruction&, std::uint32_t mask) {
    fail_running(warp, static_cast<unsigned>(std::countr_zero(mask)), "the kernel executed brkpt",
                 "there is no debugger; remove the breakpoint");
}

}  // namespace

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
        case Opcode::brkpt:
            return stop_at_breakpoint;
        case Opcode::barrier:
        case Opcode::bar:
            return select_barrier(n);
        case Opcode::wgmma:
            return n.has(Modifier::wait_group) ? select_barrier(n) : nullptr;
        default:
            return nullptr;
    }
}

}  // namespace heddle::ptx
