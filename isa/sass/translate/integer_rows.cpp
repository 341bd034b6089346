// Rows of the translator: integer arithmetic, logic, shifts and comparisons, of general and of uniform registers.
#include <algorithm>
#include <string>

#include "isa/ptx/machine_form.h"
#include "isa/sass/translate/rows.h"

namespace heddle::sass {
namespace {

namespace form = ptx::machine_form;

bool is_predicate(const Operand& operand) {
    return operand.kind == OperandKind::predicate || operand.kind == OperandKind::uniform_predicate;
}
std::string number(unsigned value) {
    return std::to_string(value);
}
/// The operand without sign; `bit` is set in `flags` where it is negated or inverted.
std::string take_sign(Emitter& e, const Operand& operand, unsigned bit, unsigned& flags) {
    Operand plain = operand;
    if (plain.negated || plain.inverted) flags |= bit;
    plain.negated = plain.inverted = false;
    return e.source(plain);
}
/// A predicate without '!'; `bit` is set in `flags` where it is negated.
std::string take_negation(Emitter& e, const Operand& operand, unsigned bit, unsigned& flags) {
    if (operand.negated) flags |= bit;
    return e.plain_predicate(operand);
}

// IADD3 d, {carry, carry,} a, b, c {, carry in, carry in}
void translate_iadd3(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool extended = m.take("X");
    m.take("64");
    m.finish();
    if (n.has("64")) e.refuse("64-bit sums are not known");
    std::vector<const Operand*> outs, sources, ins;
    for (std::size_t i = 1; i < n.operands.size(); ++i) {
        const Operand& o = n.operands[i];
        if (is_predicate(o))
            (sources.empty() ? outs : ins).push_back(&o);
        else
            sources.push_back(&o);
    }
    if (sources.size() < 2 || sources.size() > 3 || outs.size() > 2 || ins.size() > 2) e.refuse("these operands are not known");
    const bool carries = std::any_of(outs.begin(), outs.end(), [](const Operand* o) { return !Emitter::is_nowhere(*o); });
    const std::string d = e.destination(e.operand(0));
    Operand zero;
    zero.kind = OperandKind::general;
    zero.index = kZeroRegister;
    if (sources.size() == 2) sources.push_back(&zero);
    if (!extended && !ins.empty()) e.refuse("carries are added by .X only");
    if (!extended) {
        for (const Operand* o : sources) {
            if (o->inverted) e.refuse("an inverted operand is known with .X only");
        }
    }
    unsigned flags = 0;
    std::string text[3];
    for (unsigned i = 0; i < 3; ++i) text[i] = take_sign(e, *sources[i], 1u << i, flags);
    if (!carries && !extended) {
        const bool third = !(text[2] == "0" && (flags & 4u) == 0);
        if (flags == 0 && !third) return e.principal("add.s32 " + d + ", " + text[0] + ", " + text[1] + ";");
        if (flags == 2 && !third) return e.principal("sub.s32 " + d + ", " + text[0] + ", " + text[1] + ";");
        if (flags == 1 && !third) return e.principal("sub.s32 " + d + ", " + text[1] + ", " + text[0] + ";");
        return e.principal("$iadd3 " + d + ", " + text[0] + ", " + text[1] + ", " + text[2] + ", " + number(flags) + ";");
    }
    unsigned negated = 0;
    std::string in[2] = {"0", "0"}, out[2] = {"_", "_"};
    for (std::size_t i = 0; i < ins.size(); ++i) in[i] = take_negation(e, *ins[i], 1u << i, negated);
    for (std::size_t i = 0; i < outs.size(); ++i) out[i] = e.predicate_destination(*outs[i]);
    if (extended) flags |= form::kExtended;
    e.principal("$iadd3_carry " + d + ", {" + out[0] + ", " + out[1] + "}, {" + text[0] + ", " + text[1] + ", " + text[2] + "}, {" + in[0] + ", " + in[1] + "}, " +
                number(flags) + ", " + number(negated) + ";");
}

// IMAD{.WIDE, .HI, .X, .MOV, .IADD, .SHL} d, {carry,} a, b, c {, carry in}. MOV, IADD and SHL say what it is used for.
void translate_imad(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool move = m.take("MOV"), sum = m.take("IADD"), shift = m.take("SHL");
    const bool wide = m.take("WIDE"), high = m.take("HI"), extended = m.take("X");
    const bool is_unsigned = m.take("U32");
    m.finish();
    std::vector<const Operand*> outs, sources, ins;
    for (std::size_t i = 1; i < n.operands.size(); ++i) {
        const Operand& o = n.operands[i];
        if (is_predicate(o))
            (sources.empty() ? outs : ins).push_back(&o);
        else
            sources.push_back(&o);
    }
    if (sources.size() != 3 || outs.size() > 1 || ins.size() > 1) e.refuse("these operands are not known");
    const Operand &a = *sources[0], &b = *sources[1], &c = *sources[2];
    const bool carry_out = !outs.empty() && !Emitter::is_nowhere(*outs[0]);
    if (!wide && !high && !extended && !carry_out) {
        if (a.inverted || b.inverted || c.inverted) e.refuse("an inverted operand is not known here");
        unsigned flags = 0, product = 0;
        const std::string x = take_sign(e, a, 1, product), y = take_sign(e, b, 2, product), z = take_sign(e, c, form::kNegateC, flags);
        if (product == 1 || product == 2) flags |= form::kNegateA;
        const std::string d = e.destination(e.operand(0));
        if (move || x == "0" || y == "0") {
            if (flags & form::kNegateC) return e.principal("neg.s32 " + d + ", " + z + ";");
            return e.principal("mov.b32 " + d + ", " + z + ";");
        }
        if (sum && y == "0x1" && flags == 0) return e.principal("add.s32 " + d + ", " + x + ", " + z + ";");
        if (shift && z == "0" && flags == 0) return e.principal("mul.lo.u32 " + d + ", " + x + ", " + y + ";");
        if (flags == 0) return e.principal("mad.lo.u32 " + d + ", " + x + ", " + y + ", " + z + ";");
        return e.principal("$imad " + d + ", " + x + ", " + y + ", " + z + ", " + number(flags) + ";");
    }
    unsigned flags = is_unsigned || (!wide && !high) ? 0 : form::kSigned, product = 0;
    const std::string x = take_sign(e, a, 1, product), y = take_sign(e, b, 2, product);
    if (product == 1 || product == 2) flags |= form::kNegateProduct;
    Operand addend = c;
    addend.negated = addend.inverted = false;
    if (c.inverted) {
        if (!extended || wide || high) e.refuse("an inverted operand is not known here");
    }
    std::string z;
    if (wide || high) {
        if (c.negated) flags |= form::kNegateAddend;
        z = e.words(addend, 2);
    } else {
        // .X of the lower half: ~c and -c differ by what the carry brings.
        Operand one = c;
        if (one.negated) {
            one.negated = false;
            one.inverted = true;
        }
        z = "{" + e.integer_source(one) + ", 0}";
    }
    std::string in = "0", out = outs.empty() ? "_" : e.predicate_destination(*outs[0]);
    if (extended) {
        if (ins.empty()) e.refuse("a carry is expected");
        flags |= form::kAddCarry;
        in = take_negation(e, *ins[0], form::kNegatedCarry, flags);
    } else if (!ins.empty()) {
        e.refuse("carries are added by .X only");
    }
    std::string d;
    if (wide) {
        d = e.destination_words(e.operand(0), 2);
    } else if (high) {
        flags |= form::kHigh;
        d = "{" + e.destination(e.operand(0)) + ", _}";
    } else {
        if (carry_out) e.refuse("a carry out of a product's lower half is not known");
        d = "{" + e.destination(e.operand(0)) + ", _}";
    }
    e.principal("$imad_wide " + d + ", " + out + ", {" + x + ", " + y + "}, " + z + ", " + in + ", " + number(flags) + ";");
}

// LOP3.LUT {p,} d, a, b, c, table, q
void translate_lop3(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    m.take("LUT");
    const bool conjunction = m.take("PAND");
    m.finish();
    std::size_t o = 0;
    const bool predicate = is_predicate(e.operand(0));
    const std::string p = predicate ? e.predicate_destination(e.operand(o++)) : "_";
    const std::string d = e.destination(e.operand(o++));
    e.expect_operands(o + 4, o + 5);
    const std::string a = e.integer_source(e.operand(o)), b = e.integer_source(e.operand(o + 1)), c = e.integer_source(e.operand(o + 2));
    const auto table = static_cast<unsigned>(e.operand(o + 3).value) & 0xFFu;
    if (p == "_") {
        // The frequent tables of two operands are cheaper than a look-up.
        const std::string ab = d + ", " + a + ", " + b + ";";
        if (c == "0" && table == 0xC0) return e.principal("and.b32 " + ab);
        if (c == "0" && table == 0xFC) return e.principal("or.b32 " + ab);
        if (c == "0" && table == 0x3C) return e.principal("xor.b32 " + ab);
        return e.principal("lop3.b32 " + d + ", " + a + ", " + b + ", " + c + ", " + number(table) + ";");
    }
    const std::string q = n.operands.size() > o + 4 ? e.predicate_source(e.operand(o + 4)) : "0";
    e.principal(std::string("lop3.") + (conjunction ? "and" : "or") + ".b32 " + d + "|" + p + ", " + a + ", " + b + ", " + c + ", " + number(table) + ", " + q + ";");
}

// LOP{.AND, .OR, .XOR} of older code: LOP d, a, b.
void translate_lop(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const std::string_view operation = m.require_one_of({"AND", "OR", "XOR"});
    m.finish();
    e.expect_operands(3);
    e.principal(std::string(operation == "AND" ? "and" : operation == "OR" ? "or" : "xor") + ".b32 " + e.destination(e.operand(0)) + ", " +
                e.integer_source(e.operand(1)) + ", " + e.integer_source(e.operand(2)) + ";");
}

// PLOP3.LUT p, q, a, b, c, table of p, table of q
void translate_plop3(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    m.take("LUT");
    m.finish();
    e.expect_operands(7);
    unsigned negated = 0;
    const std::string p = e.predicate_destination(e.operand(0)), q = e.predicate_destination(e.operand(1));
    const std::string a = take_negation(e, e.operand(2), 1, negated), b = take_negation(e, e.operand(3), 2, negated), c = take_negation(e, e.operand(4), 4, negated);
    e.principal("$plop3 " + p + ", " + q + ", " + a + ", " + b + ", " + c + ", " + number(static_cast<unsigned>(e.operand(5).value) & 0xFFu) + ", " +
                number(static_cast<unsigned>(e.operand(6).value) & 0xFFu) + ", " + number(negated) + ";");
}

// SHF{.L, .R}{.W}{.U32, .S32, .U64, .S64}{.HI} d, low, amount, high
void translate_shf(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool right = m.require_one_of({"L", "R"}) == "R";
    const bool wrap = m.take("W");
    const std::string_view type = m.take_one_of({"U32", "S32", "U64", "S64"});
    const bool high = m.take("HI");
    m.finish();
    e.expect_operands(4);
    const std::string d = e.destination(e.operand(0)), low = e.source(e.operand(1)), amount = e.source(e.operand(2)), upper = e.source(e.operand(3));
    const bool is_signed = type == "S32" || type == "S64", wide = type == "U64" || type == "S64";
    if (!wrap && !wide) {
        if (!right && !high) return e.principal("shl.b32 " + d + ", " + low + ", " + amount + ";");
        if (right && high) return e.principal(std::string("shr.") + (is_signed ? "s32 " : "u32 ") + d + ", " + upper + ", " + amount + ";");
    }
    const unsigned flags = (right ? form::kShiftRight : 0) | (is_signed ? form::kShiftSigned : 0) | (high ? form::kShiftHigh : 0) |
                           (wrap ? form::kShiftWrap : 0) | (wide ? form::kShift64 : 0);
    e.principal("$shf " + d + ", " + low + ", " + amount + ", " + upper + ", " + number(flags) + ";");
}

// LEA{.HI}{.X}{.SX32} d, {carry,} a, b, {c,} shift {, carry in}
void translate_lea(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool high = m.take("HI"), extended = m.take("X"), sign = m.take("SX32");
    m.finish();
    std::size_t o = 1;
    const std::string d = e.destination(e.operand(0));
    std::string out = "_", in = "0";
    if (is_predicate(e.operand(o))) out = e.predicate_destination(e.operand(o++));
    unsigned flags = (high ? form::kLeaHigh : 0) | (sign ? form::kLeaSigned : 0);
    const std::size_t values = high && !sign ? 3 : 2;
    const std::size_t end = o + values + 1 + (extended ? 1 : 0);
    e.expect_operands(end);
    std::string a;
    if (e.operand(o).negated || e.operand(o).inverted) {
        if (high) e.refuse("a negated operand is not known with .HI");
        a = e.integer_source(e.operand(o));
    } else {
        a = e.source(e.operand(o));
    }
    if (e.operand(o + 1).negated && out != "_") e.refuse("a carry with a negated addend is not known");
    const std::string b = e.integer_source(e.operand(o + 1)), c = values == 3 ? e.source(e.operand(o + 2)) : "0";
    const Operand& amount = e.operand(o + values);
    if (amount.kind != OperandKind::integer || amount.value < 0 || amount.value > 31) e.refuse("the shift must be 0 to 31");
    if (extended) {
        flags |= form::kLeaCarry;
        in = take_negation(e, e.operand(o + values + 1), form::kLeaNegatedCarry, flags);
    }
    e.principal("$lea " + d + ", " + out + ", {" + a + ", " + b + ", " + c + "}, " + in + ", " + std::to_string(amount.value) + ", " + number(flags) + ";");
}

struct ComparisonNames {
    std::string_view machine, ptx;
    form::Comparison code;
};
constexpr ComparisonNames kComparisons[] = {{"LT", "lt", form::kLess}, {"EQ", "eq", form::kEqual}, {"LE", "le", form::kLessEqual},
                                            {"GT", "gt", form::kGreater}, {"NE", "ne", form::kNotEqual}, {"GE", "ge", form::kGreaterEqual}};

// ISETP.comparison{.U32}.{AND, OR, XOR}{.EX} p, q, a, b, c {, result of the lower halves}
void translate_isetp(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const ComparisonNames* comparison = nullptr;
    for (const ComparisonNames& one : kComparisons) {
        if (m.take(one.machine)) comparison = &one;
    }
    std::string_view constant;
    if (comparison == nullptr) constant = m.require_one_of({"F", "T"});
    const bool is_unsigned = m.take("U32");
    const std::string_view boolean = m.take_one_of({"AND", "OR", "XOR"});
    const bool extended = m.take("EX");
    m.finish();
    e.expect_operands(extended ? 6 : 5);
    if (!constant.empty()) e.refuse("constant comparisons are not known");
    const std::string p = e.predicate_destination(e.operand(0)), q = e.predicate_destination(e.operand(1));
    const std::string a = e.integer_source(e.operand(2)), b = e.integer_source(e.operand(3));
    if (extended) {
        unsigned negated = 0;
        const std::string c = take_negation(e, e.operand(4), 1, negated), lower = take_negation(e, e.operand(5), 2, negated);
        const unsigned operation = boolean == "OR" ? 1 : boolean == "XOR" ? 2 : 0;
        const unsigned flags = static_cast<unsigned>(comparison->code) | (is_unsigned ? 0 : form::kCompareSigned) | operation << 4;
        return e.principal("$isetp_extended " + p + ", " + q + ", " + a + ", " + b + ", " + c + ", " + lower + ", " + number(flags) + ", " + number(negated) + ";");
    }
    const std::string both = q == "_" ? p : p + "|" + q;
    const std::string type = is_unsigned ? ".u32 " : ".s32 ";
    const Operand& c = e.operand(4);
    const bool neutral = c.index == kTruePredicate && (boolean == "AND" || boolean.empty() ? !c.negated : c.negated);
    if (neutral) return e.principal("setp." + std::string(comparison->ptx) + type + both + ", " + a + ", " + b + ";");
    const std::string operation = boolean == "OR" ? ".or" : boolean == "XOR" ? ".xor" : ".and";
    e.principal("setp." + std::string(comparison->ptx) + operation + type + both + ", " + a + ", " + b + ", " + e.predicate_source(c) + ";");
}

std::string minimum_type(Modifiers& m) {
    const std::string_view named = m.take_one_of({"U32", "S32", "S16x2", "U16x2"});
    return named == "U32" ? ".u32 " : named == "S16x2" ? ".s16x2 " : named == "U16x2" ? ".u16x2 " : ".s32 ";
}

// IMNMX{.U32} d, a, b, p: the smaller where p is true.
void translate_imnmx(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const std::string type = minimum_type(m);
    const bool relu = m.take("RELU");
    m.finish();
    e.expect_operands(4);
    const std::string d = e.destination(e.operand(0)), a = e.integer_source(e.operand(1)), b = e.integer_source(e.operand(2));
    const Operand& p = e.operand(3);
    const std::string suffix = relu ? ".relu" + type : type;
    if (p.index == kTruePredicate) return e.principal((p.negated ? "max" : "min") + suffix + d + ", " + a + ", " + b + ";");
    const std::string low = e.temporary(), high = e.temporary();
    e.prepare("min" + suffix + low + ", " + a + ", " + b + ";");
    e.prepare("max" + suffix + high + ", " + a + ", " + b + ";");
    e.principal("selp.b32 " + d + ", " + (p.negated ? high : low) + ", " + (p.negated ? low : high) + ", " + e.plain_predicate(p) + ";");
}

void translate_popc(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    m.finish();
    e.expect_operands(2);
    e.principal("popc.b32 " + e.destination(e.operand(0)) + ", " + e.integer_source(e.operand(1)) + ";");
}

// FLO{.U32}{.SH} {d, p,} a: the position of the highest bit that is one (or differs from the sign).
void translate_flo(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool is_unsigned = m.take("U32"), amount = m.take("SH");
    m.finish();
    e.expect_operands(2, 3);
    const bool predicate = n.operands.size() == 3;
    const std::string a = e.integer_source(e.operand(predicate ? 2 : 1));
    if (predicate && !Emitter::is_nowhere(e.operand(1))) e.refuse("the predicate of FLO is not known");
    e.principal(std::string("bfind") + (amount ? ".shiftamt" : "") + (is_unsigned ? ".u32 " : ".s32 ") + e.destination(e.operand(0)) + ", " + a + ";");
}

void translate_brev(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    m.finish();
    e.expect_operands(2);
    e.principal("brev.b32 " + e.destination(e.operand(0)) + ", " + e.integer_source(e.operand(1)) + ";");
}

// SGXT{.U32}{.W} d, a, width
void translate_sgxt(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool is_unsigned = m.take("U32"), wrap = m.take("W");
    m.finish();
    e.expect_operands(3);
    e.principal(std::string("szext.") + (wrap ? "wrap" : "clamp") + (is_unsigned ? ".u32 " : ".s32 ") + e.destination(e.operand(0)) + ", " +
                e.source(e.operand(1)) + ", " + e.source(e.operand(2)) + ";");
}

void translate_bmsk(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool wrap = m.take("W");
    m.take("C");
    m.finish();
    e.expect_operands(3);
    e.principal(std::string("bmsk.") + (wrap ? "wrap" : "clamp") + ".b32 " + e.destination(e.operand(0)) + ", " + e.source(e.operand(1)) + ", " + e.source(e.operand(2)) + ";");
}

void translate_iabs(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    m.finish();
    e.expect_operands(2);
    e.principal("abs.s32 " + e.destination(e.operand(0)) + ", " + e.integer_source(e.operand(1)) + ";");
}

// IDP.{4A, 2A.LO, 2A.HI}.{type of a}.{type of b} d, a, b, c
void translate_idp(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const std::string_view kind = m.require_one_of({"4A", "2A"});
    const std::string_view half = m.take_one_of({"LO", "HI"});
    std::string types;
    for (const std::string& modifier : n.modifiers) {
        if (modifier != "S8" && modifier != "U8" && modifier != "S16" && modifier != "U16") continue;
        m.take(modifier);
        types += modifier[0] == 'S' ? ".s32" : ".u32";
    }
    m.finish();
    e.expect_operands(4);
    if (types.size() != 8) e.refuse("two types are expected");
    const std::string name = kind == "4A" ? "dp4a" : half == "HI" ? "dp2a.hi" : "dp2a.lo";
    e.principal(name + types + " " + e.destination(e.operand(0)) + ", " + e.source(e.operand(1)) + ", " + e.source(e.operand(2)) + ", " + e.source(e.operand(3)) + ";");
}

// ISCADD, ISCADD32I are older; VABSDIFF{.U32} d, a, b, c: |a - b| + c
void translate_vabsdiff(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool is_unsigned = m.take("U32");
    m.finish();
    e.expect_operands(4);
    e.principal(std::string("sad.") + (is_unsigned ? "u32 " : "s32 ") + e.destination(e.operand(0)) + ", " + e.source(e.operand(1)) + ", " + e.source(e.operand(2)) + ", " +
                e.source(e.operand(3)) + ";");
}

// VABSDIFF4{.U8, .S8}{.ACC} d, a, b, c: of each byte; .ACC adds them up, and c.
void translate_vabsdiff4(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool is_signed = m.require_one_of({"U8", "S8"}) == "S8", sums = m.take("ACC");
    m.finish();
    e.expect_operands(4);
    const std::string type = is_signed ? ".s32" : ".u32";
    e.principal("vabsdiff4" + std::string(".u32") + type + type + (sums ? ".add " : " ") + e.destination(e.operand(0)) + ", " + e.source(e.operand(1)) + ", " + e.source(e.operand(2)) + ", " +
                e.source(e.operand(3)) + ";");
}

// VIADDMNMX{.U32} d, a, b, c, p: the smaller one of a + b and c where p is true.
void translate_viaddmnmx(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const std::string type = minimum_type(m);
    const bool relu = m.take("RELU"), halves = type == ".s16x2 " || type == ".u16x2 ";
    m.finish();
    e.expect_operands(5);
    const Operand& p = e.operand(4);
    if (p.index != kTruePredicate) e.refuse("a predicate that varies is not known here");
    if (halves && (e.operand(1).negated || e.operand(2).negated || e.operand(3).negated)) e.refuse("a sign is not known here");
    const std::string sum = e.temporary(), a = e.integer_source(e.operand(1)), b = e.integer_source(e.operand(2)), c = e.integer_source(e.operand(3));
    e.prepare((halves ? "add.u16x2 " : "add.s32 ") + sum + ", " + a + ", " + b + ";");
    e.principal((p.negated ? "max" : "min") + std::string(relu ? ".relu" : "") + type + e.destination(e.operand(0)) + ", " + sum + ", " + c + ";");
}

// VIMNMX3{.type} d, a, b, c, p: the smallest of three where p is true.
void translate_vimnmx3(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const std::string type = minimum_type(m);
    m.finish();
    e.expect_operands(5);
    const Operand& p = e.operand(4);
    if (p.index != kTruePredicate) e.refuse("a predicate that varies is not known here");
    const std::string one = e.temporary(), name = p.negated ? "max" : "min";
    e.prepare(name + type + one + ", " + e.integer_source(e.operand(1)) + ", " + e.integer_source(e.operand(2)) + ";");
    e.principal(name + type + e.destination(e.operand(0)) + ", " + one + ", " + e.integer_source(e.operand(3)) + ";");
}

// VIADD{.16x2} d, a, b
void translate_viadd(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool halves = m.take("16x2");
    m.finish();
    e.expect_operands(3);
    if (halves) return e.principal("add.u16x2 " + e.destination(e.operand(0)) + ", " + e.source(e.operand(1)) + ", " + e.source(e.operand(2)) + ";");
    unsigned flags = 0;
    const std::string d = e.destination(e.operand(0)), a = take_sign(e, e.operand(1), 1, flags), b = take_sign(e, e.operand(2), 2, flags);
    if (e.operand(1).inverted || e.operand(2).inverted) e.refuse("an inverted operand is not known here");
    if (flags == 0) return e.principal("add.s32 " + d + ", " + a + ", " + b + ";");
    e.principal("$iadd3 " + d + ", " + a + ", " + b + ", 0, " + number(flags) + ";");
}

constexpr Row kIntegerRows[] = {
    {"IADD3", translate_iadd3}, {"UIADD3", translate_iadd3}, {"IADD", translate_iadd3}, {"UIADD", translate_iadd3},
    {"IMAD", translate_imad},   {"UIMAD", translate_imad},   {"LOP3", translate_lop3}, {"ULOP3", translate_lop3},
    {"LOP", translate_lop},     {"ULOP", translate_lop},     {"PLOP3", translate_plop3}, {"UPLOP3", translate_plop3},
    {"SHF", translate_shf},     {"USHF", translate_shf},     {"LEA", translate_lea},   {"ULEA", translate_lea},
    {"ISETP", translate_isetp}, {"UISETP", translate_isetp}, {"IMNMX", translate_imnmx}, {"UIMNMX", translate_imnmx},
    {"VIMNMX", translate_imnmx}, {"UVIMNMX", translate_imnmx}, {"POPC", translate_popc}, {"UPOPC", translate_popc},
    {"FLO", translate_flo},     {"UFLO", translate_flo},     {"BREV", translate_brev}, {"UBREV", translate_brev},
    {"SGXT", translate_sgxt},   {"USGXT", translate_sgxt},   {"BMSK", translate_bmsk}, {"UBMSK", translate_bmsk},
    {"IABS", translate_iabs},   {"UIABS", translate_iabs},   {"IDP", translate_idp},   {"VABSDIFF", translate_vabsdiff}, {"VABSDIFF4", translate_vabsdiff4},
    {"VIADD", translate_viadd}, {"UVIADD", translate_viadd}, {"VIADDMNMX", translate_viaddmnmx}, {"VIMNMX3", translate_vimnmx3},
};

}  // namespace

std::span<const Row> integer_rows() {
    return kIntegerRows;
}

}  // namespace heddle::sass
