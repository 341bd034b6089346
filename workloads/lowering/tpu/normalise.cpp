// Softmax, cross-entropy and layer normalisation, forward and backward.
#include "workloads/lowering/tpu/rowwise.h"

namespace heddle::lowering::on_tpu {
namespace {

using tpu::ElementType;
using tpu::Reduction;
using tpu::VectorOp;
using Node = KernelBuilder::Node;

struct Rows {
    std::uint64_t rows = 0, columns = 0;
};

Rows rows_of(const trace::Tensor& tensor) {
    const auto columns = static_cast<std::uint64_t>(tensor.shape.back());
    return {columns == 0 ? 0 : static_cast<std::uint64_t>(tensor.elements()) / columns, columns};
}

/// Finishes a kernel whose inputs are the given tiles.
std::shared_ptr<const tpu::VectorKernel> made(ProgramBuilder& program, KernelBuilder& builder,
                                              const std::vector<Tile>& inputs) {
    std::vector<ElementType> types;
    for (const Tile& tile : inputs) types.push_back(tile.type);
    return program.kernel(builder.finish(), types);
}

Tile broadcast(Tile tile) {
    tile.broadcast_columns = true;
    return tile;
}

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

}  // namespace

void lower_softmax(ProgramBuilder& program) {
    if (program.op().integer("logarithm", 0) != 0)
        throw Unsupported{"no program for the logarithm of a softmax"};
    const auto [rows, columns] = rows_of(program.input(0));
    RowwisePlan plan;
    plan.rows = rows;
    plan.inputs = {{program.dense_input(0), columns}};
    plan.outputs = {{program.dense_output(0), columns}};
    plan.temporaries = {1, 1, columns};
    for_each_row_chunk(program, plan, [&, columns = columns](CoreBuilder& core, const RowChunk& chunk) {
        const std::vector<Tile>& t = chunk.temporaries;
        softmax_sums(program, core, chunk.rows, columns, chunk.inputs[0], t[0], t[1], t[2]);
        divide_by_sum(program, core, chunk.rows, columns, t[2], t[1], chunk.outputs[0]);
    });
}

void lower_softmax_grad(ProgramBuilder& program) {
    if (program.op().integer("logarithm", 0) != 0)
        throw Unsupported{"no program for the logarithm of a softmax"};
    const auto [rows, columns] = rows_of(program.input(0));
    RowwisePlan plan;
    plan.rows = rows;
    plan.inputs = {{program.dense_input(0), columns}, {program.dense_input(1), columns}};
    plan.outputs = {{program.dense_output(0), columns}};
    plan.temporaries = {1};
    for_each_row_chunk(program, plan, [&, columns = columns](CoreBuilder& core, const RowChunk& chunk) {
        const Tile &y = chunk.inputs[0], &dy = chunk.inputs[1], &dot = chunk.temporaries[0];
        KernelBuilder dots;
        const Node a = dots.input(y.type);
        dots.reduce(dots.apply(VectorOp::multiply, a, dots.input(dy.type)), Reduction::lanes_sum);
        core.vector(made(program, dots, {y, dy}), chunk.rows, columns, {y, dy}, {dot});
        KernelBuilder builder;
        const Node value = builder.input(y.type), gradient = builder.input(dy.type);
        const Node difference = builder.apply(VectorOp::subtract, gradient, builder.raw_input());
        builder.output(builder.apply(VectorOp::multiply, value, difference), chunk.outputs[0].type);
        const std::vector<Tile> inputs{y, dy, broadcast(dot)};
        core.vector(made(program, builder, inputs), chunk.rows, columns, inputs, {chunk.outputs[0]});
    });
}

void lower_cross_entropy(ProgramBuilder& program) {
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

void lower_cross_entropy_grad(ProgramBuilder& program) {
    const auto [rows, columns] = rows_of(program.input(0));
    RowwisePlan plan;
    plan.rows = rows;
    plan.inputs = {{program.dense_input(0), columns}, {program.dense_input(1), 1}};
    if (value_type_of(plan.inputs[1].view.type) != tpu::ValueType::integer)
        throw Unsupported{"labels are not integers"};
    const bool weighted = program.op().inputs.size() > 2;
    if (weighted) plan.inputs.push_back({program.dense_input(2), 1});
    plan.outputs = {{program.dense_output(0), columns}};
    const double scale = program.op().real("scale", 1);
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

void lower_layer_norm(ProgramBuilder& program) {
    if (program.op().inputs.size() < 3)
        throw Unsupported{"no program for a layer norm without gamma and beta"};
    const auto [rows, columns] = rows_of(program.input(0));
    RowwisePlan plan;
    plan.rows = rows;
    plan.inputs = {{program.dense_input(0), columns}};
    plan.shared = {{program.dense_input(1), columns}, {program.dense_input(2), columns}};
    plan.outputs = {{program.dense_output(0), columns}};
    for (std::size_t i = 1; i < program.op().outputs.size(); ++i)
        plan.outputs.push_back({program.dense_output(i), 1});
    plan.temporaries = {1, 1};
    const double epsilon = program.op().real("epsilon", 1e-5), inverse = 1.0 / static_cast<double>(columns);
    for_each_row_chunk(program, plan, [&, columns = columns](CoreBuilder& core, const RowChunk& chunk) {
        const Tile& x = chunk.inputs[0];
        const Tile &mean = chunk.temporaries[0], &rstd = chunk.temporaries[1];
        // The mean first, then the variance about it: the sum of squares alone would cancel.
        KernelBuilder sum;
        sum.reduce(sum.apply(VectorOp::multiply, sum.input(x.type), sum.constant(inverse)),
                   Reduction::lanes_sum);
        core.vector(made(program, sum, {x}), chunk.rows, columns, {x}, {mean});
        KernelBuilder squares;
        const Node value = squares.input(x.type);
        const Node off = squares.apply(VectorOp::subtract, value, squares.raw_input());
        squares.reduce(squares.apply(VectorOp::multiply, off,
                                     squares.apply(VectorOp::multiply, off, squares.constant(inverse))),
                       Reduction::lanes_sum);
        core.vector(made(program, squares, {x, mean}), chunk.rows, columns, {x, broadcast(mean)}, {rstd});
        KernelBuilder root;
        root.raw_output(root.apply(VectorOp::reciprocal_square_root,
                                   root.apply(VectorOp::add, root.raw_input(), root.constant(epsilon))));
        core.vector(made(program, root, {rstd}), chunk.rows, 1, {rstd}, {rstd});
        KernelBuilder scale;
        const Node v = scale.input(x.type), m = scale.raw_input(), r = scale.raw_input();
        const Node gamma = scale.input(chunk.shared[0].type), beta = scale.input(chunk.shared[1].type);
        const Node hat = scale.apply(VectorOp::multiply, scale.apply(VectorOp::subtract, v, m), r);
        scale.output(scale.apply(VectorOp::add, scale.apply(VectorOp::multiply, hat, gamma), beta),
                     chunk.outputs[0].type);
        const std::vector<Tile> inputs{x, broadcast(mean), broadcast(rstd), chunk.shared[0], chunk.shared[1]};
        core.vector(made(program, scale, inputs), chunk.rows, columns, inputs, {chunk.outputs[0]});
        for (std::size_t i = 1; i < chunk.outputs.size(); ++i) {
            KernelBuilder copy;
            copy.output(copy.raw_input(), chunk.outputs[i].type);
            core.vector(made(program, copy, {mean}), chunk.rows, 1, {chunk.temporaries[i - 1]},
                        {chunk.outputs[i]});
        }
    });
}

void lower_layer_norm_grad(ProgramBuilder& program) {
    const auto [rows, columns] = rows_of(program.input(0));
    RowwisePlan plan;
    plan.rows = rows;
    plan.inputs = {{program.dense_input(0), columns},
                   {program.dense_input(1), columns},
                   {program.dense_input(2), 1},
                   {program.dense_input(3), 1}};
    plan.shared = {{program.dense_input(4), columns}};
    plan.outputs = {{program.dense_output(0), columns}};
    for (std::size_t i = 1; i < program.op().outputs.size(); ++i) {
        plan.sums.push_back({program.dense_output(i), columns});
    }
    plan.temporaries = {1, 1};
    const double inverse = 1.0 / static_cast<double>(columns);
    for_each_row_chunk(program, plan, [&, columns = columns](CoreBuilder& core, const RowChunk& chunk) {
        const Tile &sum = chunk.temporaries[0], &dot = chunk.temporaries[1];
        const std::vector<Tile> all{chunk.inputs[0], chunk.inputs[1], chunk.inputs[2], chunk.inputs[3],
                                    chunk.shared[0]};
        struct Nodes {
            Node dy, hat, weighted, rstd;
        };
        const auto common = [&](KernelBuilder& builder) {
            const Node dy = builder.input(all[0].type), x = builder.input(all[1].type),
                       mean = builder.input(all[2].type), rstd = builder.input(all[3].type),
                       gamma = builder.input(all[4].type);
            const Node hat =
                builder.apply(VectorOp::multiply, builder.apply(VectorOp::subtract, x, mean), rstd);
            return Nodes{dy, hat, builder.apply(VectorOp::multiply, dy, gamma), rstd};
        };
        KernelBuilder sums;
        const Nodes a = common(sums);
        const Node scaled = sums.apply(VectorOp::multiply, a.weighted, sums.constant(inverse));
        sums.reduce(scaled, Reduction::lanes_sum);
        sums.reduce(sums.apply(VectorOp::multiply, scaled, a.hat), Reduction::lanes_sum);
        core.vector(made(program, sums, all), chunk.rows, columns, all, {sum, dot});
        KernelBuilder builder;
        const Nodes b = common(builder);
        const Node s = builder.raw_input(), d = builder.raw_input();
        const Node inner = builder.apply(VectorOp::subtract, builder.apply(VectorOp::subtract, b.weighted, s),
                                         builder.apply(VectorOp::multiply, b.hat, d));
        builder.output(builder.apply(VectorOp::multiply, inner, b.rstd), chunk.outputs[0].type);
        // Gradients of gamma and beta ride along.
        if (!chunk.sums.empty()) {
            builder.reduce(builder.apply(VectorOp::multiply, b.dy, b.hat), Reduction::sublanes_sum,
                           !chunk.first);
        }
        if (chunk.sums.size() > 1) builder.reduce(b.dy, Reduction::sublanes_sum, !chunk.first);
        std::vector<Tile> inputs = all, outputs{chunk.outputs[0]};
        inputs.push_back(broadcast(sum));
        inputs.push_back(broadcast(dot));
        outputs.insert(outputs.end(), chunk.sums.begin(), chunk.sums.end());
        core.vector(made(program, builder, inputs), chunk.rows, columns, inputs, outputs);
    });
}

}  // namespace heddle::lowering::on_tpu
