// Reductions: over trailing axes (rows), leading axes (columns), or everything (two launches).
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "workloads/expression/expression.h"
#include "workloads/kernels/reduction.h"
#include "workloads/kernels/torch_reduce.h"
#include "workloads/lowering/gpu/builder.h"
#include "workloads/lowering/gpu/elementwise_launch.h"

namespace heddle::lowering {
namespace {

using kernels::ElementType;
using kernels::Reduction;

/// The input as [outer, reduced, inner], or as [reduced, inner, trailing], of which trailing is reduced too.
struct Extents {
    std::int64_t outer = 1, reduced = 1, inner = 1, trailing = 1;

    bool middle() const { return outer > 1 && inner > 1; }
    bool apart() const { return trailing > 1; }
    std::int64_t all_reduced() const { return reduced * trailing; }
};

Extents extents_of(const GpuProgramBuilder& b) {
    const std::vector<std::int64_t>& shape = b.input(0).shape;
    std::vector<bool> reduced(shape.size(), !b.op().has(keys::reduce.axes));
    for (const std::int64_t axis : b.op().get(keys::reduce.axes))
        reduced.at(static_cast<std::size_t>(axis)) = true;
    Extents e;
    std::int64_t* const parts[] = {&e.outer, &e.reduced, &e.inner, &e.trailing};
    std::size_t part = 0;  // kept and reduced by turns
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] == 1) continue;
        if (reduced[axis] != (part % 2 == 1)) ++part;
        if (part > 3 || (part == 3 && e.outer > 1))
            throw Unsupported{"no reduction kernel for axes in more than two places, or between others"};
        *parts[part] *= shape[axis];
    }
    return e;
}

unsigned width_for(ElementType type, std::int64_t columns, std::int64_t elements, std::uint64_t byte_offset) {
    unsigned width = std::min(8u, 16 / kernels::bytes_of(type));
    while (width > 1 && (columns % width != 0 || elements % width != 0 ||
                         byte_offset % (width * kernels::bytes_of(type)) != 0))
        width /= 2;
    return width;
}

/// What is reduced: an input of the op (or its square), or a workspace that holds an expression of the
/// inputs.
struct Source {
    kernels::KernelArgument x;
    ElementType type;
    bool squared = false;
};

Source source_of(GpuProgramBuilder& b, std::size_t result) {
    const std::string text = b.op().get(keys::reduce.expression, "y0 = x0");
    expression::Expression expression = expression::parse(text);
    // One result of the expression at a time.
    expression.outputs = {expression.outputs.at(result)};
    const auto node_at = [&](int i) { return &expression.nodes[static_cast<std::size_t>(i)]; };
    const expression::Node* node = node_at(expression.outputs[0]);
    const bool squared = node->op == expression::Operator::multiply &&
                         b.op().get(keys::reduce.reduction) == "sum" &&
                         node_at(node->a)->op == expression::Operator::input &&
                         node_at(node->b)->op == expression::Operator::input &&
                         node_at(node->a)->index == node_at(node->b)->index;
    if (squared) node = node_at(node->a);
    if (node->op == expression::Operator::input && b.input_strides(node->index).empty() &&
        b.input(node->index).shape == b.input(0).shape) {
        return {b.input_pointer("x", node->index), kernel_type(b.input(node->index).type), squared};
    }
    const std::vector<std::int64_t>& shape = b.input(0).shape;
    const program::BufferId workspace =
        b.workspace("reduction operand", static_cast<std::uint64_t>(b.input(0).elements()) * 4);
    std::vector<ElementwiseOperand> inputs;
    for (std::size_t i = 0; i < expression.input_count; ++i) inputs.push_back(input_operand(b, i, shape));
    const ElementwiseOperand output{trace::ElementType::f32, kernels::pointer_argument("", workspace), {}};
    launch_elementwise(b, expression, b.op().get(keys::reduce.scalars), shape, inputs, {output});
    return {kernels::pointer_argument("x", workspace), ElementType::f32};
}

struct Pass {
    Reduction reduction;
    ElementType input, output;
    double scale = 1;
};

