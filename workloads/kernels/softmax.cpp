#include "workloads/kernels/softmax.h"

#include <cmath>

#include "isa/common/error.h"
#include "workloads/kernels/row_code.h"

namespace heddle::kernels {
namespace {

constexpr std::uint32_t kLongestCachedRow = 16384;
constexpr unsigned kElementsPerThread = 16;
constexpr unsigned kStreamThreads = 512;
// Stands for -infinity where it may be subtracted from itself: finite, also times log2(e).
constexpr double kLowest = -2e38;

RowGeometry geometry_of(std::uint32_t columns, unsigned vector_width) {
    return choose_row_geometry(columns, vector_width, columns <= 512 ? 16 : kElementsPerThread);
}

void check_label(ElementType label) {
    if (label != ElementType::i32 && label != ElementType::i64) {
        throw Error("labels are i32 or i64, not " + name_of(label));
    }
}

/// The label of a row as a u32; anything outside [0, 2^32) becomes 0xffffffff, which is no column.
Reg load_label(PtxWriter& w, ElementType type, const Reg& labels, const Reg& row) {
    if (type == ElementType::i32) return w.make_b32("ld.global.u32", at(w.element_address(labels, row, 4)));
    const Reg wide = w.make_b64("ld.global.u64", at(w.element_address(labels, row, 8)));
    return w.make_b32("cvt.u32.u64", w.make_b64("min.u64", wide, 0xffffffffull));
}

/// sum -> everything that the row's outputs need: 1 / sum, and the log-sum-exp in units of log2.
struct RowTotals {
    Reg shift;    // max * log2(e)
    Reg inverse;  // 1 / sum
    Reg sum;
};

/// loss[row] = ln2 * (shift + log2(sum)) - x[label]
void write_loss(PtxWriter& w, const SoftmaxSpec& spec, const RowTotals& totals, const Reg& x_row,
                const Reg& labels, const Reg& loss, const Reg& row, const Reg& first) {
    const std::string skip = w.new_label("no_loss");
    w.jump_unless(first, skip);
    const Reg label = load_label(w, spec.label, labels, row);
    const Reg known = w.make_predicate("setp.lt.u32", label, spec.columns);
    const Reg address = w.element_address(x_row, label, bytes_of(spec.input));
    const Reg chosen = load_elements(w, "ld.global", spec.input, 1, address, 0, ComputeType::f32, known)[0];
    const Reg log2_sum = w.make_f32("add.rn.f32", totals.shift, w.make_f32("lg2.approx.f32", totals.sum));
    const Reg negated = w.make_f32("neg.f32", chosen);
    const Reg value = w.make_f32("fma.rn.f32", log2_sum, f32_immediate(kLn2), negated);
    const Reg result = w.make_f32("selp.f32", value, f32_immediate(0), known);
    store_elements(w, "st.global", spec.loss, {result}, w.element_address(loss, row, bytes_of(spec.loss)), 0,
                   ComputeType::f32);
    w.place(skip);
}

Reg shifted_exponential(PtxWriter& w, const Reg& x, const Reg& negative_shift) {
    return w.make_f32("ex2.approx.ftz.f32",
                      w.make_f32("fma.rn.f32", x, f32_immediate(kLog2E), negative_shift));
}

std::string softmax_name(const SoftmaxSpec& spec, const std::string& form) {
    return std::string(spec.cross_entropy ? "softmax_cross_entropy_" : "softmax_") + form + "_" +
           name_of(spec.input) + "_" + name_of(spec.output) +
           (spec.cross_entropy ? "_" + name_of(spec.label) + "_" + name_of(spec.loss) : std::string());
}

/// Address of the first element of a row.
Reg row_start(PtxWriter& w, const Reg& base, const Reg& row, const Reg& row_stride, ElementType type) {
    const Reg start = w.make_b64("mul.wide.u32", row, row_stride);
    const unsigned size = bytes_of(type);
    return w.make_b64("add.s64", base, size == 1 ? start : w.make_b64("mul.lo.u64", start, size));
}

GeneratedKernel generate_cached(const SoftmaxSpec& spec) {
    const RowGeometry geometry = geometry_of(spec.columns, spec.vector_width);
    PtxWriter w(softmax_name(spec, "rows") + "_" + geometry.name(), spec.compute_capability);
    const Reg y = w.pointer_parameter("y"), x = w.pointer_parameter("x");
    Reg labels, loss;
    if (spec.cross_entropy) {
        labels = w.pointer_parameter("labels");
        loss = w.pointer_parameter("loss");
    }
    const Reg rows = w.b32_parameter("rows"), row_stride = w.b32_parameter("row_stride");
    RowCode code(w, geometry);
    const Reg row = code.first_row();
    if (geometry.rows_per_cta() > 1) w.op_if(w.make_predicate("setp.ge.u32", row, rows), "exit");
    const std::vector<RawVector> raw =
        code.load_raw_row(spec.input, code.row_address(x, row, row_stride, spec.input));
    std::vector<Reg> values = code.convert_row(raw, -INFINITY);
    const Reg maximum = w.constant_f32(kLowest);
    for (const Reg& value : values) emit_combine(w, Combine::maximum, maximum, value);
    code.reduce(Combine::maximum, {maximum});
    RowTotals totals;
    totals.shift = w.make_f32("mul.rn.f32", maximum, f32_immediate(kLog2E));
    const Reg negative_shift = w.make_f32("neg.f32", totals.shift);
    totals.sum = w.constant_f32(0);
    for (Reg& value : values) {
        value = shifted_exponential(w, value, negative_shift);
        emit_combine(w, Combine::add, totals.sum, value);
    }
    code.reduce(Combine::add, {totals.sum});
    totals.inverse = w.make_f32("rcp.rn.f32", totals.sum);
    for (Reg& value : values) value = w.make_f32("mul.rn.f32", value, totals.inverse);
    code.store_row(spec.output, values, code.row_address(y, row, row_stride, spec.output));
    if (spec.cross_entropy) {
        write_loss(w, spec, totals, row_start(w, x, row, row_stride, spec.input), labels, loss, row,
                   code.is_first());
    }
    return w.finish({geometry.threads(), 1, 1});
}

/// Running maximum m and sum of exp(x - m): folds in one vector.
void fold_online(PtxWriter& w, const Reg& maximum, const Reg& sum, const std::vector<Reg>& values) {
    const Reg old = w.make_f32("mul.rn.f32", maximum, f32_immediate(kLog2E));
    for (const Reg& value : values) emit_combine(w, Combine::maximum, maximum, value);
    const Reg negative_shift = w.make_f32("mul.rn.f32", maximum, f32_immediate(-kLog2E));
    const Reg correction = w.make_f32("ex2.approx.ftz.f32", w.make_f32("add.rn.f32", old, negative_shift));
    w.op("mul.rn.f32", sum, sum, correction);
    for (const Reg& value : values) {
        emit_combine(w, Combine::add, sum, shifted_exponential(w, value, negative_shift));
    }
}

GeneratedKernel generate_streaming(const SoftmaxSpec& spec) {
    unsigned width = spec.vector_width;
    while (spec.columns % width != 0) width /= 2;
    PtxWriter w(
        softmax_name(spec, "stream") + "_" + std::to_string(spec.columns) + "_v" + std::to_string(width),
        spec.compute_capability);
    const Reg y = w.pointer_parameter("y"), x = w.pointer_parameter("x");
    Reg labels, loss;
    if (spec.cross_entropy) {
        labels = w.pointer_parameter("labels");
        loss = w.pointer_parameter("loss");
    }
    w.b32_parameter("rows");
    const Reg row_stride = w.b32_parameter("row_stride");
    const Reg tid = w.tid(), row = w.cta_x();
    const Reg x_row = row_start(w, x, row, row_stride, spec.input);
    const Reg y_row = row_start(w, y, row, row_stride, spec.output);
    const unsigned in_size = bytes_of(spec.input), out_size = bytes_of(spec.output);
    const Reg end = w.constant_b32(spec.columns);
    const Reg maximum = w.constant_f32(kLowest), sum = w.constant_f32(0);

    const auto loop = [&](const std::vector<std::pair<Reg, unsigned>>& pointers,
                          const std::function<void(const std::vector<RawVector>&)>& body) {
        const Reg index = w.make_b32("mul.lo.u32", tid, width);
        const Reg& source = pointers[0].first;
        emit_strided_loop(w, {index, end, kStreamThreads * width, 4, pointers}, [&](unsigned count) {
            std::vector<RawVector> raw;
            for (unsigned i = 0; i < count; ++i) {
                raw.push_back(load_raw(w, "ld.global", spec.input, width, source,
                                       std::int64_t{i} * kStreamThreads * width * in_size));
            }
            body(raw);
        });
    };
    const Reg first_column = w.make_b32("mul.lo.u32", tid, width);
    loop({{w.element_address(x_row, first_column, in_size), in_size}},
         [&](const std::vector<RawVector>& raw) {
             std::vector<Reg> values;
             for (const RawVector& vector : raw) {
                 for (const Reg& value : convert_raw(w, vector, ComputeType::f32)) values.push_back(value);
             }
             fold_online(w, maximum, sum, values);
         });
    // Bring every thread's sum to the common maximum before adding.
    const Reg own = w.make_f32("mul.rn.f32", maximum, f32_immediate(kLog2E));
    emit_cta_reduce(w, Combine::maximum, {maximum}, tid, kStreamThreads, w.shared("row_maximum", 128));
    RowTotals totals;
    totals.shift = w.make_f32("mul.rn.f32", maximum, f32_immediate(kLog2E));
    const Reg negative_shift = w.make_f32("neg.f32", totals.shift);
    const Reg correction = w.make_f32("ex2.approx.ftz.f32", w.make_f32("add.rn.f32", own, negative_shift));
    w.op("mul.rn.f32", sum, sum, correction);
    emit_cta_reduce(w, Combine::add, {sum}, tid, kStreamThreads, w.shared("row_sum", 128));
    totals.sum = sum;
    totals.inverse = w.make_f32("rcp.rn.f32", sum);
    const Reg target = w.element_address(y_row, first_column, out_size);
    loop({{w.element_address(x_row, first_column, in_size), in_size}, {target, out_size}},
         [&](const std::vector<RawVector>& raw) {
             for (std::size_t i = 0; i < raw.size(); ++i) {
                 std::vector<Reg> values = convert_raw(w, raw[i], ComputeType::f32);
                 for (Reg& value : values) {
                     value = w.make_f32("mul.rn.f32", shifted_exponential(w, value, negative_shift),
                                        totals.inverse);
                 }
                 store_elements(w, "st.global", spec.output, values, target,
                                static_cast<std::int64_t>(i) * kStreamThreads * width * out_size,
                                ComputeType::f32);
             }
         });
    if (spec.cross_entropy) {
        const Reg first = w.make_predicate("setp.eq.u32", tid, 0);
        write_loss(w, spec, totals, x_row, labels, loss, row, first);
    }
    return w.finish({kStreamThreads, 1, 1});
}

}  // namespace

GeneratedKernel generate_softmax(const SoftmaxSpec& spec) {
    if (spec.cross_entropy) check_label(spec.label);
    return spec.columns <= kLongestCachedRow ? generate_cached(spec) : generate_streaming(spec);
}

Extent3 softmax_grid(const SoftmaxSpec& spec, std::uint32_t rows) {
    if (spec.columns > kLongestCachedRow) return {rows, 1, 1};
    return {divide_up(rows, geometry_of(spec.columns, spec.vector_width).rows_per_cta()), 1, 1};
}

GeneratedKernel generate_softmax_grad(const SoftmaxGradSpec& spec) {
    const RowGeometry geometry = geometry_of(spec.columns, spec.vector_width);
    PtxWriter w("softmax_grad_" + name_of(spec.y) + "_" + name_of(spec.dy) + "_" + name_of(spec.dx) + "_" +
                    geometry.name(),
                spec.compute_capability);
    const Reg dx = w.pointer_parameter("dx"), y = w.pointer_parameter("y"), dy = w.pointer_parameter("dy");
    const Reg rows = w.b32_parameter("rows"), row_stride = w.b32_parameter("row_stride");
    RowCode code(w, geometry);
    const Reg row = code.first_row();
    if (geometry.rows_per_cta() > 1) w.op_if(w.make_predicate("setp.ge.u32", row, rows), "exit");
    const std::vector<RawVector> y_raw =
        code.load_raw_row(spec.y, code.row_address(y, row, row_stride, spec.y));
    const std::vector<RawVector> dy_raw =
        code.load_raw_row(spec.dy, code.row_address(dy, row, row_stride, spec.dy));
    std::vector<Reg> y_values = code.convert_row(y_raw, 0), values = code.convert_row(dy_raw, 0);
    const Reg sum = w.constant_f32(0);
    for (std::size_t i = 0; i < values.size(); ++i) w.op("fma.rn.f32", sum, values[i], y_values[i], sum);
    code.reduce(Combine::add, {sum});
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = w.make_f32("mul.rn.f32", y_values[i], w.make_f32("sub.rn.f32", values[i], sum));
    }
    code.store_row(spec.dx, values, code.row_address(dx, row, row_stride, spec.dx));
    return w.finish({geometry.threads(), 1, 1});
}

