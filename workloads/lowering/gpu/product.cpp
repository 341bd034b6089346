#include "workloads/lowering/gpu/product.h"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "workloads/kernels/data_movement.h"
#include "workloads/kernels/gemm_mma.h"
#include "workloads/kernels/gemm_simt.h"
#include "workloads/kernels/gemm_wgmma.h"
#include "workloads/kernels/gemv.h"
#include "workloads/kernels/split_k.h"

namespace heddle::lowering {
namespace {

using kernels::KernelArgument;

/// Largest power of two up to `most` that divides every number.
unsigned common_width(unsigned most, std::initializer_list<std::uint64_t> numbers) {
    unsigned width = most;
    for (const std::uint64_t number : numbers) {
        while (width > 1 && number % width != 0) width /= 2;
    }
    return width;
}

bool is_float8(kernels::ElementType type) {
    return type == kernels::ElementType::e4m3 || type == kernels::ElementType::e5m2;
}

bool is_half(kernels::ElementType type) {
    return type == kernels::ElementType::f16 || type == kernels::ElementType::bf16;
}

kernels::ElementType accumulator_of(const GpuProduct& p) {
    return p.type_a == kernels::ElementType::f64 ? kernels::ElementType::f64 : kernels::ElementType::f32;
}

std::uint64_t dense(const GpuProduct& p) {
    return std::uint64_t{p.m} * p.n;
}

/// Elements that each access to D, C, the bias and the auxiliary output may take.
unsigned result_width(const GpuProduct& p) {
    const kernels::GemmEpilogue& epilogue = p.epilogue;
    unsigned widest = kernels::bytes_of(epilogue.output);
    if (!epilogue.expression) return common_width(16 / widest, {p.n, p.ldd, p.d.byte_offset / widest, p.stride_d});
    widest = std::max(widest, kernels::bytes_of(epilogue.bias));
    if (p.ldc != 0) widest = std::max(widest, kernels::bytes_of(epilogue.c));
    for (const KernelArgument& argument : p.epilogue_arguments)
        if (argument.parameter == "auxiliary") widest = std::max(widest, kernels::bytes_of(epilogue.auxiliary));
    unsigned width = common_width(16 / widest, {p.n, p.ldd, p.ldc, p.stride_d, p.stride_c,
                                                p.d.byte_offset / kernels::bytes_of(epilogue.output)});
    for (const KernelArgument& argument : p.epilogue_arguments) {
        if (!argument.pointer) continue;
        if (argument.parameter == "c") width = common_width(width, {argument.byte_offset / kernels::bytes_of(epilogue.c)});
        if (argument.parameter == "bias") width = common_width(width, {argument.byte_offset / kernels::bytes_of(epilogue.bias)});
        if (argument.parameter == "auxiliary")
            width = common_width(width, {argument.byte_offset / kernels::bytes_of(epilogue.auxiliary)});
    }
    return width;
}

/// What copies of an operand may take by its address, its rows and its batch entries.
unsigned copy_elements(const KernelArgument& pointer, std::uint64_t row, std::uint64_t stride,
                       kernels::ElementType type) {
    const unsigned bytes = kernels::bytes_of(type);
    return common_width(16 / bytes, {row, stride, pointer.byte_offset / bytes});
}

/// Where the result goes, operands, extents and strides: of every kernel of products but those on wgmma.
std::vector<KernelArgument> arguments_of(const GpuProduct& p, const kernels::GemmChoice& choice,
                                         const KernelArgument& d) {
    const bool split = choice.splits > 1;
    std::vector<KernelArgument> arguments;
    if (!split) arguments = p.epilogue_arguments;
    const auto integer = [&](const char* name, std::uint64_t value) {
        arguments.push_back(kernels::integer_argument(name, value));
    };
    arguments.push_back(d);
    arguments.push_back(p.a);
    arguments.push_back(p.b);
    integer("m", p.m);
    integer("n", p.n);
    integer("k", p.k);
    integer("lda", p.lda);
    integer("ldb", p.ldb);
    integer("ldd", split ? p.n : p.ldd);
    integer("stride_a", p.stride_a);
    integer("stride_b", p.stride_b);
    integer("stride_d", split ? dense(p) : p.stride_d);
    integer("k_per_split", choice.k_per_split);
    integer("splits", choice.splits);
    if (!split && p.ldc != 0) {
        integer("ldc", p.ldc);
        integer("stride_c", p.stride_c);
    }
    return arguments;
}

/// The product, or with slices of K its sums in `d`.
void launch_wgmma(GpuProgramBuilder& b, const GpuProduct& p, const kernels::GemmChoice& choice, const KernelArgument& d,
                  bool tensor_store) {
    const bool split = choice.splits > 1;
    kernels::GemmWgmmaSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.type = p.type_a;
    if (p.type_b != p.type_a) spec.type_b = p.type_b;
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
        spec.epilogue = p.epilogue;
    }
    kernels::GemmProblem problem;
    problem.m = p.m;
    problem.n = p.n;
    problem.k = p.k;
    problem.batch = p.batch;
    problem.lda = p.lda;
    problem.ldb = p.ldb;
    problem.ldd = split ? p.n : p.ldd;
    problem.ldc = p.ldc != 0 ? p.ldc : problem.ldd;
    problem.stride_a = p.stride_a;
    problem.stride_b = p.stride_b;
    problem.stride_d = split ? dense(p) : p.stride_d;
    problem.stride_c = p.ldc != 0 ? p.stride_c : problem.stride_d;
    problem.a = p.a;
    problem.b = p.b;
    problem.d = d;
    problem.splits = choice.splits;
    problem.k_per_split = choice.k_per_split;
    const kernels::GemmWgmmaLaunch launch = kernels::gemm_wgmma_launch(spec, problem, b.target().sm_count);
    std::vector<KernelArgument> arguments = launch.arguments;
    if (!split) arguments.insert(arguments.end(), p.epilogue_arguments.begin(), p.epilogue_arguments.end());
    b.launch(kernels::generate_gemm_wgmma(spec), launch.grid, arguments);
}

void launch_split_k_reduce(GpuProgramBuilder& b, const GpuProduct& p, program::BufferId workspace,
                           const kernels::GemmChoice& choice) {
    kernels::SplitKReduceSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.accumulator = accumulator_of(p);
    spec.batched = p.batch > 1;
    spec.epilogue = p.epilogue;
    std::vector<KernelArgument> arguments = p.epilogue_arguments;
    const auto integer = [&](const char* name, std::uint64_t value) {
        arguments.push_back(kernels::integer_argument(name, value));
    };
    if (p.ldc != 0) {
        integer("ldc", p.ldc);
        integer("stride_c", p.stride_c);
    }
    if (choice.stream) {
        spec.stream_tile_m = choice.tile.m;
        spec.stream_tile_n = choice.tile.n;
        integer("tiles_m", choice.stream->tiles_m);
        integer("stages_per_tile", choice.stream->stages_per_tile);
        kernels::add_divider_arguments(arguments, "stages_per_cta", choice.stream->stages_per_cta);
    }
    arguments.push_back(kernels::pointer_argument("workspace", workspace));
    arguments.push_back(p.d);
    integer("m", p.m);
    integer("n", p.n);
    integer("ldd", p.ldd);
    integer("splits", choice.splits);
    integer("slice_stride", dense(p));
    integer("stride_d", p.stride_d);
    kernels::add_divider_arguments(arguments, "row_vectors", p.n / kernels::split_k_reduce_width(spec));
    b.launch(kernels::generate_split_k_reduce(spec), kernels::split_k_reduce_grid(spec, p.m, p.n, p.batch),
             arguments);
}

}  // namespace

