#include "workloads/kernels/data_movement.h"

#include "isa/common/error.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kDataMovementThreads = 256;
constexpr unsigned kFillVectors = 4;  // per thread
constexpr unsigned kTile = 32, kTileRows = 8;

bool needs_f64(ElementType type) {
    return bytes_of(type) == 8 || type == ElementType::i32;
}

Reg element_of_row(PtxWriter& w, const Reg& base, const Reg& row, const Reg& stride, const Reg& column,
                   ElementType type) {
    const Reg start = w.make_b64("mul.wide.u32", row, stride);
    const Reg element = w.make_b64("add.s64", start, w.make_b64("cvt.u64.u32", column));
    const unsigned size = bytes_of(type);
    return w.make_b64("add.s64", base, size == 1 ? element : w.make_b64("mul.lo.u64", element, size));
}

}  // namespace

GeneratedKernel generate_fill(const FillSpec& spec) {
    PtxWriter w("fill_" + name_of(spec.type) + "_v" + std::to_string(spec.vector_width),
                spec.compute_capability);
    const Reg y = w.pointer_parameter("y");
    const Reg elements = w.b32_parameter("elements");
    const ComputeType compute = needs_f64(spec.type) ? ComputeType::f64 : ComputeType::f32;
    const Reg value = compute == ComputeType::f64 ? w.f64_parameter("value") : w.f32_parameter("value");
    const unsigned pass = kDataMovementThreads * spec.vector_width;
    const Reg cta_first = w.make_b32("mul.lo.u32", w.cta_x(), pass * kFillVectors);
    const Reg first = w.make_b32("mad.lo.u32", w.tid(), spec.vector_width, cta_first);
    const RawVector packed = pack_elements(w, spec.type, std::vector<Reg>(spec.vector_width, value), compute);
    const unsigned size = bytes_of(spec.type);
    const Reg target = w.element_address(y, first, size);
    for (unsigned i = 0; i < kFillVectors; ++i) {
        const Reg own = i == 0 ? first : w.make_b32("add.u32", first, i * pass);
        const Reg inside = w.make_predicate("setp.lt.u32", own, elements);
        store_raw(w, "st.global", packed, target, std::int64_t{i} * pass * size, inside);
    }
    return w.finish({kDataMovementThreads, 1, 1});
}

Extent3 fill_grid(const FillSpec& spec, std::uint32_t elements) {
    return {divide_up(elements, std::uint64_t{kDataMovementThreads} * spec.vector_width * kFillVectors), 1, 1};
}

GeneratedKernel generate_copy_rows(const CopyRowsSpec& spec) {
    PtxWriter w(
        "copy_rows_" + name_of(spec.x) + "_" + name_of(spec.y) + "_v" + std::to_string(spec.vector_width),
        spec.compute_capability);
    const Reg y = w.pointer_parameter("y"), x = w.pointer_parameter("x");
    const Reg rows = w.b32_parameter("rows");
    const Reg x_stride = w.b32_parameter("x_stride"), y_stride = w.b32_parameter("y_stride");
    const PtxWriter::Divider row_vectors = w.divider_parameter("row_vectors");
    const Reg linear = w.make_b32("mad.lo.u32", w.cta_x(), kDataMovementThreads, w.tid());
    const Reg row = w.divide_fast(linear, row_vectors);
    const Reg column = w.multiply_by(w.remainder_fast(linear, row, row_vectors), spec.vector_width);
    w.op_if(w.make_predicate("setp.ge.u32", row, rows), "exit");
    const Reg source = element_of_row(w, x, row, x_stride, column, spec.x);
    const Reg target = element_of_row(w, y, row, y_stride, column, spec.y);
    const RawVector raw = load_raw(w, "ld.global", spec.x, spec.vector_width, source, 0);
    if (spec.x == spec.y) {
        store_raw(w, "st.global", raw, target, 0);
    } else {
        const ComputeType compute =
            needs_f64(spec.x) || needs_f64(spec.y) ? ComputeType::f64 : ComputeType::f32;
        store_elements(w, "st.global", spec.y, convert_raw(w, raw, compute), target, 0, compute);
    }
    return w.finish({kDataMovementThreads, 1, 1});
}

Extent3 copy_rows_grid(const CopyRowsSpec& spec, std::uint32_t rows, std::uint32_t columns) {
    return {divide_up(std::uint64_t{rows} * (columns / spec.vector_width), kDataMovementThreads), 1, 1};
}

