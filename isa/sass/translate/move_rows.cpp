// Rows of the translator: moves, selections, permutations and special registers.
#include <string>

#include "isa/sass/translate/rows.h"

namespace heddle::sass {
namespace {

void translate_mov(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool pair = m.take("64");
    m.finish();
    e.expect_operands(2, 3);  // the third one is the mask of bytes of older code
    if (n.operands.size() == 3 && (e.operand(2).kind != OperandKind::integer || (e.operand(2).value & 0xF) != 0xF)) e.refuse("a mask of lanes is not known");
    if (pair) {
        e.helper("mov.b32 " + e.destination_word(e.operand(0), 1) + ", " + e.word(e.operand(1), 1) + ";");
    }
    e.principal("mov.b32 " + e.destination(e.operand(0)) + ", " + e.word(e.operand(1), 0) + ";");
}

// SEL d, a, b, p: a where p is true.
void translate_sel(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    m.finish();
    e.expect_operands(4);
    const Operand& p = e.operand(3);
    const std::string a = e.integer_source(e.operand(1)), b = e.integer_source(e.operand(2));
    e.principal("selp.b32 " + e.destination(e.operand(0)) + ", " + (p.negated ? b : a) + ", " + (p.negated ? a : b) + ", " + e.plain_predicate(p) + ";");
}

void translate_fsel(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    m.finish();
    e.expect_operands(4);
    const Operand& p = e.operand(3);
    const std::string a = e.float_source(e.operand(1)), b = e.float_source(e.operand(2));
    e.principal("selp.f32 " + e.destination(e.operand(0)) + ", " + (p.negated ? b : a) + ", " + (p.negated ? a : b) + ", " + e.plain_predicate(p) + ";");
}

// PRMT{.mode} d, a, selector, c
void translate_prmt(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const std::string_view mode = m.take_one_of({"F4E", "B4E", "RC8", "ECL", "ECR", "RC16"});
    m.finish();
    e.expect_operands(4);
    std::string suffix;
    for (const char c : mode) suffix += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    e.principal("prmt.b32" + (suffix.empty() ? "" : "." + suffix) + " " + e.destination(e.operand(0)) + ", " + e.source(e.operand(1)) + ", " + e.source(e.operand(3)) + ", " +
                e.source(e.operand(2)) + ";");
}

struct SpecialNames {
    std::string_view machine, ptx;
};
// Special registers that have a name in PTX.
constexpr SpecialNames kSpecials[] = {
    {"SR_TID.X", "%tid.x"}, {"SR_TID.Y", "%tid.y"}, {"SR_TID.Z", "%tid.z"}, {"SR_CTAID.X", "%ctaid.x"}, {"SR_CTAID.Y", "%ctaid.y"}, {"SR_CTAID.Z", "%ctaid.z"},
    {"SR_NTID.X", "%ntid.x"}, {"SR_NTID.Y", "%ntid.y"}, {"SR_NTID.Z", "%ntid.z"},
    {"SR_LANEID", "%laneid"}, {"SR_EQMASK", "%lanemask_eq"}, {"SR_LTMASK", "%lanemask_lt"}, {"SR_LEMASK", "%lanemask_le"}, {"SR_GTMASK", "%lanemask_gt"},
    {"SR_GEMASK", "%lanemask_ge"}, {"SR_CLOCKLO", "%clock"}, {"SR_CLOCKHI", "%clock_hi"}, {"SR_GLOBALTIMERLO", "%globaltimer_lo"},
    {"SR_GLOBALTIMERHI", "%globaltimer_hi"}, {"SR_VIRTUALSMID", "%smid"}, {"SR_VIRTID", "%warpid"}, {"SR_CgaCtaId", "%cluster_ctarank"},
    {"SR_CLUSTERCTARANK", "%cluster_ctarank"}, {"SR_CLUSTERID.X", "%clusterid.x"}, {"SR_CLUSTERID.Y", "%clusterid.y"}, {"SR_CLUSTERID.Z", "%clusterid.z"},
    {"SR_NCLUSTERID.X", "%nclusterid.x"}, {"SR_NCLUSTERID.Y", "%nclusterid.y"}, {"SR_NCLUSTERID.Z", "%nclusterid.z"},
};

std::string special_value(Emitter& e, const Operand& operand) {
    if (operand.kind != OperandKind::special) e.refuse("a special register is expected");
    std::string name = operand.name;
    for (const std::string& suffix : operand.suffixes) name += "." + suffix;
    if (name == "SRZ" || name == "SR_SRZ") return "0";
    // The upper halves of the windows of generic addresses: isa/ptx/machine/machine.h.
    if (name == "SR_SWINHI") return "0x7d00";
    if (name == "SR_SWINLO" || name == "SR_LWINLO") return "0";
    if (name == "SR_LWINHI") return "0x7e00";
    for (const SpecialNames& one : kSpecials) {
        if (one.machine == name) return std::string(one.ptx);
    }
    e.refuse("special register " + name + " is not known");
}

// S2R d, SR; S2UR ud, SR; CS2R{.32} d, SR: pairs without .32
void translate_s2r(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool single = m.take("32");
    m.finish();
    e.expect_operands(2);
    const bool pair = n.mnemonic == "CS2R" && !single;
    const std::string value = special_value(e, e.operand(1));
    if (pair) {
        if (value == "%clock") {
            const std::string both = e.wide_temporary();
            e.principal("mov.u64 " + both + ", %clock64;");
            return e.helper("mov.b64 " + e.destination_words(e.operand(0), 2) + ", " + both + ";");
        }
        if (value == "%globaltimer_lo") {
            const std::string both = e.wide_temporary();
            e.principal("mov.u64 " + both + ", %globaltimer;");
            return e.helper("mov.b64 " + e.destination_words(e.operand(0), 2) + ", " + both + ";");
        }
        if (value != "0") e.refuse("a pair of this special register is not known");
        e.helper("mov.b32 " + e.destination_word(e.operand(0), 1) + ", 0;");
    }
    e.principal("mov.b32 " + e.destination(e.operand(0)) + ", " + value + ";");
}

// R2UR {p,} ud, a: the value of the first lane that runs; p: whether the lane's own value is another one.
void translate_r2ur(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    m.take("OR");
    m.finish();
    if (n.has("OR")) e.refuse("modifier .OR is not known");
    e.expect_operands(2, 3);
    const bool tells = n.operands.size() == 3;
    if (tells && e.operand(0).kind != OperandKind::predicate && e.operand(0).kind != OperandKind::uniform_predicate) e.refuse("a predicate is expected first");
    const std::string d = e.destination(e.operand(tells ? 1 : 0)), a = e.source(e.operand(tells ? 2 : 1));
    if (!tells || Emitter::is_nowhere(e.operand(0))) return e.principal("$first_lane " + d + ", " + a + ";");
    const std::string value = e.temporary();
    e.principal("$first_lane " + value + ", " + a + ";");
    e.helper("setp.ne.b32 " + e.predicate_destination(e.operand(0)) + ", " + value + ", " + a + ";");
    if (d != "_") e.helper("mov.b32 " + d + ", " + value + ";");
}

// P2R{.B1...} d, PR, b, mask: the predicates P0 to P6 as bits, the others from b.
void translate_p2r(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    m.finish();
    e.expect_operands(4);
    if (e.operand(1).name != "PR" && e.operand(1).name != "UPR") e.refuse("PR is expected");
    unsigned byte = 0;
    for (const std::string& suffix : e.operand(0).suffixes) {
        if (suffix.size() != 2 || suffix[0] != 'B') e.refuse("." + suffix + " is not known on this operand");
        byte = static_cast<unsigned>(suffix[1] - '0');
    }
    if (e.operand(3).kind != OperandKind::integer) e.refuse("the mask must be a constant");
    const auto mask = static_cast<std::uint32_t>(e.operand(3).value) & 0x7Fu;
    const bool uniform = e.operand(1).name == "UPR";
    Operand base = e.operand(2);
    base.suffixes.clear();
    std::string value = e.temporary();
    const std::uint32_t kept = ~(mask << (8 * byte));
    e.prepare("and.b32 " + value + ", " + e.source(base) + ", " + std::to_string(kept) + ";");
    for (unsigned p = 0; p < 7; ++p) {
        if ((mask >> p & 1u) == 0) continue;
        Operand predicate;
        predicate.kind = uniform ? OperandKind::uniform_predicate : OperandKind::predicate;
        predicate.index = static_cast<std::uint16_t>(p);
        const std::string bit = e.temporary(), sum = e.temporary();
        e.prepare("selp.b32 " + bit + ", " + std::to_string(1u << (p + 8 * byte)) + ", 0, " + e.plain_predicate(predicate) + ";");
        e.prepare("or.b32 " + sum + ", " + value + ", " + bit + ";");
        value = sum;
    }
    Operand destination = e.operand(0);
    destination.suffixes.clear();
    e.principal("mov.b32 " + e.destination(destination) + ", " + value + ";");
}

// R2P PR, a{.B1}, mask: bits of a byte become predicates.
void translate_r2p(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    m.finish();
    e.expect_operands(3);
    const bool uniform = e.operand(0).name == "UPR";
    if (e.operand(0).name != "PR" && !uniform) e.refuse("PR is expected");
    unsigned byte = 0;
    for (const std::string& suffix : e.operand(1).suffixes) {
        if (suffix.size() != 2 || suffix[0] != 'B') e.refuse("." + suffix + " is not known on this operand");
        byte = static_cast<unsigned>(suffix[1] - '0');
    }
    Operand source = e.operand(1);
    source.suffixes.clear();
    if (e.operand(2).kind != OperandKind::integer) e.refuse("the mask must be a constant");
    const auto mask = static_cast<std::uint32_t>(e.operand(2).value) & 0x7Fu;
    const std::string value = e.source(source);
    bool first = true;
    for (unsigned p = 0; p < 7; ++p) {
        if ((mask >> p & 1u) == 0) continue;
        Operand predicate;
        predicate.kind = uniform ? OperandKind::uniform_predicate : OperandKind::predicate;
        predicate.index = static_cast<std::uint16_t>(p);
        const std::string bit = e.temporary();
        e.prepare("and.b32 " + bit + ", " + value + ", " + std::to_string(1u << (p + 8 * byte)) + ";");
        const std::string text = "setp.ne.u32 " + e.predicate_destination(predicate) + ", " + bit + ", 0;";
        first ? e.principal(text) : e.helper(text);
        first = false;
    }
}

constexpr Row kMoveRows[] = {
    {"MOV", translate_mov},   {"UMOV", translate_mov},  {"SEL", translate_sel},   {"USEL", translate_sel}, {"FSEL", translate_fsel},
    {"PRMT", translate_prmt}, {"UPRMT", translate_prmt}, {"S2R", translate_s2r},  {"S2UR", translate_s2r}, {"CS2R", translate_s2r},
    {"R2UR", translate_r2ur}, {"P2R", translate_p2r},   {"R2P", translate_r2p},   {"UP2UR", translate_p2r}, {"UR2UP", translate_r2p},
};

}  // namespace

std::span<const Row> move_rows() {
    return kMoveRows;
}

}  // namespace heddle::sass
