#include "workloads/kernels/reduction.h"

#include <cmath>

#include "isa/common/error.h"
#include "workloads/kernels/reduction_code.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kColumnLanes = 32;  // threads along the columns of a column reduction

std::string name_of(Reduction reduction) {
    switch (reduction) {
        case Reduction::sum:
            return "sum";
        case Reduction::maximum:
            return "max";
        case Reduction::sum_of_squares:
            return "sum_of_squares";
        case Reduction::minimum:
            return "min";
    }
    return "";
}

Combine combine_of(Reduction reduction) {
    return reduction == Reduction::maximum   ? Combine::maximum
           : reduction == Reduction::minimum ? Combine::minimum
                                             : Combine::add;
}

/// accumulator = combine(accumulator, value or value^2)
void accumulate(PtxWriter& w, Reduction reduction, const Reg& accumulator, const Reg& value) {
    if (reduction == Reduction::sum_of_squares) {
        w.op("fma.rn.f32", accumulator, value, value, accumulator);
    } else {
        emit_combine(w, combine_of(reduction), accumulator, value);
    }
}

Reg scaled(PtxWriter& w, Reduction reduction, const Reg& value, const Reg& scale) {
    return combine_of(reduction) != Combine::add ? value : w.make_f32("mul.rn.f32", value, scale);
}

void check_vector(ElementType type, unsigned width) {
    if ((width != 1 && width != 2 && width != 4 && width != 8) || width * bytes_of(type) > 16) {
        throw Error("reductions load vectors of 1, 2, 4 or 8 elements and at most 16 bytes, not " +
                    std::to_string(width) + " of " + kernels::name_of(type));
    }
    if (type == ElementType::f64 || type == ElementType::i64) {
        throw Error("reductions accumulate in f32: " + kernels::name_of(type) + " would lose digits", {},
                    "cast to f32 first");
    }
}

}  // namespace

GeneratedKernel generate_reduce_rows(const ReduceRowsSpec& spec) {
    check_vector(spec.input, spec.vector_width);
    const unsigned threads = spec.warp_per_row ? 128 : spec.threads;
    const unsigned size = bytes_of(spec.input), width = spec.vector_width;
    PtxWriter w("reduce_rows_" + name_of(spec.reduction) + "_" + kernels::name_of(spec.input) + "_" +
                    kernels::name_of(spec.output) + "_v" + std::to_string(width) +
                    (spec.warp_per_row ? "_warp" : "_cta" + std::to_string(threads)),
                spec.compute_capability);
    const Reg y = w.pointer_parameter("y"), x = w.pointer_parameter("x");
    const Reg rows = w.b32_parameter("rows"), columns = w.b32_parameter("columns");
    const Reg row_stride = w.b32_parameter("row_stride"), elements = w.b32_parameter("elements");
    const Reg scale = w.f32_parameter("scale");
    const Reg tid = w.tid();
    Reg row = w.cta_x(), position = tid;
    unsigned lanes = threads;
    if (spec.warp_per_row) {
        row = w.make_b32("mad.lo.u32", row, threads / 32, w.make_b32("shr.u32", tid, 5));
        position = w.make_b32("and.b32", tid, 31);
        lanes = 32;
        w.op_if(w.make_predicate("setp.ge.u32", row, rows), "exit");
    }
    // The row ends after `columns` or where x ends.
    const Reg begin = w.make_b32("mul.lo.u32", row, row_stride);
    const Reg end = w.make_b32("min.u32", w.make_b32("sub.u32", elements, begin), columns);
    const Reg index = w.make_b32("mul.lo.u32", position, width);
    const Reg row_address = w.make_b64("mad.wide.u32", begin, size, x);
    const Reg pointer = w.element_address(row_address, index, size);
    std::vector<Reg> accumulators;
    for (unsigned i = 0; i < width; ++i)
        accumulators.push_back(w.constant_f32(identity_of(combine_of(spec.reduction))));
    emit_strided_loop(w, {index, end, lanes * width, 4, {{pointer, size}}}, [&](unsigned count) {
        std::vector<RawVector> raw;
        for (unsigned i = 0; i < count; ++i) {
            raw.push_back(
                load_raw(w, "ld.global", spec.input, width, pointer, std::int64_t{i} * lanes * width * size));
        }
        for (const RawVector& vector : raw) {
            const std::vector<Reg> values = convert_raw(w, vector, ComputeType::f32);
            for (unsigned e = 0; e < width; ++e) accumulate(w, spec.reduction, accumulators[e], values[e]);
        }
    });
    for (unsigned i = 1; i < width; ++i)
        emit_combine(w, combine_of(spec.reduction), accumulators[0], accumulators[i]);
    if (spec.warp_per_row) {
        emit_warp_reduce(w, combine_of(spec.reduction), {accumulators[0]});
    } else {
        emit_cta_reduce(w, combine_of(spec.reduction), {accumulators[0]}, tid, threads,
                        w.shared("partial", 128));
    }
    const Reg result = scaled(w, spec.reduction, accumulators[0], scale);
    const Reg first = w.make_predicate("setp.eq.u32", position, 0);
    store_elements(w, "st.global", spec.output, {result}, w.element_address(y, row, bytes_of(spec.output)), 0,
                   ComputeType::f32, first);
    return w.finish({threads, 1, 1});
}

