#include "workloads/kernels/gemm_wgmma_choice.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace heddle::kernels {
namespace {

// Cycles, of the H100 model of this project.
constexpr double kLaunch = 3000;       // of each kernel: before its first and after its last instruction
constexpr double kFill = 1500;         // barriers, descriptors of tensors, the first copy's way from memory
constexpr double kStepLatency = 1000;  // from asking for a stage to its last byte
constexpr double kTileOverhead = 150;  // the last products of a tile, the first wait of the next
constexpr double kReceivedBytes = 64;  // per cycle and SM, from L2
constexpr double kStoreBytes = 24;     // per cycle and SM, from registers to L2
constexpr double kStoreLatency = 800;
constexpr double kL2Bytes = 5200, kStoredBytes = 2750, kMemoryBytes = 1450;  // per cycle, whole device
constexpr double kOverlap = 3.4;    // exponent with which what happens at the same time adds up
constexpr double kProducts = 2048;  // multiply-adds of 16 bits per cycle and SM

/// Tensor core cycles of one k step of a tile: wgmma with few columns waits for its 64 rows of A.
double step_cycles(const WgmmaTile& tile) {
    const double columns = tile.columns(), per_instruction = 64 * 16 / kProducts * columns;
    return tile.rows() / 64.0 * 4 * std::max(per_instruction, 16 + columns / 4);
}

double together(std::initializer_list<double> times) {
    double sum = 0;
    for (const double time : times) sum += std::pow(time, kOverlap);
    return std::pow(sum, 1 / kOverlap);
}

struct Work {
    const GemmShape& shape;
    unsigned element_bytes, sm_count;
};

double estimate(const Work& work, const WgmmaTile& tile, unsigned splits, unsigned k_tiles) {
    const GemmShape& s = work.shape;
    const unsigned tile_k = 128 / work.element_bytes;
    const double clusters = double(divide_up(s.m, tile.m * tile.cluster_m)) *
                            divide_up(s.n, tile.n * tile.cluster_n) * s.batch * splits;
    const double slots = std::max(1u, work.sm_count * tile.ctas_per_sm / tile.cluster_size());
    const double rounds = std::ceil(clusters / slots);
    const double busy_ctas = std::min(clusters, slots) * tile.cluster_size();
    const double per_sm = std::ceil(busy_ctas / work.sm_count);  // CTAs that share a tensor core
    const double result = double(tile.m) * tile.n * (splits > 1 ? 4 : 2);
    // What a CTA copies itself; its cluster sends it the rest.
    const double copied =
        (double(tile.m) / tile.cluster_n + double(tile.n) / tile.cluster_m) * tile_k * work.element_bytes;
    const double received = (double(tile.m) + tile.n) * tile_k * work.element_bytes;
    const double step = std::max({per_sm * step_cycles(tile), kStepLatency / tile.stages,
                                  per_sm * received / kReceivedBytes, copied * busy_ctas / kL2Bytes});
    const double products = k_tiles * step + kTileOverhead;
    const double store =
        kStoreLatency + std::max(result * per_sm / kStoreBytes, result * busy_ctas / kStoredBytes);
    const bool ping_pong = tile.schedule == WgmmaSchedule::ping_pong;
    const double hidden = ping_pong || tile.ctas_per_sm > 1 ? std::min(store, products) : 0;
    const double sm = kFill + rounds * products + store + (rounds - 1) * (store - hidden);
    const double memory =
        (double(s.m) * s.k + double(s.n) * s.k) * s.batch * work.element_bytes / kMemoryBytes + kFill;
    double cycles = kLaunch + together({sm, memory});
    if (splits > 1) cycles += kLaunch + kFill + 4.0 * s.m * s.n * s.batch * splits / kL2Bytes;
    return cycles;
}

/// Warpgroups for a tile, or none that would do.
std::vector<WgmmaTile> with_schedules(WgmmaTile tile) {
    std::vector<WgmmaTile> tiles;
    const unsigned rows = tile.rows(), columns = tile.columns();
    const auto add = [&](unsigned consumers, WgmmaSchedule schedule) {
        const unsigned fragments = rows / 64 / (schedule == WgmmaSchedule::cooperative ? consumers : 1);
        const unsigned accumulators = fragments * columns / 2;
        if (accumulators > (consumers == 3 ? 128u : 192u)) return;
        tile.consumers = consumers;
        tile.schedule = schedule;
        tiles.push_back(tile);
    };
    if (rows == 64) add(1, WgmmaSchedule::cooperative);
    if (rows % 128 == 0) add(2, WgmmaSchedule::cooperative);
    if (rows == 192) add(3, WgmmaSchedule::cooperative);
    if (rows <= 128) add(2, WgmmaSchedule::ping_pong);
    return tiles;
}

std::vector<WgmmaTile> tiles_for(const GemmShape& shape, bool tensor_store) {
    constexpr unsigned kLargest = 192 * 192;
    std::vector<WgmmaTile> tiles;
    for (const unsigned rows : {64u, 128u, 192u, 256u}) {
        for (unsigned columns = 8; columns <= 256; columns += columns < 64 ? 8 : 16) {
            if (rows * columns > kLargest) continue;
            for (const bool swap : {false, true}) {
                if (swap && !tensor_store) continue;
                if (!swap && tensor_store && columns % 16 != 0) continue;
                WgmmaTile tile;
                tile.swap = swap;
                tile.m = swap ? columns : rows;
                tile.n = swap ? rows : columns;
                // Half empty tiles: a smaller one does the same.
                if (tile.m >= 2 * shape.m + 16 && tile.m > 64) continue;
                if (tile.n >= 2 * shape.n + 16 && tile.n > 64) continue;
                for (const WgmmaTile& each : with_schedules(tile)) tiles.push_back(each);
            }
        }
    }
    return tiles;
}

}  // namespace

