#include "workloads/kernels/strided.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "isa/common/error.h"
#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kStridedThreads = 256;
constexpr unsigned kMatrixRows = 32;  // of a CTA that works on a matrix
constexpr std::uint32_t kMostGridY = 65535;

/// Short enough for a kernel's name, and different for different expressions.
std::string tag_of(const expression::Expression& expression) {
    std::uint32_t hash = 2166136261u;  // FNV-1a
    for (const char c : expression::to_text(expression)) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    char text[16];
    std::snprintf(text, sizeof text, "_%08x", hash);
    return text;
}

std::string part_name(MatrixPart part) {
    switch (part) {
        case MatrixPart::lower:
            return "_lower";
        case MatrixPart::upper:
            return "_upper";
        case MatrixPart::strictly_lower:
            return "_strictly_lower";
        case MatrixPart::strictly_upper:
            return "_strictly_upper";
        case MatrixPart::all:
            break;
    }
    return "";
}

/// Arithmetic in one of the two types.
struct Arithmetic {
    PtxWriter& w;
    ComputeType type;
    bool f32() const { return type == ComputeType::f32; }
    std::string suffix() const { return f32() ? ".f32" : ".f64"; }
    unsigned bytes() const { return f32() ? 4 : 8; }
    Reg make() { return f32() ? w.f32() : w.f64(); }
    Reg constant(double value) {
        const Reg r = make();
        w.op("mov" + suffix(), r, f32() ? f32_immediate(value) : f64_immediate(value));
        return r;
    }
    Reg parameter(const std::string& name) { return f32() ? w.f32_parameter(name) : w.f64_parameter(name); }
    ElementType element() const { return f32() ? ElementType::f32 : ElementType::f64; }
};

/// address += index * distance, for an index of 32 bits without sign.
void move_by(PtxWriter& w, const Reg& address, const Reg& index, const Reg& distance) {
    const Reg wide = w.make_b64("cvt.u64.u32", index);
    w.op("mad.lo.s64", address, wide, distance, address);
}

Reg copy_of(PtxWriter& w, const Reg& address) {
    return w.make_b64("mov.b64", address);
}

std::vector<Reg> scalar_parameters(Arithmetic& arithmetic, unsigned count) {
    std::vector<Reg> scalars;
    for (unsigned i = 0; i < count; ++i) scalars.push_back(arithmetic.parameter("s" + std::to_string(i)));
    return scalars;
}

}  // namespace

ComputeType strided_compute_type(const std::vector<ElementType>& inputs, const std::vector<ElementType>& outputs) {
    const auto wide = [](ElementType type) {
        return type == ElementType::f64 || type == ElementType::i64 || type == ElementType::i32;
    };
    return std::any_of(inputs.begin(), inputs.end(), wide) || std::any_of(outputs.begin(), outputs.end(), wide)
               ? ComputeType::f64
               : ComputeType::f32;
}