GeneratedKernel generate_transpose(const TransposeSpec& spec) {
    const unsigned size = bytes_of(spec.type);
    PtxWriter w("transpose_" + std::to_string(size) + "byte", spec.compute_capability);
    const Reg y = w.pointer_parameter("y"), x = w.pointer_parameter("x");
    const Reg rows = w.b32_parameter("rows"), columns = w.b32_parameter("columns");
    const Reg tid = w.tid();
    const Reg tx = w.make_b32("and.b32", tid, kTile - 1), ty = w.make_b32("shr.u32", tid, 5);
    const Reg row_first = w.make_b32("mul.lo.u32", w.cta_y(), kTile),
              column_first = w.make_b32("mul.lo.u32", w.cta_x(), kTile);
    // Every batch entry has rows * columns elements on both sides.
    const Reg matrix = w.make_b64("mul.wide.u32", rows, columns);
    const Reg batch = w.make_b64("mul.lo.u64", w.make_b64("cvt.u64.u32", w.cta_z()), matrix);
    const Reg batch_bytes = w.make_b64("mul.lo.u64", batch, size);
    const Reg x_batch = w.make_b64("add.s64", x, batch_bytes),
              y_batch = w.make_b64("add.s64", y, batch_bytes);
    // One column more than 32 keeps the transposed reads out of each other's banks.
    const unsigned stride = (kTile + (size < 4 ? 4 / size : 1)) * size;
    const Reg shared = w.make_b32("mov.u32", w.shared("tile", kTile * stride));
    const std::string bits = size == 1 ? ".u8" : ".b" + std::to_string(size * 8);
    const auto reg = [&w, size] {
        return size == 1 ? w.b32() : size == 2 ? w.b16() : size == 4 ? w.b32() : w.b64();
    };

    const Reg column = w.make_b32("add.u32", column_first, tx), row = w.make_b32("add.u32", row_first, ty);
    const Reg column_inside = w.make_predicate("setp.lt.u32", column, columns);
    const Reg source = element_of_row(w, x_batch, row, columns, column, spec.type);
    const Reg source_step = w.make_b64("mul.wide.u32", columns, kTileRows * size);
    std::vector<Reg> values;
    for (unsigned i = 0; i < kTile / kTileRows; ++i) {
        const Reg own = i == 0 ? row : w.make_b32("add.u32", row, i * kTileRows);
        values.push_back(reg());
        w.op_if(w.make_predicate("setp.lt.and.u32", own, rows, column_inside), "ld.global" + bits,
                values.back(), at(source));
        if (i + 1 < kTile / kTileRows) w.op("add.s64", source, source, source_step);
    }
    const Reg write = w.make_b32("mad.lo.u32", ty, stride, w.make_b32("mad.lo.u32", tx, size, shared));
    for (unsigned i = 0; i < values.size(); ++i)
        w.op("st.shared" + bits, at(write, i * kTileRows * stride), values[i]);
    w.cta_barrier();
    const Reg read = w.make_b32("mad.lo.u32", tx, stride, w.make_b32("mad.lo.u32", ty, size, shared));
    const Reg out_column = w.make_b32("add.u32", row_first, tx),
              out_row = w.make_b32("add.u32", column_first, ty);
    const Reg out_inside = w.make_predicate("setp.lt.u32", out_column, rows);
    const Reg target = element_of_row(w, y_batch, out_row, rows, out_column, spec.type);
    const Reg target_step = w.make_b64("mul.wide.u32", rows, kTileRows * size);
    for (unsigned i = 0; i < kTile / kTileRows; ++i) {
        const Reg value = reg();
        w.op("ld.shared" + bits, value, at(read, i * kTileRows * size));
        const Reg own = i == 0 ? out_row : w.make_b32("add.u32", out_row, i * kTileRows);
        w.op_if(w.make_predicate("setp.lt.and.u32", own, columns, out_inside), "st.global" + bits, at(target),
                value);
        if (i + 1 < kTile / kTileRows) w.op("add.s64", target, target, target_step);
    }
    return w.finish({kTile * kTileRows, 1, 1});
}

Extent3 transpose_grid(const TransposeSpec&, std::uint32_t rows, std::uint32_t columns, std::uint32_t batch) {
    return {divide_up(columns, kTile), divide_up(rows, kTile), batch};
}

}  // namespace heddle::kernels
