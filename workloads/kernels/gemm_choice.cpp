#include "workloads/kernels/gemm_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "isa/common/error.h"
#include "isa/target/generation.h"
#include "workloads/kernels/gemm_mma_choice.h"
#include "workloads/kernels/gemm_wgmma_choice.h"
#include "workloads/kernels/name_numbers.h"

namespace heddle::kernels {
namespace {

// Fitted to runs of these kernels on the A100 model of this project (tiles of 64x64 to 128x128, k from 512 to
// 2,048).
constexpr double kLaunchCycles = 3000;        // of each kernel
constexpr double kCtaCycles = 1100;           // first and last latencies
constexpr double kCtaCyclesPerOutput = 0.16;  // epilogue
constexpr double kMemoryBytesPerCycle = 1500;
constexpr double kL2BytesPerCycle = 23;  // for each SM when all ask

struct TileExtents {
    unsigned m, n;
};

unsigned simt_threads(const GemmTile& tile, ElementType type) {
    return tile.m * tile.n / (type == ElementType::f64 ? 16 : 64);
}

/// CTAs that fit on an SM. Registers per thread: sums, fragments and addresses.
unsigned resident_simt_ctas(const GemmTile& tile, ElementType type, const target::GpuTarget& target) {
    const unsigned threads = simt_threads(tile, type), per_thread = tile.m * tile.n / threads + 64;
    const unsigned by_registers = std::max(1u, target.registers_per_sm / (per_thread * threads));
    const std::uint64_t shared = std::uint64_t{2} * 8 * (tile.m + tile.n) * bytes_of(type);
    const auto by_shared =
        static_cast<unsigned>(std::max<std::uint64_t>(1, target.shared_bytes_per_sm / (shared + 1024)));
    return std::min({by_registers, by_shared, target.max_ctas_per_sm, target.max_threads_per_sm / threads});
}

/// Rounds of CTAs, each as long as the FMA units, a lone CTA's latencies, or L2 need.
double estimate_simt(const GemmShape& shape, const GemmTile& tile, unsigned splits, ElementType type,
                     const target::GpuTarget& target) {
    const double tiles =
        std::ceil(double(shape.m) / tile.m) * std::ceil(double(shape.n) / tile.n) * shape.batch;
    const double k = std::ceil(std::ceil(double(shape.k) / tile.k) / splits) * tile.k;
    const unsigned resident = resident_simt_ctas(tile, type, target);
    const target::Rates& rates = target::nearest_generation(target.compute_capability).rates;
    const double compute = double(tile.m) * tile.n * k / (type == ElementType::f32 ? rates.fp32 : rates.fp64);
    // A CTA of two warps occupies two of the four sub-cores.
    const double lone = compute / (0.9 * std::min(1.0, simt_threads(tile, type) / 128.0));
    const double bytes = double(tile.m + tile.n) * k * bytes_of(type);
    const double l2 = kL2BytesPerCycle * target.sm_count;
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

std::vector<GemmChoice> simt_candidates(const GemmShape& shape, ElementType type,
                                        const target::GpuTarget& target, bool allow_split_k) {
    constexpr std::array<TileExtents, 4> kTiles{{{128, 128}, {128, 64}, {64, 128}, {64, 64}}};
    std::vector<GemmChoice> choices;
    for (const TileExtents& extents : kTiles) {
        if (type == ElementType::f64 && extents.m * extents.n > 64 * 64) continue;
        const GemmTile tile{extents.m, extents.n, kGemmSimtTileK, 0, 0, 2};
        const unsigned k_tiles = divide_up(shape.k, tile.k);
        unsigned previous = 0;
        for (const unsigned splits : {1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u}) {
            if (splits > 1 && (!allow_split_k || k_tiles < 4 * splits)) continue;
            GemmChoice choice;
            choice.tile = tile;
            choice.k_per_split = std::max(1u, divide_up(k_tiles, splits)) * tile.k;
            choice.splits = std::max(1u, divide_up(shape.k, choice.k_per_split));
            if (choice.splits == previous) continue;
            previous = choice.splits;
            choice.estimated_cycles = estimate_simt(shape, tile, choice.splits, type, target);
            choice.raster_log2 = choose_raster_log2(shape.n, tile.n);
            choices.push_back(choice);
        }
    }
    return choices;
}

/// One dot product for each output: what a library takes for a single row.
std::vector<GemmChoice> gemv_candidates(const GemmShape& shape, ElementType type,
                                        const GemmConditions& conditions) {
    GemmWork work;
    work.m = shape.m;
    work.n = shape.n;
    work.k = shape.k;
    work.batch = shape.batch;
    work.element_bytes = work.result_bytes = bytes_of(type);
    std::vector<GemmChoice> choices;
    for (const unsigned warps : {1u, 4u, 8u, 16u}) {
        if (warps > 1 && shape.k * bytes_of(type) < warps * 512) break;
        GemmChoice choice;
        choice.gemv_warps = warps;
        choice.tile = {1, warps == 1 ? 4u : 1u, 0, 0, 0, 0};
        choice.k_per_split = shape.k;
        const GemmEstimate estimate = estimate_gemv(conditions.machine, conditions.surroundings, work, warps);
        choice.estimated_seconds = estimate.seconds;
        choice.estimated_clock = estimate.clock;
        choice.estimated_cycles = estimate.seconds * conditions.machine.clock;
        choices.push_back(choice);
    }
    return choices;
}

}  // namespace

GemmTile complete_tile(unsigned m, unsigned n, unsigned k, const target::GpuTarget& target, ElementType type,
                       const GemmAlignment& alignment) {
    // Two CTAs per SM where registers allow it, else one.
    for (const unsigned ctas_per_sm : {2u, 1u}) {
        const std::optional<GemmTile> tile = staged_tile(m, n, k, ctas_per_sm, target, type);
        if (tile && resident_mma_ctas(*tile, target, type, alignment) >= ctas_per_sm) return *tile;
    }
    throw Error("a GEMM tile of " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
                    " does not fit into the " + std::to_string(target.shared_bytes_per_cta) +
                    " bytes of shared memory of " + target.name,
                {}, "use a smaller tile");
}

GemmAlignment with_one_alignment(GemmAlignment alignment, ElementType type, bool tf32, unsigned result) {
    const bool half = bytes_of(type) == 2, has_such = half || (type == ElementType::f32 && tf32);
    const unsigned narrowest = std::min(result, alignment.copy_elements());
    if (!has_such || narrowest * bytes_of(type) >= 16) return alignment;
    alignment.copy_a = alignment.copy_b = half ? narrowest : 1;
    alignment.tensor_maps = false;
    return alignment;
}

std::vector<GemmChoice> gemm_candidates(const GemmShape& shape, ElementType type,
                                        const target::GpuTarget& target, const GemmAlignment& alignment,
                                        bool allow_split_k, const GemmConditions* conditions) {
    const bool half = type == ElementType::f16 || type == ElementType::bf16;
    const bool eight = bytes_of(type) == 1 && type != ElementType::u8 && type != ElementType::boolean;
    if (!half && !eight && type != ElementType::f32 && type != ElementType::f64) {
        throw Error("no GEMM kernel for " + name_of(type), {}, "cast to f16, bf16, f32 or f64");
    }
    const bool tensor = type != ElementType::f32 || shape.tf32;  // may use the tensor cores
    const bool along_k = (eight || type == ElementType::f32) && alignment.k_contiguous &&
                         (type != ElementType::i8 || alignment.tensor_store);
    const target::Generation& generation = target::nearest_generation(target.compute_capability);
    const bool mapped = (half || (tensor && along_k)) && alignment.tensor_maps && shape.k > 0;
    const bool wgmma = mapped && generation.has_wgmma;
    const bool tensor_memory = mapped && generation.has_tcgen05;
    const bool mma = tensor && has_mma(type, target) &&
                     (!eight || (alignment.k_contiguous && alignment.copy_elements() * bytes_of(type) >= 4 &&
                                 shape.k > 0));
    if (half && !mma && !tensor_memory) {
        throw Error(target.name + " has no tensor-core kernel for " + name_of(type), {},
                    "use f32 on this device");
    }
    if (eight && !wgmma && !mma && !tensor_memory)
        throw Error("no GEMM kernel for " + name_of(type) + " on " + target.name + " with these operands", {},
                    "k contiguous in both, and rows of whole 16 bytes on Hopper, of whole 4 bytes elsewhere; "
                    "8-bit floats take compute capability 8.9, 9.0 or 12.0");
    const GemmConditions usual{gemm_machine(target, type), {}};
    const GemmConditions& all = conditions != nullptr ? *conditions : usual;
    std::vector<GemmChoice> choices =
        wgmma ? wgmma_candidates(shape, type, target, all, allow_split_k, alignment.tensor_store)
        : tensor_memory ? tensor_memory_candidates(shape, type, target, all, allow_split_k, alignment.tensor_store, alignment.k_contiguous)
        : mma ? mma_candidates(shape, type, target, all, alignment, allow_split_k)
              : simt_candidates(shape, type, target, allow_split_k);
    // Recorded times of a single row are those of such a kernel; of two rows on, of tiles.
    if (shape.m == 1 && alignment.rows_along_k && !wgmma && !tensor_memory)
        for (const GemmChoice& choice : gemv_candidates(shape, type, all)) choices.push_back(choice);
    const double clock = all.machine.clock;
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

namespace {

constexpr std::array kOurs{NameNumber{2, 3, 'x'}, NameNumber{2, 3, 'x'}, NameNumber{1, 3, kWordEnd}};
constexpr std::array kNvjet{NameNumber{1, 3, 'x'}, NameNumber{1, 3, '_'}, NameNumber{1, 3, 'x'},
                            NameNumber{1, 2, '_'}, NameNumber{1, 2, 'x'}, NameNumber{1, 2, '_'}};
constexpr std::array kXmma{NameNumber{1, 3, 'x'}, NameNumber{1, 3, 'x'}, NameNumber{1, 3, kWordEnd}};
constexpr std::array kStageCount{NameNumber{1, 2, kWordEnd}};
constexpr std::array kWarpgroups{NameNumber{1, 1, 'x'}, NameNumber{1, 1, 'x'}, NameNumber{1, 1, kWordEnd}};
constexpr std::array kRowsAndColumns{NameNumber{2, 3, 'x'}, NameNumber{2, 3, kWordEnd}};
constexpr std::array kDepthAndStages{NameNumber{1, 3, 'x'}, NameNumber{1, 2, kWordEnd}};
constexpr std::array kCutlass{NameNumber{1, 3, 'x'}, NameNumber{1, 3, '_'}, NameNumber{1, 3, 'x'},
                              NameNumber{1, 2, kWordEnd}};

/// cuBLAS: rows and columns, and anywhere behind them "stages_" with depth and stages.
std::optional<NameNumbers> cublas_tile(const std::string& name) {
    auto tile = first_numbers(name, kRowsAndColumns);
    if (!tile) return std::nullopt;
    const auto stages = last_numbers_behind(name, "stages_", kDepthAndStages, tile->end);
    if (!stages) return std::nullopt;
    tile->values.insert(tile->values.end(), stages->values.begin(), stages->values.end());
    return tile;
}

/// "...gemm..._128x64_...": the last such pair.
std::optional<NameNumbers> bare_tile(const std::string& name) {
    constexpr std::string_view kGemm = "gemm";
    const std::size_t gemm = name.find(kGemm);
    if (gemm == std::string::npos) return std::nullopt;
    return last_numbers_behind(name, "_", kRowsAndColumns, gemm + kGemm.size());
}

}  // namespace

std::optional<RecordedGemm> gemm_from_kernel_name(const std::string& name) {
    constexpr std::string_view kNvjetBegins = "nvjet_";
    std::optional<NameNumbers> found;
    const auto number = [&found](std::size_t i) { return found->values[i]; };
    RecordedGemm gemm;
    if ((found = first_numbers(name, kOurs))) {
        gemm.tile = {number(0), number(1), number(2), 0, 0, 0};
    } else if (name.starts_with(kNvjetBegins) &&
               (found = first_numbers_behind(name, "_", kNvjet, kNvjetBegins.size()))) {
        gemm.tile = {number(1), number(0), number(2), 0, 0, number(3)};
        gemm.cluster_n = number(4);
        gemm.cluster_m = number(5);
        gemm.split_k = name.find("_splitK") != std::string::npos;
    } else if ((found = first_numbers_behind(name, "_tilesize", kXmma))) {
        gemm.tile = {number(1), number(0), number(2), 0, 0, 0};
        if ((found = first_numbers_behind(name, "_stage", kStageCount))) gemm.tile.stages = number(0);
        found = first_numbers_behind(name, "_warpgroupsize", kWarpgroups);
        if (found && number(2) == 1) gemm.warpgroups = number(0) * number(1);
    } else if ((found = cublas_tile(name)) || (found = first_numbers(name, kCutlass))) {
        gemm.tile = {number(1), number(0), number(2), 0, 0, number(3)};
    } else if ((found = bare_tile(name))) {
        gemm.tile = {number(1), number(0), 0, 0, 0, 0};
    } else {
        return std::nullopt;
    }
    for (const char* spelt : {"stream_k", "streamk", "streamK", "StreamK"})
        gemm.stream_k = gemm.stream_k || name.find(spelt) != std::string::npos;
    return gemm;
}

}  // namespace heddle::kernels