void check_types(const GpuProduct& p) {
    // Gradients in e5m2 with weights and activations in e4m3.
    if (p.type_b != p.type_a && (!is_float8(p.type_a) || !is_float8(p.type_b)))
        throw Unsupported{"no matmul kernel for two input types"};
    const bool i8 = p.type_a == kernels::ElementType::i8;
    if (!is_half(p.type_a) && !is_float8(p.type_a) && !i8 && p.type_a != kernels::ElementType::f32 &&
        p.type_a != kernels::ElementType::f64)
        throw Unsupported{"no matmul kernel for " + kernels::name_of(p.type_a)};
    if (i8 && p.epilogue.output != kernels::ElementType::i32)
        throw Unsupported{"no matmul kernel that stores products of i8 as anything but i32"};
    if (i8 && p.epilogue.expression) throw Unsupported{"no matmul kernel of i8 with an epilogue"};
}

void transpose_for_tensor_cores(GpuProgramBuilder& b, GpuProduct& p) {
    const kernels::ElementType type = p.type_a;
    if (type != kernels::ElementType::i8 && !is_float8(type)) return;
    const auto transpose = [&](const char* purpose, KernelArgument& operand, std::uint32_t extent, std::uint32_t leading,
                               std::uint64_t& stride) {
        const std::uint32_t entries = stride != 0 ? p.batch : 1;
        if (leading != extent || (entries > 1 && stride != std::uint64_t{extent} * p.k))
            throw Unsupported{"no kernel that transposes operands of 8 bits with gaps between their rows"};
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
        transpose("transposed a", p.a, p.m, p.lda, p.stride_a);
        p.transpose_a = false;
        p.lda = p.k;
    }
    if (!p.transpose_b) {
        transpose("transposed b", p.b, p.n, p.ldb, p.stride_b);
        p.transpose_b = true;
        p.ldb = p.k;
    }
}

