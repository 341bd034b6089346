#include <array>
#include <cstdint>

#include "isa/ptx/schedule/definitions.h"
#include "isa/ptx/schedule/edit.h"
#include "isa/ptx/schedule/effects.h"
#include "isa/ptx/schedule/fuse.h"

namespace heddle::ptx {
namespace {

using Kind = Operand::Kind;

bool is_plain(const Instruction& n, unsigned bits) {
    return bits_of(n.type()) == bits && !is_float(n.type()) && n.type() != Type::u16x2 &&
           n.type() != Type::s16x2 && n.type() != Type::pred && !n.has(Modifier::cc) && !n.has(Modifier::sat);
}

class Rewriter {
  public:
    explicit Rewriter(Kernel& kernel) : kernel_(kernel), definitions_(kernel) {
        gone_.assign(kernel.instructions.size(), false);
    }

    bool run() {
        for (std::uint32_t i = 0; i < kernel_.instructions.size(); ++i) {
            if (kernel_.instructions[i].operands.empty() || definitions_.uses(i).writes.empty()) continue;
            if (add_product(i) || pack_halves(i)) continue;
            combine_logic(i);
        }
        if (changed_) remove_instructions(kernel_, gone_);
        return changed_;
    }

  private:
    /// The unguarded instruction whose only reader is instruction i, through operand o, and whose own
    /// operands are still the same there. It may be rewritten into i.
    std::uint32_t producer(std::uint32_t i, std::size_t o) const {
        const Operand& operand = kernel_.instructions[i].operands[o];
        if (operand.kind != Kind::reg || operand.negated) return kNoInstruction;
        const std::uint32_t at = definitions_.reaching(operand.index, i);
        if (at == kNoInstruction || gone_[at] || touched(at)) return kNoInstruction;
        if (definitions_.flow().block_of[at] != definitions_.flow().block_of[i]) return kNoInstruction;
        if (effect_of(kernel_.instructions[at]) != Effect::none) return kNoInstruction;
        if (definitions_.uses(at).writes.size() != 1) return kNoInstruction;
        if (!definitions_.read_only_by(operand.index, at, i)) return kNoInstruction;
        for (const std::uint32_t r : definitions_.uses(at).reads) {
            if (!definitions_.unchanged(r, at, i)) return kNoInstruction;
        }
        return at;
    }

    // Rewritten in this pass: what definitions_ says of its reads is stale.
    bool touched(std::uint32_t at) const { return at < rewritten_.size() && rewritten_[at]; }

    void take(std::uint32_t producer, std::uint32_t consumer) {
        gone_[producer] = changed_ = true;
        rewritten_.resize(kernel_.instructions.size(), false);
        rewritten_[consumer] = true;
    }

    // add(mul.lo), add(mul.wide): mad
    bool add_product(std::uint32_t i) {
        Instruction& n = kernel_.instructions[i];
        if (n.opcode != Opcode::add || !(is_plain(n, 32) || is_plain(n, 64))) return false;
        for (const std::size_t o : {1u, 2u}) {
            const std::uint32_t at = producer(i, o);
            if (at == kNoInstruction) continue;
            const Instruction& product = kernel_.instructions[at];
            if (product.opcode != Opcode::mul || is_float(product.type())) continue;
            const bool wide = product.has(Modifier::wide) && bits_of(product.type()) == 32;
            const bool low = product.has(Modifier::lo) && bits_of(product.type()) == 32;
            if (bits_of(n.type()) != (wide ? 64u : 32u) || !(wide || low)) continue;
            Instruction sum = n;
            if (!respell(sum, Opcode::mad, {wide ? "wide" : "lo", name_of(product.type())})) continue;
            sum.operands = {n.operands[0], product.operands[1], product.operands[2], n.operands[3 - o]};
            n = sum;
            take(at, i);
            return true;
        }
        return false;
    }

