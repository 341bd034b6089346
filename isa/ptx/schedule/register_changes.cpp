#include "isa/ptx/schedule/register_changes.h"

#include <algorithm>
#include <vector>

#include "isa/ptx/decode/data_flow.h"
#include "isa/ptx/schedule/spill.h"

namespace heddle::ptx {
namespace {

bool is_product(const Instruction& n) {
    return n.opcode == Opcode::wgmma && n.has(Modifier::mma_async);
}

/// Registers that ptxas keeps free for a wgmma: its accumulators and the part of A that lies in registers,
/// and 26 for the rest (all of 49 sizes and types fit this, and no other number).
unsigned needed_by_product(const Instruction& n) {
    constexpr std::size_t kOthers = 26;
    std::size_t fragments = n.operands[0].elements.size();
    if (n.operands[1].kind == Operand::Kind::vector) fragments += n.operands[1].elements.size();
    return static_cast<unsigned>(fragments + kOthers);
}

unsigned needed_by_products(const Kernel& kernel) {
    unsigned most = 0;
    for (const Instruction& n : kernel.instructions)
        if (is_product(n)) most = std::max(most, needed_by_product(n));
    return most;
}

/// By the kernel's directives; 0: they do not tell.
unsigned allowed_at_entry(const Kernel& kernel) {
    const bool threads = kernel.required_threads[0] != 0 || kernel.maximum_threads[0] != 0;
    const bool one_block = threads && launch_bound_registers(kernel, 2) < needed_by_products(kernel);
    const bool bounded = threads && (kernel.minimum_ctas != 0 || one_block);
    if (kernel.maximum_registers == 0) return bounded ? launch_bound_registers(kernel) : 0;
    if (threads && kernel.minimum_ctas != 0)
        return std::min(kernel.maximum_registers, launch_bound_registers(kernel));
    return kernel.maximum_registers;
}

/// Whether every wgmma has the registers that it needs, whichever way control reaches it.
bool suffices(const Kernel& kernel, unsigned at_entry) {
    const ControlFlow flow = analyze_control_flow(kernel);
    std::vector<unsigned> before(flow.blocks.size(), ~0u);  // each block: the fewest that it may start with
    if (!before.empty()) before[0] = at_entry;
    bool enough = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t b = 0; b < flow.blocks.size(); ++b) {
            if (before[b] == ~0u) continue;
            unsigned count = before[b];
            for (std::uint32_t i = flow.blocks[b].first; i <= flow.blocks[b].last; ++i) {
                const Instruction& n = kernel.instructions[i];
                if (n.opcode == Opcode::setmaxnreg) count = static_cast<unsigned>(n.operands[0].bits);
                if (is_product(n)) enough = enough && needed_by_product(n) <= count;
            }
            for (const std::uint32_t next : flow.blocks[b].successors) {
                if (before[next] <= count) continue;
                before[next] = count;
                changed = true;
            }
        }
    }
    return enough;
}

}  // namespace

unsigned registers_at_entry(const Kernel& kernel) {
    unsigned most = 0;
    bool changes = false;
    for (const Instruction& n : kernel.instructions) {
        if (n.opcode != Opcode::setmaxnreg) continue;
        changes = true;
        if (n.has(Modifier::inc)) most = std::max(most, static_cast<unsigned>(n.operands[0].bits));
    }
    const unsigned allowed = changes ? allowed_at_entry(kernel) : 0;
    if (allowed == 0) return 0;
    const unsigned at_entry = most == 0 ? allowed : std::min(allowed, most);
    return suffices(kernel, at_entry) ? at_entry : 0;
}

}  // namespace heddle::ptx
