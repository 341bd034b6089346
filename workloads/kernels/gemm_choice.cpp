#include "workloads/kernels/gemm_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <regex>

#include "isa/common/error.h"
#include "workloads/kernels/gemm_wgmma_choice.h"

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

// Fitted to runs of these kernels on the A100 model of this project (tiles of 64x64 to 128x256, k from 512 to
// 2,048).
constexpr double kLaunchCycles = 3000;        // of each kernel
constexpr double kCtaCycles = 1100;           // filling the ring, first and last latencies
constexpr double kCtaCyclesPerOutput = 0.16;  // epilogue
constexpr double kMemoryBytesPerCycle = 1500;

/// Bytes per cycle and SM that L2 delivers when all SMs ask.
double l2_bytes_per_cycle(unsigned capability) {
    return capability >= 90 ? 34 : 23;
}

/// Part of the peak that one CTA alone reaches on its SM: small warp tiles wait for shared memory.
double lone_efficiency(const GemmTile& tile) {
    const unsigned area = tile.m / tile.warps_m * (tile.n / tile.warps_n);
    return area >= 64 * 64 ? 0.96 : area >= 64 * 32 ? 0.87 : 0.66;
}

struct Candidate {
    unsigned m, n, k;
};

/// CTAs that fit on an SM. Registers per thread: accumulators, fragments and addresses.
unsigned resident_ctas(const GemmTile& tile, unsigned threads, ElementType type,
                       const target::GpuTarget& target, bool tensor_cores) {
    const unsigned per_thread = tile.m * tile.n / threads + (tensor_cores ? 100 : 64);
    const unsigned by_registers = std::max(1u, target.registers_per_sm / (per_thread * threads));
    const std::uint64_t shared =
        tensor_cores ? gemm_mma_shared_bytes(tile) : 2 * 8 * (tile.m + tile.n) * bytes_of(type);
    const auto by_shared =
        static_cast<unsigned>(std::max<std::uint64_t>(1, target.shared_bytes_per_sm / (shared + 1024)));
    return std::min({by_registers, by_shared, target.max_ctas_per_sm, target.max_threads_per_sm / threads});
}

/// Rounds of CTAs, each as long as the tensor cores, a lone CTA's latencies, or L2 need.
double estimate(const GemmShape& shape, const GemmTile& tile, unsigned splits, ElementType type,
                const target::GpuTarget& target, bool tensor_cores) {
    const double tiles =
        std::ceil(double(shape.m) / tile.m) * std::ceil(double(shape.n) / tile.n) * shape.batch;
    const double k = std::ceil(std::ceil(double(shape.k) / tile.k) / splits) * tile.k;
    const unsigned threads =
        tensor_cores ? tile.threads() : tile.m * tile.n / (type == ElementType::f64 ? 16 : 64);
    const unsigned resident = resident_ctas(tile, threads, type, target, tensor_cores);
    const double compute = double(tile.m) * tile.n * k / macs_per_cycle(type, target.compute_capability);
    // A SIMT CTA of two warps occupies two of the four sub-cores.
    const double lone =
        compute / (tensor_cores ? lone_efficiency(tile) : 0.9 * std::min(1.0, threads / 128.0));
    const double bytes = double(tile.m + tile.n) * k * bytes_of(type);
    const double l2 = l2_bytes_per_cycle(target.compute_capability) * target.sm_count;
    const double overhead = kCtaCycles + kCtaCyclesPerOutput * tile.m * tile.n;
    const auto round = [&](double ctas) {
        const double per_sm = std::ceil(ctas / target.sm_count);
        const double busy = std::max({per_sm * compute / 0.97, lone, ctas * bytes / l2});
        // Other CTAs work while one starts or ends.
        return busy + (per_sm > 1 ? 0.5 : 1.0) * overhead;
    };
    const double slots = double(resident) * target.sm_count, ctas = tiles * splits;
    const double whole = std::floor(ctas / slots), rest = ctas - whole * slots;
    double cycles = kLaunchCycles + whole * round(slots) + (rest > 0 ? round(rest) : 0);
    if (splits > 1) {
        cycles += kLaunchCycles + kCtaCycles +
                  8.0 * shape.m * shape.n * shape.batch * splits / kMemoryBytesPerCycle;
    }
    return cycles;
}