Extent3 reduce_rows_grid(const ReduceRowsSpec& spec, std::uint32_t rows) {
    return {spec.warp_per_row ? divide_up(rows, 4) : rows, 1, 1};
}

GeneratedKernel generate_reduce_columns(const ReduceColumnsSpec& spec) {
    check_vector(spec.input, spec.vector_width);
    const unsigned row_lanes = spec.row_lanes;
    if (row_lanes == 0 || row_lanes > 32 || row_lanes * spec.vector_width * kColumnLanes * 4 > 48 * 1024)
        throw Error("a column reduction has 1 to 32 warps and at most 48 KiB of partial results");
    const unsigned size = bytes_of(spec.input), width = spec.vector_width, out_size = bytes_of(spec.output);
    PtxWriter w("reduce_columns_" + name_of(spec.reduction) + "_" + kernels::name_of(spec.input) + "_" +
                    kernels::name_of(spec.output) + "_v" + std::to_string(width) + "_r" +
                    std::to_string(row_lanes) + (spec.pair ? "_pair" : ""),
                spec.compute_capability);
    Reg y = w.pointer_parameter("y"), x = w.pointer_parameter("x");
    if (spec.pair) {
        const Reg y1 = w.pointer_parameter("y1"), x1 = w.pointer_parameter("x1");
        const Reg second = w.make_predicate("setp.ne.u32", w.cta_z(), 0);
        y = w.make_b64("selp.b64", y1, y, second);
        x = w.make_b64("selp.b64", x1, x, second);
    }
    const Reg rows = w.b32_parameter("rows"), columns = w.b32_parameter("columns");
    const Reg row_stride = w.b32_parameter("row_stride"), rows_per_cta = w.b32_parameter("rows_per_cta");
    const Reg scale = w.f32_parameter("scale");
    const Reg tid = w.tid();
    const Reg lane = w.make_b32("and.b32", tid, kColumnLanes - 1), group = w.make_b32("shr.u32", tid, 5);
    const Reg split = w.cta_y();
    const Reg column = w.make_b32("mad.lo.u32", w.cta_x(), kColumnLanes * width, w.multiply_by(lane, width));
    const Reg inside = w.make_predicate("setp.lt.u32", column, columns);
    const Reg first_row = w.make_b32("mul.lo.u32", split, rows_per_cta);
    const Reg end = w.make_b32("min.u32", w.make_b32("add.u32", first_row, rows_per_cta), rows);
    const Reg row = w.make_b32("add.u32", first_row, group);
    std::vector<Reg> accumulators;
    for (unsigned i = 0; i < width; ++i)
        accumulators.push_back(w.constant_f32(identity_of(combine_of(spec.reduction))));

    // Rows are a parameter apart, so that the loop steps its pointer with registers: row_lanes rows at a
    // time, four in flight.
    const Reg row_offset = w.make_b64("mul.wide.u32", row, row_stride);
    const Reg element = w.make_b64("add.s64", row_offset, w.make_b64("cvt.u64.u32", column));
    const Reg byte_offset = size == 1 ? element : w.make_b64("mul.lo.u64", element, size);
    const Reg pointer = w.make_b64("add.s64", x, byte_offset);
    const Reg step = w.make_b64("mul.wide.u32", row_stride, row_lanes * size);
    constexpr unsigned kUnroll = 4;
    const std::string unrolled = w.new_label("unrolled"), rest = w.new_label("rest"),
                      done = w.new_label("done");
    const auto body = [&](unsigned count) {
        std::vector<RawVector> raw;
        for (unsigned i = 0; i < count; ++i) {
            raw.push_back(load_raw(w, "ld.global", spec.input, width, pointer, 0));
            w.op("add.s64", pointer, pointer, step);
        }
        for (const RawVector& vector : raw) {
            const std::vector<Reg> values = convert_raw(w, vector, ComputeType::f32);
            for (unsigned e = 0; e < width; ++e) accumulate(w, spec.reduction, accumulators[e], values[e]);
        }
        w.op("add.u32", row, row, count * row_lanes);
    };
    w.jump_unless(inside, done);
    const auto whole = [&] {
        const Reg last = w.make_b32("add.u32", row, (kUnroll - 1) * row_lanes);
        return w.make_predicate("setp.lt.u32", last, end);
    };
    w.jump_unless(whole(), rest);
    w.place(unrolled);
    body(kUnroll);
    w.jump_if(whole(), unrolled);
    w.place(rest);
    w.jump_unless(w.make_predicate("setp.lt.u32", row, end), done);
    body(1);
    w.jump(rest);
    w.place(done);

    // Over the groups of rows through shared memory: [group][element][lane], so that lanes lie in different
    // banks.
    const std::string shared = w.shared("partial", row_lanes * width * kColumnLanes * 4);
    const Reg base = w.make_b32("mov.u32", shared);
    const Reg lane_address = w.make_b32("mad.lo.u32", lane, 4, base);
    const Reg target = w.make_b32("mad.lo.u32", group, width * kColumnLanes * 4, lane_address);
    for (unsigned e = 0; e < width; ++e)
        w.op("st.shared.f32", at(target, e * kColumnLanes * 4), accumulators[e]);
    w.cta_barrier();
    const Reg writes = w.make_predicate("setp.eq.and.u32", group, 0, inside);
    w.op_unless(writes, "exit");
    for (unsigned g = 1; g < row_lanes; ++g) {
        for (unsigned e = 0; e < width; ++e) {
            const Reg other =
                w.make_f32("ld.shared.f32", at(lane_address, (g * width + e) * kColumnLanes * 4));
            emit_combine(w, combine_of(spec.reduction), accumulators[e], other);
        }
    }
    std::vector<Reg> results;
    results.reserve(accumulators.size());
    for (const Reg& accumulator : accumulators)
        results.push_back(scaled(w, spec.reduction, accumulator, scale));
    const Reg out = w.make_b64("mul.wide.u32", split, columns);
    const Reg out_element = w.make_b64("add.s64", out, w.make_b64("cvt.u64.u32", column));
    const Reg out_bytes = out_size == 1 ? out_element : w.make_b64("mul.lo.u64", out_element, out_size);
    store_elements(w, "st.global", spec.output, results, w.make_b64("add.s64", y, out_bytes), 0,
                   ComputeType::f32);
    return w.finish({kColumnLanes * row_lanes, 1, 1});
}

