// Group norm and batch norm (training mode). Batch norm of images is one launch; of the others statistics go
// by one thread block per set, or by rows, and everything else is elementwise.
#include "workloads/kernels/channel_norm.h"

#include "workloads/kernels/batch_norm.h"
#include "workloads/kernels/channel_rows.h"
#include "workloads/kernels/reduction.h"
#include "workloads/lowering/gpu/builder.h"
#include "workloads/lowering/gpu/elementwise_launch.h"

namespace heddle::lowering {
namespace {

using trace::OpKind;

struct Channels {
    std::int64_t batch = 1, channels = 1, space = 1, groups = 1;
    bool across_batch = false;  ///< batch norm

    std::int64_t sets() const { return across_batch ? channels : batch * groups; }
    /// Batch norm with the channels side by side.
    bool in_rows() const { return across_batch && space == 1; }
    std::int64_t set_size() const { return batch * channels * space / sets(); }
    /// The tensor as [batch, groups, channels of a group, space].
    std::vector<std::int64_t> shape() const { return {batch, groups, channels / groups, space}; }
    std::vector<std::int64_t> dense() const {
        return {channels * space, channels / groups * space, space, 1};
    }
    /// Of a statistic of each set, and of a parameter of each channel.
    std::vector<std::int64_t> of_set() const {
        return across_batch ? std::vector<std::int64_t>{0, 0, 1, 0}
                            : std::vector<std::int64_t>{groups, 1, 0, 0};
    }
    std::vector<std::int64_t> of_channel() const { return {0, channels / groups, 1, 0}; }
};

Channels channels_of(const GpuProgramBuilder& b, std::size_t input) {
    b.require_dense();
    const trace::Tensor& x = b.input(input);
    if (x.elements() == 0 || x.elements() >= (std::int64_t{1} << 31))
        throw Unsupported{"no norm kernel for an empty tensor, or for 2^31 elements or more"};
    Channels c;
    c.batch = x.shape[0];
    c.channels = x.shape[1];
    c.space = x.elements() / (c.batch * c.channels);
    c.across_batch = b.op().kind == OpKind::batch_norm || b.op().kind == OpKind::batch_norm_grad;
    c.groups = c.across_batch ? 1 : b.op().get(keys::group_norm.groups);
    return c;
}

/// The sets over which statistics are taken; of group norm, `each_channel`: a set for every sample and
/// channel.
kernels::ChannelSets sets_of(const Channels& c, bool each_channel) {
    const auto u32 = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
    kernels::ChannelSets sets;
    if (c.across_batch) {
        sets.elements = u32(c.batch * c.space);
        sets.run_length = sets.inner_stride = u32(c.space);
        sets.inner = u32(c.channels);
        sets.run_stride = u32(c.channels * c.space);
    } else {
        sets.elements = sets.run_length = sets.outer_stride = u32(each_channel ? c.space : c.set_size());
    }
    return sets;
}

/// Threads of a block: as many as there are elements, 32 ... 512.
unsigned threads_for(std::uint32_t elements) {
    unsigned threads = 32;
    while (threads < 512 && threads < elements) threads *= 2;
    return threads;
}

ElementwiseOperand f32_operand(const kernels::KernelArgument& pointer, std::vector<std::int64_t> strides) {
    return {trace::ElementType::f32, pointer, std::move(strides)};
}

ElementwiseOperand tensor_operand(GpuProgramBuilder& b, std::size_t input,
                                  std::vector<std::int64_t> strides) {
    return {b.input(input).type, b.input_pointer("", input), std::move(strides)};
}

kernels::KernelArgument renamed(kernels::KernelArgument argument, const std::string& parameter) {
    argument.parameter = parameter;
    return argument;
}

kernels::KernelArgument statistic(GpuProgramBuilder& b, const std::string& name, std::size_t output,
                                  std::int64_t sets) {
    if (!b.has_output(output))
        return kernels::pointer_argument(
            name, b.workspace("channel " + name, static_cast<std::uint64_t>(sets) * 4));
    if (b.output(output).type != trace::ElementType::f32)
        throw Unsupported{"no norm kernel with statistics other than f32"};
    return b.output_pointer(name, output);
}

/// Sums over rows of channels side by side: CTAs have some of the rows.
struct RowsLaunch {
    kernels::ChannelRowsSpec spec;
    std::uint32_t columns = 0, splits = 1;
    std::vector<kernels::KernelArgument> arguments;

