#include "workloads/kernels/gemm_wgmma_choice.h"

#include <algorithm>
#include <optional>

namespace heddle::kernels {
namespace {

/// Of a library's kernels (nvjet_..._320x128_64x3_...): two do not hide a copy behind products.
constexpr unsigned kFewestStages = 3;

GemmWork wgmma_work_of(const GemmShape& shape, ElementType type) {
    GemmWork work;
    work.m = shape.m;
    work.n = shape.n;
    work.k = shape.k;
    work.batch = shape.batch;
    work.element_bytes = bytes_of(type);
    work.result_bytes = type == ElementType::i8 || type == ElementType::f32 ? 4 : 2;
    return work;
}

GemmShapeOfTile shape_of(const WgmmaTile& tile, unsigned splits) {
    GemmShapeOfTile shape;
    shape.m = tile.m;
    shape.n = tile.n;
    shape.rows = tile.rows();
    shape.columns = tile.columns();
    shape.ctas_per_sm = tile.ctas_per_sm;
    shape.splits = splits;
    shape.stages = tile.stages;
    return shape;
}

/// With the warpgroups that suit the tile; none when its sums do not fit in their registers. Several tiles
/// for each SM one after the other: one multiplies while another is stored.
std::optional<WgmmaTile> with_schedule(WgmmaTile tile, bool several_waves) {
    const unsigned rows = tile.rows(), columns = tile.columns();
    const bool ping_pong =
        several_waves && tile.ctas_per_sm == 1 && rows <= 128 && rows * columns <= 128 * 192;
    tile.schedule = ping_pong ? WgmmaSchedule::ping_pong : WgmmaSchedule::cooperative;
    tile.consumers = ping_pong ? 2 : rows == 64 ? 1 : rows == 192 ? 3 : 2;
    if (!wgmma_sums_fit(tile)) return std::nullopt;
    return tile;
}

/// wgmma's 64 rows lie along n, as in a library that thinks in columns, so that tiles go in fine steps over
/// m; without a tensor map of D they lie along m.
std::vector<WgmmaTile> tiles_for(const GemmShape& shape, ElementType type, bool tensor_store) {
    constexpr unsigned kLargest = 192 * 192;
    std::vector<WgmmaTile> tiles;
    for (const unsigned rows : {64u, 128u, 192u, 256u}) {
        for (unsigned columns = 8; columns <= 256; columns += columns < 64 ? 8 : 16) {
            if (rows * columns > kLargest) continue;
            if (type == ElementType::i8 && columns > 32 && columns % 16 != 0) continue;
            WgmmaTile tile;
            tile.swap = tensor_store;
            tile.m = tensor_store ? columns : rows;
            tile.n = tensor_store ? rows : columns;
            // Half empty tiles: a smaller one does the same.
            if (tile.m >= 2 * shape.m + 16 && tile.m > 64) continue;
            if (tile.n >= 2 * shape.n + 16 && tile.n > 64) continue;
            tiles.push_back(tile);
        }
    }
    return tiles;
}

/// Ways to cut the k steps into equal slices. Few tiles alone leave SMs without work.
std::vector<unsigned> splits_for(unsigned k_tiles, std::uint64_t tiles, unsigned sm_count) {
    std::vector<unsigned> splits{1};
    if (tiles >= sm_count) return splits;
    for (unsigned s = 2; s <= 64 && 2 * s <= k_tiles && tiles * s <= 4ull * sm_count; ++s)
        if (k_tiles % s == 0) splits.push_back(s);
    return splits;
}

/// Two CTAs that copy a common operand once, where that needs no further wave: then L2 is asked for less.
void choose_cluster(WgmmaTile& tile, const GemmShape& shape, unsigned slices, unsigned k_tiles,
                    unsigned sm_count) {
    const unsigned tiles_m = divide_up(shape.m, tile.m), tiles_n = divide_up(shape.n, tile.n);
    const std::uint64_t slots = std::uint64_t{sm_count} * tile.ctas_per_sm;
    const std::uint64_t ctas = std::uint64_t{tiles_m} * tiles_n * slices;
    // Short or small kernels are not worth the clusters' barriers.
    if (ctas * 2 <= sm_count || k_tiles < 8) return;
    const std::uint64_t waves = (ctas + slots - 1) / slots;
    unsigned least = tile.m + tile.n;
    for (const auto& [cluster_m, cluster_n] : {std::pair{2u, 1u}, {1u, 2u}}) {
        if (tiles_m < cluster_m || tiles_n < cluster_n) continue;
        if (tile.n / cluster_m % 8 != 0 || tile.m / cluster_n % 8 != 0) continue;
        const std::uint64_t padded = std::uint64_t{divide_up(tiles_m, cluster_m) * cluster_m} *
                                     (divide_up(tiles_n, cluster_n) * cluster_n) * slices;
        if ((padded + slots - 1) / slots > waves) continue;
        const unsigned copied = tile.m / cluster_n + tile.n / cluster_m;
        if (copied >= least) continue;
        least = copied;
        tile.cluster_m = cluster_m;
        tile.cluster_n = cluster_n;
    }
}

/// What a kernel is chosen for.
struct WgmmaProblem {
    const GemmShape& shape;
    ElementType type;
    const target::GpuTarget& target;
    const GemmConditions& conditions;
    bool allow_split_k, tensor_store;
    bool b_along_k;  ///< k is contiguous in B, so that columns need no whole 64
};

/// Appends the kernels with a tile: one or two CTAs per SM, and every split of K.
void add_kernels(std::vector<GemmChoice>& choices, const WgmmaProblem& problem, const WgmmaTile& plain) {
    const auto& [shape, type, target, conditions, allow_split_k, tensor_store, b_along_k] = problem;
    const GemmWork work = wgmma_work_of(shape, type);
    const unsigned tile_k = wgmma_tile_k(type), k_tiles = divide_up(shape.k, tile_k);
    const std::uint64_t tiles =
        std::uint64_t{divide_up(shape.m, plain.m)} * divide_up(shape.n, plain.n) * shape.batch;
    for (const unsigned ctas_per_sm : {1u, 2u}) {
        WgmmaTile tile = plain;
        tile.ctas_per_sm = ctas_per_sm;
        const std::optional<WgmmaTile> scheduled = with_schedule(tile, tiles > target.sm_count);
        if (!scheduled) continue;
        tile = *scheduled;
        GemmWgmmaSpec spec;
        spec.type = type;
        spec.tile = tile;
        spec.tensor_store = tensor_store;
        spec.transpose_b = b_along_k;
        tile.stages = wgmma_stages(spec, target);
        if (tile.stages < kFewestStages) continue;
        for (const unsigned splits : splits_for(k_tiles, tiles, target.sm_count)) {
            if (splits > 1 && (!allow_split_k || type == ElementType::i8)) break;
            WgmmaTile clustered = tile;
            choose_cluster(clustered, shape, splits * shape.batch, k_tiles / splits, target.sm_count);
            GemmChoice choice;
            choice.tensor_cores = true;
            choice.wgmma = clustered;
            choice.tile = {tile.m, tile.n, tile_k, 0, 0, tile.stages};
            choice.splits = splits;
            choice.k_per_split = std::max(1u, divide_up(k_tiles, splits)) * tile_k;
            choice.raster_log2 = wgmma_raster_log2(clustered, shape, splits, target.sm_count);
            const GemmEstimate estimate =
                estimate_gemm(conditions.machine, conditions.surroundings, work, shape_of(tile, splits));
            choice.estimated_seconds = estimate.seconds;
            choice.estimated_clock = estimate.clock;
            choice.estimated_cycles = estimate.seconds * conditions.machine.clock;
            choices.push_back(choice);
        }
    }
}

/// Of Blackwell: 128 rows, or pairs of CTAs with 256, columns in steps of 16 where tiles are narrow.
std::vector<WgmmaTile> tensor_memory_tiles(const GemmShape& shape, bool k_contiguous_in_b) {
    std::vector<WgmmaTile> tiles;
    for (unsigned columns = 16; columns <= 256; columns += columns < 64 ? 16 : 32) {
        if (columns >= 2 * shape.n + 32 && columns > 16) continue;
        WgmmaTile tile;
        tile.m = 128;
        tile.n = columns;
        tile.consumers = 1;
        tiles.push_back(tile);
        // A pair has half of the operands to copy for each product; short sides leave one of the two without work.
        if (!k_contiguous_in_b || columns % 32 != 0 || shape.m <= 128) continue;
        tile.cluster_m = 2;
        tiles.push_back(tile);
    }
    return tiles;
}

}  // namespace

std::vector<GemmChoice> tensor_memory_candidates(const GemmShape& shape, ElementType type, const target::GpuTarget& target,
                                                 const GemmConditions& conditions, bool allow_split_k, bool tensor_store, bool k_contiguous_in_b) {
    const GemmWork work = wgmma_work_of(shape, type);
    const unsigned tile_k = wgmma_tile_k(type), k_tiles = divide_up(shape.k, tile_k);
    std::vector<GemmChoice> choices;
    for (WgmmaTile tile : tensor_memory_tiles(shape, k_contiguous_in_b)) {
        GemmWgmmaSpec spec;
        spec.compute_capability = target.compute_capability;
        spec.type = type;
        spec.tile = tile;
        spec.tensor_store = tensor_store;
        tile.stages = std::min(8u, wgmma_stages(spec, target));
        if (tile.stages < kFewestStages) continue;
        const std::uint64_t tiles = std::uint64_t{divide_up(shape.m, tile.m * tile.cluster_m)} * tile.cluster_m * divide_up(shape.n, tile.n) * shape.batch;
        for (const unsigned splits : splits_for(k_tiles, tiles, target.sm_count)) {
            if (splits > 1 && (!allow_split_k || type == ElementType::i8)) break;
            GemmChoice choice;
            choice.tensor_cores = true;
            choice.wgmma = tile;
            choice.tile = {tile.m, tile.n, tile_k, 0, 0, tile.stages};
            choice.splits = splits;
            choice.k_per_split = std::max(1u, divide_up(k_tiles, splits)) * tile_k;
            choice.raster_log2 = wgmma_raster_log2(tile, shape, splits, target.sm_count);
            GemmShapeOfTile extents = shape_of(tile, splits);
            const GemmEstimate estimate = estimate_gemm(conditions.machine, conditions.surroundings, work, extents);
            // Of two that take as long the pair asks L2 for less.
            const double preference = tile.cluster_m == 2 ? 0.98 : 1.0;
            choice.estimated_seconds = estimate.seconds * preference;
            choice.estimated_clock = estimate.clock;
            choice.estimated_cycles = choice.estimated_seconds * conditions.machine.clock;
            choices.push_back(choice);
        }
    }
    return choices;
}

std::vector<GemmChoice> wgmma_candidates(const GemmShape& shape, ElementType type,
                                         const target::GpuTarget& target, const GemmConditions& conditions,
                                         bool allow_split_k, bool tensor_store) {
    std::vector<GemmChoice> choices;
    const WgmmaProblem problem{shape, type, target, conditions, allow_split_k, tensor_store, false};
    for (const WgmmaTile& plain : tiles_for(shape, type, tensor_store)) add_kernels(choices, problem, plain);
    return choices;
}

std::vector<GemmChoice> wgmma_kernels_with_tile(const GemmShape& shape, ElementType type,
                                                const target::GpuTarget& target,
                                                const GemmConditions& conditions, bool tensor_store,
                                                bool k_contiguous, unsigned m, unsigned n) {
    std::vector<GemmChoice> choices;
    const WgmmaProblem problem{shape, type, target, conditions, true, tensor_store, k_contiguous};
    for (const bool swap : {true, false}) {
        WgmmaTile tile;
        tile.swap = swap;
        tile.m = m;
        tile.n = n;
        const unsigned rows = tile.rows(), columns = tile.columns();
        if (swap && !tensor_store) continue;
        if (rows == 0 || rows % 64 != 0 || rows > 256) continue;
        if (columns == 0 || columns % 8 != 0 || columns > 256) continue;
        // Of a result that is staged by rows, boxes of at least 32 bytes; slices of K have 4-byte elements.
        if (!swap && tensor_store && columns % 16 != 0) continue;
        if (type == ElementType::i8 && columns > 32 && columns % 16 != 0) continue;
        add_kernels(choices, problem, tile);
    }
    std::stable_sort(choices.begin(), choices.end(), [](const GemmChoice& a, const GemmChoice& b) {
        return a.estimated_cycles < b.estimated_cycles;
    });
    return choices;
}

unsigned wgmma_raster_log2(const WgmmaTile& tile, const GemmShape& shape, unsigned splits, unsigned sm_count) {
    const std::uint64_t slots = std::max<std::uint64_t>(1, std::uint64_t{sm_count} * tile.ctas_per_sm / tile.cluster_size());
    const std::uint64_t rows = std::uint64_t{divide_up(shape.m, tile.m * tile.cluster_m)} * splits * shape.batch;
    const std::uint32_t columns = divide_up(shape.n, tile.n * tile.cluster_n);
    const auto waves = [&](std::uint64_t width) { return (rows * width + slots - 1) / slots; };
    unsigned log2 = choose_raster_log2(shape.n, tile.n * tile.cluster_n);
    while (log2 > 0 && waves(std::uint64_t{divide_up(columns, 1u << log2)} << log2) > waves(columns)) --log2;
    return log2;
}

bool take_warpgroups(GemmChoice& choice, unsigned warpgroups, ElementType type,
                     const target::GpuTarget& target) {
    if (!choice.wgmma || choice.stream || warpgroups == 0) return false;
    WgmmaTile tile = *choice.wgmma;
    if (tile.rows() % (64 * warpgroups) != 0) return false;
    tile.schedule = WgmmaSchedule::cooperative;
    tile.consumers = warpgroups;
    if (!wgmma_sums_fit(tile)) return false;
    GemmWgmmaSpec spec;
    spec.type = type;
    spec.tile = tile;
    spec.tensor_store = tile.swap;
    tile.stages = std::min(tile.stages, wgmma_stages(spec, target));
    choice.wgmma = tile;
    choice.tile.stages = tile.stages;
    return true;
}

std::optional<GemmChoice> streamed(const GemmChoice& choice, const GemmShape& shape, ElementType type,
                                   const target::GpuTarget& target) {
    const unsigned tile_k = wgmma_tile_k(type);
    if (!choice.wgmma || shape.batch != 1 || shape.k <= tile_k || type == ElementType::i8)
        return std::nullopt;
    WgmmaTile plain = *choice.wgmma;
    plain.cluster_m = plain.cluster_n = 1;
    const std::optional<WgmmaTile> tile = with_schedule(plain, false);
    if (!tile) return std::nullopt;
    GemmWgmmaSpec spec;
    spec.type = type;
    spec.tile = *tile;
    spec.partition.split_k = spec.stream_k = true;
    GemmProblem problem;
    problem.m = shape.m;
    problem.n = shape.n;
    problem.k = shape.k;
    GemmChoice result = choice;
    result.stream = stream_k_of(spec, problem, target.sm_count);
    if (result.stream->slices < 2) return std::nullopt;
    spec.tile.stages = wgmma_stages(spec, target);
    result.wgmma = spec.tile;
    result.tile.stages = spec.tile.stages;
    result.splits = result.stream->slices;
    result.k_per_split = result.stream->stages_per_cta * tile_k;
    result.raster_log2 = 0;
    return result;
}

}  // namespace heddle::kernels
