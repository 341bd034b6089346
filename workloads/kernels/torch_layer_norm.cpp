#include "workloads/kernels/torch_layer_norm.h"

#include <string>

#include "isa/common/error.h"
#include "workloads/kernels/block_reduce.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kTorchLayerNormThreads = 128, kWarps = kTorchLayerNormThreads / 32;
constexpr unsigned kVector = 4;  // elements of a thread at a time

std::string tail_of(const TorchLayerNormSpec& spec) {
    return "_" + name_of(spec.x) + "_" + name_of(spec.weight) + "_" + std::to_string(spec.columns);
}

void check_columns(const TorchLayerNormSpec& spec) {
    if (spec.columns == 0) throw Error("a layer norm of no columns", {.key = "torch_layer_norm"});
}

/// Address of a row's element `column` (a b32 register, or empty for the first).
Reg element_of_row(PtxWriter& w, const Reg& base, const Reg& row, const TorchLayerNormSpec& spec,
                   const Reg& column) {
    const Reg first = w.make_b64("mul.wide.u32", row, spec.columns);
    const Reg element =
        column.empty() ? first : w.make_b64("add.s64", first, w.make_b64("cvt.u64.u32", column));
    return w.make_b64("mad.lo.s64", element, bytes_of(spec.x), base);
}

/// Mean and sum of squared differences of what a thread has seen.
struct Moments {
    Reg mean, squares, count;
};

/// cuWelfordOnlineSum
void take(PtxWriter& w, const Moments& m, const Reg& value) {
    const Reg delta = w.make_f32("sub.rn.f32", value, m.mean);
    w.op("add.rn.f32", m.count, m.count, f32_immediate(1));
    w.op("fma.rn.f32", m.mean, delta, w.make_f32("rcp.rn.f32", m.count), m.mean);
    w.op("fma.rn.f32", m.squares, delta, w.make_f32("sub.rn.f32", value, m.mean), m.squares);
}

/// cuWelfordCombine; both may be empty.
void combine(PtxWriter& w, const Moments& a, const Moments& b) {
    const Reg delta = w.make_f32("sub.rn.f32", b.mean, a.mean);
    const Reg count = w.make_f32("add.rn.f32", a.count, b.count);
    const Reg share = w.make_f32("rcp.rn.f32", w.make_f32("max.f32", count, f32_immediate(1)));
    const Reg of_a = w.make_f32("mul.rn.f32", a.count, share),
              of_b = w.make_f32("mul.rn.f32", b.count, share);
    w.op("mul.rn.f32", a.mean, of_a, a.mean);
    w.op("fma.rn.f32", a.mean, of_b, b.mean, a.mean);
    const Reg between = w.make_f32("mul.rn.f32", w.make_f32("mul.rn.f32", delta, delta), a.count);
    w.op("add.rn.f32", a.squares, a.squares, b.squares);
    w.op("fma.rn.f32", a.squares, between, of_b, a.squares);
    w.op("mov.f32", a.count, count);
}

/// Over the warp by shuffles, then over the warps by halves through shared memory; every thread gets mean and
/// variance.
void combine_cta(PtxWriter& w, const Moments& m, const Reg& tid, std::uint32_t columns) {
    const auto down = [&](const Reg& value, unsigned distance) {
        return w.make_f32("shfl.sync.down.b32", value, distance, 31, "0xffffffff");
    };
    for (unsigned distance = 16; distance > 0; distance /= 2)
        combine(w, m, {down(m.mean, distance), down(m.squares, distance), down(m.count, distance)});
    const Reg buffer = w.make_b32("mov.u32", w.shared("moments", kWarps / 2 * 12));
    const Reg warp = w.make_b32("shr.u32", tid, 5);
    const Reg first_lane = w.make_predicate("setp.eq.u32", w.make_b32("and.b32", tid, 31), 0);
    for (unsigned half = kWarps / 2; half > 0; half /= 2) {
        const Reg slot = w.make_b32("mad.lo.u32", w.make_b32("sub.u32", warp, half), 12, buffer);
        const Reg upper = w.make_predicate("setp.ge.and.u32", warp, half, first_lane);
        const Reg writes = w.make_predicate("setp.lt.and.u32", warp, 2 * half, upper);
        w.op_if(writes, "st.shared.f32", at(slot), m.mean);
        w.op_if(writes, "st.shared.f32", at(slot, 4), m.squares);
        w.op_if(writes, "st.shared.f32", at(slot, 8), m.count);
        w.cta_barrier();
        const std::string skip = w.new_label("upper");
        w.jump_unless(w.make_predicate("setp.lt.and.u32", warp, half, first_lane), skip);
        const Reg from = w.make_b32("mad.lo.u32", warp, 12, buffer);
        combine(w, m,
                {w.make_f32("ld.shared.f32", at(from)), w.make_f32("ld.shared.f32", at(from, 4)),
                 w.make_f32("ld.shared.f32", at(from, 8))});
        w.place(skip);
        w.cta_barrier();
    }
    const Reg leader = w.make_predicate("setp.eq.u32", tid, 0);
    w.op_if(leader, "st.shared.f32", at(buffer), m.mean);
    w.op_if(leader, "st.shared.f32", at(buffer, 4),
            w.make_f32("mul.rn.f32", m.squares, f32_immediate(1.0 / columns)));
    w.cta_barrier();
    w.op("ld.shared.f32", m.mean, at(buffer));
    w.op("ld.shared.f32", m.squares, at(buffer, 4));
}

}  // namespace

