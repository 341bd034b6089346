#include "validation/compare/attention_table.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <sstream>

#include "isa/common/error.h"
#include "isa/target/generation.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/gpu/time/gpu_session.h"
#include "sim/run/workers/worker_pool.h"
#include "validation/compare/attention_replay.h"
#include "validation/recorded/csv_table.h"

namespace heddle::validation {
namespace {

namespace fs = std::filesystem;

/// From the end of a replay's last kernel to the begin of the next one's first, beyond what lies between two
/// kernels of one graph. Set by hand after six short rows of the H100's table; the same for every row.
constexpr double kReplay = 3.6e-6;

/// Blocks of keys per SM up to which a kernel is simulated whole. Of longer ones two shorter versions are,
/// and the rest goes on at the rate between them, by when tiles that are taken one after the other would end.
constexpr double kWholeSteps = 24, kFirstSteps = 10, kSecondSteps = 20;
/// Tiles per SM that the two have at least: with fewer, more tiles would take no longer.
constexpr double kFirstTiles = 0.9, kSecondTiles = 1.8;
constexpr double kWholeElements = 12e6;  ///< of the preparation, likewise
constexpr double kMostElements = 96e9;   ///< of 16 bits in 192 GB, more than a GPU here has

/// One per process. Each row was repeated for long: memory is hot, as it is for the recorded GEMMs.
class Timer {
  public:
    explicit Timer(const models::gpu::GpuConfig& config)
        : config_(models::gpu::in_graph(models::gpu::hot(config))), session_(config_) {}

    AttentionAnswer time(const AttentionShape& shape) {
        AttentionAnswer answer;
        answer.replay = kReplay;
        const Cost before = preparation(shape);
        answer.preparation = before.seconds;
        // The highest clock that the board's power allows (as sim/gemm does).
        double clock = config_.clock;
        Cost cost = attention(shape, clock, answer.simulated);
        for (unsigned round = 0; round < 2; ++round) {
            const double next = settled(cost, clock);
            if (std::abs(next / clock - 1) < 0.01) break;
            clock = next;
            cost = attention(shape, clock, answer.simulated);
        }
        session_.set_clock(config_.clock);
        answer.attention = cost.seconds;
        answer.clock = clock;
        // Between kernels a board takes what it always takes.
        answer.power = (before.joules + cost.joules + config_.power.constant(config_.sm.count) * kReplay) /
                       answer.seconds();
        return answer;
    }

  private:
    struct Cost {
        double seconds = 0, joules = 0;
    };
    static Cost along(const Cost& a, const Cost& b, double way) {
        return {b.seconds + (b.seconds - a.seconds) * way, b.joules + (b.joules - a.joules) * way};
    }

    /// What a replay does on its way round, in bytes: what it reads and what it writes before the kernel at
    /// hand begins.
    struct Before {
        double read = 0, written = 0;
    };

    /// Chunks of L2 that hold what came before: results still to be written to memory among what was read,
    /// which lies in every partition. (As sim/gemm does for products.)
    std::vector<sim::PlannedBuffer> earlier_work(program::GpuProgram& program, const Before& before) const {
        constexpr unsigned kChunks = 16;
        constexpr double kLine = 128;
        const double room = static_cast<double>(config_.l2.bytes);
        const double part = std::min(1.0, room / (before.read * config_.l2.partitions + before.written));
        std::vector<sim::PlannedBuffer> buffers;
        const auto add = [&](double bytes, bool dirty) {
            const auto chunk = static_cast<std::uint64_t>(bytes / kChunks / kLine * part) * 128;
            if (chunk == 0) return;
            buffers.push_back({static_cast<program::BufferId>(program.buffers.size()), chunk, dirty});
            program.buffers.push_back({"earlier work " + std::to_string(buffers.size()), chunk, {}});
        };
        for (unsigned i = 0; i < kChunks; ++i) {
            add(before.written, true);
            add(before.read, false);
        }
        return buffers;
    }

    /// From memory: `before` lies in L2; else all that the program needs does.
    Cost run(program::GpuProgram program, bool from_memory, const Before& before) {
        Cost cost;
        std::vector<sim::PlannedLaunch> plan = sim::plan_launches(program, config_.l2.bytes);
        for (sim::PlannedLaunch& planned : plan) {
            for (sim::PlannedBuffer& buffer : planned.buffers)
                buffer.resident_bytes = from_memory ? 0 : program.buffers[buffer.buffer].bytes;
        }
        if (from_memory) {
            const std::vector<sim::PlannedBuffer> earlier = earlier_work(program, before);
            std::vector<sim::PlannedBuffer>& last = plan.back().buffers;
            last.insert(last.begin(), earlier.begin(), earlier.end());
        }
        for (sim::PlannedLaunch& planned : plan) {
            const sim::LaunchOutcome outcome = session_.run(program, planned);
            cost.seconds += outcome.seconds;
            for (const auto& [where, joules] : outcome.energy) cost.joules += joules;
        }
        return cost;
    }

