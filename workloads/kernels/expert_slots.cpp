#include "workloads/kernels/expert_slots.h"

#include "isa/common/error.h"

namespace heddle::kernels {
namespace {

constexpr const char* kExpertSlotsAll = "0xffffffff";

/// Tokens of this turn before the warp's own, and of the whole turn.
struct Turn {
    Reg before, total;
};

/// Every warp's count goes through shared memory; every warp scans all of them for itself.
Turn scan_counts(PtxWriter& w, const std::string& counts, const Reg& count, const Reg& warp, const Reg& lane,
                 unsigned warps) {
    const Reg first = w.make_predicate("setp.eq.u32", lane, 0);
    const Reg base = w.make_b32("mov.u32", counts);
    w.op_if(first, "st.shared.u32", at(w.make_b32("mad.lo.u32", warp, 4, base)), count);
    w.cta_barrier();
    const Reg known = w.make_predicate("setp.lt.u32", lane, warps);
    const Reg sum = w.constant_b32(0);
    w.op_if(known, "ld.shared.u32", sum, at(w.make_b32("mad.lo.u32", lane, 4, base)));
    w.cta_barrier();
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        const Reg other = w.make_b32("shfl.sync.up.b32", sum, distance, 0, kExpertSlotsAll);
        const Reg has = w.make_predicate("setp.ge.u32", lane, distance);
        w.op("add.u32", sum, sum, w.make_b32("selp.b32", other, 0, has));
    }
    const Reg total = w.make_b32("shfl.sync.idx.b32", sum, 31, 31, kExpertSlotsAll);
    const Reg inclusive = w.make_b32("shfl.sync.idx.b32", sum, warp, 31, kExpertSlotsAll);
    return {w.make_b32("sub.u32", inclusive, count), total};
}

}  // namespace

GeneratedKernel generate_expert_slots(const ExpertSlotsSpec& spec) {
    if (spec.threads == 0 || spec.threads > 1024 || spec.threads % 32 != 0)
        throw Error("slots of experts take blocks of 32 to 1,024 threads, in whole warps");
    PtxWriter w("expert_slots_" + std::to_string(spec.threads), spec.compute_capability);
    const Reg slots = w.pointer_parameter("slots"), indices = w.pointer_parameter("indices");
    const Reg rows = w.b32_parameter("rows"), capacity = w.b32_parameter("capacity"),
              none = w.b32_parameter("none");
    const std::string counts = w.shared("counts", 128);
    const Reg expert = w.cta_x(), tid = w.tid();
    const Reg lane = w.make_b32("and.b32", tid, 31), warp = w.make_b32("shr.u32", tid, 5);
    const Reg below = w.make_b32("sub.u32", w.make_b32("shl.b32", w.constant_b32(1), lane), 1);
    const Reg start = w.make_b32("mul.lo.u32", expert, capacity);
    const Reg row = w.make_b32("mov.u32", tid), base = w.constant_b32(0), running = w.constant_b32(0);
    const std::string turn = w.new_label("turn");
    w.place(turn);
    const Reg inside = w.make_predicate("setp.lt.u32", row, rows);
    const Reg chosen = w.constant_b32(-1);
    w.op_if(inside, "ld.global.u32", chosen, at(w.element_address(indices, row, 4)));
    const Reg mine = w.make_predicate("setp.eq.u32", chosen, expert);
    const Reg ballot = w.make_b32("vote.sync.ballot.b32", mine, kExpertSlotsAll);
    const Reg count = w.make_b32("popc.b32", ballot);
    const Turn scanned = scan_counts(w, counts, count, warp, lane, spec.threads / 32);
    const Reg in_warp = w.make_b32("popc.b32", w.make_b32("and.b32", ballot, below));
    const Reg rank = w.make_b32("add.u32", w.make_b32("add.u32", running, scanned.before), in_warp);
    const Reg fits = w.make_predicate("setp.lt.u32", rank, capacity);
    const Reg slot = w.make_b32("selp.b32", w.make_b32("add.u32", start, rank), none, fits);
    w.op_if(mine, "st.global.u32", at(w.element_address(slots, row, 4)), slot);
    w.op("add.u32", running, running, scanned.total);
    w.op("add.u32", row, row, spec.threads);
    w.op("add.u32", base, base, spec.threads);
    w.jump_if(w.make_predicate("setp.lt.u32", base, rows), turn);
    return w.finish({spec.threads, 1, 1});
}

}  // namespace heddle::kernels
