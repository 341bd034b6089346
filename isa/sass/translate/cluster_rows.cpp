// Rows of the translator: barriers of clusters, registers that warps give and take, and launches that depend on others.
#include <string>

#include "isa/sass/translate/rows.h"

namespace heddle::sass {
namespace {

void no_modifiers(Emitter& e, const Instruction& n) {
    Modifiers(e, n).finish();
    e.expect_operands(0);
}

void translate_cluster_arrive(Emitter& e, const Instruction& n) {
    no_modifiers(e, n);
    e.principal("barrier.cluster.arrive;");
}

void translate_cluster_wait(Emitter& e, const Instruction& n) {
    no_modifiers(e, n);
    e.principal("barrier.cluster.wait;");
}

// USETMAXREG.{DEALLOC, TRY_ALLOC}.CTAPOOL {p,} count
void translate_usetmaxreg(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool less = m.require_one_of({"DEALLOC", "TRY_ALLOC"}) == "DEALLOC";
    m.take("CTAPOOL");
    m.finish();
    e.principal(std::string("setmaxnreg.") + (less ? "dec" : "inc") + ".sync.aligned.u32 " + std::to_string(e.operand(n.operands.size() - 1).value) + ";");
    // Whether it has them: the machine waits until it has.
    if (n.operands.size() == 2) e.helper("setp.eq.u32 " + e.predicate_destination(e.operand(0)) + ", 0, 0;");
}

void translate_preexit(Emitter& e, const Instruction& n) {
    no_modifiers(e, n);
    e.principal("griddepcontrol.launch_dependents;");
}

void translate_acqbulk(Emitter& e, const Instruction& n) {
    no_modifiers(e, n);
    e.principal("griddepcontrol.wait;");
}

// ELECT p, d, q: one of the lanes that run.
void translate_elect(Emitter& e, const Instruction& n) {
    Modifiers(e, n).finish();
    e.expect_operands(3);
    if (e.predicate_source(e.operand(2)) != "1") e.refuse("only PT is known as the last operand");
    const std::string mask = e.temporary();
    std::string chosen = e.predicate_destination(e.operand(0)), leader = e.destination(e.operand(1));
    if (chosen == "_") chosen = e.predicate_temporary();
    e.helper("activemask.b32 " + mask + ";");
    e.principal("elect.sync " + leader + "|" + chosen + ", " + mask + ";");
}

constexpr Row kClusterRows[] = {
    {"UCGABAR_ARV", translate_cluster_arrive}, {"UCGABAR_WAIT", translate_cluster_wait}, {"USETMAXREG", translate_usetmaxreg},
    {"PREEXIT", translate_preexit},            {"ACQBULK", translate_acqbulk},           {"ELECT", translate_elect},
};

}  // namespace

std::span<const Row> cluster_rows() {
    return kClusterRows;
}

}  // namespace heddle::sass
