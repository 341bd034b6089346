#include "sampling_cases.h"

#include <cstdint>
#include <utility>

#include "gpu_launches.h"
#include "workloads/kernels/attention.h"
#include "workloads/kernels/elementwise.h"
#include "workloads/kernels/gemm_mma.h"
#include "workloads/kernels/gemm_simt.h"
#include "workloads/kernels/layer_norm.h"
#include "workloads/kernels/library_builder.h"
#include "workloads/kernels/reduction.h"
#include "workloads/kernels/softmax.h"

namespace heddle::benchmarks {
namespace {

using kernels::ElementType;
using kernels::LibraryKernel;
using kernels::SampleBuilder;

LibraryKernel finish_product(SampleBuilder builder, const Product& p, ElementType type) {
    const std::uint64_t m = p.m, n = p.n, k = p.k;
    builder.input("a", type, m * k).input("b", type, k * n).output("d", ElementType::f32, m * n * p.splits);
    builder.integer("m", m).integer("n", n).integer("k", k);
    builder.integer("lda", k).integer("ldb", n).integer("ldc", n).integer("ldd", n);
    builder.integer("stride_d", m * n).integer("splits", p.splits).integer("k_per_split", k / p.splits);
    return builder.finish();
}

}  // namespace

LibraryKernel gemm_simt_product(unsigned capability, const Product& p) {
    kernels::GemmSimtSpec spec;
    spec.compute_capability = capability;
    spec.vector_a = spec.vector_b = spec.epilogue.vector_width = 4;
    spec.full_k = true;
    spec.partition.split_k = p.splits > 1;
    return finish_product(
        {"gemm simt", kernels::generate_gemm_simt(spec), kernels::gemm_simt_grid(spec, p.m, p.n, p.splits)},
        p, spec.type);
}

LibraryKernel gemm_mma_product(unsigned capability, const Product& p, kernels::GemmTile tile) {
    kernels::GemmMmaSpec spec;
    spec.compute_capability = capability;
    spec.tile = tile;
    spec.epilogue.vector_width = 4;
    spec.full_k = true;
    spec.partition.split_k = p.splits > 1;
    return finish_product(
        {"gemm mma", kernels::generate_gemm_mma(spec), kernels::gemm_mma_grid(spec, p.m, p.n, p.splits)}, p,
        spec.type);
}

LibraryKernel layer_norm_rows(unsigned capability, std::uint32_t rows, std::uint32_t columns) {
    kernels::LayerNormSpec spec;
    spec.compute_capability = capability;
    spec.columns = columns;
    spec.vector_width = 4;
    const std::uint64_t elements = std::uint64_t{rows} * columns;
    return SampleBuilder("layer norm", kernels::generate_layer_norm(spec),
                         kernels::layer_norm_grid(spec, rows))
        .output("y", ElementType::f32, elements)
        .output("mean", ElementType::f32, rows)
        .output("rstd", ElementType::f32, rows)
        .input("x", ElementType::f32, elements)
        .input("gamma", ElementType::f32, columns)
        .input("beta", ElementType::f32, columns)
        .integer("rows", rows)
        .real("epsilon", 1e-5f)
        .finish();
}

LibraryKernel sum_of_rows(unsigned capability, std::uint32_t rows, std::uint32_t columns) {
    kernels::ReduceRowsSpec spec;
    spec.compute_capability = capability;
    spec.vector_width = 4;
    return SampleBuilder("sum of rows", kernels::generate_reduce_rows(spec),
                         kernels::reduce_rows_grid(spec, rows))
        .output("y", ElementType::f32, rows)
        .input("x", ElementType::f32, std::uint64_t{rows} * columns)
        .integer("rows", rows)
        .integer("columns", columns)
        .integer("row_stride", columns)
        .integer("elements", std::uint64_t{rows} * columns)
        .real("scale", 1)
        .finish();
}

LibraryKernel attention(unsigned capability, std::uint32_t sequence, std::uint32_t heads, bool causal) {
    kernels::AttentionSpec spec;
    spec.compute_capability = capability;
    spec.causal = causal;
    spec.full_blocks = true;
    const std::uint64_t dim = spec.head_dim, rows = std::uint64_t{heads} * sequence;
    SampleBuilder sample("attention", kernels::generate_attention_forward(spec),
                         kernels::attention_forward_grid(spec, sequence, 1, heads));
    sample.output("o", spec.type, rows * dim).output("lse", ElementType::f32, rows);
    for (const char* name : {"q", "k", "v"}) sample.input(name, spec.type, rows * dim);
    sample.integer("queries", sequence).integer("keys", sequence).integer("heads_per_kv_head", 1);
    for (const char* name : {"q", "o", "k", "v"}) {
        const std::string prefix = name;
        sample.integer(prefix + "_row", heads * dim).integer(prefix + "_head", dim);
        sample.integer(prefix + "_batch", rows * dim);
    }
    return sample.real("scale", 0.125f).finish();
}

namespace {

void add_tensor_core_products(std::vector<SamplingCase>& cases, unsigned capability, unsigned sms) {
    const kernels::GemmTile wide{128, 128, 32, 2, 2, 4}, narrow{64, 64, 64, 2, 2, 4};
    const auto add = [&](const char* name, Product p, kernels::GemmTile tile) {
        cases.push_back({name, [=] { return gemm_mma_product(capability, p, tile); }});
    };
    add("gemm_mma_1536x1408x8192", {1536, 1408, 8192}, wide);
    add("gemm_mma_2048", {2048, 2048, 2048}, wide);
    add("gemm_mma_4096x4096x2048", {4096, 4096, 2048}, wide);
    add("gemm_mma_64x4096x4096", {64, 4096, 4096}, narrow);
    add("gemm_mma_512x512x16384_split8", {512, 512, 16384, 8}, wide);
    if (capability < 90) return;
    const auto add_wgmma = [&](const char* name, std::uint32_t m, std::uint32_t n, std::uint32_t k) {
        cases.push_back({name, [=] { return gemm_wgmma(m, n, k, sms); }});
    };
    add_wgmma("gemm_wgmma_8192", 8192, 8192, 8192);
    add_wgmma("gemm_wgmma_4096", 4096, 4096, 4096);
    add_wgmma("gemm_wgmma_2048x2048x16384", 2048, 2048, 16384);
    add_wgmma("gemm_wgmma_16384x4096x1024", 16384, 4096, 1024);
    add_wgmma("gemm_wgmma_1024", 1024, 1024, 1024);
}

}  // namespace

std::vector<SamplingCase> sampling_cases(unsigned capability, unsigned sms) {
    std::vector<SamplingCase> cases;
    const auto add = [&](const char* name, std::function<LibraryKernel()> make) {
        cases.push_back({name, std::move(make)});
    };
    add("ffma_loop", [=] { return ffma_loop(sms * 80, 64); });
    add("gemm_simt_1024", [=] { return gemm_simt_product(capability, {1024, 1024, 1024}); });
    add("gemm_simt_2048x2048x1024", [=] { return gemm_simt_product(capability, {2048, 2048, 1024}); });
    add("gemm_simt_512x512x8192_split4", [=] { return gemm_simt_product(capability, {512, 512, 8192, 4}); });
    if (capability >= 80) add_tensor_core_products(cases, capability, sms);
    add("copy_64Mi", [=] { return copy(64u << 20); });
    add("softmax_32768x1024", [=] { return softmax_rows(capability, 32768, 1024); });
    add("softmax_4096x8192", [=] { return softmax_rows(capability, 4096, 8192); });
    add("layer_norm_16384x2048", [=] { return layer_norm_rows(capability, 16384, 2048); });
    add("sum_of_rows_16384x4096", [=] { return sum_of_rows(capability, 16384, 4096); });
    if (capability >= 80) {
        add("attention_4096_16_heads", [=] { return attention(capability, 4096, 16, false); });
        add("attention_4096_16_heads_causal", [=] { return attention(capability, 4096, 16, true); });
    }
    return cases;
}

}  // namespace heddle::benchmarks
