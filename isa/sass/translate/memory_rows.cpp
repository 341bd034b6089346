// Rows of the translator: loads, stores, atomic operations, and reads of constant banks.
#include <string>

#include "isa/sass/translate/rows.h"

namespace heddle::sass {
namespace {

struct Width {
    unsigned words = 1;    // registers
    std::string type = "b32";
};
/// The size of an access by its modifier.
Width take_width(Modifiers& m) {
    if (m.take("U8")) return {1, "u8"};
    if (m.take("S8")) return {1, "s8"};
    if (m.take("U16")) return {1, "u16"};
    if (m.take("S16")) return {1, "s16"};
    if (m.take("64")) return {2, "v2.b32"};
    if (m.take("128")) return {4, "v4.b32"};
    m.take("32");
    return {};
}

/// Cache operators and orders, as modifiers of PTX. EF, EL, LU and the sizes that are fetched into L2 are hints.
std::string take_policy(Modifiers& m, bool load, bool& ordered) {
    ordered = false;
    m.take_one_of({"EF", "EL", "LU", "EU", "NA"});
    m.take_one_of({"LTC64B", "LTC128B", "LTC256B"});
    const bool constant = m.take("CONSTANT"), strong = m.take("STRONG");
    m.take("WEAK");
    m.take("PRIVATE");
    const bool mmio = m.take("MMIO");
    const std::string_view scope = m.take_one_of({"CTA", "SM", "GPU", "SYS", "VC"});
    if (mmio) ordered = true;
    if (strong) {
        ordered = true;
        return std::string(".relaxed.") + (scope == "SYS" ? "sys" : scope == "GPU" ? "gpu" : "cta");
    }
    (void)constant;
    (void)load;
    return "";
}

std::string vector_source(Emitter& e, const Operand& operand, const Width& width) {
    return width.words == 1 ? e.source(operand) : e.words(operand, width.words);
}

void load_from(Emitter& e, const Instruction& n, const std::string& space) {
    Modifiers m(e, n);
    m.take("E");
    const Width width = take_width(m);
    bool ordered = false;
    const std::string policy = take_policy(m, true, ordered);
    m.take("U");
    m.finish();
    std::size_t o = 0;
    // Some have a predicate that tells of a failed access.
    if (e.operand(0).kind == OperandKind::predicate) {
        if (!Emitter::is_nowhere(e.operand(0))) e.refuse("the predicate of a load is not known");
        ++o;
    }
    const Operand& place = e.operand(o + 1);
    if (n.operands.size() > o + 2) {
        if (n.operands.size() > o + 3 || e.operand(o + 2).kind != OperandKind::predicate || !Emitter::is_nowhere(e.operand(o + 2)))
            e.refuse("these operands are not known");
    }
    const std::string d = width.words == 1 ? e.destination(e.operand(o)) : e.destination_words(e.operand(o), width.words);
    const bool narrow = space == "shared" || space == "local";
    std::string address = narrow ? "[" + e.shared_address(place) + "]" : space == "generic" ? e.generic_address(place) : e.address(place);
    const std::string where = space == "generic" ? "" : "." + space;
    // Vectors of one destination only: a load into RZ reads memory all the same.
    std::string into = d;
    if (into == "_") into = e.temporary();
    e.principal("ld" + policy + where + "." + width.type + " " + into + ", " + address + ";");
}

void store_to(Emitter& e, const Instruction& n, const std::string& space) {
    Modifiers m(e, n);
    m.take("E");
    Width width = take_width(m);
    bool ordered = false;
    const std::string policy = take_policy(m, false, ordered);
    m.finish();
    e.expect_operands(2);
    const Operand& place = e.operand(0);
    const bool narrow = space == "shared" || space == "local";
    const std::string value = vector_source(e, e.operand(1), width);
    const std::string address = narrow ? "[" + e.shared_address(place) + "]" : space == "generic" ? e.generic_address(place) : e.address(place);
    const std::string where = space == "generic" ? "" : "." + space;
    e.principal("st" + policy + where + "." + width.type + " " + address + ", " + value + ";");
}

void translate_ldg(Emitter& e, const Instruction& n) {
    load_from(e, n, "global");
}
void translate_ld(Emitter& e, const Instruction& n) {
    load_from(e, n, "generic");
}
void translate_lds(Emitter& e, const Instruction& n) {
    load_from(e, n, "shared");
}
void translate_ldl(Emitter& e, const Instruction& n) {
    load_from(e, n, "local");
}
void translate_stg(Emitter& e, const Instruction& n) {
    store_to(e, n, "global");
}
void translate_st(Emitter& e, const Instruction& n) {
    store_to(e, n, "generic");
}
void translate_sts(Emitter& e, const Instruction& n) {
    store_to(e, n, "shared");
}
void translate_stl(Emitter& e, const Instruction& n) {
    store_to(e, n, "local");
}

// LDC{.size} d, c[bank][a + offset]; ULDC ud, c[bank][offset]
void translate_ldc(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const Width width = take_width(m);
    m.take_one_of({"IL", "IS", "ISL"});
    m.finish();
    e.expect_operands(2);
    const Operand& from = e.operand(1);
    if (from.kind != OperandKind::constant) e.refuse("a constant is expected");
    if (width.type[0] == 'u' || width.type[0] == 's') {
        // A part of a word: where a register is in the address, of the aligned word around it.
        const std::string value = e.temporary(), part = e.destination(e.operand(0));
        if (from.base == kZeroRegister && from.uniform_base == kZeroUniformRegister) {
            Operand whole = from;
            whole.value = from.value / 4 * 4;
            const auto shift = static_cast<unsigned>(from.value % 4) * 8;
            e.prepare("shr.u32 " + value + ", " + e.word(whole, 0) + ", " + std::to_string(shift) + ";");
        } else {
            return e.principal("mov.b32 " + part + ", " + e.constant_load(from, 0, width.type) + ";");
        }
        const std::string type = width.type;
        return e.principal("cvt." + std::string(type[0] == 'u' ? "u32." : "s32.") + type + " " + part + ", " + value + ";");
    }
    // All words are read before the first one is written: the register of the address may be among them.
    std::vector<std::string> values;
    for (unsigned i = 0; i < width.words; ++i) values.push_back(e.word(from, i));
    for (unsigned i = width.words; i-- > 1;) e.helper("mov.b32 " + e.destination_word(e.operand(0), i) + ", " + values[i] + ";");
    e.principal("mov.b32 " + e.destination(e.operand(0)) + ", " + values[0] + ";");
}

/// The type of an atomic operation.
struct AtomicType {
    std::string suffix;
    unsigned words = 1;
    bool packed = false;
};
AtomicType take_atomic_type(Modifiers& m, bool bits) {
    if (m.take("64")) return {bits ? "b64" : "u64", 2};
    if (m.take("U64")) return {bits ? "b64" : "u64", 2};
    if (m.take("S64")) return {bits ? "b64" : "s64", 2};
    if (m.take("F64")) return {"f64", 2};
    if (m.take("F32")) return {"f32", 1};
    if (m.take("F16x2")) return {"noftz.f16x2", 1, true};
    if (m.take("BF16_V2") || m.take("BF16x2")) return {"noftz.bf16x2", 1, true};
    if (m.take("S32")) return {bits ? "b32" : "s32", 1};
    m.take("U32");
    m.take("32");
    return {bits ? "b32" : "u32", 1};
}

std::string atomic_scope(Modifiers& m) {
    const bool strong = m.take("STRONG");
    m.take("WEAK");
    const std::string_view scope = m.take_one_of({"CTA", "SM", "GPU", "SYS"});
    if (!strong) return "";
    return scope == "SYS" ? ".relaxed.sys" : scope == "GPU" ? ".relaxed.gpu" : ".relaxed.cta";
}

// ATOM, ATOMG, ATOMS {p,} d, address, a {, b}; RED address, a
void translate_atomic(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    m.take("E");
    const bool reduces = n.mnemonic == "RED" || n.mnemonic == "REDG" || n.mnemonic == "REDS";
    const bool shared = n.mnemonic == "ATOMS" || n.mnemonic == "REDS", generic = n.mnemonic == "ATOM";
    const std::string_view operation = m.require_one_of({"POPC", "ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH", "CAST", "CAS"});
    const bool swaps = operation == "CAST" || operation == "CAS";
    if (operation == "CAST") m.take("SPIN");
    const bool counts = operation == "POPC" && m.take("INC");
    const std::string scope = atomic_scope(m);
    const bool bits = operation == "AND" || operation == "OR" || operation == "XOR" || operation == "EXCH" || swaps;
    const AtomicType type = take_atomic_type(m, bits);
    const bool flush = m.take("FTZ");
    const std::string_view rounding = m.take_one_of({"RN"});
    (void)rounding;
    (void)flush;
    m.finish();
    std::size_t o = 0;
    std::string d = "_", done = "_";
    if (!reduces) {
        // A predicate says whether the address was one where such an operation is possible: here it always is.
        if (e.operand(0).kind == OperandKind::predicate) done = e.predicate_destination(e.operand(o++));
        ++o;
    }
    const Operand& place = e.operand(o);
    const std::string address = shared ? "[" + e.shared_address(place) + "]" : generic ? e.generic_address(place) : e.address(place);
    const std::string space = shared ? ".shared" : generic ? "" : ".global";
    std::string name(operation);
    for (char& c : name) c = static_cast<char>(c - 'A' + 'a');
    std::string a, b;
    if (operation == "POPC") {
        // POPC.INC counts the lanes: each adds 1.
        if (!counts || !Emitter::is_nowhere(e.operand(o - 1))) e.refuse("this counting operation is not known");
        return e.principal("red" + scope + space + ".add.u32 " + address + ", 1;");
    }
    const auto value = [&](const Operand& operand) {
        if (type.words == 2) return e.pair_source(operand);
        return e.source(operand);
    };
    if (n.operands.size() > o + 1) a = value(e.operand(o + 1));
    if (swaps) b = value(e.operand(o + 2));
    if (a.empty()) e.refuse("a value is expected");
    e.expect_operands(o + (swaps ? 3 : 2));
    if (operation == "CAST") name = "cas";
    if (done != "_") e.helper("setp.eq.u32 " + done + ", 0, 0;");
    const std::string suffix = scope + space + "." + name + "." + type.suffix;
    if (reduces) return e.principal("red" + suffix + " " + address + ", " + a + ";");
    const Operand& into = e.operand(o - 1);
    if (operation == "CAST") {
        // The result is whether the value was exchanged.
        const std::string old = type.words == 2 ? e.wide_temporary() : e.temporary(), same = e.predicate_temporary();
        e.principal("atom" + suffix + " " + old + ", " + address + ", " + a + ", " + b + ";");
        e.helper(std::string("setp.eq.") + (type.words == 2 ? "b64 " : "b32 ") + same + ", " + old + ", " + a + ";");
        if (type.words == 2) e.helper("mov.b32 " + e.destination_word(into, 1) + ", 0;");
        return e.helper("selp.b32 " + e.destination(into) + ", 1, 0, " + same + ";");
    }
    if (type.words == 2) {
        const std::string old = e.wide_temporary();
        e.principal("atom" + suffix + " " + old + ", " + address + ", " + a + (b.empty() ? "" : ", " + b) + ";");
        if (!Emitter::is_nowhere(into)) e.helper("mov.b64 " + e.destination_words(into, 2) + ", " + old + ";");
        return;
    }
    d = Emitter::is_nowhere(into) ? e.temporary() : e.destination(into);
    e.principal("atom" + suffix + " " + d + ", " + address + ", " + a + (b.empty() ? "" : ", " + b) + ";");
}

// QSPC.E.{G, S, L} p, d, [a]: whether a generic address lies in a space.
void translate_qspc(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    m.take("E");
    const std::string_view space = m.require_one_of({"G", "S", "L"});
    m.finish();
    e.expect_operands(3);
    if (!Emitter::is_nowhere(e.operand(1))) e.refuse("the register of QSPC is not known");
    const std::string address = e.address(e.operand(2));
    std::string value = address.substr(1, address.size() - 2);
    if (const std::size_t plus = value.find('+'); plus != std::string::npos) {
        const std::string sum = e.wide_temporary();
        e.prepare("add.s64 " + sum + ", " + value.substr(0, plus) + ", " + value.substr(plus + 1) + ";");
        value = sum;
    }
    if (value[0] != '%') e.refuse("this address is not known");
    e.principal(std::string("isspacep.") + (space == "G" ? "global " : space == "S" ? "shared " : "local ") + e.predicate_destination(e.operand(0)) + ", " + value + ";");
}

constexpr Row kMemoryRows[] = {
    {"LDG", translate_ldg}, {"LD", translate_ld},   {"LDS", translate_lds},     {"LDL", translate_ldl},     {"STG", translate_stg},     {"ST", translate_st},
    {"STS", translate_sts}, {"STL", translate_stl}, {"LDC", translate_ldc},     {"ULDC", translate_ldc},    {"LDCU", translate_ldc},    {"ATOM", translate_atomic},
    {"ATOMG", translate_atomic}, {"ATOMS", translate_atomic}, {"RED", translate_atomic}, {"REDG", translate_atomic}, {"QSPC", translate_qspc},
};

}  // namespace

std::span<const Row> memory_rows() {
    return kMemoryRows;
}

}  // namespace heddle::sass
