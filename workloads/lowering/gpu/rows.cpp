// Rows chosen by an index (embedding, gather, scatter) and concatenation.
#include <algorithm>
#include <numeric>

#include "workloads/expression/expression.h"
#include "workloads/kernels/concat.h"
#include "workloads/kernels/data_movement.h"
#include "workloads/kernels/embedding_sums.h"
#include "workloads/kernels/rows_by_index.h"
#include "workloads/lowering/gpu/builder.h"
#include "workloads/lowering/gpu/elementwise_launch.h"

namespace heddle::lowering {
namespace {

using kernels::KernelArgument;

/// Elements per access that columns, strides and byte offsets allow.
unsigned width_for(unsigned bytes, std::initializer_list<std::uint64_t> elements) {
    unsigned width = std::min(8u, 16 / bytes);
    for (const std::uint64_t n : elements) {
        while (width > 1 && n % width != 0) width /= 2;
    }
    return width;
}

struct RowsByIndex {
    kernels::RowMove move = kernels::RowMove::gather;
    KernelArgument y, x;
    trace::ElementType y_type = trace::ElementType::f32, x_type = trace::ElementType::f32;
    KernelArgument index;
    trace::ElementType index_type = trace::ElementType::i64;
    std::uint32_t rows = 0;  ///< number of indices
    std::uint32_t limit = 0, columns = 0;
};

void launch_rows_by_index(GpuProgramBuilder& b, const RowsByIndex& r) {
    if (r.rows == 0 || r.columns == 0) return;
    kernels::RowsByIndexSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.move = r.move;
    spec.x = kernel_type(r.x_type);
    spec.y = kernel_type(r.y_type);
    spec.index = kernel_type(r.index_type);
    if (spec.index != kernels::ElementType::i32 && spec.index != kernels::ElementType::i64) {
        throw Unsupported{"no kernel for indices of type " + kernels::name_of(spec.index)};
    }
    const unsigned bytes = std::max(kernels::bytes_of(spec.x), kernels::bytes_of(spec.y));
    spec.vector_width = width_for(bytes, {r.columns, r.x.byte_offset / bytes, r.y.byte_offset / bytes});
    // The index picks the address of its row.
    b.steer_by_buffer(r.index.buffer, trace::bytes_of(r.index_type), 0, r.limit);
    std::vector<KernelArgument> arguments{r.y,
                                          r.x,
                                          r.index,
                                          kernels::integer_argument("rows", r.rows),
                                          kernels::integer_argument("limit", r.limit),
                                          kernels::integer_argument("x_stride", r.columns),
                                          kernels::integer_argument("y_stride", r.columns)};
    arguments[0].parameter = "y";
    arguments[1].parameter = "x";
    arguments[2].parameter = "index";
    kernels::add_divider_arguments(arguments, "row_vectors", r.columns / spec.vector_width);
    b.launch(kernels::generate_rows_by_index(spec), kernels::rows_by_index_grid(spec, r.rows, r.columns),
             arguments);
}

/// The same gather, element by element.
void launch_elements_by_index(GpuProgramBuilder& b, const RowsByIndex& r) {
    const std::uint64_t elements = std::uint64_t{r.rows} * r.columns;
    if (elements == 0) return;
    if (elements >= (std::uint64_t{1} << 31)) throw Unsupported{"no lookup kernel for 2^31 elements or more"};
    kernels::ElementsByIndexSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.type = kernel_type(r.y_type);
    spec.index = kernel_type(r.index_type);
    b.steer_by_buffer(r.index.buffer, trace::bytes_of(r.index_type), 0, r.limit);
    std::vector<KernelArgument> arguments{r.y,
                                          r.x,
                                          r.index,
                                          kernels::integer_argument("elements", elements),
                                          kernels::integer_argument("columns", r.columns),
                                          kernels::integer_argument("limit", r.limit)};
    arguments[0].parameter = "y";
    arguments[1].parameter = "x";
    arguments[2].parameter = "index";
    b.launch(kernels::generate_elements_by_index(spec),
             kernels::elements_by_index_grid(static_cast<std::uint32_t>(elements), b.target().sm_count),
             arguments);
}

/// One index tensor of an op as it stands.
void index_by_input(const GpuProgramBuilder& b, std::size_t i, RowsByIndex& r) {
    b.require_dense_input(i);
    r.index = b.input_pointer("index", i);
    r.index_type = b.input(i).type;
    r.rows = static_cast<std::uint32_t>(b.input(i).elements());
}

/// The `count` index tensors from input 1 on, which replace the leading axes of input 0: one flat index into
/// the tensor seen as [product of these axes, rest].
void index_leading_axes(GpuProgramBuilder& b, std::size_t count, RowsByIndex& r) {
    if (b.op().get(keys::gather.axis) != 0 || b.op().get(keys::gather.along) != 0) {
        throw Unsupported{"no " + trace::name_of(b.op().kind) + " kernel along an inner axis"};
    }
    const std::vector<std::int64_t>& shape = b.input(0).shape;
    if (count == 0 || shape.size() < count) throw Unsupported{"no kernel for as many indices as this"};
    std::int64_t limit = 1;
    for (std::size_t axis = 0; axis < count; ++axis) limit *= shape[axis];
    r.limit = static_cast<std::uint32_t>(limit);
    r.columns = static_cast<std::uint32_t>(b.input(0).elements() / std::max<std::int64_t>(1, limit));
    if (count == 1) return index_by_input(b, 1, r);

    std::string text = "x0";
    std::vector<double> extents;
    std::vector<ElementwiseOperand> indices;
    for (std::size_t i = 0; i < count; ++i) {
        indices.push_back(input_operand(b, 1 + i, b.input(1).shape));
        if (i == 0) continue;
        text.insert(0, "(");
        text.append(") * s").append(std::to_string(i - 1)).append(" + x").append(std::to_string(i));
        extents.push_back(static_cast<double>(shape[i]));
    }
    const std::int64_t rows = b.input(1).elements();
    const program::BufferId flat = b.workspace("flat indices", static_cast<std::uint64_t>(rows) * 8);
    r.index = kernels::pointer_argument("index", flat);
    r.index_type = trace::ElementType::i64;
    r.rows = static_cast<std::uint32_t>(rows);
    launch_elementwise(b, expression::parse("y0 = " + text), extents, b.input(1).shape, indices,
                       {{trace::ElementType::i64, r.index, {}}});
}

std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> strides(shape.size());
    std::int64_t stride = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        strides[axis] = stride;
        stride *= shape[axis];
    }
    return strides;
}

}  // namespace

