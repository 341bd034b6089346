// setmaxnreg: warps give registers back to their CTA's pool and take more from it.
//
// A CTA starts with as many registers for each warp as the kernel was compiled for. What its warps give back
// belongs to the CTA until it ends, whatever other CTAs wait for (PTX ISA, setmaxnreg: per-CTA maximum
// register pool).
#include <string>

#include "isa/common/error.h"
#include "models/gpu/sm.h"

namespace heddle::models::gpu {
namespace {

constexpr std::uint32_t kFewest = 24;  // PTX ISA: the count is 24 to 256

}  // namespace

void Sm::check_registers() const {
    for (const RunLaunch& launch : launch_.plan->launches) {
        const LaunchSource& source = *launch.source;
        const std::uint32_t warps = launch.occupancy.warps_per_cta;
        const std::uint32_t each = allocated_registers(config_.sm, source.registers_per_thread());
        const std::uint32_t most = warps * each - kFewest * (warps - 1);
        for (std::size_t i = 0; i < source.instruction_count(); ++i) {
            const ptx::InstructionInfo& info = source.instruction(i);
            if (info.synchronisation != ptx::Synchronisation::more_registers || info.register_count <= most)
                continue;
            throw Error("setmaxnreg.inc to " + std::to_string(info.register_count) +
                            " registers would wait for ever: the thread block has " + std::to_string(each) +
                            " for each of its " + std::to_string(warps) + " warps, and none can go below " +
                            std::to_string(kFewest),
                        source.place_of(info), "ask for fewer registers, or launch the kernel with more");
        }
    }
}

bool Sm::has_registers(const WarpSlot& slot, const TimedInstruction& row) const {
    const std::uint32_t count = row.info->register_count;
    return count <= slot.registers + state_.cta_slots[slot.cta].free_registers;
}

void Sm::change_registers(unsigned warp, const TimedInstruction& row, Cycle now) {
    WarpSlot& slot = state_.warps[warp];
    CtaSlot& cta = state_.cta_slots[slot.cta];
    const std::uint32_t count = row.info->register_count;
    const bool more = row.kind == TimingKind::more_registers;
    if (more ? count < slot.registers : count > slot.registers) {
        throw Error(std::string("setmaxnreg.") + (more ? "inc" : "dec") + " to " + std::to_string(count) +
                        " registers of a warp that has " + std::to_string(slot.registers),
                    launch_.plan->launches[slot.launch].source->place_of(*row.info),
                    more ? "use .dec to give registers back" : "use .inc to take more registers");
    }
    cta.free_registers += slot.registers;
    cta.free_registers -= count;
    slot.registers = static_cast<std::uint16_t>(count);
    if (launch_.audit) {
        std::uint32_t together = cta.free_registers;
        for (unsigned i = 0; i < cta.warp_count; ++i) together += state_.warps[cta.warps[i]].registers;
        launch_.audit->registers_moved(together, slot.launch);
    }
    // Others that wait for registers: there are more now, or fewer.
    for (unsigned i = 0; i < cta.warp_count; ++i) {
        const unsigned other = cta.warps[i];
        if (other == warp || state_.warps[other].state != WarpState::running) continue;
        if (launch_.plan->kernel.instructions[state_.warps[other].instruction].kind ==
            TimingKind::more_registers)
            look_at_next(other, now);
    }
}

std::string Sm::describe_register_waits() const {
    std::string text;
    for (const WarpSlot& slot : state_.warps) {
        if (slot.state != WarpState::running) continue;
        const TimedInstruction& row = launch_.plan->kernel.instructions[slot.instruction];
        if (row.kind != TimingKind::more_registers || has_registers(slot, row)) continue;
        text += "\nwarp " + std::to_string(slot.warp.index()) + " waits at line " +
                std::to_string(row.info->line) + " for " +
                std::to_string(row.info->register_count - slot.registers) +
                " registers per thread; its thread block has " +
                std::to_string(state_.cta_slots[slot.cta].free_registers) + " to give";
    }
    return text;
}

}  // namespace heddle::models::gpu
