#include "workloads/lowering/tpu/matmul_plan.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <vector>

#include "isa/common/error.h"
#include "workloads/lowering/tpu/program_builder.h"

namespace heddle::lowering::on_tpu {
namespace {

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

double estimate(const MatmulPlan& plan, const MatmulShape& shape, const target::TpuTarget& target,
                const TpuLoweringOptions& options) {
    const double bytes_per_cycle = options.hbm_bytes_per_cycle;
    const CoreWork work = core_work(plan, shape);
    const double blocks_m = static_cast<double>(divide_up(work.m, plan.block_rows()));
    const double blocks_n = static_cast<double>(divide_up(work.n, plan.block_columns(target)));
    const auto batches = static_cast<double>(work.batches);
    const double rows = static_cast<double>(
        std::min(plan.rows_per_unit, std::max<std::uint64_t>(1, divide_up(work.m, plan.units_along_m))));
    const double tiles_k = static_cast<double>(divide_up(shape.k, target.array_rows)) * shape.passes;
    const double stream =
        std::max(rows / shape.rows_per_cycle,
                 static_cast<double>(divide_up(target.array_rows, options.weight_rows_per_cycle)));
    const double tiles_n = static_cast<double>(std::min(
        plan.tiles_per_unit, divide_up(divide_up(work.n, target.array_columns), plan.units_along_n)));
    const double matrix = batches * blocks_m * blocks_n * tiles_k * tiles_n * stream;
    const double a_loads = static_cast<double>(work.m * shape.k) * (plan.keep_a || plan.whole ? 1 : blocks_n);
    const double b_loads = static_cast<double>(shape.k * work.n) * (plan.keep_b || plan.whole ? 1 : blocks_m);
    const double y_stores = static_cast<double>(work.m * work.n) * (1 + shape.epilogue_tiles);
    // What is brought before the first product is hidden behind nothing.
    const double inputs = a_loads * shape.a_bytes + b_loads * shape.b_bytes;
    const double before = plan.whole ? inputs / bytes_per_cycle : 0;
    const double bytes = batches * ((plan.whole ? 0 : inputs) + y_stores * shape.y_bytes);
    const double turns = shape.a_turned ? batches * a_loads * kTurnCyclesPerElement : 0;
    // What the first chunk and the last results cost beyond the steady state.
    const double first =
        plan.whole ? 0
                   : static_cast<double>(
                         (plan.block_rows() * shape.a_bytes + plan.block_columns(target) * shape.b_bytes) *
                         std::min(plan.chunk, rounded(shape.k, target.array_rows))) /
                         bytes_per_cycle;
    // A step's operands must be asked for as long before as they take to come.
    const double steps = batches * blocks_m * blocks_n * static_cast<double>(divide_up(shape.k, plan.chunk));
    const double waits =
        plan.whole ? 0 : steps * (options.hbm_latency_cycles + first) / static_cast<double>(plan.ahead);
    const double longest = std::max({matrix, bytes / bytes_per_cycle, turns, waits});
    return before + longest + 0.1 * (matrix + bytes / bytes_per_cycle + turns) + first + rows + kLatency;
}

}  // namespace

std::uint64_t panel_rows(const MatmulPlan& plan, const MatmulShape& shape, const TpuLoweringOptions& options,
                         std::uint64_t rows) {
    const std::uint64_t step = plan.block_rows();
    const std::uint64_t fitting = options.operand_window / (shape.k * shape.a_bytes * step) * step;
    return std::min(std::max(fitting, step), rows);
}

ResultWindow result_window(const MatmulPlan& plan, const MatmulShape& shape, const target::TpuTarget& target,
                           const TpuLoweringOptions& options, std::uint64_t rows, std::uint64_t columns) {
    const std::uint64_t down = plan.block_rows(), across = plan.block_columns(target);
    const std::uint64_t wide = options.result_window / (down * shape.y_bytes * across) * across;
    ResultWindow window{down, std::min(std::max(wide, across), columns)};
    if (window.columns < columns) return window;
    const std::uint64_t high = options.result_window / (columns * shape.y_bytes * down) * down;
    window.rows = std::min(std::max(high, down), rows);
    return window;
}

std::uint64_t vmem_bytes(const MatmulPlan& plan, const MatmulShape& shape, const target::TpuTarget& target,
                         const TpuLoweringOptions& options) {
    const std::uint64_t chunks = divide_up(shape.k, plan.chunk);
    const std::uint64_t a_tile = tile(plan.block_rows() * plan.chunk, shape.a_bytes);
    const std::uint64_t b_tile = tile(plan.block_columns(target) * plan.chunk, shape.b_bytes);
    const std::uint64_t a_places = plan.keep_a ? chunks + plan.ahead : plan.ahead + 1;
    const std::uint64_t b_places = plan.keep_b ? chunks + plan.ahead : plan.ahead + 1;
    const std::uint64_t units = std::uint64_t{plan.units_along_m} * plan.units_along_n;
    const std::uint64_t result = tile(plan.rows_per_unit * target.array_columns, 4);
    const std::uint64_t results = 2 * (units + shape.epilogue_tiles) * result;
    if (plan.whole) {
        const std::uint64_t rows = rounded(divide_up(shape.m, plan.cores_along_m), 8);
        const std::uint64_t columns = rounded(divide_up(shape.n, plan.cores_along_n), target.array_columns);
        const ResultWindow window = result_window(plan, shape, target, options, rows, columns);
        return 2 * tile(panel_rows(plan, shape, options, rows) * shape.k, shape.a_bytes) *
                   (shape.a_turned ? 2 : 1) +
               tile(shape.k * columns, shape.b_bytes) +
               2 * shape.results * tile(window.rows * window.columns, 4) + results;
    }
    return a_places * a_tile * (shape.a_turned ? 2 : 1) + b_places * b_tile + results;
}

namespace {

/// Rows of a block that a unit gets: halves of the result buffer, or what was asked for (all rows of a
/// product that has fewer).
std::vector<std::uint64_t> row_choices(const TpuLoweringOptions& options, unsigned along_m,
                                       std::uint64_t most_rows, const target::TpuTarget& target) {
    if (options.tile_rows != 0) {
        const std::uint64_t rows = std::min(options.tile_rows / along_m, most_rows);
        const bool even = options.tile_rows % along_m == 0 && rows % 8 == 0 && rows > 0;
        return even && rows <= target.accumulator_rows ? std::vector{rows} : std::vector<std::uint64_t>{};
    }
    std::vector<std::uint64_t> choices;
    for (std::uint64_t rows = target.accumulator_rows; rows >= 8; rows /= 2) {
        choices.push_back(std::min(rows, most_rows));
        if (rows < most_rows && rows <= target.array_rows) break;  // shorter streams only waste the array
    }
    return choices;
}

/// Column tiles that a unit gets: powers of two, or what was asked for.
std::vector<std::uint64_t> tile_choices(const TpuLoweringOptions& options, unsigned along_n,
                                        std::uint64_t most_tiles, std::uint64_t fitting, unsigned columns) {
    if (options.tile_columns != 0) {
        const std::uint64_t step = std::uint64_t{along_n} * columns;
        const std::uint64_t tiles = std::min(options.tile_columns / step, most_tiles);
        const bool even = options.tile_columns % step == 0 && tiles > 0;
        return even && tiles <= fitting ? std::vector{tiles} : std::vector<std::uint64_t>{};
    }
    std::vector<std::uint64_t> choices;
    for (std::uint64_t tiles = 1; tiles <= fitting; tiles *= 2) {
        choices.push_back(std::min(tiles, most_tiles));
        if (tiles >= most_tiles) break;
    }
    return choices;
}

/// Contraction elements that are loaded at a time.
std::vector<std::uint64_t> chunk_choices(const TpuLoweringOptions& options, std::uint64_t k, unsigned rows) {
    if (options.tile_depth != 0) {
        const std::uint64_t chunk = std::min(options.tile_depth, rounded(k, rows));
        return options.tile_depth % rows == 0 ? std::vector{chunk} : std::vector<std::uint64_t>{};
    }
    std::vector<std::uint64_t> choices;
    for (std::uint64_t chunk = 8; chunk >= 1; chunk /= 2)
        if (chunk == 1 || (chunk / 2) * rows < k) choices.push_back(chunk * rows);
    return choices;
}

std::optional<MatmulPlan> search(const MatmulShape& shape, const target::TpuTarget& target,
                                 const TpuLoweringOptions& options, bool whole) {
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
        if (vmem_bytes(plan, shape, target, options) > target.vmem_bytes) return;
        if (!best || plan.estimated_cycles < best->estimated_cycles) best = plan;
    };
    for (MatmulPlan plan : core_cuts) {
        plan.whole = whole;
        const CoreWork work = core_work(plan, shape);
        for (unsigned along_m = 1; along_m <= units; ++along_m) {
            if (units % along_m != 0) continue;
            plan.units_along_m = along_m;
            plan.units_along_n = units / along_m;
            const std::uint64_t most_rows =
                rounded(std::max<std::uint64_t>(1, divide_up(work.m, along_m)), 8);
            const std::uint64_t most_tiles =
                divide_up(divide_up(work.n, target.array_columns), plan.units_along_n);
            for (const std::uint64_t rows : row_choices(options, along_m, most_rows, target)) {
                plan.rows_per_unit = rows;
                for (const std::uint64_t tiles :
                     tile_choices(options, plan.units_along_n, most_tiles,
                                  target.accumulator_rows / plan.rows_per_unit, target.array_columns)) {
                    plan.tiles_per_unit = tiles;
                    for (const std::uint64_t chunk : chunk_choices(options, shape.k, target.array_rows)) {
                        plan.chunk = chunk;
                        for (const unsigned keep : {0u, 1u, 2u}) {
                            if (whole && keep != 0) continue;
                            if (options.loop_order == LoopOrder::rows_outer && keep == 2) continue;
                            if (!whole && options.loop_order == LoopOrder::columns_outer && keep != 2)
                                continue;
                            plan.keep_a = keep == 1;
                            plan.keep_b = keep == 2;
                            for (const std::uint64_t ahead : {8ull, 3ull, 1ull}) {
                                plan.ahead = ahead;
                                plan.estimated_cycles =
                                    estimate(plan, shape, target, options) + (ahead == 1 ? kLatency / 2 : 0);
                                consider(plan);
                            }
                        }
                    }
                }
            }
        }
    }
    return best;
}

}  // namespace

