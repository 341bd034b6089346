#include "workloads/kernels/attention.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "isa/common/error.h"
#include "launcher.h"
#include "workloads/expression/expression.h"
#include "workloads/kernels/attention_grad_wgmma.h"
#include "workloads/kernels/attention_softmax.h"
#include "workloads/kernels/attention_wgmma.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;

namespace {

/// Tensors [batch, sequence, heads, dim]; the reference in doubles.
struct AttentionCase {
    std::uint32_t batch, heads, kv_heads, queries, keys, dim;
    bool causal;
    double scale;
    double dropout = 0;
    std::uint64_t stream = 0x123456789abcdef;

    /// What dropout multiplies a weight by.
    double kept(std::size_t row, std::size_t j) const {
        return heddle::expression::WeightDropout(dropout, stream).factor(row, keys, j);
    }
    std::size_t q_place(std::uint32_t b, std::uint32_t i, std::uint32_t h) const {
        return ((std::size_t{b} * queries + i) * heads + h) * dim;
    }
    std::size_t k_place(std::uint32_t b, std::uint32_t j, std::uint32_t h) const {
        return ((std::size_t{b} * keys + j) * kv_heads + h / (heads / kv_heads)) * dim;
    }
    std::size_t expanded_place(std::uint32_t b, std::uint32_t j, std::uint32_t h) const {
        return ((std::size_t{b} * keys + j) * heads + h) * dim;
    }
    std::size_t row(std::uint32_t b, std::uint32_t h, std::uint32_t i) const {
        return (std::size_t{b} * heads + h) * queries + i;
    }
};

struct AttentionReference {
    std::vector<double> o, lse, dq, dk, dv, delta;
};

double dot(const std::vector<double>& x, std::size_t i, const std::vector<double>& y, std::size_t j,
           std::uint32_t n) {
    double sum = 0;
    for (std::uint32_t p = 0; p < n; ++p) sum += x[i + p] * y[j + p];
    return sum;
}

AttentionReference reference_of(const AttentionCase& c, const std::vector<double>& q,
                                const std::vector<double>& k, const std::vector<double>& v,
                                const std::vector<double>& d_o) {
    AttentionReference r;
    r.o.resize(q.size());
    r.dq.resize(q.size());
    r.lse.resize(c.batch * c.heads * c.queries);
    r.delta.resize(r.lse.size());
    r.dk.resize(std::size_t{c.batch} * c.keys * c.heads * c.dim);
    r.dv.resize(r.dk.size());
    for (std::uint32_t b = 0; b < c.batch; ++b) {
        for (std::uint32_t h = 0; h < c.heads; ++h) {
            for (std::uint32_t i = 0; i < c.queries; ++i) {
                const std::size_t qi = c.q_place(b, i, h);
                const std::int64_t seen = c.causal ? std::int64_t{i} + 1 + c.keys - c.queries : c.keys;
                std::vector<double> p;
                double sum = 0;
                for (std::int64_t j = 0; j < seen; ++j) {
                    p.push_back(std::exp(c.scale * dot(q, qi, k, c.k_place(b, j, h), c.dim)));
                    sum += p.back();
                }
                r.lse[c.row(b, h, i)] = p.empty() ? INFINITY : std::log(sum);
                for (std::size_t j = 0; j < p.size(); ++j) {
                    p[j] /= sum;
                    for (std::uint32_t e = 0; e < c.dim; ++e)
                        r.o[qi + e] += p[j] * c.kept(c.row(b, h, i), j) * v[c.k_place(b, j, h) + e];
                }
                const double delta = dot(r.o, qi, d_o, qi, c.dim);
                r.delta[c.row(b, h, i)] = delta;
                for (std::size_t j = 0; j < p.size(); ++j) {
                    const std::size_t kj = c.k_place(b, j, h), out = c.expanded_place(b, j, h);
                    const double kept = c.kept(c.row(b, h, i), j);
                    const double ds = c.scale * p[j] * (kept * dot(d_o, qi, v, kj, c.dim) - delta);
                    for (std::uint32_t e = 0; e < c.dim; ++e) {
                        r.dv[out + e] += kept * p[j] * d_o[qi + e];
                        r.dk[out + e] += ds * q[qi + e];
                        r.dq[qi + e] += ds * k[kj + e];
                    }
                }
            }
        }
    }
    return r;
}

void add_strides(std::vector<KernelArgument>& arguments, const std::string& prefix, std::uint32_t sequence,
                 std::uint32_t heads, std::uint32_t dim) {
    arguments.push_back(integer_argument(prefix + "_row", heads * dim));
    arguments.push_back(integer_argument(prefix + "_head", dim));
    arguments.push_back(integer_argument(prefix + "_batch", std::uint64_t{sequence} * heads * dim));
}

struct Inputs {
    std::vector<double> q, k, v, d_o;
};

Inputs inputs_of(const AttentionCase& c, ElementType type) {
    const std::size_t rows = std::size_t{c.batch} * c.queries * c.heads * c.dim;
    const std::size_t key_rows = std::size_t{c.batch} * c.keys * c.kv_heads * c.dim;
    return {random_reals(type, rows, -1, 1, 1), random_reals(type, key_rows, -1, 1, 2),
            random_reals(type, key_rows, -1, 1, 3), random_reals(type, rows, -1, 1, 4)};
}

void check_result(ElementType type, const std::vector<double>& o, const std::vector<double>& lse,
                  const AttentionReference& reference, const AttentionCase& c) {
    // Probabilities are rounded to the 16-bit type before they meet the values (|v| <= 1), then the output
    // is. Dropout scales both.
    const double u = unit_roundoff(type) / (1 - c.dropout);
    check_close(o, reference.o, u, u + 1e-5);
    check_norm(o, reference.o, u);
    check_close(lse, reference.lse, 1e-5, 1e-5);
}

void check_forward(AttentionSpec spec, const AttentionCase& c) {
    spec.head_dim = c.dim;
    spec.causal = c.causal;
    spec.dropout = c.dropout > 0;
    const Inputs in = inputs_of(c, spec.type);
    const AttentionReference reference = reference_of(c, in.q, in.k, in.v, in.d_o);
    Device device;
    const std::uint32_t o = device.add_untouched(spec.type, in.q.size());
    const std::uint32_t lse = device.add_untouched(ElementType::f32, reference.lse.size());
    std::vector<KernelArgument> arguments{pointer_argument("o", o),
                                          pointer_argument("lse", lse),
                                          pointer_argument("q", device.add(spec.type, in.q)),
                                          pointer_argument("k", device.add(spec.type, in.k)),
                                          pointer_argument("v", device.add(spec.type, in.v)),
                                          integer_argument("queries", c.queries),
                                          integer_argument("keys", c.keys),
                                          integer_argument("heads_per_kv_head", c.heads / c.kv_heads),
                                          f32_argument("scale", static_cast<float>(c.scale))};
    for (const char* name : {"q", "o"}) add_strides(arguments, name, c.queries, c.heads, c.dim);
    for (const char* name : {"k", "v"}) add_strides(arguments, name, c.keys, c.kv_heads, c.dim);
    if (spec.dropout) add_dropout_arguments(arguments, c.dropout, c.stream);
    device.run(generate_attention_forward(spec), attention_forward_grid(spec, c.queries, c.batch, c.heads),
               arguments);
    INFO("queries " << c.queries << " keys " << c.keys << " dim " << c.dim << (c.causal ? " causal" : ""));
    check_result(spec.type, device.read(o), device.read(lse), reference, c);
}

/// On Hopper. The counter is left as it was, so a second launch gives the same.
void check_forward(AttentionWgmmaSpec spec, const AttentionCase& c, unsigned sm_count) {
    spec.head_dim = c.dim;
    spec.causal = c.causal;
    spec.dropout = c.dropout > 0;
    const Inputs in = inputs_of(c, spec.type);
    const AttentionReference reference = reference_of(c, in.q, in.k, in.v, in.d_o);
    Device device(90);
    const auto operand = [&](std::uint32_t buffer, std::uint32_t sequence, std::uint32_t heads) {
        return AttentionOperand{pointer_argument("", buffer), std::uint64_t{heads} * c.dim, c.dim,
                                std::uint64_t{sequence} * heads * c.dim};
    };
    const std::uint32_t o = device.add_untouched(spec.type, in.q.size());
    const std::uint32_t lse = device.add_untouched(ElementType::f32, reference.lse.size());
    const std::uint32_t per_entry = divide_up(c.keys, kAttentionPage), pages = 2 * c.batch * per_entry;
    std::vector<double> page_list;
    for (std::uint32_t i = 0; i < pages; ++i) page_list.push_back((i * 7 + 3) % pages);  // 7: no divisor
    // Keys and values in pages of one pool; what lies behind the last key is 0.
    std::vector<double> pool(std::size_t{pages} * c.kv_heads * kAttentionPage * c.dim, 0);
    for (std::uint32_t b = 0; b < c.batch && spec.paged; ++b) {
        for (std::uint32_t values = 0; values < 2; ++values) {
            for (std::uint32_t key = 0; key < c.keys; ++key) {
                const auto page =
                    static_cast<std::size_t>(page_list[(b * 2 + values) * per_entry + key / kAttentionPage]);
                for (std::uint32_t h = 0; h < c.kv_heads; ++h) {
                    for (std::uint32_t i = 0; i < c.dim; ++i) {
                        const std::size_t from =
                            ((std::size_t{b} * c.keys + key) * c.kv_heads + h) * c.dim + i;
                        pool[((page * c.kv_heads + h) * kAttentionPage + key % kAttentionPage) * c.dim + i] =
                            values == 0 ? in.k[from] : in.v[from];
                    }
                }
            }
        }
    }
    const auto cached = [&](std::uint32_t buffer) {
        return AttentionOperand{pointer_argument("", buffer), c.dim, std::uint64_t{kAttentionPage} * c.dim,
                                std::uint64_t{c.kv_heads} * kAttentionPage * c.dim};
    };
    AttentionProblem problem{c.batch,
                             c.heads,
                             c.kv_heads,
                             c.queries,
                             c.keys,
                             static_cast<float>(c.scale),
                             operand(device.add(spec.type, in.q), c.queries, c.heads),
                             operand(device.add(spec.type, in.k), c.keys, c.kv_heads),
                             operand(device.add(spec.type, in.v), c.keys, c.kv_heads),
                             operand(o, c.queries, c.heads),
                             pointer_argument("", lse),
                             pointer_argument("", device.add(ElementType::i32, {0})),
                             c.dropout,
                             c.stream,
                             {},
                             0,
                             0};
    if (spec.paged) {
        problem.k = problem.v = cached(device.add(spec.type, pool));
        problem.page_list = pointer_argument("", device.add(ElementType::i32, page_list));
        problem.pages_per_entry = per_entry;
        problem.pages = pages;
    }
    const AttentionWgmmaLaunch launch = attention_wgmma_launch(spec, problem, sm_count);
    INFO("queries " << c.queries << " keys " << c.keys << " dim " << c.dim << (c.causal ? " causal" : ""));
    for (unsigned time = 0; time < 2; ++time) {
        device.run(generate_attention_wgmma(spec), launch.grid, launch.arguments);
        check_result(spec.type, device.read(o), device.read(lse), reference, c);
    }
}

void check_gradients(const Device& device, ElementType type, std::uint32_t dq, std::uint32_t dk,
                     std::uint32_t dv, const AttentionReference& reference) {
    // Probabilities and their gradients are rounded to 16 bits once each before the products; |q|, |k|, |d_o|
    // <= 1 and the probabilities of a query sum to 1, those of a key to at most a few.
    const double u = unit_roundoff(type);
    for (const auto& [buffer, exact] :
         {std::pair{dv, &reference.dv}, {dk, &reference.dk}, {dq, &reference.dq}}) {
        check_close(device.read(buffer), *exact, 2 * u, 4 * u);
        check_norm(device.read(buffer), *exact, 1.5 * u);
    }
}

/// On Hopper, with what the three kernels leave in one another's workspaces.
void check_gradient(AttentionGradWgmmaSpec spec, const AttentionCase& c) {
    spec.head_dim = c.dim;
    spec.causal = c.causal;
    spec.dropout = c.dropout > 0;
    const Inputs in = inputs_of(c, spec.type);
    const AttentionReference reference = reference_of(c, in.q, in.k, in.v, in.d_o);
    Device device(90);
    const auto operand = [&](std::uint32_t buffer, std::uint32_t sequence, std::uint32_t heads) {
        return AttentionOperand{pointer_argument("", buffer), std::uint64_t{heads} * c.dim, c.dim,
                                std::uint64_t{sequence} * heads * c.dim};
    };
    const std::uint32_t dk = device.add_untouched(spec.type, reference.dk.size()),
                        dv = device.add_untouched(spec.type, reference.dv.size()),
                        dq = device.add_untouched(spec.type, in.q.size());
    AttentionGradProblem problem;
    problem.batch = c.batch;
    problem.heads = c.heads;
    problem.kv_heads = c.kv_heads;
    problem.queries = c.queries;
    problem.keys = c.keys;
    problem.scale = static_cast<float>(c.scale);
    problem.dropout = c.dropout;
    problem.stream = c.stream;
    problem.q = operand(device.add(spec.type, in.q), c.queries, c.heads);
    problem.k = operand(device.add(spec.type, in.k), c.keys, c.kv_heads);
    problem.v = operand(device.add(spec.type, in.v), c.keys, c.kv_heads);
    problem.o = operand(device.add(spec.type, reference.o), c.queries, c.heads);
    problem.d_o = operand(device.add(spec.type, in.d_o), c.queries, c.heads);
    problem.dq = operand(dq, c.queries, c.heads);
    problem.dk = operand(dk, c.keys, c.heads);
    problem.dv = operand(dv, c.keys, c.heads);
    problem.lse = pointer_argument("", device.add(ElementType::f32, reference.lse));
    const std::uint64_t rows = attention_grad_wgmma_rows(spec, problem);
    for (KernelArgument* workspace : {&problem.shift, &problem.delta})
        *workspace = pointer_argument("", device.add_untouched(ElementType::f32, rows));
    problem.dq_accumulator = pointer_argument("", device.add_untouched(ElementType::f32, rows * c.dim));
    for (const AttentionGradLaunch& launch : attention_grad_wgmma_launches(spec, problem))
        device.run(launch.kernel, launch.grid, launch.arguments);
    INFO("Hopper: queries " << c.queries << " keys " << c.keys << " dim " << c.dim
                            << (c.causal ? " causal" : ""));
    check_gradients(device, spec.type, dq, dk, dv, reference);
}

void check_gradient(AttentionGradSpec spec, const AttentionCase& c) {
    spec.head_dim = c.dim;
    spec.causal = c.causal;
    spec.dropout = c.dropout > 0;
    const Inputs in = inputs_of(c, spec.type);
    const AttentionReference reference = reference_of(c, in.q, in.k, in.v, in.d_o);
    Device device;
    const std::uint32_t q = device.add(spec.type, in.q), k = device.add(spec.type, in.k),
                        v = device.add(spec.type, in.v), d_o = device.add(spec.type, in.d_o),
                        o = device.add(spec.type, reference.o);
    const std::uint32_t delta = device.add_untouched(ElementType::f32, reference.delta.size());
    std::vector<KernelArgument> first{pointer_argument("delta", delta), pointer_argument("o", o),
                                      pointer_argument("d_o", d_o), integer_argument("queries", c.queries)};
    for (const char* name : {"o", "do"}) add_strides(first, name, c.queries, c.heads, c.dim);
    device.run(generate_attention_delta(spec), attention_rows_grid(spec, c.queries, c.batch, c.heads), first);
    const double u = unit_roundoff(spec.type);
    check_close(device.read(delta), reference.delta, 0, u * c.dim / 4 + 1e-6);

    const std::uint32_t accumulator = device.add(ElementType::f32, std::vector<double>(in.q.size(), 0));
    const std::uint32_t dk = device.add_untouched(spec.type, reference.dk.size()),
                        dv = device.add_untouched(spec.type, reference.dv.size()),
                        dq = device.add_untouched(spec.type, in.q.size());
    std::vector<KernelArgument> arguments{
        pointer_argument("dq_accumulator", accumulator),
        pointer_argument("dk", dk),
        pointer_argument("dv", dv),
        pointer_argument("q", q),
        pointer_argument("k", k),
        pointer_argument("v", v),
        pointer_argument("d_o", d_o),
        pointer_argument("lse", device.add(ElementType::f32, reference.lse)),
        pointer_argument("delta", delta),
        integer_argument("queries", c.queries),
        integer_argument("keys", c.keys),
        integer_argument("heads_per_kv_head", c.heads / c.kv_heads),
        f32_argument("scale", static_cast<float>(c.scale))};
    for (const char* name : {"q", "do"}) add_strides(arguments, name, c.queries, c.heads, c.dim);
    for (const char* name : {"k", "v"}) add_strides(arguments, name, c.keys, c.kv_heads, c.dim);
    for (const char* name : {"dk", "dv"}) add_strides(arguments, name, c.keys, c.heads, c.dim);
    if (spec.dropout) add_dropout_arguments(arguments, c.dropout, c.stream);
    device.run(generate_attention_grad(spec), attention_grad_grid(spec, c.keys, c.batch, c.heads), arguments);
    std::vector<KernelArgument> last{
        pointer_argument("dq", dq), pointer_argument("dq_accumulator", accumulator),
        integer_argument("queries", c.queries), f32_argument("scale", static_cast<float>(c.scale))};
    add_strides(last, "dq", c.queries, c.heads, c.dim);
    device.run(generate_attention_finish_dq(spec), attention_rows_grid(spec, c.queries, c.batch, c.heads),
               last);
    INFO("queries " << c.queries << " keys " << c.keys << " dim " << c.dim << (c.causal ? " causal" : "")
                    << " block " << spec.block_n);
    check_gradients(device, spec.type, dq, dk, dv, reference);
}

}  // namespace

