// Rows of the translator: arithmetic on pairs of 16-bit numbers.
#include <string>

#include "isa/sass/translate/rows.h"

namespace heddle::sass {
namespace {

std::string hexadecimal_word(std::uint32_t value) {
    constexpr const char* kDigits = "0123456789abcdef";
    std::string result = "0x";
    for (int shift = 28; shift >= 0; shift -= 4) result += kDigits[value >> shift & 15u];
    return result;
}

/// Reads the operands of an instruction in order: an immediate pair takes two, the upper half first.
class HalfOperands {
  public:
    HalfOperands(Emitter& e, std::size_t first) : e_(e), next_(first) {}

    /// Both halves in one word: selectors, sign and magnitude are applied.
    /// `magnitude`: the operand must be one, and keeps its sign.
    std::string pair(bool magnitude = false) {
        Operand operand = e_.operand(next_++);
        if (magnitude && (!operand.absolute || operand.negated)) e_.refuse("magnitudes are expected with .XORSIGN");
        if (magnitude) operand.absolute = false;
        if (operand.kind == OperandKind::floating) {
            const Operand& low = e_.operand(next_++);
            if (low.kind != OperandKind::floating) e_.refuse("an immediate pair is expected");
            return hexadecimal_word(static_cast<std::uint32_t>(operand.value & 0xFFFF) << 16 | static_cast<std::uint32_t>(low.value & 0xFFFF));
        }
        if (operand.kind == OperandKind::integer && next_ < e_.operand_count() && e_.operand(next_).kind == OperandKind::floating) {
            const Operand& low = e_.operand(next_++);
            return hexadecimal_word(static_cast<std::uint32_t>(operand.value & 0xFFFF) << 16 | static_cast<std::uint32_t>(low.value & 0xFFFF));
        }
        std::string selector;
        for (const std::string& suffix : operand.suffixes) {
            if (suffix == "H0_H0")
                selector = "0x1010";
            else if (suffix == "H1_H1")
                selector = "0x3232";
            else if (suffix != "H1_H0")
                e_.refuse("." + suffix + " is not known on this operand");
        }
        if (operand.inverted) e_.refuse("an inverted number is not known here");
        std::string value = e_.word(operand, 0);
        if (!selector.empty() && value != "0") value = changed("prmt.b32", value, "0, " + selector);
        if (operand.absolute && value != "0") value = changed("and.b32", value, "0x7fff7fff");
        if (!operand.negated) return value;
        return value == "0" ? "0x80008000" : changed("xor.b32", value, "0x80008000");
    }
    const Operand& plain() { return e_.operand(next_++); }
    void finish() const { e_.expect_operands(next_); }