namespace {

MatmulPlan searched(const MatmulShape& shape, const target::TpuTarget& target,
                    const TpuLoweringOptions& options) {
    std::optional<MatmulPlan> best;
    // A product with one row is no matrix product to XLA: it streams.
    if (options.whole_operands && shape.m > 1 && shape.batches == 1)
        best = search(shape, target, options, true);
    if (!best) best = search(shape, target, options, false);
    if (best) return *best;
    if (options.tile_rows != 0 || options.tile_columns != 0 || options.tile_depth != 0)
        throw Error(
            "no block of the tile sizes that were asked for fits on-chip memory and the result buffers: a "
            "product of " +
                std::to_string(shape.m) + " x " + std::to_string(shape.n) + " x " + std::to_string(shape.k) +
                " (rows, columns, depth)",
            {"--set", 0, "compiler.tile_rows, tile_columns, tile_depth"},
            "ask for less of one of them, or leave one 0: searched");
    throw Unsupported{"no block of the product fits on-chip memory"};
}

/// Everything that a search looks at.
std::string key_of(const MatmulShape& shape, const target::TpuTarget& target,
                   const TpuLoweringOptions& options) {
    std::ostringstream key;
    key.precision(17);
    key << "tiling of a product\n"
        << shape.batches << ' ' << shape.m << ' ' << shape.n << ' ' << shape.k << ' ' << shape.a_bytes << ' '
        << shape.b_bytes << ' ' << shape.y_bytes << ' ' << shape.a_turned << ' ' << shape.passes << ' '
        << shape.epilogue_tiles << ' ' << shape.results << ' ' << shape.rows_per_cycle << '\n'
        << target.cores << ' ' << target.matrix_units_per_core << ' ' << target.array_rows << ' '
        << target.array_columns << ' ' << target.vmem_bytes << ' ' << target.accumulator_rows << '\n'
        << options.whole_operands << ' ' << options.operand_window << ' ' << options.result_window << ' '
        << options.tile_rows << ' ' << options.tile_columns << ' ' << options.tile_depth << ' '
        << static_cast<int>(options.loop_order) << ' ' << options.hbm_bytes_per_cycle << ' '
        << options.hbm_latency_cycles << ' ' << options.weight_rows_per_cycle << '\n';
    return key.str();
}

std::string text_of(const MatmulPlan& plan) {
    std::ostringstream text;
    text.precision(17);
    text << plan.cores_along_batch << ' ' << plan.cores_along_m << ' ' << plan.cores_along_n << ' '
         << plan.units_along_m << ' ' << plan.units_along_n << ' ' << plan.rows_per_unit << ' '
         << plan.tiles_per_unit << ' ' << plan.chunk << ' ' << plan.keep_a << ' ' << plan.keep_b << ' '
         << plan.whole << ' ' << plan.ahead << ' ' << plan.estimated_cycles;
    return text.str();
}

/// Nothing for what is not a whole plan.
std::optional<MatmulPlan> plan_from(const std::string& text) {
    std::istringstream words(text);
    MatmulPlan plan;
    words >> plan.cores_along_batch >> plan.cores_along_m >> plan.cores_along_n >> plan.units_along_m >>
        plan.units_along_n >> plan.rows_per_unit >> plan.tiles_per_unit >> plan.chunk >> plan.keep_a >>
        plan.keep_b >> plan.whole >> plan.ahead >> plan.estimated_cycles;
    if (!words || plan.chunk == 0 || plan.rows_per_unit == 0 || plan.tiles_per_unit == 0) return std::nullopt;
    return plan;
}

}  // namespace