TEST_CASE("Attention forward") {
    for (const bool causal : {false, true}) {
        AttentionSpec spec;
        spec.block_m = 64;
        check_forward(spec, {1, 2, 2, 70, 90, 64, causal, 0.125});
        check_forward(spec,
                      {1, 1, 1, 33, 20, 128, causal, 0.09});  // more queries than keys: rows that see nothing
        spec.type = ElementType::f16;
        spec.block_m = 128;
        check_forward(spec, {2, 2, 1, 130, 130, 64, causal, 0.3});
        spec.block_n = 128;
        spec.warps = 8;
        check_forward(spec, {1, 1, 1, 65, 200, 128, causal, 0.09});
        spec.full_blocks = true;
        check_forward(spec, {1, 1, 1, 128, 256, 64, causal, 0.125});
    }
}

TEST_CASE("Attention gradient") {
    for (const bool causal : {false, true}) {
        AttentionGradSpec spec;
        check_gradient(spec, {1, 2, 2, 70, 90, 64, causal, 0.125});
        spec.stages = 1;
        check_gradient(spec, {1, 1, 1, 33, 20, 128, causal, 0.09});
        spec.type = ElementType::f16;
        spec.block_n = 128;
        check_gradient(spec, {2, 2, 1, 130, 150, 64, causal, 0.125});
        spec.stages = 2;
        check_gradient(spec, {1, 1, 1, 130, 140, 128, causal, 0.09});
        spec.full_blocks = true;
        check_gradient(spec, {1, 1, 1, 192, 128, 64, causal, 0.125});
        spec.block_n = 64;
        check_gradient(spec, {1, 1, 1, 128, 192, 64, causal, 0.125});
    }
}

