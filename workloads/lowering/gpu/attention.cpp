// Attention and its gradient: kernels for Hopper (FlashAttention-3), or FlashAttention-2 and three kernels
// and a fill.
#include "workloads/kernels/attention.h"

#include <cmath>
#include <utility>

#include "workloads/expression/expression.h"
#include "workloads/kernels/attention_grad_wgmma.h"
#include "workloads/kernels/attention_softmax.h"
#include "workloads/kernels/attention_wgmma.h"
#include "workloads/lowering/gpu/builder.h"
#include "workloads/lowering/gpu/elementwise_launch.h"

namespace heddle::lowering {
namespace {

using kernels::KernelArgument;

/// A [batch, heads, sequence, head_dim] operand in memory.
struct View {
    std::int64_t batch = 0, head = 0, row = 0;  // strides in elements
};

View view_of(const trace::Tensor& tensor, const std::vector<std::int64_t>& strides) {
    if (tensor.shape.size() != 4) throw Unsupported{"no attention kernel for operands without four axes"};
    const std::vector<std::int64_t>& s = tensor.shape;
    View view{s[1] * s[2] * s[3], s[2] * s[3], s[3]};
    if (!strides.empty()) {
        if (strides[3] != 1)
            throw Unsupported{"no attention kernel for operands whose last axis has a stride"};
        view = {strides[0], strides[1], strides[2]};
    }
    if (view.batch % 8 != 0 || view.head % 8 != 0 || view.row % 8 != 0) {
        throw Unsupported{"no attention kernel for operands that are not aligned to 16 bytes"};
    }
    return view;
}

View input_view(const GpuProgramBuilder& b, std::size_t i) {
    return view_of(b.input(i), b.input_strides(i));
}
View output_view(const GpuProgramBuilder& b, std::size_t i) {
    return view_of(b.output(i), b.op().strides("output" + std::to_string(i)));
}

void add_view(std::vector<KernelArgument>& arguments, const std::string& name, const View& view) {
    arguments.push_back(kernels::integer_argument(name + "_row", static_cast<std::uint64_t>(view.row)));
    arguments.push_back(kernels::integer_argument(name + "_head", static_cast<std::uint64_t>(view.head)));
    arguments.push_back(kernels::integer_argument(name + "_batch", static_cast<std::uint64_t>(view.batch)));
}

struct Problem {
    std::uint32_t batch = 0, heads = 0, kv_heads = 0, queries = 0, keys = 0, head_dim = 0;
    kernels::ElementType type = kernels::ElementType::bf16;
    bool causal = false;
    float scale = 1;
    double dropout = 0;
    std::uint64_t stream = 0;
};

Problem problem_of(const GpuProgramBuilder& b, std::size_t first) {
    const trace::Tensor &q = b.input(first), &k = b.input(first + 1), &v = b.input(first + 2);
    if (q.shape.size() != 4 || k.shape.size() != 4)
        throw Unsupported{"no attention kernel for operands without four axes"};
    Problem p;
    p.batch = static_cast<std::uint32_t>(q.shape[0]);
    p.heads = static_cast<std::uint32_t>(q.shape[1]);
    p.kv_heads = static_cast<std::uint32_t>(k.shape[1]);
    p.queries = static_cast<std::uint32_t>(q.shape[2]);
    p.keys = static_cast<std::uint32_t>(k.shape[2]);
    p.head_dim = static_cast<std::uint32_t>(q.shape[3]);
    p.type = kernel_type(q.type);
    p.causal = b.op().get(keys::attention.causal) != 0;
    p.scale =
        static_cast<float>(b.op().get(keys::attention.scale, 1 / std::sqrt(static_cast<double>(p.head_dim))));
    p.dropout = b.op().get(keys::attention.dropout);
    p.stream = static_cast<std::uint64_t>(b.op().get(keys::attention.stream));
    if (p.type != kernels::ElementType::f16 && p.type != kernels::ElementType::bf16) {
        throw Unsupported{"no attention kernel for " + kernels::name_of(p.type)};
    }
    if ((p.head_dim != 64 && p.head_dim != 128) || v.shape[3] != q.shape[3]) {
        throw Unsupported{"no attention kernel for heads of " + std::to_string(p.head_dim)};
    }
    if (p.heads % p.kv_heads != 0) throw Unsupported{"no attention kernel for this grouping of heads"};
    return p;
}

std::vector<KernelArgument> sizes(const Problem& p) {
    std::vector<KernelArgument> arguments{
        kernels::integer_argument("queries", p.queries), kernels::integer_argument("keys", p.keys),
        kernels::integer_argument("heads_per_kv_head", p.heads / p.kv_heads),
        kernels::f32_argument("scale", p.scale)};
    if (p.dropout > 0) kernels::add_dropout_arguments(arguments, p.dropout, p.stream);
    return arguments;
}

bool narrow(const Problem& p) {
    return p.dropout > 0 && kernels::narrow_dropout(std::uint64_t{p.batch} * p.heads * p.queries, p.keys);
}

/// Which kernel a recording names decides; else the newest that the device has.
bool takes_wgmma(const GpuProgramBuilder& b) {
    if (!b.generation().has_wgmma) return false;
    const std::string& name = b.op().kernel_name;
    // FlashAttention-2 and PyTorch's memory-efficient attention do not use wgmma.
    return name.find("flash_fwd_kernel<Flash_fwd_kernel_traits") == std::string::npos &&
           name.find("fmha_cutlassF") == std::string::npos;
}

kernels::AttentionOperand operand_of(const KernelArgument& memory, const View& view) {
    return {memory, static_cast<std::uint64_t>(view.row), static_cast<std::uint64_t>(view.head),
            static_cast<std::uint64_t>(view.batch)};
}

/// What forward and backward passes by wgmma have in common.
template <class Passes>
void set_sizes(const Problem& p, Passes& problem) {
    problem.batch = p.batch;
    problem.heads = p.heads;
    problem.kv_heads = p.kv_heads;
    problem.queries = p.queries;
    problem.keys = p.keys;
    problem.scale = p.scale;
    problem.dropout = p.dropout;
    problem.stream = p.stream;
}

void lower_with_wgmma(GpuProgramBuilder& b, const Problem& p, const KernelArgument& lse) {
    kernels::AttentionProblem problem;
    set_sizes(p, problem);
    problem.q = operand_of(b.input_pointer("", 0), input_view(b, 0));
    problem.k = operand_of(b.input_pointer("", 1), input_view(b, 1));
    problem.v = operand_of(b.input_pointer("", 2), input_view(b, 2));
    problem.o = operand_of(b.output_pointer("", 0), output_view(b, 0));
    problem.lse = lse;
    const program::BufferId counter = b.workspace("counter of attention tiles", 4);
    b.steer_by_buffer(counter, 4, 0, 1);  // 0
    problem.counter = kernels::pointer_argument("", counter);
    kernels::AttentionWgmmaSpec spec =
        kernels::attention_wgmma_choice(p.type, p.head_dim, p.causal, problem, b.target().l2_bytes);
    // Of a part of a larger problem, the whole one's.
    spec.longest_first = b.op().get(keys::attention.longest_first, spec.longest_first ? 1 : 0) != 0;
    const kernels::AttentionWgmmaLaunch launch =
        kernels::attention_wgmma_launch(spec, problem, b.target().sm_count);
    b.launch(kernels::generate_attention_wgmma(spec), launch.grid, launch.arguments);
}

/// The same for the gradient: FlashAttention-2's and PyTorch's memory-efficient one do not use wgmma, and a
/// recording has their three kernels as ops of their own.
bool gradient_takes_wgmma(const GpuProgramBuilder& b) {
    if (!b.generation().has_wgmma || b.output(0).type == trace::ElementType::f32) return false;
    const std::string& name = b.op().kernel_name;
    return name.find("flash_bwd_dq_dk_dv_loop") == std::string::npos &&
           name.find("fmha_cutlassB") == std::string::npos;
}

/// Where the gradients of keys and values are made: query heads that share a key head each make their own
/// part.
struct KeyGradients {
    KernelArgument dk, dv;
    View dk_view, dv_view;
    bool by_query_heads = false;
};
KeyGradients key_gradients_of(GpuProgramBuilder& b, const Problem& p) {
    if (p.heads == p.kv_heads)
        return {b.output_pointer("dk", 1), b.output_pointer("dv", 2), output_view(b, 1), output_view(b, 2)};
    const std::int64_t row = p.head_dim, head = row * p.keys;
    const View view{head * p.heads, head, row};
    const std::uint64_t bytes = std::uint64_t{2} * p.batch * p.heads * p.keys * p.head_dim;
    return {kernels::pointer_argument("dk", b.workspace("attention dk by query heads", bytes)),
            kernels::pointer_argument("dv", b.workspace("attention dv by query heads", bytes)), view, view,
            true};
}

/// Sums the gradients of the query heads that share a key head.
void add_query_heads(GpuProgramBuilder& b, const Problem& p, const KernelArgument& parts,
                     std::size_t output) {
    const std::uint32_t ratio = p.heads / p.kv_heads;
    if (ratio > 16) throw Unsupported{"no attention gradient kernel for more than 16 queries per key head"};
    const std::int64_t head = std::int64_t{p.keys} * p.head_dim;
    std::vector<std::int64_t> strides{p.heads * head, ratio * head, p.head_dim, 1};
    // Heads lie one after the other, or side by side in each row.
    std::vector<std::int64_t> shape = b.output(output).shape;
    const View view = output_view(b, output);
    if (view.row != p.head_dim) {
        const std::int64_t row = std::int64_t{p.kv_heads} * p.head_dim;
        if (view.row != row || view.head != p.head_dim || view.batch != row * p.keys)
            throw Unsupported{"no attention gradient kernel for grouped heads with gaps between them"};
        std::swap(shape[1], shape[2]);
        std::swap(strides[1], strides[2]);
    }
    std::vector<ElementwiseOperand> inputs;
    std::string sum = "y0 = x0";
    for (std::uint32_t i = 0; i < ratio; ++i) {
        KernelArgument part = parts;
        part.byte_offset += static_cast<std::uint64_t>(i * head) * 2;
        inputs.push_back({b.output(output).type, part, strides});
        if (i > 0) sum += " + x" + std::to_string(i);
    }
    launch_elementwise(b, expression::parse(sum), {}, shape, inputs, {output_operand(b, output)});
}

void lower_grad_with_wgmma(GpuProgramBuilder& b, const Problem& p) {
    kernels::AttentionGradWgmmaSpec spec;
    spec.type = p.type;
    spec.head_dim = p.head_dim;
    spec.causal = p.causal;
    spec.dropout = p.dropout > 0;
    spec.narrow_dropout = narrow(p);
    const KeyGradients keys = key_gradients_of(b, p);
    kernels::AttentionGradProblem problem;
    set_sizes(p, problem);
    problem.d_o = operand_of(b.input_pointer("", 0), input_view(b, 0));
    problem.q = operand_of(b.input_pointer("", 1), input_view(b, 1));
    problem.k = operand_of(b.input_pointer("", 2), input_view(b, 2));
    problem.v = operand_of(b.input_pointer("", 3), input_view(b, 3));
    problem.o = operand_of(b.input_pointer("", 4), input_view(b, 4));
    problem.lse = b.input_pointer("", 5);
    problem.dq = operand_of(b.output_pointer("", 0), output_view(b, 0));
    problem.dk = operand_of(keys.dk, keys.dk_view);
    problem.dv = operand_of(keys.dv, keys.dv_view);
    const std::uint64_t rows = kernels::attention_grad_wgmma_rows(spec, problem);
    problem.shift = kernels::pointer_argument("", b.workspace("attention shift", rows * 4));
    problem.delta = kernels::pointer_argument("", b.workspace("attention delta", rows * 4));
    problem.dq_accumulator =
        kernels::pointer_argument("", b.workspace("attention dq", rows * p.head_dim * 4));
    for (const kernels::AttentionGradLaunch& launch : kernels::attention_grad_wgmma_launches(spec, problem))
        b.launch(launch.kernel, launch.grid, launch.arguments);
    if (!keys.by_query_heads) return;
    add_query_heads(b, p, keys.dk, 1);
    add_query_heads(b, p, keys.dv, 2);
}

}  // namespace

bool lower_row_products(GpuProgramBuilder& b) {
    const trace::Tensor& x = b.input(0);
    if (b.op().inputs.size() != 2 || x.shape.size() != 4 || b.input(1).shape != x.shape ||
        b.input(1).type != x.type ||
        (x.type != trace::ElementType::f16 && x.type != trace::ElementType::bf16) ||
        (x.shape[3] != 64 && x.shape[3] != 128) || b.output(0).type != trace::ElementType::f32) {
        return false;
    }
    kernels::AttentionGradSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.type = kernel_type(x.type);
    spec.head_dim = static_cast<unsigned>(x.shape[3]);
    const auto queries = static_cast<std::uint32_t>(x.shape[2]);
    std::vector<KernelArgument> arguments{b.output_pointer("delta", 0), b.input_pointer("o", 1),
                                          b.input_pointer("d_o", 0),
                                          kernels::integer_argument("queries", queries)};
    add_view(arguments, "o", input_view(b, 1));
    add_view(arguments, "do", input_view(b, 0));
    b.launch(kernels::generate_attention_delta(spec),
             kernels::attention_rows_grid(spec, queries, static_cast<std::uint32_t>(x.shape[0]),
                                          static_cast<std::uint32_t>(x.shape[1])),
             arguments);
    return true;
}

void lower_attention(GpuProgramBuilder& b) {
    const Problem p = problem_of(b, 0);
    const KernelArgument lse =
        b.has_output(1)
            ? b.output_pointer("lse", 1)
            : kernels::pointer_argument(
                  "lse", b.workspace("log-sum-exp", std::uint64_t{4} * p.batch * p.heads * p.queries));
    if (takes_wgmma(b)) return lower_with_wgmma(b, p, lse);
    kernels::AttentionSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.type = p.type;
    spec.head_dim = p.head_dim;
    spec.causal = p.causal;
    spec.dropout = p.dropout > 0;
    spec.narrow_dropout = narrow(p);
    const std::vector<std::int64_t> block =
        b.op().get(keys::any.tile);  // of a recorded kernel: queries, keys
    if (block.size() >= 2) {
        if (block[0] == 64 || block[0] == 128) spec.block_m = static_cast<unsigned>(block[0]);
        if (block[1] == 64 || block[1] == 128) spec.block_n = static_cast<unsigned>(block[1]);
    }
    spec.full_blocks = p.queries % spec.block_m == 0 && p.keys % spec.block_n == 0;
    std::vector<KernelArgument> arguments = sizes(p);
    arguments.push_back(b.output_pointer("o", 0));
    arguments.push_back(lse);
    const char* names[] = {"q", "k", "v"};
    for (std::size_t i = 0; i < 3; ++i) {
        arguments.push_back(b.input_pointer(names[i], i));
        add_view(arguments, names[i], input_view(b, i));
    }
    add_view(arguments, "o", output_view(b, 0));
    b.launch(kernels::generate_attention_forward(spec),
             kernels::attention_forward_grid(spec, p.queries, p.batch, p.heads), arguments);
}

void lower_attention_grad(GpuProgramBuilder& b) {
    // d out, q, k, v, out, log-sum-exp -> dq, dk, dv
    const Problem p = problem_of(b, 1);
    if (gradient_takes_wgmma(b)) return lower_grad_with_wgmma(b, p);
    kernels::AttentionGradSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.type = p.type;
    spec.head_dim = p.head_dim;
    spec.causal = p.causal;
    spec.dropout = p.dropout > 0;
    spec.narrow_dropout = narrow(p);
    const std::vector<std::int64_t> block = b.op().get(keys::any.tile);
    if (block.size() >= 2 && (block[1] == 64 || block[1] == 128))
        spec.block_n = static_cast<unsigned>(block[1]);
    spec.full_blocks = p.queries % 64 == 0 && p.keys % spec.block_n == 0;

    // A recorded library calls the three kernels as ops of their own: this op is then the second one, and its
    // first result is the f32 accumulator.
    const bool main_kernel_only = !b.op().kernel_name.empty() && b.output(0).type == trace::ElementType::f32;
    const std::uint64_t rows = std::uint64_t{p.batch} * p.heads * p.queries;
    const program::BufferId delta = b.workspace("attention delta", rows * 4);
    const KernelArgument dq =
        main_kernel_only
            ? b.output_pointer("dq_accumulator", 0)
            : kernels::pointer_argument("dq_accumulator", b.workspace("attention dq", rows * p.head_dim * 4));
    const kernels::Extent3 rows_grid = kernels::attention_rows_grid(spec, p.queries, p.batch, p.heads);
    if (!main_kernel_only) {
        std::vector<KernelArgument> first{kernels::pointer_argument("delta", delta), b.input_pointer("o", 4),
                                          b.input_pointer("d_o", 0),
                                          kernels::integer_argument("queries", p.queries)};
        add_view(first, "o", input_view(b, 4));
        add_view(first, "do", input_view(b, 0));
        b.launch(kernels::generate_attention_delta(spec), rows_grid, first);
        launch_elementwise(b, expression::parse("y0 = 0"), {}, {static_cast<std::int64_t>(rows * p.head_dim)},
                           {}, {{trace::ElementType::f32, dq, {}}});
    }

    std::vector<KernelArgument> second = sizes(p);
    second.push_back(dq);
    const KeyGradients gradients = key_gradients_of(b, p);
    second.push_back(gradients.dk);
    second.push_back(gradients.dv);
    second.push_back(b.input_pointer("q", 1));
    second.push_back(b.input_pointer("k", 2));
    second.push_back(b.input_pointer("v", 3));
    second.push_back(b.input_pointer("d_o", 0));
    second.push_back(b.input_pointer("lse", 5));
    second.push_back(kernels::pointer_argument("delta", delta));
    add_view(second, "q", input_view(b, 1));
    add_view(second, "k", input_view(b, 2));
    add_view(second, "v", input_view(b, 3));
    add_view(second, "do", input_view(b, 0));
    add_view(second, "dk", gradients.dk_view);
    add_view(second, "dv", gradients.dv_view);
    b.launch(kernels::generate_attention_grad(spec),
             kernels::attention_grad_grid(spec, p.keys, p.batch, p.heads), second);
    if (gradients.by_query_heads) {
        add_query_heads(b, p, gradients.dk, 1);
        add_query_heads(b, p, gradients.dv, 2);
    }
    if (main_kernel_only) return;

    std::vector<KernelArgument> third{b.output_pointer("dq", 0), dq,
                                      kernels::integer_argument("queries", p.queries),
                                      kernels::f32_argument("scale", p.scale)};
    add_view(third, "dq", output_view(b, 0));
    b.launch(kernels::generate_attention_finish_dq(spec), rows_grid, third);
}

}  // namespace heddle::lowering