  private:
    std::string changed(const std::string& operation, const std::string& value, const std::string& by) {
        std::string result = e_.temporary();
        e_.prepare(operation + " " + result + ", " + value + ", " + by + ";");
        return result;
    }
    Emitter& e_;
    std::size_t next_;
};

struct HalfModifiers {
    bool brain = false, flush = false, saturate = false, relu = false;
    std::string type() const { return brain ? ".bf16x2 " : ".f16x2 "; }
    std::string suffix() const { return std::string(flush ? ".ftz" : "") + (saturate ? ".sat" : "") + (relu ? ".relu" : "") + type(); }
};
HalfModifiers take_half(Modifiers& m) {
    HalfModifiers result;
    m.take("MMA");
    m.take("F16_V2");
    result.brain = m.take("BF16_V2") || m.take("BF16");
    result.flush = m.take("FTZ");
    result.saturate = m.take("SAT");
    result.relu = m.take("RELU");
    m.take_one_of({"V2"});
    return result;
}

// HADD2{.F32} d, a, b. With .F32 and a = -0 a conversion to single precision.
void translate_hadd2(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool single = m.take("F32");
    const HalfModifiers h = take_half(m);
    m.finish();
    if (h.relu) e.refuse("modifier .RELU is not known");
    const std::string d = e.destination(e.operand(0));
    HalfOperands operands(e, 1);
    if (single) {
        const Operand& a = operands.plain();
        if (!Emitter::is_nowhere(a) || !a.negated || h.brain || h.saturate) e.refuse("a sum in single precision is not known");
        const std::string b = operands.pair();
        operands.finish();
        const std::string half = e.half_temporary();
        if (b == "0" || b.starts_with("0x")) {
            const std::string whole = e.temporary();
            e.prepare("mov.b32 " + whole + ", " + b + ";");
            e.prepare("mov.b32 {" + half + ", _}, " + whole + ";");
        } else {
            e.prepare("mov.b32 {" + half + ", _}, " + b + ";");
        }
        return e.principal(std::string("cvt") + (h.flush ? ".ftz" : "") + ".f32.f16 " + d + ", " + half + ";");
    }
    const std::string a = operands.pair(), b = operands.pair();
    operands.finish();
    e.principal("add.rn" + h.suffix() + d + ", " + a + ", " + b + ";");
}

void translate_hmul2(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const HalfModifiers h = take_half(m);
    m.finish();
    if (h.relu) e.refuse("modifier .RELU is not known");
    const std::string d = e.destination(e.operand(0));
    HalfOperands operands(e, 1);
    const std::string a = operands.pair(), b = operands.pair();
    operands.finish();
    e.principal("mul.rn" + h.suffix() + d + ", " + a + ", " + b + ";");
}

// HFMA2 d, a, b, c
void translate_hfma2(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const HalfModifiers h = take_half(m);
    m.finish();
    const std::string d = e.destination(e.operand(0));
    HalfOperands operands(e, 1);
    const std::string a = operands.pair(), b = operands.pair(), c = operands.pair();
    operands.finish();
    // A constant is made so: 0 * 0 + constant.
    if ((a == "0x80008000" || a == "0") && b == "0" && c.starts_with("0x") && !h.relu && !h.saturate && !h.flush) return e.principal("mov.b32 " + d + ", " + c + ";");
    e.principal("fma.rn" + h.suffix() + d + ", " + a + ", " + b + ", " + c + ";");
}

// HMNMX2 d, a, b, p: the smaller where p is true.
void translate_hmnmx2(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool nan = m.take("NAN"), sign = m.take("XORSIGN");
    const HalfModifiers h = take_half(m);
    m.finish();
    if (h.relu || h.saturate) e.refuse("modifier .RELU is not known");
    const std::string d = e.destination(e.operand(0));
    HalfOperands operands(e, 1);
    const std::string a = operands.pair(sign), b = operands.pair(sign);
    const Operand& p = operands.plain();
    operands.finish();
    const std::string suffix = std::string(h.flush ? ".ftz" : "") + (nan ? ".NaN" : "") + (sign ? ".xorsign.abs" : "") + h.type();
    if (p.kind != OperandKind::predicate || p.index != kTruePredicate) e.refuse("a predicate that varies is not known here");
    e.principal((p.negated ? "max" : "min") + suffix + d + ", " + a + ", " + b + ";");
}

constexpr std::string_view kHalfComparisons[][2] = {{"LT", "lt"}, {"EQ", "eq"}, {"LE", "le"}, {"GT", "gt"}, {"NE", "ne"}, {"GE", "ge"}, {"NUM", "num"}, {"NAN", "nan"},
                                                    {"LTU", "ltu"}, {"EQU", "equ"}, {"LEU", "leu"}, {"GTU", "gtu"}, {"NEU", "neu"}, {"GEU", "geu"}};
std::string half_comparison(Emitter& e, Modifiers& m) {
    for (const auto& [machine, ptx] : kHalfComparisons) {
        if (m.take(machine)) return std::string(ptx);
    }
    e.refuse("a comparison is expected");
}

// HSETP2.comparison.bool p, q, a, b, c: p of the lower halves, q of the upper ones; with .H_AND both are one.
void translate_hsetp2(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const HalfModifiers h = take_half(m);
    const std::string comparison = half_comparison(e, m);
    const std::string_view boolean = m.take_one_of({"AND", "OR", "XOR"});
    m.finish();
    const std::string p = e.predicate_destination(e.operand(0)), q = e.predicate_destination(e.operand(1));
    HalfOperands operands(e, 2);
    const std::string a = operands.pair(), b = operands.pair();
    const std::string c = e.predicate_source(operands.plain());
    operands.finish();
    const std::string low = p == "_" ? e.predicate_temporary() : p, high = q == "_" ? e.predicate_temporary() : q;
    e.principal("setp." + comparison + (boolean == "OR" ? ".or" : boolean == "XOR" ? ".xor" : ".and") + (h.flush ? ".ftz" : "") + h.type() + low + "|" + high + ", " + a + ", " + b +
                ", " + c + ";");
}

// HSET2{.BF}.comparison.bool d, a, b, c: halves that are 1.0 (.BF) or all ones.
void translate_hset2(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool number = m.take("BF");
    m.take("BM");
    const HalfModifiers h = take_half(m);
    const std::string comparison = half_comparison(e, m);
    const std::string_view boolean = m.take_one_of({"AND", "OR", "XOR"});
    m.finish();
    const std::string d = e.destination(e.operand(0));
    HalfOperands operands(e, 1);
    const std::string a = operands.pair(), b = operands.pair();
    const std::string c = e.predicate_source(operands.plain());
    operands.finish();
    const std::string low = e.predicate_temporary(), high = e.predicate_temporary(), first = e.temporary(), second = e.temporary();
    e.prepare("setp." + comparison + (boolean == "OR" ? ".or" : boolean == "XOR" ? ".xor" : ".and") + (h.flush ? ".ftz" : "") + h.type() + low + "|" + high + ", " + a + ", " + b + ", " +
              c + ";");
    const std::string one = !number ? "0xffff" : h.brain ? "0x3f80" : "0x3c00", two = !number ? "0xffff0000" : h.brain ? "0x3f800000" : "0x3c000000";
    e.prepare("selp.b32 " + first + ", " + one + ", 0, " + low + ";");
    e.prepare("selp.b32 " + second + ", " + two + ", 0, " + high + ";");
    e.principal("or.b32 " + d + ", " + first + ", " + second + ";");
}

constexpr Row kHalfRows[] = {
    {"HADD2", translate_hadd2}, {"HMUL2", translate_hmul2},     {"HFMA2", translate_hfma2},
    {"HMNMX2", translate_hmnmx2}, {"VHMNMX", translate_hmnmx2}, {"HSETP2", translate_hsetp2}, {"HSET2", translate_hset2},
};

}  // namespace

std::span<const Row> half_rows() {
    return kHalfRows;
}

}  // namespace heddle::sass
