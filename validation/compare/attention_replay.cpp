#include "validation/compare/attention_replay.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "isa/common/error.h"
#include "workloads/kernels/attention_wgmma.h"
#include "workloads/kernels/rotary.h"
#include "workloads/lowering/gpu/builder.h"
#include "workloads/lowering/gpu/gpu_lowering.h"
#include "workloads/trace/shape.h"
#include "workloads/trace/trace.h"

namespace heddle::validation {
namespace {

using trace::Op;
using trace::OpKind;
using trace::TensorId;

/// Blocks of keys that a tile of queries sees.
std::uint32_t blocks_of_tile(const AttentionShape& shape, std::uint32_t tile) {
    const std::uint32_t block = shape.head_dim <= 64 ? 256 : 128;
    const std::uint32_t seen = std::min((tile + 1) * kernels::kAttentionWgmmaQueries, shape.sequence);
    return kernels::divide_up(seen, block);
}

/// The kernels of a replay, on buffers of this shape.
class ReplayWriter {
  public:
    ReplayWriter(const AttentionShape& shape, const models::gpu::GpuConfig& config)
        : s_(shape), target_(models::gpu::target_of(config)) {}

    program::GpuProgram preparation() {
        trace::Trace small;
        fill(small, "sequence lengths", {std::int64_t{s_.batch} + 1});
        if (s_.head_dim == 64) fill(small, "attention sinks", {s_.heads});
        program_ = lowered(small);
        add_rotary();
        return std::move(program_);
    }

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
        kernels::KernelArgument argument = pointer(name, 4 * count);
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

    AttentionShape s_;
    target::GpuTarget target_;
    program::GpuProgram program_;
};

}  // namespace

std::uint32_t AttentionShape::tiles_per_head() const {
    return kernels::divide_up(sequence, kernels::kAttentionWgmmaQueries);
}

double AttentionShape::steps() const {
    double sum = 0;
    for (std::uint32_t tile = 0; tile < tiles_per_head(); ++tile) sum += blocks_of_tile(*this, tile);
    return sum * batch * heads;
}

double AttentionShape::makespan(unsigned sms, bool longest_first) const {
    // A tile's first and last latencies, as simulated ones of a single block show them.
    const double beside = head_dim <= 64 ? 0.4 : 1;
    std::vector<double> tiles;
    for (std::uint32_t tile = 0; tile < tiles_per_head(); ++tile)
        tiles.push_back(blocks_of_tile(*this, tile) + beside);
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

program::GpuProgram attention_preparation(const AttentionShape& shape, const models::gpu::GpuConfig& config) {
    return ReplayWriter(shape, config).preparation();
}

program::GpuProgram attention_kernel(const AttentionShape& shape, const models::gpu::GpuConfig& config,
                                     bool longest_first) {
    return ReplayWriter(shape, config).attention(longest_first);
}

}  // namespace heddle::validation