kernels::GemmAlignment alignment_of(const GpuProduct& p, std::int64_t recorded) {
    const auto aligned = [](const KernelArgument& pointer, kernels::ElementType type,
                            std::initializer_list<std::uint64_t> elements) {
        bool result = pointer.byte_offset % kernels::kTensorAlignment == 0;
        for (const std::uint64_t count : elements)
            result = result && count * kernels::bytes_of(type) % kernels::kTensorAlignment == 0;
        return result;
    };
    const kernels::ElementType type = p.type_a;
    kernels::GemmAlignment alignment;
    alignment.copy_a = copy_elements(p.a, p.lda, p.stride_a, type);
    alignment.copy_b = copy_elements(p.b, p.ldb, p.stride_b, type);
    alignment.rows_along_k = !p.transpose_a && p.transpose_b;
    alignment.tensor_maps =
        aligned(p.a, type, {p.lda, p.stride_a}) && aligned(p.b, type, {p.ldb, p.stride_b});
    alignment.k_contiguous = !p.transpose_a && p.transpose_b;
    alignment.tensor_store = aligned(p.d, p.epilogue.output, {p.ldd, p.stride_d});
    const unsigned widest = 16 / kernels::bytes_of(type);
    if (recorded <= 0)
        return kernels::with_one_alignment(alignment, type, p.tf32, common_width(widest, {p.ldd, p.stride_d}));
    const auto most = static_cast<unsigned>(std::min<std::int64_t>(recorded, widest));
    alignment.copy_a = std::min(alignment.copy_a, most);
    alignment.copy_b = std::min(alignment.copy_b, most);
    return alignment;
}

void launch_product(GpuProgramBuilder& b, GpuProduct p, const kernels::GemmAlignment& alignment,
                    const kernels::GemmChoice& choice) {
    const kernels::ElementType type = p.type_a, accumulator = accumulator_of(p);
    if (p.type_b != type && !choice.wgmma) throw Unsupported{"no matmul kernel for two input types without wgmma"};
    p.epilogue.vector_width = result_width(p);
    const bool split = choice.splits > 1;
    program::BufferId workspace = 0;
    KernelArgument d = p.d;
    if (split) {
        workspace = b.workspace("split-k", dense(p) * p.batch * choice.splits * kernels::bytes_of(accumulator));
        d = kernels::pointer_argument("d", workspace);
    }
    const std::vector<KernelArgument> arguments = arguments_of(p, choice, d);
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
            spec.epilogue = p.epilogue;
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
        spec.epilogue = p.epilogue;
        b.launch(kernels::generate_gemv(spec), kernels::gemv_grid(spec, p.m, p.n, p.batch), arguments);
    } else if (choice.wgmma) {
        launch_wgmma(b, p, choice, d, alignment.tensor_store);
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
    if (split) launch_split_k_reduce(b, p, workspace, choice);
}

}  // namespace heddle::lowering
