// Rows of the translator: lanes of a warp that exchange values, barriers of a thread block, and fences.
#include <string>

#include "isa/ptx/machine_form.h"
#include "isa/sass/translate/rows.h"

namespace heddle::sass {
namespace {

/// The lanes that exchange values, as the member mask of an instruction of PTX: those that run, unless the code names them.
std::string running_lanes(Emitter& e) {
    if (!e.members().empty()) return e.members();
    std::string mask = e.temporary();
    e.helper("activemask.b32 " + mask + ";");
    return mask;
}

// SHFL.{IDX, UP, DOWN, BFLY} p, d, a, lane, clamp and segment
void translate_shfl(Emitter& e, const Instruction& n) {
    namespace form = ptx::machine_form;
    Modifiers m(e, n);
    const std::string_view mode = m.require_one_of({"IDX", "UP", "DOWN", "BFLY"});
    m.finish();
    e.expect_operands(5);
    if (!e.members().empty()) {
        const std::string ptx = mode == "IDX" ? "idx" : mode == "UP" ? "up" : mode == "DOWN" ? "down" : "bfly";
        return e.principal("shfl.sync." + ptx + ".b32 " + e.destination(e.operand(1)) + "|" + e.predicate_destination(e.operand(0)) + ", " + e.source(e.operand(2)) + ", " +
                           e.source(e.operand(3)) + ", " + e.source(e.operand(4)) + ", " + e.members() + ";");
    }
    const unsigned code = mode == "IDX" ? form::kShuffleIndex : mode == "UP" ? form::kShuffleUp : mode == "DOWN" ? form::kShuffleDown : form::kShuffleButterfly;
    e.principal("$shfl " + e.destination(e.operand(1)) + ", " + e.predicate_destination(e.operand(0)) + ", " + e.source(e.operand(2)) + ", " + e.source(e.operand(3)) + ", " +
                e.source(e.operand(4)) + ", " + std::to_string(code) + ";");
}

// VOTE.{ALL, ANY, EQ} d, p, q: the ballot of q, and whether all (any, all or none) have it.
void translate_vote(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const std::string_view mode = m.require_one_of({"ALL", "ANY", "EQ"});
    m.finish();
    std::size_t o = 0;
    std::string ballot = "_", result = "_";
    if (e.operand(o).kind == OperandKind::general || e.operand(o).kind == OperandKind::uniform) ballot = e.destination(e.operand(o++));
    if (o + 1 < n.operands.size()) result = e.predicate_destination(e.operand(o++));
    const std::string q = e.predicate_source(e.operand(o++));
    e.expect_operands(o);
    const std::string lanes = running_lanes(e);
    const std::string text = std::string("vote.sync.") + (mode == "ALL" ? "all" : mode == "ANY" ? "any" : "uni") + ".pred " + result + ", " + q + ", " + lanes + ";";
    // The source may be the destination.
    if (ballot != "_") {
        const std::string bits = e.temporary();
        e.principal("vote.sync.ballot.b32 " + bits + ", " + q + ", " + lanes + ";");
        if (result != "_") e.helper(text);
        return e.helper("mov.b32 " + ballot + ", " + bits + ";");
    }
    e.principal(text);
}

// MATCH.{ANY, ALL}{.U64} {p,} d, a
void translate_match(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool all = m.require_one_of({"ANY", "ALL"}) == "ALL";
    const bool wide = m.take("U64");
    m.take("U32");
    m.finish();
    std::size_t o = 0;
    std::string p = "_";
    if (e.operand(o).kind == OperandKind::predicate) p = e.predicate_destination(e.operand(o++));
    const std::string d = e.destination(e.operand(o));
    const std::string a = wide ? e.pair_source(e.operand(o + 1)) : e.source(e.operand(o + 1));
    e.expect_operands(o + 2);
    const std::string lanes = running_lanes(e), type = wide ? "b64 " : "b32 ";
    if (all) return e.principal("match.all.sync." + type + d + "|" + p + ", " + a + ", " + lanes + ";");
    e.principal("match.any.sync." + type + d + ", " + a + ", " + lanes + ";");
}

// REDUX{.OR, .AND, .XOR, .SUM, .MIN, .MAX}{.S32} ud, a
void translate_redux(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const std::string_view operation = m.take_one_of({"OR", "AND", "XOR", "SUM", "MIN", "MAX"});
    const bool is_signed = m.take("S32");
    m.finish();
    e.expect_operands(2);
    std::string name = "and.b32";
    if (operation == "OR") name = "or.b32";
    if (operation == "XOR") name = "xor.b32";
    if (operation == "SUM") name = "add.s32";
    if (operation == "MIN" || operation == "MAX") name = std::string(operation == "MIN" ? "min" : "max") + (is_signed ? ".s32" : ".u32");
    e.principal("redux.sync." + name + " " + e.destination(e.operand(0)) + ", " + e.source(e.operand(1)) + ", " + running_lanes(e) + ";");
}

// BAR.{SYNC, ARV, RED.op} barrier {, threads} {, predicate}
void translate_bar(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const std::string_view kind = m.require_one_of({"SYNC", "ARV", "RED"});
    const std::string_view operation = m.take_one_of({"POPC", "AND", "OR"});
    m.take("DEFER_BLOCKING");
    m.finish();
    std::string barrier, threads, predicate;
    for (const Operand& operand : n.operands) {
        if (operand.kind == OperandKind::predicate || operand.kind == OperandKind::uniform_predicate)
            predicate = e.predicate_source(operand);
        else if (barrier.empty())
            barrier = e.source(operand);
        else
            threads = e.source(operand);
    }
    if (kind == "RED") {
        if (predicate.empty()) e.refuse("a predicate is expected");
        const std::string rest = barrier + (threads.empty() ? "" : ", " + threads) + ", " + predicate + ";";
        if (operation == "POPC") return e.principal("barrier.red.popc.u32 " + e.barrier_count() + ", " + rest);
        return e.principal(std::string("barrier.red.") + (operation == "AND" ? "and" : "or") + ".pred " + e.barrier_predicate() + ", " + rest);
    }
    // A register names the barrier in its lower bits and the threads in those from 16 on.
    if (threads.empty() && !n.operands.empty() && (n.operands[0].kind == OperandKind::general || n.operands[0].kind == OperandKind::uniform) && n.operands.size() == 1) {
        const std::string number = e.temporary(), count = e.temporary(), shifted = e.temporary();
        e.prepare("and.b32 " + number + ", " + barrier + ", 0xf;");
        e.prepare("shr.u32 " + shifted + ", " + barrier + ", 16;");
        e.prepare("and.b32 " + count + ", " + shifted + ", 0xfff;");
        barrier = number;
        threads = count;
    }
    const std::string rest = barrier + (threads.empty() ? "" : ", " + threads) + ";";
    e.principal((kind == "SYNC" ? "barrier.sync " : "barrier.arrive ") + rest);
}

void translate_membar(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const std::string_view order = m.take_one_of({"SC", "ALL"});
    const std::string_view scope = m.take_one_of({"CTA", "GPU", "SYS", "VC"});
    m.finish();
    (void)order;
    e.principal(scope == "CTA" ? "membar.cta;" : scope == "SYS" ? "membar.sys;" : "membar.gl;");
}

// B2R.RESULT d {, p}: what the last BAR.RED has found.
void translate_b2r(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    m.require_one_of({"RESULT"});
    m.finish();
    e.expect_operands(1, 2);
    if (n.operands.size() == 2 && !Emitter::is_nowhere(e.operand(1))) e.helper("mov.pred " + e.predicate_destination(e.operand(1)) + ", " + e.barrier_predicate() + ";");
    if (!Emitter::is_nowhere(e.operand(0))) e.principal("mov.b32 " + e.destination(e.operand(0)) + ", " + e.barrier_count() + ";");
}

// Fences of errors and caches, and waits for barriers of the scoreboard: they change nothing that the machine models.
void translate_order(Emitter&, const Instruction&) {}

constexpr Row kWarpRows[] = {
    {"SHFL", translate_shfl},   {"VOTE", translate_vote},     {"VOTEU", translate_vote},  {"MATCH", translate_match}, {"REDUX", translate_redux},
    {"CREDUX", translate_redux}, {"BAR", translate_bar},      {"MEMBAR", translate_membar}, {"ERRBAR", translate_order}, {"CCTL", translate_order}, 
    {"CGAERRBAR", translate_order}, {"B2R", translate_b2r},
};

}  // namespace

std::span<const Row> warp_rows() {
    return kWarpRows;
}

}  // namespace heddle::sass