TEST_CASE("Attention on Hopper, two warpgroups that take turns") {
    for (const bool causal : {false, true}) {
        AttentionWgmmaSpec spec;
        spec.block_n = 64;
        check_forward(spec, {1, 2, 2, 70, 90, 64, causal, 0.125}, 1);
        check_forward(spec, {1, 1, 1, 33, 20, 128, causal, 0.09}, 3);  // rows that see nothing
        spec.type = ElementType::f16;
        spec.longest_first = false;
        spec.stages = 3;
        check_forward(spec, {2, 4, 2, 130, 330, 64, causal, 0.3}, 5);
        spec.block_n = 128;
        spec.stages = 2;
        spec.take_turns = false;
        check_forward(spec, {1, 2, 1, 65, 300, 128, causal, 0.09}, 2);
        spec.block_n = 256;
        spec.longest_first = true;
        check_forward(spec, {2, 2, 1, 270, 270, 64, causal, 0.125}, 3);
        spec.paged = true;
        check_forward(spec, {2, 2, 1, 70, 270, 64, causal, 0.125}, 3);
        spec.block_n = 128;
        spec.store_words = true;
        check_forward(spec, {2, 2, 2, 130, 130, 128, causal, 0.09}, 2);
    }
}

TEST_CASE("Attention gradient on Hopper") {
    for (const bool causal : {false, true}) {
        AttentionGradWgmmaSpec spec;
        check_gradient(spec, {1, 2, 2, 70, 90, 64, causal, 0.125});
        check_gradient(spec, {1, 1, 1, 33, 20, 128, causal, 0.09});  // causal: rows that see nothing
        check_gradient(spec, {1, 2, 1, 150, 330, 128, causal, 0.09});
        spec.type = ElementType::f16;
        check_gradient(spec, {2, 4, 2, 270, 130, 64, causal, 0.125});
        check_gradient(spec, {1, 1, 1, 256, 256, 64, causal, 0.125});
        check_gradient(spec, {1, 1, 1, 200, 140, 128, causal, 0.09});
    }
}