Extent3 reduce_columns_grid(const ReduceColumnsSpec& spec, std::uint32_t columns, std::uint32_t splits) {
    return {divide_up(columns, std::uint64_t{kColumnLanes} * spec.vector_width), splits, spec.pair ? 2u : 1u};
}

GeneratedKernel generate_reduce_column_alone(const ReduceColumnAloneSpec& spec) {
    check_vector(spec.input, 1);
    const unsigned size = bytes_of(spec.input), turns = spec.rows_per_turn / spec.threads;
    PtxWriter w("reduce_column_alone_" + kernels::name_of(spec.input) + "_" + kernels::name_of(spec.output) +
                    "_t" + std::to_string(spec.threads) + "_r" + std::to_string(spec.rows_per_turn),
                spec.compute_capability);
    const Reg y = w.pointer_parameter("y"), x = w.pointer_parameter("x");
    const Reg rows = w.b32_parameter("rows"), columns = w.b32_parameter("columns");
    const Reg scale = w.f32_parameter("scale");
    const Reg tid = w.tid(), column = w.cta_x();
    std::vector<Reg> sums;
    for (unsigned i = 0; i < turns; ++i) sums.push_back(w.constant_f32(0));
    const Reg row = w.make_b32("mov.b32", tid);
    const Reg first = w.make_b64("mad.lo.s64", w.make_b64("mul.wide.u32", tid, columns), size,
                                 w.element_address(x, column, size));
    const Reg step = w.make_b64("mul.wide.u32", columns, spec.threads * size);
    const std::string loop = w.new_label("rows");
    w.place(loop);
    std::vector<RawVector> raw;
    std::vector<Reg> guards;
    for (unsigned i = 0; i < turns; ++i) {
        guards.push_back(w.make_predicate("setp.lt.u32",
                                          i == 0 ? row : w.make_b32("add.u32", row, i * spec.threads), rows));
        raw.push_back(load_raw(w, "ld.global", spec.input, 1, first, 0, guards.back()));
        w.op("add.s64", first, first, step);
    }
    for (unsigned i = 0; i < turns; ++i) {
        const Reg value = convert_raw(w, raw[i], ComputeType::f32)[0];
        w.op_if(guards[i], "add.rn.f32", sums[i], sums[i], value);
    }
    w.op("add.u32", row, row, turns * spec.threads);
    w.jump_if(w.make_predicate("setp.lt.u32", row, rows), loop);
    for (unsigned i = 1; i < turns; ++i) w.op("add.rn.f32", sums[0], sums[0], sums[i]);
    emit_cta_reduce(w, Combine::add, {sums[0]}, tid, spec.threads, w.shared("partial", 128));
    store_elements(w, "st.global", spec.output, {w.make_f32("mul.rn.f32", sums[0], scale)},
                   w.element_address(y, column, bytes_of(spec.output)), 0, ComputeType::f32,
                   w.make_predicate("setp.eq.u32", tid, 0));
    return w.finish({spec.threads, 1, 1});
}

