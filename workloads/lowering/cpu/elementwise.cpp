// Ops that make each element of the result from elements at the same place: one pass over memory.
#include <algorithm>

#include "workloads/expression/builder.h"
#include "workloads/lowering/cpu/builder.h"

namespace heddle::lowering::on_cpu {
namespace {

/// Vectors that a thread takes at once.
constexpr std::int64_t kChunk = 64;

/// Axes of one are left out, and axes that all views step through evenly become one.
void collapse_axes(std::vector<std::int64_t>& shape, const std::vector<View*>& views) {
    std::vector<std::int64_t> kept;
    std::vector<std::vector<std::int64_t>> strides(views.size());
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] == 1) continue;
        bool joins = !kept.empty();
        for (std::size_t v = 0; joins && v < views.size(); ++v) joins = strides[v].back() == views[v]->strides[axis] * shape[axis];
        if (joins) {
            kept.back() *= shape[axis];
        } else {
            kept.push_back(shape[axis]);
            for (auto& list : strides) list.push_back(0);
        }
        for (std::size_t v = 0; v < views.size(); ++v) strides[v].back() = views[v]->strides[axis];
    }
    if (kept.empty()) {
        kept.push_back(1);
        for (auto& list : strides) list.push_back(1);
    }
    for (std::size_t v = 0; v < views.size(); ++v) {
        views[v]->shape = kept;
        views[v]->strides = strides[v];
    }
    shape = kept;
}

void map_identity(Builder& b, const std::string& name, const std::vector<std::int64_t>& shape, const View& from, const View& to) {
    map(b, name, shape, {from}, {to}, expression::parse("y0 = x0"));
}

/// Part of a view along one axis.
View part_of(const View& view, std::size_t axis, std::int64_t begin, std::int64_t extent) {
    View part = view;
    part.offset += begin * view.strides.at(axis);
    part.shape.at(axis) = extent;
    return part;
}

std::size_t axis_in(std::int64_t axis, std::size_t axes) {
    return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(axes) : axis);
}

}  // namespace

void map(Builder& b, const std::string& name, const std::vector<std::int64_t>& given, const std::vector<View>& inputs_given,
         const std::vector<View>& outputs_given, const expression::Expression& expression, const std::vector<double>& scalars) {
    std::vector<std::int64_t> shape = given;
    std::vector<View> inputs = inputs_given, outputs = outputs_given;
    const bool uses_position = std::any_of(expression.nodes.begin(), expression.nodes.end(), [](const expression::Node& node) {
        return node.op == expression::Operator::position || node.op == expression::Operator::random;
    });
    std::int64_t elements = 1;
    for (const std::int64_t extent : shape) elements *= extent;
    if (elements == 0) return;
    if (uses_position && elements >= (std::int64_t{1} << 32)) throw Unsupported{"positions beyond 32 bits"};
    // The element's number, as a view of its own.
    View position;
    position.shape = shape;
    position.strides.assign(shape.size(), 1);
    for (std::size_t i = shape.size(); i-- > 1;) position.strides[i - 1] = position.strides[i] * shape[i];
    std::vector<View*> all;
    for (View& view : inputs) all.push_back(&view);
    for (View& view : outputs) all.push_back(&view);
    if (uses_position) all.push_back(&position);
    collapse_axes(shape, all);
    // Lanes go along the axis in which results are contiguous; the last, unless the first output says otherwise.
    std::size_t lane_axis = shape.size() - 1;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        if (outputs[0].strides[axis] == 1 && outputs[0].strides[lane_axis] != 1 && shape[axis] >= b.lanes()) lane_axis = axis;
    std::vector<std::size_t> outer;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        if (axis != lane_axis) outer.push_back(axis);
    const std::int64_t length = shape[lane_axis], whole = length / b.lanes(), chunks = std::max<std::int64_t>(1, (whole + kChunk - 1) / kChunk);
    std::vector<std::int64_t> counts;
    for (const std::size_t axis : outer) counts.push_back(shape[axis]);
    counts.push_back(chunks);
    b.parallel(name, counts, elements, [&](const std::vector<Affine>& counters) {
        const auto body = [&](const Affine& first, const std::vector<Mask>& masks) {
            std::vector<Affine> indices(shape.size(), Affine(0));
            for (std::size_t i = 0; i < outer.size(); ++i) indices[outer[i]] = counters[i];
            indices[lane_axis] = first;
            std::vector<Value> loaded(inputs.size());
            const std::vector<Value> results = b.evaluate(
                expression, scalars,
                [&](unsigned i) {
                    if (i >= inputs.size()) throw Unsupported{"an expression of more operands than the op has"};
                    return b.load(inputs[i], inputs[i].at(indices), inputs[i].strides[lane_axis], masks);
                },
                uses_position ? position.at(indices) : Affine(0), uses_position ? position.strides[lane_axis] : 0);
            for (std::size_t i = 0; i < outputs.size(); ++i)
                b.store(outputs[i], outputs[i].at(indices), results[std::min(i, results.size() - 1)], outputs[i].strides[lane_axis], masks);
        };
        const Affine chunk = counters.back();
        if (whole > 0)
            b.loop_limited(std::min(kChunk, whole), Affine(whole) + chunk * -kChunk, [&](const Affine& i) { body((chunk * kChunk + i) * b.lanes(), {}); });
        if (length % b.lanes() != 0) {
            Mask mask;
            mask.lane_stride = 1;
            mask.limit = length % b.lanes();
            // In the last chunk alone.
            b.loop_limited(1, chunk + Affine(2 - chunks), [&](const Affine&) { body(whole * b.lanes(), {mask}); });
        }
    });
}