MatmulPlan plan_matmul(const MatmulShape& shape, const target::TpuTarget& target,
                       const TpuLoweringOptions& options) {
    if (options.tilings == nullptr) return searched(shape, target, options);
    const std::string key = key_of(shape, target, options);
    if (const std::optional<std::string> known = options.tilings->find(key)) {
        if (const std::optional<MatmulPlan> plan = plan_from(*known)) return *plan;
    }
    const MatmulPlan plan = searched(shape, target, options);
    options.tilings->store(key, text_of(plan));
    return plan;
}

std::string describe(const MatmulPlan& plan, const target::TpuTarget& target) {
    std::ostringstream text;
    text << "blocks of " << plan.block_rows() << " rows x " << plan.block_columns(target) << " columns, "
         << plan.chunk << " deep; "
         << (plan.whole    ? "operands brought whole"
             : plan.keep_b ? "columns outer, the second operand's panel stays"
             : plan.keep_a ? "rows outer, the first operand's panel stays"
                           : "rows outer")
         << "; cores " << plan.cores_along_batch << " x " << plan.cores_along_m << " x " << plan.cores_along_n
         << " (batch, rows, columns), units " << plan.units_along_m << " x " << plan.units_along_n
         << "; loads " << plan.ahead << " ahead; about " << static_cast<std::uint64_t>(plan.estimated_cycles)
         << " cycles expected";
    return text.str();
}

}  // namespace heddle::lowering::on_tpu
