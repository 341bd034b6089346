#include "sampling_random.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "gpu_launches.h"
#include "isa/common/error.h"
#include "workloads/expression/expression.h"
#include "workloads/kernels/elementwise.h"
#include "workloads/kernels/gemm_wgmma.h"
#include "workloads/kernels/library_builder.h"

namespace heddle::benchmarks {
namespace {

using kernels::ElementType;
using kernels::LibraryKernel;
using kernels::SampleBuilder;
using models::gpu::GpuConfig;

/// Numbers by their place in a row: the same on every host, unlike the standard's distributions.
class Dice {
  public:
    explicit Dice(std::uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15u + 1) { engine_.discard(8); }
    /// From `low` to `high`, both included.
    std::uint32_t between(std::uint32_t low, std::uint32_t high) {
        return low + static_cast<std::uint32_t>(engine_() % (high - low + 1));
    }
    template <typename T>
    T one_of(std::initializer_list<T> values) {
        return values.begin()[between(0, static_cast<std::uint32_t>(values.size()) - 1)];
    }

  private:
    std::mt19937_64 engine_;
};

std::string shape(std::uint32_t m, std::uint32_t n, std::uint32_t k) {
    return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
}

/// The third extent of a product of about `work` multiply-adds, in units.
std::uint32_t depth(double work, std::uint32_t m, std::uint32_t n, std::uint32_t unit) {
    const double units = work / m / n / unit;
    return unit * static_cast<std::uint32_t>(std::clamp(units, 4.0, 4096.0));
}

SamplingCase simt_case(Dice& dice, const GpuConfig& config) {
    const std::uint32_t m = 128 * dice.between(1, 10), n = 128 * dice.between(1, 8);
    const std::uint32_t k = depth(1e6 * dice.between(30, 200), m, n, 8);
    return {"simt_" + shape(m, n, k),
            [=] { return gemm_simt_product(config.compute_capability, {m, n, k}); }};
}

SamplingCase mma_case(Dice& dice, const GpuConfig& config) {
    const auto tile = dice.one_of<kernels::GemmTile>({{128, 128, 32, 2, 2, 4},
                                                      {64, 64, 64, 2, 2, 4},
                                                      {64, 128, 32, 2, 2, 3},
                                                      {128, 64, 64, 4, 1, 3},
                                                      {128, 256, 32, 2, 4, 3}});
    const std::uint32_t m = tile.m * dice.between(1, 8), n = tile.n * dice.between(1, 8);
    const std::uint32_t k = depth(1e8 * dice.between(4, 30), m, n, tile.k);
    return {"mma_" + shape(m, n, k) + "_tile" + std::to_string(tile.m) + "x" + std::to_string(tile.n),
            [=] { return gemm_mma_product(config.compute_capability, {m, n, k}, tile); }};
}

SamplingCase wgmma_case(Dice& dice, const GpuConfig& config) {
    kernels::GemmWgmmaSpec spec;
    spec.tile.consumers = dice.between(1, 2);
    if (spec.tile.consumers == 2)
        spec.tile.schedule =
            dice.one_of({kernels::WgmmaSchedule::cooperative, kernels::WgmmaSchedule::ping_pong});
    const bool shared = spec.tile.schedule == kernels::WgmmaSchedule::cooperative;
    spec.tile.swap = dice.between(0, 2) == 0;
    const std::uint32_t rows = 64 * (shared ? spec.tile.consumers : 1);
    const std::uint32_t columns = 16 * dice.between(1, 16);
    spec.tile.m = spec.tile.swap ? columns : rows;
    spec.tile.n = spec.tile.swap ? rows : columns;
    spec.tile.cluster_m = dice.between(1, 2);
    spec.tile.stages = dice.between(2, 6);
    spec.transpose_b = dice.between(0, 1) == 0;
    spec.epilogue.output = ElementType::bf16;
    spec.raster_log2 = dice.between(0, 3);
    while (spec.tile.stages > 2 && kernels::gemm_wgmma_shared_bytes(spec) > config.shared.bytes_per_cta)
        --spec.tile.stages;
    const std::uint32_t m = 64 * dice.between(1, 40), n = 64 * dice.between(1, 40);
    const std::uint32_t k = depth(1e9 * dice.between(1, 16), m, n, 64);
    const unsigned sms = config.sm.count;
    std::string name = "wgmma_" + shape(m, n, k) + "_tile" + std::to_string(spec.tile.m) + "x" +
                       std::to_string(spec.tile.n) + "_" + std::to_string(spec.tile.stages) + "stages_" +
                       std::to_string(spec.tile.consumers) + (shared ? "together" : "apart") + "_raster" +
                       std::to_string(spec.raster_log2) + (spec.tile.cluster_m > 1 ? "_cluster" : "");
    return {std::move(name), [=] { return gemm_wgmma_product(spec, m, n, k, sms); }};
}

SamplingCase elementwise_case(Dice& dice, const GpuConfig& config) {
    static constexpr const char* kExpressions[] = {"y0 = x0", "y0 = x0 + x1", "y0 = x0 * x1 + x2"};
    const std::uint32_t inputs = dice.between(1, 3), elements = 65536 * dice.between(16, 160);
    kernels::ElementwiseSpec spec;
    spec.compute_capability = config.compute_capability;
    spec.expression = expression::parse(kExpressions[inputs - 1]);
    spec.inputs.resize(inputs);
    const auto type = dice.one_of({ElementType::f32, ElementType::f16});
    for (kernels::ElementwiseInput& input : spec.inputs) input.type = type;
    spec.outputs = {type};
    spec.vector_width = spec.elements_per_thread = dice.one_of({2u, 4u, 8u});
    if (type == ElementType::f32) spec.vector_width = std::min(spec.vector_width, 4u);
    return {"elementwise_" + std::to_string(elements) + "_" + std::to_string(inputs) + "inputs_by" +
                std::to_string(spec.elements_per_thread) + (type == ElementType::f16 ? "_f16" : "_f32"),
            [=] {
                SampleBuilder sample("elementwise", kernels::generate_elementwise(spec),
                                     kernels::elementwise_grid(spec, elements));
                sample.output("y0", type, elements);
                for (std::uint32_t i = 0; i < inputs; ++i)
                    sample.input("x" + std::to_string(i), type, elements);
                return sample.integer("elements", elements).finish();
            }};
}

SamplingCase rows_case(Dice& dice, const GpuConfig& config) {
    const std::uint32_t columns = 4 * dice.between(64, 2048);
    const std::uint32_t rows = 65536 * dice.between(16, 160) / columns;
    const std::string size = std::to_string(rows) + "x" + std::to_string(columns);
    const unsigned capability = config.compute_capability;
    switch (dice.between(0, 2)) {
        case 0:
            return {"softmax_" + size, [=] { return softmax_rows(capability, rows, columns); }};
        case 1:
            return {"layer_norm_" + size, [=] { return layer_norm_rows(capability, rows, columns); }};
        default:
            return {"sum_of_rows_" + size, [=] { return sum_of_rows(capability, rows, columns); }};
    }
}

SamplingCase attention_case(Dice& dice, const GpuConfig& config) {
    const std::uint32_t sequence = 128 * dice.between(4, 24);
    const std::uint32_t heads =
        std::max(1u, static_cast<std::uint32_t>(1e6 * dice.between(8, 40) / sequence / sequence));
    const bool causal = dice.between(0, 1) == 1;
    return {"attention_" + std::to_string(sequence) + "_" + std::to_string(heads) + "_heads" +
                (causal ? "_causal" : ""),
            [=] { return attention(config.compute_capability, sequence, heads, causal); }};
}

SamplingCase loop_case(Dice& dice, const GpuConfig& config) {
    const std::uint32_t blocks = config.sm.count * dice.between(1, 64);
    const std::uint32_t turns = 8 + dice.between(10'000, 60'000) / (blocks / config.sm.count) / 24;
    return {"ffma_" + std::to_string(blocks) + "_blocks_" + std::to_string(turns) + "_turns",
            [=] { return ffma_loop(blocks, turns); }};
}

}  // namespace

GpuConfig an_eighth(GpuConfig config) {
    constexpr std::uint32_t kParts = 8;
    const std::uint32_t channels = std::max(1u, config.hbm.channels / kParts);
    const std::uint32_t slices = config.l2.slices / config.hbm.channels * channels;
    config.sm.count = std::max(2u, config.sm.count / kParts);
    config.sm.gpcs = 1;
    config.sm.gpc_sizes.clear();
    config.hbm.bandwidth = config.hbm.bandwidth / config.hbm.channels * channels;
    config.hbm.channels = channels;
    config.l2.bytes = config.l2.bytes / config.l2.slices * slices;
    config.l2.slices = slices;
    config.l2.partitions = 1;
    return config;
}

SamplingCase random_case(std::uint64_t seed, const GpuConfig& config) {
    Dice dice(seed);
    const std::uint32_t kind = dice.between(0, 9);
    if (kind == 0) return loop_case(dice, config);
    if (kind <= 2) return simt_case(dice, config);
    if (kind == 3) return elementwise_case(dice, config);
    if (kind <= 5) return rows_case(dice, config);
    if (config.compute_capability < 80) return simt_case(dice, config);
    if (kind == 6) return attention_case(dice, config);
    if (kind == 7 || config.compute_capability < 90) return mma_case(dice, config);
    return wgmma_case(dice, config);
}

}  // namespace heddle::benchmarks