void lower_embedding(GpuProgramBuilder& b) {
    b.require_dense_outputs();
    b.require_dense_input(0);
    RowsByIndex r;
    r.y = b.output_pointer("y", 0);
    r.x = b.input_pointer("x", 0);
    r.y_type = b.output(0).type;
    r.x_type = b.input(0).type;
    r.limit = static_cast<std::uint32_t>(b.input(0).shape[0]);
    r.columns = static_cast<std::uint32_t>(b.input(0).shape[1]);
    index_by_input(b, 1, r);
    if (b.op().get(keys::embedding.one_by_one) != 0 && r.x_type == r.y_type)
        return launch_elements_by_index(b, r);
    launch_rows_by_index(b, r);
}

namespace {

/// Sums in the order of the indices, straight into the table: what PyTorch launches for few indices.
void embedding_sums_in_order(GpuProgramBuilder& b) {
    const trace::Tensor& table = b.output(0);
    kernels::EmbeddingSumsSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.x = kernel_type(b.input(0).type);
    spec.y = kernel_type(table.type);
    spec.index = kernel_type(b.input(1).type);
    const auto rows = static_cast<std::uint64_t>(b.input(1).elements());
    const auto columns = static_cast<std::uint32_t>(table.shape[1]);
    const KernelArgument index = b.input_pointer("index", 1);
    b.steer_by_buffer(index.buffer, trace::bytes_of(b.input(1).type), 0, table.shape[0]);
    b.launch(kernels::generate_embedding_sums(spec), kernels::embedding_sums_grid(columns),
             {b.output_pointer("y", 0), b.input_pointer("x", 0), index,
              kernels::integer_argument("rows", rows), kernels::integer_argument("columns", columns)});
}

}  // namespace

