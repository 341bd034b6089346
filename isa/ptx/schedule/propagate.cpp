#include <array>
#include <optional>

#include "isa/ptx/instruction_table.h"
#include "isa/ptx/schedule/definitions.h"
#include "isa/ptx/schedule/edit.h"
#include "isa/ptx/schedule/effects.h"
#include "isa/ptx/schedule/simplify.h"

namespace heddle::ptx {
namespace {

using Kind = Operand::Kind;

constexpr std::int64_t kLargestOffset = (std::int64_t{1} << 23) - 1;  // 24 bits, with sign

bool is_register(const Operand& operand) {
    return operand.kind == Kind::reg && !operand.negated && operand.selector == 0;
}

bool is_constant(const Operand& operand) {
    return operand.kind == Kind::immediate;
}

// Instructions in which a constant may stand where a register does. Machine instructions take one; a second
// one would cost a move, which is not counted.
bool takes_constants(const Instruction& n) {
    switch (n.opcode) {
        case Opcode::add:
        case Opcode::sub:
        case Opcode::mul:
        case Opcode::mad:
        case Opcode::fma:
        case Opcode::min:
        case Opcode::max:
        case Opcode::and_:
        case Opcode::or_:
        case Opcode::xor_:
        case Opcode::not_:
        case Opcode::shl:
        case Opcode::shr:
        case Opcode::bfe:
        case Opcode::bfi:
        case Opcode::selp:
        case Opcode::setp:
        case Opcode::lop3:
        case Opcode::prmt:
        case Opcode::mov:
        case Opcode::div:
        case Opcode::rem:
            return true;
        default:
            return false;
    }
}

bool is_plain_integer(const Instruction& n) {
    const Type type = n.type();
    const bool word = bits_of(type) == 32 || bits_of(type) == 64;
    return word && !is_float(type) && type != Type::u16x2 && type != Type::s16x2 && !n.has(Modifier::cc) &&
           !n.has(Modifier::sat) && !n.has(Modifier::relu);
}

class Propagation {
  public:
    explicit Propagation(Kernel& kernel) : kernel_(kernel), definitions_(kernel) {}

    bool run() {
        for (std::uint32_t i = 0; i < kernel_.instructions.size(); ++i) {
            replace_registers(i);
            replace_by_constants(i);
            fold_addresses(i);
            if (kernel_.instructions[i].guard < 0) fold_constants(kernel_.instructions[i]);
        }
        return changed_;
    }

  private:
    /// The unguarded mov that wrote the register's value at `place`; nullptr when something else did.
    const Instruction* move_before(std::uint32_t reg, std::uint32_t place, std::uint32_t& at) const {
        at = definitions_.reaching(reg, place);
        if (at == kNoInstruction) return nullptr;
        const Instruction& n = kernel_.instructions[at];
        if (n.opcode != Opcode::mov || n.operands.size() != 2) return nullptr;
        return n.operands[0].kind == Kind::reg && n.operands[0].index == reg ? &n : nullptr;
    }

    void replace_registers(std::uint32_t i) {
        Instruction& n = kernel_.instructions[i];
        if (n.opcode == Opcode::call || n.form->operands.find('+') != std::string_view::npos) return;
        for_each_register(n, [&](Operand& operand, bool written) {
            if (!written && replace(operand.index, i, operand.type)) changed_ = true;
        });
        if (n.guard < 0) return;
        auto guard = static_cast<std::uint32_t>(n.guard);
        Type type = Type::pred;
        if (!replace(guard, i, type)) return;
        n.guard = static_cast<std::int32_t>(guard);
        changed_ = true;
    }

    bool replace(std::uint32_t& reg, std::uint32_t place, Type& type) const {
        std::uint32_t at = 0;
        const Instruction* move = move_before(reg, place, at);
        if (move == nullptr || !is_register(move->operands[1])) return false;
        const std::uint32_t source = move->operands[1].index;
        if (source == reg || !definitions_.unchanged(source, at, place)) return false;
        if (bits_of(kernel_.registers[source].type) != bits_of(kernel_.registers[reg].type)) return false;
        reg = source;
        type = kernel_.registers[source].type;
        return true;
    }

    void replace_by_constants(std::uint32_t i) {
        Instruction& n = kernel_.instructions[i];
        if (!takes_constants(n)) return;
        std::array<OperandPattern, kMaximumOperands> patterns;
        const std::size_t count = operand_patterns(*n.form, n, patterns);
        for (std::size_t o = 0; o < count; ++o) {
            const OperandPattern& p = patterns[o];
            if (p.written || p.vector || p.address || p.label || p.constant || p.wider || p.carry) continue;
            Operand& operand = n.operands[o];
            if (!is_register(operand)) continue;
            std::uint32_t at = 0;
            const Instruction* move = move_before(operand.index, i, at);
            if (move == nullptr || !is_constant(move->operands[1])) continue;
            const Type type = pattern_type(p, n);
            if (type == Type::pred || bits_of(type) != bits_of(operand.type)) continue;
            operand = make_immediate(move->operands[1].bits, type);
            changed_ = true;
        }
    }

