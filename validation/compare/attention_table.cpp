#include "validation/compare/attention_table.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <queue>
#include <random>
#include <sstream>

#include "isa/common/error.h"
#include "sim/run/gpu_session.h"
#include "sim/run/worker_pool.h"
#include "validation/recorded/csv_table.h"
#include "workloads/kernels/attention_wgmma.h"
#include "workloads/kernels/rotary.h"
#include "workloads/lowering/gpu/builder.h"
#include "workloads/lowering/gpu/gpu_lowering.h"
#include "workloads/trace/shape.h"
#include "workloads/trace/trace.h"

namespace heddle::validation {
namespace {

namespace fs = std::filesystem;
using trace::Op;
using trace::OpKind;
using trace::TensorId;

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

struct Shape {
    std::uint32_t batch, sequence, heads, kv_heads, head_dim;

    std::uint32_t tiles_per_head() const {
        return kernels::divide_up(sequence, kernels::kAttentionWgmmaQueries);
    }
    /// Blocks of keys that all tiles together take.
    double steps() const {
        const unsigned block = head_dim <= 64 ? 256 : 128;
        double sum = 0;
        for (std::uint32_t tile = 0; tile < tiles_per_head(); ++tile)
            sum +=
                kernels::divide_up(std::min((tile + 1) * kernels::kAttentionWgmmaQueries, sequence), block);
        return sum * batch * heads;
    }
    double elements() const { return double(batch) * sequence * (double(heads) + 2 * kv_heads) * head_dim; }
    /// When the last of `sms` SMs would end that take the next tile whenever they have done one, each tile
    /// taking its blocks of keys and as long as `beside` of them for itself; in blocks of keys.
    double makespan(unsigned sms, bool longest_first) const {
        const unsigned block = head_dim <= 64 ? 256 : 128;
        // A tile's first and last latencies, as simulated ones of a single block show them.
        const double beside = head_dim <= 64 ? 0.4 : 1;
        std::vector<double> tiles;
        for (std::uint32_t tile = 0; tile < tiles_per_head(); ++tile) {
            const std::uint32_t seen = std::min((tile + 1) * kernels::kAttentionWgmmaQueries, sequence);
            tiles.push_back(kernels::divide_up(seen, block) + beside);
        }
        std::priority_queue<double, std::vector<double>, std::greater<>> ends;
        for (unsigned i = 0; i < sms; ++i) ends.push(0);
        double last = 0;
        const auto take = [&](double tile) {
            const double end = ends.top() + tile;
            ends.pop();
            ends.push(end);
            last = std::max(last, end);
        };
        const std::uint32_t of_each = batch * heads;
        if (longest_first) {
            for (std::size_t i = tiles.size(); i-- > 0;)
                for (std::uint32_t entry = 0; entry < of_each; ++entry) take(tiles[i]);
        } else {
            for (std::uint32_t entry = 0; entry < of_each; ++entry)
                for (const double tile : tiles) take(tile);
        }
        return last;
    }
    double result_elements() const { return double(batch) * sequence * heads * head_dim; }
    double key_bytes() const { return 4.0 * batch * heads * sequence * head_dim; }
};

/// The kernels of a replay, on buffers of this shape.
class Program {
  public:
    Program(const Shape& shape, const models::gpu::GpuConfig& config)
        : s_(shape), target_(models::gpu::target_of(config)) {}

    /// Lengths and, with heads of 64, sinks; positions and cache.
    program::GpuProgram preparation() {
        trace::Trace small;
        fill(small, "sequence lengths", {std::int64_t{s_.batch} + 1});
        if (s_.head_dim == 64) fill(small, "attention sinks", {s_.heads});
        program_ = lowered(small);
        add_rotary();
        return std::move(program_);
    }

