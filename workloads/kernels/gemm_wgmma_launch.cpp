// The grid, the tensor maps and the scalars of a Hopper GEMM.
#include <algorithm>

#include "isa/common/error.h"
#include "workloads/kernels/gemm_wgmma_parts.h"

namespace heddle::kernels {
namespace {

/// CUtensorMapSwizzle
unsigned swizzle_of(unsigned line_bytes) {
    return line_bytes == 128 ? 3 : line_bytes == 64 ? 2 : line_bytes == 32 ? 1 : 0;
}

TensorMapSpec matrix_map(ElementType type, std::uint64_t inner, std::uint64_t outer, std::uint64_t leading,
                         std::uint64_t entries, std::uint64_t stride, bool batched) {
    TensorMapSpec map;
    map.data_type = tensor_map_type(type);
    map.rank = batched ? 3 : 2;
    map.sizes = {inner, outer, batched ? entries : 0};
    map.strides = {leading * bytes_of(type), batched ? stride * bytes_of(type) : 0};
    map.box[2] = batched ? 1 : 0;
    map.l2_promotion = 2;  // 128 bytes
    return map;
}

/// Of A or B: `rows` by k, and how a CTA of a cluster of `shared_by` copies its part.
TensorMapSpec operand_map(ElementType type, bool along_k, std::uint64_t rows, std::uint64_t k,
                          std::uint64_t leading, unsigned extent, unsigned shared_by, std::uint64_t entries,
                          std::uint64_t stride, bool batched) {
    const unsigned line = 128 / bytes_of(type);
    // An operand that all entries share is a tensor with one entry.
    const std::uint64_t plane = leading * (along_k ? rows : k);
    TensorMapSpec map = matrix_map(type, along_k ? k : rows, along_k ? rows : k, leading,
                                   stride == 0 ? 1 : entries, stride == 0 ? plane : stride, batched);
    map.box[0] = line;
    map.box[1] = along_k ? extent / shared_by : wgmma_tile_k(type) / shared_by;
    map.swizzle = swizzle_of(128);
    return map;
}

TensorMapSpec result_map(const GemmWgmmaSpec& spec, const GemmProblem& p, unsigned outer) {
    const WgmmaStore store(spec);
    const bool batched = spec.partition.batched || spec.partition.split_k;
    TensorMapSpec map = matrix_map(store.type, p.n, p.m, p.ldd, std::uint64_t{p.batch} * p.splits,
                                   p.stride_d == 0 ? p.ldd * p.m : p.stride_d, batched);
    map.box[0] = store.inner;
    map.box[1] = outer;
    map.swizzle = swizzle_of(store.line_bytes);
    return map;
}

}  // namespace

StreamK stream_k_of(const GemmWgmmaSpec& spec, const GemmProblem& p, unsigned sm_count) {
    StreamK stream;
    stream.stages_per_tile = divide_up(p.k, wgmma_tile_k(spec.type));
    stream.tiles_m = divide_up(p.m, spec.tile.m);
    const std::uint64_t stages = std::uint64_t{stream.stages_per_tile} * stream.tiles_m *
                                 divide_up(p.n, spec.tile.n),
                        at_once = std::uint64_t{sm_count} * spec.tile.ctas_per_sm;
    if (stages >= std::uint64_t{1} << 31) throw Error("stream-K of " + std::to_string(stages) + " stages");
    stream.stages_per_cta = divide_up(stages, std::uint32_t(std::min(stages, at_once)));
    stream.ctas = divide_up(stages, stream.stages_per_cta);
    // A tile that begins in the last stage of a CTA has the most parts.
    stream.slices = 1 + divide_up(stream.stages_per_tile - 1, stream.stages_per_cta);
    return stream;
}

std::uint32_t StreamK::first_stages(std::uint32_t tile_m, std::uint32_t tile_n) const {
    const std::uint64_t begin = (std::uint64_t{tile_n} * tiles_m + tile_m) * stages_per_tile;
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(stages_per_tile, stages_per_cta - begin % stages_per_cta));
}