    kernels::Extent3 grid() const { return kernels::channel_rows_grid(spec, columns, splits); }
    /// For a number of each channel and CTA.
    kernels::KernelArgument room(GpuProgramBuilder& b, const char* purpose) const {
        return kernels::pointer_argument("", b.workspace(purpose, std::uint64_t{4} * columns * splits));
    }
};

/// `x`: which input has the rows; of a gradient dy comes before it.
RowsLaunch rows_launch(GpuProgramBuilder& b, const Channels& c, bool gradient, std::size_t x) {
    RowsLaunch launch;
    launch.columns = static_cast<std::uint32_t>(c.channels);
    const auto rows = static_cast<std::uint32_t>(c.batch);
    launch.spec = kernels::choose_channel_rows(b.compute_capability(), kernel_type(b.input(x).type),
                                               kernel_type(b.input(0).type), gradient, launch.columns);
    const std::uint32_t rows_per_cta =
        kernels::channel_rows_per_cta(launch.spec, rows, launch.columns, b.target().sm_count);
    launch.splits = kernels::divide_up(rows, rows_per_cta);
    launch.arguments = {kernels::integer_argument("rows", rows),
                        kernels::integer_argument("columns", launch.columns),
                        kernels::integer_argument("rows_per_cta", rows_per_cta)};
    return launch;
}

void row_grad_sums(GpuProgramBuilder& b, const Channels& c, const kernels::KernelArgument& sum,
                   const kernels::KernelArgument& dot) {
    const RowsLaunch of = rows_launch(b, c, true, 1);
    const kernels::KernelArgument sums = of.room(b, "sums of rows"), dots = of.room(b, "dots of rows");
    std::vector<kernels::KernelArgument> part = of.arguments;
    part.insert(part.end(),
                {renamed(sums, "sum"), renamed(dots, "dot"), b.input_pointer("dy", 0),
                 b.input_pointer("x", 1), b.input_pointer("mean_of", 2), b.input_pointer("rstd_of", 3)});
    b.launch(kernels::generate_channel_rows(of.spec), of.grid(), part);
    kernels::ReduceColumnsSpec over;
    over.compute_capability = b.compute_capability();
    over.row_lanes = 32;
    over.pair = true;
    kernels::Extent3 grid = kernels::reduce_columns_grid(over, of.columns, 1);
    b.launch(kernels::generate_reduce_columns(over), grid,
             {renamed(sum, "y"), renamed(dot, "y1"), renamed(sums, "x"), renamed(dots, "x1"),
              kernels::integer_argument("rows", of.splits), kernels::integer_argument("columns", of.columns),
              kernels::integer_argument("row_stride", of.columns),
              kernels::integer_argument("rows_per_cta", of.splits), kernels::f32_argument("scale", 1.0f)});
}

void set_grad_sums(GpuProgramBuilder& b, const Channels& c, std::int64_t rows,
                   const kernels::KernelArgument& sum, const kernels::KernelArgument& dot) {
    kernels::ChannelGradSumsSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.dy = kernel_type(b.input(0).type);
    spec.x = kernel_type(b.input(1).type);
    const kernels::ChannelSets sets = sets_of(c, true);
    spec.threads = threads_for(sets.elements);
    std::vector<kernels::KernelArgument> arguments{
        renamed(sum, "sum"),
        renamed(dot, "dot"),
        b.input_pointer("dy", 0),
        b.input_pointer("x", 1),
        b.input_pointer("mean", 2),
        b.input_pointer("rstd", 3),
        kernels::integer_argument("statistics_share",
                                  static_cast<std::uint64_t>(c.across_batch ? 1 : c.channels / c.groups))};
    kernels::add_channel_arguments(arguments, sets);
    b.launch(kernels::generate_channel_grad_sums(spec), {static_cast<std::uint32_t>(rows * c.channels), 1, 1},
             arguments);
}

/// Statistics and result of batch norm over [N, C, space]. `arguments`: statistics and numbers.
void one_launch(GpuProgramBuilder& b, const Channels& c, bool running,
                std::vector<kernels::KernelArgument> arguments) {
    const auto u32 = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
    const kernels::BatchNormShape shape{u32(c.batch), u32(c.space), u32(c.channels * c.space)};
    const kernels::KernelArgument y = b.output_pointer("y", 0), x = b.input_pointer("x", 0);
    const kernels::ElementType y_type = kernel_type(b.output(0).type), x_type = kernel_type(b.input(0).type);
    const bool aligned = y.byte_offset % (4 * kernels::bytes_of(y_type)) == 0 &&
                         x.byte_offset % (4 * kernels::bytes_of(x_type)) == 0;
    kernels::BatchNormSpec spec = kernels::choose_batch_norm(b.compute_capability(), shape, aligned);
    spec.x = x_type;
    spec.y = y_type;
    spec.weight = kernel_type(b.input(1).type);
    spec.bias = kernel_type(b.input(2).type);
    spec.running = running;
    arguments.insert(arguments.end(), {y, x, b.input_pointer("weight", 1), b.input_pointer("bias", 2)});
    kernels::add_batch_norm_arguments(arguments, spec, shape);
    b.launch(kernels::generate_batch_norm(spec), {u32(c.channels), 1, 1}, arguments);
}

void lower_channel_norm(GpuProgramBuilder& b) {
    const Channels c = channels_of(b, 0);
    const bool running = b.has_input(4) && b.has_output(4);
    const kernels::KernelArgument mean = statistic(b, "mean", 1, c.sets()),
                                  rstd = statistic(b, "rstd", 2, c.sets());
    const auto size = static_cast<double>(c.set_size());
    std::vector<kernels::KernelArgument> arguments{
        mean, rstd,
        kernels::f32_argument("epsilon", static_cast<float>(b.op().get(keys::group_norm.epsilon))),
        kernels::f32_argument("momentum", static_cast<float>(b.op().get(keys::batch_norm.momentum))),
        kernels::f32_argument("unbias", static_cast<float>(size / (size > 1 ? size - 1 : 1)))};
    if (running) {
        for (std::size_t i = 3; i < 5; ++i) {
            if (b.input(i).type != trace::ElementType::f32 || b.output(i).type != trace::ElementType::f32)
                throw Unsupported{"no norm kernel with running statistics other than f32"};
        }
        arguments.push_back(b.input_pointer("running_mean", 3));
        arguments.push_back(b.input_pointer("running_variance", 4));
        arguments.push_back(b.output_pointer("new_mean", 3));
        arguments.push_back(b.output_pointer("new_variance", 4));
    }
    if (c.across_batch && !c.in_rows()) {
        one_launch(b, c, running, std::move(arguments));
        return;
    }
    if (c.in_rows()) {
        const RowsLaunch of = rows_launch(b, c, false, 0);
        const kernels::KernelArgument means = of.room(b, "means of rows"),
                                      squares = of.room(b, "squares of rows");
        std::vector<kernels::KernelArgument> part = of.arguments;
        part.insert(part.end(),
                    {renamed(means, "mean"), renamed(squares, "squares"), b.input_pointer("x", 0)});
        b.launch(kernels::generate_channel_rows(of.spec), of.grid(), part);
        arguments.insert(arguments.end(), of.arguments.begin(), of.arguments.end());
        arguments.insert(arguments.end(), {renamed(means, "means"), renamed(squares, "squares"),
                                           kernels::integer_argument("splits", of.splits)});
        b.launch(kernels::generate_channel_merge({b.compute_capability(), running}),
                 kernels::channel_merge_grid(of.columns), arguments);
    } else {
        const kernels::ChannelSets sets = sets_of(c, false);
        kernels::ChannelStatisticsSpec spec;
        spec.compute_capability = b.compute_capability();
        spec.x = kernel_type(b.input(0).type);
        spec.threads = threads_for(sets.elements);
        arguments.push_back(b.input_pointer("x", 0));
        kernels::add_channel_arguments(arguments, sets);
        b.launch(kernels::generate_channel_statistics(spec), {static_cast<std::uint32_t>(c.sets()), 1, 1},
                 arguments);
    }
    launch_elementwise(
        b, expression::parse("y0 = (x0 - x1) * x2 * x3 + x4"), {}, c.shape(),
        {tensor_operand(b, 0, c.dense()), f32_operand(mean, c.of_set()), f32_operand(rstd, c.of_set()),
         tensor_operand(b, 1, c.of_channel()), tensor_operand(b, 2, c.of_channel())},
        {output_operand(b, 0)});
}

void lower_channel_norm_grad(GpuProgramBuilder& b) {
    const Channels c = channels_of(b, 1);
    for (std::size_t i = 2; i < 4; ++i) {
        if (b.input(i).type != trace::ElementType::f32)
            throw Unsupported{"no norm kernel with statistics other than f32"};
    }
    const std::int64_t rows = c.across_batch ? 1 : c.batch;  // of sums for each channel
    const auto room = [&](const char* purpose, std::int64_t elements) {
        return kernels::pointer_argument("", b.workspace(purpose, static_cast<std::uint64_t>(elements) * 4));
    };
    const kernels::KernelArgument sum = room("channel sums", rows * c.channels),
                                  dot = room("channel dots", rows * c.channels);
    c.in_rows() ? row_grad_sums(b, c, sum, dot) : set_grad_sums(b, c, rows, sum, dot);
    // d beta and d gamma: over the samples.
    for (std::size_t output = 1; output < b.op().outputs.size(); ++output) {
        kernels::ReduceColumnsSpec over;
        over.compute_capability = b.compute_capability();
        over.output = kernel_type(b.output(output).type);
        const auto columns = static_cast<std::uint32_t>(c.channels),
                   samples = static_cast<std::uint32_t>(rows);
        b.launch(kernels::generate_reduce_columns(over), kernels::reduce_columns_grid(over, columns, 1),
                 {b.output_pointer("y", output), renamed(output == 1 ? dot : sum, "x"),
                  kernels::integer_argument("rows", samples), kernels::integer_argument("columns", columns),
                  kernels::integer_argument("row_stride", columns),
                  kernels::integer_argument("rows_per_cta", samples), kernels::f32_argument("scale", 1.0f)});
    }
    const double inverse = 1.0 / static_cast<double>(c.set_size());
    if (c.across_batch) {
        launch_elementwise(b, expression::parse("y0 = x3 * x4 * (x0 - x5 * s0 - (x1 - x2) * x3 * x6 * s0)"),
                           {inverse}, c.shape(),
                           {tensor_operand(b, 0, c.dense()), tensor_operand(b, 1, c.dense()),
                            tensor_operand(b, 2, c.of_set()), tensor_operand(b, 3, c.of_set()),
                            tensor_operand(b, 4, c.of_channel()), f32_operand(sum, c.of_channel()),
                            f32_operand(dot, c.of_channel())},
                           {output_operand(b, 0)});
        return;
    }
    // Over the channels of a group, each with its gamma.
    const std::vector<std::int64_t> by_channel{c.batch, c.groups, c.channels / c.groups};
    const std::vector<std::int64_t> dense{c.channels, c.channels / c.groups, 1};
    const kernels::KernelArgument scaled[] = {room("scaled channel sums", rows * c.channels),
                                              room("scaled channel dots", rows * c.channels)};
    const kernels::KernelArgument totals[] = {room("group sums", c.sets()), room("group dots", c.sets())};
    launch_elementwise(b, expression::parse("y0 = x0 * x2; y1 = x1 * x2"), {}, by_channel,
                       {f32_operand(sum, dense), f32_operand(dot, dense),
                        tensor_operand(b, 4, {0, c.channels / c.groups, 1})},
                       {f32_operand(scaled[0], dense), f32_operand(scaled[1], dense)});
    for (unsigned i = 0; i < 2; ++i) {
        kernels::ReduceRowsSpec row;
        row.compute_capability = b.compute_capability();
        row.warp_per_row = true;
        const auto columns = static_cast<std::uint64_t>(c.channels / c.groups);
        const auto groups = static_cast<std::uint32_t>(c.sets());
        b.launch(
            kernels::generate_reduce_rows(row), kernels::reduce_rows_grid(row, groups),
            {renamed(totals[i], "y"), renamed(scaled[i], "x"), kernels::integer_argument("rows", groups),
             kernels::integer_argument("columns", columns), kernels::integer_argument("row_stride", columns),
             kernels::integer_argument("elements", groups * columns), kernels::f32_argument("scale", 1.0f)});
    }
    launch_elementwise(
        b, expression::parse("y0 = x3 * (x0 * x4 - x5 * s0 - (x1 - x2) * x3 * x6 * s0)"), {inverse},
        c.shape(),
        {tensor_operand(b, 0, c.dense()), tensor_operand(b, 1, c.dense()), tensor_operand(b, 2, c.of_set()),
         tensor_operand(b, 3, c.of_set()), tensor_operand(b, 4, c.of_channel()),
         f32_operand(totals[0], c.of_set()), f32_operand(totals[1], c.of_set())},
        {output_operand(b, 0)});
}

}  // namespace

void lower_group_norm(GpuProgramBuilder& b) {
    lower_channel_norm(b);
}

void lower_batch_norm(GpuProgramBuilder& b) {
    lower_channel_norm(b);
}

void lower_group_norm_grad(GpuProgramBuilder& b) {
    lower_channel_norm_grad(b);
}

void lower_batch_norm_grad(GpuProgramBuilder& b) {
    lower_channel_norm_grad(b);
}

}  // namespace heddle::lowering
