// Rows of the translator: copies that go on behind an instruction, mbarriers, and waits for them.
//
// LDGSTS copies from global to shared memory; LDGDEPBAR ends a group of such copies, and DEPBAR.LE SB0, n waits until at most n
// groups are left. UTMA* are tensor copies and UBLK* bulk copies of the copy engine: one instruction for a warp, whose operands
// are a block of uniform registers: [0] the address in shared memory, [1] the mbarrier (loads), then the coordinates. Addresses
// in shared memory of sm_90 hold the rank of the thread block in bits 24 and up. SYNCS works on mbarriers:
//   EXCH.64 stores a new one, whose words are (2^20 - count) << 1 and (2^20 - count) << 11; CCTL.IV ends one;
//   ARRIVE.TRANS64.{A1T0, ART0, A0TR, A0TX, A0T1, nothing}: arrivals and transaction bytes, 0, 1 or from a register (R); X: the
//   bytes have arrived; nothing: one arrival that expects the register's bytes;
//   PHASECHK.TRANS64{.TRYWAIT}: whether the phase whose parity is the operand's top bit is over.
#include <string>

#include "isa/sass/translate/rows.h"

namespace heddle::sass {
namespace {

/// An address in shared memory of any thread block of the cluster, with the rank plus one in its upper bits, as the machine has it.
std::string cluster_address(Emitter& e, const std::string& address) {
    const std::size_t plus = address.find('+');
    const std::int64_t offset = plus == std::string::npos ? 0 : std::stoll(address.substr(plus + 1));
    std::string result = e.temporary();
    e.prepare("add.u32 " + result + ", " + address.substr(0, plus) + ", " + std::to_string(offset + 0x1000000) + ";");
    return result;
}

/// A guard that holds in one of the lanes that run: copies of the copy engine are begun once for a warp.
std::string one_lane(Emitter& e) {
    std::string chosen = e.predicate_temporary();
    const std::string mask = e.temporary();
    e.prepare("setp.ne.u32 " + chosen + ", 0, 0;");
    e.helper("activemask.b32 " + mask + ";");
    e.helper("elect.sync _|" + chosen + ", " + mask + ";");
    return "@" + chosen + " ";
}

std::string pair_of(Emitter& e, unsigned uniform) {
    std::string result = e.wide_temporary();
    e.prepare("mov.b64 " + result + ", {" + e.uniform(uniform) + ", " + e.uniform(uniform + 1) + "};");
    return result;
}

/// The uniform register that an address [UR4] names.
unsigned block_of(Emitter& e, const Operand& operand) {
    if (operand.kind != OperandKind::address || operand.base != kZeroRegister || operand.uniform_base == kZeroUniformRegister || operand.value != 0)
        e.refuse("a block of uniform registers is expected");
    return operand.uniform_base;
}

/// The policy of a cache hint, desc[UR6] among the last operands: ", %policy"; "" without.
std::string policy_of(Emitter& e, const Instruction& n, std::size_t operand) {
    if (operand >= n.operands.size()) return "";
    const Operand& policy = n.operands[operand];
    if (policy.kind != OperandKind::address || policy.descriptor == kZeroUniformRegister) e.refuse("a cache policy is expected");
    return ", " + pair_of(e, policy.descriptor);
}

// LDGSTS.E{.BYPASS}{.LTC128B}{.64, .128}{.ZFILL} [shared], [global] {, p}. Where p does not hold, zeros are written. With ZFILL the
// low bits of the address say how many bytes are left out, which are zeros then.
void translate_ldgsts(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    if (!m.take("E")) e.refuse("global addresses have 64 bits");
    const bool bypass = m.take("BYPASS");
    const std::string_view prefetch = m.take_one_of({"LTC64B", "LTC128B", "LTC256B"});
    const std::string_view size = m.take_one_of({"64", "128"});
    const bool fill = m.take("ZFILL");
    m.finish();
    e.expect_operands(2, 3);
    const unsigned bytes = size == "128" ? 16 : size == "64" ? 8 : 4;
    if (bypass && bytes != 16) e.refuse("only 16 bytes bypass the L1 cache");
    std::string text = std::string("cp.async.") + (bypass ? "cg" : "ca") + ".shared.global";
    std::string policy;
    if (!prefetch.empty()) text += ".L2::" + std::string(prefetch.substr(3));
    const std::string shared = e.shared_address(e.operand(0));
    const Operand& global = e.operand(1);
    std::string source, count;
    const std::string condition = n.operands.size() == 3 ? e.predicate_source(e.operand(2)) : "1";
    if (fill) {
        // The address is taken apart into the place of the element and the bytes that are left out.
        const std::string text_of_address = e.address(global);
        const std::string inner = text_of_address.substr(1, text_of_address.size() - 2);
        const std::size_t plus = inner.find('+');
        const std::string whole = e.wide_temporary(), aligned = e.wide_temporary(), low = e.temporary();
        e.prepare("add.s64 " + whole + ", " + inner.substr(0, plus) + ", " + (plus == std::string::npos ? "0" : inner.substr(plus + 1)) + ";");
        e.prepare("cvt.u32.u64 " + low + ", " + whole + ";");
        e.prepare("and.b32 " + low + ", " + low + ", " + std::to_string(bytes - 1) + ";");
        e.prepare("and.b64 " + aligned + ", " + whole + ", " + std::to_string(-static_cast<int>(bytes)) + ";");
        e.prepare("sub.u32 " + low + ", " + std::to_string(bytes) + ", " + low + ";");
        source = "[" + aligned + "]";
        count = low;
    } else {
        source = e.address(global);
        count = std::to_string(bytes);
    }
    if (condition != "1") {
        const std::string chosen = e.temporary();
        if (condition == "0")
            e.prepare("mov.b32 " + chosen + ", 0;");
        else if (condition[0] == '!')
            e.prepare("selp.b32 " + chosen + ", 0, " + count + ", " + condition.substr(1) + ";");
        else
            e.prepare("selp.b32 " + chosen + ", " + count + ", 0, " + condition + ";");
        count = chosen;
    }
    const bool whole = !fill && condition == "1";
    e.principal(text + " [" + shared + "], " + source + ", " + std::to_string(bytes) + (whole ? "" : ", " + count) + ";");
}

void translate_ldgdepbar(Emitter& e, const Instruction& n) {
    Modifiers(e, n).finish();
    e.principal("cp.async.commit_group;");
}

bool kernel_has(Emitter& e, std::string_view mnemonic) {
    for (const Instruction& one : e.body().code)
        if (one.mnemonic == mnemonic) return true;
    return false;
}

/// The instruction behind this one in the code.
const Instruction* following(Emitter& e, const Instruction& n) {
    const std::size_t next = n.address / 16 + 1;
    return next < e.body().code.size() ? &e.body().code[next] : nullptr;
}

// DEPBAR.LE SB0, n {, {barriers}}: at most n groups of copies are left. DEPBAR alone waits for barriers, as every instruction can.
void translate_depbar(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool counts = m.take("LE");
    m.finish();
    if (!counts) return e.principal("$nop;");
    const std::string left = std::to_string(e.operand(1).value);
    const bool copies = kernel_has(e, "LDGDEPBAR"), bulk = kernel_has(e, "UTMACMDFLUSH");
    if (copies) e.principal("cp.async.wait_group " + left + ";");
    if (!bulk) return copies ? void() : e.principal("$nop;");
    // A wait for writes is followed by an invalidation of L1; one for reads alone is not.
    const Instruction* const next = following(e, n);
    const bool writes = next != nullptr && next->mnemonic == "CCTL";
    const std::string text = std::string("cp.async.bulk.wait_group") + (writes ? "" : ".read") + " " + left + ";";
    copies ? e.helper(text) : e.principal(text);
}

void translate_flush(Emitter& e, const Instruction& n) {
    Modifiers(e, n).finish();
    e.principal("cp.async.bulk.commit_group;");
}

// ARRIVES.LDGSTSBAR.64.{ARVCNT, TRANSCNT} [address]: arrives when this thread's copies are done. TRANSCNT: a transaction that
// SYNCS.ARRIVE...A0T1 has begun; both together are an arrival that the barrier's count does not know.
void translate_arrives(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    if (!m.take("LDGSTSBAR") || !m.take("64")) e.refuse("only ARRIVES.LDGSTSBAR.64 is known");
    const std::string_view what = m.take_one_of({"ARVCNT", "TRANSCNT"});
    m.finish();
    if (what.empty()) e.refuse("mbarriers of compute capability 8 are words of memory, which are not modelled");
    e.principal(std::string("cp.async.mbarrier.arrive") + (what == "ARVCNT" ? ".noinc" : "") + ".shared.b64 [" + e.shared_address(e.operand(0)) + "];");
}

void translate_exchange(Emitter& e) {
    e.expect_operands(3);
    if (!Emitter::is_nowhere(e.operand(0))) e.refuse("the old value of an mbarrier is not known");
    const Operand& value = e.operand(2);
    const std::string count = e.temporary();
    e.prepare("shr.u32 " + count + ", " + e.word(value, 0) + ", 1;");
    e.prepare("sub.u32 " + count + ", 0x100000, " + count + ";");
    e.principal("mbarrier.init.shared.b64 [" + e.shared_address(e.operand(1)) + "], " + count + ";");
}

// SYNCS.ARRIVE.TRANS64{.RED}{.OPTOUT}.{A1T0, ...} state, [address], a
void translate_arrive(Emitter& e, Modifiers& m) {
    if (!m.take("TRANS64")) e.refuse("only TRANS64 is known");
    const bool anywhere = m.take("RED"), drop = m.take("OPTOUT");
    const std::string_view counts = m.take_one_of({"A1T0", "ART0", "A0TR", "A0TX", "A0T1"});
    m.finish();
    e.expect_operands(3);
    const std::string local = e.shared_address(e.operand(1));
    std::string address = "[" + local + "]", scope = ".shared.b64 ";
    if (anywhere) {
        address = "[" + cluster_address(e, e.raw_shared_address(e.operand(1))) + "]";
        scope = ".shared::cluster.b64 ";
    }
    const std::string a = e.source(e.operand(2));
    if (counts == "A0T1") return e.principal("$nop;");  // see ARRIVES
    if (counts == "A0TR" || counts == "A0TX")
        return e.principal(std::string("mbarrier.") + (counts == "A0TR" ? "expect_tx" : "complete_tx") + ".relaxed.cluster" + scope + address + ", " + a + ";");
    std::string text = std::string("mbarrier.") + (drop ? "arrive_drop" : "arrive") + (counts.empty() ? ".expect_tx" : "");
    const std::string amount = counts == "A1T0" ? "" : ", " + a;
    if (anywhere || Emitter::is_nowhere(e.operand(0)))
        return e.principal(text + (anywhere ? ".release.cluster" : "") + scope + "_, " + address + amount + ";");
    // The state's upper word has the parity of its phase as its top bit; the machine's has it as its lowest bit.
    const std::string state = e.wide_temporary(), word = e.temporary();
    e.principal(text + scope + state + ", " + address + amount + ";");
    e.helper("cvt.u32.u64 " + word + ", " + state + ";");
    e.helper("mov.b32 " + e.destination_word(e.operand(0), 0) + ", " + word + ";");
    e.helper("shl.b32 " + e.destination_word(e.operand(0), 1) + ", " + word + ", 31;");
}

// SYNCS.PHASECHK.TRANS64{.TRYWAIT} p, [address], parity
void translate_phase(Emitter& e, Modifiers& m) {
    if (!m.take("TRANS64")) e.refuse("only TRANS64 is known");
    const bool waits = m.take("TRYWAIT");
    m.finish();
    e.expect_operands(3);
    const std::string parity = e.temporary();
    e.prepare("shr.u32 " + parity + ", " + e.source(e.operand(2)) + ", 31;");
    std::string p = e.predicate_destination(e.operand(0));
    if (p == "_") p = e.predicate_temporary();
    e.principal(std::string("mbarrier.") + (waits ? "try_wait" : "test_wait") + ".parity.shared.b64 " + p + ", [" + e.shared_address(e.operand(1)) + "], " + parity + ";");
}

void translate_syncs(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    if (m.take("EXCH")) {
        if (!m.take("64")) e.refuse("only SYNCS.EXCH.64 is known");
        m.finish();
        return translate_exchange(e);
    }
    if (m.take("CCTL")) {
        if (!m.take("IV")) e.refuse("only SYNCS.CCTL.IV is known");
        m.finish();
        e.expect_operands(1);
        return e.principal("mbarrier.inval.shared.b64 [" + e.shared_address(e.operand(0)) + "];");
    }
    if (m.take("ARRIVE")) return translate_arrive(e, m);
    if (m.take("PHASECHK")) return translate_phase(e, m);
    e.refuse("this use of an mbarrier is not known");
}

unsigned dimensions(Modifiers& m) {
    return static_cast<unsigned>(m.require_one_of({"1D", "2D", "3D", "4D", "5D"})[0] - '0');
}

std::string coordinates(Emitter& e, unsigned first, unsigned count) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + e.uniform(first + i);
    return text + "}";
}

/// The mask of a multicast: the upper half of a uniform register.
std::string multicast_mask(Emitter& e, const Operand& operand) {
    const std::string upper = e.temporary();
    std::string mask = e.half_temporary();
    e.prepare("shr.u32 " + upper + ", " + e.source(operand) + ", 16;");
    e.prepare("cvt.u16.u32 " + mask + ", " + upper + ";");
    return mask;
}

// UTMALDG.2D{.MULTICAST} [block], [map] {, mask} {, desc[policy]}
void translate_utmaldg(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const unsigned count = dimensions(m);
    const bool multicast = m.take("MULTICAST");
    m.finish();
    const unsigned block = block_of(e, e.operand(0));
    const std::string map = pair_of(e, block_of(e, e.operand(1)));
    std::size_t o = 2;
    std::string mask;
    if (multicast) mask = ", " + multicast_mask(e, e.operand(o++));
    const std::string policy = policy_of(e, n, o);
    const std::string destination = cluster_address(e, e.uniform(block)), barrier = cluster_address(e, e.uniform(block + 1));
    const std::string lane = one_lane(e);
    e.unguarded_principal(lane + "cp.async.bulk.tensor." + std::to_string(count) + "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes" +
                          (multicast ? ".multicast::cluster" : "") + (policy.empty() ? "" : ".L2::cache_hint") + " [" + destination + "], [" + map + ", " +
                          coordinates(e, block + 2, count) + "], [" + barrier + "]" + mask + policy + ";");
}

/// Shared memory of the own thread block by its address with a rank.
std::string own_address(Emitter& e, unsigned uniform) {
    std::string result = e.temporary();
    e.prepare("and.b32 " + result + ", " + e.uniform(uniform) + ", 0xffffff;");
    return result;
}

void store_tensor(Emitter& e, const Instruction& n, Modifiers& m, const std::string& before, const std::string& operation) {
    const unsigned count = dimensions(m);
    m.finish();
    const unsigned block = block_of(e, e.operand(0));
    const std::string map = pair_of(e, block_of(e, e.operand(1)));
    const std::string policy = policy_of(e, n, 2);
    const std::string source = own_address(e, block), lane = one_lane(e);
    e.unguarded_principal(lane + before + "tensor." + std::to_string(count) + "d.global.shared::cta" + operation + ".tile.bulk_group" +
                          (policy.empty() ? "" : ".L2::cache_hint") + " [" + map + ", " + coordinates(e, block + 1, count) + "], [" + source + "]" + policy + ";");
}

// UTMASTG.2D [block], [map] {, desc[policy]}
void translate_utmastg(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    store_tensor(e, n, m, "cp.async.bulk.", "");
}

// UTMAREDG.2D.ADD [block], [map] {, desc[policy]}
void translate_utmaredg(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    std::string operation(m.require_one_of({"ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR"}));
    for (char& c : operation) c = static_cast<char>(c - 'A' + 'a');
    store_tensor(e, n, m, "cp.reduce.async.bulk.", "." + operation);
}

// UTMAPF.L2.2D [coordinates], [map]
void translate_utmapf(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    if (!m.take("L2")) e.refuse("only prefetches to L2 are known");
    const unsigned count = dimensions(m);
    m.finish();
    const unsigned block = block_of(e, e.operand(0));
    const std::string map = pair_of(e, block_of(e, e.operand(1)));
    const std::string policy = policy_of(e, n, 2);
    const std::string lane = one_lane(e);
    e.unguarded_principal(lane + "cp.async.bulk.prefetch.tensor." + std::to_string(count) + "d.L2.global.tile" + (policy.empty() ? "" : ".L2::cache_hint") + " [" + map + ", " +
                          coordinates(e, block, count) + "]" + policy + ";");
}

// UTMACCTL.{PF, IV} [map]
void translate_utmacctl(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const std::string_view what = m.require_one_of({"PF", "IV"});
    m.finish();
    if (what == "IV") return e.principal("$nop;");  // no cache of tensor maps is modelled
    e.principal("prefetch.tensormap [" + pair_of(e, block_of(e, e.operand(0))) + "];");
}

/// Bytes of a bulk copy: the lower half of a uniform register, in units of 16.
std::string bulk_bytes(Emitter& e, const Operand& operand) {
    std::string bytes = e.temporary();
    e.prepare("and.b32 " + bytes + ", " + e.source(operand) + ", 0xffff;");
    e.prepare("shl.b32 " + bytes + ", " + bytes + ", 4;");
    return bytes;
}

/// Where a bulk copy goes and comes from.
struct BulkEnds {
    std::string direction, destination, source, barrier;
};

BulkEnds bulk_ends(Emitter& e, std::string_view to, std::string_view from) {
    BulkEnds ends;
    const unsigned target = block_of(e, e.operand(0)), source = block_of(e, e.operand(1));
    ends.source = from == "G" ? pair_of(e, source) : own_address(e, source);
    if (to == "G") {
        ends.direction = "global.shared::cta.bulk_group";
        ends.destination = pair_of(e, target);
        return ends;
    }
    ends.direction = std::string("shared::cluster.") + (from == "G" ? "global" : "shared::cta") + ".mbarrier::complete_tx::bytes";
    ends.destination = cluster_address(e, e.uniform(target));
    ends.barrier = ", [" + cluster_address(e, e.uniform(target + 1)) + "]";
    return ends;
}

/// UBLKCP.S.G and the like: where to, where from.
std::pair<std::string_view, std::string_view> bulk_direction(Emitter& e, const Instruction& n, Modifiers& m) {
    if (n.modifiers.size() < 2) e.refuse("the direction of the copy is expected");
    const std::string_view to = n.modifiers[0], from = n.modifiers[1];
    m.take(to);
    m.take(from);
    if ((to != "S" && to != "G") || (from != "S" && from != "G") || (to == "G" && from == "G")) e.refuse("the direction of the copy is not known");
    return {to, from};
}

// UBLKCP.{S.G, S.S, G.S}{.MULTICAST} [destination], [source], size and mask {, desc[policy]}
void translate_ublkcp(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const auto [to, from] = bulk_direction(e, n, m);
    const bool multicast = m.take("MULTICAST");
    m.finish();
    const BulkEnds ends = bulk_ends(e, to, from);
    const std::string bytes = bulk_bytes(e, e.operand(2)), mask = multicast ? ", " + multicast_mask(e, e.operand(2)) : "";
    const std::string policy = policy_of(e, n, 3), lane = one_lane(e);
    e.unguarded_principal(lane + "cp.async.bulk." + ends.direction + (multicast ? ".multicast::cluster" : "") + (policy.empty() ? "" : ".L2::cache_hint") + " [" +
                          ends.destination + "], [" + ends.source + "], " + bytes + ends.barrier + mask + policy + ";");
}

// UBLKRED.{G.S, S.S}.ADD{.F32.RN} [destination], [source], size {, desc[policy]}
void translate_ublkred(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const auto [to, from] = bulk_direction(e, n, m);
    std::string operation(m.require_one_of({"ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR"}));
    std::string type(m.take_one_of({"F32", "F16", "BF16", "F64", "S32", "U64", "S64"}));
    m.take("RN");
    m.finish();
    for (std::string* word : {&operation, &type})
        for (char& c : *word) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    const bool bitwise = operation == "and" || operation == "or" || operation == "xor";
    if (bitwise) type = type == "u64" ? "b64" : "b32";
    if (type.empty()) type = "u32";
    if (operation == "add" && (type == "f16" || type == "bf16")) operation += ".noftz";
    const BulkEnds ends = bulk_ends(e, to, from);
    const std::string bytes = bulk_bytes(e, e.operand(2)), policy = policy_of(e, n, 3), lane = one_lane(e);
    e.unguarded_principal(lane + "cp.reduce.async.bulk." + ends.direction + (policy.empty() ? "" : ".L2::cache_hint") + "." + operation + "." + type + " [" + ends.destination +
                          "], [" + ends.source + "], " + bytes + ends.barrier + policy + ";");
}

// UBLKPF.L2 [source], size
void translate_ublkpf(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    if (!m.take("L2")) e.refuse("only prefetches to L2 are known");
    m.finish();
    const std::string source = pair_of(e, block_of(e, e.operand(0))), bytes = bulk_bytes(e, e.operand(1)), lane = one_lane(e);
    e.unguarded_principal(lane + "cp.async.bulk.prefetch.L2.global [" + source + "], " + bytes + ";");
}

/// The two halves of a pair of registers, which hold an address in shared memory and its mbarrier.
std::pair<std::string, std::string> address_and_barrier(Emitter& e, const Operand& operand) {
    if (operand.kind != OperandKind::address || operand.uniform_base != kZeroUniformRegister) e.refuse("an address and an mbarrier are expected");
    const std::string address = e.temporary();
    e.prepare("add.u32 " + address + ", " + e.general(operand.base) + ", " + std::to_string(operand.value + 0x1000000) + ";");
    return {address, cluster_address(e, e.general(operand.base + 1u))};
}

// STAS{.64, .128} [address and mbarrier], a
void translate_stas(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const std::string_view size = m.take_one_of({"64", "128"});
    m.finish();
    const auto [address, barrier] = address_and_barrier(e, e.operand(0));
    const std::string type = size == "128" ? ".v4.b32 [" : size == "64" ? ".v2.b32 [" : ".b32 [";
    const std::string value = size.empty() ? e.source(e.operand(1)) : e.words(e.operand(1), size == "64" ? 2 : 4);
    e.principal("st.async.shared::cluster.mbarrier::complete_tx::bytes" + type + address + "], " + value + ", [" + barrier + "];");
}

// REDAS.ADD [address and mbarrier], a
void translate_redas(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    std::string operation(m.require_one_of({"ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR"}));
    const bool is_signed = m.take("S32");
    m.finish();
    for (char& c : operation) c = static_cast<char>(c - 'A' + 'a');
    const bool bitwise = operation == "and" || operation == "or" || operation == "xor";
    const auto [address, barrier] = address_and_barrier(e, e.operand(0));
    e.principal("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." + operation + (bitwise ? ".b32 [" : is_signed ? ".s32 [" : ".u32 [") + address + "], " +
                e.source(e.operand(1)) + ", [" + barrier + "];");
}

// FENCE.VIEW.ASYNC.{S, G, ...}: between ordinary accesses and those of the copy engine.
void translate_fence(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    if (!m.take("VIEW") || !m.take("ASYNC")) e.refuse("this fence is not known");
    m.take_one_of({"S", "G", "T"});
    m.finish();
    e.principal("fence.proxy.async;");
}

constexpr Row kAsynchronousRows[] = {
    {"LDGSTS", translate_ldgsts},     {"LDGDEPBAR", translate_ldgdepbar}, {"DEPBAR", translate_depbar},   {"UTMACMDFLUSH", translate_flush},
    {"ARRIVES", translate_arrives},   {"SYNCS", translate_syncs},         {"UTMALDG", translate_utmaldg}, {"UTMASTG", translate_utmastg},
    {"UTMAREDG", translate_utmaredg}, {"UTMAPF", translate_utmapf},       {"UTMACCTL", translate_utmacctl}, {"UBLKCP", translate_ublkcp},
    {"UBLKRED", translate_ublkred},   {"UBLKPF", translate_ublkpf},       {"STAS", translate_stas},       {"REDAS", translate_redas},
    {"FENCE", translate_fence},
};

}  // namespace

std::span<const Row> asynchronous_rows() {
    return kAsynchronousRows;
}

}  // namespace heddle::sass