GeneratedKernel generate_torch_layer_norm(const TorchLayerNormSpec& spec) {
    check_columns(spec);
    if (spec.columns % kVector != 0)
        throw Error("the vectorised layer norm has rows of whole vectors of 4, not " +
                        std::to_string(spec.columns) + " columns",
                    {.key = "torch_layer_norm"});
    PtxWriter w("torch_layer_norm" + tail_of(spec), spec.compute_capability);
    const Reg y = w.pointer_parameter("y"), mean = w.pointer_parameter("mean"),
              rstd = w.pointer_parameter("rstd");
    const Reg x = w.pointer_parameter("x"), gamma = w.pointer_parameter("gamma"),
              beta = w.pointer_parameter("beta");
    const Reg epsilon = w.f32_parameter("epsilon");
    const Reg tid = w.tid(), row = w.cta_x();
    const Reg first = w.multiply_by(tid, kVector);
    const unsigned step = kTorchLayerNormThreads * kVector;

    const Moments m{w.constant_f32(0), w.constant_f32(0), w.constant_f32(0)};
    const auto each_vector = [&](const char* name, const std::vector<std::pair<Reg, unsigned>>& pointers,
                                 const auto& body) {
        const Reg column = w.make_b32("mov.b32", first);
        const std::string loop = w.new_label(name), done = w.new_label("done");
        w.place(loop);
        w.jump_unless(w.make_predicate("setp.lt.u32", column, spec.columns), done);
        body();
        for (const auto& [pointer, size] : pointers) w.op("add.s64", pointer, pointer, step * size);
        w.op("add.u32", column, column, step);
        w.jump(loop);
        w.place(done);
    };
    const unsigned size = bytes_of(spec.x), weight_size = bytes_of(spec.weight);
    const Reg start = element_of_row(w, x, row, spec, first);
    const Reg walk = w.make_b64("mov.b64", start);
    each_vector("moments", {{walk, size}}, [&] {
        for (const Reg& value : load_elements(w, "ld.global", spec.x, kVector, walk, 0, ComputeType::f32))
            take(w, m, value);
    });
    combine_cta(w, m, tid, spec.columns);
    const Reg row_rstd = w.make_f32("rsqrt.approx.f32", w.make_f32("add.rn.f32", m.squares, epsilon));

    const Reg y_walk = element_of_row(w, y, row, spec, first);
    const Reg gamma_walk = w.element_address(gamma, first, weight_size),
              beta_walk = w.element_address(beta, first, weight_size);
    each_vector("results",
                {{start, size}, {y_walk, size}, {gamma_walk, weight_size}, {beta_walk, weight_size}}, [&] {
                    const RawVector raw = load_raw(w, "ld.global", spec.x, kVector, start, 0);
                    const RawVector gamma_raw = load_raw(w, "ld.global", spec.weight, kVector, gamma_walk, 0),
                                    beta_raw = load_raw(w, "ld.global", spec.weight, kVector, beta_walk, 0);
                    const std::vector<Reg> values = convert_raw(w, raw, ComputeType::f32),
                                           gammas = convert_raw(w, gamma_raw, ComputeType::f32),
                                           betas = convert_raw(w, beta_raw, ComputeType::f32);
                    std::vector<Reg> results;
                    for (unsigned e = 0; e < kVector; ++e) {
                        const Reg centred = w.make_f32("sub.rn.f32", values[e], m.mean);
                        results.push_back(w.make_f32("fma.rn.f32", gammas[e],
                                                     w.make_f32("mul.rn.f32", row_rstd, centred), betas[e]));
                    }
                    store_elements(w, "st.global", spec.x, results, y_walk, 0, ComputeType::f32);
                });
    const Reg leader = w.make_predicate("setp.eq.u32", tid, 0);
    w.op_if(leader, "st.global.f32", at(w.element_address(mean, row, 4)), m.mean);
    w.op_if(leader, "st.global.f32", at(w.element_address(rstd, row, 4)), row_rstd);
    return w.finish({kTorchLayerNormThreads, 1, 1});
}

