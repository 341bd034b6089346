// Samples: convolution, pooling, the LSTM cell.
#include "workloads/kernels/convolution.h"
#include "workloads/kernels/library_builder.h"
#include "workloads/kernels/lstm_cell.h"
#include "workloads/kernels/pad_channels.h"
#include "workloads/kernels/pooling.h"

namespace heddle::kernels {
namespace {

void add_convolution(std::vector<LibraryKernel>& samples, unsigned compute_capability, ElementType type,
                     ConvolutionPass pass, bool channels_last, bool tf32 = false) {
    ConvolutionGeometry g;
    g.batch = 2;
    g.channels = 16;
    g.filters = 24;
    g.input = {9, 7};
    g.window = {3, 3};
    g.strides = {2, 1};
    g.dilation = {1, 1};
    g.padding_low = {1, 1};
    g.output = {5, 7};
    const ConvolutionChoice choice =
        choose_convolution(compute_capability, 4, type, pass, channels_last, g, tf32);
    const ConvolutionLaunch launch = convolution_launch(choice.spec, g, choice.k_per_slice);
    const char* names[] = {"forward", "data gradient", "weight gradient"};
    SampleBuilder sample(std::string("convolution ") + names[static_cast<unsigned>(pass)] + " " +
                             (tf32 ? "tf32" : name_of(type)) + (channels_last ? " nhwc" : " nchw"),
                         generate_convolution(choice.spec), launch.grid);
    const std::uint64_t x = std::uint64_t{g.batch} * g.channels * g.inputs();
    const std::uint64_t y = std::uint64_t{g.batch} * g.filters * g.outputs();
    const std::uint64_t w = std::uint64_t{g.filters} * g.channels * g.positions();
    const bool forward = pass == ConvolutionPass::forward, weights = pass == ConvolutionPass::weight_grad;
    sample.input("a", type, forward ? x : y).input("b", type, weights ? x : w);
    sample.output("d", choice.spec.split_k ? ElementType::f32 : choice.spec.output,
                  (forward   ? y
                   : weights ? w
                             : x) *
                      choice.slices);
    sample.arguments().insert(sample.arguments().end(), launch.scalars.begin(), launch.scalars.end());
    samples.push_back(sample.finish());
}

void add_pooling(std::vector<LibraryKernel>& samples, const PoolingSpec& spec) {
    PoolingGeometry g;
    g.batch = 2;
    g.channels = 5;
    g.input = {11, 10};
    g.window = {3, 3};
    g.strides = {2, 2};
    g.dilation = {1, 1};
    g.padding_low = g.padding_high = {1, 1};
    g.output = {6, 5};
    std::uint64_t y = 2 * 5 * 30;
    const bool of_maximum = spec.gradient && spec.maximum;
    if (of_maximum) {  // windows so wide that positions at random mostly lie within them
        g.window = {11, 10};
        g.strides = {1, 1};
        g.padding_low = g.padding_high = {5, 5};
        g.output = {11, 11};
        y = 2 * 5 * 121;
    }
    const PoolingLaunch launch = pooling_launch(spec, g);
    SampleBuilder sample(
        std::string("pooling ") + (spec.maximum ? "max" : "mean") + (spec.gradient ? " gradient" : ""),
        generate_pooling(spec), launch.grid);
    const std::uint64_t x = 2 * 5 * 110;
    sample.input("from", spec.type, spec.gradient ? y : x);
    if (of_maximum)
        sample.index("positions", spec.positions, y, 110);
    else if (spec.with_positions)
        sample.output("positions", spec.positions, y);
    sample.output("to", spec.type, spec.gradient ? x : y);
    sample.arguments().insert(sample.arguments().end(), launch.scalars.begin(), launch.scalars.end());
    samples.push_back(sample.finish());
}

void add_lstm_cell(std::vector<LibraryKernel>& samples, unsigned compute_capability, bool gradient) {
    constexpr std::uint64_t kRows = 13, kColumns = 37, kCells = kRows * kColumns;
    LstmCellSpec spec;
    spec.compute_capability = compute_capability;
    spec.gradient = gradient;
    spec.keeps_gates = !gradient;
    spec.biases = gradient ? 0 : 2;
    SampleBuilder sample(gradient ? "lstm cell gradient" : "lstm cell", generate_lstm_cell(spec),
                         lstm_cell_grid(kCells));
    const auto in = [&](const char* name, std::uint64_t elements) {
        sample.input(name, spec.type, elements);
    };
    if (gradient) {
        for (const char* name : {"dh", "dc", "c", "new_c"}) in(name, kCells);
        in("gates", 4 * kCells);
        sample.output("d_gates", spec.type, 4 * kCells).output("d_old", spec.type, kCells);
    } else {
        for (const char* name : {"from_x", "from_h"}) in(name, 4 * kCells);
        in("c", kCells);
        for (const char* name : {"bias0", "bias1"}) in(name, 4 * kColumns);
        sample.output("new_h", spec.type, kCells).output("new_c", spec.type, kCells);
        sample.output("gates", spec.type, 4 * kCells);
    }
    sample.integer("elements", kCells).divider("columns", kColumns);
    samples.push_back(sample.finish());
}

}  // namespace

void add_convolution_samples(std::vector<LibraryKernel>& samples, unsigned compute_capability) {
    const target::Generation& generation = target::nearest_generation(compute_capability);
    for (const ConvolutionPass pass :
         {ConvolutionPass::forward, ConvolutionPass::data_grad, ConvolutionPass::weight_grad}) {
        add_convolution(samples, compute_capability, ElementType::f32, pass, false);
        if (!generation.has_mma_m16n8k16) continue;
        add_convolution(samples, compute_capability, ElementType::bf16, pass, true);
        for (const bool channels_last : {false, true})
            add_convolution(samples, compute_capability, ElementType::f32, pass, channels_last, true);
    }
    for (const auto& [from, to] : {std::pair{3u, 4u}, {4u, 3u}}) {
        const ElementType type = generation.has_bf16 ? ElementType::bf16 : ElementType::f16;
        SampleBuilder sample("pad channels " + std::to_string(from) + " to " + std::to_string(to),
                             generate_pad_channels({compute_capability, type, from, to}),
                             pad_channels_grid(333));
        sample.output("y", type, std::uint64_t{333} * to).input("x", type, std::uint64_t{333} * from);
        samples.push_back(sample.integer("rows", 333).finish());
    }
    PoolingSpec pooling;
    pooling.compute_capability = compute_capability;
    pooling.with_positions = true;
    add_pooling(samples, pooling);
    pooling.gradient = true;
    add_pooling(samples, pooling);
    pooling.maximum = pooling.with_positions = false;
    add_pooling(samples, pooling);
    pooling.gradient = false;
    add_pooling(samples, pooling);
    add_lstm_cell(samples, compute_capability, false);
    add_lstm_cell(samples, compute_capability, true);
}

}  // namespace heddle::kernels
