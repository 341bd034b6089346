#include "workloads/kernels/rows_by_index.h"

#include <algorithm>

#include "isa/common/error.h"
#include "isa/target/generation.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kRowsByIndexThreads = 256, kLoopThreads = 128;

/// base + (row * stride + column) elements
Reg element_of_row(PtxWriter& w, const Reg& base, const Reg& row, const Reg& stride, const Reg& column,
                   ElementType type) {
    const Reg start = w.make_b64("mul.wide.u32", row, stride);
    const Reg element = w.make_b64("add.s64", start, w.make_b64("cvt.u64.u32", column));
    const unsigned size = bytes_of(type);
    return w.make_b64("add.s64", base, size == 1 ? element : w.make_b64("mul.lo.u64", element, size));
}

/// 16-bit values in pairs, where there are pairs.
void add_values(PtxWriter& w, const RowsByIndexSpec& spec, const std::vector<Reg>& values,
                const Reg& target) {
    if (spec.y == ElementType::f32) {
        for (unsigned e = 0; e < values.size(); ++e) w.op("red.global.add.f32", at(target, e * 4), values[e]);
        return;
    }
    const std::string opcode = "red.global.add.noftz." + name_of(spec.y);
    if (values.size() == 1) {
        const Reg half = w.b16();
        w.op("cvt.rn." + name_of(spec.y) + ".f32", half, values[0]);
        w.op(opcode, at(target), half);
        return;
    }
    for (unsigned e = 0; e < values.size(); e += 2)
        w.op(opcode + "x2", at(target, e * 2), pack_pair(w, spec.y, values[e], values[e + 1]));
}

/// The index at `position`; any that does not fit into 32 bits becomes the largest number that does.
Reg load_index(PtxWriter& w, ElementType type, const Reg& index, const Reg& position) {
    if (type == ElementType::i32)
        return w.make_b32("ld.global.u32", at(w.element_address(index, position, 4)));
    const Reg wide = w.make_b64("ld.global.u64", at(w.element_address(index, position, 8)));
    return w.make_b32("cvt.u32.u64", w.make_b64("min.u64", wide, 0xffffffffull));
}

void check_index(ElementType type) {
    if (type != ElementType::i32 && type != ElementType::i64)
        throw Error("row indices are i32 or i64, not " + name_of(type));
}

bool copies_bits(const RowsByIndexSpec& spec) {
    return spec.move != RowMove::scatter_add && spec.x == spec.y;
}

}  // namespace

bool adds_atomically(ElementType type, unsigned compute_capability) {
    return type == ElementType::f32 || type == ElementType::f16 ||
           (type == ElementType::bf16 && target::nearest_generation(compute_capability).has_bf16_reduction);
}

GeneratedKernel generate_rows_by_index(const RowsByIndexSpec& spec) {
    check_index(spec.index);
    if (spec.move == RowMove::scatter_add && !adds_atomically(spec.y, spec.compute_capability)) {
        throw Error(
            "scatter_add adds to f32, f16 and, from compute capability 9.0, bf16, not " + name_of(spec.y), {},
            "add into an f32 buffer and convert it afterwards");
    }
    static constexpr const char* kNames[] = {"gather_rows", "scatter_rows", "scatter_add_rows"};
    PtxWriter w(std::string(kNames[static_cast<int>(spec.move)]) + "_" + name_of(spec.x) + "_" +
                    name_of(spec.y) + "_" + name_of(spec.index) + "_v" + std::to_string(spec.vector_width),
                spec.compute_capability);
    const Reg y = w.pointer_parameter("y"), x = w.pointer_parameter("x"),
              index = w.pointer_parameter("index");
    const Reg rows = w.b32_parameter("rows"), limit = w.b32_parameter("limit");
    const Reg x_stride = w.b32_parameter("x_stride"), y_stride = w.b32_parameter("y_stride");
    const PtxWriter::Divider row_vectors = w.divider_parameter("row_vectors");
    const Reg linear = w.make_b32("mad.lo.u32", w.cta_x(), kRowsByIndexThreads, w.tid());
    const Reg row = w.divide_fast(linear, row_vectors);
    const Reg column = w.multiply_by(w.remainder_fast(linear, row, row_vectors), spec.vector_width);
    w.op_if(w.make_predicate("setp.ge.u32", row, rows), "exit");
    const Reg chosen = load_index(w, spec.index, index, row);
    const Reg known = w.make_predicate("setp.lt.u32", chosen, limit);
    const bool gather = spec.move == RowMove::gather;
    if (!gather) w.op_unless(known, "exit");
    const Reg source = element_of_row(w, x, gather ? chosen : row, x_stride, column, spec.x);
    const Reg target = element_of_row(w, y, gather ? row : chosen, y_stride, column, spec.y);
    const RawVector raw =
        load_raw(w, "ld.global", spec.x, spec.vector_width, source, 0, gather ? known : Reg{});
    if (copies_bits(spec)) {
        store_raw(w, "st.global", raw, target, 0);
    } else if (spec.move == RowMove::scatter_add) {
        add_values(w, spec, convert_raw(w, raw, ComputeType::f32), target);
    } else {
        const bool wide = bytes_of(spec.x) == 8 || bytes_of(spec.y) == 8;
        const ComputeType compute = wide ? ComputeType::f64 : ComputeType::f32;
        store_elements(w, "st.global", spec.y, convert_raw(w, raw, compute), target, 0, compute);
    }
    return w.finish({kRowsByIndexThreads, 1, 1});
}

Extent3 rows_by_index_grid(const RowsByIndexSpec& spec, std::uint32_t rows, std::uint32_t columns) {
    return {divide_up(std::uint64_t{rows} * (columns / spec.vector_width), kRowsByIndexThreads), 1, 1};
}

GeneratedKernel generate_elements_by_index(const ElementsByIndexSpec& spec) {
    check_index(spec.index);
    PtxWriter w("gather_elements_" + name_of(spec.type) + "_" + name_of(spec.index), spec.compute_capability);
    const Reg y = w.pointer_parameter("y"), x = w.pointer_parameter("x"),
              index = w.pointer_parameter("index");
    const Reg elements = w.b32_parameter("elements"), columns = w.b32_parameter("columns");
    const Reg limit = w.b32_parameter("limit");
    const Reg linear = w.make_b32("mad.lo.u32", w.cta_x(), kLoopThreads, w.tid());
    const Reg step = w.multiply_by(w.make_b32("mov.u32", "%nctaid.x"), kLoopThreads);
    w.op_if(w.make_predicate("setp.ge.u32", linear, elements), "exit");
    const std::string loop = w.new_label("elements");
    w.place(loop);
    const Reg row = w.make_b32("div.u32", linear, columns);
    const Reg column = w.make_b32("sub.u32", linear, w.make_b32("mul.lo.u32", row, columns));
    const Reg chosen = load_index(w, spec.index, index, row);
    const Reg known = w.make_predicate("setp.lt.u32", chosen, limit);
    const Reg source = element_of_row(w, x, chosen, columns, column, spec.type);
    const RawVector raw = load_raw(w, "ld.global", spec.type, 1, source, 0, known);
    store_raw(w, "st.global", raw, w.element_address(y, linear, bytes_of(spec.type)), 0);
    w.op("add.u32", linear, linear, step);
    w.jump_if(w.make_predicate("setp.lt.u32", linear, elements), loop);
    return w.finish({kLoopThreads, 1, 1});
}

Extent3 elements_by_index_grid(std::uint32_t elements, unsigned sm_count) {
    return {std::min(divide_up(elements, kLoopThreads), 8 * sm_count), 1, 1};
}

}  // namespace heddle::kernels
