// Pooling and its gradient, and the LSTM cell: a thread for each element.
#include "workloads/kernels/pooling.h"

#include <algorithm>
#include <array>

#include "workloads/kernels/lstm_cell.h"
#include "workloads/lowering/gpu/builder.h"
#include "workloads/trace/sliding_window.h"

namespace heddle::lowering {
namespace {

using kernels::ElementType;
using kernels::KernelArgument;

ElementType float_type(const trace::Tensor& tensor, const std::string& what) {
    const ElementType type = kernel_type(tensor.type);
    if (type != ElementType::f32 && type != ElementType::f16 && type != ElementType::bf16)
        throw Unsupported{"no " + what + " kernel for " + kernels::name_of(type)};
    return type;
}

std::vector<std::uint32_t> narrow_geometry(const std::vector<std::int64_t>& values) {
    std::vector<std::uint32_t> result;
    result.reserve(values.size());
    for (const std::int64_t value : values) result.push_back(static_cast<std::uint32_t>(value));
    return result;
}

kernels::PoolingGeometry geometry_of(const trace::PoolingSizes& sizes) {
    kernels::PoolingGeometry g;
    g.batch = static_cast<std::uint32_t>(sizes.batch);
    g.channels = static_cast<std::uint32_t>(sizes.channels);
    g.input = narrow_geometry(sizes.space.input);
    g.window = narrow_geometry(sizes.space.window);
    g.output = narrow_geometry(sizes.space.output);
    g.strides = narrow_geometry(sizes.space.strides);
    g.dilation = narrow_geometry(sizes.space.dilation);
    g.padding_low = narrow_geometry(sizes.space.padding_low);
    g.padding_high = narrow_geometry(sizes.space.padding_high);
    return g;
}

kernels::PoolingSpec spec_of(const GpuProgramBuilder& b, const trace::PoolingSizes& sizes) {
    kernels::PoolingSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.type = float_type(b.input(0), "pooling");
    if (kernel_type(b.output(0).type) != spec.type)
        throw Unsupported{"no pooling kernel with results of another type"};
    spec.maximum = sizes.maximum;
    spec.channels_last = sizes.channels_last;
    spec.padding_counts = sizes.padding_counts;
    spec.axes = static_cast<unsigned>(sizes.space.axes());
    const auto& dilation = sizes.space.dilation;
    if (!sizes.maximum && std::any_of(dilation.begin(), dilation.end(), [](auto d) { return d != 1; }))
        throw Unsupported{"no kernel for the mean of a dilated window"};
    if (sizes.batch * sizes.channels == 0 || sizes.space.outputs() == 0 || sizes.space.inputs() == 0)
        throw Unsupported{"a pooling of nothing"};
    return spec;
}

void launch(GpuProgramBuilder& b, const kernels::PoolingSpec& spec, const kernels::PoolingGeometry& geometry,
            std::vector<KernelArgument> pointers) {
    const kernels::PoolingLaunch sizes = kernels::pooling_launch(spec, geometry);
    pointers.insert(pointers.end(), sizes.scalars.begin(), sizes.scalars.end());
    b.launch(kernels::generate_pooling(spec), sizes.grid, pointers);
}

KernelArgument named(KernelArgument argument, const char* name) {
    argument.parameter = name;
    return argument;
}

}  // namespace

void lower_pooling(GpuProgramBuilder& b) {
    b.require_dense();
    const trace::PoolingSizes sizes = trace::pooling_sizes(b.trace(), b.op());
    kernels::PoolingSpec spec = spec_of(b, sizes);
    std::vector<KernelArgument> pointers{b.input_pointer("from", 0), b.output_pointer("to", 0)};
    if (b.has_output(1)) {
        spec.with_positions = true;
        spec.positions = kernel_type(b.output(1).type);
        pointers.push_back(b.output_pointer("positions", 1));
    }
    launch(b, spec, geometry_of(sizes), pointers);
}

void lower_pooling_grad(GpuProgramBuilder& b) {
    b.require_dense();
    const trace::PoolingSizes sizes = trace::pooling_sizes(b.trace(), b.op());
    const kernels::PoolingGeometry geometry = geometry_of(sizes);
    kernels::PoolingSpec spec = spec_of(b, sizes);
    spec.gradient = true;
    std::vector<KernelArgument> pointers{b.input_pointer("from", 0), b.output_pointer("to", 0)};
    if (sizes.maximum && b.has_input(2)) {
        spec.with_positions = true;
        spec.positions = kernel_type(b.input(2).type);
        pointers.push_back(b.input_pointer("positions", 2));
    } else if (sizes.maximum) {
        // Where the maxima are, from x once more.
        kernels::PoolingSpec again = spec;
        again.gradient = false;
        again.with_positions = spec.with_positions = true;
        again.positions = spec.positions = ElementType::i32;
        const std::uint64_t outputs =
            static_cast<std::uint64_t>(sizes.batch * sizes.channels * sizes.space.outputs());
        const program::BufferId positions = b.workspace("positions of maxima", 4 * outputs);
        const program::BufferId values = b.workspace("maxima", kernels::bytes_of(spec.type) * outputs);
        pointers.push_back(kernels::pointer_argument("positions", positions));
        launch(b, again, geometry,
               {b.input_pointer("from", 1), kernels::pointer_argument("to", values),
                kernels::pointer_argument("positions", positions)});
    }
    launch(b, spec, geometry, pointers);
}

void lower_lstm_cell(GpuProgramBuilder& b) {
    b.require_dense();
    kernels::LstmCellSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.type = float_type(b.input(0), "LSTM cell");
    spec.biases = static_cast<unsigned>(b.op().inputs.size() - 3);
    spec.keeps_gates = b.has_output(2);
    for (std::size_t i = 0; i < b.op().inputs.size(); ++i)
        if (kernel_type(b.input(i).type) != spec.type) throw Unsupported{"no LSTM cell with several types"};
    for (std::size_t i = 0; i < b.op().outputs.size(); ++i)
        if (kernel_type(b.output(i).type) != spec.type) throw Unsupported{"no LSTM cell with several types"};
    const auto elements = static_cast<std::uint32_t>(b.input(2).elements());
    if (elements == 0) throw Unsupported{"an LSTM cell of nothing"};
    const std::array inputs{"from_x", "from_h", "c", "bias0", "bias1"};
    const std::array outputs{"new_h", "new_c", "gates"};
    std::vector<KernelArgument> arguments{kernels::integer_argument("elements", elements)};
    kernels::add_divider_arguments(arguments, "columns", static_cast<std::uint32_t>(b.input(2).shape.back()));
    for (std::size_t i = 0; i < b.op().inputs.size(); ++i)
        arguments.push_back(named(b.input_pointer("", i), inputs.at(i)));
    for (std::size_t i = 0; i < b.op().outputs.size(); ++i)
        arguments.push_back(named(b.output_pointer("", i), outputs.at(i)));
    b.launch(kernels::generate_lstm_cell(spec), kernels::lstm_cell_grid(elements), arguments);
}

void lower_lstm_cell_grad(GpuProgramBuilder& b) {
    b.require_dense();
    kernels::LstmCellSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.type = float_type(b.input(0), "LSTM cell");
    spec.gradient = true;
    for (std::size_t i = 0; i < 5; ++i)
        if (kernel_type(b.input(i).type) != spec.type) throw Unsupported{"no LSTM cell with several types"};
    for (std::size_t i = 0; i < 2; ++i)
        if (kernel_type(b.output(i).type) != spec.type) throw Unsupported{"no LSTM cell with several types"};
    const auto elements = static_cast<std::uint32_t>(b.input(2).elements());
    if (elements == 0) throw Unsupported{"an LSTM cell of nothing"};
    std::vector<KernelArgument> arguments{kernels::integer_argument("elements", elements)};
    kernels::add_divider_arguments(arguments, "columns", static_cast<std::uint32_t>(b.input(2).shape.back()));
    const char* inputs[] = {"dh", "dc", "c", "new_c", "gates"};
    for (std::size_t i = 0; i < 5; ++i) arguments.push_back(named(b.input_pointer("", i), inputs[i]));
    arguments.push_back(b.output_pointer("d_gates", 0));
    arguments.push_back(b.output_pointer("d_old", 1));
    b.launch(kernels::generate_lstm_cell(spec), kernels::lstm_cell_grid(elements), arguments);
}

}  // namespace heddle::lowering
