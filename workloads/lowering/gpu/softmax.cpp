// Softmax, its gradient, and softmax with cross-entropy.
#include "workloads/kernels/softmax.h"

#include <algorithm>

#include "workloads/kernels/spatial_softmax.h"
#include "workloads/kernels/torch_softmax.h"
#include "workloads/lowering/gpu/builder.h"
#include "workloads/lowering/gpu/elementwise_launch.h"
#include "workloads/trace/shape.h"

namespace heddle::lowering {
namespace {

struct Rows {
    std::uint32_t rows = 0, columns = 0;
};

Rows rows_of(const trace::Tensor& tensor) {
    if (tensor.shape.empty() || tensor.elements() == 0)
        throw Unsupported{"no softmax kernel for an empty tensor"};
    const auto columns = static_cast<std::uint32_t>(tensor.shape.back());
    return {static_cast<std::uint32_t>(tensor.elements() / columns), columns};
}

unsigned width_for(std::uint32_t columns) {
    unsigned width = 8;
    while (width > 1 && columns % width != 0) width /= 2;
    return width;
}

kernels::ElementType float_type(trace::ElementType type) {
    const kernels::ElementType known = kernel_type(type);
    if (known != kernels::ElementType::f32 && known != kernels::ElementType::f16 &&
        known != kernels::ElementType::bf16)
        throw Unsupported{"no softmax kernel for " + trace::name_of(type)};
    return known;
}

kernels::KernelArgument rows_argument(const Rows& r) {
    return kernels::integer_argument("rows", r.rows);
}

kernels::SoftmaxSpec softmax_spec(const GpuProgramBuilder& b, const Rows& r) {
    kernels::SoftmaxSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.input = kernel_type(b.input(0).type);
    spec.columns = r.columns;
    spec.vector_width = width_for(r.columns);
    return spec;
}

/// Along an inner axis: false, and nothing launched, when it is the last one.
bool lower_along_inner_axis(GpuProgramBuilder& b, bool gradient) {
    const trace::Shape& shape = b.input(0).shape;
    const std::int64_t last = static_cast<std::int64_t>(shape.size()) - 1;
    const trace::AlongAxis along = trace::along_axis(shape, b.op().get(keys::softmax.axis, last));
    if (along.inner == 1 || b.input(0).elements() == 0) return false;
    const auto extent = static_cast<std::uint32_t>(along.extent),
               columns = static_cast<std::uint32_t>(along.inner);
    kernels::SpatialSoftmaxSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.input = float_type(b.input(0).type);
    spec.output = float_type(b.output(0).type);
    spec.logarithm = b.op().get(keys::softmax.logarithm) != 0;
    spec.gradient = gradient;
    if (gradient && float_type(b.input(1).type) != spec.input)
        throw Unsupported{"no softmax gradient kernel for y and its gradient of two types"};
    spec = kernels::spatial_softmax_shape(spec, extent, columns);
    std::vector<kernels::KernelArgument> arguments{kernels::integer_argument("axis", extent),
                                                   kernels::integer_argument("columns", columns)};
    if (gradient) {
        arguments.push_back(b.output_pointer("dx", 0));
        arguments.push_back(b.input_pointer("dy", 1));
        arguments.push_back(b.input_pointer("y", 0));
    } else {
        arguments.push_back(b.output_pointer("y", 0));
        arguments.push_back(b.input_pointer("x", 0));
    }
    b.launch(kernels::generate_spatial_softmax(spec),
             kernels::spatial_softmax_grid(spec, static_cast<std::uint32_t>(along.outer), columns),
             arguments);
    return true;
}

}  // namespace

void lower_softmax(GpuProgramBuilder& b) {
    b.require_dense();
    if (lower_along_inner_axis(b, false)) return;
    const Rows r = rows_of(b.input(0));
    kernels::TorchSoftmaxSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.input = float_type(b.input(0).type);
    spec.output = float_type(b.output(0).type);
    spec.columns = r.columns;
    spec.logarithm = b.op().get(keys::softmax.logarithm) != 0;
    // A recording or a comparison may know that an older release ran.
    if (b.op().get(keys::softmax.form) == "three_reads") spec.form = kernels::TorchSoftmaxForm::three_reads;
    b.launch(kernels::generate_torch_softmax(spec), kernels::torch_softmax_grid(spec, r.rows),
             {b.output_pointer("y", 0), b.input_pointer("x", 0), rows_argument(r)});
}

void lower_softmax_grad(GpuProgramBuilder& b) {
    b.require_dense();
    if (lower_along_inner_axis(b, true)) return;
    const Rows r = rows_of(b.input(0));
    kernels::TorchSoftmaxGradSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.y = float_type(b.input(0).type);
    spec.dx = float_type(b.output(0).type);
    spec.columns = r.columns;
    spec.logarithm = b.op().get(keys::softmax.logarithm) != 0;
    if (float_type(b.input(1).type) != spec.y)
        throw Unsupported{"no softmax gradient kernel for y and its gradient of two types"};
    kernels::KernelArgument g = b.input_pointer("g", 1);
    if (!spec.logarithm) {
        // PyTorch multiplies gradient and result in a kernel of its own.
        const std::vector<std::int64_t>& shape = b.input(0).shape;
        g = kernels::pointer_argument("g", b.workspace("softmax gradient times result", b.input(0).bytes()));
        ElementwiseOperand product{b.input(0).type, g, {}};
        launch_elementwise(b, expression::parse("y0 = x0 * x1"), {}, shape,
                           {input_operand(b, 1, shape), input_operand(b, 0, shape)}, {product});
    }
    b.launch(kernels::generate_torch_softmax_grad(spec), kernels::torch_softmax_grad_grid(spec, r.rows),
             {b.output_pointer("dx", 0), g, b.input_pointer("y", 0), rows_argument(r)});
}

void lower_softmax_cross_entropy(GpuProgramBuilder& b) {
    b.require_dense();
    const Rows r = rows_of(b.input(0));
    kernels::SoftmaxSpec spec = softmax_spec(b, r);
    spec.cross_entropy = true;
    spec.label = kernel_type(b.input(1).type);
    spec.loss = kernel_type(b.output(0).type);
    spec.output = kernel_type(b.has_output(1) ? b.output(1).type : b.input(0).type);
    // The label picks the address of its logit.
    b.steer_by_input(1, 0, r.columns);
    const kernels::KernelArgument probabilities =
        b.has_output(1) ? b.output_pointer("y", 1)
                        : kernels::pointer_argument("y", b.workspace("probabilities", b.input(0).bytes()));
    b.launch(
        kernels::generate_softmax(spec), kernels::softmax_grid(spec, r.rows),
        {probabilities, b.input_pointer("x", 0), b.input_pointer("labels", 1), b.output_pointer("loss", 0),
         rows_argument(r), kernels::integer_argument("row_stride", r.columns)});
}

void lower_softmax_cross_entropy_grad(GpuProgramBuilder& b) {
    b.require_dense();
    if (b.has_input(2)) throw Unsupported{"no cross-entropy gradient kernel with a gradient per row"};
    const Rows r = rows_of(b.input(0));
    kernels::CrossEntropyGradSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.probability = kernel_type(b.input(0).type);
    spec.output = kernel_type(b.output(0).type);
    spec.label = kernel_type(b.input(1).type);
    spec.vector_width = width_for(r.columns);
    const unsigned widest = std::max(kernels::bytes_of(spec.probability), kernels::bytes_of(spec.output));
    spec.vector_width = std::min(spec.vector_width, 16 / widest);
    b.steer_by_input(1, 0, r.columns);
    b.launch(
        kernels::generate_cross_entropy_grad(spec), kernels::cross_entropy_grad_grid(spec, r.rows, r.columns),
        {b.output_pointer("dx", 0), b.input_pointer("p", 0), b.input_pointer("labels", 1), rows_argument(r),
         kernels::integer_argument("columns", r.columns),
         kernels::f32_argument("scale", static_cast<float>(b.op().get(keys::softmax_cross_entropy.scale)))});
}

}  // namespace heddle::lowering
