// Layer normalisation and its gradient.
#include "workloads/kernels/layer_norm.h"

#include <algorithm>

#include "workloads/kernels/compiled_layer_norm.h"
#include "workloads/kernels/reduction.h"
#include "workloads/kernels/torch_layer_norm.h"
#include "workloads/lowering/gpu/builder.h"

namespace heddle::lowering {
namespace {

constexpr std::uint32_t kMostColumns = 16384;  // that the generators keep in registers
constexpr std::uint32_t kMostGradColumns = 8192;
constexpr std::uint32_t kMostInPieces = 1u << 30;  // columns that are read in pieces

struct Rows {
    std::uint32_t rows = 0, columns = 0;
};

Rows rows_of(const GpuProgramBuilder& b, std::size_t input, std::uint32_t most_columns = kMostColumns) {
    b.require_dense();
    const trace::Tensor& x = b.input(input);
    if (x.shape.empty() || x.elements() == 0) throw Unsupported{"no layer norm kernel for an empty tensor"};
    const auto columns = static_cast<std::uint32_t>(x.shape.back());
    if (columns > most_columns)
        throw Unsupported{"no layer norm kernel for rows of more than " + std::to_string(most_columns) +
                          " columns"};
    return {static_cast<std::uint32_t>(x.elements() / columns), columns};
}

/// Mean and reciprocal deviation are f32; where the op does not give them out they go to a workspace.
kernels::KernelArgument statistic(GpuProgramBuilder& b, const std::string& name, std::size_t output,
                                  std::uint32_t rows) {
    if (b.has_output(output)) {
        if (b.output(output).type != trace::ElementType::f32)
            throw Unsupported{"no layer norm kernel with statistics other than f32"};
        return b.output_pointer(name, output);
    }
    return kernels::pointer_argument(name, b.workspace("layer norm " + name, std::uint64_t{rows} * 4));
}

void finish_partial(GpuProgramBuilder& b, program::BufferId partial, std::size_t output,
                    std::uint32_t workers, std::uint32_t columns) {
    kernels::ReduceColumnsSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.output = kernel_type(b.output(output).type);
    spec.vector_width = columns % 4 == 0 ? 4 : 1;
    b.launch(kernels::generate_reduce_columns(spec), kernels::reduce_columns_grid(spec, columns, 1),
             {b.output_pointer("y", output), kernels::pointer_argument("x", partial),
              kernels::integer_argument("rows", workers), kernels::integer_argument("columns", columns),
              kernels::integer_argument("row_stride", columns),
              kernels::integer_argument("rows_per_cta", workers), kernels::f32_argument("scale", 1.0f)});
}

/// d gamma and d beta in one launch.
void finish_both(GpuProgramBuilder& b, program::BufferId gamma, program::BufferId beta, std::uint32_t workers,
                 std::uint32_t columns) {
    kernels::ReduceColumnsSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.output = kernel_type(b.output(1).type);
    spec.row_lanes = 32;
    spec.pair = true;
    b.launch(kernels::generate_reduce_columns(spec), kernels::reduce_columns_grid(spec, columns, 1),
             {b.output_pointer("y", 1), kernels::pointer_argument("x", gamma), b.output_pointer("y1", 2),
              kernels::pointer_argument("x1", beta), kernels::integer_argument("rows", workers),
              kernels::integer_argument("columns", columns), kernels::integer_argument("row_stride", columns),
              kernels::integer_argument("rows_per_cta", workers), kernels::f32_argument("scale", 1.0f)});
}

/// As torch.compile writes it; no statistics are kept.
void lower_compiled_layer_norm(GpuProgramBuilder& b) {
    if (b.has_output(1)) throw Unsupported{"no compiled layer norm kernel that keeps its statistics"};
    const Rows r = rows_of(b, 0, kMostInPieces);
    kernels::CompiledLayerNormSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.x = kernel_type(b.input(0).type);
    spec.y = kernel_type(b.output(0).type);
    spec.columns = r.columns;
    spec.weights = b.has_input(1);
    if (r.columns <= 1024)
        throw Unsupported{"no compiled layer norm kernel for rows of 1,024 columns or fewer"};
    std::vector<kernels::KernelArgument> arguments{
        b.output_pointer("y", 0), b.input_pointer("x", 0), kernels::integer_argument("rows", r.rows),
        kernels::f32_argument("epsilon", static_cast<float>(b.op().get(keys::layer_norm.epsilon)))};
    if (spec.weights) {
        spec.weight = kernel_type(b.input(1).type);
        arguments.push_back(b.input_pointer("gamma", 1));
        arguments.push_back(b.input_pointer("beta", 2));
    }
    b.launch(kernels::generate_compiled_layer_norm(spec), kernels::compiled_layer_norm_grid(spec, r.rows),
             arguments);
}

kernels::TorchLayerNormSpec torch_spec(const GpuProgramBuilder& b, std::size_t x, std::size_t weight,
                                       std::uint32_t columns) {
    kernels::TorchLayerNormSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.x = kernel_type(b.input(x).type);
    spec.weight = kernel_type(b.input(weight).type);
    spec.columns = columns;
    return spec;
}

/// As PyTorch's eager mode does it; false where its kernel is another one.
bool lower_torch_layer_norm(GpuProgramBuilder& b) {
    if (b.op().get(keys::any.eager) == 0 || !b.has_input(2) || b.input(1).type != b.input(2).type ||
        b.input(0).type != b.output(0).type)
        return false;
    const Rows r = rows_of(b, 0, kMostInPieces);
    const kernels::TorchLayerNormSpec spec = torch_spec(b, 0, 1, r.columns);
    if (r.columns % 4 != 0) return false;
    b.launch(kernels::generate_torch_layer_norm(spec), {r.rows, 1, 1},
             {b.output_pointer("y", 0), statistic(b, "mean", 1, r.rows), statistic(b, "rstd", 2, r.rows),
              b.input_pointer("x", 0), b.input_pointer("gamma", 1), b.input_pointer("beta", 2),
              kernels::f32_argument("epsilon", static_cast<float>(b.op().get(keys::layer_norm.epsilon)))});
    return true;
}

bool lower_torch_layer_norm_grad(GpuProgramBuilder& b) {
    constexpr std::uint32_t kFewestRows = 128;     // fewer have another kernel
    constexpr std::uint32_t kMostWide = 1u << 16;  // rows lie at constant offsets from each other
    if (b.op().get(keys::any.eager) == 0 || !b.has_output(2) || b.input(0).type != b.input(1).type ||
        b.input(1).type != b.output(0).type || b.output(1).type != b.input(4).type ||
        b.output(2).type != b.input(4).type)
        return false;
    const Rows r = rows_of(b, 1, kMostInPieces);
    if (r.rows < kFewestRows || r.columns > kMostWide || b.output(1).elements() != std::int64_t{r.columns})
        return false;
    const kernels::TorchLayerNormSpec spec = torch_spec(b, 1, 4, r.columns);
    const kernels::KernelArgument dy = b.input_pointer("dy", 0), x = b.input_pointer("x", 1),
                                  mean = b.input_pointer("mean", 2), rstd = b.input_pointer("rstd", 3);
    b.launch(kernels::generate_torch_layer_norm_grad_input(spec), {r.rows, 1, 1},
             {b.output_pointer("dx", 0), dy, x, mean, rstd, b.input_pointer("gamma", 4)});
    b.launch(kernels::generate_torch_gamma_beta_grad(spec), kernels::torch_gamma_beta_grad_grid(spec),
             {b.output_pointer("dgamma", 1), b.output_pointer("dbeta", 2), dy, x, mean, rstd,
              kernels::integer_argument("rows", r.rows)});
    return true;
}

}  // namespace

void lower_layer_norm(GpuProgramBuilder& b) {
    if (b.op().get(keys::layer_norm.compiled) != 0) return lower_compiled_layer_norm(b);
    if (lower_torch_layer_norm(b)) return;
    if (!b.has_input(2)) throw Unsupported{"no layer norm kernel without gamma and beta"};
    const Rows r = rows_of(b, 0);
    kernels::LayerNormSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.x = kernel_type(b.input(0).type);
    spec.y = kernel_type(b.output(0).type);
    spec.weight = kernel_type(b.input(1).type);
    if (kernel_type(b.input(2).type) != spec.weight)
        throw Unsupported{"no layer norm kernel with gamma and beta of two types"};
    spec.columns = r.columns;
    spec.vector_width = 8;
    b.launch(kernels::generate_layer_norm(spec), kernels::layer_norm_grid(spec, r.rows),
             {b.output_pointer("y", 0), statistic(b, "mean", 1, r.rows), statistic(b, "rstd", 2, r.rows),
              b.input_pointer("x", 0), b.input_pointer("gamma", 1), b.input_pointer("beta", 2),
              kernels::integer_argument("rows", r.rows),
              kernels::f32_argument("epsilon", static_cast<float>(b.op().get(keys::layer_norm.epsilon)))});
}

void lower_layer_norm_grad(GpuProgramBuilder& b) {
    if (lower_torch_layer_norm_grad(b)) return;
    const Rows r = rows_of(b, 1, kMostGradColumns);
    kernels::LayerNormGradSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.dy = kernel_type(b.input(0).type);
    spec.x = kernel_type(b.input(1).type);
    spec.weight = kernel_type(b.input(4).type);
    spec.dx = kernel_type(b.output(0).type);
    spec.columns = r.columns;
    spec.vector_width = 8;
    // An op may hand out the partial sums of d gamma and d beta, [workers, columns], for another op to
    // finish.
    const bool hands_out_partial = b.has_output(2) && b.output(1).elements() > std::int64_t{r.columns} &&
                                   b.output(1).elements() % r.columns == 0;
    const std::uint32_t workers = hands_out_partial
                                      ? static_cast<std::uint32_t>(b.output(1).elements() / r.columns)
                                      : kernels::layer_norm_grad_workers(spec, r.rows, b.target().sm_count);
    const std::uint64_t partial_bytes = std::uint64_t{workers} * r.columns * 4;
    const program::BufferId gamma = b.workspace("partial d gamma", partial_bytes);
    const program::BufferId beta = b.workspace("partial d beta", partial_bytes);
    b.launch(
        kernels::generate_layer_norm_grad(spec), kernels::layer_norm_grad_grid(workers),
        {b.output_pointer("dx", 0),
         hands_out_partial ? b.output_pointer("partial_gamma", 1)
                           : kernels::pointer_argument("partial_gamma", gamma),
         hands_out_partial ? b.output_pointer("partial_beta", 2)
                           : kernels::pointer_argument("partial_beta", beta),
         b.input_pointer("dy", 0), b.input_pointer("x", 1), b.input_pointer("mean", 2),
         b.input_pointer("rstd", 3), b.input_pointer("gamma", 4), kernels::integer_argument("rows", r.rows)});
    if (hands_out_partial) return;
    if (b.has_output(2) && b.output(1).type == b.output(2).type)
        return finish_both(b, gamma, beta, workers, r.columns);
    if (b.has_output(1)) finish_partial(b, gamma, 1, workers, r.columns);
    if (b.has_output(2)) finish_partial(b, beta, 2, workers, r.columns);
}

void lower_rms_norm(GpuProgramBuilder& b) {
    const Rows r = rows_of(b, 0);
    kernels::LayerNormSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.x = kernel_type(b.input(0).type);
    spec.y = kernel_type(b.output(0).type);
    spec.weight = kernel_type(b.input(1).type);
    spec.columns = r.columns;
    spec.vector_width = 8;
    spec.rms = true;
    b.launch(kernels::generate_layer_norm(spec), kernels::layer_norm_grid(spec, r.rows),
             {b.output_pointer("y", 0), statistic(b, "rstd", 1, r.rows), b.input_pointer("x", 0),
              b.input_pointer("gamma", 1), kernels::integer_argument("rows", r.rows),
              kernels::f32_argument("epsilon", static_cast<float>(b.op().get(keys::layer_norm.epsilon)))});
}

void lower_rms_norm_grad(GpuProgramBuilder& b) {
    const Rows r = rows_of(b, 1, kMostGradColumns);
    kernels::LayerNormGradSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.dy = kernel_type(b.input(0).type);
    spec.x = kernel_type(b.input(1).type);
    spec.weight = kernel_type(b.input(3).type);
    spec.dx = kernel_type(b.output(0).type);
    spec.columns = r.columns;
    spec.vector_width = 8;
    spec.rms = true;
    const std::uint32_t workers = kernels::layer_norm_grad_workers(spec, r.rows, b.target().sm_count);
    const program::BufferId gamma = b.workspace("partial d gamma", std::uint64_t{workers} * r.columns * 4);
    b.launch(kernels::generate_layer_norm_grad(spec), kernels::layer_norm_grad_grid(workers),
             {b.output_pointer("dx", 0), kernels::pointer_argument("partial_gamma", gamma),
              b.input_pointer("dy", 0), b.input_pointer("x", 1), b.input_pointer("rstd", 2),
              b.input_pointer("gamma", 3), kernels::integer_argument("rows", r.rows)});
    if (b.has_output(1)) finish_partial(b, gamma, 1, workers, r.columns);
}

}  // namespace heddle::lowering