std::vector<GemmTile> candidate_tiles(ElementType type, const target::GpuTarget& target,
                                      unsigned copy_elements) {
    std::vector<GemmTile> tiles;
    if (type == ElementType::f64) return {{64, 64, 8, 0, 0, 2}};
    if (type == ElementType::f32) {
        for (const Candidate& c : {Candidate{128, 128, 8}, {128, 64, 8}, {64, 128, 8}, {64, 64, 8}}) {
            tiles.push_back({c.m, c.n, c.k, 0, 0, 2});
        }
        return tiles;
    }
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
        // Narrow copies need more registers for their addresses; 16-bit ones, and all of 7.5, also for the
        // data.
        const unsigned outputs = c.m * c.n;
        if (outputs > (copy_elements == 1 ? 64 * 64 : copy_elements < 8 ? 128 * 128 : 128 * 256)) continue;
        if (target.compute_capability < 80 && outputs > 128 * 64) continue;
        if (2ull * (c.m + c.n) * c.k * 2 > target.shared_bytes_per_cta) continue;
        tiles.push_back(complete_tile(c.m, c.n, c.k, target));
    }
    return tiles;
}

/// mma.sync and the CUDA cores.
std::vector<GemmChoice> warp_candidates(const GemmShape& shape, ElementType type,
                                        const target::GpuTarget& target, unsigned copy_elements,
                                        bool allow_split_k) {
    const bool tensor_cores = type == ElementType::f16 || type == ElementType::bf16;
    std::vector<GemmChoice> choices;
    for (const GemmTile& tile : candidate_tiles(type, target, copy_elements)) {
        const unsigned k_tiles = divide_up(shape.k, tile.k);
        unsigned previous = 0;
        for (const unsigned splits : {1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u}) {
            if (splits > 1 && (!allow_split_k || k_tiles < 4 * splits)) continue;
            GemmChoice choice;
            choice.tensor_cores = tensor_cores;
            choice.tile = tile;
            choice.k_per_split = std::max(1u, divide_up(k_tiles, splits)) * tile.k;
            choice.splits = std::max(1u, divide_up(shape.k, choice.k_per_split));
            if (choice.splits == previous) continue;
            previous = choice.splits;
            choice.estimated_cycles = estimate(shape, tile, choice.splits, type, target, tensor_cores);
            choice.raster_log2 = choose_raster_log2(shape.n, tile.n);
            choices.push_back(choice);
        }
    }
    return choices;
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

std::vector<GemmChoice> gemm_candidates(const GemmShape& shape, ElementType type,
                                        const target::GpuTarget& target, const GemmAlignment& alignment,
                                        bool allow_split_k, const GemmConditions* conditions) {
    const bool half = type == ElementType::f16 || type == ElementType::bf16;
    if (!half && type != ElementType::f32 && type != ElementType::f64) {
        throw Error("no GEMM kernel for " + name_of(type), {}, "cast to f16, bf16, f32 or f64");
    }
    const unsigned needed = type == ElementType::bf16 ? 80 : type == ElementType::f16 ? 75 : 0;
    if (target.compute_capability < needed) {
        throw Error(target.name + " has no tensor-core kernel for " + name_of(type), {},
                    "use f32 on this device");
    }
    const bool wgmma = half && target.compute_capability == 90 && alignment.tensor_maps && shape.k > 0;
    const GemmConditions usual{gemm_machine(target, type), {}};
    std::vector<GemmChoice> choices =
        wgmma ? wgmma_candidates(shape, type, target, conditions != nullptr ? *conditions : usual,
                                 allow_split_k, alignment.tensor_store)
              : warp_candidates(shape, type, target, alignment.copy_elements, allow_split_k);
    const double clock = conditions != nullptr ? conditions->machine.clock : usual.machine.clock;
    for (GemmChoice& choice : choices) {
        if (choice.estimated_seconds > 0) continue;
        choice.estimated_seconds = choice.estimated_cycles / clock;
        choice.estimated_clock = clock;
    }
    std::stable_sort(choices.begin(), choices.end(), [](const GemmChoice& a, const GemmChoice& b) {
        return a.estimated_cycles < b.estimated_cycles;
    });
    return choices;
}

GemmChoice choose_gemm(const GemmShape& shape, ElementType type, const target::GpuTarget& target,
                       const GemmAlignment& alignment, bool allow_split_k) {
    return gemm_candidates(shape, type, target, alignment, allow_split_k).front();
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