GemmWgmmaLaunch gemm_wgmma_launch(const GemmWgmmaSpec& spec, const GemmProblem& p, unsigned sm_count) {
    const WgmmaTile& tile = spec.tile;
    const WgmmaLayout layout(spec);
    const bool batched = spec.partition.batched;
    const bool a_along_k = !spec.transpose_a, b_along_k = spec.transpose_b;
    GemmWgmmaLaunch launch;
    std::vector<KernelArgument>& arguments = launch.arguments;
    arguments.push_back(tensor_map_argument("tensor_a", p.a,
                                            operand_map(spec.type, a_along_k, p.m, p.k, p.lda, tile.m,
                                                        tile.cluster_n, p.batch, p.stride_a, batched)));
    arguments.push_back(tensor_map_argument("tensor_b", p.b,
                                            operand_map(spec.type, b_along_k, p.n, p.k, p.ldb, tile.n,
                                                        tile.cluster_m, p.batch, p.stride_b, batched)));
    if (stores_by_tensor_map(spec)) {
        const WgmmaStore store(spec);
        arguments.push_back(tensor_map_argument("tensor_d", p.d, result_map(spec, p, store.outer)));
        if (store.tail != 0)
            arguments.push_back(tensor_map_argument("tensor_d_tail", p.d, result_map(spec, p, store.tail)));
    }
    arguments.push_back(pointer_argument("d", p.d.buffer, p.d.byte_offset));

    const unsigned k_tiles = divide_up(p.k, wgmma_tile_k(spec.type));
    const unsigned tiles_m = divide_up(p.m, tile.m * tile.cluster_m);
    const unsigned tiles_n = divide_up(p.n, tile.n * tile.cluster_n);
    const unsigned columns = divide_up(tiles_n, 1u << spec.raster_log2) << spec.raster_log2;
    const std::uint64_t per_entry = std::uint64_t{tiles_m} * columns;
    const std::uint64_t tiles = per_entry * p.batch * p.splits;
    if (tiles * tile.cluster_size() >= std::uint64_t{1} << 31) {
        throw Error("a GEMM of " + std::to_string(tiles) + " tiles", {}, "use larger tiles");
    }
    const auto integer = [&](const char* name, std::uint64_t value) {
        arguments.push_back(integer_argument(name, value));
    };
    integer("m", p.m);
    integer("n", p.n);
    integer("ldc", p.ldc);
    integer("ldd", p.ldd);
    integer("stride_c", p.stride_c);
    integer("stride_d", p.stride_d);
    const StreamK stream = spec.stream_k ? stream_k_of(spec, p, sm_count) : StreamK{};
    integer("tiles", spec.stream_k ? tiles / p.splits * k_tiles : tiles);
    integer("tiles_n", tiles_n);
    integer("k_tiles", k_tiles);
    integer("k_tiles_per_split", spec.partition.split_k ? p.k_per_split / wgmma_tile_k(spec.type) : k_tiles);
    integer("splits", p.splits);
    integer("a_entries", p.stride_a == 0 ? 0 : 1);
    integer("b_entries", p.stride_b == 0 ? 0 : 1);
    add_divider_arguments(arguments, "tiles_per_entry", static_cast<std::uint32_t>(per_entry));
    add_divider_arguments(arguments, "tiles_m", tiles_m);

    if (spec.stream_k) {
        if (p.splits != stream.slices)
            throw Error("stream-K of " + std::to_string(stream.slices) + " slices was given " +
                        std::to_string(p.splits));
        add_divider_arguments(arguments, "stages_per_tile", k_tiles);
        add_divider_arguments(arguments, "stages_per_cta", stream.stages_per_cta);
        launch.grid[0] = stream.ctas;
        return launch;
    }
    const std::uint64_t at_once = std::uint64_t{sm_count} * tile.ctas_per_sm / tile.cluster_size();
    launch.grid[0] = static_cast<std::uint32_t>(std::min(std::max<std::uint64_t>(1, at_once), tiles)) *
                     tile.cluster_size();
    return launch;
}

}  // namespace heddle::kernels