void lower_embedding_grad(GpuProgramBuilder& b) {
    b.require_dense_outputs();
    b.require_dense_input(0);
    const trace::Tensor& table = b.output(0);
    if (b.op().get(keys::embedding.in_order) != 0 && table.elements() > 0 && b.input(1).elements() > 0) {
        b.require_dense_input(1);
        if (b.op().get(keys::embedding.accumulate) == 0)
            launch_elementwise(b, expression::parse("y0 = 0"), {}, table.shape, {}, {output_operand(b, 0)});
        return embedding_sums_in_order(b);
    }
    RowsByIndex r;
    r.move = kernels::RowMove::scatter_add;
    r.x = b.input_pointer("x", 0);
    r.x_type = b.input(0).type;
    r.limit = static_cast<std::uint32_t>(table.shape[0]);
    r.columns = static_cast<std::uint32_t>(table.shape[1]);
    index_by_input(b, 1, r);
    // Rows add up in f32; a table of another type is rounded at the end.
    const bool direct = table.type == trace::ElementType::f32;
    ElementwiseOperand sums{trace::ElementType::f32, {}, dense_strides(table.shape)};
    sums.pointer =
        direct
            ? b.output_pointer("y", 0)
            : kernels::pointer_argument(
                  "y", b.workspace("embedding gradient", static_cast<std::uint64_t>(table.elements()) * 4));
    r.y = sums.pointer;
    launch_elementwise(b, expression::parse("y0 = 0"), {}, table.shape, {}, {sums});
    launch_rows_by_index(b, r);
    if (!direct)
        launch_elementwise(b, expression::parse("y0 = x0"), {}, table.shape, {sums}, {output_operand(b, 0)});
}

void lower_gather(GpuProgramBuilder& b) {
    b.require_dense_outputs();
    b.require_dense_input(0);
    RowsByIndex r;
    index_leading_axes(b, b.op().inputs.size() - 1, r);
    r.y = b.output_pointer("y", 0);
    r.x = b.input_pointer("x", 0);
    r.y_type = b.output(0).type;
    r.x_type = b.input(0).type;
    launch_rows_by_index(b, r);
}

void lower_scatter(GpuProgramBuilder& b) {
    b.require_dense_outputs();
    b.require_dense_input(0);
    const std::size_t updates = b.op().inputs.size() - 1;
    b.require_dense_input(updates);
    const bool accumulate = b.op().get(keys::scatter.accumulate) != 0;
    // Where no atomic addition to the type exists, sums are made in f32 and rounded at the end.
    const bool direct =
        !accumulate || kernels::adds_atomically(kernel_type(b.output(0).type), b.compute_capability());
    if (!direct && b.output(0).type != trace::ElementType::bf16) {
        throw Unsupported{"no scatter kernel that adds to " + trace::name_of(b.output(0).type)};
    }
    if (!direct) {
        const std::vector<std::int64_t>& shape = b.output(0).shape;
        const auto elements = static_cast<std::uint64_t>(b.output(0).elements());
        const ElementwiseOperand sums{trace::ElementType::f32,
                                      kernels::pointer_argument("y", b.workspace("sums", elements * 4)),
                                      dense_strides(shape)};
        launch_elementwise(b, expression::parse("y0 = x0"), {}, shape, {input_operand(b, 0, shape)}, {sums});
        RowsByIndex r;
        index_leading_axes(b, updates - 1, r);
        r.move = kernels::RowMove::scatter_add;
        r.y = sums.pointer;
        r.y_type = trace::ElementType::f32;
        r.x = b.input_pointer("x", updates);
        r.x_type = b.input(updates).type;
        launch_rows_by_index(b, r);
        launch_elementwise(b, expression::parse("y0 = x0"), {}, shape, {sums}, {output_operand(b, 0)});
        return;
    }
    if (b.buffer_of(b.op().inputs[0]) != b.buffer_of(b.op().outputs[0])) {
        const ElementwiseOperand x = input_operand(b, 0, b.output(0).shape);
        launch_elementwise(b, expression::parse("y0 = x0"), {}, b.output(0).shape, {x},
                           {output_operand(b, 0)});
    }
    RowsByIndex r;
    index_leading_axes(b, updates - 1, r);
    r.move = accumulate ? kernels::RowMove::scatter_add : kernels::RowMove::scatter;
    r.y = b.output_pointer("y", 0);
    r.x = b.input_pointer("x", updates);
    r.y_type = b.output(0).type;
    r.x_type = b.input(updates).type;
    launch_rows_by_index(b, r);
}