GeneratedKernel generate_strided_map(const StridedMapSpec& spec) {
    if (spec.expression.outputs.size() != spec.outputs.size() || spec.expression.input_count > spec.inputs.size())
        throw Error("a kernel with strides has another number of operands than its expression",
                    {.key = expression::to_text(spec.expression)});
    const ComputeType compute = strided_compute_type(spec.inputs, spec.outputs);
    std::string name = "strided_map" + part_name(spec.part) + tag_of(spec.expression);
    for (const ElementType type : spec.outputs) name += "_" + name_of(type);
    for (const ElementType type : spec.inputs) name += "_" + name_of(type);
    PtxWriter w(name + (spec.vector ? "_vector" : ""), spec.compute_capability);
    Arithmetic arithmetic{w, compute};
    std::vector<Reg> addresses;
    std::vector<std::string> operands;
    for (std::size_t i = 0; i < spec.outputs.size(); ++i) operands.push_back("y" + std::to_string(i));
    for (std::size_t i = 0; i < spec.inputs.size(); ++i) operands.push_back("x" + std::to_string(i));
    addresses.reserve(operands.size());
    for (const std::string& operand : operands) addresses.push_back(w.pointer_parameter(operand));
    const Reg rows = w.b32_parameter("rows"), columns = w.b32_parameter("columns");
    std::vector<Reg> along_row, along_column, along_batch;
    for (const std::string& operand : operands) {
        along_row.push_back(w.b64_parameter(operand + "_row"));
        along_column.push_back(w.b64_parameter(operand + "_column"));
        along_batch.push_back(w.b64_parameter(operand + "_batch"));
    }
    ExpressionCode code(w, spec.expression, compute, scalar_parameters(arithmetic, spec.expression.scalar_count));

    const unsigned in_rows = spec.vector ? kStridedThreads : kMatrixRows, in_columns = kStridedThreads / in_rows;
    const Reg tid = w.tid();
    const Reg row = w.make_b32("mad.lo.u32", w.cta_x(), in_rows, w.remainder_by(tid, in_rows));
    w.op_if(w.make_predicate("setp.ge.u32", row, rows), "exit");
    const Reg column = w.make_b32("mad.lo.u32", w.cta_y(), in_columns, w.divide_by(tid, in_rows));
    const Reg step = w.multiply_by(w.make_b32("mov.u32", "%nctaid.y"), in_columns);
    const Reg batch = w.cta_z();
    std::vector<Reg> columns_apart;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        addresses[i] = copy_of(w, addresses[i]);
        move_by(w, addresses[i], row, along_row[i]);
        move_by(w, addresses[i], column, along_column[i]);
        move_by(w, addresses[i], batch, along_batch[i]);
        columns_apart.push_back(
            w.make_b64("mul.lo.s64", w.make_b64("cvt.u64.u32", step), along_column[i]));
    }
    const std::string loop = w.new_label("columns"), next = w.new_label("next"), done = w.new_label("done");
    w.place(loop);
    w.jump_if(w.make_predicate("setp.ge.u32", column, columns), done);
    if (spec.part != MatrixPart::all) {
        const char* const outside = spec.part == MatrixPart::lower            ? "setp.lt.u32"
                                    : spec.part == MatrixPart::upper          ? "setp.gt.u32"
                                    : spec.part == MatrixPart::strictly_lower ? "setp.le.u32"
                                                                              : "setp.ge.u32";
        w.jump_if(w.make_predicate(outside, row, column), next);
    }
    std::vector<Reg> values;
    for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
        if (!ExpressionCode::reads_input(spec.expression, static_cast<unsigned>(i))) {
            values.emplace_back();
            continue;
        }
        values.push_back(
            load_elements(w, "ld.global", spec.inputs[i], 1, addresses[spec.outputs.size() + i], 0, compute)[0]);
    }
    const std::vector<Reg> results = code.emit(values);
    for (std::size_t i = 0; i < spec.outputs.size(); ++i)
        store_elements(w, "st.global", spec.outputs[i], {results[i]}, addresses[i], 0, compute);
    w.place(next);
    w.op("add.u32", column, column, step);
    for (std::size_t i = 0; i < operands.size(); ++i) w.op("add.s64", addresses[i], addresses[i], columns_apart[i]);
    w.jump(loop);
    w.place(done);
    return w.finish({kStridedThreads, 1, 1});
}

Extent3 strided_map_grid(const StridedMapSpec& spec, std::uint32_t rows, std::uint32_t columns, std::uint32_t batch) {
    if (spec.vector) return {divide_up(rows, kStridedThreads), 1, batch};
    return {divide_up(rows, kMatrixRows), std::min(divide_up(columns, kStridedThreads / kMatrixRows), kMostGridY), batch};
}

