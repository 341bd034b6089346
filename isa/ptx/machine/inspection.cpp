#include "isa/ptx/inspection.h"

#include "isa/ptx/machine/machine.h"
#include "isa/ptx/machine/memory_barrier.h"

namespace heddle::ptx {

const Instruction& instruction_of(const LoadedKernel& kernel, std::size_t index) {
    return kernel.implementation().kernel.instructions[index];
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