void launch_rows(GpuProgramBuilder& b, const Pass& pass, kernels::KernelArgument x, kernels::KernelArgument y,
                 std::int64_t rows, std::int64_t columns, std::int64_t elements) {
    kernels::ReduceRowsSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.reduction = pass.reduction;
    spec.input = pass.input;
    spec.output = pass.output;
    spec.vector_width = width_for(pass.input, columns, elements, x.byte_offset);
    spec.warp_per_row = columns <= 1024 && rows >= 64;
    if (b.op().get(keys::any.chunk_elements) != 0) spec.threads = 512;
    x.parameter = "x";
    y.parameter = "y";
    b.launch(kernels::generate_reduce_rows(spec),
             kernels::reduce_rows_grid(spec, static_cast<std::uint32_t>(rows)),
             {x, y, kernels::integer_argument("rows", static_cast<std::uint64_t>(rows)),
              kernels::integer_argument("columns", static_cast<std::uint64_t>(columns)),
              kernels::integer_argument("row_stride", static_cast<std::uint64_t>(columns)),
              kernels::integer_argument("elements", static_cast<std::uint64_t>(elements)),
              kernels::f32_argument("scale", static_cast<float>(pass.scale))});
}

std::int64_t divided_up(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

/// CTAs one below the other. A second launch costs more than a short walk down the columns.
std::int64_t column_splits(const GpuProgramBuilder& b, std::int64_t rows, std::int64_t columns) {
    if (rows <= 512) return 1;
    return std::clamp<std::int64_t>(2 * b.target().sm_count / divided_up(columns, 256), 1, rows / 64);
}

void launch_columns(GpuProgramBuilder& b, const Pass& pass, kernels::KernelArgument x,
                    kernels::KernelArgument y, std::int64_t rows, std::int64_t columns, std::int64_t splits) {
    kernels::ReduceColumnsSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.reduction = pass.reduction;
    spec.input = pass.input;
    spec.output = pass.output;
    spec.vector_width = width_for(pass.input, columns, rows * columns, x.byte_offset);
    x.parameter = "x";
    y.parameter = "y";
    b.launch(
        kernels::generate_reduce_columns(spec),
        kernels::reduce_columns_grid(spec, static_cast<std::uint32_t>(columns),
                                     static_cast<std::uint32_t>(splits)),
        {x, y, kernels::integer_argument("rows", static_cast<std::uint64_t>(rows)),
         kernels::integer_argument("columns", static_cast<std::uint64_t>(columns)),
         kernels::integer_argument("row_stride", static_cast<std::uint64_t>(columns)),
         kernels::integer_argument("rows_per_cta", static_cast<std::uint64_t>((rows + splits - 1) / splits)),
         kernels::f32_argument("scale", static_cast<float>(pass.scale))});
}

/// A recorded reduce_kernel<threads, width> of PyTorch over leading axes, as its setReduceConfig spreads it.
bool lower_torch_columns(GpuProgramBuilder& b, const Pass& pass, const kernels::KernelArgument& source,
                         const kernels::KernelArgument& y, std::int64_t rows, std::int64_t columns) {
    const std::int64_t threads = b.op().get(keys::any.threads), width = b.op().get(keys::any.vector_width, 1);
    if (threads < 32 || threads > 1024 || !std::has_single_bit(static_cast<std::uint64_t>(threads)) ||
        (width != 1 && width != 2 && width != 4) ||
        width > width_for(pass.input, columns, rows * columns, source.byte_offset))
        return false;
    const kernels::TorchReducePlan plan = kernels::torch_reduce_columns_plan(
        rows, columns, static_cast<unsigned>(threads), static_cast<unsigned>(width), b.target().sm_count);
    kernels::TorchReduceColumnsSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.reduction = pass.reduction;
    spec.input = pass.input;
    spec.output = pass.output;
    spec.vector_width = static_cast<unsigned>(width);
    spec.column_lanes = plan.column_lanes;
    spec.row_lanes = plan.row_lanes;
    spec.shared_columns = plan.ctas_deep > 1;
    kernels::KernelArgument x = source;
    x.parameter = "x";
    std::vector<kernels::KernelArgument> arguments{
        y,
        x,
        kernels::integer_argument("rows", static_cast<std::uint64_t>(rows)),
        kernels::integer_argument("columns", static_cast<std::uint64_t>(columns)),
        kernels::integer_argument("row_stride", static_cast<std::uint64_t>(columns)),
        kernels::f32_argument("scale", static_cast<float>(pass.scale))};
    if (spec.shared_columns) {
        const program::BufferId partial =
            b.workspace("partial reductions", std::uint64_t{plan.ctas_wide} * plan.ctas_deep *
                                                  plan.column_lanes * spec.vector_width * 4);
        const program::BufferId semaphores =
            b.workspace("semaphores of reductions", std::uint64_t{plan.ctas_wide} * 4);
        b.steer_by_buffer(semaphores, 4, 0, 1);  // 0
        // The call clears them first; where that was recorded as a part of it, so here.
        if (b.op().get(keys::any.kernels) > 1)
            launch_elementwise(b, expression::parse("y0 = 0"), {}, {plan.ctas_wide}, {},
                               {{trace::ElementType::i32, kernels::pointer_argument("", semaphores), {}}});
        arguments.push_back(kernels::pointer_argument("partial", partial));
        arguments.push_back(kernels::pointer_argument("semaphores", semaphores));
    }
    b.launch(kernels::generate_torch_reduce_columns(spec), {plan.ctas_wide, plan.ctas_deep, 1}, arguments);
    return true;
}

/// The second pass adds what the first has squared already.
Reduction second_pass(Reduction reduction) {
    return reduction == Reduction::sum_of_squares ? Reduction::sum : reduction;
}

/// Extremum and its position, row by row.
void lower_position(GpuProgramBuilder& b) {
    const Extents e = extents_of(b);
    if (e.inner > 1 || e.apart())
        throw Unsupported{"no kernel for the position of an extremum along a leading axis"};
    const std::string name = b.op().get(keys::reduce.reduction);
    if (name != "max" && name != "min") throw Unsupported{"a " + name + " has no position"};
    if (b.op().outputs.size() != 2) throw Unsupported{"no kernel for the positions of several extrema"};
    const Source source = source_of(b, 0);
    kernels::ExtremumSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.maximum = name == "max";
    spec.input = source.type;
    spec.value = kernel_type(b.output(0).type);
    spec.index = kernel_type(b.output(1).type);
    b.launch(kernels::generate_extremum(spec), {static_cast<std::uint32_t>(e.outer), 1, 1},
             {b.output_pointer("value", 0), b.output_pointer("index", 1), source.x,
              kernels::integer_argument("rows", static_cast<std::uint64_t>(e.outer)),
              kernels::integer_argument("columns", static_cast<std::uint64_t>(e.reduced)),
              kernels::integer_argument("row_stride", static_cast<std::uint64_t>(e.reduced))});
}

/// Sums over leading axes, one CTA for each column.
bool lower_column_alone(GpuProgramBuilder& b) {
    const std::string name = b.op().get(keys::reduce.reduction);
    if (b.op().get(keys::reduce.column_alone) == 0 || (name != "sum" && name != "mean") ||
        b.op().outputs.size() != 1)
        return false;
    const Extents e = extents_of(b);
    if (e.inner == 1 || e.middle() || e.apart()) return false;
    const Source source = source_of(b, 0);
    if (source.squared) return false;
    kernels::ReduceColumnAloneSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.input = source.type;
    spec.output = kernel_type(b.output(0).type);
    const float scale = name == "mean" ? static_cast<float>(1.0 / static_cast<double>(e.reduced)) : 1.0f;
    b.launch(kernels::generate_reduce_column_alone(spec), {static_cast<std::uint32_t>(e.inner), 1, 1},
             {b.output_pointer("y", 0), source.x,
              kernels::integer_argument("rows", static_cast<std::uint64_t>(e.reduced)),
              kernels::integer_argument("columns", static_cast<std::uint64_t>(e.inner)),
              kernels::f32_argument("scale", scale)});
    return true;
}

/// Two sums over rows of one shape in one launch: how a layer norm's parameter gradients are finished.
bool lower_pair(GpuProgramBuilder& b) {
    if (b.op().outputs.size() != 2 || b.op().get(keys::reduce.reduction) != "sum" ||
        b.op().get(keys::reduce.expression) != "y0 = x0; y1 = x1")
        return false;
    const Extents e = extents_of(b);
    if (e.inner == 1 || e.reduced > 4096 || e.middle() || e.apart()) return false;
    const Source first = source_of(b, 0), second = source_of(b, 1);
    if (first.squared || second.squared || first.type != second.type || b.output(0).type != b.output(1).type)
        return false;
    kernels::ReduceColumnsSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.input = first.type;
    spec.output = kernel_type(b.output(0).type);
    spec.row_lanes = 32;
    spec.pair = true;
    kernels::KernelArgument x1 = second.x;
    x1.parameter = "x1";
    const auto rows = static_cast<std::uint64_t>(e.reduced), columns = static_cast<std::uint64_t>(e.inner);
    b.launch(kernels::generate_reduce_columns(spec),
             kernels::reduce_columns_grid(spec, static_cast<std::uint32_t>(columns), 1),
             {b.output_pointer("y", 0), first.x, b.output_pointer("y1", 1), x1,
              kernels::integer_argument("rows", rows), kernels::integer_argument("columns", columns),
              kernels::integer_argument("row_stride", columns),
              kernels::integer_argument("rows_per_cta", rows), kernels::f32_argument("scale", 1.0f)});
    return true;
}

void lower_columns(GpuProgramBuilder& b, const Pass& pass, const kernels::KernelArgument& x,
                   const kernels::KernelArgument& y, const Extents& e) {
    if (lower_torch_columns(b, pass, x, y, e.reduced, e.inner)) return;
    const std::int64_t splits = column_splits(b, e.reduced, e.inner);
    if (splits == 1) return launch_columns(b, pass, x, y, e.reduced, e.inner, 1);
    const program::BufferId partial =
        b.workspace("partial reductions", static_cast<std::uint64_t>(splits * e.inner) * 4);
    launch_columns(b, {pass.reduction, pass.input, ElementType::f32, 1.0}, x,
                   kernels::pointer_argument("y", partial), e.reduced, e.inner, splits);
    launch_columns(b, {second_pass(pass.reduction), ElementType::f32, pass.output, pass.scale},
                   kernels::pointer_argument("x", partial), y, splits, e.inner, 1);
}

/// Axes between others: the columns of as many matrices as there are places before them.
void lower_middle(GpuProgramBuilder& b, const Pass& pass, const kernels::KernelArgument& source,
                  const kernels::KernelArgument& y, const Extents& e) {
    constexpr std::int64_t kMostBatches = 65535;  // of grid z
    if (e.outer > kMostBatches)
        throw Unsupported{"no reduction kernel between more than 65,535 places and others"};
    const unsigned width =
        std::min(4u, width_for(pass.input, e.inner, e.reduced * e.inner, source.byte_offset));
    const kernels::TorchReducePlan plan =
        kernels::torch_reduce_columns_plan(e.reduced, e.inner, 512 / width, width, b.target().sm_count);
    kernels::TorchReduceColumnsSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.reduction = pass.reduction;
    spec.input = pass.input;
    spec.output = pass.output;
    spec.vector_width = width;
    spec.column_lanes = plan.column_lanes;
    spec.row_lanes = plan.row_lanes;
    spec.batched = true;
    kernels::KernelArgument x = source;
    x.parameter = "x";
    b.launch(kernels::generate_torch_reduce_columns(spec),
             {plan.ctas_wide, 1, static_cast<std::uint32_t>(e.outer)},
             {y, x, kernels::integer_argument("rows", static_cast<std::uint64_t>(e.reduced)),
              kernels::integer_argument("columns", static_cast<std::uint64_t>(e.inner)),
              kernels::integer_argument("row_stride", static_cast<std::uint64_t>(e.inner)),
              kernels::f32_argument("scale", static_cast<float>(pass.scale))});
}

/// Axes before and behind those that stay, such as a bias of channels has them: rows first, then columns of
/// their results.
void lower_apart(GpuProgramBuilder& b, const Pass& pass, const kernels::KernelArgument& source,
                 const kernels::KernelArgument& y, const Extents& e) {
    const std::int64_t rows = e.reduced * e.inner;
    const program::BufferId partial = b.workspace("sums of rows", static_cast<std::uint64_t>(rows) * 4);
    launch_rows(b, {pass.reduction, pass.input, ElementType::f32, 1.0}, source,
                kernels::pointer_argument("y", partial), rows, e.trailing, rows * e.trailing);
    lower_columns(b, {second_pass(pass.reduction), ElementType::f32, pass.output, pass.scale},
                  kernels::pointer_argument("x", partial), y, e);
}

void lower_one_reduction(GpuProgramBuilder& b, std::size_t result) {
    const std::string name = b.op().get(keys::reduce.reduction);
    const bool norm = name == "norm2";
    const Extents e = extents_of(b);
    const Source source = source_of(b, result);

    Pass pass{norm || source.squared ? Reduction::sum_of_squares
              : name == "max"        ? Reduction::maximum
              : name == "min"        ? Reduction::minimum
                                     : Reduction::sum,
              source.type, kernel_type(b.output(result).type),
              name == "mean" ? 1.0 / static_cast<double>(e.all_reduced()) : 1.0};
    const kernels::KernelArgument y = b.output_pointer("y", result);
    if (e.middle()) {
        lower_middle(b, pass, source.x, y, e);
    } else if (e.apart()) {
        lower_apart(b, pass, source.x, y, e);
    } else if (e.inner > 1) {
        lower_columns(b, pass, source.x, y, e);
    } else if (e.outer == 1 && e.reduced > 16384) {
        const std::int64_t chunk = (e.reduced + 4 * b.target().sm_count - 1) / (4 * b.target().sm_count);
        // A recorded kernel over lists of tensors gives each CTA a chunk.
        const std::int64_t recorded = b.op().get(keys::any.chunk_elements);
        const std::int64_t columns =
            recorded > 0 ? recorded : std::max<std::int64_t>(4096, (chunk + 7) / 8 * 8);
        const std::int64_t rows = (e.reduced + columns - 1) / columns;
        const program::BufferId partial =
            b.workspace("partial reductions", static_cast<std::uint64_t>(rows) * 4);
        launch_rows(b, {pass.reduction, pass.input, ElementType::f32, 1.0}, source.x,
                    kernels::pointer_argument("y", partial), rows, columns, e.reduced);
        launch_rows(b, {second_pass(pass.reduction), ElementType::f32, pass.output, pass.scale},
                    kernels::pointer_argument("x", partial), y, 1, rows, rows);
    } else {
        launch_rows(b, pass, source.x, y, e.outer, e.reduced, e.outer * e.reduced);
    }
    if (norm) {
        ElementwiseOperand operand = output_operand(b, result);
        operand.strides.assign(b.output(result).shape.size(), 0);
        std::int64_t stride = 1;
        for (std::size_t axis = b.output(result).shape.size(); axis-- > 0;) {
            operand.strides[axis] = stride;
            stride *= b.output(result).shape[axis];
        }
        launch_elementwise(b, expression::parse("y0 = sqrt(x0)"), {}, b.output(result).shape, {operand},
                           {output_operand(b, result)});
    }
}

}  // namespace