GeneratedKernel generate_strided_reduce(const StridedReduceSpec& spec) {
    const bool positions = spec.reduction != StridedReduction::sum;
    if (spec.neighbours != 1 && spec.neighbours != 32)
        throw Error("a reduction with strides has 1 or 32 neighbouring outputs, not " + std::to_string(spec.neighbours));
    const std::vector<ElementType> results = positions ? std::vector<ElementType>{} : std::vector{spec.output};
    const ComputeType compute = strided_compute_type(spec.inputs, results);
    std::string name = spec.reduction == StridedReduction::sum       ? "strided_sum"
                       : spec.reduction == StridedReduction::largest ? "position_of_largest"
                                                                     : "position_of_smallest";
    name += tag_of(spec.terms);
    if (spec.finish) name += tag_of(*spec.finish);
    name += "_" + name_of(spec.output);
    for (const ElementType type : spec.inputs) name += "_" + name_of(type);
    PtxWriter w(name + "_" + std::to_string(spec.neighbours), spec.compute_capability);
    Arithmetic arithmetic{w, compute};
    const Reg y = w.pointer_parameter("y");
    std::vector<Reg> addresses;
    for (std::size_t i = 0; i < spec.inputs.size(); ++i) addresses.push_back(w.pointer_parameter("x" + std::to_string(i)));
    const Reg outputs = w.b32_parameter("outputs"), extent = w.b32_parameter("extent");
    const Reg per_split = w.b32_parameter("extent_per_split");
    const Reg y_out = w.b64_parameter("y_out"), y_split = w.b64_parameter("y_split"), y_batch = w.b64_parameter("y_batch");
    std::vector<Reg> out, along, of_batch;
    for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
        const std::string operand = "x" + std::to_string(i);
        out.push_back(w.b64_parameter(operand + "_out"));
        along.push_back(w.b64_parameter(operand + "_along"));
        of_batch.push_back(w.b64_parameter(operand + "_batch"));
    }
    const unsigned scalars = spec.finish ? spec.finish->scalar_count : 0;
    const std::vector<Reg> scalar_registers = scalar_parameters(arithmetic, scalars);
    ExpressionCode terms(w, spec.terms, compute, {});

    const unsigned lanes = kStridedThreads / spec.neighbours;
    const Reg tid = w.tid();
    const Reg lane = w.divide_by(tid, spec.neighbours);
    const Reg output = w.make_b32("mad.lo.u32", w.cta_x(), spec.neighbours, w.remainder_by(tid, spec.neighbours));
    const Reg beyond = w.make_predicate("setp.ge.u32", output, outputs);
    const Reg split = w.cta_y(), batch = w.cta_z();
    const Reg begin = w.make_b32("mul.lo.u32", split, per_split);
    const Reg end = w.make_b32("min.u32", w.make_b32("add.u32", begin, per_split), extent);
    const Reg r = w.make_b32("add.u32", begin, lane);
    std::vector<Reg> apart;
    for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
        addresses[i] = copy_of(w, addresses[i]);
        move_by(w, addresses[i], output, out[i]);
        move_by(w, addresses[i], r, along[i]);
        move_by(w, addresses[i], batch, of_batch[i]);
        apart.push_back(w.make_b64("mul.lo.s64", along[i], lanes));
    }
    // Terms are never below -1 where positions are asked for: they are magnitudes.
    const bool largest = spec.reduction == StridedReduction::largest;
    const Reg best = arithmetic.constant(!positions ? 0 : largest ? -1 : HUGE_VAL);
    const Reg position = w.constant_b32(-1);
    const std::string loop = w.new_label("terms"), done = w.new_label("done");
    w.place(loop);
    const Reg over = w.make_predicate("setp.ge.u32", r, end);
    w.op("or.pred", over, over, beyond);
    w.jump_if(over, done);
    std::vector<Reg> values;
    for (std::size_t i = 0; i < spec.inputs.size(); ++i)
        values.push_back(load_elements(w, "ld.global", spec.inputs[i], 1, addresses[i], 0, compute)[0]);
    const Reg term = terms.emit(values)[0];
    const std::string better = (largest ? "setp.gt" : "setp.lt") + arithmetic.suffix();
    if (positions) {
        const Reg won = w.make_predicate(better, term, best);
        w.op("selp" + arithmetic.suffix(), best, term, best, won);
        w.op("selp.b32", position, r, position, won);
    } else {
        w.op("add.rn" + arithmetic.suffix(), best, best, term);
    }
    w.op("add.u32", r, r, lanes);
    for (std::size_t i = 0; i < spec.inputs.size(); ++i) w.op("add.s64", addresses[i], addresses[i], apart[i]);
    w.jump(loop);
    w.place(done);

    // Lanes are halves apart: thread t takes what thread t + half * neighbours has.
    const unsigned size = arithmetic.bytes();
    const std::string partial = w.shared("partial", kStridedThreads * size, 8);
    const std::string places = positions ? w.shared("places", kStridedThreads * 4) : "";
    const auto place_in = [&](const std::string& array, unsigned bytes) {
        const Reg base = w.make_b32("mov.u32", array);
        return w.make_b32("mad.lo.u32", tid, bytes, base);
    };
    const Reg mine = place_in(partial, size);
    const Reg my_place = positions ? place_in(places, 4) : Reg();
    for (unsigned half = lanes / 2; half != 0; half /= 2) {
        w.op("st.shared" + arithmetic.suffix(), at(mine), best);
        if (positions) w.op("st.shared.u32", at(my_place), position);
        w.cta_barrier();
        const Reg takes = w.make_predicate("setp.lt.u32", lane, half);
        const std::string skip = w.new_label("skip");
        w.jump_unless(takes, skip);
        const Reg other = arithmetic.make();
        w.op("ld.shared" + arithmetic.suffix(), other, at(mine, std::int64_t{half} * spec.neighbours * size));
        if (positions) {
            const Reg place = w.make_b32("ld.shared.u32", at(my_place, std::int64_t{half} * spec.neighbours * 4));
            const Reg won = w.make_predicate(better, other, best);
            const Reg equal = w.make_predicate("setp.eq" + arithmetic.suffix(), other, best);
            const Reg earlier = w.make_predicate("setp.lt.u32", place, position);
            w.op("and.pred", equal, equal, earlier);
            w.op("or.pred", won, won, equal);
            w.op("selp" + arithmetic.suffix(), best, other, best, won);
            w.op("selp.b32", position, place, position, won);
        } else {
            w.op("add.rn" + arithmetic.suffix(), best, best, other);
        }
        w.place(skip);
        w.cta_barrier();
    }
    w.op_if(w.make_predicate("setp.ne.u32", lane, 0), "exit");
    w.op_if(beyond, "exit");
    const Reg target = copy_of(w, y);
    move_by(w, target, output, y_out);
    move_by(w, target, split, y_split);
    move_by(w, target, batch, y_batch);
    if (positions) {
        const Reg from_one = w.make_b32("add.u32", position, 1);
        if (spec.output == ElementType::i64)
            w.op("st.global.u64", at(target), w.make_b64("cvt.u64.u32", from_one));
        else
            w.op("st.global.u32", at(target), from_one);
        return w.finish({kStridedThreads, 1, 1});
    }
    Reg result = best;
    if (spec.finish) {
        ExpressionCode finish(w, *spec.finish, compute, scalar_registers);
        std::vector<Reg> inputs{best, Reg()};
        if (ExpressionCode::reads_input(*spec.finish, 1))
            inputs[1] = load_elements(w, "ld.global", spec.output, 1, target, 0, compute)[0];
        result = finish.emit(inputs)[0];
    }
    store_elements(w, "st.global", spec.output, {result}, target, 0, compute);
    return w.finish({kStridedThreads, 1, 1});
}