namespace {

constexpr std::size_t kMostConcatOperands = 32, kMostConcatAxes = 8;

/// All operands of the result's type: one launch, or several for long lists.
void launch_concat(GpuProgramBuilder& b, std::size_t axis) {
    const trace::Tensor& y = b.output(0);
    const std::vector<std::int64_t> strides = dense_strides(y.shape);
    kernels::ConcatSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.element_bytes = trace::bytes_of(y.type);
    spec.dimensions = static_cast<unsigned>(y.shape.size());
    spec.axis = spec.dimensions - 1 - static_cast<unsigned>(axis);
    std::int64_t begin = 0;
    for (std::size_t first = 0; first < b.op().inputs.size(); first += kMostConcatOperands) {
        const std::size_t last = std::min(first + kMostConcatOperands, b.op().inputs.size());
        spec.operands = static_cast<unsigned>(last - first);
        std::vector<KernelArgument> arguments{b.output_pointer("y", 0)};
        std::int64_t most = 0;
        const auto integer = [&](const char* stem, std::size_t i, std::int64_t value) {
            arguments.push_back(
                kernels::integer_argument(stem + std::to_string(i), static_cast<std::uint64_t>(value)));
        };
        for (std::size_t i = first; i < last; ++i) {
            const trace::Tensor& x = b.input(i);
            arguments.push_back(b.input_pointer("x" + std::to_string(i - first), i));
            integer("elements", i - first, x.elements());
            // Empty operands have no elements to find a place for; the extent must not be zero all the same.
            integer("extent", i - first, std::max<std::int64_t>(1, x.shape[axis]));
            integer("begin", i - first, begin);
            begin += x.shape[axis] * strides[axis];
            most = std::max(most, x.elements());
        }
        for (unsigned d = 0; d < spec.dimensions; ++d) {
            const std::size_t of = spec.dimensions - 1 - d;
            if (of > 0) integer("size", d, y.shape[of]);
            integer("stride", d, strides[of]);
        }
        b.launch(kernels::generate_concat(spec),
                 kernels::concat_grid(spec, static_cast<std::uint64_t>(most), b.target().sm_count),
                 arguments);
    }
}

}  // namespace

void lower_concat(GpuProgramBuilder& b) {
    b.require_dense_outputs();
    const trace::Tensor& y = b.output(0);
    const auto axis = static_cast<std::size_t>(b.op().get(keys::concat.axis));
    if (y.elements() == 0) return;
    bool alike = y.elements() < (std::int64_t{1} << 31) && y.shape.size() <= kMostConcatAxes;
    for (std::size_t i = 0; i < b.op().inputs.size(); ++i) {
        b.require_dense_input(i);
        alike = alike && b.input(i).type == y.type;
    }
    if (alike) return launch_concat(b, axis);
    // With a cast: one copy for each operand.
    const std::int64_t inner = std::accumulate(y.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                                               y.shape.end(), std::int64_t{1}, std::multiplies<>());
    const auto y_stride = static_cast<std::uint32_t>(y.shape.at(axis) * inner);
    const auto rows = static_cast<std::uint32_t>(y.elements() / y_stride);
    std::uint64_t offset = 0;
    for (std::size_t i = 0; i < b.op().inputs.size(); ++i) {
        b.require_dense_input(i);
        const trace::Tensor& x = b.input(i);
        const auto columns = static_cast<std::uint32_t>(x.shape.at(axis) * inner);
        if (columns == 0) continue;
        kernels::CopyRowsSpec spec;
        spec.compute_capability = b.compute_capability();
        spec.x = kernel_type(x.type);
        spec.y = kernel_type(y.type);
        const unsigned bytes = std::max(kernels::bytes_of(spec.x), kernels::bytes_of(spec.y));
        KernelArgument to = b.output_pointer("y", 0);
        const KernelArgument from = b.input_pointer("x", i);
        to.byte_offset += offset * kernels::bytes_of(spec.y);
        spec.vector_width =
            width_for(bytes, {columns, y_stride, to.byte_offset / bytes, from.byte_offset / bytes});
        std::vector<KernelArgument> arguments{to, from, kernels::integer_argument("rows", rows),
                                              kernels::integer_argument("x_stride", columns),
                                              kernels::integer_argument("y_stride", y_stride)};
        kernels::add_divider_arguments(arguments, "row_vectors", columns / spec.vector_width);
        b.launch(kernels::generate_copy_rows(spec), kernels::copy_rows_grid(spec, rows, columns), arguments);
        offset += columns;
    }
}

}  // namespace heddle::lowering