    /// Inputs of a replay are in L2 if all that passes until the next one fits.
    bool from_memory(const AttentionShape& shape) const {
        return 2 * 2 * shape.elements() > 0.5 * static_cast<double>(config_.l2.bytes);
    }

    Cost preparation(const AttentionShape& shape) {
        const bool cold = from_memory(shape);
        const auto of = [&](double part) {
            AttentionShape smaller = shape;
            // Batch entries are left out first, then tokens of the last.
            smaller.batch = static_cast<std::uint32_t>(std::max(1.0, shape.batch * part));
            if (shape.batch * part < 1)
                smaller.sequence =
                    static_cast<std::uint32_t>(std::max(1.0, shape.sequence * (shape.batch * part)));
            // Attention read queries, keys and values and wrote as much as queries are. A part of a
            // long kernel follows other parts of it.
            const bool whole = shape.elements() <= kWholeElements;
            const Before before{2 * shape.elements(),
                                2 * (whole ? shape.result_elements() : shape.elements())};
            return std::pair{run(attention_preparation(smaller, config_), cold, before), smaller.elements()};
        };
        const double part = kWholeElements / shape.elements();
        if (part >= 1) return of(1).first;
        const auto [less, less_elements] = of(part / 2);
        const auto [more, more_elements] = of(part);
        if (more_elements <= less_elements) return of(1).first;
        return along(less, more, (shape.elements() - more_elements) / (more_elements - less_elements));
    }

    /// Fewer heads or batch entries, about `steps` blocks of keys and at least `tiles` tiles per SM, with
    /// whole waves of tiles left out.
    AttentionShape shorter(const AttentionShape& shape, double steps, double tiles) const {
        const double all_tiles = double(shape.batch) * shape.heads * shape.tiles_per_head();
        const double part =
            std::min(1.0, std::max(steps / shape.steps(), tiles / all_tiles) * config_.sm.count);
        const auto cut = [&](std::uint32_t count, std::uint32_t tiles_each) {
            const std::uint32_t wave = config_.sm.count / std::gcd(config_.sm.count, tiles_each);
            const auto wanted = static_cast<std::uint32_t>(std::max(1.0, part * count));
            const std::uint32_t left_out = (count - wanted) / wave * wave;
            return left_out > 0 ? count - left_out : wanted;
        };
        AttentionShape result = shape;
        if (part * shape.batch >= 1) {
            result.batch = cut(shape.batch, shape.heads * shape.tiles_per_head());
            if (result.steps() <= 2 * part * shape.steps()) return result;
        }
        const std::uint32_t ratio = shape.heads / shape.kv_heads;
        result.batch = 1;
        const double heads = part * shape.batch * shape.heads;
        result.kv_heads = static_cast<std::uint32_t>(std::ceil(heads / ratio));
        result.heads =
            heads >= ratio ? result.kv_heads * ratio : static_cast<std::uint32_t>(std::ceil(heads));
        return result;
    }

    Cost attention(const AttentionShape& shape, double clock, double& simulated) {
        session_.set_clock(clock);
        const bool longest_first = shape.key_bytes() <= static_cast<double>(config_.l2.bytes);
        const bool cold = from_memory(shape);
        const auto of = [&](const AttentionShape& some) {
            // The preparation has just read all and written it elsewhere; or other parts of this kernel.
            const bool whole = shape.steps() <= kWholeSteps * config_.sm.count;
            const Before before{2 * shape.elements(),
                                2 * (whole ? shape.elements() : shape.result_elements())};
            return run(attention_kernel(some, config_, longest_first), cold, before);
        };
        simulated = 1;
        if (shape.steps() <= kWholeSteps * config_.sm.count) return of(shape);
        const AttentionShape first = shorter(shape, kFirstSteps, kFirstTiles),
                             second = shorter(shape, kSecondSteps, kSecondTiles);
        if (second.steps() >= shape.steps() || second.steps() <= first.steps()) return of(shape);
        simulated = second.steps() / shape.steps();
        const auto span = [&](const AttentionShape& some) {
            return some.makespan(config_.sm.count, longest_first);
        };
        const double less = span(first), more = span(second);
        if (more <= less) return of(shape);
        return along(of(first), of(second), (span(shape) - more) / (more - less));
    }

    double settled(const Cost& cost, double clock) const {
        const models::gpu::PowerConfig& power = config_.power;
        const double constant = power.constant(config_.sm.count);
        const double allowed =
            power.limit * (1 + power.allowance * std::exp(-cost.seconds / power.allowance_time));
        const double beside = cost.joules / cost.seconds - constant;
        if (beside <= 0 || power.governor == 0) return config_.clock;
        return std::clamp(clock * std::cbrt(std::max(0.0, allowed - constant) / beside), power.minimum_clock,
                          config_.clock);
    }

