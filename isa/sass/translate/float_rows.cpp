// Rows of the translator: single and double precision.
#include <string>

#include "isa/ptx/machine_form.h"
#include "isa/sass/translate/rows.h"

namespace heddle::sass {
namespace {

namespace form = ptx::machine_form;

struct FloatModifiers {
    std::string rounding = ".rn";
    bool flush = false, saturate = false;
    std::string suffix() const { return rounding + (flush ? ".ftz" : "") + (saturate ? ".sat" : "") + ".f32 "; }
};
FloatModifiers take_float(Modifiers& m) {
    FloatModifiers result;
    result.flush = m.take("FTZ");
    const std::string_view rounding = m.take_one_of({"RM", "RP", "RZ", "RN"});
    if (rounding == "RM") result.rounding = ".rm";
    if (rounding == "RP") result.rounding = ".rp";
    if (rounding == "RZ") result.rounding = ".rz";
    result.saturate = m.take("SAT");
    return result;
}
std::string joint(const std::string& d, const std::string& a, const std::string& b) {
    return d + ", " + a + ", " + b + ";";
}

void translate_fadd(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const FloatModifiers f = take_float(m);
    m.finish();
    e.expect_operands(3);
    const std::string d = e.destination(e.operand(0));
    const bool first = e.operand(1).negated, second = e.operand(2).negated;
    if (first == second) return e.principal("add" + f.suffix() + joint(d, e.float_source(e.operand(1)), e.float_source(e.operand(2))));
    const std::string a = e.unsigned_float_source(e.operand(1)), b = e.unsigned_float_source(e.operand(2));
    e.principal("sub" + f.suffix() + (first ? joint(d, b, a) : joint(d, a, b)));
}

void translate_fmul(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const FloatModifiers f = take_float(m);
    const std::string_view scale = m.take_one_of({"D2", "D4", "D8", "M2", "M4", "M8"});
    m.finish();
    if (!scale.empty()) e.refuse("a scaled product is not known");
    e.expect_operands(3);
    Operand b = e.operand(2), a = e.operand(1);
    if (a.negated && b.negated) a.negated = b.negated = false;
    e.principal("mul" + f.suffix() + joint(e.destination(e.operand(0)), e.float_source(a), e.float_source(b)));
}

void translate_ffma(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const FloatModifiers f = take_float(m);
    m.finish();
    e.expect_operands(4);
    const std::string d = e.destination(e.operand(0));
    const Operand &a = e.operand(1), &b = e.operand(2), &c = e.operand(3);
    const bool product = a.negated != b.negated;
    if (!product && !c.negated) {
        return e.principal("fma" + f.suffix() + d + ", " + e.unsigned_float_source(a) + ", " + e.unsigned_float_source(b) + ", " + e.unsigned_float_source(c) + ";");
    }
    if (f.rounding == ".rn" && !f.saturate) {
        const unsigned flags = (product ? form::kNegateA : 0) | (c.negated ? form::kNegateC : 0) | (f.flush ? form::kFlush : 0);
        return e.principal("$ffma " + d + ", " + e.unsigned_float_source(a) + ", " + e.unsigned_float_source(b) + ", " + e.unsigned_float_source(c) + ", " + std::to_string(flags) + ";");
    }
    Operand x = a, y = b;
    x.negated = product;
    y.negated = false;
    e.principal("fma" + f.suffix() + d + ", " + e.float_source(x) + ", " + e.float_source(y) + ", " + e.float_source(c) + ";");
}

// FMNMX d, a, b, p: the smaller where p is true.
void translate_fmnmx(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool flush = m.take("FTZ"), nan = m.take("NAN"), sign = m.take("XORSIGN");
    m.finish();
    e.expect_operands(4);
    const std::string suffix = std::string(flush ? ".ftz" : "") + (nan ? ".NaN" : "") + (sign ? ".xorsign.abs" : "") + ".f32 ";
    // With .XORSIGN magnitudes are compared, and the signs count all the same.
    const auto magnitude = [&](std::size_t i) {
        Operand operand = e.operand(i);
        if (sign && (!operand.absolute || operand.negated)) e.refuse("magnitudes are expected with .XORSIGN");
        if (sign) operand.absolute = false;
        return operand;
    };
    const std::string d = e.destination(e.operand(0)), a = e.float_source(magnitude(1)), b = e.float_source(magnitude(2));
    const Operand& p = e.operand(3);
    if (p.index == kTruePredicate) return e.principal((p.negated ? "max" : "min") + suffix + joint(d, a, b));
    const std::string low = e.temporary(), high = e.temporary();
    e.prepare("min" + suffix + joint(low, a, b));
    e.prepare("max" + suffix + joint(high, a, b));
    e.principal("selp.f32 " + d + ", " + (p.negated ? high : low) + ", " + (p.negated ? low : high) + ", " + e.plain_predicate(p) + ";");
}

struct FloatComparison {
    std::string_view machine, ptx;
};
constexpr FloatComparison kFloatComparisons[] = {{"LT", "lt"}, {"EQ", "eq"}, {"LE", "le"}, {"GT", "gt"}, {"NE", "ne"}, {"GE", "ge"}, {"NUM", "num"}, {"NAN", "nan"},
                                                 {"LTU", "ltu"}, {"EQU", "equ"}, {"LEU", "leu"}, {"GTU", "gtu"}, {"NEU", "neu"}, {"GEU", "geu"}};

std::string_view take_comparison(Emitter& e, Modifiers& m) {
    std::string_view found;
    for (const FloatComparison& one : kFloatComparisons) {
        if (m.take(one.machine)) found = one.ptx;
    }
    if (found.empty()) e.refuse("a comparison is expected");
    return found;
}

/// A number of 64 bits in a .b64 register, with its signs applied.
std::string signed_pair(Emitter& e, const Operand& operand) {
    std::string value = e.pair_source(operand, true);
    for (const bool absolute : {true, false}) {
        if (absolute ? !operand.absolute : !operand.negated) continue;
        std::string changed = e.wide_temporary();
        e.prepare(std::string(absolute ? "and.b64 " : "xor.b64 ") + changed + ", " + value + (absolute ? ", 0x7fffffffffffffff;" : ", 0x8000000000000000;"));
        value = std::move(changed);
    }
    return value;
}

void compare_numbers(Emitter& e, Modifiers& m, const std::string& type, bool wide) {
    const std::string_view comparison = take_comparison(e, m);
    const bool flush = m.take("FTZ");
    const std::string_view boolean = m.take_one_of({"AND", "OR", "XOR"});
    m.finish();
    e.expect_operands(5);
    const std::string p = e.predicate_destination(e.operand(0)), q = e.predicate_destination(e.operand(1));
    const std::string both = q == "_" ? p : p + "|" + q;
    std::string a, b;
    if (wide) {
        a = signed_pair(e, e.operand(2));
        b = signed_pair(e, e.operand(3));
    } else {
        a = e.float_source(e.operand(2));
        b = e.float_source(e.operand(3));
    }
    const Operand& c = e.operand(4);
    const bool neutral = c.index == kTruePredicate && (boolean == "AND" || boolean.empty() ? !c.negated : c.negated);
    const std::string head = "setp." + std::string(comparison), tail = std::string(flush ? ".ftz" : "") + type + both + ", " + a + ", " + b;
    if (neutral) return e.principal(head + tail + ";");
    e.principal(head + (boolean == "OR" ? ".or" : boolean == "XOR" ? ".xor" : ".and") + tail + ", " + e.predicate_source(c) + ";");
}

void translate_fsetp(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    compare_numbers(e, m, ".f32 ", false);
}
// DSETP.{MAX, MIN}.AND p, q, a, b, PT: whether a is the larger (smaller) one, as max.f64 of PTX has it; q: both are NaN.
void choose_double(Emitter& e, Modifiers& m, const std::string& name) {
    m.take("AND");
    m.finish();
    e.expect_operands(5);
    const Operand& c = e.operand(4);
    if (c.index != kTruePredicate || c.negated) e.refuse("a predicate that varies is not known here");
    const std::string a = signed_pair(e, e.operand(2)), b = signed_pair(e, e.operand(3)), chosen = e.wide_temporary();
    const std::string same = e.predicate_temporary(), nan = e.predicate_temporary();
    e.prepare(name + ".f64 " + chosen + ", " + a + ", " + b + ";");
    e.prepare("setp.eq.b64 " + same + ", " + chosen + ", " + a + ";");
    e.prepare("setp.nan.f64 " + nan + ", " + a + ", " + a + ";");
    if (!Emitter::is_nowhere(e.operand(1))) e.helper("setp.nan.and.f64 " + e.predicate_destination(e.operand(1)) + ", " + b + ", " + b + ", " + nan + ";");
    e.principal("setp.num.and.f64 " + e.predicate_destination(e.operand(0)) + ", " + a + ", " + a + ", " + same + ";");
}
void translate_dsetp(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    if (m.take("MAX")) return choose_double(e, m, "max");
    if (m.take("MIN")) return choose_double(e, m, "min");
    compare_numbers(e, m, ".f64 ", true);
}

// FSET.BF.comparison.bool d, a, b, p: 1.0 or 0; without BF all ones or 0.
void translate_fset(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool number = m.take("BF");
    const std::string_view comparison = take_comparison(e, m);
    const bool flush = m.take("FTZ");
    const std::string_view boolean = m.take_one_of({"AND", "OR", "XOR"});
    m.finish();
    e.expect_operands(4);
    const std::string q = e.predicate_temporary();
    e.prepare("setp." + std::string(comparison) + (boolean == "OR" ? ".or" : boolean == "XOR" ? ".xor" : ".and") + (flush ? ".ftz" : "") + ".f32 " + q + ", " +
              e.float_source(e.operand(1)) + ", " + e.float_source(e.operand(2)) + ", " + e.predicate_source(e.operand(3)) + ";");
    e.principal("selp.b32 " + e.destination(e.operand(0)) + ", " + (number ? "0x3f800000" : "0xffffffff") + ", 0, " + q + ";");
}

void translate_fchk(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    m.take("DIVIDE");
    m.finish();
    e.expect_operands(3);
    const auto bits = [&](const Operand& operand) {
        Operand plain = operand;
        plain.negated = plain.absolute = false;  // it looks at magnitudes
        return e.source(plain);
    };
    e.principal("$fchk " + e.predicate_destination(e.operand(0)) + ", " + bits(e.operand(1)) + ", " + bits(e.operand(2)) + ";");
}

// MUFU.function d, a
void translate_mufu(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const std::string_view function = m.require_one_of({"RCP", "RSQ", "SQRT", "EX2", "LG2", "SIN", "COS", "TANH", "RCP64H", "RSQ64H"});
    const bool half = m.take("F16"), brain = m.take("BF16") || m.take("BF16_V2");
    m.finish();
    e.expect_operands(2);
    if (half || brain) {
        if (function != "EX2" && function != "TANH") e.refuse("modifier .F16 is not known");
        const Operand& a = e.operand(1);
        bool upper = false;
        for (const std::string& suffix : a.suffixes) {
            if (suffix == "H1_H1" || suffix == "H1")
                upper = true;
            else if (suffix != "H0_H0" && suffix != "H0")
                e.refuse("." + suffix + " is not known on this operand");
        }
        if (a.negated || a.absolute) e.refuse("a sign is not known on this operand");
        const std::string from = e.half_temporary(), to = e.half_temporary();
        e.prepare("mov.b32 {" + std::string(upper ? "_, " + from : from + ", _") + "}, " + e.word(a, 0) + ";");
        e.principal(std::string(function == "EX2" ? (brain ? "ex2.approx.ftz" : "ex2.approx") : "tanh.approx") + (brain ? ".bf16 " : ".f16 ") + to + ", " + from + ";");
        return e.helper("mov.b32 " + e.destination(e.operand(0)) + ", {" + to + ", 0};");
    }
    const std::string d = e.destination(e.operand(0));
    if (function == "RCP64H" || function == "RSQ64H") {
        // The upper word of a double, from that of a double.
        const Operand& a = e.operand(1);
        std::string value = a.kind == OperandKind::floating ? e.word(a, 0) : "";
        if (value.empty()) {
            const std::string bits = e.float_source(a);
            value = bits.starts_with("0f") ? "0x" + bits.substr(2) : bits;
        }
        const std::string wide = e.wide_temporary(), result = e.wide_temporary();
        e.prepare("mov.b64 " + wide + ", {0, " + value + "};");
        e.principal(std::string(function == "RCP64H" ? "rcp" : "rsqrt") + ".approx.ftz.f64 " + result + ", " + wide + ";");
        if (d != "_") e.helper("mov.b64 {_, " + d + "}, " + result + ";");
        return;
    }
    const std::string a = e.float_source(e.operand(1));
    // They take subnormal numbers for what they are, except where the compiler scales by itself.
    std::string name;
    if (function == "RCP") name = "rcp.approx.ftz.f32 ";
    if (function == "RSQ") name = "rsqrt.approx.ftz.f32 ";
    if (function == "SQRT") name = "sqrt.approx.ftz.f32 ";
    if (function == "EX2") name = "ex2.approx.ftz.f32 ";
    if (function == "LG2") name = "lg2.approx.ftz.f32 ";
    if (function == "TANH") name = "tanh.approx.f32 ";
    if (function == "SIN" || function == "COS") {
        // The operand is in turns: RRO and FMUL by 1/(2 pi) come before.
        const std::string radians = e.temporary();
        e.prepare("mul.rn.f32 " + radians + ", " + a + ", 0f40C90FDB;");
        return e.principal(std::string(function == "SIN" ? "sin" : "cos") + ".approx.ftz.f32 " + d + ", " + radians + ";");
    }
    e.principal(name + d + ", " + a + ";");
}

std::string double_operand(Emitter& e, const Operand& operand, unsigned bit, unsigned& flags) {
    if (operand.negated) flags |= bit;
    if (operand.absolute) flags |= bit << 3;
    if (operand.inverted) e.refuse("an inverted number is not known here");
    return e.words(operand, 2, true);
}

void double_operation(Emitter& e, const Instruction& n, form::Double operation) {
    Modifiers m(e, n);
    const std::string_view rounding = m.take_one_of({"RM", "RP", "RZ", "RN"});
    m.finish();
    // DADD of Hopper and later names its second operand third.
    std::vector<const Operand*> sources;
    for (std::size_t i = 1; i < n.operands.size(); ++i) sources.push_back(&n.operands[i]);
    const std::size_t wanted = operation == form::kDoubleMultiplyAdd ? 3 : 2;
    if (sources.size() == 3 && wanted == 2) sources.erase(sources.begin() + 1);
    if (sources.size() != wanted) e.refuse("these operands are not known");
    if (!rounding.empty() && rounding != "RN") {
        std::string values[3];
        for (std::size_t i = 0; i < wanted; ++i) values[i] = signed_pair(e, *sources[i]);
        const std::string result = e.wide_temporary(), mode = rounding == "RM" ? ".rm" : rounding == "RP" ? ".rp" : ".rz";
        const std::string name = operation == form::kDoubleAdd ? "add" : operation == form::kDoubleMultiply ? "mul" : "fma";
        e.principal(name + mode + ".f64 " + result + ", " + values[0] + ", " + values[1] + (wanted == 3 ? ", " + values[2] : "") + ";");
        return e.helper("mov.b64 " + e.destination_words(e.operand(0), 2) + ", " + result + ";");
    }
    unsigned flags = 0;
    const std::string a = double_operand(e, *sources[0], 1, flags), b = double_operand(e, *sources[1], 2, flags);
    const std::string c = wanted == 3 ? double_operand(e, *sources[2], 4, flags) : "{0, 0}";
    e.principal("$double " + e.destination_words(e.operand(0), 2) + ", " + a + ", " + b + ", " + c + ", " + std::to_string(static_cast<unsigned>(operation)) + ", " + std::to_string(flags) + ";");
}

void translate_dadd(Emitter& e, const Instruction& n) {
    double_operation(e, n, form::kDoubleAdd);
}
void translate_dmul(Emitter& e, const Instruction& n) {
    double_operation(e, n, form::kDoubleMultiply);
}
void translate_dfma(Emitter& e, const Instruction& n) {
    double_operation(e, n, form::kDoubleMultiplyAdd);
}

constexpr Row kFloatRows[] = {
    {"FADD", translate_fadd},   {"FMUL", translate_fmul},   {"FFMA", translate_ffma}, {"FMNMX", translate_fmnmx}, {"FSETP", translate_fsetp}, {"DSETP", translate_dsetp},
    {"FSET", translate_fset},   {"FCHK", translate_fchk},   {"MUFU", translate_mufu}, {"DADD", translate_dadd},   {"DMUL", translate_dmul},   {"DFMA", translate_dfma},
};

}  // namespace

std::span<const Row> float_rows() {
    return kFloatRows;
}

}  // namespace heddle::sass
