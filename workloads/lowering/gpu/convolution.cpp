// Convolution and its gradients: implicit GEMM, and split_k_reduce where a weight gradient is cut into
// slices.
#include "workloads/kernels/convolution.h"

#include "workloads/kernels/split_k.h"
#include "workloads/lowering/gpu/builder.h"
#include "workloads/trace/sliding_window.h"

namespace heddle::lowering {
namespace {

using kernels::ConvolutionPass;
using kernels::ElementType;
using kernels::KernelArgument;

std::vector<std::uint32_t> narrow(const std::vector<std::int64_t>& values) {
    std::vector<std::uint32_t> result;
    for (const std::int64_t value : values) {
        if (value < 0 || value >= std::int64_t{1} << 31)
            throw Unsupported{"no convolution kernel for these sizes"};
        result.push_back(static_cast<std::uint32_t>(value));
    }
    return result;
}

kernels::ConvolutionGeometry geometry_of(const trace::ConvolutionSizes& sizes) {
    kernels::ConvolutionGeometry g;
    const std::vector<std::uint32_t> counts =
        narrow({sizes.batch, sizes.channels, sizes.filters, sizes.groups});
    g.batch = counts[0];
    g.channels = counts[1];
    g.filters = counts[2];
    g.groups = counts[3];
    g.input = narrow(sizes.space.input);
    g.window = narrow(sizes.space.window);
    g.output = narrow(sizes.space.output);
    g.strides = narrow(sizes.space.strides);
    g.dilation = narrow(sizes.space.dilation);
    for (const std::int64_t low : sizes.space.padding_low)
        g.padding_low.push_back(static_cast<std::int32_t>(low));
    return g;
}

/// Sums of slices, [group][slice][m][n], become the gradient.
void reduce_slices(GpuProgramBuilder& b, const kernels::ConvolutionChoice& choice,
                   const kernels::ConvolutionGemm& gemm, std::uint32_t groups, program::BufferId workspace) {
    kernels::SplitKReduceSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.batched = true;
    spec.epilogue.output = choice.spec.output;
    while (spec.epilogue.vector_width < 4 && gemm.n % (2 * spec.epilogue.vector_width) == 0)
        spec.epilogue.vector_width *= 2;
    const std::uint64_t plane = std::uint64_t{gemm.m} * gemm.n;
    std::vector<KernelArgument> arguments{kernels::pointer_argument("workspace", workspace),
                                          b.output_pointer("d", 0),
                                          kernels::integer_argument("m", gemm.m),
                                          kernels::integer_argument("n", gemm.n),
                                          kernels::integer_argument("ldd", gemm.n),
                                          kernels::integer_argument("splits", choice.slices),
                                          kernels::integer_argument("slice_stride", plane),
                                          kernels::integer_argument("stride_d", plane)};
    kernels::add_divider_arguments(arguments, "row_vectors", gemm.n / kernels::split_k_reduce_width(spec));
    b.launch(kernels::generate_split_k_reduce(spec),
             kernels::split_k_reduce_grid(spec, gemm.m, gemm.n, groups), arguments);
}

void lower(GpuProgramBuilder& b, ConvolutionPass pass) {
    b.require_dense_outputs();
    for (std::size_t i = 0; i < b.op().inputs.size(); ++i) b.require_dense_input(i);
    const ElementType type = kernel_type(b.input(0).type);
    const bool half = type == ElementType::f16 || type == ElementType::bf16;
    if ((!half && type != ElementType::f32) || kernel_type(b.input(1).type) != type)
        throw Unsupported{"no convolution kernel for " + kernels::name_of(type)};
    if (half && b.compute_capability() < 80)
        throw Unsupported{"no convolution kernel for " + kernels::name_of(type) + " before Ampere"};
    const trace::ConvolutionSizes sizes = trace::convolution_sizes(b.trace(), b.op());
    const kernels::ConvolutionGeometry geometry = geometry_of(sizes);
    const kernels::ConvolutionGemm gemm = kernels::gemm_of(pass, geometry);
    if (gemm.m == 0 || gemm.n == 0 || gemm.k == 0) throw Unsupported{"a convolution of nothing"};
    kernels::ConvolutionChoice choice =
        kernels::choose_convolution(b.compute_capability(), b.target().sm_count, type, pass,
                                    sizes.channels_last, geometry, b.op().text("compute_type") == "tf32");
    kernels::take_library_tile(choice, geometry, b.op().integers("tile"), b.op().integer("stages", 0),
                               b.op().integer("slices", 0), b.target().shared_bytes_per_cta);
    choice.spec.output = kernel_type(b.output(0).type);
    if (choice.spec.output != type && choice.spec.output != ElementType::f32)
        throw Unsupported{"no convolution kernel with results of another type"};
    const kernels::ConvolutionLaunch launch =
        kernels::convolution_launch(choice.spec, geometry, choice.k_per_slice);
    std::vector<KernelArgument> arguments = launch.scalars;
    arguments.push_back(b.input_pointer("a", 0));
    arguments.push_back(b.input_pointer("b", 1));
    if (pass == ConvolutionPass::forward && b.has_input(2)) {
        if (kernel_type(b.input(2).type) != type)
            throw Unsupported{"no convolution with a bias of another type"};
        choice.spec.bias = true;
        arguments.push_back(b.input_pointer("bias", 2));
    }
    if (!choice.spec.split_k) {
        arguments.push_back(b.output_pointer("d", 0));
        if (arguments.back().byte_offset % 16 != 0) choice.spec.vector_d = 1;
        b.launch(kernels::generate_convolution(choice.spec), launch.grid, arguments);
        return;
    }
    const std::uint64_t bytes = std::uint64_t{4} * gemm.m * gemm.n * choice.slices * geometry.groups;
    const program::BufferId workspace = b.workspace("convolution slices", bytes);
    arguments.push_back(kernels::pointer_argument("d", workspace));
    b.launch(kernels::generate_convolution(choice.spec), launch.grid, arguments);
    reduce_slices(b, choice, gemm, geometry.groups, workspace);
}

}  // namespace

void lower_convolution(GpuProgramBuilder& b) {
    lower(b, ConvolutionPass::forward);
}
void lower_convolution_data_grad(GpuProgramBuilder& b) {
    lower(b, ConvolutionPass::data_grad);
}
void lower_convolution_weight_grad(GpuProgramBuilder& b) {
    if (b.has_output(1)) throw Unsupported{"no kernel for the gradient of a convolution's bias"};
    lower(b, ConvolutionPass::weight_grad);
}

}  // namespace heddle::lowering