namespace {

/// (value, index) = the better of the two: larger (smaller) value, NaN before all, then the smaller index.
void emit_better(PtxWriter& w, bool maximum, const Reg& value, const Reg& index, const Reg& other,
                 const Reg& other_index) {
    const Reg wins = w.make_predicate(maximum ? "setp.gt.f32" : "setp.lt.f32", other, value);
    const Reg equal = w.make_predicate("setp.eq.f32", other, value);
    const Reg own_nan = w.make_predicate("setp.nan.f32", value, value);
    const Reg other_nan = w.make_predicate("setp.nan.f32", other, other);
    const Reg earlier = w.make_predicate("setp.lt.u32", other_index, index);
    const Reg both_nan = w.make_predicate("and.pred", own_nan, other_nan);
    const Reg tie = w.make_predicate("or.pred", equal, both_nan);
    const Reg tie_won = w.make_predicate("and.pred", tie, earlier);
    const Reg not_own = w.make_predicate("not.pred", own_nan);
    const Reg nan_won = w.make_predicate("and.pred", other_nan, not_own);
    const Reg better = w.make_predicate("or.pred", wins, tie_won);
    const Reg take = w.make_predicate("or.pred", better, nan_won);
    w.op("selp.f32", value, other, value, take);
    w.op("selp.b32", index, other_index, index, take);
}

}  // namespace