Extent3 strided_reduce_grid(const StridedReduceSpec& spec, std::uint32_t outputs, std::uint32_t splits,
                            std::uint32_t batch) {
    return {divide_up(outputs, spec.neighbours), splits, batch};
}

GeneratedKernel generate_triangular_solve(const TriangularSolveSpec& spec) {
    if (spec.type != ElementType::f32 && spec.type != ElementType::f64)
        throw Error("triangular systems are solved in f32 and f64, not in " + name_of(spec.type));
    const ComputeType compute = spec.type == ElementType::f64 ? ComputeType::f64 : ComputeType::f32;
    constexpr unsigned kSolveThreads = 128;
    PtxWriter w("triangular_solve_" + name_of(spec.type) + (spec.unit_diagonal ? "_unit" : ""), spec.compute_capability);
    Arithmetic arithmetic{w, compute};
    const std::string suffix = arithmetic.suffix();
    Reg l = w.pointer_parameter("l"), x = w.pointer_parameter("x");
    const Reg order = w.b32_parameter("order");
    const Reg l_row = w.b64_parameter("l_row"), l_column = w.b64_parameter("l_column"), l_batch = w.b64_parameter("l_batch");
    const Reg x_row = w.b64_parameter("x_row"), x_side = w.b64_parameter("x_side"), x_batch = w.b64_parameter("x_batch");
    const Reg factor = arithmetic.parameter("s0");
    l = copy_of(w, l);
    x = copy_of(w, x);
    move_by(w, l, w.cta_y(), l_batch);
    move_by(w, x, w.cta_y(), x_batch);
    move_by(w, x, w.cta_x(), x_side);
    const Reg tid = w.tid();
    const auto value_at = [&](const Reg& address) {
        const Reg value = arithmetic.make();
        w.op("ld.global" + suffix, value, at(address));
        return value;
    };
    // b is multiplied first, by all threads.
    const std::string scale = w.new_label("scale"), scaled = w.new_label("scaled");
    const Reg i = w.make_b32("mov.u32", tid);
    w.place(scale);
    w.jump_if(w.make_predicate("setp.ge.u32", i, order), scaled);
    {
        const Reg address = copy_of(w, x);
        move_by(w, address, i, x_row);
        const Reg value = value_at(address);
        w.op("mul.rn" + suffix, value, value, factor);
        w.op("st.global" + suffix, at(address), value);
    }
    w.op("add.u32", i, i, kSolveThreads);
    w.jump(scale);
    w.place(scaled);
    w.cta_barrier();

    const Reg step = w.constant_b32(0);
    const std::string rows = w.new_label("rows"), done = w.new_label("done");
    w.place(rows);
    w.jump_if(w.make_predicate("setp.ge.u32", step, order), done);
    const Reg own = copy_of(w, x);
    move_by(w, own, step, x_row);
    const Reg value = value_at(own);
    if (!spec.unit_diagonal) {
        const Reg diagonal = copy_of(w, l);
        move_by(w, diagonal, step, l_row);
        move_by(w, diagonal, step, l_column);
        w.op("div.rn" + suffix, value, value, value_at(diagonal));
    }
    w.cta_barrier();  // everybody has read x(step) before it changes
    if (!spec.unit_diagonal) w.op_if(w.make_predicate("setp.eq.u32", tid, 0), "st.global" + suffix, at(own), value);
    const Reg below = w.make_b32("add.u32", w.make_b32("add.u32", step, 1), tid);
    const std::string update = w.new_label("update"), updated = w.new_label("updated");
    w.place(update);
    w.jump_if(w.make_predicate("setp.ge.u32", below, order), updated);
    {
        const Reg element = copy_of(w, l), target = copy_of(w, x);
        move_by(w, element, below, l_row);
        move_by(w, element, step, l_column);
        move_by(w, target, below, x_row);
        const Reg factor_below = value_at(element), old = value_at(target);
        w.op("neg" + suffix, factor_below, factor_below);
        w.op("fma.rn" + suffix, old, factor_below, value, old);
        w.op("st.global" + suffix, at(target), old);
    }
    w.op("add.u32", below, below, kSolveThreads);
    w.jump(update);
    w.place(updated);
    w.cta_barrier();
    w.op("add.u32", step, step, 1);
    w.jump(rows);
    w.place(done);
    return w.finish({kSolveThreads, 1, 1});
}

Extent3 triangular_solve_grid(std::uint32_t sides, std::uint32_t batch) {
    return {sides, batch, 1};
}

}  // namespace heddle::kernels
