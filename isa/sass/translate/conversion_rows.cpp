// Rows of the translator: conversions between formats of numbers.
#include <string>

#include "isa/sass/translate/rows.h"

namespace heddle::sass {
namespace {

/// A format by its modifier, as PTX names it.
struct Format {
    std::string_view machine, ptx;
    unsigned bits;
};
constexpr Format kIntegers[] = {{"U8", "u8", 8}, {"S8", "s8", 8}, {"U16", "u16", 16}, {"S16", "s16", 16}, {"U32", "u32", 32}, {"S32", "s32", 32}, {"U64", "u64", 64}, {"S64", "s64", 64}};
constexpr Format kFloats[] = {{"F16", "f16", 16}, {"BF16", "bf16", 16}, {"F32", "f32", 32}, {"F64", "f64", 64}};

const Format* take_format(Modifiers& m, std::span<const Format> formats) {
    for (const Format& one : formats) {
        if (m.take(one.machine)) return &one;
    }
    return nullptr;
}

/// The rounding of a conversion to a floating-point format; to an integer with `integral`.
std::string take_rounding(Modifiers& m, bool integral) {
    const std::string_view found = m.take_one_of({"RM", "RP", "RZ", "RN", "TRUNC", "FLOOR", "CEIL", "ROUND"});
    std::string result = ".rn";
    if (found == "RM" || found == "FLOOR") result = ".rm";
    if (found == "RP" || found == "CEIL") result = ".rp";
    if (found == "RZ" || found == "TRUNC") result = ".rz";
    return integral ? result + "i" : result;
}

/// The source as a register of its format: .b16, .b32 or .b64.
std::string number_source(Emitter& e, const Operand& operand, const Format& format) {
    if (format.bits == 64) {
        std::string value = e.pair_source([&] {
            Operand plain = operand;
            plain.negated = plain.absolute = false;
            return plain;
        }(), true);
        for (const bool absolute : {true, false}) {
            if (absolute ? !operand.absolute : !operand.negated) continue;
            const std::string changed = e.wide_temporary();
            e.prepare(std::string(absolute ? "and.b64 " : "xor.b64 ") + changed + ", " + value + (absolute ? ", 0x7fffffffffffffff;" : ", 0x8000000000000000;"));
            value = changed;
        }
        return value;
    }
    if (format.bits == 32) return e.float_source(operand);
    bool upper = false;
    for (const std::string& suffix : operand.suffixes) {
        if (suffix == "H1_H1" || suffix == "H1")
            upper = true;
        else if (suffix != "H0_H0" && suffix != "H0")
            e.refuse("." + suffix + " is not known on this operand");
    }
    std::string word = e.word(operand, 0);
    if (word == "0" || word.starts_with("0x")) {
        const std::string whole = e.temporary();
        e.prepare("mov.b32 " + whole + ", " + word + ";");
        word = whole;
    }
    std::string half = e.half_temporary();
    e.prepare("mov.b32 {" + std::string(upper ? "_, " + half : half + ", _") + "}, " + word + ";");
    for (const bool absolute : {true, false}) {
        if (absolute ? !operand.absolute : !operand.negated) continue;
        const std::string changed = e.half_temporary();
        e.prepare(std::string(absolute ? "and.b16 " : "xor.b16 ") + changed + ", " + half + (absolute ? ", 0x7fff;" : ", 0x8000;"));
        half = changed;
    }
    return half;
}

/// Writes the line `head d, source` and brings the result into the destination's registers.
void write_number(Emitter& e, const Operand& destination, unsigned bits, bool is_float, const std::string& head, const std::string& source) {
    if (bits == 64) {
        const std::string wide = e.wide_temporary();
        e.principal(head + " " + wide + ", " + source + ";");
        return e.helper("mov.b64 " + e.destination_words(destination, 2) + ", " + wide + ";");
    }
    if (bits == 16 && is_float) {
        const std::string half = e.half_temporary();
        e.principal(head + " " + half + ", " + source + ";");
        if (!Emitter::is_nowhere(destination)) e.helper("mov.b32 " + e.destination(destination) + ", {" + half + ", 0};");
        return;
    }
    const std::string d = Emitter::is_nowhere(destination) ? e.temporary() : e.destination(destination);
    e.principal(head + " " + d + ", " + source + ";");
}

// F2I{.FTZ}{.integer}{.float}{.rounding}{.NTZ} d, a
void translate_f2i(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool flush = m.take("FTZ");
    const Format* to = take_format(m, kIntegers);
    const Format* from = take_format(m, kFloats);
    const std::string rounding = take_rounding(m, true);
    m.take("NTZ");
    m.finish();
    // F2IP packs: known where the other parts are zero.
    const bool packs = n.mnemonic == "F2IP";
    e.expect_operands(packs ? 4 : 2);
    if (packs && (!Emitter::is_nowhere(e.operand(1)) || !Emitter::is_nowhere(e.operand(3)))) e.refuse("only one number is known here");
    if (to == nullptr) to = &kIntegers[5];
    if (from == nullptr) from = &kFloats[2];
    const std::string source = number_source(e, e.operand(packs ? 2 : 1), *from);
    write_number(e, e.operand(0), to->bits, false, "cvt" + rounding + (flush ? ".ftz." : ".") + std::string(to->ptx) + "." + std::string(from->ptx), source);
}

// I2F{.float}{.integer}{.rounding} d, a; I2FP is the same on another pipeline.
void translate_i2f(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const Format* to = take_format(m, kFloats);
    const Format* from = take_format(m, kIntegers);
    const std::string rounding = take_rounding(m, false);
    m.finish();
    e.expect_operands(2);
    if (to == nullptr) to = &kFloats[2];
    if (from == nullptr) from = &kIntegers[5];
    const Operand& operand = e.operand(1);
    std::string source;
    if (from->bits == 64) {
        if (operand.negated || operand.absolute) e.refuse("a sign is not known on this operand");
        source = e.pair_source(operand);
    } else {
        unsigned shift = 0;
        Operand plain = operand;
        plain.suffixes.clear();
        for (const std::string& suffix : operand.suffixes) {
            if (suffix.size() == 2 && suffix[0] == 'B' && from->bits == 8)
                shift = 8 * static_cast<unsigned>(suffix[1] - '0');
            else if (suffix == "H1" && from->bits == 16)
                shift = 16;
            else if (suffix != "H0")
                e.refuse("." + suffix + " is not known on this operand");
        }
        source = e.integer_source(plain);
        if (source == "0" || source.starts_with("0x")) {
            const std::string whole = e.temporary();
            e.prepare("mov.b32 " + whole + ", " + source + ";");
            source = whole;
        }
        if (shift != 0) {
            const std::string part = e.temporary();
            e.prepare("shr.u32 " + part + ", " + source + ", " + std::to_string(shift) + ";");
            source = part;
        }
    }
    write_number(e, e.operand(0), to->bits, true, "cvt" + rounding + "." + std::string(to->ptx) + "." + std::string(from->ptx), source);
}

// F2F{.FTZ}.to.from{.rounding} d, a
void translate_f2f(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool flush = m.take("FTZ");
    const Format* formats[2] = {nullptr, nullptr};
    // In the order written: what it becomes, what it was.
    std::size_t count = 0;
    for (const std::string& modifier : n.modifiers) {
        for (const Format& one : kFloats) {
            if (one.machine != modifier || count == 2) continue;
            m.take(modifier);
            formats[count++] = &one;
        }
    }
    const std::string rounding = take_rounding(m, false);
    const bool saturate = m.take("SAT");
    m.finish();
    e.expect_operands(2);
    if (count != 2) e.refuse("two formats are expected");
    const bool widens = formats[0]->bits > formats[1]->bits || (formats[0]->bits == formats[1]->bits && formats[0] == formats[1]);
    const std::string source = number_source(e, e.operand(1), *formats[1]);
    const bool from_brain = formats[1]->ptx == "bf16";
    write_number(e, e.operand(0), formats[0]->bits, true,
                 "cvt" + (widens && !from_brain ? std::string() : rounding) + (flush ? ".ftz" : "") + (saturate ? ".sat." : ".") + std::string(formats[0]->ptx) + "." + std::string(formats[1]->ptx), source);
}

// FRND{.FTZ}{.float}{.rounding} d, a: to an integral value.
void translate_frnd(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool flush = m.take("FTZ");
    const Format* format = take_format(m, kFloats);
    if (format != nullptr) take_format(m, kFloats);
    const std::string rounding = take_rounding(m, true);
    m.finish();
    e.expect_operands(2);
    if (format == nullptr) format = &kFloats[2];
    const std::string source = number_source(e, e.operand(1), *format);
    write_number(e, e.operand(0), format->bits, true, "cvt" + rounding + (flush ? ".ftz." : ".") + std::string(format->ptx) + "." + std::string(format->ptx), source);
}

// F2FP: two numbers become halves of one word. .MERGE_C puts the lower half of c above one result of 16 bits.
void translate_f2fp(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool finite = m.take("SATFINITE"), relu = m.take("RELU");
    const std::string_view small = m.take_one_of({"E4M3", "E5M2"});
    const bool brain = m.take("BF16");
    m.take("F16");
    m.take("F32");
    const std::string_view layout = m.require_one_of({"PACK_AB", "PACK_AB_MERGE_C", "UNPACK_B", "PACK_B", "MERGE_C"});
    const std::string rounding = take_rounding(m, false);
    m.finish();
    const std::string d = e.destination(e.operand(0));
    const std::string options = std::string(relu ? ".relu" : "");
    if (layout == "UNPACK_B") {
        if (small.empty()) e.refuse("a format is expected");
        e.expect_operands(2);
        Operand from = e.operand(1);
        bool upper = false;
        for (const std::string& suffix : from.suffixes) {
            if (suffix == "H1")
                upper = true;
            else if (suffix != "H0")
                e.refuse("." + suffix + " is not known on this operand");
        }
        from.suffixes.clear();
        const std::string half = e.half_temporary();
        e.prepare("mov.b32 {" + std::string(upper ? "_, " + half : half + ", _") + "}, " + e.source(from) + ";");
        return e.principal("cvt.rn" + options + ".f16x2." + (small == "E4M3" ? "e4m3x2 " : "e5m2x2 ") + d + ", " + half + ";");
    }
    if (!small.empty()) {
        if (layout != "PACK_AB_MERGE_C") e.refuse("this layout is not known");
        e.expect_operands(4);
        const std::string half = e.half_temporary(), above = e.half_temporary();
        std::string c = e.source(e.operand(3));
        if (c == "0") {
            e.prepare("mov.b16 " + above + ", 0;");
        } else {
            e.prepare("mov.b32 {" + above + ", _}, " + c + ";");
        }
        const std::string a = e.float_source(e.operand(1)), b = e.float_source(e.operand(2));
        e.principal("cvt.rn.satfinite" + options + "." + (small == "E4M3" ? "e4m3x2" : "e5m2x2") + ".f32 " + half + ", " + a + ", " + b + ";");
        return e.helper("mov.b32 " + d + ", {" + half + ", " + above + "};");
    }
    if (finite) e.refuse("modifier .SATFINITE is not known");
    if (layout == "MERGE_C") {
        // One number; its neighbour is the half of c.
        e.expect_operands(3);
        if (!Emitter::is_nowhere(e.operand(2))) e.refuse("a half that stays is not known");
        const std::string a = e.float_source(e.operand(1));
        return e.principal("cvt" + rounding + options + (brain ? ".bf16x2" : ".f16x2") + ".f32 " + d + ", 0f00000000, " + a + ";");
    }
    if (layout != "PACK_AB") e.refuse("this layout is not known");
    e.expect_operands(3);
    const std::string a = e.float_source(e.operand(1)), b = e.float_source(e.operand(2));
    e.principal("cvt" + rounding + options + (brain ? ".bf16x2" : ".f16x2") + ".f32 " + d + ", " + a + ", " + b + ";");
}

// I2I.to.from.SAT d, a
void translate_i2i(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const Format* to = nullptr;
    const Format* from = nullptr;
    for (const std::string& modifier : n.modifiers) {
        for (const Format& one : kIntegers) {
            if (one.machine != modifier) continue;
            (to == nullptr ? to : from) = &one;
            m.take(modifier);
        }
    }
    const bool saturate = m.take("SAT");
    m.finish();
    e.expect_operands(2);
    if (to == nullptr || from == nullptr || !saturate || from->bits != 32) e.refuse("this conversion is not known");
    write_number(e, e.operand(0), to->bits, false, "cvt.sat." + std::string(to->ptx) + "." + std::string(from->ptx), e.integer_source(e.operand(1)));
}

// I2IP.to.S32.SAT d, a, b, c
void translate_i2ip(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const std::string_view to = m.require_one_of({"U8", "S8", "U16", "S16", "U4", "S4", "U2", "S2"});
    m.require_one_of({"S32"});
    m.require_one_of({"SAT"});
    m.finish();
    e.expect_operands(4);
    std::string type;
    for (const char c : to) type += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    const std::string start = "cvt.pack.sat." + type + ".s32", ab = " " + e.destination(e.operand(0)) + ", " + e.source(e.operand(1)) + ", " + e.source(e.operand(2));
    if (to == "U16" || to == "S16") {
        if (!Emitter::is_nowhere(e.operand(3))) e.refuse("a third operand is not known here");
        return e.principal(start + ab + ";");
    }
    e.principal(start + ".b32" + ab + ", " + e.source(e.operand(3)) + ";");
}

constexpr Row kConversionRows[] = {
    {"F2I", translate_f2i},   {"F2IP", translate_f2i},   {"I2F", translate_i2f}, {"I2FP", translate_i2f}, {"F2F", translate_f2f},
    {"FRND", translate_frnd}, {"F2FP", translate_f2fp}, {"I2I", translate_i2i}, {"I2IP", translate_i2ip},
};

}  // namespace

std::span<const Row> conversion_rows() {
    return kConversionRows;
}

}  // namespace heddle::sass