Extent3 softmax_grad_grid(const SoftmaxGradSpec& spec, std::uint32_t rows) {
    return {divide_up(rows, geometry_of(spec.columns, spec.vector_width).rows_per_cta()), 1, 1};
}

namespace {
constexpr unsigned kGradThreads = 256;
}

GeneratedKernel generate_cross_entropy_grad(const CrossEntropyGradSpec& spec) {
    check_label(spec.label);
    const unsigned width = spec.vector_width;
    PtxWriter w("softmax_cross_entropy_grad_" + name_of(spec.probability) + "_" + name_of(spec.output) + "_" +
                    name_of(spec.label) + "_v" + std::to_string(width),
                spec.compute_capability);
    const Reg dx = w.pointer_parameter("dx"), p = w.pointer_parameter("p"),
              labels = w.pointer_parameter("labels");
    w.b32_parameter("rows");
    const Reg columns = w.b32_parameter("columns"), scale = w.f32_parameter("scale");
    const Reg tid = w.tid(), row = w.cta_x();
    const Reg column = w.make_b32("mad.lo.u32", w.cta_y(), kGradThreads * width, w.multiply_by(tid, width));
    w.op_if(w.make_predicate("setp.ge.u32", column, columns), "exit");
    const Reg source = w.element_address(row_start(w, p, row, columns, spec.probability), column,
                                         bytes_of(spec.probability));
    const RawVector raw = load_raw(w, "ld.global", spec.probability, width, source, 0);
    const Reg label = load_label(w, spec.label, labels, row);
    const Reg known = w.make_predicate("setp.lt.u32", label, columns);
    const Reg row_scale = w.make_f32("selp.f32", scale, f32_immediate(0), known);
    const Reg negative_scale = w.make_f32("neg.f32", row_scale);
    std::vector<Reg> values = convert_raw(w, raw, ComputeType::f32);
    for (unsigned e = 0; e < width; ++e) {
        const Reg own = e == 0 ? column : w.make_b32("add.u32", column, e);
        const Reg hit = w.make_predicate("setp.eq.u32", own, label);
        const Reg subtract = w.make_f32("selp.f32", negative_scale, f32_immediate(0), hit);
        values[e] = w.make_f32("fma.rn.f32", values[e], row_scale, subtract);
    }
    const Reg target =
        w.element_address(row_start(w, dx, row, columns, spec.output), column, bytes_of(spec.output));
    store_elements(w, "st.global", spec.output, values, target, 0, ComputeType::f32);
    return w.finish({kGradThreads, 1, 1});
}

Extent3 cross_entropy_grad_grid(const CrossEntropyGradSpec& spec, std::uint32_t rows, std::uint32_t columns) {
    return {rows, divide_up(columns, std::uint64_t{kGradThreads} * spec.vector_width), 1};
}

}  // namespace heddle::kernels