    models::gpu::GpuConfig config_;
    sim::GpuSession session_;
};

std::string to_text(const AttentionAnswer& answer) {
    std::ostringstream text;
    text.precision(17);
    text << answer.preparation << ' ' << answer.attention << ' ' << answer.replay << ' ' << answer.clock
         << ' ' << answer.simulated << ' ' << answer.power;
    return text.str();
}

const std::string kFailed = "failed: ";

class Worker : public sim::JobRunner {
  public:
    Worker(const models::gpu::GpuConfig& config, const std::vector<AttentionRow>& rows,
           const std::vector<std::size_t>& order)
        : timer_(config), rows_(rows), order_(order) {}

    std::string run(std::size_t job) override {
        const AttentionRow& row = rows_[order_[job]];
        try {
            return to_text(timer_.time({row.batch, row.sequence, row.heads, row.kv_heads, row.head_dim}));
        } catch (const Error& error) {
            return kFailed + std::string(error.what());
        }
    }

  private:
    Timer timer_;
    const std::vector<AttentionRow>& rows_;
    const std::vector<std::size_t>& order_;
};

double roofline(const AttentionRow& row, const models::gpu::GpuConfig& config) {
    const double tokens = double(row.batch) * row.sequence;
    const double work = 2 * tokens * row.sequence * row.heads * row.head_dim;
    const double bytes = 2 * tokens * row.head_dim * (4.0 * row.heads + 6.0 * row.kv_heads);
    const double rate = 0.7006 * 4 * config.tensor.f16 / 2 * config.sm.count * config.clock;
    const double launches = row.head_dim == 64 ? 4 : 3;
    return 1e6 *
           (kReplay + launches * 2.5e-6 + std::max(work / rate, bytes / (0.806 * config.hbm.bandwidth)));
}

}  // namespace

std::vector<AttentionRow> read_attention_table(const fs::path& file) {
    const CsvTable table(file, "a table of attention times");
    std::vector<std::size_t> columns;
    for (const char* name : {"batch", "sequence", "heads", "kv_heads", "head_dim", "latency_us"})
        columns.push_back(table.column(name));
    const std::optional<std::size_t> watts = table.find("watts");
    std::vector<AttentionRow> rows;
    for (const CsvRow& cells : table.rows()) {
        const auto extent = [&](std::size_t i) { return table.extent(cells, columns[i]); };
        AttentionRow row{extent(0), extent(1), extent(2), extent(3), extent(4), 0, 0, 0, {}, {}};
        if (watts && !cells.cells[*watts].empty()) row.recorded_watts = table.positive(cells, *watts);
        row.recorded = table.positive(cells, columns[5]);
        if (row.heads % row.kv_heads != 0)
            throw Error("heads are no multiple of kv_heads", table.place(cells));
        const double rows_of_a_head = static_cast<double>(row.batch) * row.sequence * row.head_dim;
        if (rows_of_a_head * (2.0 * row.heads + 2.0 * row.kv_heads) > kMostElements)
            throw Error("queries, keys, values and results are larger than the memory of any GPU",
                        table.place(cells));
        rows.push_back(std::move(row));
    }
    return rows;
}

std::vector<AttentionRow> sample_of(std::vector<AttentionRow> rows, std::size_t count, std::uint64_t seed) {
    if (rows.size() <= count) return rows;
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < count; ++i)
        std::swap(rows[i], rows[i + static_cast<std::size_t>(random() % (rows.size() - i))]);
    rows.resize(count);
    return rows;
}

void time_attention_table(std::vector<AttentionRow>& rows, const sim::Hardware& hardware,
                          const AttentionTableOptions& options) {
    models::gpu::GpuConfig config = sim::gpu_config(hardware);
    // As with products: while watts are read, a board keeps its limit.
    if (std::any_of(rows.begin(), rows.end(), [](const AttentionRow& row) { return row.recorded_watts > 0; }))
        config.power.allowance = 0;
    if (target::generation_of(config.compute_capability) != target::Generation::hopper)
        throw Error("the recorded kernels are those of Hopper", {"--hardware", 0, ""}, "h100-sxm, h200-sxm");
    for (AttentionRow& row : rows) row.roofline = roofline(row, config);
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return rows[a].recorded > rows[b].recorded; });
    const std::vector<AttentionRow> questions = rows;
    const unsigned cores = options.workers != 0 ? options.workers : sim::available_cores();
    double done = 0;
    sim::run_jobs(
        rows.size(), static_cast<unsigned>(std::min<std::size_t>(cores, rows.size())),
        [&] { return std::make_unique<Worker>(config, questions, order); },
        [&](std::size_t job, const std::string& text) {
            AttentionRow& row = rows[order[job]];
            options.progress(++done / static_cast<double>(rows.size()),
                             std::to_string(row.batch) + "x" + std::to_string(row.sequence));
            if (text.starts_with(kFailed)) {
                row.failure = text.substr(kFailed.size());
                return;
            }
            AttentionAnswer answer;
            std::istringstream(text) >> answer.preparation >> answer.attention >> answer.replay >>
                answer.clock >> answer.simulated >> answer.power;
            row.simulated = answer;
        });
}

}  // namespace heddle::validation
