#include "isa/ptx/inspection.h"

#include <algorithm>

#include "isa/ptx/machine/machine.h"
#include "isa/ptx/machine/memory_barrier.h"

namespace heddle::ptx {

const Instruction& instruction_of(const LoadedKernel& kernel, std::size_t index) {
    return kernel.implementation().kernel.instructions[index];
}

bool will_perform_again(const Warp& warp, std::uint32_t instruction) {
    return std::any_of(warp.state->paths.begin(), warp.state->paths.end(), [&](const Path& path) {
        return path.wait == PathWait::memory_barrier && path.pc == instruction;
    });
}

std::array<std::uint64_t, 16> barrier_states(const Cta& block) {
    const auto& barriers = const_cast<Cta&>(block).implementation().barriers;  // which is only looked at
    std::array<std::uint64_t, 16> states{};
    for (std::size_t i = 0; i < states.size(); ++i) {
        states[i] = barriers[i].arrived_warps | std::uint64_t{barriers[i].waiting} << 32;
        for (const std::uint32_t lanes : barriers[i].arrived_lanes) states[i] = states[i] * 31 + lanes;
    }
    return states;
}

std::optional<MemoryBarrierState> memory_barrier_state(const Cta& block, std::uint64_t address) {
    auto& self = const_cast<Cta&>(block).implementation();  // finding a block of the cluster changes nothing
    std::uint64_t offset = 0;
    const Cta::Implementation* const owner = cta_of_address(self, address, offset);
    if (owner == nullptr) return {};
    const auto barrier = find_memory_barrier(*owner, offset);
    if (!barrier) return {};
    return MemoryBarrierState{barrier->phase, barrier->pending, barrier->expected, barrier->transactions};
}

}  // namespace heddle::ptx
