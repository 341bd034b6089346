#include "isa/ptx/schedule/spill.h"

#include <algorithm>
#include <string>

#include "isa/ptx/decode/data_flow.h"
#include "isa/ptx/schedule/edit.h"
#include "isa/ptx/schedule/register_allocation.h"
#include "isa/ptx/schedule/register_changes.h"

namespace heddle::ptx {
namespace {

constexpr unsigned kRegistersPerSubCore = 16384, kSubCores = 4;
constexpr unsigned kAllocationUnit = 8, kFewest = 16, kMost = 255;

/// How often an instruction is performed, by the depth of the loops around it: ten turns each.
std::vector<double> frequencies(const Kernel& kernel) {
    constexpr double kTurns = 10, kHighest = 1e4;
    std::vector<double> result(kernel.instructions.size(), 1);
    for (std::uint32_t i = 0; i < result.size(); ++i) {
        for (const Operand& operand : kernel.instructions[i].operands) {
            if (operand.kind != Operand::Kind::label || operand.index > i) continue;
            for (std::uint32_t k = operand.index; k <= i; ++k)
                result[k] = std::min(result[k] * kTurns, kHighest);
        }
    }
    return result;
}

/// Where each register is live, and how many registers that makes.
class Pressure {
  public:
    explicit Pressure(const Kernel& kernel)
        : uses(register_uses(kernel)),
          flow(analyze_control_flow(kernel)),
          weights(register_weights(kernel, uses)) {
        const Liveness liveness = analyze_liveness(uses, kernel, flow);
        now.assign(uses.size(), 0);
        spans.resize(weights.size());
        for (std::size_t b = 0; b < flow.blocks.size(); ++b)
            walk(kernel, flow.blocks[b], liveness.live_out[b]);
    }

    std::vector<RegisterUse> uses;
    ControlFlow flow;
    std::vector<unsigned> weights;
    std::vector<unsigned> now;  // live while each instruction is performed
    std::vector<std::vector<std::uint32_t>>
        spans;  // instructions that a register spans without their touching it

  private:
    void walk(const Kernel& kernel, const BasicBlock& block, const RegisterSet& live) {
        std::vector<std::uint32_t> list;
        live.for_each([&](std::uint32_t r) {
            if (weights[r] != 0) list.push_back(r);
        });
        for (std::uint32_t i = block.last + 1; i-- > block.first;) {
            const auto touched = [&](std::uint32_t r) {
                const RegisterUse& use = uses[i];
                return std::find(use.reads.begin(), use.reads.end(), r) != use.reads.end() ||
                       std::find(use.writes.begin(), use.writes.end(), r) != use.writes.end();
            };
            unsigned sum = 0, after = 0;
            for (const std::uint32_t r : list) {
                after += weights[r];
                if (!touched(r)) spans[r].push_back(i);
            }
            for (const std::uint32_t r : uses[i].writes) {
                const auto found = std::find(list.begin(), list.end(), r);
                if (found == list.end()) {
                    after += weights[r];
                } else if (kernel.instructions[i].guard < 0) {
                    list.erase(found);
                }
            }
            for (const std::uint32_t r : uses[i].reads) {
                if (weights[r] != 0 && std::find(list.begin(), list.end(), r) == list.end())
                    list.push_back(r);
            }
            for (const std::uint32_t r : list) sum += weights[r];
            now[i] = std::max(sum, after);
        }
    }
};

class Spiller {
  public:
    Spiller(Kernel& kernel, const std::vector<bool>& fixed)
        : kernel_(kernel), pressure_(kernel), frequency_(frequencies(kernel)), fixed_(fixed) {}

    /// Chooses values until at most `target` registers are live anywhere, as far as that can be done, and
    /// rewrites the kernel. False: none could be found.
    bool run(unsigned target) {
        target_ = target;
        find_costs();
        chosen_.assign(pressure_.weights.size(), false);
        bool any = false;
        for (std::uint32_t r = best(); r != kNoInstruction; r = best()) {
            chosen_[r] = any = true;
            for (const std::uint32_t i : pressure_.spans[r]) pressure_.now[i] -= pressure_.weights[r];
        }
        if (any) rewrite();
        return any;
    }

    /// Registers that the rewriting has added: they live for a moment.
    std::size_t first_new() const { return first_new_; }

  private:
    void find_costs() {
        cost_.assign(pressure_.weights.size(), 0);
        for (std::size_t i = 0; i < pressure_.uses.size(); ++i) {
            for (const auto* list : {&pressure_.uses[i].reads, &pressure_.uses[i].writes})
                for (const std::uint32_t r : *list) cost_[r] += frequency_[i] * pressure_.weights[r];
        }
    }

