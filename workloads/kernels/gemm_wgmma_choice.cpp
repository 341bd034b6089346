#include "workloads/kernels/gemm_wgmma_choice.h"

#include <algorithm>
#include <optional>

namespace heddle::kernels {
namespace {

GemmWork work_of(const GemmShape& shape, ElementType type) {
    GemmWork work;
    work.m = shape.m;
    work.n = shape.n;
    work.k = shape.k;
    work.batch = shape.batch;
    work.element_bytes = bytes_of(type);
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
        several_waves && tile.ctas_per_sm == 1 && rows <= 128 && rows * columns <= 128 * 128;
    tile.schedule = ping_pong ? WgmmaSchedule::ping_pong : WgmmaSchedule::cooperative;
    tile.consumers = ping_pong ? 2 : rows == 64 ? 1 : rows == 192 ? 3 : 2;
    if (!wgmma_sums_fit(tile)) return std::nullopt;
    return tile;
}

/// wgmma's 64 rows lie along n, as in a library that thinks in columns, so that tiles go in fine steps over
/// m; without a tensor map of D they lie along m.
std::vector<WgmmaTile> tiles_for(const GemmShape& shape, bool tensor_store) {
    constexpr unsigned kLargest = 192 * 192;
    std::vector<WgmmaTile> tiles;
    for (const unsigned rows : {64u, 128u, 192u, 256u}) {
        for (unsigned columns = 8; columns <= 256; columns += columns < 64 ? 8 : 16) {
            if (rows * columns > kLargest) continue;
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

/// Two CTAs that share their larger operand, where there are two for most of the tiles.
void choose_cluster(WgmmaTile& tile, const GemmShape& shape) {
    const unsigned tiles_m = divide_up(shape.m, tile.m), tiles_n = divide_up(shape.n, tile.n);
    const bool along_m = tiles_m >= 2 && tile.n % 16 == 0 && (tiles_m % 2 == 0 || tiles_m > 8);
    const bool along_n = tiles_n >= 2 && tile.m % 16 == 0 && (tiles_n % 2 == 0 || tiles_n > 8);
    if (along_m && (tile.n >= tile.m || !along_n)) {
        tile.cluster_m = 2;
    } else if (along_n) {
        tile.cluster_n = 2;
    }
}

}  // namespace

std::vector<GemmChoice> wgmma_candidates(const GemmShape& shape, ElementType type,
                                         const target::GpuTarget& target, const GemmConditions& conditions,
                                         bool allow_split_k, bool tensor_store) {
    const GemmWork work = work_of(shape, type);
    const unsigned tile_k = wgmma_tile_k(type), k_tiles = divide_up(shape.k, tile_k);
    std::vector<GemmChoice> choices;
    for (const WgmmaTile& plain : tiles_for(shape, tensor_store)) {
        const std::uint64_t tiles =
            std::uint64_t{divide_up(shape.m, plain.m)} * divide_up(shape.n, plain.n) * shape.batch;
        for (const unsigned ctas_per_sm : {1u, 2u}) {
            WgmmaTile tile = plain;
            tile.ctas_per_sm = ctas_per_sm;
            const std::optional<WgmmaTile> scheduled = with_schedule(tile, tiles > target.sm_count);
            if (!scheduled) continue;
            tile = *scheduled;
            if (tiles > target.sm_count) choose_cluster(tile, shape);
            GemmWgmmaSpec spec;
            spec.type = type;
            spec.tile = tile;
            spec.tensor_store = tensor_store;
            tile.stages = wgmma_stages(spec, target);
            if (tile.stages < 2) continue;
            for (const unsigned splits : splits_for(k_tiles, tiles, target.sm_count)) {
                if (splits > 1 && !allow_split_k) break;
                GemmChoice choice;
                choice.tensor_cores = true;
                choice.wgmma = tile;
                choice.tile = {tile.m, tile.n, tile_k, 0, 0, tile.stages};
                choice.splits = splits;
                choice.k_per_split = std::max(1u, divide_up(k_tiles, splits)) * tile_k;
                choice.raster_log2 = choose_raster_log2(shape.n, tile.n * tile.cluster_n);
                const GemmEstimate estimate =
                    estimate_gemm(conditions.machine, conditions.surroundings, work, shape_of(tile, splits));
                choice.estimated_seconds = estimate.seconds;
                choice.estimated_clock = estimate.clock;
                choice.estimated_cycles = estimate.seconds * conditions.machine.clock;
                choices.push_back(choice);
            }
        }
    }
    return choices;
}

}  // namespace heddle::kernels
