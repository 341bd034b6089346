// Softmax, its gradient, and softmax with cross-entropy.
#include "workloads/kernels/softmax.h"

#include <algorithm>

#include "workloads/lowering/gpu/builder.h"

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

void require_dense(const GpuProgramBuilder& b) {
    b.require_dense_outputs();
    for (std::size_t i = 0; i < b.op().inputs.size(); ++i) b.require_dense_input(i);
}

unsigned width_for(std::uint32_t columns) {
    unsigned width = 8;
    while (width > 1 && columns % width != 0) width /= 2;
    return width;
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

}  // namespace

void lower_softmax(GpuProgramBuilder& b) {
    require_dense(b);
    const Rows r = rows_of(b.input(0));
    kernels::SoftmaxSpec spec = softmax_spec(b, r);
    spec.output = kernel_type(b.output(0).type);
    b.launch(kernels::generate_softmax(spec), kernels::softmax_grid(spec, r.rows),
             {b.output_pointer("y", 0), b.input_pointer("x", 0), rows_argument(r),
              kernels::integer_argument("row_stride", r.columns)});
}

void lower_softmax_grad(GpuProgramBuilder& b) {
    require_dense(b);
    const Rows r = rows_of(b.input(0));
    if (r.columns > 16384)
        throw Unsupported{"no softmax gradient kernel for rows of more than 16,384 columns"};
    kernels::SoftmaxGradSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.y = kernel_type(b.input(0).type);
    spec.dy = kernel_type(b.input(1).type);
    spec.dx = kernel_type(b.output(0).type);
    spec.columns = r.columns;
    spec.vector_width = width_for(r.columns);
    b.launch(kernels::generate_softmax_grad(spec), kernels::softmax_grad_grid(spec, r.rows),
             {b.output_pointer("dx", 0), b.input_pointer("y", 0), b.input_pointer("dy", 1), rows_argument(r),
              kernels::integer_argument("row_stride", r.columns)});
}

void lower_cross_entropy(GpuProgramBuilder& b) {
    require_dense(b);
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

void lower_cross_entropy_grad(GpuProgramBuilder& b) {
    require_dense(b);
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
    b.launch(kernels::generate_cross_entropy_grad(spec),
             kernels::cross_entropy_grad_grid(spec, r.rows, r.columns),
             {b.output_pointer("dx", 0), b.input_pointer("p", 0), b.input_pointer("labels", 1),
              rows_argument(r), kernels::integer_argument("columns", r.columns),
              kernels::f32_argument("scale", static_cast<float>(b.op().real("scale", 1)))});
}

}  // namespace heddle::lowering