    /// The value that costs least for the crowded instructions that it spans; the more crowded and the more
    /// often performed they are, the more it helps.
    std::uint32_t best() const {
        std::uint32_t result = kNoInstruction;
        double lowest = 0;
        for (std::uint32_t r = 0; r < chosen_.size(); ++r) {
            if (chosen_[r] || pressure_.weights[r] == 0 || fixed_[r]) continue;
            double helps = 0;
            for (const std::uint32_t i : pressure_.spans[r])
                helps += pressure_.now[i] > target_ ? pressure_.now[i] - target_ : 0;
            if (helps == 0) continue;
            const double price = cost_[r] / (helps * pressure_.weights[r]);
            if (result != kNoInstruction && price >= lowest) continue;
            lowest = price;
            result = r;
        }
        return result;
    }

    void rewrite() {
        first_new_ = kernel_.registers.size();
        slot_.assign(chosen_.size(), 0);
        std::vector<Instruction> written;
        std::vector<std::uint32_t> place;
        std::vector<Instruction> old = std::move(kernel_.instructions);
        kept_.clear();
        for (std::uint32_t i = 0; i < old.size(); ++i) {
            place.push_back(static_cast<std::uint32_t>(written.size()));
            const bool begins = i == 0 || pressure_.flow.block_of[i] != pressure_.flow.block_of[i - 1];
            if (begins) kept_.clear();
            forget(i);
            move_to_memory(old[i], i, written);
        }
        place.push_back(static_cast<std::uint32_t>(written.size()));
        for (Instruction& n : written)
            for (Operand& operand : n.operands)
                if (operand.kind == Operand::Kind::label) operand.index = place[operand.index];
        kernel_.instructions = std::move(written);
    }

    /// A spilled value in a register for a while.
    struct Kept {
        std::uint32_t value, reg, since;
    };

    /// Values kept in registers go where the instruction has no register left for them.
    void forget(std::uint32_t i) {
        while (!kept_.empty() && pressure_.now[i] + kept_words() > target_) kept_.erase(kept_.begin());
    }
    unsigned kept_words() const {
        unsigned words = 0;
        for (const Kept& kept : kept_) words += pressure_.weights[kept.value];
        return words;
    }

    void move_to_memory(Instruction n, std::uint32_t i, std::vector<Instruction>& written) {
        std::vector<Instruction> after;
        std::vector<std::pair<std::uint32_t, std::uint32_t>> names;  // of this instruction's spilled values
        const auto name_of = [&](std::uint32_t value) {
            for (const auto& [known, reg] : names)
                if (known == value) return reg;
            const auto kept =
                std::find_if(kept_.begin(), kept_.end(), [value](const Kept& k) { return k.value == value; });
            const bool reads = std::find(pressure_.uses[i].reads.begin(), pressure_.uses[i].reads.end(),
                                         value) != pressure_.uses[i].reads.end();
            std::uint32_t reg = 0;
            if (kept != kept_.end()) {
                reg = kept->reg;
            } else {
                reg = new_register(value);
                if (reads) {
                    written.push_back(access(value, reg, true, n));
                } else if (n.guard >= 0) {
                    written.push_back(cleared(reg, n));
                }
                kept_.push_back({value, reg, i});
            }
            names.emplace_back(value, reg);
            return reg;
        };
        for_each_register(n, [&](Operand& operand, bool is_written) {
            const std::uint32_t value = operand.index;
            if (value >= chosen_.size() || !chosen_[value]) return;
            operand.index = name_of(value);
            if (!is_written) return;
            Instruction store = access(value, operand.index, false, n);
            store.guard = n.guard;
            store.guard_negated = n.guard_negated;
            after.push_back(std::move(store));
            // Under a guard other lanes have an older value, which lies in memory.
            if (n.guard >= 0) drop(value);
        });
        written.push_back(std::move(n));
        for (Instruction& store : after) written.push_back(std::move(store));
    }

    void drop(std::uint32_t value) {
        kept_.erase(
            std::remove_if(kept_.begin(), kept_.end(), [value](const Kept& k) { return k.value == value; }),
            kept_.end());
    }

    std::uint32_t new_register(std::uint32_t value) {
        Register added = kernel_.registers[value];
        added.name += "_" + std::to_string(kernel_.registers.size());
        kernel_.registers.push_back(std::move(added));
        return static_cast<std::uint32_t>(kernel_.registers.size() - 1);
    }

    /// Index of the variable in local memory that holds the value.
    std::uint32_t slot_of(std::uint32_t value) {
        if (slot_[value] != 0) return slot_[value] - 1;
        Variable slot;
        slot.name = "spilled " + kernel_.registers[value].name;
        slot.space = StateSpace::local;
        slot.type = kernel_.registers[value].type;
        slot.bytes = slot.alignment = std::max(4u, bits_of(slot.type) / 8);
        slot.offset = (kernel_.local_bytes + slot.bytes - 1) / slot.bytes * slot.bytes;
        kernel_.local_bytes = static_cast<std::uint32_t>(slot.offset + slot.bytes);
        kernel_.variables.push_back(std::move(slot));
        slot_[value] = static_cast<std::uint32_t>(kernel_.variables.size());
        return slot_[value] - 1;
    }