    // [r + offset], r = q + constant: [q + (offset + constant)]. Narrow addresses wrap like the addition.
    void fold_addresses(std::uint32_t i) {
        for (Operand& operand : kernel_.instructions[i].operands) {
            if (operand.kind != Kind::address || operand.base != Kind::reg) continue;
            const std::uint32_t at = definitions_.reaching(operand.index, i);
            if (at == kNoInstruction) continue;
            const Instruction& n = kernel_.instructions[at];
            const bool adds = n.opcode == Opcode::add || n.opcode == Opcode::sub;
            if (!adds || !is_plain_integer(n) || n.operands[0].index != operand.index) continue;
            if (bits_of(n.type()) != bits_of(operand.type)) continue;
            const bool first = n.opcode == Opcode::add && is_constant(n.operands[1]);
            const Operand &base = n.operands[first ? 2 : 1], &constant = n.operands[first ? 1 : 2];
            if (!is_register(base) || !is_constant(constant)) continue;
            std::int64_t addend = bits_of(n.type()) == 64
                                      ? static_cast<std::int64_t>(constant.bits)
                                      : static_cast<std::int32_t>(static_cast<std::uint32_t>(constant.bits));
            if (n.opcode == Opcode::sub) addend = -addend;
            if (addend > kLargestOffset || addend < -kLargestOffset) continue;
            const std::int64_t offset = static_cast<std::int64_t>(operand.bits) + addend;
            if (offset > kLargestOffset || offset < -kLargestOffset) continue;
            if (!definitions_.unchanged(base.index, at, i)) continue;
            operand.index = base.index;
            operand.type = kernel_.registers[base.index].type;
            operand.bits = static_cast<std::uint64_t>(offset);
            changed_ = true;
        }
    }

    static std::optional<std::uint64_t> evaluate(const Instruction& n) {
        const unsigned bits = bits_of(n.type());
        const auto operand = [&](std::size_t o) { return cut(n.operands[o].bits, bits); };
        switch (n.opcode) {
            case Opcode::add:
                return operand(1) + operand(2);
            case Opcode::sub:
                return operand(1) - operand(2);
            case Opcode::mul:
                if (n.has(Modifier::lo)) return operand(1) * operand(2);
                return std::nullopt;
            case Opcode::mad:
                if (n.has(Modifier::lo)) return operand(1) * operand(2) + operand(3);
                return std::nullopt;
            case Opcode::and_:
                return operand(1) & operand(2);
            case Opcode::or_:
                return operand(1) | operand(2);
            case Opcode::xor_:
                return operand(1) ^ operand(2);
            case Opcode::shl: {
                const std::uint64_t amount = cut(n.operands[2].bits, 32);
                return amount >= bits ? 0 : operand(1) << amount;
            }
            case Opcode::shr: {
                if (is_signed(n.type())) return std::nullopt;
                const std::uint64_t amount = cut(n.operands[2].bits, 32);
                return amount >= bits ? 0 : operand(1) >> amount;
            }
            default:
                return std::nullopt;
        }
    }

    void fold_constants(Instruction& n) {
        if (n.operands.size() < 3 || !is_plain_integer(n) || n.operands[0].kind != Kind::reg) return;
        bool constant = true;
        for (std::size_t o = 1; o < n.operands.size(); ++o) constant = constant && is_constant(n.operands[o]);
        if (constant) {
            const std::optional<std::uint64_t> value = evaluate(n);
            if (!value) return;
            turn_into_move(n, n.operands[0], make_immediate(*value, n.operands[0].type));
            changed_ = true;
            return;
        }
        if (keeps_value(n, 1, 2)) {
            turn_into_move(n, n.operands[0], n.operands[1]);
            changed_ = true;
        } else if (n.opcode == Opcode::add && keeps_value(n, 2, 1)) {
            turn_into_move(n, n.operands[0], n.operands[2]);
            changed_ = true;
        }
    }

    // x + 0, x - 0, x | 0, x << 0, x * 1
    static bool keeps_value(const Instruction& n, std::size_t value, std::size_t other) {
        const Operand &from = n.operands[value], &constant = n.operands[other], &to = n.operands[0];
        if (!is_register(from) || !is_constant(constant) || n.operands.size() != 3) return false;
        if (bits_of(from.type) != bits_of(to.type)) return false;
        const std::uint64_t neutral = n.opcode == Opcode::mul ? 1 : 0;
        if (cut(constant.bits, bits_of(n.type())) != neutral) return false;
        switch (n.opcode) {
            case Opcode::add:
            case Opcode::sub:
            case Opcode::or_:
            case Opcode::xor_:
            case Opcode::shl:
            case Opcode::shr:
                return true;
            case Opcode::mul:
                return n.has(Modifier::lo);
            default:
                return false;
        }
    }

    Kernel& kernel_;
    Definitions definitions_;
    bool changed_ = false;
};

}  // namespace

bool propagate_values(Kernel& kernel) {
    return Propagation(kernel).run();
}

}  // namespace heddle::ptx