GeneratedKernel generate_torch_layer_norm_grad_input(const TorchLayerNormSpec& spec) {
    check_columns(spec);
    PtxWriter w("torch_layer_norm_grad_input" + tail_of(spec), spec.compute_capability);
    const Reg dx = w.pointer_parameter("dx"), dy = w.pointer_parameter("dy"), x = w.pointer_parameter("x");
    const Reg mean = w.pointer_parameter("mean"), rstd = w.pointer_parameter("rstd"),
              gamma = w.pointer_parameter("gamma");
    const Reg tid = w.tid(), row = w.cta_x();
    const Reg row_mean = w.make_f32("ld.global.f32", at(w.element_address(mean, row, 4)));
    const Reg row_rstd = w.make_f32("ld.global.f32", at(w.element_address(rstd, row, 4)));
    const unsigned size = bytes_of(spec.x), weight_size = bytes_of(spec.weight);
    const Reg sum = w.constant_f32(0), weighted_sum = w.constant_f32(0);

    // Four neighbours a thread, element by element: "vectorized reads don't improve perf".
    const Reg column = w.multiply_by(tid, kVector);
    const Reg x_walk = element_of_row(w, x, row, spec, column),
              dy_walk = element_of_row(w, dy, row, spec, column);
    const Reg gamma_walk = w.element_address(gamma, column, weight_size);
    const auto load = [&](ElementType type, const Reg& address, unsigned element) {
        return load_raw(w, "ld.global", type, 1, address, std::int64_t{element} * bytes_of(type));
    };
    const auto add_up = [&](unsigned count) {
        std::vector<RawVector> gammas, xs, dys;
        for (unsigned k = 0; k < count; ++k) {
            gammas.push_back(load(spec.weight, gamma_walk, k));
            xs.push_back(load(spec.x, x_walk, k));
            dys.push_back(load(spec.x, dy_walk, k));
        }
        for (unsigned k = 0; k < count; ++k) {
            const Reg loss = w.make_f32("mul.rn.f32", convert_raw(w, dys[k], ComputeType::f32)[0],
                                        convert_raw(w, gammas[k], ComputeType::f32)[0]);
            const Reg centred =
                w.make_f32("sub.rn.f32", convert_raw(w, xs[k], ComputeType::f32)[0], row_mean);
            w.op("add.rn.f32", sum, sum, loss);
            w.op("fma.rn.f32", weighted_sum, w.make_f32("mul.rn.f32", loss, centred), row_rstd, weighted_sum);
        }
    };
    const auto advance = [&](unsigned elements) {
        for (const Reg& pointer : {x_walk, dy_walk}) w.op("add.s64", pointer, pointer, elements * size);
        w.op("add.s64", gamma_walk, gamma_walk, elements * weight_size);
        w.op("add.u32", column, column, elements);
    };
    const std::string whole = w.new_label("whole"), rest = w.new_label("rest"),
                      summed = w.new_label("summed");
    w.place(whole);
    const Reg last = w.make_b32("add.u32", column, kVector - 1);
    w.jump_unless(w.make_predicate("setp.lt.u32", last, spec.columns), rest);
    add_up(kVector);
    advance(kTorchLayerNormThreads * kVector);
    w.jump(whole);
    w.place(rest);
    w.jump_unless(w.make_predicate("setp.lt.u32", column, spec.columns), summed);
    add_up(1);
    advance(1);
    w.jump(rest);
    w.place(summed);

    const Reg buffer = w.make_b32("mov.u32", w.shared("sums", kWarps * 4));
    emit_block_reduce_by_shuffles(w, Combine::add, sum, tid, kTorchLayerNormThreads, buffer);
    emit_block_reduce_by_shuffles(w, Combine::add, weighted_sum, tid, kTorchLayerNormThreads, buffer);

    const Reg scale = w.make_f32("mul.rn.f32", row_rstd, f32_immediate(1.0 / spec.columns));
    const Reg index = w.make_b32("mov.b32", tid);
    const Reg x_again = element_of_row(w, x, row, spec, tid),
              dy_again = element_of_row(w, dy, row, spec, tid),
              dx_walk = element_of_row(w, dx, row, spec, tid);
    const Reg gamma_again = w.element_address(gamma, tid, weight_size);
    emit_strided_loop(
        w,
        {index,
         w.constant_b32(spec.columns),
         kTorchLayerNormThreads,
         4,
         {{x_again, size}, {dy_again, size}, {dx_walk, size}, {gamma_again, weight_size}}},
        [&](unsigned count) {
            std::vector<RawVector> xs, dys, gammas;
            for (unsigned i = 0; i < count; ++i) {
                xs.push_back(load(spec.x, x_again, i * kTorchLayerNormThreads));
                dys.push_back(load(spec.x, dy_again, i * kTorchLayerNormThreads));
                gammas.push_back(load(spec.weight, gamma_again, i * kTorchLayerNormThreads));
            }
            for (unsigned i = 0; i < count; ++i) {
                const Reg loss = w.make_f32("mul.rn.f32", convert_raw(w, gammas[i], ComputeType::f32)[0],
                                            convert_raw(w, dys[i], ComputeType::f32)[0]);
                const Reg centred =
                    w.make_f32("sub.rn.f32", convert_raw(w, xs[i], ComputeType::f32)[0], row_mean);
                const Reg normal = w.make_f32("mul.rn.f32", centred, row_rstd);
                const Reg gradient =
                    w.make_f32("fma.rn.f32", loss, f32_immediate(spec.columns), w.make_f32("neg.f32", sum));
                const Reg less =
                    w.make_f32("fma.rn.f32", w.make_f32("neg.f32", normal), weighted_sum, gradient);
                store_elements(w, "st.global", spec.x, {w.make_f32("mul.rn.f32", less, scale)}, dx_walk,
                               std::int64_t{i} * kTorchLayerNormThreads * size, ComputeType::f32);
            }
        });
    return w.finish({kTorchLayerNormThreads, 1, 1});
}

