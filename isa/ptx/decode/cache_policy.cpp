#include "isa/ptx/decode/cache_policy.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>

namespace heddle::ptx {
namespace {

/// DefinitionsOfRegisters of one register: how many, and the last.
struct Definition {
    unsigned count = 0;
    std::size_t instruction = 0;
};
using DefinitionsOfRegisters = std::map<std::uint32_t, Definition>;

bool has_hint(const Instruction& n) {
    return n.has(Modifier::cache_hint) && !n.operands.empty();
}

DefinitionsOfRegisters definitions(std::span<const RegisterUse> uses) {
    DefinitionsOfRegisters all;
    for (std::size_t i = 0; i < uses.size(); ++i) {
        for (const std::uint32_t written : uses[i].writes) {
            Definition& definition = all[written];
            ++definition.count;
            definition.instruction = i;
        }
    }
    return all;
}

CachePriority priority(const Instruction& n) {
    if (n.has(Modifier::l2_evict_first)) return CachePriority::first;
    if (n.has(Modifier::l2_evict_last)) return CachePriority::last;
    return n.has(Modifier::l2_evict_unchanged) ? CachePriority::unchanged : CachePriority::normal;
}

/// A constant in the encoding that CUTLASS gives TMA copies (TMA::CacheHintSm90).
void read_constant(std::uint64_t bits, CachePolicy& policy) {
    if (bits == 0x1000000000000000ull) policy.primary = CachePriority::normal;
    if (bits == 0x12F0000000000000ull) policy.primary = CachePriority::first;
    if (bits == 0x14F0000000000000ull) policy.primary = CachePriority::last;
}

/// createpolicy.fractional names a first priority, and perhaps a second.
void read_fractional(const Kernel& kernel, const DefinitionsOfRegisters& all, const Instruction& n,
                     CachePolicy& policy) {
    policy.primary = priority(n);
    policy.secondary = CachePriority::unchanged;
    // Two named priorities are a set of modifiers: of those that ptxas takes, the second is first or
    // unchanged.
    if (policy.primary == CachePriority::first && n.has(Modifier::l2_evict_last)) {
        policy.primary = CachePriority::last;
        policy.secondary = CachePriority::first;
    } else if (policy.primary == CachePriority::first && n.has(Modifier::l2_evict_normal)) {
        policy.primary = CachePriority::normal;
        policy.secondary = CachePriority::first;
    }
    if (n.operands.size() < 2) return;
    const Operand* fraction = &n.operands[1];
    if (fraction->kind == Operand::Kind::reg) {
        const auto found = all.find(fraction->index);
        if (found == all.end() || found->second.count != 1) return;
        const Instruction& source = kernel.instructions[found->second.instruction];
        if (source.opcode != Opcode::mov) return;
        fraction = &source.operands[1];
    }
    if (fraction->kind != Operand::Kind::immediate) return;
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(fraction->bits));
    if (value > 0 && value <= 1) policy.sixteenths = static_cast<std::uint8_t>(std::llround(value * 16));
}

void follow(const Kernel& kernel, const DefinitionsOfRegisters& all, const Operand& hint, unsigned depth,
            CachePolicy& policy) {
    if (hint.kind == Operand::Kind::immediate) return read_constant(hint.bits, policy);
    if (hint.kind != Operand::Kind::reg || depth == 0) return;
    const auto found = all.find(hint.index);
    if (found == all.end() || found->second.count != 1) return;
    const Instruction& n = kernel.instructions[found->second.instruction];
    if (n.opcode == Opcode::mov) return follow(kernel, all, n.operands[1], depth - 1, policy);
    if (n.opcode != Opcode::createpolicy || n.has(Modifier::range) || n.has(Modifier::cvt)) return;
    read_fractional(kernel, all, n, policy);
}

}  // namespace

std::vector<CachePolicy> cache_policies(const Kernel& kernel, std::span<const RegisterUse> uses) {
    std::vector<CachePolicy> policies(kernel.instructions.size());
    std::optional<DefinitionsOfRegisters> all;
    for (std::size_t i = 0; i < policies.size(); ++i) {
        const Instruction& n = kernel.instructions[i];
        CachePolicy& policy = policies[i];
        policy.allocate_l1 = !n.has(Modifier::no_allocate);
        if (n.has(Modifier::cs) || n.has(Modifier::lu)) policy.l1 = policy.primary = CachePriority::first;
        if (n.has(Modifier::evict_first)) policy.l1 = CachePriority::first;
        if (n.has(Modifier::evict_last)) policy.l1 = CachePriority::last;
        if (n.has(Modifier::evict_normal)) policy.l1 = CachePriority::normal;
        if (n.has(Modifier::evict_unchanged)) policy.l1 = CachePriority::unchanged;
        if (n.opcode == Opcode::prefetch || n.opcode == Opcode::applypriority) {
            if (n.has(Modifier::l2_evict_last)) policy.primary = CachePriority::last;
            if (n.has(Modifier::l2_evict_normal)) policy.primary = CachePriority::normal;
        }
        if (!has_hint(n)) continue;
        if (!all) all = definitions(uses);
        follow(kernel, *all, n.operands.back(), 4, policy);
    }
    return policies;
}

}  // namespace heddle::ptx