std::vector<GemmChoice> wgmma_candidates(const GemmShape& shape, ElementType type,
                                         const target::GpuTarget& target, bool allow_split_k,
                                         bool tensor_store) {
    const Work work{shape, bytes_of(type), target.sm_count};
    const unsigned tile_k = wgmma_tile_k(type), k_tiles = divide_up(shape.k, tile_k);
    std::vector<GemmChoice> choices;
    for (WgmmaTile tile : tiles_for(shape, tensor_store)) {
        for (const auto& [cluster_m, cluster_n] : {std::pair{1u, 1u}, {2u, 1u}, {1u, 2u}}) {
            tile.cluster_m = cluster_m;
            tile.cluster_n = cluster_n;
            if (cluster_m > 1 && (shape.m <= tile.m || tile.n % 16 != 0)) continue;
            if (cluster_n > 1 && (shape.n <= tile.n || tile.m % 16 != 0)) continue;
            GemmWgmmaSpec spec;
            spec.type = type;
            spec.tile = tile;
            spec.tensor_store = tensor_store;
            tile.stages = wgmma_stages(spec, target);
            if (tile.stages < 2) continue;
            unsigned previous = 0;
            for (const unsigned splits : {1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u, 24u, 32u}) {
                if (splits > 1 && (!allow_split_k || k_tiles < 2 * splits)) break;
                const unsigned per_split = std::max(1u, divide_up(k_tiles, splits));
                const unsigned used = std::max(1u, divide_up(k_tiles, per_split));
                if (used == previous) continue;
                previous = used;
                GemmChoice choice;
                choice.tensor_cores = true;
                choice.wgmma = tile;
                choice.tile = {tile.m, tile.n, tile_k, 0, 0, tile.stages};
                choice.splits = used;
                choice.k_per_split = per_split * tile_k;
                choice.raster_log2 = choose_raster_log2(shape.n, tile.n * tile.cluster_n);
                choice.estimated_cycles = estimate(work, tile, used, per_split);
                choices.push_back(choice);
            }
        }
    }
    return choices;
}

}  // namespace heddle::kernels