    // mov.b32 {low, high} of two numbers that were just converted to f16 or bf16
    bool pack_halves(std::uint32_t i) {
        Instruction& n = kernel_.instructions[i];
        if (n.opcode != Opcode::mov || n.operands.size() != 2 || n.operands[1].kind != Kind::vector)
            return false;
        if (n.operands[1].elements.size() != 2 || bits_of(n.type()) != 32 || n.guard >= 0) return false;
        std::array<std::uint32_t, 2> at;
        for (std::size_t e = 0; e < 2; ++e) {
            Instruction& probe = kernel_.instructions[i];
            const Operand& element = probe.operands[1].elements[e];
            if (element.kind != Kind::reg) return false;
            at[e] = definitions_.reaching(element.index, i);
            if (at[e] == kNoInstruction || gone_[at[e]] || touched(at[e])) return false;
            if (!definitions_.read_only_by(element.index, at[e], i)) return false;
            if (definitions_.flow().block_of[at[e]] != definitions_.flow().block_of[i]) return false;
            const Instruction& conversion = kernel_.instructions[at[e]];
            if (conversion.opcode != Opcode::cvt || !conversion.has(Modifier::rn) ||
                conversion.modifiers.count() != 1 || conversion.type(1) != Type::f32)
                return false;
            if (conversion.type(0) != Type::f16 && conversion.type(0) != Type::bf16) return false;
            const Operand& source = conversion.operands[1];
            if (source.kind != Kind::reg || !definitions_.unchanged(source.index, at[e], i)) return false;
        }
        const Type type = kernel_.instructions[at[0]].type(0);
        if (at[0] == at[1] || type != kernel_.instructions[at[1]].type(0)) return false;
        Instruction both = n;
        if (!respell(both, Opcode::cvt, {"rn", type == Type::f16 ? "f16x2" : "bf16x2", "f32"})) return false;
        both.operands = {n.operands[0], kernel_.instructions[at[1]].operands[1],
                         kernel_.instructions[at[0]].operands[1]};
        n = both;
        take(at[0], i);
        take(at[1], i);
        return true;
    }

    // --- logic of three operands

    struct Logic {
        std::array<Operand, 3> inputs;
        std::size_t count = 0;
        std::uint8_t table = 0;
    };

    static constexpr std::array<std::uint8_t, 3> kInputTables = {0xF0, 0xCC, 0xAA};  // PTX manual, lop3

    static bool is_logic(const Instruction& n) {
        switch (n.opcode) {
            case Opcode::and_:
            case Opcode::or_:
            case Opcode::xor_:
            case Opcode::not_:
                return bits_of(n.type()) == 32 && n.type() != Type::pred;
            default:
                return false;
        }
    }

    static std::uint8_t apply(Opcode opcode, std::uint8_t a, std::uint8_t b) {
        switch (opcode) {
            case Opcode::and_:
                return a & b;
            case Opcode::or_:
                return a | b;
            case Opcode::xor_:
                return a ^ b;
            default:
                return static_cast<std::uint8_t>(~a);
        }
    }

    /// Adds an input; its table. 0 stands for "too many".
    static std::uint8_t input(Logic& logic, const Operand& operand) {
        for (std::size_t k = 0; k < logic.count; ++k) {
            if (logic.inputs[k] == operand) return kInputTables[k];
        }
        if (logic.count == logic.inputs.size()) return 0;
        logic.inputs[logic.count] = operand;
        return kInputTables[logic.count++];
    }

    /// Table of instruction `at` in terms of the inputs; 0 when there are too many.
    static std::uint8_t table_of(const Instruction& n, Logic& logic) {
        const std::uint8_t a = input(logic, n.operands[1]);
        if (n.opcode == Opcode::not_) return a == 0 ? 0 : apply(n.opcode, a, 0);
        const std::uint8_t b = input(logic, n.operands[2]);
        return a == 0 || b == 0 ? 0 : apply(n.opcode, a, b);
    }

    bool combine_logic(std::uint32_t i) {
        Instruction& n = kernel_.instructions[i];
        if (!is_logic(n) || n.guard >= 0) return false;
        for (std::size_t o = 1; o < n.operands.size(); ++o) {
            const std::uint32_t at = producer(i, o);
            if (at == kNoInstruction || !is_logic(kernel_.instructions[at])) continue;
            Logic logic;
            const std::uint8_t inner = table_of(kernel_.instructions[at], logic);
            std::uint8_t other = 0;
            if (n.opcode != Opcode::not_) other = input(logic, n.operands[3 - o]);
            if (inner == 0 || (n.opcode != Opcode::not_ && other == 0)) continue;
            Instruction combined = n;
            const std::uint8_t table = apply(n.opcode, inner, other);
            if (!respell(combined, Opcode::lop3, {"b32"})) return false;
            combined.operands = {n.operands[0]};
            for (std::size_t k = 0; k < 3; ++k) {
                Operand given = k < logic.count ? logic.inputs[k] : make_immediate(0, Type::b32);
                if (given.kind == Kind::immediate) given = make_immediate(given.bits, Type::b32);
                combined.operands.push_back(given);
            }
            combined.operands.push_back(make_immediate(table, Type::u64));
            n = combined;
            take(at, i);
            return true;
        }
        return false;
    }

    Kernel& kernel_;
    Definitions definitions_;
    std::vector<bool> gone_, rewritten_;
    bool changed_ = false;
};

}  // namespace

bool rewrite_pairs(Kernel& kernel) {
    return Rewriter(kernel).run();
}

}  // namespace heddle::ptx
