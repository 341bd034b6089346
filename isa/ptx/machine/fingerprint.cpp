// What decides how a warp goes on, as one number: a warp that has come back to a state that it was in, while
// nothing that it can read has changed, goes round for ever.
#include <algorithm>
#include <cstring>

#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {
namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

std::uint64_t mix(std::uint64_t hash, const std::byte* bytes, std::size_t count) {
    for (std::size_t at = 0; at + 8 <= count; at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes + at, 8);
        hash = mix(hash, word);
    }
    return hash;
}

bool reads_clock(const Operand& operand) {
    if (operand.kind == Operand::Kind::special) return is_clock(static_cast<SpecialRegister>(operand.index));
    return std::any_of(operand.elements.begin(), operand.elements.end(), reads_clock);
}

bool may_be_global(StateSpace space) {
    return space == StateSpace::global || space == StateSpace::none || space == StateSpace::generic;
}

/// Whether another thread block may find out what this instruction did, or the other way round, but for plain loads and stores, which
/// no program may use for that.
bool reaches_other_blocks(const Instruction& instruction) {
    const auto ordered = [&] {
        for (const Modifier modifier :
             {Modifier::volatile_, Modifier::relaxed, Modifier::acquire, Modifier::release, Modifier::acq_rel, Modifier::sc, Modifier::mmio})
            if (instruction.has(modifier)) return true;
        return false;
    };
    switch (instruction.opcode) {
        case Opcode::atom:
        case Opcode::red:
        case Opcode::ld:
        case Opcode::st:
            return may_be_global(instruction.space) &&
                   (instruction.opcode == Opcode::atom || instruction.opcode == Opcode::red || ordered());
        case Opcode::cp:
            return instruction.has(Modifier::reduce);
        case Opcode::multimem:
        case Opcode::sured:
        case Opcode::clusterlaunchcontrol:
            return true;
        default:
            return false;
    }
}

bool reads_a_clock(const Kernel& kernel) {
    for (const Instruction& instruction : kernel.instructions)
        for (const Operand& operand : instruction.operands)
            if (reads_clock(operand)) return true;
    return false;
}

}  // namespace

namespace {

bool reads_place(const Operand& operand) {
    if (operand.kind == Operand::Kind::special) {
        const auto which = static_cast<SpecialRegister>(operand.index);
        return which == SpecialRegister::smid || which == SpecialRegister::warpid;
    }
    return std::any_of(operand.elements.begin(), operand.elements.end(), reads_place);
}

}  // namespace

bool LoadedKernel::reads_its_place() const {
    for (const Instruction& instruction : implementation_->kernel.instructions)
        for (const Operand& operand : instruction.operands)
            if (reads_place(operand)) return true;
    return false;
}

bool LoadedKernel::reads_clock() const {
    return reads_a_clock(implementation_->kernel);
}

bool LoadedKernel::blocks_are_independent() const {
    const Kernel& kernel = implementation_->kernel;
    if (reads_a_clock(kernel) || std::any_of(kernel.instructions.begin(), kernel.instructions.end(), reaches_other_blocks)) return false;
    return std::none_of(kernel.calls.begin(), kernel.calls.end(), [](const CallSite& call) {
        return call.kind == CallSite::Kind::runtime && call.runtime != RuntimeFunction::assertfail;
    });
}

WarpFingerprint Cta::fingerprint(unsigned index) const {
    const Implementation& cta = *implementation_;
    const Warp::State& warp = cta.states[index];
    std::uint64_t hash = mix(mix(0xcbf29ce484222325u, warp.pc), std::uint64_t{warp.active} << 32 | warp.live);
    for (const Path& path : warp.paths) hash = mix(mix(hash, path.pc), path.lanes);
    for (const Meeting& meeting : warp.meetings)
        if (meeting.used) hash = mix(mix(hash, meeting.pc), meeting.arrived);
    for (const CallFrame& frame : warp.frames)
        if (frame.used) hash = mix(mix(hash, frame.return_pc), frame.saved.data(), frame.saved.size());
    const std::size_t registers = cta.registers.size() / cta.states.size() * sizeof(Line);
    hash = mix(hash, warp.bank[0], registers);
    const std::size_t local = cta.local.size() / cta.states.size();
    hash = mix(hash, cta.local.data() + index * local, local);
    return {hash, warp.clock};
}

}  // namespace heddle::ptx
