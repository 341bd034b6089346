// Softmax and cross-entropy, forward and backward.
#include "workloads/lowering/tpu/rowwise.h"
#include "workloads/trace/shape.h"

namespace heddle::lowering::on_tpu {
namespace {

using tpu::Reduction;
using tpu::VectorOp;
using Node = KernelBuilder::Node;

/// largest[row] = max x, sum[row] = sum exp(x - largest), exponentials = exp(x - largest).
void softmax_sums(ProgramBuilder& program, CoreBuilder& core, std::uint64_t rows, std::uint64_t columns,
                  const Tile& x, const Tile& largest, const Tile& sum, const Tile& exponentials) {
    KernelBuilder maximum;
    maximum.reduce(maximum.input(x.type), Reduction::lanes_maximum);
    core.vector(made(program, maximum, {x}), rows, columns, {x}, {largest});
    KernelBuilder exponential;
    const Node value = exponential.input(x.type);
    const Node e = exponential.apply(VectorOp::exponential,
                                     exponential.apply(VectorOp::subtract, value, exponential.raw_input()));
    exponential.raw_output(e);
    exponential.reduce(e, Reduction::lanes_sum);
    const std::vector<Tile> inputs{x, broadcast(largest)};
    core.vector(made(program, exponential, inputs), rows, columns, inputs, {exponentials, sum});
}

/// y = exponentials / sum
void divide_by_sum(ProgramBuilder& program, CoreBuilder& core, std::uint64_t rows, std::uint64_t columns,
                   const Tile& exponentials, const Tile& sum, const Tile& y) {
    KernelBuilder builder;
    const Node e = builder.raw_input();
    builder.output(builder.apply(VectorOp::divide, e, builder.raw_input()), y.type);
    const std::vector<Tile> inputs{exponentials, broadcast(sum)};
    core.vector(made(program, builder, inputs), rows, columns, inputs, {y});
}

/// y = x - largest - log(sum)
void subtract_logarithm(ProgramBuilder& program, CoreBuilder& core, std::uint64_t rows, std::uint64_t columns,
                        const Tile& x, const Tile& largest, const Tile& sum, const Tile& y) {
    KernelBuilder logarithm;
    logarithm.raw_output(logarithm.apply(VectorOp::logarithm, logarithm.raw_input()));
    core.vector(made(program, logarithm, {sum}), rows, 1, {sum}, {sum});
    KernelBuilder builder;
    const Node value = builder.input(x.type);
    const Node off = builder.apply(VectorOp::subtract, value, builder.raw_input());
    builder.output(builder.apply(VectorOp::subtract, off, builder.raw_input()), y.type);
    const std::vector<Tile> inputs{x, broadcast(largest), broadcast(sum)};
    core.vector(made(program, builder, inputs), rows, columns, inputs, {y});
}

}  // namespace

namespace {

void require_last_axis(const ProgramBuilder& program) {
    const trace::Shape& shape = program.input(0).shape;
    const std::int64_t last = static_cast<std::int64_t>(shape.size()) - 1;
    if (trace::along_axis(shape, program.op().get(keys::softmax.axis, last)).inner != 1)
        throw Unsupported{"no softmax along an inner axis"};
}

}  // namespace

void lower_softmax(ProgramBuilder& program) {
    require_last_axis(program);
    const bool logarithm = program.op().get(keys::softmax.logarithm) != 0;
    const auto [rows, columns] = rows_of(program.input(0));
    RowwisePlan plan;
    plan.rows = rows;
    plan.inputs = {{program.dense_input(0), columns}};
    plan.outputs = {{program.dense_output(0), columns}};
    plan.temporaries = {1, 1, columns};
    for_each_row_chunk(program, plan, [&, columns = columns](CoreBuilder& core, const RowChunk& chunk) {
        const std::vector<Tile>& t = chunk.temporaries;
        softmax_sums(program, core, chunk.rows, columns, chunk.inputs[0], t[0], t[1], t[2]);
        if (logarithm) {
            subtract_logarithm(program, core, chunk.rows, columns, chunk.inputs[0], t[0], t[1],
                               chunk.outputs[0]);
        } else {
            divide_by_sum(program, core, chunk.rows, columns, t[2], t[1], chunk.outputs[0]);
        }
    });
}

void lower_softmax_grad(ProgramBuilder& program) {
    require_last_axis(program);
    const bool logarithm = program.op().get(keys::softmax.logarithm) != 0;  // then y is the softmax's
    const auto [rows, columns] = rows_of(program.input(0));
    RowwisePlan plan;
    plan.rows = rows;
    plan.inputs = {{program.dense_input(0), columns}, {program.dense_input(1), columns}};
    plan.outputs = {{program.dense_output(0), columns}};
    plan.temporaries = {1};
    for_each_row_chunk(program, plan, [&, columns = columns](CoreBuilder& core, const RowChunk& chunk) {
        const Tile &y = chunk.inputs[0], &dy = chunk.inputs[1], &dot = chunk.temporaries[0];
        // dx = dy - exp(y) sum dy where y is the logarithm, else y (dy - sum y dy).
        KernelBuilder dots;
        const Node a = dots.input(y.type), b = dots.input(dy.type);
        dots.reduce(logarithm ? b : dots.apply(VectorOp::multiply, a, b), Reduction::lanes_sum);
        core.vector(made(program, dots, {y, dy}), chunk.rows, columns, {y, dy}, {dot});
        KernelBuilder builder;
        const Node value = builder.input(y.type), gradient = builder.input(dy.type),
                   sum = builder.raw_input();
        const auto result = [&] {
            if (!logarithm)
                return builder.apply(VectorOp::multiply, value,
                                     builder.apply(VectorOp::subtract, gradient, sum));
            const Node share =
                builder.apply(VectorOp::multiply, builder.apply(VectorOp::exponential, value), sum);
            return builder.apply(VectorOp::subtract, gradient, share);
        };
        builder.output(result(), chunk.outputs[0].type);
        const std::vector<Tile> inputs{y, dy, broadcast(dot)};
        core.vector(made(program, builder, inputs), chunk.rows, columns, inputs, {chunk.outputs[0]});
    });
}

void lower_softmax_cross_entropy(ProgramBuilder& program) {
    const auto [rows, columns] = rows_of(program.input(0));
    RowwisePlan plan;
    plan.rows = rows;
    plan.inputs = {{program.dense_input(0), columns}, {program.dense_input(1), 1}};
    if (value_type_of(plan.inputs[1].view.type) != tpu::ValueType::integer)
        throw Unsupported{"labels are not integers"};
    plan.outputs = {{program.dense_output(0), 1}};
    const bool probabilities = program.op().outputs.size() > 1;
    if (probabilities) plan.outputs.push_back({program.dense_output(1), columns});
    plan.temporaries = {1, 1, 1, columns};
    for_each_row_chunk(program, plan, [&, columns = columns](CoreBuilder& core, const RowChunk& chunk) {
        const Tile &x = chunk.inputs[0], &labels = chunk.inputs[1];
        const Tile &largest = chunk.temporaries[0], &sum = chunk.temporaries[1],
                   &chosen = chunk.temporaries[2], &exponentials = chunk.temporaries[3];
        softmax_sums(program, core, chunk.rows, columns, x, largest, sum, exponentials);
        // The label's logit: the only term of a sum that is not zero.
        KernelBuilder pick;
        const Node value = pick.input(x.type);
        const Node hit = pick.apply(VectorOp::integer_equal, pick.column_index(), pick.raw_input());
        pick.reduce(pick.apply(VectorOp::select, hit, value, pick.constant(0)), Reduction::lanes_sum);
        core.vector(made(program, pick, {x, labels}), chunk.rows, columns, {x, labels}, {chosen});
        KernelBuilder loss;
        const Node most = loss.raw_input(), total = loss.raw_input(), logit = loss.raw_input();
        const Node log_sum = loss.apply(VectorOp::add, most, loss.apply(VectorOp::logarithm, total));
        loss.output(loss.apply(VectorOp::subtract, log_sum, logit), chunk.outputs[0].type);
        core.vector(made(program, loss, {largest, sum, chosen}), chunk.rows, 1, {largest, sum, chosen},
                    {chunk.outputs[0]});
        if (probabilities)
            divide_by_sum(program, core, chunk.rows, columns, exponentials, sum, chunk.outputs[1]);
    });
}

void lower_softmax_cross_entropy_grad(ProgramBuilder& program) {
    const auto [rows, columns] = rows_of(program.input(0));
    RowwisePlan plan;
    plan.rows = rows;
    plan.inputs = {{program.dense_input(0), columns}, {program.dense_input(1), 1}};
    if (value_type_of(plan.inputs[1].view.type) != tpu::ValueType::integer)
        throw Unsupported{"labels are not integers"};
    const bool weighted = program.op().inputs.size() > 2;
    if (weighted) plan.inputs.push_back({program.dense_input(2), 1});
    plan.outputs = {{program.dense_output(0), columns}};
    const double scale = program.op().get(keys::softmax_cross_entropy.scale);
    for_each_row_chunk(program, plan, [&, columns = columns](CoreBuilder& core, const RowChunk& chunk) {
        KernelBuilder builder;
        const Node p = builder.input(chunk.inputs[0].type);
        const Node hit = builder.apply(VectorOp::integer_equal, builder.column_index(), builder.raw_input());
        Node factor = builder.constant(scale);
        if (weighted) factor = builder.apply(VectorOp::multiply, factor, builder.input(chunk.inputs[2].type));
        const Node difference = builder.apply(VectorOp::subtract, p, hit);
        builder.output(builder.apply(VectorOp::multiply, difference, factor), chunk.outputs[0].type);
        core.vector(made(program, builder, chunk.inputs), chunk.rows, columns, chunk.inputs,
                    {chunk.outputs[0]});
    });
}

}  // namespace heddle::lowering::on_tpu
