// Samples: attention, forward and gradient.
#include "workloads/kernels/attention.h"
#include "workloads/kernels/attention_grad_wgmma.h"
#include "workloads/kernels/attention_softmax.h"
#include "workloads/kernels/attention_wgmma.h"
#include "workloads/kernels/library_builder.h"
#include "workloads/kernels/rotary.h"

namespace heddle::kernels {
namespace {

constexpr std::uint32_t kBatch = 1, kHeads = 2;

/// Strides of a [batch, sequence, heads, head_dim] tensor.
void add_strides(SampleBuilder& sample, const std::string& prefix, std::uint32_t sequence,
                 std::uint32_t dim) {
    sample.integer(prefix + "_row", kHeads * dim).integer(prefix + "_head", dim);
    sample.integer(prefix + "_batch", std::uint64_t{sequence} * kHeads * dim);
}

void add_forward(std::vector<LibraryKernel>& samples, const AttentionSpec& spec, std::uint32_t queries,
                 std::uint32_t keys) {
    const std::uint64_t rows = kBatch * kHeads * queries, key_rows = kBatch * kHeads * keys;
    SampleBuilder sample(
        "attention forward d" + std::to_string(spec.head_dim) + (spec.causal ? " causal" : "") +
            (spec.dropout ? " dropout" : "") + (spec.full_blocks ? " full" : " edges"),
        generate_attention_forward(spec), attention_forward_grid(spec, queries, kBatch, kHeads));
    sample.output("o", spec.type, rows * spec.head_dim).output("lse", ElementType::f32, rows);
    sample.input("q", spec.type, rows * spec.head_dim);
    for (const char* name : {"k", "v"}) sample.input(name, spec.type, key_rows * spec.head_dim);
    sample.integer("queries", queries).integer("keys", keys).integer("heads_per_kv_head", 1);
    add_strides(sample, "q", queries, spec.head_dim);
    add_strides(sample, "o", queries, spec.head_dim);
    add_strides(sample, "k", keys, spec.head_dim);
    add_strides(sample, "v", keys, spec.head_dim);
    if (spec.dropout) add_dropout_arguments(sample.arguments(), 0.1, 1);
    samples.push_back(sample.real("scale", 0.125f).finish());
}

void add_wgmma(std::vector<LibraryKernel>& samples, const AttentionWgmmaSpec& spec, std::uint32_t queries,
               std::uint32_t keys) {
    constexpr unsigned kSms = 3;
    const std::uint64_t rows = kBatch * kHeads * queries, key_rows = kBatch * kHeads * keys;
    const std::uint32_t per_entry = divide_up(keys, kAttentionPage), pages = 2 * kBatch * per_entry;
    SampleBuilder sample("attention wgmma d" + std::to_string(spec.head_dim) + " " +
                             std::to_string(spec.block_n) + " keys" + (spec.causal ? " causal" : "") +
                             (spec.paged ? " paged" : "") + (spec.dropout ? " dropout" : ""),
                         generate_attention_wgmma(spec), {1, 1, 1});
    sample.output("o", spec.type, rows * spec.head_dim).output("lse", ElementType::f32, rows);
    sample.input("q", spec.type, rows * spec.head_dim);
    for (const char* name : {"k", "v"}) {
        sample.input(name, spec.type,
                     spec.paged ? std::uint64_t{pages} * kHeads * kAttentionPage * spec.head_dim
                                : key_rows * spec.head_dim);
    }
    sample.index("counter", ElementType::i32, 1, 1);  // 0
    if (spec.paged) sample.index("page_list", ElementType::i32, pages, pages);
    const auto operand = [&](std::uint32_t buffer, std::uint32_t sequence) {
        return AttentionOperand{pointer_argument("", buffer), std::uint64_t{kHeads} * spec.head_dim,
                                spec.head_dim, std::uint64_t{sequence} * kHeads * spec.head_dim};
    };
    const auto cached = [&](std::uint32_t buffer) {
        return AttentionOperand{pointer_argument("", buffer), spec.head_dim,
                                std::uint64_t{kAttentionPage} * spec.head_dim,
                                std::uint64_t{kHeads} * kAttentionPage * spec.head_dim};
    };
    const AttentionProblem problem{kBatch,
                                   kHeads,
                                   kHeads,
                                   queries,
                                   keys,
                                   0.125f,
                                   operand(2, queries),
                                   spec.paged ? cached(3) : operand(3, keys),
                                   spec.paged ? cached(4) : operand(4, keys),
                                   operand(0, queries),
                                   pointer_argument("", 1),
                                   pointer_argument("", 5),
                                   0.1,
                                   1,
                                   pointer_argument("", 6),
                                   per_entry,
                                   pages};
    AttentionWgmmaLaunch launch = attention_wgmma_launch(spec, problem, kSms);
    sample.arguments() = launch.arguments;
    LibraryKernel finished = sample.finish();
    finished.grid = launch.grid;
    samples.push_back(std::move(finished));
}

void add_grad_wgmma(std::vector<LibraryKernel>& samples, const AttentionGradWgmmaSpec& spec,
                    std::uint32_t queries, std::uint32_t keys) {
    const char* const stems[] = {"attention gradient wgmma rows", "attention gradient wgmma",
                                 "attention gradient wgmma finish"};
    const std::uint32_t padded = divide_up(queries, spec.block_m()) * spec.block_m();
    const std::uint64_t rows = kBatch * kHeads * padded, d = spec.head_dim;
    const std::uint64_t query_elements = std::uint64_t{kBatch} * kHeads * queries * d,
                        key_elements = std::uint64_t{kBatch} * kHeads * keys * d;
    for (unsigned which = 0; which < 3; ++which) {
        // The same buffers for all three; a problem is described by their numbers.
        SampleBuilder sample(std::string(stems[which]) + " d" + std::to_string(d) +
                                 (spec.causal ? " causal" : "") + (spec.dropout ? " dropout" : ""),
                             which == 0   ? generate_attention_grad_wgmma_rows(spec)
                             : which == 1 ? generate_attention_grad_wgmma(spec)
                                          : generate_attention_grad_wgmma_finish(spec),
                             {1, 1, 1});
        sample.output("dq_accumulator", ElementType::f32, rows * d);
        for (const char* name : {"shift", "delta"}) sample.output(name, ElementType::f32, rows);
        for (const char* name : {"q", "o", "d_o", "dq"}) sample.input(name, spec.type, query_elements);
        for (const char* name : {"k", "v", "dk", "dv"}) sample.input(name, spec.type, key_elements);
        sample.input("lse", ElementType::f32, std::uint64_t{kBatch} * kHeads * queries);
        const auto operand = [&](std::uint32_t buffer, std::uint32_t sequence) {
            return AttentionOperand{pointer_argument("", buffer), kHeads * d, d, sequence * kHeads * d};
        };
        AttentionGradProblem problem;
        problem.batch = kBatch;
        problem.heads = problem.kv_heads = kHeads;
        problem.queries = queries;
        problem.keys = keys;
        problem.scale = 0.125f;
        problem.dropout = 0.1;
        problem.dq_accumulator = pointer_argument("", 0);
        problem.shift = pointer_argument("", 1);
        problem.delta = pointer_argument("", 2);
        problem.q = operand(3, queries);
        problem.o = operand(4, queries);
        problem.d_o = operand(5, queries);
        problem.dq = operand(6, queries);
        problem.k = operand(7, keys);
        problem.v = operand(8, keys);
        problem.dk = operand(9, keys);
        problem.dv = operand(10, keys);
        problem.lse = pointer_argument("", 11);
        AttentionGradLaunch launch = std::move(attention_grad_wgmma_launches(spec, problem)[which]);
        sample.arguments() = launch.arguments;
        LibraryKernel finished = sample.finish();
        finished.grid = launch.grid;
        samples.push_back(std::move(finished));
    }
}

/// With pages one token: any two could fall to one place of the cache.
void add_rotary(std::vector<LibraryKernel>& samples, const RotarySpec& spec) {
    constexpr std::uint32_t kKvHeads = 1;
    const std::uint32_t sequence = spec.paged ? 1 : 45, tokens = spec.paged ? 1 : 90, dim = spec.head_dim;
    const std::uint64_t cache = std::uint64_t{tokens} * kKvHeads * dim;
    SampleBuilder sample("rotary embedding d" + std::to_string(dim) + (spec.paged ? " paged" : ""),
                         generate_rotary(spec), {2, kHeads, 1});
    sample.output("q", spec.type, std::uint64_t{tokens} * kHeads * dim)
        .output("k_cache", spec.type, cache)
        .output("v_cache", spec.type, cache)
        .input("qkv", spec.type, std::uint64_t{tokens} * (kHeads + 2 * kKvHeads) * dim)
        .input("angles", ElementType::f32, std::uint64_t{sequence} * dim)
        .integer("tokens", tokens)
        .integer("heads", kHeads)
        .integer("kv_heads", kKvHeads)
        .divider("heads_per_kv_head", kHeads / kKvHeads)
        .divider("sequence", sequence);
    if (spec.paged) {
        sample.index("entries", ElementType::i32, tokens, 1)
            .index("positions", ElementType::i32, tokens, sequence)
            .index("lengths", ElementType::i32, 1, 1)
            .index("cache_lengths", ElementType::i32, 1, 1)
            .index("pages", ElementType::i32, 2, 1)
            .integer("pages_per_entry", 1);
    }
    samples.push_back(sample.finish());
}

void add_grad(std::vector<LibraryKernel>& samples, const AttentionGradSpec& spec, std::uint32_t queries,
              std::uint32_t keys) {
    const std::uint64_t rows = kBatch * kHeads * queries, key_rows = kBatch * kHeads * keys;
    SampleBuilder sample("attention gradient d" + std::to_string(spec.head_dim) + " " +
                             std::to_string(spec.block_n) + " keys" + (spec.causal ? " causal" : "") +
                             (spec.dropout ? " dropout" : "") + (spec.full_blocks ? " full" : " edges"),
                         generate_attention_grad(spec), attention_grad_grid(spec, keys, kBatch, kHeads));
    sample.output("dq_accumulator", ElementType::f32, rows * spec.head_dim);
    for (const char* name : {"dk", "dv"}) sample.output(name, spec.type, key_rows * spec.head_dim);
    for (const char* name : {"q", "d_o"}) sample.input(name, spec.type, rows * spec.head_dim);
    for (const char* name : {"k", "v"}) sample.input(name, spec.type, key_rows * spec.head_dim);
    for (const char* name : {"lse", "delta"}) sample.input(name, ElementType::f32, rows);
    sample.integer("queries", queries).integer("keys", keys).integer("heads_per_kv_head", 1);
    for (const char* name : {"q", "do"}) add_strides(sample, name, queries, spec.head_dim);
    for (const char* name : {"k", "v", "dk", "dv"}) add_strides(sample, name, keys, spec.head_dim);
    if (spec.dropout) add_dropout_arguments(sample.arguments(), 0.1, 1);
    samples.push_back(sample.real("scale", 0.125f).finish());
}

}  // namespace

void add_attention_samples(std::vector<LibraryKernel>& samples, unsigned compute_capability) {
    const target::Generation& generation = target::nearest_generation(compute_capability);
    if (!generation.has_cp_async) return;
    for (const unsigned head_dim : {64u, 128u}) {
        for (const bool causal : {false, true}) {
            AttentionSpec forward;
            forward.compute_capability = compute_capability;
            forward.head_dim = head_dim;
            forward.causal = causal;
            forward.block_m = 64;
            add_forward(samples, forward, 70, 90);
            AttentionGradSpec grad;
            grad.compute_capability = compute_capability;
            grad.head_dim = head_dim;
            grad.causal = causal;
            grad.block_n = head_dim == 64 ? 128 : 64;
            grad.stages = causal ? 1 : 2;
            add_grad(samples, grad, 70, 90);
        }
    }
    AttentionSpec dropped;
    dropped.compute_capability = compute_capability;
    dropped.dropout = true;
    dropped.block_m = 64;
    add_forward(samples, dropped, 70, 90);
    AttentionGradSpec dropped_grad;
    dropped_grad.compute_capability = compute_capability;
    dropped_grad.dropout = dropped_grad.narrow_dropout = true;
    add_grad(samples, dropped_grad, 70, 90);
    RotarySpec rotary;
    rotary.compute_capability = compute_capability;
    add_rotary(samples, rotary);
    rotary.head_dim = 128;
    rotary.paged = true;
    add_rotary(samples, rotary);
    if (generation.has_wgmma) {
        AttentionWgmmaSpec hopper;
        hopper.block_n = 256;
        add_wgmma(samples, hopper, 300, 300);
        hopper.head_dim = hopper.block_n = 128;
        hopper.causal = true;
        add_wgmma(samples, hopper, 300, 330);
        hopper.longest_first = false;
        hopper.dropout = true;
        add_wgmma(samples, hopper, 70, 90);
        hopper.dropout = false;
        hopper.paged = hopper.store_words = true;
        add_wgmma(samples, hopper, 70, 200);
        AttentionGradWgmmaSpec gradient;
        add_grad_wgmma(samples, gradient, 150, 200);
        gradient.head_dim = 128;
        gradient.causal = true;
        add_grad_wgmma(samples, gradient, 70, 200);
        gradient.dropout = true;
        add_grad_wgmma(samples, gradient, 90, 70);
    }
    AttentionSpec full;
    full.compute_capability = compute_capability;
    full.full_blocks = full.causal = true;
    add_forward(samples, full, 128, 128);
    AttentionGradSpec grad;
    grad.compute_capability = compute_capability;
    grad.full_blocks = grad.causal = true;
    add_grad(samples, grad, 128, 128);

    const std::uint32_t queries = 37;
    const std::uint64_t rows = kBatch * kHeads * queries;
    SampleBuilder delta("attention delta", generate_attention_delta(grad),
                        attention_rows_grid(grad, queries, kBatch, kHeads));
    delta.output("delta", ElementType::f32, rows)
        .input("o", grad.type, rows * 64)
        .input("d_o", grad.type, rows * 64);
    add_strides(delta, "o", queries, 64);
    add_strides(delta, "do", queries, 64);
    samples.push_back(delta.integer("queries", queries).finish());
    SampleBuilder finish("attention dq", generate_attention_finish_dq(grad),
                         attention_rows_grid(grad, queries, kBatch, kHeads));
    finish.output("dq", grad.type, rows * 64).input("dq_accumulator", ElementType::f32, rows * 64);
    add_strides(finish, "dq", queries, 64);
    samples.push_back(finish.integer("queries", queries).real("scale", 0.125f).finish());
}

}  // namespace heddle::kernels