GeneratedKernel generate_extremum(const ExtremumSpec& spec) {
    check_vector(spec.input, 1);
    if (spec.index != ElementType::i64 && spec.index != ElementType::i32)
        throw Error("positions are i32 or i64, not " + kernels::name_of(spec.index));
    constexpr unsigned kUnroll = 4;  // vt0 of reduce_kernel
    const unsigned size = bytes_of(spec.input);
    PtxWriter w(std::string(spec.maximum ? "arg_max_" : "arg_min_") + kernels::name_of(spec.input) + "_" +
                    kernels::name_of(spec.index) +
                    (spec.write_value ? "_" + kernels::name_of(spec.value) : "") + "_t" +
                    std::to_string(spec.threads),
                spec.compute_capability);
    const Reg value_out = spec.write_value ? w.pointer_parameter("value") : Reg{};
    const Reg index_out = w.pointer_parameter("index"), x = w.pointer_parameter("x");
    w.b32_parameter("rows");
    const Reg columns = w.b32_parameter("columns"), row_stride = w.b32_parameter("row_stride");
    const Reg tid = w.tid(), row = w.cta_x();
    const Reg x_row = w.make_b64("mad.lo.s64", w.make_b64("mul.wide.u32", row, row_stride), size, x);
    const double worst = spec.maximum ? -INFINITY : INFINITY;
    std::vector<Reg> values, indices;
    for (unsigned i = 0; i < kUnroll; ++i) {
        values.push_back(w.constant_f32(worst));
        indices.push_back(w.constant_b32(0x7fffffff));
    }
    const Reg index = w.make_b32("mov.b32", tid);
    const Reg pointer = w.element_address(x_row, tid, size);
    emit_strided_loop(w, {index, columns, spec.threads, kUnroll, {{pointer, size}}}, [&](unsigned count) {
        std::vector<RawVector> raw;
        for (unsigned i = 0; i < count; ++i)
            raw.push_back(
                load_raw(w, "ld.global", spec.input, 1, pointer, std::int64_t{i} * spec.threads * size));
        for (unsigned i = 0; i < count; ++i) {
            const Reg own = i == 0 ? index : w.make_b32("add.u32", index, i * spec.threads);
            emit_better(w, spec.maximum, values[i], indices[i], convert_raw(w, raw[i], ComputeType::f32)[0],
                        own);
        }
    });
    for (unsigned i = 1; i < kUnroll; ++i)
        emit_better(w, spec.maximum, values[0], indices[0], values[i], indices[i]);
    // Over the CTA by halves through shared memory, then by shuffles within the first warp.
    const Reg value_base = w.make_b32("mov.u32", w.shared("values", spec.threads * 4));
    const Reg index_base = w.make_b32("mov.u32", w.shared("indices", spec.threads * 4));
    const Reg value_own = w.make_b32("mad.lo.u32", tid, 4, value_base);
    const Reg index_own = w.make_b32("mad.lo.u32", tid, 4, index_base);
    const auto publish = [&] {
        w.op("st.shared.f32", at(value_own), values[0]);
        w.op("st.shared.u32", at(index_own), indices[0]);
    };
    publish();
    for (unsigned half = spec.threads / 2; half >= 32; half /= 2) {
        w.cta_barrier();
        const std::string skip = w.new_label("upper");
        w.jump_if(w.make_predicate("setp.ge.u32", tid, half), skip);
        const Reg other = w.make_f32("ld.shared.f32", at(value_own, half * 4));
        const Reg other_index = w.make_b32("ld.shared.u32", at(index_own, half * 4));
        emit_better(w, spec.maximum, values[0], indices[0], other, other_index);
        publish();
        w.place(skip);
    }
    w.op_if(w.make_predicate("setp.ge.u32", tid, 32), "exit");
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        const Reg other = w.make_f32("shfl.sync.down.b32", values[0], distance, 31, "0xffffffff");
        const Reg other_index = w.make_b32("shfl.sync.down.b32", indices[0], distance, 31, "0xffffffff");
        emit_better(w, spec.maximum, values[0], indices[0], other, other_index);
    }
    w.op_if(w.make_predicate("setp.ne.u32", tid, 0), "exit");
    if (spec.write_value)
        store_elements(w, "st.global", spec.value, {values[0]},
                       w.element_address(value_out, row, bytes_of(spec.value)), 0, ComputeType::f32);
    if (spec.index == ElementType::i64) {
        w.op("st.global.u64", at(w.element_address(index_out, row, 8)),
             w.make_b64("cvt.u64.u32", indices[0]));
    } else {
        w.op("st.global.u32", at(w.element_address(index_out, row, 4)), indices[0]);
    }
    return w.finish({spec.threads, 1, 1});
}

}  // namespace heddle::kernels
