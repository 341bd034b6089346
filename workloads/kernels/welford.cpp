#include "workloads/kernels/welford.h"

namespace heddle::kernels {

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

}  // namespace heddle::kernels