    /// Keys and values lie in pages of 64 tokens.
    program::GpuProgram attention(bool longest_first) {
        const std::uint32_t per_entry = kernels::divide_up(s_.sequence, kPage);
        const std::uint64_t rows = std::uint64_t{s_.batch} * s_.sequence * s_.heads;
        // Tokens follow one another, each with all its heads.
        const std::uint64_t row = std::uint64_t{s_.heads} * s_.head_dim;
        const auto tokens = [&](const std::string& name) {
            return kernels::AttentionOperand{pointer(name, 2 * rows * s_.head_dim), row, s_.head_dim,
                                             s_.sequence * row};
        };
        const std::uint64_t page = std::uint64_t{kPage} * s_.head_dim;
        const kernels::AttentionOperand cache{pointer("cache", 2 * cache_bytes()), s_.head_dim, page,
                                              s_.kv_heads * page};
        kernels::AttentionProblem problem;
        problem.batch = s_.batch;
        problem.heads = s_.heads;
        problem.kv_heads = s_.kv_heads;
        problem.queries = problem.keys = s_.sequence;
        problem.scale = 1 / std::sqrt(static_cast<float>(s_.head_dim));
        problem.q = tokens("q");
        problem.k = problem.v = cache;
        problem.o = tokens("o");
        problem.lse = pointer("log-sum-exp", 4 * rows);
        problem.counter = index("counter of tiles", 1, 1, 1);
        problem.pages_per_entry = per_entry;
        problem.pages = 2 * s_.batch * per_entry;
        problem.page_list = index("pages", problem.pages, 1, 0);
        kernels::AttentionWgmmaSpec spec = kernels::attention_wgmma_choice(
            kernels::ElementType::bf16, s_.head_dim, true, problem, target_.l2_bytes);
        spec.longest_first = longest_first;
        spec.paged = spec.store_words = true;
        const kernels::AttentionWgmmaLaunch launch =
            kernels::attention_wgmma_launch(spec, problem, target_.sm_count);
        add_launch(kernels::generate_attention_wgmma(spec), launch.grid, launch.arguments);
        return std::move(program_);
    }

  private:
    static constexpr std::uint32_t kPage = 64;

    static TensorId tensor(trace::Trace& trace, trace::Shape shape,
                           trace::ElementType type = trace::ElementType::bf16) {
        return trace.add(trace::Tensor{"", type, std::move(shape)});
    }
    static void fill(trace::Trace& trace, const std::string& name, trace::Shape shape) {
        Op op;
        op.kind = OpKind::fill;
        op.name = name;
        op.outputs = {tensor(trace, std::move(shape), trace::ElementType::i32)};
        trace.add(std::move(op));
    }
    program::GpuProgram lowered(const trace::Trace& trace) const {
        lowering::GpuLowering lowering = lowering::lower_for_gpu(trace, target_);
        for (const lowering::GpuLoweredOp& op : lowering.ops) {
            if (!op.unsupported.empty()) throw Error(op.unsupported);
        }
        return std::move(lowering.program);
    }

    void add_rotary() {
        kernels::RotarySpec spec;
        spec.compute_capability = target_.compute_capability;
        spec.head_dim = s_.head_dim;
        spec.rotary_dim = 128;  // of every row, as the recording program says
        spec.paged = true;
        const kernels::GeneratedKernel kernel = kernels::generate_rotary(spec);
        const std::uint32_t tokens = s_.batch * s_.sequence;
        const std::uint64_t head = std::uint64_t{2} * tokens * s_.head_dim;
        // Pages of keys and of values come from one pool, those of an entry one after the other.
        const program::BufferId pool = pointer("cache", 2 * cache_bytes()).buffer;
        std::vector<kernels::KernelArgument> arguments{
            pointer("q", head * s_.heads),
            kernels::pointer_argument("k_cache", pool),
            kernels::pointer_argument("v_cache", pool),
            pointer("qkv", head * (s_.heads + 2 * s_.kv_heads) + 2 * s_.head_dim),
            pointer("angles", std::uint64_t{4} * s_.sequence * spec.rotary_dim),
            kernels::integer_argument("tokens", tokens),
            kernels::integer_argument("heads", s_.heads),
            kernels::integer_argument("kv_heads", s_.kv_heads)};
        const std::uint32_t pages = kernels::divide_up(s_.sequence, kPage);
        arguments.push_back(index("entries", tokens, s_.sequence, 0));
        arguments.push_back(index("positions", tokens, 1, s_.sequence));
        arguments.push_back(index("lengths", s_.batch, 1, 1));  // no token was cached before: equal ones
        arguments.push_back(index("cache_lengths", s_.batch, 1, 1));
        arguments.push_back(index("pages", 2 * s_.batch * pages, 1, 0));
        arguments.push_back(kernels::integer_argument("pages_per_entry", pages));
        kernels::add_divider_arguments(arguments, "heads_per_kv_head", s_.heads / s_.kv_heads);
        kernels::add_divider_arguments(arguments, "sequence", s_.sequence);
        add_launch(kernel, kernels::rotary_grid(spec, tokens, s_.heads, target_.sm_count), arguments);
    }
    void add_launch(const kernels::GeneratedKernel& kernel, const kernels::Extent3& grid,
                    const std::vector<kernels::KernelArgument>& arguments) {
        auto text =
            std::make_shared<const program::KernelText>(program::KernelText{kernel.text, kernel.entry});
        program_.launches.push_back(lowering::launch_of(kernel, std::move(text), grid, arguments));
    }
    std::uint64_t cache_bytes() const {
        return std::uint64_t{2} * s_.batch * kernels::divide_up(s_.sequence, kPage) * kPage * s_.kv_heads *
               s_.head_dim;
    }
    /// Element i is i / every % modulo.
    kernels::KernelArgument index(const std::string& name, std::uint64_t count, std::uint64_t every,
                                  std::uint64_t modulo) {
        const kernels::KernelArgument argument = pointer(name, 4 * count);
        program::SteeringFill fill;
        fill.kind = program::SteeringFill::Kind::iota;
        fill.every = every;
        fill.modulo = modulo;
        program_.buffers[argument.buffer].steering = fill;
        return argument;
    }
    kernels::KernelArgument pointer(const std::string& name, std::uint64_t bytes) {
        program_.buffers.push_back({name, bytes, std::nullopt});
        return kernels::pointer_argument(name, static_cast<std::uint32_t>(program_.buffers.size() - 1));
    }

