// Matrix products: tensor cores for 16-bit inputs, CUDA cores otherwise; tiles from the recorded kernel's
// name where it carries them, else by estimate.
#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

#include "workloads/expression/expression.h"
#include "workloads/kernels/gemm_choice.h"
#include "workloads/kernels/gemm_mma_choice.h"
#include "workloads/kernels/gemm_simt.h"
#include "workloads/lowering/gpu/builder.h"
#include "workloads/lowering/gpu/product.h"

namespace heddle::lowering {
namespace {

std::uint64_t batch_stride(const trace::Tensor& operand, const trace::Tensor& result) {
    const std::int64_t own =
        std::accumulate(operand.shape.begin(), operand.shape.end() - 2, std::int64_t{1}, std::multiplies<>());
    const std::int64_t all =
        std::accumulate(result.shape.begin(), result.shape.end() - 2, std::int64_t{1}, std::multiplies<>());
    if (own == 1) return 0;
    if (own != all) throw Unsupported{"no matmul kernel for operands that repeat along some batch axes only"};
    return static_cast<std::uint64_t>(operand.elements() / own);
}

GpuProduct product_of(const GpuProgramBuilder& b) {
    const trace::Op& op = b.op();
    const trace::Tensor &a = b.input(0), &y = b.output(0);
    GpuProduct p;
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
    p.ldd = p.n;
    p.a = b.input_pointer("a", 0);
    p.b = b.input_pointer("b", 1);
    p.d = b.output_pointer("d", 0);
    p.type_a = kernel_type(a.type);
    p.type_b = kernel_type(b.input(1).type);
    p.tf32 = op.get(keys::any.compute_type) == "tf32";
    // [batch, m, k] times one [k, n] is one tall product.
    if (p.batch > 1 && p.stride_b == 0 && !p.transpose_a && !b.has_input(2)) {
        p.m *= p.batch;
        p.batch = 1;
        p.stride_d = std::uint64_t{p.m} * p.n;
    }
    return p;
}

/// The epilogue with operands where the generator wants them: x1 a bias for each column, x2 a matrix like the
/// result, x3 and x4 single numbers.
void take_epilogue(const GpuProgramBuilder& b, GpuProduct& p) {
    const trace::Op& op = b.op();
    kernels::GemmEpilogue& epilogue = p.epilogue;
    epilogue.output = kernel_type(b.output(0).type);
    std::string text = op.get(keys::matmul.epilogue);
    if (text.empty() && b.has_input(2)) text = "y0 = x0 + x1";
    if (text.empty()) return;
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
            p.epilogue_arguments.push_back(b.input_pointer("factor" + std::to_string(factors++), i));
            continue;
        }
        p.epilogue_arguments.push_back(b.input_pointer(per_column ? "bias" : "c", i));
        (per_column ? epilogue.bias : epilogue.c) = kernel_type(operand.type);
        if (whole) {
            p.ldc = p.n;
            p.stride_c = p.stride_d;
        }
    }
    for (expression::Node& node : expression.nodes) {
        if (node.op == expression::Operator::input && node.index >= 1) node.index = place.at(node.index + 1);
    }
    expression.input_count = kernels::GemmEpilogue::kFirstFactor + kernels::GemmEpilogue::kFactors;
    epilogue.expression = expression;
    if (b.has_output(1)) {
        epilogue.auxiliary = kernel_type(b.output(1).type);
        p.epilogue_arguments.push_back(b.output_pointer("auxiliary", 1));
    }
    const std::vector<double> scalars = op.get(keys::matmul.scalars);
    for (std::size_t i = 0; i < scalars.size(); ++i) {
        const std::string name = "s" + std::to_string(i);
        p.epilogue_arguments.push_back(
            epilogue.output == kernels::ElementType::f64
                ? kernels::f64_argument(name, scalars[i])
                : kernels::f32_argument(name, static_cast<float>(scalars[i])));
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
               const GpuProduct& p, const kernels::GemmAlignment& alignment) {
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
void take_simt_tile(kernels::GemmChoice& choice, const GpuProgramBuilder& b, const GpuProduct& p) {
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
void take_slices(kernels::GemmChoice& choice, std::int64_t slices, const GpuProduct& p) {
    if (slices < 1 || choice.wgmma || choice.gemv_warps != 0 || p.k == 0) return;
    const unsigned tile_k = choice.tensor_cores ? choice.tile.k : kernels::kGemmSimtTileK;
    const auto tiles = static_cast<std::int64_t>(kernels::divide_up(p.k, tile_k));
    choice.k_per_split =
        kernels::divide_up(static_cast<unsigned>(tiles), static_cast<unsigned>(std::min(slices, tiles))) *
        tile_k;
    choice.splits = kernels::divide_up(p.k, choice.k_per_split);
}

}  // namespace

void lower_matmul(GpuProgramBuilder& b) {
    b.require_dense_outputs();
    b.require_dense_input(0);
    b.require_dense_input(1);
    GpuProduct p = product_of(b);
    take_epilogue(b, p);
    check_types(p);
    transpose_for_tensor_cores(b, p);

    const kernels::GemmAlignment alignment = alignment_of(p, b.op().get(keys::any.copy_elements));
    const kernels::GemmShape shape{p.m, p.n, p.k, p.batch, p.tf32};
    kernels::GemmChoice choice = b.pick_gemm() ? b.pick_gemm()(shape, p.type_a, b.target(), alignment)
                                               : kernels::choose_gemm(shape, p.type_a, b.target(), alignment);
    const std::optional<kernels::GemmTile> tile = recorded_tile(b);
    if (tile && !b.pick_gemm()) take_tile(choice, *tile, b, p, alignment);
    if (!b.pick_gemm()) take_simt_tile(choice, b, p);
    if (!b.pick_gemm()) take_slices(choice, b.op().get(keys::any.slices), p);
    launch_product(b, p, alignment, choice);
}

}  // namespace heddle::lowering
