#include "workloads/lowering/tpu/matmul_plan.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "workloads/lowering/tpu/program_builder.h"

namespace heddle::lowering::on_tpu {
namespace {

/// What a core may expect of HBM, in bytes per cycle. A plan is chosen by it, nothing is timed with it: TPU
/// v3's 900 GB/s over two cores at 0.94 GHz, as far as streaming reaches it. Other TPUs lie within a factor
/// of two.
constexpr double kBytesPerCycle = 430;
/// Cycles that the vector unit takes to turn one register of 1,024 elements.
constexpr double kTurnCyclesPerElement = 8.0 / 1024;
/// Cycles before the first result: latency of HBM and the way through the array.
constexpr double kLatency = 1500;

std::uint64_t tile(std::uint64_t elements, unsigned bytes) {
    return divide_up(elements * bytes, 512) * 512;
}

std::uint64_t rounded(std::uint64_t value, std::uint64_t to) {
    return divide_up(value, to) * to;
}

struct CoreWork {
    std::uint64_t batches, m, n;
};

CoreWork core_work(const MatmulPlan& plan, const MatmulShape& shape) {
    return {divide_up(shape.batches, plan.cores_along_batch), divide_up(shape.m, plan.cores_along_m),
            divide_up(shape.n, plan.cores_along_n)};
}

double estimate(const MatmulPlan& plan, const MatmulShape& shape, const target::TpuTarget& target) {
    const CoreWork work = core_work(plan, shape);
    const double blocks_m = static_cast<double>(divide_up(work.m, plan.block_rows()));
    const double blocks_n = static_cast<double>(divide_up(work.n, plan.block_columns(target)));
    const auto batches = static_cast<double>(work.batches);
    const double rows = static_cast<double>(
        std::min(plan.rows_per_unit, std::max<std::uint64_t>(1, divide_up(work.m, plan.units_along_m))));
    const double tiles_k = static_cast<double>(divide_up(shape.k, target.array_rows)) * shape.passes;
    const double stream = std::max(rows, static_cast<double>(target.array_rows));
    const double tiles_n = static_cast<double>(std::min(
        plan.tiles_per_unit, divide_up(divide_up(work.n, target.array_columns), plan.units_along_n)));
    const double matrix = batches * blocks_m * blocks_n * tiles_k * tiles_n * stream;
    const double a_loads = static_cast<double>(work.m * shape.k) * (plan.keep_a ? 1 : blocks_n);
    const double b_loads = static_cast<double>(shape.k * work.n) * (plan.keep_b ? 1 : blocks_m);
    const double y_stores = static_cast<double>(work.m * work.n) * (1 + shape.epilogue_tiles);
    const double bytes =
        batches * (a_loads * shape.a_bytes + b_loads * shape.b_bytes + y_stores * shape.y_bytes);
    const double turns = shape.a_turned ? batches * a_loads * kTurnCyclesPerElement : 0;
    // What the first chunk and the last results cost beyond the steady state.
    const double first =
        static_cast<double>((plan.block_rows() * shape.a_bytes + plan.block_columns(target) * shape.b_bytes) *
                            std::min(plan.chunk, rounded(shape.k, target.array_rows))) /
        kBytesPerCycle;
    const double longest = std::max({matrix, bytes / kBytesPerCycle, turns});
    return longest + 0.1 * (matrix + bytes / kBytesPerCycle + turns) + first + rows + kLatency;
}

}  // namespace

std::uint64_t vmem_bytes(const MatmulPlan& plan, const MatmulShape& shape, const target::TpuTarget& target) {
    const std::uint64_t chunks = divide_up(shape.k, plan.chunk);
    const std::uint64_t a_tile = tile(plan.block_rows() * plan.chunk, shape.a_bytes);
    const std::uint64_t b_tile = tile(plan.block_columns(target) * plan.chunk, shape.b_bytes);
    const std::uint64_t a_places = plan.keep_a ? chunks + plan.ahead : plan.ahead + 1;
    const std::uint64_t b_places = plan.keep_b ? chunks + plan.ahead : plan.ahead + 1;
    const std::uint64_t units = std::uint64_t{plan.units_along_m} * plan.units_along_n;
    const std::uint64_t result = tile(plan.rows_per_unit * target.array_columns, 4);
    return a_places * a_tile * (shape.a_turned ? 2 : 1) + b_places * b_tile +
           2 * (units + shape.epilogue_tiles) * result;
}

MatmulPlan plan_matmul(const MatmulShape& shape, const target::TpuTarget& target) {
    const unsigned units = target.matrix_units_per_core;
    std::vector<MatmulPlan> core_cuts;
    for (unsigned batch = 1; batch <= target.cores; ++batch) {
        if (target.cores % batch != 0 || batch > shape.batches) continue;
        const unsigned rest = target.cores / batch;
        for (unsigned along_m = 1; along_m <= rest; ++along_m) {
            if (rest % along_m != 0) continue;
            MatmulPlan plan;
            plan.cores_along_batch = batch;
            plan.cores_along_m = along_m;
            plan.cores_along_n = rest / along_m;
            core_cuts.push_back(plan);
        }
    }
    std::optional<MatmulPlan> best;
    const auto consider = [&](const MatmulPlan& plan) {
        if (vmem_bytes(plan, shape, target) > target.vmem_bytes) return;
        if (!best || plan.estimated_cycles < best->estimated_cycles) best = plan;
    };
    for (MatmulPlan plan : core_cuts) {
        const CoreWork work = core_work(plan, shape);
        for (unsigned along_m = 1; along_m <= units; ++along_m) {
            if (units % along_m != 0) continue;
            plan.units_along_m = along_m;
            plan.units_along_n = units / along_m;
            const std::uint64_t most_rows =
                rounded(std::max<std::uint64_t>(1, divide_up(work.m, along_m)), 8);
            const std::uint64_t most_tiles =
                divide_up(divide_up(work.n, target.array_columns), plan.units_along_n);
            for (std::uint64_t rows = target.accumulator_rows; rows >= 8; rows /= 2) {
                plan.rows_per_unit = std::min(rows, most_rows);
                for (std::uint64_t tiles = 1; tiles <= target.accumulator_rows / plan.rows_per_unit;
                     tiles *= 2) {
                    plan.tiles_per_unit = std::min(tiles, most_tiles);
                    for (std::uint64_t chunk = 8; chunk >= 1; chunk /= 2) {
                        if (chunk > 1 && (chunk / 2) * target.array_rows >= shape.k) continue;
                        plan.chunk = chunk * target.array_rows;
                        for (const unsigned keep : {0u, 1u, 2u}) {
                            plan.keep_a = keep == 1;
                            plan.keep_b = keep == 2;
                            for (const std::uint64_t ahead : {3ull, 1ull}) {
                                plan.ahead = ahead;
                                plan.estimated_cycles =
                                    estimate(plan, shape, target) + (ahead == 1 ? kLatency / 2 : 0);
                                consider(plan);
                            }
                        }
                    }
                    if (tiles >= most_tiles) break;
                }
                if (rows < most_rows && rows <= target.array_rows)
                    break;  // shorter streams only waste the array
            }
        }
    }
    if (!best) throw Unsupported{"no block of the product fits on-chip memory"};
    return *best;
}

}  // namespace heddle::lowering::on_tpu