TEST_CASE("Attention with dropout drops the weights that the generator says, forward and backward") {
    for (const bool causal : {false, true}) {
        const AttentionCase small{2, 2, 2, 70, 90, 64, causal, 0.125, 0.25};
        const AttentionCase wide{1, 2, 1, 90, 70, 128, false, 0.09, 0.5, 7};
        AttentionSpec forward;
        forward.block_m = 64;
        check_forward(forward, small);
        forward.narrow_dropout = true;
        check_forward(forward, wide);
        forward.type = ElementType::f16;
        check_forward(forward, small);
        AttentionWgmmaSpec hopper;
        check_forward(hopper, small, 2);
        hopper.narrow_dropout = true;
        check_forward(hopper, wide, 2);
        AttentionGradSpec grad;
        check_gradient(grad, small);
        grad.narrow_dropout = true;
        grad.block_n = 128;
        check_gradient(grad, small);
        check_gradient(grad, {1, 2, 2, 90, 70, 128, false, 0.09, 0.5, 7});
        AttentionGradWgmmaSpec hopper_grad;
        check_gradient(hopper_grad, small);
        hopper_grad.narrow_dropout = true;
        check_gradient(hopper_grad, wide);
        check_gradient(hopper_grad, {1, 2, 1, 150, 200, 64, causal, 0.125, 0.25, 9});
    }
    // 2^27 rows of up to 128 keys, of 32 numbers each, are 2^32.
    CHECK(narrow_dropout(std::uint64_t{1} << 27, 128));
    CHECK_FALSE(narrow_dropout(std::uint64_t{1} << 27, 129));
    std::vector<KernelArgument> none;
    CHECK_THROWS_AS(add_dropout_arguments(none, 1, 0), heddle::Error);
}

