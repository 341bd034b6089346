#include "isa/ptx/leap.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "isa/common/error.h"
#include "isa/ptx/machine/asynchronous.h"
#include "isa/ptx/machine/lane_operands.h"
#include "isa/ptx/machine/machine.h"
#include "isa/ptx/machine/paths.h"

namespace heddle::ptx {
namespace {

using Action = LeapProgram::Action;

/// Stands in a register for what an arrival returns while a warp leaps: bits that no mbarrier has as its
/// state, so that a wait which found them would say so.
constexpr std::uint64_t kLeftOutState = 0x1d5c'3a71'e4b2'8f06u;

Action barrier_action(const Instruction& n) {
    if (n.has(Modifier::warp)) return Action::perform;
    return n.has(Modifier::red) ? Action::stop : Action::skip;
}

Action memory_barrier_action(const Instruction& n) {
    if (n.has(Modifier::test_wait) || n.has(Modifier::try_wait))
        return n.has(Modifier::parity) ? Action::await : Action::wait_state;
    if (n.has(Modifier::arrive)) return Action::arrive;
    return n.has(Modifier::expect_tx) || n.has(Modifier::complete_tx) ? Action::skip : Action::stop;
}

bool touches_memory(const InstructionInfo& info) {
    return info.reads_memory || info.writes_memory || info.atomic || info.async_copy || info.bulk_copy;
}

// In timing mode such an instruction does nothing but say where it goes.
bool reports_access(const Instruction& n, const InstructionInfo& info) {
    if (n.opcode == Opcode::tex || n.opcode == Opcode::tld4 || n.opcode == Opcode::suld || n.opcode == Opcode::sust)
        return true;
    const bool plain = n.opcode == Opcode::ld || n.opcode == Opcode::st;
    return (plain || info.async_copy) && (n.space == StateSpace::global || info.async_copy);
}

Action action_of(const Instruction& n, const InstructionInfo& info, const DecodedInstruction& code,
                 bool steers) {
    if (code.handler == nullptr) return Action::skip;
    switch (n.opcode) {
        case Opcode::exit:
        case Opcode::ret:
        case Opcode::trap:
        case Opcode::brkpt:
        case Opcode::call:
        case Opcode::tensormap:
            return Action::stop;
        case Opcode::bar:
        case Opcode::barrier:
            return barrier_action(n);
        case Opcode::mbarrier:
            return memory_barrier_action(n);
        case Opcode::wgmma:
            return Action::skip;
        case Opcode::tcgen05:
            return info.tensor_memory == TensorMemoryUse::allocate || info.tensor_memory == TensorMemoryUse::issue ? Action::stop : Action::skip;
        default:
            break;
    }
    if (is_asynchronous(n)) return is_bulk_copy(n) || is_tensor_copy(n) ? Action::copy : Action::skip;
    if (!touches_memory(info)) return Action::perform;
    if (!steers) return reports_access(n, info) ? Action::access : Action::skip;
    // Values that steer and that nobody writes while the kernel runs may be read.
    if (info.writes_memory || info.atomic || n.space == StateSpace::local) return Action::stop;
    return Action::perform;
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

}  // namespace

LeapProgram::LeapProgram(const LoadedKernel& kernel) {
    const LoadedKernel::Implementation& loaded = kernel.implementation();
    const Program& program = loaded.programs[static_cast<std::size_t>(Mode::timing)];
    if (loaded.shared_memory_steers) {
        obstacle_ = "values in shared memory decide what its warps do";
    } else if (!program.functions.empty() || !program.calls.empty()) {
        obstacle_ = "it calls functions";
    }
    for (std::size_t i = 0; i < program.code.size(); ++i) {
        actions_.push_back(action_of(loaded.kernel.instructions[i], loaded.information[i], program.code[i],
                                     loaded.steers[i]));
        if (loaded.kernel.instructions[i].opcode == Opcode::bra && program.code[i].target <= i)
            backward_.push_back({static_cast<std::uint32_t>(i), program.code[i].target});
        const InstructionInfo& info = loaded.information[i];
        blocks_depend_ = blocks_depend_ || (loaded.steers[i] && (info.writes_memory || info.atomic) &&
                                            loaded.kernel.instructions[i].space != StateSpace::shared &&
                                            loaded.kernel.instructions[i].space != StateSpace::local);
        waits_for_states_ = waits_for_states_ || actions_.back() == Action::wait_state;
    }
}

bool LeapProgram::in_loop(std::uint32_t head) const {
    return std::any_of(backward_.begin(), backward_.end(), [head](const BackwardBranch& branch) {
        return branch.to < head && branch.from > head;
    });
}

std::uint64_t count_steps(const LaunchContext& launch, std::uint64_t linear_index, std::uint64_t most,
                          std::span<std::uint64_t> performed, LeapObserver* observer) {
    if (cluster_size(launch) > 1) return 0;
    constexpr unsigned kTurn = 256;
    const auto& instructions = launch.kernel->implementation().kernel.instructions;
    Cta cta(launch);
    cta.start(linear_index);
    std::uint64_t steps = 0;
    while (!cta.finished()) {
        const std::uint64_t before = steps;
        for (unsigned w = 0; w < cta.warp_count(); ++w) {
            Warp& warp = cta.warp(w);
            for (unsigned i = 0; i < kTurn && !warp.finished() && !warp.blocked(); ++i, ++steps) {
                const std::uint32_t at = warp.next();
                const StepResult result = warp.step(steps);
                const bool starts = result.started_operations != 0;
                if (observer != nullptr && result.access != nullptr &&
                    result.access->space == StateSpace::global)
                    observer->access(*result.access);
                // A wait for an mbarrier that has to wait is performed again.
                const bool again = warp.blocked() && instructions[at].opcode == Opcode::mbarrier;
                if (!performed.empty() && !again) ++performed[at];
                if (!starts) continue;
                for (const AsyncOperation& operation : cta.started()) {
                    if (observer != nullptr) observer->copy(operation);
                    cta.complete(operation);
                }
            }
        }
        if (steps == before || steps > most) return 0;
    }
    return steps;
}

struct WarpLeap::Scratch : Warp::State {
    explicit Scratch(const Warp::State& warp) : Warp::State(warp) {}
    std::uint32_t start_pc = 0, start_active = 0, start_reconvergence = 0;
    std::size_t start_paths = 0;

