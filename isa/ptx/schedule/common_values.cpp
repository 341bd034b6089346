#include <map>
#include <string>
#include <string_view>

#include "isa/ptx/schedule/definitions.h"
#include "isa/ptx/schedule/edit.h"
#include "isa/ptx/schedule/effects.h"
#include "isa/ptx/schedule/simplify.h"

namespace heddle::ptx {
namespace {

template <class T>
void append(std::string& key, const T& value) {
    // A pointer's own bytes: it names a form.
    key.append(reinterpret_cast<const char*>(&value), sizeof value);  // NOLINT(bugprone-sizeof-expression)
}

void append_operand(std::string& key, const Operand& operand) {
    append(key, operand.kind);
    append(key, operand.base);
    append(key, operand.negated);
    append(key, operand.selector);
    append(key, operand.index);
    append(key, operand.bits);
    for (const Operand& element : operand.elements) append_operand(key, element);
    key += ';';
}

class Merger {
  public:
    explicit Merger(Kernel& kernel)
        : kernel_(kernel), definitions_(kernel), dominators_(definitions_.flow()) {}

    bool run() {
        for (std::uint32_t i = 0; i < kernel_.instructions.size(); ++i) {
            Instruction& n = kernel_.instructions[i];
            if (!may_merge(n, i)) continue;
            std::vector<std::uint32_t>& earlier = known_[key_of(n)];
            bool merged = false;
            for (const std::uint32_t e : earlier) {
                if (!same_value(e, i)) continue;
                const Operand dest = n.operands[0];
                turn_into_move(n, dest, kernel_.instructions[e].operands[0]);
                merged = changed_ = true;
                break;
            }
            if (!merged) earlier.push_back(i);
        }
        return changed_;
    }

  private:
    bool may_merge(const Instruction& n, std::uint32_t i) const {
        if (n.guard >= 0 || effect_of(n) != Effect::none || n.operands.size() < 2) return false;
        if (n.operands[0].kind != Operand::Kind::reg || definitions_.uses(i).writes.size() != 1) return false;
        if (n.opcode == Opcode::mov && n.operands[1].kind != Operand::Kind::special) return false;
        // A destination narrower or wider than its register is left alone.
        return definitions_.only(n.operands[0].index) == i;
    }

    static std::string key_of(const Instruction& n) {
        std::string key;
        append(key, n.form);
        for (const Type type : n.types) append(key, type);
        key += n.modifiers.to_string();
        for (std::size_t o = 1; o < n.operands.size(); ++o) append_operand(key, n.operands[o]);
        append(key, bits_of(n.operands[0].type));
        return key;
    }

    bool same_value(std::uint32_t earlier, std::uint32_t later) const {
        const std::vector<std::uint32_t>& block_of = definitions_.flow().block_of;
        if (!dominators_.dominates(block_of[earlier], block_of[later])) return false;
        // Beyond the block only what is dear to compute again: ptxas rather repeats arithmetic than keeps its
        // result in a register for long.
        const Instruction& n = kernel_.instructions[later];
        const bool dear = n.opcode == Opcode::mov || loads_parameter(n);
        if (block_of[earlier] != block_of[later] && !dear) return false;
        for (const std::uint32_t r : definitions_.uses(later).reads) {
            if (!definitions_.unchanged(r, earlier, later)) return false;
        }
        return true;
    }

    Kernel& kernel_;
    Definitions definitions_;
    DominatorTree dominators_;
    std::map<std::string, std::vector<std::uint32_t>> known_;
    bool changed_ = false;
};

}  // namespace

bool merge_common_values(Kernel& kernel) {
    return Merger(kernel).run();
}

bool remove_dead_code(Kernel& kernel) {
    const Definitions definitions(kernel);
    const std::size_t count = kernel.instructions.size();
    std::vector<std::uint32_t> readers(kernel.registers.size() + 1, 0);
    for (std::uint32_t i = 0; i < count; ++i) {
        for (const std::uint32_t r : definitions.uses(i).reads) ++readers[r];
    }
    std::vector<bool> removed(count, false);
    bool changed = false;
    const auto is_dead = [&](std::uint32_t i) {
        const Instruction& n = kernel.instructions[i];
        if (n.opcode == Opcode::bra && n.guard < 0) {
            std::uint32_t next = i + 1;
            while (next < count && removed[next]) ++next;
            return n.operands[0].index > i && n.operands[0].index <= next;
        }
        const Effect effect = effect_of(n);
        if (effect != Effect::none && effect != Effect::load) return false;
        const std::vector<std::uint32_t>& writes = definitions.uses(i).writes;
        if (writes.empty()) return false;
        for (const std::uint32_t r : writes) {
            std::uint32_t others = readers[r];
            for (const std::uint32_t own : definitions.uses(i).reads) others -= own == r ? 1 : 0;
            if (others != 0) return false;
        }
        return true;
    };
    for (bool again = true; again;) {
        again = false;
        for (std::uint32_t i = static_cast<std::uint32_t>(count); i-- > 0;) {
            if (removed[i] || !is_dead(i)) continue;
            removed[i] = again = changed = true;
            for (const std::uint32_t r : definitions.uses(i).reads) --readers[r];
        }
    }
    if (changed) remove_instructions(kernel, removed);
    return changed;
}

}  // namespace heddle::ptx
