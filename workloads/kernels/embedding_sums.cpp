#include "workloads/kernels/embedding_sums.h"

#include "isa/common/error.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kWarps = 32;  // of a CTA: rows of a turn
constexpr unsigned kEmbeddingSumsThreads = kWarps * 32;

/// base + (row * columns + column) elements
Reg element_of(PtxWriter& w, const Reg& base, const Reg& row, const Reg& columns, const Reg& column,
               ElementType type) {
    const Reg start = w.make_b64("mul.wide.u32", row, columns);
    const Reg element = w.make_b64("add.s64", start, w.make_b64("cvt.u64.u32", column));
    return w.make_b64("mad.lo.s64", element, bytes_of(type), base);
}

/// Position of the lowest bit that is set.
Reg lowest_bit(PtxWriter& w, const Reg& mask) {
    return w.make_b32("clz.b32", w.make_b32("brev.b32", mask));
}

void clear_lowest_bit(PtxWriter& w, const Reg& mask) {
    w.op("and.b32", mask, mask, w.make_b32("add.s32", mask, -1));
}

}  // namespace

GeneratedKernel generate_embedding_sums(const EmbeddingSumsSpec& spec) {
    if (spec.index != ElementType::i32 && spec.index != ElementType::i64)
        throw Error("row indices are i32 or i64, not " + name_of(spec.index));
    PtxWriter w("embedding_sums_" + name_of(spec.x) + "_" + name_of(spec.y) + "_" + name_of(spec.index),
                spec.compute_capability);
    const Reg y = w.pointer_parameter("y"), x = w.pointer_parameter("x"),
              index = w.pointer_parameter("index");
    const Reg rows = w.b32_parameter("rows"), columns = w.b32_parameter("columns");
    const Reg tid = w.tid();
    const Reg lane = w.make_b32("and.b32", tid, 31), warp = w.make_b32("shr.u32", tid, 5);
    const Reg column = w.make_b32("mad.lo.u32", w.cta_x(), 32, lane);
    const Reg inside = w.make_predicate("setp.lt.u32", column, columns);
    const Reg values = w.make_b32("mov.u32", w.shared("values", kEmbeddingSumsThreads * 4));
    const Reg indices = w.make_b32("mov.u32", w.shared("indices", kEmbeddingSumsThreads * 4));
    const Reg own_value = w.make_b32("mad.lo.u32", tid, 4, values);
    const Reg own_index = w.make_b32("mad.lo.u32", tid, 4, indices);
    const Reg lane_value = w.make_b32("mad.lo.u32", lane, 4, values);

    // Batches of as many indices as there are threads.
    const std::string batch_loop = w.new_label("batch"), chunk_loop = w.new_label("chunk");
    const Reg batch = w.constant_b32(0);
    w.place(batch_loop);
    const Reg position = w.make_b32("add.u32", batch, tid);
    const Reg has_index = w.make_predicate("setp.lt.u32", position, rows);
    const Reg loaded = w.constant_b32(0);
    if (spec.index == ElementType::i32) {
        w.op_if(has_index, "ld.global.u32", loaded, at(w.element_address(index, position, 4)));
    } else {
        const Reg wide = w.make_b64("mov.b64", 0);
        w.op_if(has_index, "ld.global.u64", wide, at(w.element_address(index, position, 8)));
        w.op("cvt.u32.u64", loaded, wide);
    }
    w.op("st.shared.u32", at(own_index), loaded);
    const Reg end = w.make_b32("min.u32", w.make_b32("add.u32", batch, kEmbeddingSumsThreads), rows);

    // Turns of as many rows as there are warps.
    const Reg chunk = w.make_b32("mov.b32", batch);
    const Reg chunk_indices = w.make_b32("mov.b32", indices);
    const std::string next = w.new_label("next"), sum_loop = w.new_label("sum"),
                      summed = w.new_label("summed");
    w.place(chunk_loop);
    w.cta_barrier();
    const Reg row = w.make_b32("add.u32", chunk, warp);
    const Reg has_row = w.make_predicate("setp.lt.u32", row, end);
    const Reg target = w.make_b32("ld.shared.u32", at(w.make_b32("mad.lo.u32", warp, 4, chunk_indices)));
    const Reg loads = w.make_predicate("and.pred", has_row, inside);
    const Reg sum = load_elements(w, "ld.global", spec.x, 1, element_of(w, x, row, columns, column, spec.x),
                                  0, ComputeType::f32, loads)[0];
    w.op_if(loads, "st.shared.f32", at(own_value), sum);
    w.cta_barrier();
    w.jump_unless(has_row, next);
    const Reg in_chunk = w.make_b32("sub.u32", end, chunk);
    const Reg other = w.make_b32("ld.shared.u32", at(w.make_b32("mad.lo.u32", lane, 4, chunk_indices)));
    const Reg same = w.make_predicate("setp.eq.u32", other, target);
    const Reg known = w.make_predicate("setp.lt.and.u32", lane, in_chunk, same);
    const Reg mask = w.make_b32("vote.sync.ballot.b32", known, "0xffffffff");
    // The lowest of the warps that have one index leads.
    w.jump_if(w.make_predicate("setp.ne.u32", lowest_bit(w, mask), warp), next);
    clear_lowest_bit(w, mask);
    w.place(sum_loop);
    w.jump_if(w.make_predicate("setp.eq.u32", mask, 0), summed);
    const Reg peer = w.make_b32("mad.lo.u32", lowest_bit(w, mask), 32 * 4, lane_value);
    w.op("add.rn.f32", sum, sum, w.make_f32("ld.shared.f32", at(peer)));
    clear_lowest_bit(w, mask);
    w.jump(sum_loop);
    w.place(summed);
    const Reg address = element_of(w, y, target, columns, column, spec.y);
    const Reg before = load_elements(w, "ld.global", spec.y, 1, address, 0, ComputeType::f32, inside)[0];
    const Reg rounded =
        convert_raw(w, pack_elements(w, spec.y, {sum}, ComputeType::f32), ComputeType::f32)[0];
    store_elements(w, "st.global", spec.y, {w.make_f32("add.rn.f32", before, rounded)}, address, 0,
                   ComputeType::f32, inside);
    w.place(next);
    w.op("add.u32", chunk, chunk, kWarps);
    w.op("add.u32", chunk_indices, chunk_indices, kWarps * 4);
    w.jump_if(w.make_predicate("setp.lt.u32", chunk, end), chunk_loop);

    w.cta_barrier();  // before other indices come
    w.op("add.u32", batch, batch, kEmbeddingSumsThreads);
    w.jump_if(w.make_predicate("setp.lt.u32", batch, rows), batch_loop);
    return w.finish({kEmbeddingSumsThreads, 1, 1});
}

Extent3 embedding_sums_grid(std::uint32_t columns) {
    return {divide_up(columns, 32), 1, 1};
}

}  // namespace heddle::kernels