    Shape s_;
    target::GpuTarget target_;
    program::GpuProgram program_;
};

/// One per process. Each row was repeated for long: memory is hot, as it is for the recorded GEMMs.
class Timer {
  public:
    explicit Timer(const models::gpu::GpuConfig& config)
        : config_(models::gpu::in_graph(models::gpu::hot(config))), session_(config_) {}

    AttentionAnswer time(const Shape& shape) {
        AttentionAnswer answer;
        answer.replay = kReplay;
        answer.preparation = preparation(shape).seconds;
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
    bool from_memory(const Shape& shape) const {
        return 2 * 2 * shape.elements() > 0.5 * static_cast<double>(config_.l2.bytes);
    }

    Cost preparation(const Shape& shape) {
        const bool cold = from_memory(shape);
        const auto of = [&](double part) {
            Shape smaller = shape;
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
            return std::pair{run(Program(smaller, config_).preparation(), cold, before), smaller.elements()};
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
    Shape shorter(const Shape& shape, double steps, double tiles) const {
        const double all_tiles = double(shape.batch) * shape.heads * shape.tiles_per_head();
        const double part =
            std::min(1.0, std::max(steps / shape.steps(), tiles / all_tiles) * config_.sm.count);
        const auto cut = [&](std::uint32_t count, std::uint32_t tiles_each) {
            const std::uint32_t wave = config_.sm.count / std::gcd(config_.sm.count, tiles_each);
            const auto wanted = static_cast<std::uint32_t>(std::max(1.0, part * count));
            const std::uint32_t left_out = (count - wanted) / wave * wave;
            return left_out > 0 ? count - left_out : wanted;
        };
        Shape result = shape;
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

    Cost attention(const Shape& shape, double clock, double& simulated) {
        session_.set_clock(clock);
        const bool longest_first = shape.key_bytes() <= static_cast<double>(config_.l2.bytes);
        const bool cold = from_memory(shape);
        const auto of = [&](const Shape& some) {
            // The preparation has just read all and written it elsewhere; or other parts of this kernel.
            const bool whole = shape.steps() <= kWholeSteps * config_.sm.count;
            const Before before{2 * shape.elements(),
                                2 * (whole ? shape.elements() : shape.result_elements())};
            return run(Program(some, config_).attention(longest_first), cold, before);
        };
        simulated = 1;
        if (shape.steps() <= kWholeSteps * config_.sm.count) return of(shape);
        const Shape first = shorter(shape, kFirstSteps, kFirstTiles),
                    second = shorter(shape, kSecondSteps, kSecondTiles);
        if (second.steps() >= shape.steps() || second.steps() <= first.steps()) return of(shape);
        simulated = second.steps() / shape.steps();
        const auto span = [&](const Shape& some) { return some.makespan(config_.sm.count, longest_first); };
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
         << ' ' << answer.simulated;
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
    std::vector<AttentionRow> rows;
    for (const CsvRow& cells : table.rows()) {
        const auto extent = [&](std::size_t i) { return table.extent(cells, columns[i]); };
        AttentionRow row{extent(0), extent(1), extent(2), extent(3), extent(4), 0, 0, {}, {}};
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
    const models::gpu::GpuConfig& config = hardware.gpu();
    if (config.compute_capability != 90)
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
                answer.clock >> answer.simulated;
            row.simulated = answer;
        });
}

}  // namespace heddle::validation