    /// `place`: the instruction for whose sake.
    Instruction access(std::uint32_t value, std::uint32_t reg, bool load, const Instruction& place) {
        Instruction n;
        const unsigned bits = bits_of(kernel_.registers[value].type);
        respell(n, load ? Opcode::ld : Opcode::st,
                {"local", bits == 64   ? "b64"
                          : bits == 16 ? "b16"
                          : bits == 8  ? "b8"
                                       : "b32"});
        Operand address, data;
        address.kind = Operand::Kind::address;
        address.base = Operand::Kind::variable;
        address.index = slot_of(value);
        data.kind = Operand::Kind::reg;
        data.index = reg;
        data.type = kernel_.registers[value].type;
        n.operands = load ? std::vector<Operand>{data, address} : std::vector<Operand>{address, data};
        n.spill_slot = static_cast<std::uint16_t>(address.index + 1);
        n.line = place.line;
        n.source = place.source;
        return n;
    }

    /// A register that is written under a guard alone would live from the kernel's start.
    Instruction cleared(std::uint32_t reg, const Instruction& place) {
        const Type type = kernel_.registers[reg].type;
        Instruction n;
        respell(n, Opcode::mov, {bits_of(type) == 64 ? "b64" : bits_of(type) == 32 ? "b32" : "b16"});
        Operand target, zero;
        target.kind = Operand::Kind::reg;
        target.index = reg;
        target.type = type;
        zero.kind = Operand::Kind::immediate;
        zero.type = type;
        n.operands = {target, zero};
        n.line = place.line;
        n.source = place.source;
        return n;
    }

    Kernel& kernel_;
    Pressure pressure_;
    std::vector<double> frequency_;
    const std::vector<bool>& fixed_;
    unsigned target_ = 0;
    std::vector<double> cost_;
    std::vector<bool> chosen_;
    std::vector<std::uint32_t> slot_;  // plus 1
    std::vector<Kept> kept_;           // oldest first
    std::size_t first_new_ = 0;
};

/// Registers that must not be spilled.
std::vector<bool> fixed_registers(const Kernel& kernel) {
    std::vector<bool> fixed(kernel.registers.size() + 1, false);
    fixed.back() = true;
    const std::vector<RegisterUse> uses = register_uses(kernel);
    for (std::size_t i = 0; i < uses.size(); ++i) {
        const Instruction& n = kernel.instructions[i];
        if (n.opcode == Opcode::wgmma || n.opcode == Opcode::call)
            for (const std::uint32_t r : uses[i].reads) fixed[r] = true;
        if (n.opcode == Opcode::wgmma || n.opcode == Opcode::call || n.operations == 0)
            for (const std::uint32_t r : uses[i].writes) fixed[r] = true;
    }
    return fixed;
}

}  // namespace

unsigned launch_bound_registers(const Kernel& kernel) {
    return launch_bound_registers(kernel, std::max(1u, kernel.minimum_ctas));
}

unsigned launch_bound_registers(const Kernel& kernel, unsigned ctas) {
    std::uint64_t threads = 1;
    const bool required = kernel.required_threads[0] != 0;
    for (unsigned d = 0; d < 3; ++d)
        threads *= required ? kernel.required_threads[d] : kernel.maximum_threads[d];
    if (threads == 0) return kMost;
    // Each warp has its registers in one of the sub-cores.
    const std::uint64_t warps = (threads + kWarpSize - 1) / kWarpSize * ctas;
    const std::uint64_t of_sub_core = (warps + kSubCores - 1) / kSubCores;
    const std::uint64_t limit =
        kRegistersPerSubCore / (of_sub_core * kWarpSize) / kAllocationUnit * kAllocationUnit;
    return static_cast<unsigned>(std::clamp<std::uint64_t>(limit, kFewest, kMost));
}

unsigned register_ceiling(const Kernel& kernel) {
    if (registers_at_entry(kernel) != 0) return kMost;
    const unsigned bound = launch_bound_registers(kernel);
    if (kernel.maximum_registers == 0) return bound;
    return std::min(bound, std::max(kFewest, kernel.maximum_registers / kAllocationUnit * kAllocationUnit));
}

bool spill_registers(Kernel& kernel, unsigned limit) {
    constexpr unsigned kRounds = 12;
    unsigned target = limit - 1;  // without the stack pointer
    std::vector<bool> fixed = fixed_registers(kernel);
    const Kernel unspilled = kernel;
    bool any = false;
    for (unsigned round = 0;; ++round) {
        const unsigned count = allocate_registers(kernel).count;
        if (count <= limit) break;
        if (round == kRounds) {
            kernel = unspilled;
            return false;
        }
        // What alignment and gaps cost comes on top of what is live.
        if (round != 0) target -= std::min(target / 2, count - limit);
        Spiller spiller(kernel, fixed);
        if (!spiller.run(target)) continue;
        any = true;
        fixed.pop_back();
        fixed.resize(kernel.registers.size(), true);
        fixed.push_back(true);
    }
    return any;
}

}  // namespace heddle::ptx
