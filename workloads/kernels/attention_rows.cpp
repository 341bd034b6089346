// The small kernels around the gradient of attention: one row (query) by head_dim / 8 lanes.
#include "workloads/kernels/attention.h"
#include "workloads/kernels/reduction_code.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kAttentionRowsThreads = 128;

unsigned rows_per_cta(const AttentionGradSpec& spec) {
    return kAttentionRowsThreads / (spec.head_dim / 8);
}

std::string name_for(const char* stem, const AttentionGradSpec& spec) {
    return std::string(stem) + "_" + name_of(spec.type) + "_d" + std::to_string(spec.head_dim);
}

/// The place of a thread: row and column of its eight elements, batch entry and head.
struct RowPlace {
    Reg row, column, lane_in_row, batch, head;
    Reg matrix_row;  // b64: (batch * heads + head) * queries + row
};

RowPlace make_place(PtxWriter& w, const AttentionGradSpec& spec, const Reg& queries) {
    const unsigned lanes = spec.head_dim / 8;
    RowPlace place;
    const Reg tid = w.tid();
    place.lane_in_row = w.remainder_by(tid, lanes);
    place.column = w.multiply_by(place.lane_in_row, 8);
    place.row = w.make_b32("mad.lo.u32", w.cta_x(), rows_per_cta(spec), w.divide_by(tid, lanes));
    const Reg batch32 = w.cta_y();
    place.batch = w.make_b64("cvt.u64.u32", batch32);
    place.head = w.cta_z();
    const Reg matrix = w.make_b32("mad.lo.u32", batch32, w.make_b32("mov.u32", "%nctaid.z"), place.head);
    place.matrix_row = w.make_b64("mad.wide.u32", matrix, queries, w.make_b64("cvt.u64.u32", place.row));
    return place;
}

Reg element_pointer(PtxWriter& w, const RowPlace& place, const Reg& base, const Reg& batch_stride,
                    const Reg& head_stride, const Reg& row_stride) {
    const Reg batch = w.make_b64("mul.lo.u64", place.batch, batch_stride);
    const Reg head = w.make_b64("mad.wide.u32", place.head, head_stride, batch);
    const Reg row = w.make_b64("mad.wide.u32", place.row, row_stride, head);
    const Reg element = w.make_b64("add.s64", row, w.make_b64("cvt.u64.u32", place.column));
    return w.make_b64("add.s64", base, w.make_b64("shl.b64", element, 1));
}

}  // namespace

GeneratedKernel generate_attention_delta(const AttentionGradSpec& spec) {
    PtxWriter w(name_for("attention_delta", spec), spec.compute_capability);
    const Reg delta = w.pointer_parameter("delta"), o = w.pointer_parameter("o"),
              d_o = w.pointer_parameter("d_o");
    const Reg queries = w.b32_parameter("queries");
    const Reg o_row = w.b32_parameter("o_row"), o_head = w.b32_parameter("o_head");
    const Reg do_row = w.b32_parameter("do_row"), do_head = w.b32_parameter("do_head");
    const Reg o_batch = w.b64_parameter("o_batch"), do_batch = w.b64_parameter("do_batch");
    const RowPlace place = make_place(w, spec, queries);
    const Reg inside = w.make_predicate("setp.lt.u32", place.row, queries);
    const RawVector o_raw = load_raw(w, "ld.global", spec.type, 8,
                                     element_pointer(w, place, o, o_batch, o_head, o_row), 0, inside);
    const RawVector do_raw = load_raw(w, "ld.global", spec.type, 8,
                                      element_pointer(w, place, d_o, do_batch, do_head, do_row), 0, inside);
    const std::vector<Reg> a = convert_raw(w, o_raw, ComputeType::f32),
                           b = convert_raw(w, do_raw, ComputeType::f32);
    const Reg sum = w.constant_f32(0);
    for (unsigned i = 0; i < 8; ++i) w.op("fma.rn.f32", sum, a[i], b[i], sum);
    emit_warp_reduce(w, Combine::add, {sum}, spec.head_dim / 8);
    const Reg writes = w.make_predicate("setp.eq.and.u32", place.lane_in_row, 0, inside);
    const Reg target = w.make_b64("add.s64", delta, w.make_b64("shl.b64", place.matrix_row, 2));
    w.op_if(writes, "st.global.f32", at(target), sum);
    return w.finish({kAttentionRowsThreads, 1, 1});
}

GeneratedKernel generate_attention_finish_dq(const AttentionGradSpec& spec) {
    PtxWriter w(name_for("attention_finish_dq", spec), spec.compute_capability);
    const Reg dq = w.pointer_parameter("dq"), accumulator = w.pointer_parameter("dq_accumulator");
    const Reg queries = w.b32_parameter("queries");
    const Reg dq_row = w.b32_parameter("dq_row"), dq_head = w.b32_parameter("dq_head");
    const Reg dq_batch = w.b64_parameter("dq_batch");
    const Reg scale = w.f32_parameter("scale");
    const RowPlace place = make_place(w, spec, queries);
    w.op_if(w.make_predicate("setp.ge.u32", place.row, queries), "exit");
    const Reg first = w.make_b64("shl.b64", place.matrix_row, spec.head_dim == 64 ? 6 : 7);
    const Reg element = w.make_b64("add.s64", first, w.make_b64("cvt.u64.u32", place.column));
    const Reg source = w.make_b64("add.s64", accumulator, w.make_b64("shl.b64", element, 2));
    std::vector<Reg> values = load_raw(w, "ld.global", ElementType::f32, 8, source, 0).words;
    for (Reg& value : values) value = w.make_f32("mul.rn.f32", value, scale);
    store_elements(w, "st.global", spec.type, values,
                   element_pointer(w, place, dq, dq_batch, dq_head, dq_row), 0, ComputeType::f32);
    return w.finish({kAttentionRowsThreads, 1, 1});
}

Extent3 attention_rows_grid(const AttentionGradSpec& spec, std::uint32_t queries, std::uint32_t batch,
                            std::uint32_t heads) {
    return {divide_up(queries, rows_per_cta(spec)), batch, heads};
}

}  // namespace heddle::kernels
