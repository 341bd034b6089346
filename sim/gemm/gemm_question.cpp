#include "sim/gemm/gemm_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <optional>
#include <string_view>

#include "isa/common/error.h"
#include "workloads/kernels/gemm_wgmma_choice.h"
#include "workloads/kernels/name_numbers.h"
#include "workloads/lowering/gpu/gpu_lowering.h"

namespace heddle::sim {
namespace {

/// tf32 is how the tensor cores read f32.
trace::ElementType stored(trace::ElementType type) {
    return type == trace::ElementType::tf32 ? trace::ElementType::f32 : type;
}

trace::Trace trace_of(const GemmQuestion& question) {
    using trace::TensorRole;
    const std::int64_t m = question.m, n = question.n, k = question.k;
    trace::Trace trace;
    trace.name = name_of(question);
    const auto matrix = [&](const char* name, std::int64_t rows, std::int64_t columns, TensorRole role) {
        trace::Tensor tensor;
        tensor.name = name;
        tensor.type = stored(role == TensorRole::activation ? result_type_of(question) : question.type);
        tensor.shape = {rows, columns};
        if (question.batch > 1) tensor.shape.insert(tensor.shape.begin(), question.batch);
        tensor.role = role;
        return trace.add(std::move(tensor));
    };
    trace::Op op;
    op.name = "gemm";
    op.kind = trace::OpKind::matmul;
    op.inputs = {
        question.transpose_a ? matrix("a", k, m, TensorRole::input) : matrix("a", m, k, TensorRole::input),
        question.transpose_b ? matrix("b", n, k, TensorRole::parameter)
                             : matrix("b", k, n, TensorRole::parameter)};
    op.outputs = {matrix("d", m, n, TensorRole::activation)};
    op.set(keys::matmul.transpose_a, question.transpose_a);
    op.set(keys::matmul.transpose_b, question.transpose_b);
    if (question.type == trace::ElementType::tf32) op.set(keys::any.compute_type, "tf32");
    trace.add(std::move(op));
    return trace;
}

/// Whether TMA can read A and B and write D: rows of whole 16 bytes.
kernels::GemmAlignment alignment_of(const GemmQuestion& question) {
    const unsigned bytes = trace::bytes_of(question.type);
    // 8-bit types are transposed where k is not contiguous (lowering/gpu/matmul.cpp).
    const std::uint32_t row_a = question.transpose_a && bytes > 1 ? question.m : question.k;
    const std::uint32_t row_b = question.transpose_b || bytes == 1 ? question.k : question.n;
    const auto aligned = [&](std::uint32_t elements) {
        return elements * std::uint64_t{bytes} % kernels::kTensorAlignment == 0;
    };
    kernels::GemmAlignment alignment;
    const unsigned widest = 16 / std::max(1u, bytes);
    const auto copy_of = [&](std::uint32_t row) { return std::gcd(widest, row); };
    alignment.copy_a = copy_of(row_a);
    alignment.copy_b = copy_of(row_b);
    alignment.tensor_maps = aligned(row_a) && aligned(row_b);
    alignment.tensor_store =
        question.n * std::uint64_t{trace::bytes_of(result_type_of(question))} % kernels::kTensorAlignment ==
        0;
    alignment.k_contiguous = bytes == 1 || (!question.transpose_a && question.transpose_b);
    alignment.rows_along_k = !question.transpose_a && question.transpose_b;
    return kernels::with_one_alignment(alignment, kernel_type_of(question),
                                       question.type == trace::ElementType::tf32, copy_of(question.n));
}

/// k of a stage and stages of a recorded kernel of mma.sync, where they fit in shared memory.
void follow_stages(kernels::GemmChoice& choice, const kernels::GemmTile& recorded, unsigned element_bytes,
                   const models::gpu::GpuConfig& config) {
    if (!choice.tensor_cores || recorded.stages < 2 || recorded.stages > 8) return;
    kernels::GemmTile tile = choice.tile;
    tile.k = recorded.k;
    tile.stages = recorded.stages;
    const unsigned k_bytes = tile.k * element_bytes;
    if (k_bytes != 128 && (k_bytes != 64 || element_bytes == 8)) return;
    if (choice.k_per_split % tile.k != 0) return;
    if (kernels::gemm_mma_shared_bytes(tile, element_bytes) >
        models::gpu::target_of(config).shared_bytes_per_cta)
        return;
    choice.tile = tile;
}

kernels::GemmShape shape_of(const GemmQuestion& question) {
    return {question.m, question.n, question.k, question.batch, question.type == trace::ElementType::tf32};
}

/// Warpgroups, stages and cluster of the recorded kernel, as far as ours can be built so.
void follow(kernels::GemmChoice& choice, const kernels::RecordedGemm& recorded, const kernels::GemmShape& shape,
            kernels::ElementType type, const models::gpu::GpuConfig& config) {
    const unsigned element_bytes = kernels::bytes_of(type);
    if (!choice.wgmma) return follow_stages(choice, recorded.tile, element_bytes, config);
    if (target::nearest_generation(config.compute_capability).has_tcgen05) return;  // of nvjet_sm100 little is followed yet
    take_warpgroups(choice, recorded.warpgroups, type, models::gpu::target_of(config));
    kernels::WgmmaTile& tile = *choice.wgmma;
    if (recorded.tile.stages >= 2) {
        tile.stages = std::min(tile.stages, recorded.tile.stages);
        choice.tile.stages = tile.stages;
    }
    const unsigned m = recorded.cluster_m, n = recorded.cluster_n;
    if (!std::has_single_bit(m) || !std::has_single_bit(n) || m * n > 8 || tile.n / m % 8 != 0 ||
        tile.m / n % 8 != 0)
        return;
    tile.cluster_m = m;
    tile.cluster_n = n;
    choice.raster_log2 = kernels::wgmma_raster_log2(tile, shape, choice.splits, config.sm.count);
}

/// Hopper's kernels with a tile, whether or not they are candidates.
std::vector<kernels::GemmChoice> kernels_with_tile(const GemmQuestion& question,
                                                   const models::gpu::GpuConfig& config,
                                                   const kernels::GemmSurroundings& surroundings,
                                                   const kernels::GemmTile& tile) {
    const kernels::ElementType type = kernel_type_of(question);
    const kernels::GemmConditions conditions{gemm_machine(config, type),
                                             surroundings_of(question, surroundings)};
    const kernels::GemmAlignment alignment = alignment_of(question);
    return kernels::wgmma_kernels_with_tile(shape_of(question), type, models::gpu::target_of(config),
                                            conditions, alignment.tensor_store, alignment.k_contiguous,
                                            tile.m, tile.n);
}

}  // namespace

std::string name_of(const GemmQuestion& question) {
    return fmt::format("{}x{}x{} {} {}{}{}{}", question.m, question.n, question.k,
                       trace::name_of(question.type), question.transpose_a ? "t" : "n",
                       question.transpose_b ? "t" : "n",
                       question.batch > 1 ? fmt::format(", batch of {}", question.batch) : std::string(),
                       question.quantise ? ", A quantised" : "");
}

trace::ElementType gemm_type_from_name(const std::string& name) {
    if (name == "fp8") return trace::ElementType::e4m3;
    return trace::element_type_from_name(name);
}

trace::ElementType result_type_of(const GemmQuestion& question) {
    switch (question.type) {
        case trace::ElementType::e4m3:
        case trace::ElementType::e5m2:
            return trace::ElementType::bf16;
        case trace::ElementType::i8:
            return trace::ElementType::i32;
        default:
            return question.type;
    }
}

kernels::ElementType kernel_type_of(const GemmQuestion& question) {
    switch (question.type) {
        case trace::ElementType::f16:
            return kernels::ElementType::f16;
        case trace::ElementType::bf16:
            return kernels::ElementType::bf16;
        case trace::ElementType::f32:
        case trace::ElementType::tf32:
            return kernels::ElementType::f32;
        case trace::ElementType::e4m3:
            return kernels::ElementType::e4m3;
        case trace::ElementType::e5m2:
            return kernels::ElementType::e5m2;
        case trace::ElementType::i8:
            return kernels::ElementType::i8;
        case trace::ElementType::f64:
            return kernels::ElementType::f64;
        default:
            throw Error("no GEMM kernel for " + trace::name_of(question.type), {"--type", 0, ""},
                        "bf16, f16, tf32, fp8 (e4m3), e5m2, i8, f32 or f64");
    }
}

kernels::GemmWork work_of(const GemmQuestion& question) {
    kernels::GemmWork work;
    work.m = question.m;
    work.n = question.n;
    work.k = question.k;
    work.batch = question.batch;
    work.element_bytes = trace::bytes_of(question.type);
    work.result_bytes = trace::bytes_of(result_type_of(question));
    return work;
}

kernels::GemmSurroundings surroundings_of(const GemmQuestion& question,
                                          kernels::GemmSurroundings surroundings) {
    constexpr double kBeforeQuantised = 2;  // bytes of an element of A, bf16
    if (question.quantise)
        surroundings.beside_bytes += kBeforeQuantised * static_cast<double>(question.m) * question.k;
    return surroundings;
}

void check(const GemmQuestion& question, const models::gpu::GpuConfig& config) {
    constexpr std::uint32_t kLimit = 1u << 24;
    for (const std::uint32_t extent : {question.m, question.n, question.k}) {
        if (extent == 0 || extent > kLimit)
            throw Error(fmt::format("an extent of {} is out of range", extent), {"M N K", 0, ""},
                        fmt::format("1 to {}", kLimit));
    }
    if (question.batch == 0 || question.batch > 65535)
        throw Error(fmt::format("a batch of {} is out of range", question.batch), {"--batch", 0, ""},
                    "1 to 65535");
    if (question.quantise && question.batch > 1)
        throw Error("only single products are quantised", {"--quantise", 0, ""}, "leave out --batch");
    const bool fp8 = question.type == trace::ElementType::e4m3 || question.type == trace::ElementType::e5m2;
    if (question.quantise && !fp8)
        throw Error("only 8-bit floats are quantised", {"--quantise", 0, ""}, "add --type fp8");
    static_cast<void>(candidates(question, config, {}));
}

std::vector<kernels::GemmChoice> candidates(const GemmQuestion& question,
                                            const models::gpu::GpuConfig& config,
                                            const kernels::GemmSurroundings& surroundings) {
    const kernels::ElementType type = kernel_type_of(question);
    const kernels::GemmConditions conditions{gemm_machine(config, type),
                                             surroundings_of(question, surroundings)};
    return kernels::gemm_candidates(shape_of(question), type, models::gpu::target_of(config),
                                    alignment_of(question), true, &conditions);
}

std::optional<kernels::GemmChoice> streamed(const kernels::GemmChoice& choice, const GemmQuestion& question,
                                            const models::gpu::GpuConfig& config) {
    return kernels::streamed(choice, shape_of(question), kernel_type_of(question),
                             models::gpu::target_of(config));
}

void keep_best(std::vector<kernels::GemmChoice>& choices, std::size_t count, const GemmQuestion& question,
               const models::gpu::GpuConfig& config) {
    choices.resize(std::min(choices.size(), std::max<std::size_t>(1, count)));
    if (count < 2) return;
    if (const auto stream = streamed(choices.front(), question, config)) choices.push_back(*stream);
}

std::optional<kernels::RecordedGemm> tile_named(const std::string& name) {
    constexpr std::array pair{kernels::NameNumber{1, 3, 'x'}, kernels::NameNumber{1, 3, kernels::kWordEnd}};
    const auto bare = kernels::numbers_at(name, 0, pair);
    const std::string_view rest = bare ? std::string_view(name).substr(bare->end) : "";
    // What stands behind the two numbers is nothing, or "_stream_k".
    if (!bare || (rest.empty() ? name.back() == '_' : rest != "stream_k"))
        return kernels::gemm_from_kernel_name(name);
    kernels::RecordedGemm recorded;
    recorded.tile.m = bare->values[0];
    recorded.tile.n = bare->values[1];
    recorded.stream_k = !rest.empty();
    return recorded;
}

kernels::GemmChoice forced_choice(const GemmQuestion& question, const models::gpu::GpuConfig& config,
                                  const kernels::GemmSurroundings& surroundings, const std::string& name) {
    const std::optional<kernels::RecordedGemm> recorded = tile_named(name);
    if (!recorded)
        throw Error("`" + name + "` carries no tile", {"--tile", 0, ""},
                    "write MxN, or the name of a recorded GEMM kernel");
    const kernels::GemmTile& tile = recorded->tile;
    std::optional<kernels::GemmChoice> other;  // the best of those that do not have all that is recorded
    bool other_sliced = false;                 // it has the recorded slices of K
    std::vector<kernels::GemmChoice> all = candidates(question, config, surroundings);
    const bool listed = std::any_of(all.begin(), all.end(), [&](const kernels::GemmChoice& choice) {
        return choice.tile.m == tile.m && choice.tile.n == tile.n;
    });
    // Other tiles than those that are worth considering have been recorded, too.
    if (!listed && !all.empty() && all.front().wgmma)
        all = kernels_with_tile(question, config, surroundings, tile);
    for (kernels::GemmChoice& choice : all) {
        if (choice.tile.m != tile.m || choice.tile.n != tile.n) continue;
        if (recorded->stream_k) {
            const std::optional<kernels::GemmChoice> stream = streamed(choice, question, config);
            if (stream) return *stream;
            continue;
        }
        // Two thread blocks on an SM may leave no room for the recorded stages, which one has.
        const bool deep = !choice.wgmma || choice.tile.stages >= tile.stages;
        const bool sliced = !recorded->split_k || *recorded->split_k == (choice.splits > 1);
        follow(choice, *recorded, shape_of(question), kernel_type_of(question), config);
        if (deep && sliced) return choice;
        if (!other || (sliced && !other_sliced)) {
            other = choice;
            other_sliced = sliced;
        }
    }
    if (other) return *other;
    throw Error(fmt::format("no kernel for {} has a tile of {}x{}", name_of(question), tile.m, tile.n),
                {"--tile", 0, ""}, "see the candidates with --autotune 20");
}

program::GpuProgram gemm_program(const GemmQuestion& question, const models::gpu::GpuConfig& config,
                                 const kernels::GemmChoice& choice) {
    const auto pick = [&](const kernels::GemmShape&, kernels::ElementType, const target::GpuTarget&,
                          const kernels::GemmAlignment&) { return choice; };
    lowering::GpuLowering lowered =
        lowering::lower_for_gpu(trace_of(question), models::gpu::target_of(config), pick);
    if (!lowered.ops.front().unsupported.empty())
        throw Error("no kernel for " + name_of(question) + ": " + lowered.ops.front().unsupported);
    return std::move(lowered.program);
}

std::string describe(const kernels::GemmChoice& choice, unsigned compute_capability) {
    if (choice.gemv_warps != 0) return fmt::format("gemv, {} warps for an output", choice.gemv_warps);
    std::string text = fmt::format("{}x{}x{}", choice.tile.m, choice.tile.n, choice.tile.k);
    if (choice.wgmma) {
        const kernels::WgmmaTile& tile = *choice.wgmma;
        const bool tensor_memory = target::nearest_generation(compute_capability).has_tcgen05;
        text += fmt::format(" {}, {} stages", tensor_memory ? "tcgen05" : "wgmma", tile.stages);
        if (tensor_memory) {
            if (tile.cluster_m == 2) text += ", pairs of CTAs";
            if (choice.splits > 1) text += fmt::format(", {} slices of K", choice.splits);
            return text;
        }
        if (tile.swap) text += ", swapped";
        text += tile.schedule == kernels::WgmmaSchedule::ping_pong
                    ? ", ping-pong"
                    : fmt::format(", {} consumers", tile.consumers);
        if (tile.ctas_per_sm > 1) text += fmt::format(", {} CTAs per SM", tile.ctas_per_sm);
        if (tile.cluster_size() > 1) text += fmt::format(", cluster {}x{}", tile.cluster_m, tile.cluster_n);
    } else if (choice.tensor_cores) {
        text += fmt::format(" mma, {}x{} warps, {} stages", choice.tile.warps_m, choice.tile.warps_n,
                            choice.tile.stages);
    } else {
        text += " simt";
    }
    if (choice.stream) {
        return text + fmt::format(", stream-K: {} CTAs of {} stages", choice.stream->ctas,
                                  choice.stream->stages_per_cta);
    }
    if (choice.splits > 1) text += fmt::format(", {} slices of K", choice.splits);
    return text;
}

}  // namespace heddle::sim