namespace {

constexpr unsigned kColumnLanes = 16, kRowLanes = 32, kRowsInFlight = 8;

}  // namespace

GeneratedKernel generate_torch_gamma_beta_grad(const TorchLayerNormSpec& spec) {
    check_columns(spec);
    PtxWriter w("torch_gamma_beta_grad" + tail_of(spec), spec.compute_capability);
    const Reg dgamma = w.pointer_parameter("dgamma"), dbeta = w.pointer_parameter("dbeta");
    const Reg dy = w.pointer_parameter("dy"), x = w.pointer_parameter("x");
    const Reg mean = w.pointer_parameter("mean"), rstd = w.pointer_parameter("rstd");
    const Reg rows = w.b32_parameter("rows");
    const Reg tid = w.tid();
    const Reg lane = w.remainder_by(tid, kColumnLanes), row_lane = w.divide_by(tid, kColumnLanes);
    const Reg column = w.make_b32("mad.lo.u32", w.cta_x(), kColumnLanes, lane);
    const Reg inside = w.make_predicate("setp.lt.u32", column, spec.columns);
    const Reg reads_statistics = w.make_predicate("setp.eq.u32", lane, 0);
    const unsigned size = bytes_of(spec.x), threads = kColumnLanes * kRowLanes;
    const std::int64_t row_bytes = std::int64_t{spec.columns} * size;
    const Reg d_gamma = w.constant_f32(0), d_beta = w.constant_f32(0);

    // Eight rows in a row for each row lane; one thread of each fetches their statistics for the sixteen.
    const Reg shared = w.make_b32("mov.u32", w.shared("sums", 2 * threads * 4));
    const Reg own_statistics = w.make_b32("mad.lo.u32", row_lane, 4, shared);
    const auto statistic = [&](unsigned which, unsigned row) {
        return at(own_statistics, std::int64_t{which * kRowsInFlight + row} * kRowLanes * 4);
    };
    const Reg row = w.multiply_by(row_lane, kRowsInFlight);
    const Reg dy_walk = element_of_row(w, dy, row, spec, column),
              x_walk = element_of_row(w, x, row, spec, column);
    const Reg mean_walk = w.element_address(mean, row, 4), rstd_walk = w.element_address(rstd, row, 4);
    const auto add_row = [&](const RawVector& dy_raw, const RawVector& x_raw, const Reg& m, const Reg& r) {
        const Reg loss = convert_raw(w, dy_raw, ComputeType::f32)[0];
        const Reg centred = w.make_f32("sub.rn.f32", convert_raw(w, x_raw, ComputeType::f32)[0], m);
        w.op("fma.rn.f32", d_gamma, w.make_f32("mul.rn.f32", loss, centred), r, d_gamma);
        w.op("add.rn.f32", d_beta, d_beta, loss);
    };
    // Columns beyond the edge read the first one; what comes of it is not stored.
    const Reg edge = w.make_b64("selp.b64", dy_walk, element_of_row(w, dy, row, spec, {}), inside),
              x_edge = w.make_b64("selp.b64", x_walk, element_of_row(w, x, row, spec, {}), inside);
    const Reg end = w.make_b32("and.b32", rows, ~(threads / 2 - 1));  // whole turns of 256 rows
    const std::string loop = w.new_label("turns"), rest = w.new_label("rest");
    w.place(loop);
    w.jump_unless(w.make_predicate("setp.lt.u32", row, end), rest);
    std::vector<RawVector> dys, xs;
    for (unsigned i = 0; i < kRowsInFlight; ++i) {
        const std::string fetched = w.new_label("fetched");
        w.jump_unless(reads_statistics, fetched);
        const Reg m = w.make_f32("ld.global.f32", at(mean_walk, i * 4)),
                  r = w.make_f32("ld.global.f32", at(rstd_walk, i * 4));
        w.op("st.shared.f32", statistic(0, i), m);
        w.op("st.shared.f32", statistic(1, i), r);
        w.place(fetched);
        dys.push_back(load_raw(w, "ld.global", spec.x, 1, edge, i * row_bytes));
        xs.push_back(load_raw(w, "ld.global", spec.x, 1, x_edge, i * row_bytes));
    }
    w.cta_barrier();
    for (unsigned i = 0; i < kRowsInFlight; ++i)
        add_row(dys[i], xs[i], w.make_f32("ld.shared.f32", statistic(0, i)),
                w.make_f32("ld.shared.f32", statistic(1, i)));
    w.cta_barrier();
    constexpr unsigned kTurn = kRowLanes * kRowsInFlight;
    for (const Reg& pointer : {edge, x_edge}) w.op("add.s64", pointer, pointer, kTurn * row_bytes);
    for (const Reg& pointer : {mean_walk, rstd_walk}) w.op("add.s64", pointer, pointer, kTurn * 4);
    w.op("add.u32", row, row, kTurn);
    w.jump(loop);
    w.place(rest);
    for (unsigned i = 0; i < kRowsInFlight; ++i) {
        const std::string skip = w.new_label("beyond");
        w.jump_unless(w.make_predicate("setp.lt.u32", w.make_b32("add.u32", row, i), rows), skip);
        const Reg m = w.make_f32("ld.global.f32", at(mean_walk, i * 4)),
                  r = w.make_f32("ld.global.f32", at(rstd_walk, i * 4));
        add_row(load_raw(w, "ld.global", spec.x, 1, edge, i * row_bytes),
                load_raw(w, "ld.global", spec.x, 1, x_edge, i * row_bytes), m, r);
        w.place(skip);
    }

    // Over the row lanes by halves.
    const Reg own = w.make_b32("mad.lo.u32", tid, 4, shared);
    w.op("st.shared.f32", at(own), d_gamma);
    w.op("st.shared.f32", at(own, threads * 4), d_beta);
    w.cta_barrier();
    for (unsigned half = kRowLanes / 2; half > 0; half /= 2) {
        const std::string skip = w.new_label("upper");
        w.jump_unless(w.make_predicate("setp.lt.u32", row_lane, half), skip);
        for (const unsigned offset : {0u, threads * 4}) {
            const Reg a = w.make_f32("ld.shared.f32", at(own, offset)),
                      b = w.make_f32("ld.shared.f32", at(own, offset + half * kColumnLanes * 4));
            w.op("st.shared.f32", at(own, offset), w.make_f32("add.rn.f32", a, b));
        }
        w.place(skip);
        w.cta_barrier();
    }
    const Reg stores = w.make_predicate("setp.eq.and.u32", row_lane, 0, inside);
    const unsigned weight_size = bytes_of(spec.weight);
    store_elements(w, "st.global", spec.weight, {w.make_f32("ld.shared.f32", at(own))},
                   w.element_address(dgamma, column, weight_size), 0, ComputeType::f32, stores);
    store_elements(w, "st.global", spec.weight, {w.make_f32("ld.shared.f32", at(own, threads * 4))},
                   w.element_address(dbeta, column, weight_size), 0, ComputeType::f32, stores);
    return w.finish({threads, 1, 1});
}

Extent3 torch_gamma_beta_grad_grid(const TorchLayerNormSpec& spec) {
    return {divide_up(spec.columns, kColumnLanes), 1, 1};
}

}  // namespace heddle::kernels
