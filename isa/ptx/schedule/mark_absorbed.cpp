#include <algorithm>

#include "isa/ptx/schedule/definitions.h"
#include "isa/ptx/schedule/effects.h"
#include "isa/ptx/schedule/fuse.h"

namespace heddle::ptx {
namespace {

using Kind = Operand::Kind;

bool is_integer_of(const Instruction& n, unsigned bits) {
    return bits_of(n.type()) == bits && !is_float(n.type()) && n.type() != Type::pred &&
           n.type() != Type::u16x2 && n.type() != Type::s16x2 && !n.has(Modifier::cc) &&
           !n.has(Modifier::sat);
}

bool is_sum(const Instruction& n, unsigned bits) {
    return (n.opcode == Opcode::add || n.opcode == Opcode::sub) && is_integer_of(n, bits);
}

bool shifts_by_constant(const Instruction& n, unsigned bits) {
    return n.opcode == Opcode::shl && is_integer_of(n, bits) && n.operands[2].kind == Kind::immediate;
}

bool widens(const Instruction& n) {
    return n.opcode == Opcode::cvt && bits_of(n.type(0)) == 64 && !is_float(n.type(0)) &&
           !is_float(n.type(1)) && bits_of(n.type(1)) == 32;
}

// FADD, FMUL, FFMA, FSETP, FMNMX take -x and |x| of every source.
bool takes_sign(const Instruction& n) {
    if (n.types.empty() || (n.type() != Type::f32 && n.type() != Type::f64)) return false;
    switch (n.opcode) {
        case Opcode::add:
        case Opcode::sub:
        case Opcode::mul:
        case Opcode::fma:
        case Opcode::setp:
            return true;
        case Opcode::min:
        case Opcode::max:
            return n.type() == Type::f32;
        default:
            return false;
    }
}

// HADD2.F32, PRMT and shifts pick a half of their source.
bool picks_half(const Instruction& n) {
    if (n.opcode == Opcode::cvt)
        return n.type(0) == Type::f32 && (n.type(1) == Type::f16 || n.type(1) == Type::bf16);
    const bool half = n.type() == Type::f16 || n.type() == Type::bf16;
    return half && (n.opcode == Opcode::add || n.opcode == Opcode::sub || n.opcode == Opcode::mul ||
                    n.opcode == Opcode::fma);
}

class Marker {
  public:
    explicit Marker(Kernel& kernel) : kernel_(kernel), definitions_(kernel) {
        consumed_.assign(kernel.instructions.size(), false);
        readers_.resize(kernel.registers.size() + 1);
        for (std::uint32_t i = 0; i < kernel.instructions.size(); ++i) {
            for (const std::uint32_t r : definitions_.uses(i).reads) readers_[r].push_back(i);
        }
    }

    void run() {
        for (std::uint32_t i = 0; i < kernel_.instructions.size(); ++i) {
            Instruction& n = kernel_.instructions[i];
            if (is_sum(n, 32)) absorb_into_sum(i, 32);
            if (is_sum(n, 64)) absorb_into_sum(i, 64);
            if (shifts_by_constant(n, 64)) absorb_widening(i);
            mark_field(n);
            mark_sign(i);
            mark_halves(i);
            mark_predicate(i);
            mark_copy_size(i);
        }
    }

  private:
    /// As in rewrite_pairs.cpp, but the two stay apart: the operands may change in between.
    std::uint32_t producer(std::uint32_t i, std::size_t o) const {
        const Operand& operand = kernel_.instructions[i].operands[o];
        if (operand.kind != Kind::reg || operand.negated) return kNoInstruction;
        const std::uint32_t at = definitions_.reaching(operand.index, i);
        if (at == kNoInstruction || consumed_[at] || kernel_.instructions[at].operations == 0)
            return kNoInstruction;
        if (definitions_.flow().block_of[at] != definitions_.flow().block_of[i]) return kNoInstruction;
        return definitions_.read_only_by(operand.index, at, i) ? at : kNoInstruction;
    }

    // IADD3: a + b + c. LEA: (a << n) + b. Of 64 bits LEA and LEA.HI.X, or IADD3 and IADD3.X with a widened
    // number.
    void absorb_into_sum(std::uint32_t i, unsigned bits) {
        for (std::size_t o = 1; o < 3; ++o) {
            const std::uint32_t at = producer(i, o);
            if (at == kNoInstruction) continue;
            const Instruction& n = kernel_.instructions[at];
            const bool absorbed =
                (is_sum(n, bits)) || shifts_by_constant(n, bits) || (bits == 64 && widens(n));
            if (!absorbed) continue;
            kernel_.instructions[at].operations = 0;
            consumed_[i] = true;
            return;
        }
    }

