// Convolution and its gradients: implicit GEMM, and split_k_reduce where a weight gradient is cut into
// slices.
#include "workloads/kernels/convolution.h"

#include "workloads/kernels/pad_channels.h"
#include "workloads/kernels/split_k.h"
#include "workloads/lowering/gpu/builder.h"
#include "workloads/trace/sliding_window.h"

namespace heddle::lowering {
namespace {

using kernels::ConvolutionPass;
using kernels::ElementType;
using kernels::KernelArgument;

std::vector<std::uint32_t> narrow_sizes(const std::vector<std::int64_t>& values) {
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
        narrow_sizes({sizes.batch, sizes.channels, sizes.filters, sizes.groups});
    g.batch = counts[0];
    g.channels = counts[1];
    g.filters = counts[2];
    g.groups = counts[3];
    g.input = narrow_sizes(sizes.space.input);
    g.window = narrow_sizes(sizes.space.window);
    g.output = narrow_sizes(sizes.space.output);
    g.strides = narrow_sizes(sizes.space.strides);
    g.dilation = narrow_sizes(sizes.space.dilation);
    for (const std::int64_t low : sizes.space.padding_low)
        g.padding_low.push_back(static_cast<std::int32_t>(low));
    return g;
}

/// Sums of slices, [group][slice][m][n], become the gradient.
void reduce_slices(GpuProgramBuilder& b, const kernels::ConvolutionChoice& choice,
                   const kernels::ConvolutionGemm& gemm, std::uint32_t groups, program::BufferId workspace,
                   const KernelArgument& d) {
    kernels::SplitKReduceSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.batched = true;
    spec.epilogue.output = choice.spec.output;
    while (spec.epilogue.vector_width < 4 && gemm.n % (2 * spec.epilogue.vector_width) == 0)
        spec.epilogue.vector_width *= 2;
    const std::uint64_t plane = std::uint64_t{gemm.m} * gemm.n;
    std::vector<KernelArgument> arguments{kernels::pointer_argument("workspace", workspace),
                                          d,
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

/// Odd channels allow no accesses of 4 bytes and more (tf32: of 16), as cp.async and the tensor cores want
/// them: cuDNN then pads the channels with zeroes in a launch of its own (nhwcAddPaddingKernel) or with the
/// change of layout, those of pictures to 4 (NVIDIA, "Convolutional Layers User's Guide"; the first layer's
/// gradient in a recorded step reads AlignedArray<tfloat32_t, 4>). 0: not so.
std::uint32_t padded_channels(const kernels::ConvolutionGeometry& g, ElementType type, bool tf32,
                              bool channels_last, ConvolutionPass pass) {
    if ((bytes_of(type) != 2 && !tf32) || !channels_last || g.groups != 1 || g.channels % 2 == 0 ||
        g.filters % 2 != 0 || pass == ConvolutionPass::data_grad)
        return 0;
    return g.channels < 4 ? 4 : g.channels < 8 && !tf32 ? 8 : 0;
}

KernelArgument renamed(KernelArgument argument, const char* parameter) {
    argument.parameter = parameter;
    return argument;
}

/// The innermost axis of `x` from `from` to `to` elements.
void pad_channels(GpuProgramBuilder& b, const KernelArgument& x, const KernelArgument& y, ElementType type,
                  std::uint32_t rows, std::uint32_t from, std::uint32_t to) {
    b.launch(kernels::generate_pad_channels({b.compute_capability(), type, from, to}),
             kernels::pad_channels_grid(rows),
             {renamed(x, "x"), renamed(y, "y"), kernels::integer_argument("rows", rows)});
}

void lower(GpuProgramBuilder& b, ConvolutionPass pass) {
    b.require_dense();
    const ElementType type = kernel_type(b.input(0).type);
    const bool half = type == ElementType::f16 || type == ElementType::bf16;
    if ((!half && type != ElementType::f32) || kernel_type(b.input(1).type) != type)
        throw Unsupported{"no convolution kernel for " + kernels::name_of(type)};
    if (half && !b.generation().has_mma_m16n8k16)
        throw Unsupported{"no convolution kernel for " + kernels::name_of(type) + " before Ampere"};
    const trace::ConvolutionSizes sizes = trace::convolution_sizes(b.trace(), b.op());
    kernels::ConvolutionGeometry geometry = geometry_of(sizes);
    const bool tf32 = type == ElementType::f32 && b.op().get(keys::any.compute_type) == "tf32" &&
                      b.generation().has_tf32;
    const std::uint32_t channels = geometry.channels,
                        padded = padded_channels(geometry, type, tf32, sizes.channels_last, pass);
    if (padded != 0) geometry.channels = padded;
    const kernels::ConvolutionGemm gemm = kernels::gemm_of(pass, geometry);
    if (gemm.m == 0 || gemm.n == 0 || gemm.k == 0) throw Unsupported{"a convolution of nothing"};
    kernels::ConvolutionChoice choice = kernels::choose_convolution(
        b.compute_capability(), b.target().sm_count, type, pass, sizes.channels_last, geometry, tf32);
    kernels::take_library_tile(choice, geometry, b.op().get(keys::any.tile), b.op().get(keys::any.stages),
                               b.op().get(keys::any.slices), b.target().shared_bytes_per_cta);
    choice.spec.output = kernel_type(b.output(0).type);
    if (choice.spec.output != type && choice.spec.output != ElementType::f32)
        throw Unsupported{"no convolution kernel with results of another type"};
    const kernels::ConvolutionLaunch launch =
        kernels::convolution_launch(choice.spec, geometry, choice.k_per_slice);
    std::vector<KernelArgument> arguments = launch.scalars;
    KernelArgument first = b.input_pointer("a", 0), second = b.input_pointer("b", 1),
                   result = b.output_pointer("d", 0);
    const auto room = [&](const char* purpose, std::uint32_t rows, ElementType of) {
        const std::uint64_t bytes = std::uint64_t{rows} * padded * bytes_of(of);
        return kernels::pointer_argument("", b.workspace(purpose, bytes));
    };
    const std::uint32_t pixels = geometry.batch * geometry.inputs(),
                        taps = geometry.filters * geometry.positions();
    const auto pad = [&](KernelArgument& operand, const char* purpose, std::uint32_t rows) {
        const KernelArgument wide = renamed(room(purpose, rows, type), operand.parameter.c_str());
        pad_channels(b, operand, wide, type, rows, channels, padded);
        operand = wide;
    };
    const bool forward = pass == ConvolutionPass::forward;
    if (padded != 0) {
        pad(forward ? first : second, "padded picture", pixels);
        if (forward) pad(second, "padded weights", taps);
        if (!forward) result = renamed(room("padded gradient", taps, choice.spec.output), "d");
    }
    const auto cut_back = [&] {
        if (padded != 0 && !forward)
            pad_channels(b, result, b.output_pointer("", 0), choice.spec.output, taps, padded, channels);
    };
    arguments.push_back(first);
    arguments.push_back(second);
    if (forward && b.has_input(2)) {
        if (kernel_type(b.input(2).type) != type)
            throw Unsupported{"no convolution with a bias of another type"};
        choice.spec.bias = true;
        arguments.push_back(b.input_pointer("bias", 2));
    }
    if (!choice.spec.split_k) {
        arguments.push_back(result);
        if (arguments.back().byte_offset % 16 != 0) choice.spec.vector_d = 1;
        b.launch(kernels::generate_convolution(choice.spec), launch.grid, arguments);
        cut_back();
        return;
    }
    const std::uint64_t bytes = std::uint64_t{4} * gemm.m * gemm.n * choice.slices * geometry.groups;
    const program::BufferId workspace = b.workspace("convolution slices", bytes);
    arguments.push_back(kernels::pointer_argument("d", workspace));
    b.launch(kernels::generate_convolution(choice.spec), launch.grid, arguments);
    reduce_slices(b, choice, gemm, geometry.groups, workspace, result);
    cut_back();
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