    bool at_start() const {
        return !finished && !blocked && pc == start_pc && active == start_active &&
               reconvergence == start_reconvergence && paths.size() == start_paths;
    }
};

WarpLeap::WarpLeap(const LeapProgram& program, Warp& warp, std::span<std::uint64_t> performed)
    : program_(&program),
      warp_(&warp),
      scratch_(std::make_unique<Scratch>(*warp.state)),
      performed_(performed) {
    Scratch& scratch = *scratch_;
    const Cta::Implementation& cta = *scratch.cta;
    saved_.assign(scratch.bank[0], scratch.bank[0] + cta.program->register_bytes);
    if (scratch.blocked) {
        for (Path& path : scratch.paths) {
            if (path.wait != PathWait::lanes) path.wait = PathWait::none;
        }
        scratch.blocked = false;
        run_another(scratch);
    }
    scratch.start_pc = scratch.pc;
    scratch.start_active = scratch.active;
    scratch.start_reconvergence = scratch.reconvergence;
    scratch.start_paths = scratch.paths.size();
}

WarpLeap::~WarpLeap() = default;
WarpLeap::WarpLeap(WarpLeap&&) noexcept = default;

void WarpLeap::undo() {
    std::memcpy(warp_->state->bank[0], saved_.data(), saved_.size());
}

// Barriers are as they were, so what the last arrivals at them returned is, too: it stands where it stood,
// since the warp is where it was. Rows of registers that hold nothing here may hold a left-out state as well;
// nobody minds what these become.
void WarpLeap::restore_states() {
    std::byte* const bank = warp_->state->bank[0];
    for (std::size_t at = 0; at + sizeof kLeftOutState <= saved_.size(); at += sizeof kLeftOutState) {
        if (std::memcmp(bank + at, &kLeftOutState, sizeof kLeftOutState) == 0)
            std::memcpy(bank + at, saved_.data() + at, sizeof kLeftOutState);
    }
}

bool WarpLeap::turn(std::uint64_t steps, LeapObserver* observer) {
    Scratch& warp = *scratch_;
    const Action* const actions = program_->actions().data();
    signature_ = 0;
    if (warp.blocked || warp.finished) return false;
    try {
        for (; steps != 0; --steps) {
            const std::uint32_t at = warp.pc;
            const DecodedInstruction& instruction = warp.code[at];
            std::uint32_t mask = warp.active;
            if (instruction.guard != kNoGuard) {
                const std::uint32_t guard = narrow_lane(warp, instruction.guard, 0);
                mask &= instruction.guard_negated ? ~guard : guard;
            }
            warp.pc = at + 1;
            if (!performed_.empty()) ++performed_[at];
            if (mask != 0) {
                const auto lane = static_cast<unsigned>(std::countr_zero(mask));
                switch (actions[at]) {
                    case Action::perform:
                        instruction.handler(warp, instruction, mask);
                        warp.spins = 0;  // its waits succeed: it need not give way to other lanes
                        if (warp.pc != at + 1)
                            signature_ = mixed(signature_, std::uint64_t{at} << 32 | warp.pc);
                        break;
                    case Action::skip:
                        break;
                    case Action::access:
                        if (observer == nullptr) break;
                        instruction.handler(warp, instruction, mask);
                        if (warp.cta->scratch->access.space == StateSpace::global)
                            observer->access(warp.cta->scratch->access);
                        break;
                    case Action::copy:
                        if (observer == nullptr) break;
                        instruction.handler(warp, instruction, mask);
                        for (const AsyncOperation& operation : warp.cta->started) observer->copy(operation);
                        warp.cta->started.clear();
                        break;
                    case Action::await:
                        signature_ = mixed(signature_, narrow_lane(warp, instruction.operand[2], lane) & 1u);
                        [[fallthrough]];
                    case Action::wait_state:
                        narrow_lane(warp, instruction.operand[0], 0) |= mask;
                        signature_ =
                            mixed(mixed(signature_, at), lane_address(warp, instruction.operand[1], lane));
                        break;
                    case Action::arrive:
                        signature_ =
                            mixed(mixed(signature_, at), lane_address(warp, instruction.operand[1], lane));
                        for_each_lane(mask, [&](unsigned arriving) {
                            wide_lane(warp, instruction.operand[0], arriving) = kLeftOutState;
                        });
                        break;
                    case Action::stop:
                        return false;
                }
            }
            if (warp.pc == warp.reconvergence) arrive_at_meeting(warp);
            if (warp.blocked || warp.finished) return false;
        }
    } catch (const Error&) {
        return false;  // whatever it is, it is found when the warp gets there in time
    }
    return warp.at_start();
}

}  // namespace heddle::ptx