void lower_reduce(GpuProgramBuilder& b) {
    b.require_dense_outputs();
    // A recorded kernel may clear an accumulator in passing.
    if (const std::int64_t cleared = b.op().get(keys::reduce.clears_bytes); cleared > 0) {
        const program::BufferId buffer = b.workspace("attention dq", static_cast<std::uint64_t>(cleared));
        launch_elementwise(b, expression::parse("y0 = 0"), {}, {cleared / 4}, {},
                           {{trace::ElementType::f32, kernels::pointer_argument("", buffer), {}}});
    }
    if (b.op().get(keys::reduce.reduction) == "sum" &&
        b.op().get(keys::reduce.expression) == "y0 = x0 * x1" &&
        b.op().get(keys::reduce.axes) == std::vector<std::int64_t>{3} && lower_row_products(b)) {
        return;
    }
    const std::string name = b.op().get(keys::reduce.reduction);
    const bool position = b.op().get(keys::reduce.argument) != 0;
    if (name != "norm2" && name != "sum" && name != "mean" && name != "max" && name != "min")
        throw Unsupported{"no reduction kernel for " + name};
    if (b.input(0).elements() >= (std::int64_t{1} << 31))
        throw Unsupported{"no reduction kernel for 2^31 elements or more"};
    if (b.input(0).elements() == 0) throw Unsupported{"no reduction kernel for an empty tensor"};
    if (position) return lower_position(b);
    if (lower_column_alone(b) || lower_pair(b)) return;
    for (std::size_t i = 0; i < b.op().outputs.size(); ++i) lower_one_reduction(b, i);
}

}  // namespace heddle::lowering