    // IMAD.WIDE by a power of two
    void absorb_widening(std::uint32_t i) {
        const std::uint32_t at = producer(i, 1);
        if (at == kNoInstruction || !widens(kernel_.instructions[at])) return;
        kernel_.instructions[at].operations = 0;
        kernel_.instructions[i].operations = 1;
        consumed_[i] = true;
    }

    // A field at one end of the word needs the shift or the mask alone.
    static void mark_field(Instruction& n) {
        if (n.opcode != Opcode::bfe || bits_of(n.type()) != 32) return;
        if (n.operands[2].kind != Kind::immediate || n.operands[3].kind != Kind::immediate) return;
        const std::uint64_t first = n.operands[2].bits & 0xFF, length = n.operands[3].bits & 0xFF;
        if (first + length >= 32 || (first == 0 && !is_signed(n.type()))) n.operations = 1;
    }

    bool all_readers(std::uint32_t i, std::uint32_t reg, bool (*accepts)(const Instruction&)) const {
        if (definitions_.only(reg) != i || readers_[reg].empty()) return false;
        return std::all_of(readers_[reg].begin(), readers_[reg].end(),
                           [&](std::uint32_t reader) { return accepts(kernel_.instructions[reader]); });
    }

    void mark_sign(std::uint32_t i) {
        Instruction& n = kernel_.instructions[i];
        const bool sign = (n.opcode == Opcode::neg || n.opcode == Opcode::abs) &&
                          (n.type() == Type::f32 || n.type() == Type::f64);
        if (sign && n.guard < 0 && all_readers(i, n.operands[0].index, takes_sign)) n.operations = 0;
    }

    void mark_halves(std::uint32_t i) {
        Instruction& n = kernel_.instructions[i];
        if (n.opcode != Opcode::mov || n.operands[0].kind != Kind::vector || bits_of(n.type()) != 32) return;
        const std::vector<Operand>& halves = n.operands[0].elements;
        const bool picked = halves.size() == 2 && n.guard < 0 &&
                            std::all_of(halves.begin(), halves.end(), [&](const Operand& half) {
                                return half.kind == Kind::sink ||
                                       (half.kind == Kind::reg && all_readers(i, half.index, picks_half));
                            });
        if (picked) n.operations = 0;
    }

    // ISETP.AND P, a, b, Q: a comparison combined with a predicate.
    void mark_predicate(std::uint32_t i) {
        Instruction& n = kernel_.instructions[i];
        const bool combines = n.opcode == Opcode::and_ || n.opcode == Opcode::or_ || n.opcode == Opcode::xor_;
        if (n.opcode == Opcode::not_ && n.type() == Type::pred) {
            n.operations = 0;  // readers take !P
            return;
        }
        if (!combines || n.type() != Type::pred) return;
        for (std::size_t o = 1; o < 3; ++o) {
            const std::uint32_t at = producer(i, o);
            if (at == kNoInstruction) continue;
            const Instruction& comparison = kernel_.instructions[at];
            const bool combined = comparison.has(Modifier::and_) || comparison.has(Modifier::or_) ||
                                  comparison.has(Modifier::xor_);
            if (comparison.opcode != Opcode::setp || combined || n.guard >= 0) continue;
            n.operations = 0;
            consumed_[at] = true;
            return;
        }
    }

    // LDGSTS fills with zeros where its predicate is false: the size as selp(bytes, 0, p) is the predicate.
    void mark_copy_size(std::uint32_t i) {
        Instruction& n = kernel_.instructions[i];
        if (n.opcode != Opcode::selp || n.guard >= 0 || n.operands[1].kind != Kind::immediate ||
            n.operands[2].kind != Kind::immediate || n.operands[2].bits != 0)
            return;
        const bool copies = all_readers(i, n.operands[0].index, [](const Instruction& reader) {
            return reader.opcode == Opcode::cp && !reader.has(Modifier::bulk) && reader.operands.size() > 3;
        });
        if (copies) n.operations = 0;
    }

    Kernel& kernel_;
    Definitions definitions_;
    std::vector<bool> consumed_;  // does the work of another one already
    std::vector<std::vector<std::uint32_t>> readers_;
};

}  // namespace

void mark_absorbed(Kernel& kernel) {
    Marker(kernel).run();
}

}  // namespace heddle::ptx
