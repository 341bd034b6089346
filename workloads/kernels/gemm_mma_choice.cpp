#include "workloads/kernels/gemm_mma_choice.h"

#include <algorithm>
#include <array>
#include <optional>

#include "isa/target/generation.h"

namespace heddle::kernels {
namespace {

struct MmaExtents {
    unsigned m, n;
};

// Those of cuBLAS's and CUTLASS's kernels for the generation (names of recorded ones: ampere_bf16_s16816gemm_
// bf16_64x64 to 256x128).
constexpr std::array<MmaExtents, 8> kTiles{
    {{128, 256}, {256, 128}, {128, 128}, {64, 256}, {256, 64}, {64, 128}, {128, 64}, {64, 64}}};

/// Four warps at least, of 64x64 at most (f64: 32x32), and of 16 columns at least.
void place_warps(GemmTile& tile, ElementType type) {
    if (type == ElementType::f64) {
        tile.warps_m = std::max(1u, tile.m / 32);
        tile.warps_n = std::max(1u, tile.n / 32);
        return;
    }
    tile.warps_m = std::max(1u, tile.m / 64);
    tile.warps_n = std::max(1u, tile.n / 64);
    while (tile.warps_m * tile.warps_n < 4) {
        const unsigned rows = tile.m / tile.warps_m, columns = tile.n / tile.warps_n;
        if (rows >= columns && rows > 32) {
            tile.warps_m *= 2;
        } else if (columns > 16) {
            tile.warps_n *= 2;
        } else {
            break;
        }
    }
}

/// Registers of a thread: sums, two sets of fragments, about forty for addresses, and one for each element on
/// its way.
unsigned registers_of(unsigned compute_capability, const GemmTile& tile, ElementType type,
                      const GemmAlignment& alignment) {
    const unsigned rows = tile.m / tile.warps_m, columns = tile.n / tile.warps_n;
    const unsigned words = type == ElementType::f64 ? 2 : 1;
    const unsigned sums = rows * columns / 32, fragments = 2 * (rows + columns) / 4;
    const unsigned copy_a = alignment.copy_a, copy_b = alignment.copy_b;
    const unsigned elements = rows_by_elements(tile, type, copy_a, copy_b) * tile.k / tile.threads() /
                              parts_by_elements(compute_capability, tile, type, copy_a, copy_b);
    return std::min(255u, (words * (sums + fragments) + 40 + elements + 7) / 8 * 8);
}

/// Slices of K: while tiles alone leave SMs without work, of at least two stages each, equal up to the last.
std::vector<unsigned> slices_for(unsigned k_tiles, std::uint64_t tiles, unsigned sm_count) {
    std::vector<unsigned> slices{1};
    if (tiles >= sm_count) return slices;
    for (unsigned s = 2; s <= 64 && 2 * s <= k_tiles && tiles * s <= 4ull * sm_count; ++s) {
        const unsigned each = divide_up(k_tiles, s);
        if (divide_up(k_tiles, each) == s) slices.push_back(s);
    }
    return slices;
}

bool worth_a_look(const MmaExtents& tile, const GemmShape& shape, ElementType type,
                  const GemmAlignment& alignment, const target::GpuTarget& target) {
    const unsigned outputs = tile.m * tile.n;
    if (outputs > 128 * 256 || !narrow_copies_fit({tile.m, tile.n}, type, alignment)) return false;
    // Tiles that travel through registers need as many again.
    if (!target::nearest_generation(target.compute_capability).has_cp_async && outputs > 128 * 64)
        return false;
    // Half empty tiles: a smaller one does the same.
    if (tile.m > 64 && tile.m >= 2 * shape.m) return false;
    if (tile.n > 64 && tile.n >= 2 * shape.n) return false;
    return true;
}

GemmWork mma_work_of(const GemmShape& shape, ElementType type) {
    GemmWork work;
    work.m = shape.m;
    work.n = shape.n;
    work.k = shape.k;
    work.batch = shape.batch;
    work.element_bytes = bytes_of(type);
    work.result_bytes = type == ElementType::f64 ? 8 : bytes_of(type) == 2 || bytes_of(type) == 1 ? 2 : 4;
    if (type == ElementType::i8) work.result_bytes = 4;
    return work;
}

GemmShapeOfTile shape_of(const GemmTile& tile, unsigned ctas_per_sm, unsigned splits, unsigned by_elements) {
    GemmShapeOfTile shape;
    shape.m = shape.rows = tile.m;
    shape.n = shape.columns = tile.n;
    shape.ctas_per_sm = ctas_per_sm;
    shape.splits = splits;
    shape.stages = tile.stages;
    shape.stage_k = tile.k;
    shape.warps_m = tile.warps_m;
    shape.warps_n = tile.warps_n;
    shape.rows_by_elements = by_elements;
    return shape;
}

}  // namespace

bool narrow_copies_fit(const GemmTile& tile, ElementType type, const GemmAlignment& alignment) {
    const unsigned bytes = bytes_of(type), outputs = tile.m * tile.n;
    if (alignment.copy_elements() * bytes > 2) return outputs <= 128 * 256;
    return outputs <= 64 * 128;
}

bool has_mma(ElementType type, const target::GpuTarget& target) {
    const target::Generation& generation = target::nearest_generation(target.compute_capability);
    const target::Feature needed = mma_feature(type);
    if (needed == nullptr || !(generation.*needed)) return false;
    if (type == ElementType::f64) return generation.has_fast_fp64_mma;
    return (type != ElementType::e4m3 && type != ElementType::e5m2) || generation.gemm_takes_fp8_mma;
}

unsigned resident_mma_ctas(const GemmTile& tile, const target::GpuTarget& target, ElementType type,
                           const GemmAlignment& alignment) {
    const std::uint64_t shared = gemm_mma_shared_bytes(tile, bytes_of(type)) + 1024;
    const auto by_shared = static_cast<unsigned>(target.shared_bytes_per_sm / shared);
    const unsigned by_registers =
        target.registers_per_sm /
        (registers_of(target.compute_capability, tile, type, alignment) * tile.threads());
    return std::max(1u, std::min({by_shared, by_registers, target.max_threads_per_sm / tile.threads()}));
}

std::optional<GemmTile> staged_tile(unsigned m, unsigned n, unsigned k, unsigned ctas_per_sm,
                                    const target::GpuTarget& target, ElementType type) {
    const unsigned bytes = bytes_of(type);
    GemmTile tile{m, n, k, 1, 1, 2};
    place_warps(tile, type);
    const std::uint64_t stage = std::uint64_t{m + n} * k * bytes;
    const std::uint64_t room =
        std::min<std::uint64_t>(target.shared_bytes_per_cta, target.shared_bytes_per_sm / ctas_per_sm - 1024);
    // More stages than latency needs only make the loop longer, which is unrolled by them.
    const bool asynchronous = target::nearest_generation(target.compute_capability).has_cp_async;
    const unsigned most = !asynchronous ? 2 : m * n <= 64 * 128 ? 6 : k * bytes >= 128 ? 4 : 5;
    tile.stages = static_cast<unsigned>(std::min<std::uint64_t>(most, room / stage));
    if (tile.stages < 2 || gemm_mma_shared_bytes(tile, bytes) > room) return std::nullopt;
    return tile;
}

std::vector<GemmChoice> mma_candidates(const GemmShape& shape, ElementType type,
                                       const target::GpuTarget& target, const GemmConditions& conditions,
                                       const GemmAlignment& alignment, bool allow_split_k) {
    const GemmWork work = mma_work_of(shape, type);
    std::vector<GemmChoice> choices;
    const auto consider = [&](const MmaExtents& extents, unsigned k, unsigned ctas_per_sm) {
        const std::optional<GemmTile> tile = staged_tile(extents.m, extents.n, k, ctas_per_sm, target, type);
        if (!tile || resident_mma_ctas(*tile, target, type, alignment) != ctas_per_sm) return;
        const unsigned k_tiles = divide_up(shape.k, k);
        const std::uint64_t tiles =
            std::uint64_t{divide_up(shape.m, tile->m)} * divide_up(shape.n, tile->n) * shape.batch;
        for (const unsigned splits : slices_for(k_tiles, tiles, target.sm_count)) {
            if (splits > 1 && (!allow_split_k || type == ElementType::i8)) break;
            GemmChoice choice;
            choice.tensor_cores = true;
            choice.tile = *tile;
            choice.splits = splits;
            choice.k_per_split = std::max(1u, divide_up(k_tiles, splits)) * k;
            choice.raster_log2 = choose_raster_log2(shape.n, tile->n);
            const unsigned by_elements = rows_by_elements(*tile, type, alignment.copy_a, alignment.copy_b);
            const GemmEstimate estimate = estimate_gemm(conditions.machine, conditions.surroundings, work,
                                                        shape_of(*tile, ctas_per_sm, splits, by_elements));
            choice.estimated_seconds = estimate.seconds;
            choice.estimated_clock = estimate.clock;
            choice.estimated_cycles = estimate.seconds * conditions.machine.clock;
            choices.push_back(choice);
        }
    };
    const unsigned line = 128 / bytes_of(type);  // elements
    const bool asynchronous = target::nearest_generation(target.compute_capability).has_cp_async;
    for (const MmaExtents& extents : kTiles) {
        if (!worth_a_look(extents, shape, type, alignment, target)) continue;
        // Sums of f64 take twice the registers.
        if (type == ElementType::f64 && extents.m * extents.n > 64 * 128) continue;
        for (const unsigned ctas_per_sm : {1u, 2u, 3u, 4u}) {
            // Rows of 128 bytes, so that memory is asked for whole lines; of 64 only where one CTA on an SM
            // has no room for three stages of the others.
            const std::optional<GemmTile> wide =
                staged_tile(extents.m, extents.n, line, ctas_per_sm, target, type);
            const bool deep = wide && (wide->stages >= 3 || !asynchronous);
            const bool narrow =
                type != ElementType::f64 && (shape.k <= line / 2 || (!deep && ctas_per_sm == 1));
            if (!deep && !narrow) break;
            consider(extents, narrow ? line / 2 : line, ctas_per_sm);
        }
    }
    return choices;
}

}  // namespace heddle::kernels
