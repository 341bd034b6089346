#include "workloads/kernels/block_reduce.h"

namespace heddle::kernels {
namespace {

void shuffle_down(PtxWriter& w, Combine combine, const Reg& value) {
    for (unsigned distance = 16; distance >= 1; distance /= 2)
        emit_combine(w, combine, value, w.make_f32("shfl.sync.down.b32", value, distance, 31, "0xffffffff"));
}

}  // namespace

void emit_block_reduce_by_shuffles(PtxWriter& w, Combine combine, const Reg& value, const Reg& tid,
                                   unsigned threads, const Reg& shared) {
    const Reg lane = w.make_b32("and.b32", tid, 31), warp = w.make_b32("shr.u32", tid, 5);
    shuffle_down(w, combine, value);
    w.cta_barrier();
    w.op_if(w.make_predicate("setp.eq.u32", lane, 0), "st.shared.f32",
            at(w.make_b32("mad.lo.u32", warp, 4, shared)), value);
    w.cta_barrier();
    w.op("mov.f32", value, f32_immediate(identity_of(combine)));
    w.op_if(w.make_predicate("setp.lt.u32", tid, threads / 32), "ld.shared.f32", value,
            at(w.make_b32("mad.lo.u32", lane, 4, shared)));
    const std::string finished = w.new_label("reduced");
    w.jump_if(w.make_predicate("setp.ne.u32", warp, 0), finished);
    shuffle_down(w, combine, value);
    w.op_if(w.make_predicate("setp.eq.u32", tid, 0), "st.shared.f32", at(shared), value);
    w.place(finished);
    w.cta_barrier();
    w.op("ld.shared.f32", value, at(shared));
}

void emit_block_reduce_in_turn(PtxWriter& w, Combine combine, const Reg& value, const Reg& tid,
                               unsigned threads, const Reg& shared) {
    const unsigned warps = threads / 32;
    w.cta_barrier();
    w.op("st.shared.f32", at(w.make_b32("mad.lo.u32", tid, 4, shared)), value);
    w.cta_barrier();
    const std::string warps_done = w.new_label("warps_done"), block_done = w.new_label("block_done");
    w.jump_if(w.make_predicate("setp.ge.u32", tid, warps), warps_done);
    const Reg own = w.make_b32("mad.lo.u32", tid, 128, shared);
    w.op("mov.f32", value, f32_immediate(identity_of(combine)));
    for (unsigned i = 0; i < 32; ++i)
        emit_combine(w, combine, value, w.make_f32("ld.shared.f32", at(own, i * 4)));
    w.op("bar.warp.sync", warps == 32 ? std::int64_t{0xffffffff} : (std::int64_t{1} << warps) - 1);
    w.op("st.shared.f32", at(w.make_b32("mad.lo.u32", tid, 4, shared)), value);
    w.place(warps_done);
    w.cta_barrier();
    w.jump_if(w.make_predicate("setp.ne.u32", tid, 0), block_done);
    w.op("mov.f32", value, f32_immediate(identity_of(combine)));
    for (unsigned i = 0; i < warps; ++i)
        emit_combine(w, combine, value, w.make_f32("ld.shared.f32", at(shared, i * 4)));
    w.op("st.shared.f32", at(shared), value);
    w.place(block_done);
    w.cta_barrier();
    w.op("ld.shared.f32", value, at(shared));
}

}  // namespace heddle::kernels
