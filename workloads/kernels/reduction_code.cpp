#include "workloads/kernels/reduction_code.h"

#include <cmath>

namespace heddle::kernels {

void emit_combine(PtxWriter& w, Combine combine, const Reg& accumulator, const Reg& value) {
    static constexpr const char* kOpcodes[] = {"add.rn.f32", "max.f32", "min.f32"};
    w.op(kOpcodes[static_cast<int>(combine)], accumulator, accumulator, value);
}

double identity_of(Combine combine) {
    return combine == Combine::add ? 0 : combine == Combine::maximum ? -INFINITY : INFINITY;
}

void emit_warp_reduce(PtxWriter& w, Combine combine, const std::vector<Reg>& values, unsigned lanes) {
    for (unsigned distance = lanes / 2; distance >= 1; distance /= 2) {
        std::vector<Reg> others;
        others.reserve(values.size());
        for (const Reg& value : values) {
            others.push_back(w.make_f32("shfl.sync.bfly.b32", value, distance, 31, "0xffffffff"));
        }
        for (std::size_t i = 0; i < values.size(); ++i) emit_combine(w, combine, values[i], others[i]);
    }
}

void emit_cta_reduce(PtxWriter& w, Combine combine, const std::vector<Reg>& values, const Reg& tid,
                     unsigned threads, const std::string& shared) {
    emit_warp_reduce(w, combine, values);
    const unsigned warps = threads / 32;
    if (warps == 1) return;
    const unsigned count = static_cast<unsigned>(values.size());
    const Reg lane = w.make_b32("and.b32", tid, 31), warp = w.make_b32("shr.u32", tid, 5);
    const Reg base = w.make_b32("mov.u32", shared);
    const Reg target = w.make_b32("mad.lo.u32", warp, 4, base),
              source = w.make_b32("mad.lo.u32", lane, 4, base);
    const Reg first_lane = w.make_predicate("setp.eq.u32", lane, 0);
    for (unsigned i = 0; i < count; ++i) w.op_if(first_lane, "st.shared.f32", at(target, i * 128), values[i]);
    w.cta_barrier();
    const Reg present = w.make_predicate("setp.lt.u32", lane, warps);
    for (unsigned i = 0; i < count; ++i) {
        w.op("mov.f32", values[i], f32_immediate(identity_of(combine)));
        w.op_if(present, "ld.shared.f32", values[i], at(source, i * 128));
    }
    // All 32 lanes take part, so that every lane gets the result.
    emit_warp_reduce(w, combine, values);
}

void emit_strided_loop(PtxWriter& w, const StridedLoop& loop,
                       const std::function<void(unsigned count)>& body) {
    const auto advance = [&](unsigned count) {
        w.op("add.u32", loop.index, loop.index, count * loop.step);
        for (const auto& [pointer, bytes] : loop.pointers)
            w.op("add.s64", pointer, pointer, count * loop.step * bytes);
    };
    const std::string rest = w.new_label("rest"), done = w.new_label("done");
    if (loop.unroll > 1) {
        const std::string unrolled = w.new_label("unrolled");
        const auto whole = [&] {
            const Reg last = w.make_b32("add.u32", loop.index, (loop.unroll - 1) * loop.step);
            return w.make_predicate("setp.lt.u32", last, loop.end);
        };
        w.jump_unless(whole(), rest);
        w.place(unrolled);
        body(loop.unroll);
        advance(loop.unroll);
        w.jump_if(whole(), unrolled);
    }
    w.place(rest);
    w.jump_unless(w.make_predicate("setp.lt.u32", loop.index, loop.end), done);
    body(1);
    advance(1);
    w.jump(rest);
    w.place(done);
}

}  // namespace heddle::kernels
