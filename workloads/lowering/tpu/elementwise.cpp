// Ops that map element to element.
#include <cmath>

#include "workloads/expression/expression.h"
#include "workloads/lowering/tpu/map.h"
#include "workloads/trace/shape.h"

namespace heddle::lowering::on_tpu {
namespace {

/// Element number of a kernel's present element, as fp32; exact below 2^24.
KernelBuilder::Node element_number(KernelBuilder& builder, std::int64_t element_stride) {
    using tpu::VectorOp;
    const auto row = builder.apply(VectorOp::integer_multiply, builder.row_index(),
                                   builder.integer(static_cast<std::int32_t>(element_stride)));
    return builder.apply(VectorOp::integer_add, row, builder.column_index());
}

/// A dense view seen as one run of elements.
HbmView flat_output(const ProgramBuilder& program, std::size_t i) {
    return program.dense_output(i);
}

}  // namespace

void lower_elementwise(ProgramBuilder& program) {
    const expression::Expression parsed = expression::parse(program.op().get(keys::elementwise.expression));
    const std::vector<std::int64_t> shape = program.output(0).shape;
    std::vector<HbmView> inputs, outputs;
    std::vector<tpu::ElementType> types;
    KernelBuilder builder;
    std::vector<KernelBuilder::Node> x, s;
    // Operands that the expression does not read are not loaded.
    std::vector<bool> read(program.op().inputs.size(), false);
    for (const expression::Node& node : parsed.nodes) {
        if (node.op == expression::Operator::input) read.at(node.index) = true;
    }
    for (std::size_t i = 0; i < read.size(); ++i) {
        if (!read[i]) {
            x.push_back(0);
            continue;
        }
        inputs.push_back(program.input_view(i, shape));
        types.push_back(inputs.back().type);
        x.push_back(builder.input(inputs.back().type));
    }
    std::vector<float> scalars;
    const std::vector<double> given = program.op().get(keys::elementwise.scalars);
    for (unsigned i = 0; i < parsed.scalar_count; ++i) {
        s.push_back(builder.scalar());
        scalars.push_back(static_cast<float>(given.at(i)));
    }
    const bool integers_only = parsed.nodes.size() == 1 && inputs.size() == 1 && parsed.outputs.size() == 1;
    if (integers_only) {
        // "y0 = x0": no detour by fp32, which holds no more than 24 bits of an integer.
        return copy_view(program, inputs[0], program.output_view(0));
    }
    const auto values = builder.expression(parsed, x, s);
    for (std::size_t i = 0; i < values.size(); ++i) {
        HbmView view = program.output_view(i);
        if (view.shape != shape) {
            view = program.dense_output(i);
            view.shape = shape;
            view.strides = trace::broadcast_strides(shape, shape);
        }
        outputs.push_back(view);
        builder.output(values[i], view.type, view.boolean);
    }
    map_elements(program, program.kernel(builder.finish(), types), inputs, outputs, scalars);
}

void lower_copy(ProgramBuilder& program) {
    HbmView from = program.input_view(0), to = program.output_view(0);
    const std::vector<std::int64_t> permutation = program.op().get(keys::copy.permutation);
    if (!permutation.empty()) {
        const HbmView source = from;
        for (std::size_t axis = 0; axis < permutation.size(); ++axis) {
            from.strides[axis] = source.strides[static_cast<std::size_t>(permutation[axis])];
        }
        from.shape = to.shape;
    } else if (from.shape != to.shape) {
        if (program.input(0).elements() != program.output(0).elements()) {
            from = program.input_view(0, to.shape);
        } else {
            // A reshape: one side or the other must be one run of elements.
            const bool dense_to = program.op().strides("output0").empty();
            if (dense_to) {
                to = HbmView{to.address, to.type, from.shape,
                             trace::broadcast_strides(from.shape, from.shape), to.boolean};
            } else {
                from = program.dense_input(0);
                from.shape = to.shape;
                from.strides = trace::broadcast_strides(to.shape, to.shape);
            }
        }
    }
    if (from.address == to.address && from.type == to.type && from.shape == to.shape &&
        from.strides == to.strides) {
        return;  // a view of itself
    }
    copy_view(program, from, to);
}

void lower_concat(ProgramBuilder& program) {
    const auto axis = static_cast<std::size_t>(program.op().get(keys::concat.axis));
    std::int64_t first = 0;
    for (std::size_t i = 0; i < program.op().inputs.size(); ++i) {
        const HbmView from = program.input_view(i);
        HbmView to = program.output_view(0);
        to.address += static_cast<std::uint64_t>(first * to.strides[axis]) * bytes_of(to.type);
        to.shape = from.shape;
        first += from.shape[axis];
        if (program.input(i).elements() > 0) copy_view(program, from, to);
    }
}

void lower_fill(ProgramBuilder& program) {
    const double value = program.op().get(keys::fill.value), step = program.op().get(keys::fill.step);
    for (std::size_t i = 0; i < program.op().outputs.size(); ++i) {
        if (step == 0) {
            fill_view(program, program.output_view(i), value);
            continue;
        }
        const HbmView view = flat_output(program, i);
        if (view.shape[0] > INT32_MAX) throw Unsupported{"a range of more than 2^31 elements"};
        using tpu::VectorOp;
        KernelBuilder builder;
        const auto number = element_number(builder, 1024);
        const bool integer = value_type_of(view.type) == tpu::ValueType::integer &&
                             value == std::floor(value) && step == std::floor(step);
        if (integer) {
            const auto product = builder.apply(VectorOp::integer_multiply, number,
                                               builder.integer(static_cast<std::int32_t>(step)));
            builder.raw_output(builder.apply(VectorOp::integer_add, product,
                                             builder.integer(static_cast<std::int32_t>(value))));
        } else {
            const auto product =
                builder.apply(VectorOp::multiply, builder.apply(VectorOp::integer_to_float, number),
                              builder.constant(step));
            builder.output(builder.apply(VectorOp::add, product, builder.constant(value)), view.type,
                           view.boolean);
        }
        map_elements(program, program.kernel(builder.finish(), {}), {}, {view});
    }
}

void lower_random(ProgramBuilder& program) {
    const double low = program.op().get(keys::random.low), high = program.op().get(keys::random.high);
    const auto stream = static_cast<std::uint32_t>(program.op().get(keys::random.stream));
    const bool integers = program.op().get(keys::random.distribution) == "integer";
    for (std::size_t i = 0; i < program.op().outputs.size(); ++i) {
        const HbmView view = flat_output(program, i);
        using tpu::VectorOp;
        KernelBuilder builder;
        const auto scaled =
            builder.apply(VectorOp::multiply, builder.random(stream), builder.constant(high - low));
        auto number = builder.apply(VectorOp::add, scaled, builder.constant(low));
        if (integers) number = builder.apply(VectorOp::floor, number);
        builder.output(number, view.type, view.boolean);
        map_elements(program, program.kernel(builder.finish(), {}), {}, {view});
    }
}

}  // namespace heddle::lowering::on_tpu
