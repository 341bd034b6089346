// Rows of the translator: branches, calls, exits, and what tells the scheduler how lanes meet.
//
// The PTX machine lets lanes meet at the immediate post-dominator of the branch where they parted, so convergence barriers (BSSY,
// BSYNC, BREAK, BMOV) have nothing to do. Where code says which lanes exchange values with one another (WARPSYNC.COLLECTIVE until
// ENDCOLLECTIVE, WARPSYNC.EXCLUSIVE until BSYNC), instructions that exchange get these as their member mask. Subroutines are written
// once for each place that calls them.
#include <algorithm>
#include <string>

#include "isa/sass/translate/rows.h"

namespace heddle::sass {
namespace {

const Operand& target_operand(Emitter& e, const Instruction& n) {
    for (const Operand& operand : n.operands) {
        if (operand.kind == OperandKind::target) return operand;
    }
    e.refuse("a target is expected");
}

/// The guard together with the predicates among the operands, as the prefix of a line.
std::string whole_guard(Emitter& e, const Instruction& n) {
    std::string guard = e.guard();
    for (const Operand& operand : n.operands) {
        if (operand.kind != OperandKind::predicate && operand.kind != OperandKind::uniform_predicate) continue;
        if (operand.index == kTruePredicate) {
            if (operand.negated) return "@never";
            continue;
        }
        if (guard.empty()) {
            guard = "@" + e.predicate_source(operand) + " ";
            continue;
        }
        // Both: guard && operand.
        const std::string both = e.predicate_temporary(), first = e.predicate_temporary(), second = e.predicate_temporary();
        std::string name = guard.substr(1, guard.size() - 2);
        const bool negated = name[0] == '!';
        if (negated) name = name.substr(1);
        e.prepare((negated ? "not.pred " : "mov.pred ") + first + ", " + name + ";");
        e.prepare((operand.negated ? "not.pred " : "mov.pred ") + second + ", " + e.plain_predicate(operand) + ";");
        e.prepare("and.pred " + both + ", " + first + ", " + second + ";");
        guard = "@" + both + " ";
    }
    return guard;
}

void translate_bra(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    m.take("U");
    m.take("INC");
    m.take("DEC");
    const bool diverged = m.take("DIV"), converged = m.take("CONV"), any = m.take("ANY");
    m.finish();
    const Operand& target = target_operand(e, n);
    if (!target.name.empty()) e.refuse("a branch to another function is not known");
    if (diverged && goes_where_lanes_differ(n)) {
        // All lanes go there unless the guard holds in each of the lanes that are named, and these are the ones that run.
        const std::string running = e.temporary(), yes = e.temporary(), differ = e.predicate_temporary();
        std::string guard = e.guard().substr(1, e.guard().size() - 2);
        e.prepare("activemask.b32 " + running + ";");
        e.prepare("vote.sync.ballot.b32 " + yes + ", " + guard + ", " + running + ";");
        e.prepare("setp.ne.b32 " + differ + ", " + yes + ", " + e.source(e.operand(0)) + ";");
        return e.unguarded_principal("@" + differ + " bra " + e.label(static_cast<std::uint64_t>(target.value)) + ";");
    }
    if (diverged || converged) {
        // DIV goes to a copy of the same work for lanes that have not met, CONV past one. The lanes meet here instead.
        const Operand& lanes = e.operand(0);
        const std::string mask = e.temporary();
        Operand plain = lanes;
        plain.inverted = false;
        if (lanes.inverted)
            e.prepare("not.b32 " + mask + ", " + e.source(plain) + ";");
        else
            e.prepare("mov.b32 " + mask + ", " + e.source(plain) + ";");
        const std::string meet = "bar.warp.sync " + mask + ";";
        if (diverged) return e.principal(meet);
        e.helper(meet);
        return e.principal("bra " + e.label(static_cast<std::uint64_t>(target.value)) + ";");
    }
    const std::string guard = whole_guard(e, n);
    if (guard == "@never") return;
    if (any && !guard.empty()) {
        // All lanes go there when the guard holds for one.
        const std::string lanes = e.temporary(), taken = e.predicate_temporary();
        e.prepare("activemask.b32 " + lanes + ";");
        e.prepare("vote.sync.any.pred " + taken + ", " + guard.substr(1, guard.size() - 2) + ", " + lanes + ";");
        return e.unguarded_principal("@" + taken + " bra " + e.label(static_cast<std::uint64_t>(target.value)) + ";");
    }
    e.unguarded_principal(guard + "bra " + e.label(static_cast<std::uint64_t>(target.value)) + ";");
}

// BRX a, offset: to one of the places that the cubin lists. Where each is, a plus a constant, follows from the jump table.
void translate_brx(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    m.take("INC");
    m.take("DEC");
    m.finish();
    const std::vector<std::uint64_t>* targets = nullptr;
    for (const auto& [address, list] : e.body().function->branch_targets) {
        if (address == n.address) targets = &list;
    }
    if (targets == nullptr || targets->empty()) e.refuse("where this branch may go is not known");
    const Operand& base = e.operand(0);
    std::int64_t offset = 0;
    for (const Operand& operand : n.operands) {
        if (operand.kind == OperandKind::integer) offset = operand.value;
        if (operand.kind == OperandKind::target && operand.name.empty()) offset = operand.value - static_cast<std::int64_t>(n.address) - 16;
    }
    if (e.is_guarded()) e.refuse("a guard is not known here");
    const std::int64_t from = n.mnemonic.starts_with("JMX") ? 0 : static_cast<std::int64_t>(n.address) + 16;
    std::vector<std::uint64_t> distinct = *targets;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    Operand plain = base;
    plain.suffixes.clear();
    const std::string value = e.source(plain);
    e.principal("$nop;");
    for (const std::uint64_t target : distinct) {
        const std::string here = e.predicate_temporary();
        e.prepare("setp.eq.s32 " + here + ", " + value + ", " + std::to_string(static_cast<std::int64_t>(target) - from - offset) + ";");
        e.prepare("@" + here + " bra " + e.label(target) + ";");
    }
    e.prepare("trap;");
}

void translate_exit(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    m.take("KEEPREFCOUNT");
    m.take("PREEMPTED");
    m.finish();
    const std::string guard = whole_guard(e, n);
    if (guard == "@never") return;
    e.unguarded_principal(guard + "exit;");
}

void translate_trap(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    m.require_one_of({"TRAP"});
    m.finish();
    e.principal("trap;");
}

// Instructions that change nothing that the machine models.
void translate_nothing(Emitter&, const Instruction&) {}

// BMOV{.32}{.CLEAR} between a convergence barrier and a register: the barrier holds nothing.
void translate_bmov(Emitter& e, const Instruction&) {
    e.expect_operands(2);
    if (e.operand(0).kind == OperandKind::general || e.operand(0).kind == OperandKind::uniform) e.principal("mov.b32 " + e.destination(e.operand(0)) + ", 0;");
}

const MachineFunction* function_of(Emitter& e, const Operand& target, std::uint64_t& entry) {
    entry = static_cast<std::uint64_t>(target.value);
    if (target.name.empty()) return e.body().function;
    for (const auto& [offset, label] : e.body().function->labels) {
        if (label != target.name) continue;
        entry += offset;
        return e.body().function;
    }
    for (const auto& [offset, label] : e.kernel().labels) {
        if (label != target.name) continue;
        entry += offset;
        return &e.kernel();
    }
    return e.cubin().find(target.name);
}

// CALL.REL.NOINC a, base: the address comes from a table, as that of a virtual function does. What may be called are the functions
// that have a symbol within the code.
void call_by_address(Emitter& e, const Instruction& n) {
    const MachineFunction& function = *e.body().function;
    if (!n.has("REL") || function.labels.empty()) e.refuse("which function is called is not known");
    const Operand& base = e.operand(e.operand_count() - 1);
    const bool relative = base.kind == OperandKind::target || base.kind == OperandKind::integer;
    if (relative && !base.name.empty() && base.name != function.name) e.refuse("an address within another function is not known");
    std::string guard = whole_guard(e, n);
    if (guard == "@never") return;
    const std::string skip = guard.empty() ? "" : e.fresh_label();
    if (skip.empty())
        e.principal("$nop;");
    else
        e.unguarded_principal((guard[1] == '!' ? "@" + guard.substr(2) : "@!" + guard.substr(1)) + "bra " + skip + ";");
    for (const auto& [offset, name] : function.labels) {
        const std::string here = e.predicate_temporary();
        e.prepare("setp.eq.u32 " + here + ", " + e.general(n.operands[0].index) + ", " + std::to_string(static_cast<std::int64_t>(offset) - (relative ? base.value : 0)) + ";");
        e.prepare("@" + here + " bra " + e.call_body(function, offset) + ";");
    }
    e.prepare("trap;");
    if (!skip.empty()) e.place_label(skip);
}

// CALL.REL.NOINC target: the return address is in registers. RET goes behind the call.
void translate_call(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    m.require_one_of({"REL", "ABS"});
    m.take("NOINC");
    m.take("INC");
    m.finish();
    std::uint64_t entry = 0;
    const MachineFunction* function = nullptr;
    if (n.operands.empty()) e.refuse("a target is expected");
    if (n.operands[0].kind == OperandKind::general) {
        const std::string symbol = e.symbol_in_register(n.operands[0].index);
        if (symbol.empty()) return call_by_address(e, n);
        function = e.cubin().find(symbol);
        if (function == nullptr) return e.call_runtime(symbol);
    } else {
        const Operand& target = target_operand(e, n);
        function = function_of(e, target, entry);
        if (function == nullptr) return e.call_runtime(target.name);
    }
    const std::string guard = whole_guard(e, n);
    if (guard == "@never") return;
    if (is_jump(e.body().code, e.index())) return e.unguarded_principal(guard + "bra " + e.label(entry) + ";");
    const std::string body = e.call_body(*function, entry);
    e.unguarded_principal(guard + "bra " + body + ";");
}

// RET.REL.NODEC a, function
void translate_ret(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    m.take("REL");
    m.take("ABS");
    m.take("NODEC");
    m.take("DEC");
    m.finish();
    if (n.operands.empty() || n.operands[0].kind != OperandKind::general) e.refuse("a register is expected");
    if (e.body().clone == 0 && !e.body().returns_to.empty()) {
        const std::string skip = e.guard().empty() ? "" : e.fresh_label();
        if (skip.empty())
            e.principal("$nop;");
        else
            e.unguarded_principal((e.guard()[1] == '!' ? "@" + e.guard().substr(2) : "@!" + e.guard().substr(1)) + "bra " + skip + ";");
        for (const std::uint64_t place : e.body().returns_to) {
            const std::string here = e.predicate_temporary();
            e.prepare("setp.eq.u32 " + here + ", " + e.general(n.operands[0].index) + ", " + std::to_string(place) + ";");
            e.prepare("@" + here + " bra " + e.label(place) + ";");
        }
        e.prepare("trap;");
        if (!skip.empty()) e.place_label(skip);
        return;
    }
    e.unguarded_principal(e.guard() + "bra " + e.return_block(e.general(n.operands[0].index)) + ";");
}

// LEPC d: the address of the instruction itself, of its pair; nothing is there.
void translate_lepc(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    m.finish();
    e.helper("mov.b32 " + e.destination_word(e.operand(0), 1) + ", 0;");
    e.principal("mov.b32 " + e.destination(e.operand(0)) + ", " + std::to_string(n.address) + ";");
}

// WARPSYNC{.ALL, .EXCLUSIVE} {mask}: the lanes named meet.
void translate_warpsync(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool all = m.take("ALL");
    const bool exclusive = m.take("EXCLUSIVE"), collective = m.take("COLLECTIVE");
    m.finish();
    if (all) {
        return e.principal("bar.warp.sync 0xffffffff;");
    }
    e.expect_operands(1, 2);
    Operand mask = e.operand(0);
    if (mask.kind == OperandKind::target && mask.name.empty()) mask.kind = OperandKind::integer;  // a number, as branches have
    const std::string lanes = e.source(mask);
    if (exclusive || collective) {
        if (e.is_guarded()) e.refuse("a guard is not known here");
        const std::string members = e.temporary();  // the register may hold something else by then
        e.prepare("mov.b32 " + members + ", " + lanes + ";");
        e.set_members(members);
    }
    e.principal("bar.warp.sync " + lanes + ";");
}

// ENDCOLLECTIVE, BSYNC: from here on those exchange values that run.
void translate_end_of_members(Emitter& e, const Instruction&) {
    e.set_members("");
}

void translate_nanosleep(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    m.take("SYNCS");
    m.take("WARP");
    m.finish();
    for (const Operand& operand : n.operands) {
        if (operand.kind == OperandKind::predicate) continue;
        return e.principal("nanosleep.u32 " + e.source(operand) + ";");
    }
}

constexpr Row kControlRows[] = {
    {"BRA", translate_bra},       {"JMP", translate_bra},       {"BRX", translate_brx},       {"BRXU", translate_brx},      {"JMX", translate_brx},
    {"JMXU", translate_brx},      {"EXIT", translate_exit},     {"BPT", translate_trap},      {"KILL", translate_exit},     {"NOP", translate_nothing},
    {"BSSY", translate_nothing},  {"BSYNC", translate_end_of_members}, {"ENDCOLLECTIVE", translate_end_of_members}, {"BREAK", translate_nothing}, {"YIELD", translate_nothing}, {"BMOV", translate_bmov},
    {"CALL", translate_call},     {"RET", translate_ret},       {"LEPC", translate_lepc},     {"WARPSYNC", translate_warpsync}, {"NANOSLEEP", translate_nanosleep},
};

}  // namespace

std::span<const Row> control_rows() {
    return kControlRows;
}

}  // namespace heddle::sass
