#include "workloads/kernels/gemm_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <regex>

#include "isa/common/error.h"

namespace heddle::kernels {
namespace {

/// Multiply-accumulates per cycle and SM that a kernel of this library can reach: dense rate of mma.sync (on
/// Hopper about 2/3 of the wgmma rate), FMA units for SIMT.
double macs_per_cycle(ElementType type, unsigned capability) {
    switch (type) {
        case ElementType::f16:
        case ElementType::bf16:
            return capability >= 90 ? 1350 : capability == 80 ? 1024 : 512;
        case ElementType::f32:
            return capability >= 86 ? 128 : 64;
        default:
            return capability == 70 || capability == 80 ? 32 : capability >= 90 ? 64 : 2;
    }
}

constexpr double kLaunchCycles = 3000;        // of the second kernel of a split
constexpr double kTileOverheadCycles = 1200;  // filling the ring, epilogue
constexpr double kL2BytesPerCycleAndSm = 40;
constexpr double kMemoryBytesPerCycle = 1500;

struct Candidate {
    unsigned m, n, k;
};

double estimate(const GemmShape& shape, const GemmTile& tile, unsigned splits, ElementType type,
                const target::GpuTarget& target, bool tensor_cores) {
    const double tiles =
        std::ceil(double(shape.m) / tile.m) * std::ceil(double(shape.n) / tile.n) * shape.batch;
    const double k = std::ceil(std::ceil(double(shape.k) / tile.k) / splits) * tile.k;
    const unsigned threads =
        tensor_cores ? tile.threads() : tile.m * tile.n / (type == ElementType::f64 ? 16 : 64);
    // Resident CTAs: limited by registers (accumulators plus fragments and addresses) and shared memory.
    const unsigned per_thread = tile.m * tile.n / threads + (tensor_cores ? 100 : 64);
    const unsigned by_registers = std::max(1u, target.registers_per_sm / (per_thread * threads));
    const std::uint64_t shared =
        tensor_cores ? gemm_mma_shared_bytes(tile) : 2 * 8 * (tile.m + tile.n) * bytes_of(type);
    const unsigned by_shared = std::max<std::uint64_t>(1, target.shared_bytes_per_sm / (shared + 1024));
    const unsigned resident = std::min({by_registers, by_shared, target.max_ctas_per_sm});
    const double per_sm = std::ceil(tiles * splits / target.sm_count);
    // Few warps cannot cover latencies: 8 warps per SM reach about 85 % of what 16 do.
    const double warps = std::min<double>(resident, per_sm) * threads / 32;
    // Smaller tiles move more through shared memory and L2 for the same work.
    const double area = double(tile.m) * tile.n;
    const double shape_efficiency = area >= 128 * 128 ? 1.0 : area >= 128 * 64 ? 0.95 : 0.88;
    const double efficiency = warps / (warps + 1.5) * shape_efficiency;
    const double compute =
        double(tile.m) * tile.n * k / macs_per_cycle(type, target.compute_capability) / efficiency;
    const double load = double(tile.m + tile.n) * k * bytes_of(type) / kL2BytesPerCycleAndSm;
    const double waves = std::ceil(per_sm / resident);
    double cycles = per_sm * std::max(compute, load) + waves * kTileOverheadCycles;
    if (splits > 1) {
        cycles += kLaunchCycles + 8.0 * shape.m * shape.n * shape.batch * splits / kMemoryBytesPerCycle;
    }
    return cycles;
}

}  // namespace

GemmTile complete_tile(unsigned m, unsigned n, unsigned k, const target::GpuTarget& target) {
    GemmTile tile{m, n, k, 1, 1, 2};
    // Warps of at most 64x64; four of them where the tile is large enough for 32x32 each.
    tile.warps_m = std::max(1u, m / 64);
    tile.warps_n = std::max(1u, n / 64);
    while (tile.warps_m * tile.warps_n < 4) {
        if (m / tile.warps_m >= n / tile.warps_n && m / tile.warps_m > 32) {
            tile.warps_m *= 2;
        } else if (n / tile.warps_n > 32) {
            tile.warps_n *= 2;
        } else {
            break;
        }
    }
    const std::uint64_t stage = std::uint64_t{m + n} * k * 2;
    // Two CTAs per SM where registers allow it (up to 128 threads of 64x64 warps), else one.
    const bool two = tile.threads() <= 128;
    const std::uint64_t room =
        std::min<std::uint64_t>(target.shared_bytes_per_cta,
                                two ? target.shared_bytes_per_sm / 2 - 1024 : target.shared_bytes_per_cta);
    tile.stages = static_cast<unsigned>(std::min<std::uint64_t>(k == 64 ? 4 : 5, room / stage));
    if (target.compute_capability < 80) tile.stages = 2;
    if (tile.stages < 2)
        tile.stages = static_cast<unsigned>(std::min<std::uint64_t>(2, target.shared_bytes_per_cta / stage));
    if (tile.stages < 2 || gemm_mma_shared_bytes(tile) > target.shared_bytes_per_cta) {
        throw Error("a GEMM tile of " + std::to_string(m) + "x" + std::to_string(n) + "x" +
                        std::to_string(k) + " does not fit into the " +
                        std::to_string(target.shared_bytes_per_cta) + " bytes of shared memory of " +
                        target.name,
                    {}, "use a smaller tile");
    }
    return tile;
}

GemmChoice choose_gemm(const GemmShape& shape, ElementType type, const target::GpuTarget& target,
                       unsigned copy_elements, bool allow_split_k) {
    const bool half = type == ElementType::f16 || type == ElementType::bf16;
    if (!half && type != ElementType::f32 && type != ElementType::f64) {
        throw Error("no GEMM kernel for " + name_of(type), {}, "cast to f16, bf16, f32 or f64");
    }
    const unsigned needed = type == ElementType::bf16 ? 80 : type == ElementType::f16 ? 75 : 0;
    if (target.compute_capability < needed) {
        throw Error(target.name + " has no tensor-core kernel for " + name_of(type), {},
                    "use f32 on this device");
    }
    std::vector<GemmTile> tiles;
    if (half) {
        constexpr std::array<Candidate, 10> candidates{{{128, 256, 32},
                                                        {256, 128, 32},
                                                        {128, 256, 64},
                                                        {256, 128, 64},
                                                        {128, 128, 32},
                                                        {128, 128, 64},
                                                        {128, 64, 32},
                                                        {64, 128, 32},
                                                        {64, 64, 32},
                                                        {64, 64, 64}}};
        for (const Candidate& c : candidates) {
            if (copy_elements == 1 && c.m * c.n > 64 * 64) continue;
            if (copy_elements < 8 && c.m * c.n > 128 * 128) continue;
            if (2ull * (c.m + c.n) * c.k * 2 > target.shared_bytes_per_cta) continue;
            const GemmTile tile = complete_tile(c.m, c.n, c.k, target);
            // Staging through registers (7.5) leaves none for large tiles.
            if (target.compute_capability < 80 && c.m * c.n > 128 * 64) continue;
            tiles.push_back(tile);
        }
    } else if (type == ElementType::f32) {
        for (const Candidate& c : {Candidate{128, 128, 8}, {128, 64, 8}, {64, 128, 8}, {64, 64, 8}}) {
            tiles.push_back({c.m, c.n, c.k, 0, 0, 2});
        }
    } else {
        tiles.push_back({64, 64, 8, 0, 0, 2});
    }
    GemmChoice best;
    best.estimated_cycles = INFINITY;
    for (const GemmTile& tile : tiles) {
        for (const unsigned splits : {1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u}) {
            const unsigned k_tiles = divide_up(shape.k, tile.k);
            if (splits > 1 && (!allow_split_k || k_tiles < 4 * splits)) continue;
            const double cycles = estimate(shape, tile, splits, type, target, half);
            if (cycles >= best.estimated_cycles) continue;
            best.tensor_cores = half;
            best.tile = tile;
            best.k_per_split = divide_up(k_tiles, splits) * tile.k;
            best.splits = std::max(1u, divide_up(k_tiles, divide_up(k_tiles, splits)));
            best.estimated_cycles = cycles;
            best.raster_log2 = choose_raster_log2(shape.n, tile.n);
        }
    }
    return best;
}

std::optional<GemmTile> tile_from_kernel_name(const std::string& name) {
    std::smatch match;
    const auto number = [&match](int i) { return static_cast<unsigned>(std::stoul(match[i].str())); };
    static const std::regex ours("(?:^|_)([0-9]{2,3})x([0-9]{2,3})x([0-9]{1,3})(?:_|$)");
    static const std::regex stages(
        "(?:^|_)([0-9]{2,3})x([0-9]{2,3})_.*stages_([0-9]{1,3})x([0-9]{1,2})(?:_|$)");
    static const std::regex cutlass("(?:^|_)([0-9]{2,3})x([0-9]{2,3})_([0-9]{1,3})x([0-9]{1,2})(?:_|$)");
    static const std::regex bare("gemm.*_([0-9]{2,3})x([0-9]{2,3})(?:_|$)");
    if (std::regex_search(name, match, ours)) return GemmTile{number(1), number(2), number(3), 0, 0, 0};
    if (std::regex_search(name, match, stages) || std::regex_search(name, match, cutlass)) {
        return GemmTile{number(2), number(1), number(3), 0, 0, number(4)};
    }
    if (std::regex_search(name, match, bare)) return GemmTile{number(2), number(1), 0, 0, 0, 0};
    return std::nullopt;
}

}  // namespace heddle::kernels
