#include "workloads/kernels/welford.h"

namespace heddle::kernels {

namespace {

void merge_warp(PtxWriter& w, const Welford& own) {
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        const auto other = [&](const Reg& value) {
            return w.make_f32("shfl.sync.bfly.b32", value, distance, 31, "0xffffffff");
        };
        merge(w, own, {other(own.count), other(own.mean), other(own.squares)});
    }
}

}  // namespace

void merge(PtxWriter& w, const Welford& a, const Welford& b) {
    const Reg count = w.make_f32("add.rn.f32", a.count, b.count);
    const Reg divisor = w.make_f32("max.f32", count, f32_immediate(1));
    const Reg share = w.make_f32("div.rn.f32", b.count, divisor);
    const Reg difference = w.make_f32("sub.rn.f32", b.mean, a.mean);
    const Reg weight = w.make_f32("mul.rn.f32", w.make_f32("mul.rn.f32", difference, difference), a.count);
    w.op("add.rn.f32", a.squares, a.squares, b.squares);
    w.op("fma.rn.f32", a.squares, weight, share, a.squares);
    w.op("fma.rn.f32", a.mean, difference, share, a.mean);
    w.op("mov.f32", a.count, count);
}

void take(PtxWriter& w, const Welford& a, const Reg& element) {
    const Reg before = w.make_f32("sub.rn.f32", element, a.mean);
    w.op("add.rn.f32", a.count, a.count, f32_immediate(1));
    w.op("add.rn.f32", a.mean, a.mean, w.make_f32("div.rn.f32", before, a.count));
    const Reg after = w.make_f32("sub.rn.f32", element, a.mean);
    w.op("fma.rn.f32", a.squares, before, after, a.squares);
}

void merge_cta(PtxWriter& w, const Welford& own, const Reg& tid, unsigned threads) {
    merge_warp(w, own);
    if (threads == 32) return;
    const Reg base = w.make_b32("mov.u32", w.shared("moments", 3 * 32 * 4));
    const Reg lane = w.make_b32("and.b32", tid, 31), warp = w.make_b32("shr.u32", tid, 5);
    const Reg target = w.make_b32("mad.lo.u32", warp, 4, base),
              source = w.make_b32("mad.lo.u32", lane, 4, base);
    const Reg first = w.make_predicate("setp.eq.u32", lane, 0);
    const Reg* parts[] = {&own.count, &own.mean, &own.squares};
    for (unsigned i = 0; i < 3; ++i) w.op_if(first, "st.shared.f32", at(target, i * 128), *parts[i]);
    w.cta_barrier();
    const Reg present = w.make_predicate("setp.lt.u32", lane, threads / 32);
    for (unsigned i = 0; i < 3; ++i) {
        w.op("mov.f32", *parts[i], f32_immediate(0));
        w.op_if(present, "ld.shared.f32", *parts[i], at(source, i * 128));
    }
    merge_warp(w, own);
}

}  // namespace heddle::kernels