TEST_CASE("Attention refuses what it cannot do") {
    AttentionWgmmaSpec hopper;
    hopper.head_dim = 96;
    CHECK_THROWS_AS(generate_attention_wgmma(hopper), heddle::Error);
    hopper.head_dim = 128;
    hopper.block_n = 256;
    CHECK_THROWS_AS(generate_attention_wgmma(hopper), heddle::Error);
    hopper.block_n = 128;
    hopper.compute_capability = 80;
    CHECK_THROWS_AS(generate_attention_wgmma(hopper), heddle::Error);
    AttentionGradWgmmaSpec grad;
    grad.type = ElementType::f32;
    CHECK_THROWS_AS(generate_attention_grad_wgmma(grad), heddle::Error);
    grad = {};
    grad.compute_capability = 80;
    CHECK_THROWS_AS(generate_attention_grad_wgmma(grad), heddle::Error);
    AttentionSpec spec;
    spec.head_dim = 96;
    CHECK_THROWS_AS(generate_attention_forward(spec), heddle::Error);
    spec.head_dim = 64;
    spec.type = ElementType::f32;
    CHECK_THROWS_AS(generate_attention_forward(spec), heddle::Error);
    spec.type = ElementType::f16;
    spec.compute_capability = 75;
    CHECK_THROWS_AS(generate_attention_forward(spec), heddle::Error);
    spec.compute_capability = 80;
    spec.head_dim = spec.block_n = 128;
    CHECK_THROWS_AS(generate_attention_forward(spec), heddle::Error);
}
