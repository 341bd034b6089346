#include "workloads/kernels/layer_norm.h"

#include <algorithm>

#include "workloads/kernels/row_code.h"

namespace heddle::kernels {
namespace {

RowGeometry forward_geometry(const LayerNormSpec& spec) {
    return choose_row_geometry(spec.columns, spec.vector_width, 16);
}

/// A row for each warp up to 1,024 columns, then one for the CTA with half as many elements per thread as the
/// forward kernel: x, dy and two rows of partial sums live in registers (Transformer Engine's tuned kernels:
/// four warps by one up to 1,024 columns, one by four above).
RowGeometry grad_geometry(const LayerNormGradSpec& spec) {
    return choose_row_geometry(spec.columns, spec.vector_width, spec.columns <= 1024 ? 32 : 8);
}

/// Adds up what the rows of a CTA, one for each of its warps, hold of every column, and stores it in the
/// CTA's row of `y`.
void store_sums_of_warps(PtxWriter& w, const RowCode& code, const std::vector<Reg>& values, const Reg& tid,
                         const std::string& shared, const Reg& y) {
    const RowGeometry& geometry = code.geometry();
    const unsigned warps = geometry.rows_per_cta(), columns = geometry.columns, width = geometry.vector_width;
    const Reg base = w.make_b32("mov.u32", shared);
    const Reg warp = w.make_b32("shr.u32", tid, 5);
    const Reg own = w.make_b32("mad.lo.u32", warp, columns * 4,
                               w.make_b32("mad.lo.u32", code.position(), width * 4, base));
    for (unsigned i = 0; i < values.size(); i += width) {
        const unsigned first = i / width * 32;  // of the row's vectors
        const bool whole = first + 32 <= columns / width;
        const Reg guard =
            whole ? Reg{} : w.make_predicate("setp.lt.u32", code.position(), columns / width - first);
        store_elements(w, "st.shared", ElementType::f32, {values.begin() + i, values.begin() + i + width},
                       own, std::int64_t{first} * width * 4, ComputeType::f32, guard);
    }
    w.cta_barrier();
    const Reg column = w.make_b32("mad.lo.u32", tid, 4, base);
    const Reg row = w.make_b64("mad.wide.u32", w.make_b32("mad.lo.u32", w.cta_x(), columns, tid), 4, y);
    for (unsigned first = 0; first < columns; first += geometry.threads()) {
        const bool whole = first + geometry.threads() <= columns;
        const Reg guard = whole ? Reg{} : w.make_predicate("setp.lt.u32", tid, columns - first);
        const Reg sum = w.constant_f32(0);
        for (unsigned i = 0; i < warps; ++i) {
            const Reg part = w.constant_f32(0);
            const std::string from = at(column, (std::int64_t{i} * columns + first) * 4);
            if (whole)
                w.op("ld.shared.f32", part, from);
            else
                w.op_if(guard, "ld.shared.f32", part, from);
            w.op("add.rn.f32", sum, sum, part);
        }
        if (whole)
            w.op("st.global.f32", at(row, std::int64_t{first} * 4), sum);
        else
            w.op_if(guard, "st.global.f32", at(row, std::int64_t{first} * 4), sum);
    }
    w.cta_barrier();
}

}  // namespace

GeneratedKernel generate_layer_norm(const LayerNormSpec& spec) {
    const RowGeometry geometry = forward_geometry(spec);
    PtxWriter w((spec.rms ? "rms_norm_" : "layer_norm_") + name_of(spec.x) + "_" + name_of(spec.y) + "_" +
                    name_of(spec.weight) + "_" + geometry.name(),
                spec.compute_capability);
    const auto unless_rms = [&](const char* name) { return spec.rms ? Reg{} : w.pointer_parameter(name); };
    const Reg y = w.pointer_parameter("y"), mean = unless_rms("mean"), rstd = w.pointer_parameter("rstd");
    const Reg x = w.pointer_parameter("x"), gamma = w.pointer_parameter("gamma"), beta = unless_rms("beta");
    const Reg rows = w.b32_parameter("rows");
    const Reg epsilon = w.f32_parameter("epsilon");
    RowCode code(w, geometry);
    const Reg row = code.first_row();
    if (geometry.rows_per_cta() > 1) w.op_if(w.make_predicate("setp.ge.u32", row, rows), "exit");
    const Reg stride = w.constant_b32(spec.columns);
    const std::vector<RawVector> raw = code.load_raw_row(spec.x, code.row_address(x, row, stride, spec.x));
    const std::vector<RawVector> gamma_raw =
        code.load_raw_row(spec.weight, code.column_address(gamma, spec.weight));
    std::vector<RawVector> beta_raw;
    if (!spec.rms) beta_raw = code.load_raw_row(spec.weight, code.column_address(beta, spec.weight));
    std::vector<Reg> values = code.convert_row(raw, 0);
    const double inverse = 1.0 / spec.columns;

    Reg row_mean;
    std::vector<Reg> differences = values, counted = values;
    if (!spec.rms) {
        const Reg sum = w.constant_f32(0);
        for (const Reg& value : values) emit_combine(w, Combine::add, sum, value);
        code.reduce(Combine::add, {sum});
        row_mean = w.make_f32("mul.rn.f32", sum, f32_immediate(inverse));
        for (Reg& value : differences) value = w.make_f32("sub.rn.f32", value, row_mean);
        // Elements beyond the row must not count as (0 - mean)^2.
        counted = code.mask_row(differences);
    }
    const Reg squares = w.constant_f32(0);
    for (const Reg& value : counted) w.op("fma.rn.f32", squares, value, value, squares);
    code.reduce(Combine::add, {squares});
    const Reg variance = w.make_f32("fma.rn.f32", squares, f32_immediate(inverse), epsilon);
    const Reg row_rstd = w.make_f32("rsqrt.approx.f32", variance);

    const std::vector<Reg> gamma_values = code.convert_row(gamma_raw, 0);
    const std::vector<Reg> beta_values = spec.rms ? std::vector<Reg>{} : code.convert_row(beta_raw, 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const Reg normal = w.make_f32("mul.rn.f32", differences[i], row_rstd);
        values[i] = spec.rms ? w.make_f32("mul.rn.f32", normal, gamma_values[i])
                             : w.make_f32("fma.rn.f32", normal, gamma_values[i], beta_values[i]);
    }
    code.store_row(spec.y, values, code.row_address(y, row, stride, spec.y));
    if (!spec.rms) w.op_if(code.is_first(), "st.global.f32", at(w.element_address(mean, row, 4)), row_mean);
    w.op_if(code.is_first(), "st.global.f32", at(w.element_address(rstd, row, 4)), row_rstd);
    return w.finish({geometry.threads(), 1, 1});
}

Extent3 layer_norm_grid(const LayerNormSpec& spec, std::uint32_t rows) {
    return {divide_up(rows, forward_geometry(spec).rows_per_cta()), 1, 1};
}

GeneratedKernel generate_layer_norm_grad(const LayerNormGradSpec& spec) {
    const RowGeometry geometry = grad_geometry(spec);
    PtxWriter w((spec.rms ? "rms_norm_grad_" : "layer_norm_grad_") + name_of(spec.x) + "_" +
                    name_of(spec.dy) + "_" + name_of(spec.dx) + "_" + name_of(spec.weight) + "_" +
                    geometry.name(),
                spec.compute_capability);
    const Reg dx = w.pointer_parameter("dx"), partial_gamma = w.pointer_parameter("partial_gamma");
    const auto unless_rms = [&](const char* name) { return spec.rms ? Reg{} : w.pointer_parameter(name); };
    const Reg partial_beta = unless_rms("partial_beta"), dy = w.pointer_parameter("dy");
    const Reg x = w.pointer_parameter("x"), mean = unless_rms("mean"), rstd = w.pointer_parameter("rstd");
    const Reg gamma = w.pointer_parameter("gamma");
    const Reg rows = w.b32_parameter("rows");
    RowCode code(w, geometry);
    const Reg row = w.make_b32("mov.b32", code.first_row());
    const Reg workers = w.multiply_by(w.make_b32("mov.u32", "%nctaid.x"), geometry.rows_per_cta());
    const Reg stride = w.constant_b32(spec.columns);
    const std::vector<Reg> gamma_values =
        code.convert_row(code.load_raw_row(spec.weight, code.column_address(gamma, spec.weight)), 0);
    std::vector<Reg> d_gamma, d_beta;
    for (unsigned i = 0; i < code.elements(); ++i) {
        d_gamma.push_back(w.constant_f32(0));
        if (!spec.rms) d_beta.push_back(w.constant_f32(0));
    }
    const double inverse = 1.0 / spec.columns;
    const std::string loop = w.new_label("rows"), done = w.new_label("done");
    w.jump_if(w.make_predicate("setp.ge.u32", row, rows), done);
    w.place(loop);
    const std::vector<RawVector> x_raw = code.load_raw_row(spec.x, code.row_address(x, row, stride, spec.x));
    const std::vector<RawVector> dy_raw =
        code.load_raw_row(spec.dy, code.row_address(dy, row, stride, spec.dy));
    const Reg row_mean = spec.rms ? Reg{} : w.make_f32("ld.global.f32", at(w.element_address(mean, row, 4)));
    const Reg row_rstd = w.make_f32("ld.global.f32", at(w.element_address(rstd, row, 4)));
    std::vector<Reg> x_hat = code.convert_row(x_raw, 0), values = code.convert_row(dy_raw, 0);
    // Columns beyond the row have dy = 0 and gamma = 0, and so add nothing below.
    const Reg sum = w.constant_f32(0), sum_x_hat = w.constant_f32(0);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const Reg centred = spec.rms ? x_hat[i] : w.make_f32("sub.rn.f32", x_hat[i], row_mean);
        x_hat[i] = w.make_f32("mul.rn.f32", centred, row_rstd);
        w.op("fma.rn.f32", d_gamma[i], values[i], x_hat[i], d_gamma[i]);
        if (!spec.rms) w.op("add.rn.f32", d_beta[i], d_beta[i], values[i]);
        values[i] = w.make_f32("mul.rn.f32", values[i], gamma_values[i]);
        if (!spec.rms) w.op("add.rn.f32", sum, sum, values[i]);
        w.op("fma.rn.f32", sum_x_hat, values[i], x_hat[i], sum_x_hat);
    }
    code.reduce(Combine::add, spec.rms ? std::vector<Reg>{sum_x_hat} : std::vector<Reg>{sum, sum_x_hat});
    const Reg negative_mean = spec.rms ? Reg{} : w.make_f32("mul.rn.f32", sum, f32_immediate(-inverse));
    const Reg negative_slope = w.make_f32("mul.rn.f32", sum_x_hat, f32_immediate(-inverse));
    for (std::size_t i = 0; i < values.size(); ++i) {
        const Reg shifted = spec.rms ? values[i] : w.make_f32("add.rn.f32", values[i], negative_mean);
        values[i] =
            w.make_f32("mul.rn.f32", w.make_f32("fma.rn.f32", x_hat[i], negative_slope, shifted), row_rstd);
    }
    code.store_row(spec.dx, values, code.row_address(dx, row, stride, spec.dx));
    // One reduction per row: the next one must not overwrite what a slow warp still reads.
    if (geometry.threads_per_row > 32) w.cta_barrier();
    w.op("add.u32", row, row, workers);
    w.jump_if(w.make_predicate("setp.lt.u32", row, rows), loop);
    w.place(done);
    if (geometry.rows_per_cta() > 1) {
        const std::string sums = w.shared("sums", geometry.rows_per_cta() * spec.columns * 4);
        const Reg tid = w.tid();
        store_sums_of_warps(w, code, d_gamma, tid, sums, partial_gamma);
        if (!spec.rms) store_sums_of_warps(w, code, d_beta, tid, sums, partial_beta);
        return w.finish({geometry.threads(), 1, 1});
    }
    const Reg worker = w.cta_x();
    code.store_row(ElementType::f32, d_gamma,
                   code.row_address(partial_gamma, worker, stride, ElementType::f32));
    if (!spec.rms)
        code.store_row(ElementType::f32, d_beta,
                       code.row_address(partial_beta, worker, stride, ElementType::f32));
    return w.finish({geometry.threads(), 1, 1});
}

Extent3 layer_norm_grad_grid(std::uint32_t workers) {
    return {workers, 1, 1};
}

std::uint32_t layer_norm_grad_workers(const LayerNormGradSpec& spec, std::uint32_t rows, unsigned sm_count) {
    const std::uint32_t per_cta = grad_geometry(spec).rows_per_cta();
    return std::min((per_cta > 1 ? 3 : 2) * sm_count, divide_up(rows, per_cta));
}

}  // namespace heddle::kernels