void lower_elementwise(Builder& b) {
    const std::vector<std::int64_t> shape = b.output(0).shape;
    std::vector<View> inputs, outputs;
    for (std::size_t i = 0; i < b.op().inputs.size(); ++i) inputs.push_back(broadcast(b.in(i), shape));
    for (std::size_t i = 0; i < b.op().outputs.size(); ++i) {
        const View view = b.out(i);
        outputs.push_back(view.shape == shape ? view : reshaped(view, shape));
    }
    map(b, "map", shape, inputs, outputs, expression::parse(b.op().get(keys::elementwise.expression)), b.op().get(keys::elementwise.scalars));
}

void lower_copy(Builder& b) {
    View from = b.in(0), to = b.out(0);
    const std::vector<std::int64_t> permutation = b.op().get(keys::copy.permutation);
    if (!permutation.empty()) {
        View permuted = from;
        for (std::size_t i = 0; i < permutation.size(); ++i) {
            permuted.shape[i] = from.shape.at(static_cast<std::size_t>(permutation[i]));
            permuted.strides[i] = from.strides.at(static_cast<std::size_t>(permutation[i]));
        }
        from = permuted;
    }
    if (from.elements() == to.elements() && from.shape != to.shape) {
        if (from.dense() && permutation.empty()) {
            from = reshaped(from, to.shape);
        } else {
            to = reshaped(to, from.shape);
        }
    } else if (from.shape != to.shape) {
        from = broadcast(from, to.shape);
    }
    // A view of the same numbers.
    if (from.buffer == to.buffer && from.offset == to.offset && from.strides == to.strides && from.type == to.type) return;
    map_identity(b, "copy", to.shape, from, to);
}

void lower_concat(Builder& b) {
    const View to = b.out(0);
    const std::size_t axis = axis_in(b.op().get(keys::concat.axis), to.shape.size());
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < b.op().inputs.size(); ++i) {
        const View from = b.in(i);
        const View part = part_of(to, axis, begin, from.shape.at(axis));
        map_identity(b, "concat", part.shape, from, part);
        begin += from.shape[axis];
    }
}

void lower_fill(Builder& b) {
    const View to = b.out(0);
    map(b, "fill", to.shape, {}, {to}, expression::parse("y0 = s0 + position * s1"), {b.op().get(keys::fill.value), b.op().get(keys::fill.step)});
}

void lower_random(Builder& b) {
    if (b.op().get(keys::random.distribution) != "uniform") throw Unsupported{"random integers"};
    const View to = b.out(0);
    const double low = b.op().get(keys::random.low), high = b.op().get(keys::random.high);
    map(b, "random", to.shape, {}, {to}, expression::parse("y0 = s0 + s1 * random(" + std::to_string(b.op().get(keys::random.stream)) + ")"), {low, high - low});
}

void lower_dropout(Builder&) {
    throw Unsupported{"random numbers of Philox"};
}

void lower_lstm_cell(Builder& b) {
    const View x = b.in(0), h = b.in(1), c = b.in(2);
    const std::int64_t rows = c.shape.at(0), width = c.shape.at(1);
    std::vector<View> inputs;
    std::string text;
    for (int gate = 0; gate < 4; ++gate) {
        inputs.push_back(part_of(x, 1, gate * width, width));
        inputs.push_back(part_of(h, 1, gate * width, width));
    }
    inputs.push_back(c);
    unsigned biases = 0;
    for (std::size_t i = 3; i < b.op().inputs.size(); ++i, ++biases)
        for (int gate = 0; gate < 4; ++gate) inputs.push_back(broadcast(part_of(b.in(i), 0, gate * width, width), {rows, width}));
    const char* const functions[] = {"sigmoid", "sigmoid", "tanh", "sigmoid"};
    for (int gate = 0; gate < 4; ++gate) {
        std::string sum = "x" + std::to_string(2 * gate) + " + x" + std::to_string(2 * gate + 1);
        for (unsigned bias = 0; bias < biases; ++bias) sum += " + x" + std::to_string(9 + 4 * bias + static_cast<unsigned>(gate));
        text += "t" + std::to_string(gate) + " = " + functions[gate] + "(" + sum + "); ";
    }
    text += "y1 = t1 * x8 + t0 * t2; y0 = t3 * tanh(y1)";
    std::vector<View> outputs{b.out(0), b.out(1)};
    if (b.op().outputs.size() > 2) {
        for (int gate = 0; gate < 4; ++gate) {
            outputs.push_back(part_of(b.out(2), 1, gate * width, width));
            text += "; y" + std::to_string(2 + gate) + " = t" + std::to_string(gate);
        }
    }
    map(b, "lstm", {rows, width}, inputs, outputs, expression::parse(text));
}

void lower_lstm_cell_grad(Builder& b) {
    const View dh = b.in(0), dc = b.in(1), c = b.in(2), next = b.in(3), gates = b.in(4);
    const std::int64_t rows = c.shape.at(0), width = c.shape.at(1);
    std::vector<View> inputs{dh, dc, c, next}, outputs;
    for (int gate = 0; gate < 4; ++gate) inputs.push_back(part_of(gates, 1, gate * width, width));
    for (int gate = 0; gate < 4; ++gate) outputs.push_back(part_of(b.out(0), 1, gate * width, width));
    outputs.push_back(b.out(1));
    // x4 ... x7: input, forget, cell and output gate.
    map(b, "lstm_grad", {rows, width}, inputs, outputs,
        expression::parse("t0 = tanh(x3); t1 = x1 + x0 * x7 * (1 - t0 * t0); y0 = t1 * x6 * x4 * (1 - x4); y1 = t1 * x2 * x5 * (1 - x5); "
                          "y2 = t1 * x4 * (1 - x6 * x6); y3 = x0 * t0 * x7 * (1 - x7); y4 = t1 * x5"));
}

}  // namespace heddle::lowering::on_cpu
