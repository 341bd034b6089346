// Matrix products: tensor cores for 16-bit inputs, CUDA cores otherwise; tiles from the recorded kernel's
// name where it carries them, else by estimate.
#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

#include "workloads/expression/expression.h"
#include "workloads/kernels/data_movement.h"
#include "workloads/kernels/gemm_choice.h"
#include "workloads/kernels/gemm_mma.h"
#include "workloads/kernels/gemm_mma_choice.h"
#include "workloads/kernels/gemm_simt.h"
#include "workloads/kernels/gemm_wgmma.h"
#include "workloads/kernels/gemv.h"
#include "workloads/kernels/split_k.h"
#include "workloads/lowering/gpu/builder.h"

namespace heddle::lowering {
namespace {

using kernels::KernelArgument;

struct Product {
    std::uint32_t m = 0, n = 0, k = 0, batch = 1;
    bool transpose_a = false, transpose_b = false;
    std::uint64_t stride_a = 0, stride_b = 0, stride_d = 0;  // elements between batch entries
    std::uint32_t lda = 0, ldb = 0;
    KernelArgument a, b;  ///< where the kernel reads them
};

std::uint64_t batch_stride(const trace::Tensor& operand, const trace::Tensor& result) {
    const std::int64_t own =
        std::accumulate(operand.shape.begin(), operand.shape.end() - 2, std::int64_t{1}, std::multiplies<>());
    const std::int64_t all =
        std::accumulate(result.shape.begin(), result.shape.end() - 2, std::int64_t{1}, std::multiplies<>());
    if (own == 1) return 0;
    if (own != all) throw Unsupported{"no matmul kernel for operands that repeat along some batch axes only"};
    return static_cast<std::uint64_t>(operand.elements() / own);
}

Product product_of(const GpuProgramBuilder& b) {
    const trace::Op& op = b.op();
    const trace::Tensor &a = b.input(0), &y = b.output(0);
    Product p;
    p.transpose_a = op.get(keys::matmul.transpose_a) != 0;
    p.transpose_b = op.get(keys::matmul.transpose_b) != 0;
    p.m = static_cast<std::uint32_t>(y.shape[y.shape.size() - 2]);
    p.n = static_cast<std::uint32_t>(y.shape.back());
    p.k = static_cast<std::uint32_t>(a.shape[a.shape.size() - (p.transpose_a ? 2 : 1)]);
    if (p.m == 0 || p.n == 0 || p.k == 0) throw Unsupported{"no matmul kernel for an empty operand"};
    p.batch = static_cast<std::uint32_t>(y.elements() / (std::int64_t{p.m} * p.n));
    p.stride_a = batch_stride(a, y);
    p.stride_b = batch_stride(b.input(1), y);
    p.stride_d = std::uint64_t{p.m} * p.n;
    p.lda = p.transpose_a ? p.m : p.k;
    p.ldb = p.transpose_b ? p.k : p.n;
    p.a = b.input_pointer("a", 0);
    p.b = b.input_pointer("b", 1);
    // [batch, m, k] times one [k, n] is one tall product.
    if (p.batch > 1 && p.stride_b == 0 && !p.transpose_a && !b.has_input(2)) {
        p.m *= p.batch;
        p.batch = 1;
    }
    return p;
}

/// Largest power of two up to `most` that divides every number.
unsigned common_width(unsigned most, std::initializer_list<std::uint64_t> numbers) {
    unsigned width = most;
    for (const std::uint64_t number : numbers) {
        while (width > 1 && number % width != 0) width /= 2;
    }
    return width;
}

/// The epilogue with operands where the generator wants them: x1 a bias per column, x2 a matrix like the
/// result, x3 and x4 single numbers.
struct Epilogue {
    kernels::GemmEpilogue spec;
    std::vector<KernelArgument> arguments;
};

Epilogue epilogue_of(const GpuProgramBuilder& b, const Product& p) {
    const trace::Op& op = b.op();
    Epilogue epilogue;
    epilogue.spec.output = kernel_type(b.output(0).type);
    std::uint64_t ldc = 0;
    std::string text = op.get(keys::matmul.epilogue);
    if (text.empty() && b.has_input(2)) text = "y0 = x0 + x1";
    if (text.empty()) {
        epilogue.spec.vector_width = common_width(16 / kernels::bytes_of(epilogue.spec.output), {p.n});
        return epilogue;
    }
    expression::Expression expression = expression::parse(text);
    std::vector<unsigned> place(op.inputs.size(), 0);
    unsigned factors = 0;
    for (std::size_t i = 2; i < op.inputs.size(); ++i) {
        const trace::Tensor& operand = b.input(i);
        b.require_dense_input(i);
        const bool whole = operand.elements() == b.output(0).elements();
        const bool per_column = !whole && operand.elements() == p.n && !operand.shape.empty() &&
                                operand.shape.back() == static_cast<std::int64_t>(p.n);
        const bool single = !whole && !per_column && operand.elements() == 1 &&
                            kernel_type(operand.type) == kernels::ElementType::f32;
        const unsigned x = per_column ? 1 : single ? kernels::GemmEpilogue::kFirstFactor + factors : 2;
        if ((!whole && !per_column && !single) || std::count(place.begin(), place.end(), x) != 0 ||
            (single && factors == kernels::GemmEpilogue::kFactors)) {
            throw Unsupported{"no matmul kernel for the operands of this epilogue"};
        }
        place[i] = x;
        if (single) {
            epilogue.arguments.push_back(b.input_pointer("factor" + std::to_string(factors++), i));
            continue;
        }
        epilogue.arguments.push_back(b.input_pointer(per_column ? "bias" : "c", i));
        (per_column ? epilogue.spec.bias : epilogue.spec.c) = kernel_type(operand.type);
        if (whole) ldc = p.n;
    }
    for (expression::Node& node : expression.nodes) {
        if (node.op == expression::Operator::input && node.index >= 1) node.index = place.at(node.index + 1);
    }
    expression.input_count = kernels::GemmEpilogue::kFirstFactor + kernels::GemmEpilogue::kFactors;
    epilogue.spec.expression = expression;
    if (b.has_output(1)) {
        epilogue.spec.auxiliary = kernel_type(b.output(1).type);
        epilogue.arguments.push_back(b.output_pointer("auxiliary", 1));
    }
    const std::vector<double> scalars = op.get(keys::matmul.scalars);
    for (std::size_t i = 0; i < scalars.size(); ++i) {
        const std::string name = "s" + std::to_string(i);
        epilogue.arguments.push_back(epilogue.spec.output == kernels::ElementType::f64
                                         ? kernels::f64_argument(name, scalars[i])
                                         : kernels::f32_argument(name, static_cast<float>(scalars[i])));
    }
    unsigned widest =
        std::max(kernels::bytes_of(epilogue.spec.output), kernels::bytes_of(epilogue.spec.bias));
    if (ldc != 0) {
        widest = std::max(widest, kernels::bytes_of(epilogue.spec.c));
        epilogue.arguments.push_back(kernels::integer_argument("ldc", ldc));
        epilogue.arguments.push_back(kernels::integer_argument("stride_c", p.stride_d));
    }
    if (b.has_output(1)) widest = std::max(widest, kernels::bytes_of(epilogue.spec.auxiliary));
    epilogue.spec.vector_width = common_width(16 / widest, {p.n});
    return epilogue;
}

/// Tensor cores read 8-bit types only where k is contiguous: an operand that lies otherwise is transposed
/// into a workspace first, as libraries do for the products of a backward pass.
void transpose_operands(GpuProgramBuilder& b, Product& p, kernels::ElementType type) {
    const auto transpose = [&](const char* purpose, KernelArgument& operand, std::uint32_t extent,
                               std::uint64_t& stride) {
        const std::uint32_t entries = stride != 0 ? p.batch : 1;
        const std::uint64_t bytes = std::uint64_t{extent} * p.k * kernels::bytes_of(type);
        const program::BufferId workspace = b.workspace(purpose, bytes * entries);
        KernelArgument from = operand;
        from.parameter = "x";
        const kernels::TransposeSpec spec{b.compute_capability(), type};
        b.launch(kernels::generate_transpose(spec), kernels::transpose_grid(spec, p.k, extent, entries),
                 {kernels::pointer_argument("y", workspace), from, kernels::integer_argument("rows", p.k),
                  kernels::integer_argument("columns", extent)});
        operand = kernels::pointer_argument(operand.parameter, workspace);
    };
    if (p.transpose_a) {
        transpose("transposed a", p.a, p.m, p.stride_a);
        p.transpose_a = false;
        p.lda = p.k;
    }
    if (!p.transpose_b) {
        transpose("transposed b", p.b, p.n, p.stride_b);
        p.transpose_b = true;
        p.ldb = p.k;
    }
}

/// Tile of the recorded kernel, when the trace carries one. Names of libraries that think in columns, and
/// these are the ones that are recorded, begin with the extent along our n.
std::optional<kernels::GemmTile> recorded_tile(const GpuProgramBuilder& b) {
    const std::vector<std::int64_t> tile = b.op().get(keys::any.tile);
    if (tile.size() != 3) return std::nullopt;
    kernels::GemmTile result;
    unsigned* const extents[] = {&result.n, &result.m, &result.k};
    for (std::size_t i = 0; i < 3; ++i) {
        if (tile[i] < 8 || tile[i] > 256) return std::nullopt;
        *extents[i] = static_cast<unsigned>(tile[i]);
    }
    return result;
}

/// Changes the choice to the recorded kernel's tile where one of our generators can build it.
void take_tile(kernels::GemmChoice& choice, const kernels::GemmTile& tile, const GpuProgramBuilder& b,
               const Product& p, const kernels::GemmAlignment& alignment) {
    const kernels::ElementType type = kernel_type(b.input(0).type);
    if (choice.wgmma) {
        const std::vector<kernels::GemmChoice> candidates =
            kernels::gemm_candidates({p.m, p.n, p.k, p.batch, b.op().get(keys::any.compute_type) == "tf32"},
                                     type, b.target(), alignment);
        for (const kernels::GemmChoice& candidate : candidates) {
            if (!candidate.wgmma || candidate.tile.m != tile.m || candidate.tile.n != tile.n) continue;
            choice = candidate;
            const std::int64_t warpgroups = b.op().get(keys::any.warpgroups);
            if (warpgroups > 0 && warpgroups <= 4)
                kernels::take_warpgroups(choice, static_cast<unsigned>(warpgroups), type, b.target());
            return;
        }
        return;
    }
    const auto fits = [](unsigned extent, unsigned least) {
        return extent >= least && std::has_single_bit(extent);
    };
    const unsigned bytes = kernels::bytes_of(type), k_bytes = tile.k * bytes;
    if (!choice.tensor_cores || choice.gemv_warps != 0) return;
    if (!kernels::narrow_copies_fit(tile, type, alignment)) return;
    if (!fits(tile.m, 64) || !fits(tile.n, 64) || !fits(k_bytes, 64) || k_bytes > 128 || bytes == 8) return;
    choice.tile = kernels::complete_tile(tile.m, tile.n, tile.k, b.target(), type, alignment);
    kernels::GemmTile staged = choice.tile;
    staged.stages = static_cast<unsigned>(
        std::clamp<std::int64_t>(b.op().get(keys::any.stages), 0, kernels::kMostRingStages));
    if (staged.stages >= 2 &&
        kernels::gemm_mma_shared_bytes(staged, bytes) <= b.target().shared_bytes_per_cta)
        choice.tile = staged;
    choice.splits = 1;
    choice.raster_log2 = kernels::choose_raster_log2(p.n, tile.n);
}

/// The same for kernels on the CUDA cores, whose names have no k: ampere_sgemm_128x64_nn.
void take_simt_tile(kernels::GemmChoice& choice, const GpuProgramBuilder& b, const Product& p) {
    const std::vector<std::int64_t> tile = b.op().get(keys::any.tile);
    const auto fits = [](std::int64_t extent) { return extent == 32 || extent == 64 || extent == 128; };
    // "sliced" ones divide k among the warps of a CTA.
    if (choice.tensor_cores || choice.wgmma || choice.gemv_warps != 0 || tile.size() != 2 || !fits(tile[0]) ||
        !fits(tile[1]) || (tile[0] == 32 && tile[1] == 32) ||
        b.op().kernel_name.find("sliced") != std::string::npos ||
        kernel_type(b.input(0).type) != kernels::ElementType::f32)
        return;
    choice.tile.n = static_cast<unsigned>(tile[0]);
    choice.tile.m = static_cast<unsigned>(tile[1]);
    choice.raster_log2 = kernels::choose_raster_log2(p.n, choice.tile.n);
}

/// Divides k into as many slices as the recorded kernel, when the trace says how many.
void take_slices(kernels::GemmChoice& choice, std::int64_t slices, const Product& p) {
    if (slices < 1 || choice.wgmma || choice.gemv_warps != 0 || p.k == 0) return;
    const unsigned tile_k = choice.tensor_cores ? choice.tile.k : kernels::kGemmSimtTileK;
    const auto tiles = static_cast<std::int64_t>(kernels::divide_up(p.k, tile_k));
    choice.k_per_split =
        kernels::divide_up(static_cast<unsigned>(tiles), static_cast<unsigned>(std::min(slices, tiles))) *
        tile_k;
    choice.splits = kernels::divide_up(p.k, choice.k_per_split);
}

void launch_split_k_reduce(GpuProgramBuilder& b, const Product& p, const Epilogue& epilogue,
                           kernels::ElementType accumulator, program::BufferId workspace,
                           const kernels::GemmChoice& choice) {
    kernels::SplitKReduceSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.accumulator = accumulator;
    spec.batched = p.batch > 1;
    spec.epilogue = epilogue.spec;
    std::vector<KernelArgument> arguments = epilogue.arguments;
    if (choice.stream) {
        spec.stream_tile_m = choice.tile.m;
        spec.stream_tile_n = choice.tile.n;
        arguments.push_back(kernels::integer_argument("tiles_m", choice.stream->tiles_m));
        arguments.push_back(kernels::integer_argument("stages_per_tile", choice.stream->stages_per_tile));
        kernels::add_divider_arguments(arguments, "stages_per_cta", choice.stream->stages_per_cta);
    }
    arguments.push_back(kernels::pointer_argument("workspace", workspace));
    arguments.push_back(b.output_pointer("d", 0));
    arguments.push_back(kernels::integer_argument("m", p.m));
    arguments.push_back(kernels::integer_argument("n", p.n));
    arguments.push_back(kernels::integer_argument("ldd", p.n));
    arguments.push_back(kernels::integer_argument("splits", choice.splits));
    arguments.push_back(kernels::integer_argument("slice_stride", p.stride_d));
    arguments.push_back(kernels::integer_argument("stride_d", p.stride_d));
    kernels::add_divider_arguments(arguments, "row_vectors", p.n / kernels::split_k_reduce_width(spec));
    b.launch(kernels::generate_split_k_reduce(spec), kernels::split_k_reduce_grid(spec, p.m, p.n, p.batch),
             arguments);
}

/// What copies of an operand may take by its address, its rows and its batch entries. An operand may begin
/// within a buffer: buffers begin at multiples of 256 bytes.
unsigned copy_elements(const KernelArgument& pointer, std::uint64_t row, std::uint64_t stride,
                       kernels::ElementType type) {
    const unsigned bytes = kernels::bytes_of(type);
    return common_width(16 / bytes, {row, stride, pointer.byte_offset / bytes});
}

/// What base addresses, rows and batch entries allow. A recorded kernel may have been made for less; others go
/// by the result's rows, too.
kernels::GemmAlignment alignment_of(const GpuProgramBuilder& b, const Product& p, bool tf32) {
    const auto aligned = [](const KernelArgument& pointer, kernels::ElementType type,
                            std::initializer_list<std::uint64_t> elements) {
        bool result = pointer.byte_offset % kernels::kTensorAlignment == 0;
        for (const std::uint64_t count : elements)
            result = result && count * kernels::bytes_of(type) % kernels::kTensorAlignment == 0;
        return result;
    };
    const kernels::ElementType type = kernel_type(b.input(0).type), output = kernel_type(b.output(0).type);
    kernels::GemmAlignment alignment;
    alignment.copy_a = copy_elements(p.a, p.lda, p.stride_a, type);
    alignment.copy_b = copy_elements(p.b, p.ldb, p.stride_b, type);
    alignment.rows_along_k = !p.transpose_a && p.transpose_b;
    alignment.tensor_maps =
        aligned(p.a, type, {p.lda, p.stride_a}) && aligned(p.b, type, {p.ldb, p.stride_b});
    alignment.k_contiguous = !p.transpose_a && p.transpose_b;
    alignment.tensor_store = aligned(b.output_pointer("d", 0), output, {p.n, p.stride_d});
    const unsigned widest = 16 / kernels::bytes_of(type);
    const std::int64_t recorded = b.op().get(keys::any.copy_elements);
    if (recorded <= 0)
        return kernels::with_one_alignment(alignment, type, tf32, common_width(widest, {p.n, p.stride_d}));
    const auto most = static_cast<unsigned>(std::min<std::int64_t>(recorded, widest));
    alignment.copy_a = std::min(alignment.copy_a, most);
    alignment.copy_b = std::min(alignment.copy_b, most);
    return alignment;
}

/// The product, or with slices of K its sums in `workspace`.
void launch_wgmma(GpuProgramBuilder& b, const Product& p, const kernels::GemmChoice& choice,
                  const Epilogue& epilogue, program::BufferId workspace, bool tensor_store) {
    const bool split = choice.splits > 1;
    kernels::GemmWgmmaSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.type = kernel_type(b.input(0).type);
    if (b.input(1).type != b.input(0).type) spec.type_b = kernel_type(b.input(1).type);
    spec.tile = *choice.wgmma;
    spec.transpose_a = p.transpose_a;
    spec.transpose_b = p.transpose_b;
    spec.raster_log2 = choice.raster_log2;
    spec.partition = {p.batch > 1, split};
    spec.stream_k = choice.stream.has_value();
    spec.tensor_store = tensor_store;
    // An operand that does not run along k is kept in whole swizzle atoms, which may leave room for fewer
    // stages.
    spec.tile.stages = std::min(spec.tile.stages, kernels::wgmma_stages(spec, b.target()));
    if (split) {
        spec.epilogue.vector_width = common_width(4, {p.n});
    } else {
        spec.epilogue = epilogue.spec;
    }
    kernels::GemmProblem problem;
    problem.m = p.m;
    problem.n = p.n;
    problem.k = p.k;
    problem.batch = p.batch;
    problem.lda = p.lda;
    problem.ldb = p.ldb;
    problem.ldc = problem.ldd = p.n;
    problem.stride_a = p.stride_a;
    problem.stride_b = p.stride_b;
    problem.stride_c = problem.stride_d = p.stride_d;
    problem.a = p.a;
    problem.b = p.b;
    problem.d = split ? kernels::pointer_argument("d", workspace) : b.output_pointer("d", 0);
    problem.splits = choice.splits;
    problem.k_per_split = choice.k_per_split;
    const kernels::GemmWgmmaLaunch launch = kernels::gemm_wgmma_launch(spec, problem, b.target().sm_count);
    std::vector<KernelArgument> arguments = launch.arguments;
    if (!split) {
        for (const KernelArgument& argument : epilogue.arguments) {
            const bool known = argument.parameter == "ldc" || argument.parameter == "stride_c";
            if (!known) arguments.push_back(argument);
        }
    }
    b.launch(kernels::generate_gemm_wgmma(spec), launch.grid, arguments);
}

bool is_float8(kernels::ElementType type) {
    return type == kernels::ElementType::e4m3 || type == kernels::ElementType::e5m2;
}

bool is_half(kernels::ElementType type) {
    return type == kernels::ElementType::f16 || type == kernels::ElementType::bf16;
}

/// Throws Unsupported where no kernel multiplies the op's types.
void check_types(const GpuProgramBuilder& b) {
    const kernels::ElementType type = kernel_type(b.input(0).type), type_b = kernel_type(b.input(1).type);
    // Gradients in e5m2 with weights and activations in e4m3.
    if (type_b != type && (!is_float8(type) || !is_float8(type_b)))
        throw Unsupported{"no matmul kernel for two input types"};
    const bool i8 = type == kernels::ElementType::i8;
    if (!is_half(type) && !is_float8(type) && !i8 && type != kernels::ElementType::f32 &&
        type != kernels::ElementType::f64)
        throw Unsupported{"no matmul kernel for " + kernels::name_of(type)};
    if (i8 && kernel_type(b.output(0).type) != kernels::ElementType::i32)
        throw Unsupported{"no matmul kernel that stores products of i8 as anything but i32"};
}

/// Where the result goes, operands, extents and strides: of every kernel of products but those on wgmma.
/// `result`: pointers of the epilogue and of the result, or of the workspace for slices of k.
std::vector<KernelArgument> arguments_of(const Product& p, const kernels::GemmChoice& choice,
                                         std::vector<KernelArgument> result) {
    std::vector<KernelArgument> arguments = std::move(result);
    arguments.push_back(p.a);
    arguments.push_back(p.b);
    arguments.push_back(kernels::integer_argument("m", p.m));
    arguments.push_back(kernels::integer_argument("n", p.n));
    arguments.push_back(kernels::integer_argument("k", p.k));
    arguments.push_back(kernels::integer_argument("lda", p.lda));
    arguments.push_back(kernels::integer_argument("ldb", p.ldb));
    arguments.push_back(kernels::integer_argument("ldd", p.n));
    arguments.push_back(kernels::integer_argument("stride_a", p.stride_a));
    arguments.push_back(kernels::integer_argument("stride_b", p.stride_b));
    arguments.push_back(kernels::integer_argument("stride_d", p.stride_d));
    arguments.push_back(kernels::integer_argument("k_per_split", choice.k_per_split));
    arguments.push_back(kernels::integer_argument("splits", choice.splits));
    return arguments;
}

}  // namespace

void lower_matmul(GpuProgramBuilder& b) {
    b.require_dense_outputs();
    b.require_dense_input(0);
    b.require_dense_input(1);
    const bool tf32 = b.op().get(keys::any.compute_type) == "tf32";
    Product p = product_of(b);
    const kernels::ElementType type = kernel_type(b.input(0).type);
    const bool mixed = kernel_type(b.input(1).type) != type;
    check_types(b);
    const Epilogue epilogue = epilogue_of(b, p);
    const bool i8 = type == kernels::ElementType::i8;
    if (i8 && epilogue.spec.expression) throw Unsupported{"no matmul kernel of i8 with an epilogue"};
    if (i8 || is_float8(type)) transpose_operands(b, p, type);

    const kernels::GemmAlignment alignment = alignment_of(b, p, tf32);
    const kernels::GemmShape shape{p.m, p.n, p.k, p.batch, tf32};
    kernels::GemmChoice choice = b.pick_gemm() ? b.pick_gemm()(shape, type, b.target(), alignment)
                                               : kernels::choose_gemm(shape, type, b.target(), alignment);
    if (mixed && !choice.wgmma) throw Unsupported{"no matmul kernel for two input types without wgmma"};
    const std::optional<kernels::GemmTile> tile = recorded_tile(b);
    if (tile && !b.pick_gemm()) take_tile(choice, *tile, b, p, alignment);
    if (!b.pick_gemm()) take_simt_tile(choice, b, p);
    if (!b.pick_gemm()) take_slices(choice, b.op().get(keys::any.slices), p);

    const bool split = choice.splits > 1;
    const kernels::ElementType accumulator =
        type == kernels::ElementType::f64 ? kernels::ElementType::f64 : kernels::ElementType::f32;
    std::vector<KernelArgument> result;
    program::BufferId workspace = 0;
    if (split) {
        workspace =
            b.workspace("split-k", p.stride_d * p.batch * choice.splits * kernels::bytes_of(accumulator));
        result.push_back(kernels::pointer_argument("d", workspace));
    } else {
        result = epilogue.arguments;
        result.push_back(b.output_pointer("d", 0));
    }
    const std::vector<KernelArgument> arguments = arguments_of(p, choice, std::move(result));

    const auto describe = [&](auto& spec, unsigned tile_k) {
        spec.compute_capability = b.compute_capability();
        spec.type = type;
        spec.transpose_a = p.transpose_a;
        spec.transpose_b = p.transpose_b;
        spec.full_k = p.k % tile_k == 0 && choice.k_per_split % tile_k == 0;
        spec.raster_log2 = choice.raster_log2;
        spec.partition.batched = p.batch > 1;
        spec.partition.split_k = split;
        if (split) {
            spec.epilogue.output = accumulator;
            spec.epilogue.vector_width = common_width(16 / kernels::bytes_of(accumulator), {p.n});
        } else {
            spec.epilogue = epilogue.spec;
        }
    };
    if (choice.gemv_warps != 0) {
        kernels::GemvSpec spec;
        spec.compute_capability = b.compute_capability();
        spec.type = type;
        spec.warps = choice.gemv_warps;
        spec.vector = std::min(copy_elements(p.a, p.lda, p.stride_a, type),
                               copy_elements(p.b, p.ldb, p.stride_b, type));
        spec.batched = p.batch > 1;
        spec.epilogue = epilogue.spec;
        b.launch(kernels::generate_gemv(spec), kernels::gemv_grid(spec, p.m, p.n, p.batch), arguments);
    } else if (choice.wgmma) {
        launch_wgmma(b, p, choice, epilogue, workspace, alignment.tensor_store);
    } else if (choice.tensor_cores) {
        kernels::GemmMmaSpec spec;
        spec.tile = choice.tile;
        spec.copy_a = alignment.copy_a;
        spec.copy_b = alignment.copy_b;
        describe(spec, choice.tile.k);
        b.launch(kernels::generate_gemm_mma(spec),
                 kernels::gemm_mma_grid(spec, p.m, p.n, p.batch * choice.splits), arguments);
    } else {
        if (is_half(type))
            throw Unsupported{"no matmul kernel for " + kernels::name_of(type) + " without tensor cores"};
        kernels::GemmSimtSpec spec;
        spec.tile_m = choice.tile.m;
        spec.tile_n = choice.tile.n;
        spec.vector_a = alignment.copy_a;
        spec.vector_b = alignment.copy_b;
        describe(spec, kernels::kGemmSimtTileK);
        b.launch(kernels::generate_gemm_simt(spec),
                 kernels::gemm_simt_grid(spec, p.m, p.n, p.batch * choice.splits), arguments);
    }
    if (split) launch_split_k_reduce(b, p, epilogue, accumulator, workspace, choice);
}

}  // namespace heddle::lowering
