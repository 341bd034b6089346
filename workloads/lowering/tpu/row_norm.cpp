// Layer norm and RMS norm of rows, forward and backward: the same but for the mean, which RMS norm leaves
// out.
#include <optional>

#include "workloads/lowering/tpu/rowwise.h"

namespace heddle::lowering::on_tpu {
namespace {

using tpu::Reduction;
using tpu::VectorOp;
using Node = KernelBuilder::Node;

enum class Norm : std::uint8_t { layer, rms };

/// mean[row] = sum x / columns
void mean_of(ProgramBuilder& program, CoreBuilder& core, const RowChunk& chunk, std::uint64_t columns,
             const Tile& mean) {
    const Tile& x = chunk.inputs[0];
    KernelBuilder sum;
    sum.reduce(
        sum.apply(VectorOp::multiply, sum.input(x.type), sum.constant(1.0 / static_cast<double>(columns))),
        Reduction::lanes_sum);
    core.vector(made(program, sum, {x}), chunk.rows, columns, {x}, {mean});
}

/// rstd[row] = 1 / sqrt(mean of (x - mean)^2 + epsilon); no mean: of x^2.
void rstd_of(ProgramBuilder& program, CoreBuilder& core, const RowChunk& chunk, std::uint64_t columns,
             const std::optional<Tile>& mean, const Tile& rstd) {
    std::vector<Tile> inputs{chunk.inputs[0]};
    KernelBuilder squares;
    Node off = squares.input(inputs[0].type);
    if (mean) {
        off = squares.apply(VectorOp::subtract, off, squares.raw_input());
        inputs.push_back(broadcast(*mean));
    }
    const Node share =
        squares.apply(VectorOp::multiply, off, squares.constant(1.0 / static_cast<double>(columns)));
    squares.reduce(squares.apply(VectorOp::multiply, off, share), Reduction::lanes_sum);
    core.vector(made(program, squares, inputs), chunk.rows, columns, inputs, {rstd});
    KernelBuilder root;
    const Node shifted = root.apply(VectorOp::add, root.raw_input(),
                                    root.constant(program.op().get(keys::layer_norm.epsilon)));
    root.raw_output(root.apply(VectorOp::reciprocal_square_root, shifted));
    core.vector(made(program, root, {rstd}), chunk.rows, 1, {rstd}, {rstd});
}

/// y = (x - mean) rstd gamma + beta, of which only x and rstd must be there.
void scale_rows(ProgramBuilder& program, CoreBuilder& core, const RowChunk& chunk, std::uint64_t columns,
                const std::optional<Tile>& mean, const Tile& rstd) {
    std::vector<Tile> inputs{chunk.inputs[0]};
    KernelBuilder scale;
    Node value = scale.input(inputs[0].type);
    if (mean) {
        value = scale.apply(VectorOp::subtract, value, scale.raw_input());
        inputs.push_back(broadcast(*mean));
    }
    value = scale.apply(VectorOp::multiply, value, scale.raw_input());
    inputs.push_back(broadcast(rstd));
    for (std::size_t i = 0; i < chunk.shared.size(); ++i) {
        const Node factor = scale.input(chunk.shared[i].type);
        value = scale.apply(i == 0 ? VectorOp::multiply : VectorOp::add, value, factor);
        inputs.push_back(chunk.shared[i]);
    }
    scale.output(value, chunk.outputs[0].type);
    core.vector(made(program, scale, inputs), chunk.rows, columns, inputs, {chunk.outputs[0]});
}

void lower_norm(ProgramBuilder& program, Norm norm) {
    const auto [rows, columns] = rows_of(program.input(0));
    RowwisePlan plan;
    plan.rows = rows;
    plan.inputs = {{program.dense_input(0), columns}};
    for (std::size_t i = 1; i < program.op().inputs.size(); ++i)
        plan.shared.push_back({program.dense_input(i), columns});
    plan.outputs = {{program.dense_output(0), columns}};
    for (std::size_t i = 1; i < program.op().outputs.size(); ++i)
        plan.outputs.push_back({program.dense_output(i), 1});
    plan.temporaries.assign(norm == Norm::layer ? 2 : 1, 1);
    for_each_row_chunk(program, plan, [&, columns = columns](CoreBuilder& core, const RowChunk& chunk) {
        const Tile& rstd = chunk.temporaries.back();
        std::optional<Tile> mean;
        if (norm == Norm::layer) mean = chunk.temporaries[0];
        // The mean first, then the variance about it: the sum of squares alone would cancel.
        if (mean) mean_of(program, core, chunk, columns, *mean);
        rstd_of(program, core, chunk, columns, mean, rstd);
        scale_rows(program, core, chunk, columns, mean, rstd);
        for (std::size_t i = 1; i < chunk.outputs.size(); ++i) {
            KernelBuilder copy;
            copy.output(copy.raw_input(), chunk.outputs[i].type);
            core.vector(made(program, copy, {rstd}), chunk.rows, 1, {chunk.temporaries[i - 1]},
                        {chunk.outputs[i]});
        }
    });
}

/// What both passes of a gradient compute from dy, x [, mean], rstd [, gamma].
struct GradientNodes {
    Node dy, hat, weighted, rstd;
};

GradientNodes gradient_nodes(KernelBuilder& builder, Norm norm, const std::vector<Tile>& operands) {
    std::size_t next = 0;
    const auto input = [&] { return builder.input(operands[next++].type); };
    const Node dy = input();
    Node hat = input();
    if (norm == Norm::layer) hat = builder.apply(VectorOp::subtract, hat, input());
    const Node rstd = input();
    hat = builder.apply(VectorOp::multiply, hat, rstd);
    const Node weighted = next < operands.size() ? builder.apply(VectorOp::multiply, dy, input()) : dy;
    return {dy, hat, weighted, rstd};
}

void lower_norm_grad(ProgramBuilder& program, Norm norm) {
    const auto [rows, columns] = rows_of(program.input(0));
    const std::size_t per_row = norm == Norm::layer ? 4 : 3;
    RowwisePlan plan;
    plan.rows = rows;
    for (std::size_t i = 0; i < per_row; ++i)
        plan.inputs.push_back({program.dense_input(i), i < 2 ? columns : 1});
    for (std::size_t i = per_row; i < program.op().inputs.size(); ++i)
        plan.shared.push_back({program.dense_input(i), columns});
    plan.outputs = {{program.dense_output(0), columns}};
    for (std::size_t i = 1; i < program.op().outputs.size(); ++i)
        plan.sums.push_back({program.dense_output(i), columns});
    plan.temporaries.assign(norm == Norm::layer ? 2 : 1, 1);
    const double inverse = 1.0 / static_cast<double>(columns);
    for_each_row_chunk(program, plan, [&, columns = columns](CoreBuilder& core, const RowChunk& chunk) {
        std::vector<Tile> operands = chunk.inputs;
        operands.insert(operands.end(), chunk.shared.begin(), chunk.shared.end());
        KernelBuilder sums;
        const GradientNodes a = gradient_nodes(sums, norm, operands);
        const Node scaled = sums.apply(VectorOp::multiply, a.weighted, sums.constant(inverse));
        if (norm == Norm::layer) sums.reduce(scaled, Reduction::lanes_sum);
        sums.reduce(sums.apply(VectorOp::multiply, scaled, a.hat), Reduction::lanes_sum);
        core.vector(made(program, sums, operands), chunk.rows, columns, operands, chunk.temporaries);
        KernelBuilder builder;
        const GradientNodes b = gradient_nodes(builder, norm, operands);
        Node inner = b.weighted;
        if (norm == Norm::layer) inner = builder.apply(VectorOp::subtract, inner, builder.raw_input());
        inner = builder.apply(VectorOp::subtract, inner,
                              builder.apply(VectorOp::multiply, b.hat, builder.raw_input()));
        builder.output(builder.apply(VectorOp::multiply, inner, b.rstd), chunk.outputs[0].type);
        // Gradients of gamma and beta ride along.
        if (!chunk.sums.empty()) {
            builder.reduce(builder.apply(VectorOp::multiply, b.dy, b.hat), Reduction::sublanes_sum,
                           !chunk.first);
        }
        if (chunk.sums.size() > 1) builder.reduce(b.dy, Reduction::sublanes_sum, !chunk.first);
        std::vector<Tile> inputs = operands, outputs{chunk.outputs[0]};
        for (const Tile& tile : chunk.temporaries) inputs.push_back(broadcast(tile));
        outputs.insert(outputs.end(), chunk.sums.begin(), chunk.sums.end());
        core.vector(made(program, builder, inputs), chunk.rows, columns, inputs, outputs);
    });
}

}  // namespace

void lower_layer_norm(ProgramBuilder& program) {
    lower_norm(program, Norm::layer);
}
void lower_layer_norm_grad(ProgramBuilder& program) {
    lower_norm_grad(program, Norm::layer);
}
void lower_rms_norm(ProgramBuilder& program) {
    lower_norm(program, Norm::rms);
}
void lower_rms_norm_grad(ProgramBuilder& program) {
    lower_norm_grad(program, Norm::rms);
}

}  // namespace heddle::lowering::on_tpu
