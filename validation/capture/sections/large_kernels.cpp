#include "validation/capture/sections/large_kernels.h"

#include "workloads/kernels/attention.h"
#include "workloads/kernels/data_movement.h"
#include "workloads/kernels/elementwise.h"
#include "workloads/kernels/gemm_mma.h"
#include "workloads/kernels/gemm_simt.h"
#include "workloads/kernels/layer_norm.h"
#include "workloads/kernels/library_builder.h"
#include "workloads/kernels/reduction.h"
#include "workloads/kernels/softmax.h"

namespace heddle::capture {
namespace {

using namespace kernels;

struct KernelSize {
    std::uint32_t m, n, k;
};

std::string text_of(const KernelSize& s) {
    return std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k);
}

class LargeKernels {
  public:
    explicit LargeKernels(unsigned compute_capability) : capability_(compute_capability) {}

    void add_gemm(const std::string& name, GeneratedKernel kernel, Extent3 grid, const KernelSize& s,
                  ElementType type, ElementType output, bool transpose_b) {
        SampleBuilder sample(name + " " + text_of(s), std::move(kernel), grid);
        sample.input("a", type, std::uint64_t{s.m} * s.k).input("b", type, std::uint64_t{s.k} * s.n);
        sample.output("d", output, std::uint64_t{s.m} * s.n);
        sample.integer("m", s.m).integer("n", s.n).integer("k", s.k).integer("lda", s.k);
        sample.integer("ldb", transpose_b ? s.k : s.n).integer("ldc", s.n).integer("ldd", s.n);
        sample.integer("stride_a", std::uint64_t{s.m} * s.k).integer("stride_b", std::uint64_t{s.k} * s.n);
        sample.integer("stride_c", std::uint64_t{s.m} * s.n).integer("stride_d", std::uint64_t{s.m} * s.n);
        kernels.push_back(sample.integer("splits", 1).integer("k_per_split", 0).finish());
    }

    void add_simt(ElementType type, const KernelSize& s) {
        GemmSimtSpec spec;
        spec.compute_capability = capability_;
        spec.type = spec.epilogue.output = type;
        if (type == ElementType::f64) spec.tile_m = spec.tile_n = 64;
        spec.vector_a = spec.vector_b = spec.epilogue.vector_width = type == ElementType::f64 ? 2 : 4;
        spec.full_k = true;
        add_gemm("gemm simt " + name_of(type), generate_gemm_simt(spec), gemm_simt_grid(spec, s.m, s.n), s,
                 type, type, false);
    }

    void add_mma(ElementType type, const GemmTile& tile, const KernelSize& s) {
        GemmMmaSpec spec;
        spec.compute_capability = capability_;
        spec.type = type;
        spec.tile = tile;
        spec.transpose_b = true;
        spec.full_k = true;
        spec.raster_log2 = 1;
        spec.epilogue.output = type;
        spec.epilogue.vector_width = 8;
        add_gemm("gemm mma " + name_of(type) + " tile " + text_of({tile.m, tile.n, tile.k}),
                 generate_gemm_mma(spec), gemm_mma_grid(spec, s.m, s.n), s, type, type, true);
    }

    void add_elementwise(const std::string& name, const std::string& expression, unsigned inputs,
                         ElementType type, std::uint32_t elements) {
        ElementwiseSpec spec;
        spec.compute_capability = capability_;
        spec.expression = expression::parse(expression);
        spec.inputs.assign(inputs, {type});
        spec.outputs = {type};
        spec.vector_width = type == ElementType::f32 ? 4 : 8;
        spec.elements_per_thread = 8;
        SampleBuilder sample(name + " " + name_of(type) + " of " + std::to_string(elements),
                             generate_elementwise(spec), elementwise_grid(spec, elements));
        sample.output("y0", type, elements);
        for (unsigned i = 0; i < inputs; ++i) sample.input("x" + std::to_string(i), type, elements);
        kernels.push_back(sample.integer("elements", elements).finish());
    }

    void add_softmax(ElementType type, std::uint32_t rows, std::uint32_t columns) {
        SoftmaxSpec spec;
        spec.compute_capability = capability_;
        spec.input = spec.output = type;
        spec.columns = columns;
        spec.vector_width = type == ElementType::f32 ? 4 : 8;
        kernels.push_back(SampleBuilder("softmax " + name_of(type) + " " + std::to_string(rows) + "x" +
                                            std::to_string(columns),
                                        generate_softmax(spec), softmax_grid(spec, rows))
                              .output("y", type, std::uint64_t{rows} * columns)
                              .input("x", type, std::uint64_t{rows} * columns)
                              .integer("rows", rows)
                              .integer("row_stride", columns)
                              .finish());
    }

    void add_layer_norm(ElementType type, std::uint32_t rows, std::uint32_t columns) {
        LayerNormSpec spec;
        spec.compute_capability = capability_;
        spec.x = spec.y = type;
        spec.columns = columns;
        spec.vector_width = 8;
        kernels.push_back(SampleBuilder("layer norm " + name_of(type) + " " + std::to_string(rows) + "x" +
                                            std::to_string(columns),
                                        generate_layer_norm(spec), layer_norm_grid(spec, rows))
                              .output("y", type, std::uint64_t{rows} * columns)
                              .output("mean", ElementType::f32, rows)
                              .output("rstd", ElementType::f32, rows)
                              .input("x", type, std::uint64_t{rows} * columns)
                              .input("gamma", ElementType::f32, columns)
                              .input("beta", ElementType::f32, columns)
                              .integer("rows", rows)
                              .real("epsilon", 1e-5f)
                              .finish());
    }

    void add_reductions(std::uint32_t rows, std::uint32_t columns) {
        ReduceRowsSpec by_row;
        by_row.compute_capability = capability_;
        by_row.vector_width = 4;
        const std::string shape = std::to_string(rows) + "x" + std::to_string(columns);
        kernels.push_back(SampleBuilder("reduce rows sum " + shape, generate_reduce_rows(by_row),
                                        reduce_rows_grid(by_row, rows))
                              .output("y", ElementType::f32, rows)
                              .input("x", ElementType::f32, std::uint64_t{rows} * columns)
                              .integer("rows", rows)
                              .integer("columns", columns)
                              .integer("row_stride", columns)
                              .integer("elements", std::uint64_t{rows} * columns)
                              .real("scale", 1)
                              .finish());
        ReduceColumnsSpec by_column;
        by_column.compute_capability = capability_;
        by_column.vector_width = 4;
        const std::uint32_t splits = 16;
        kernels.push_back(SampleBuilder("reduce columns sum " + shape, generate_reduce_columns(by_column),
                                        reduce_columns_grid(by_column, columns, splits))
                              .output("y", ElementType::f32, std::uint64_t{columns} * splits)
                              .input("x", ElementType::f32, std::uint64_t{rows} * columns)
                              .integer("rows", rows)
                              .integer("columns", columns)
                              .integer("row_stride", columns)
                              .integer("rows_per_cta", rows / splits)
                              .real("scale", 1)
                              .finish());
    }

    void add_transpose(ElementType type, std::uint32_t rows, std::uint32_t columns) {
        const TransposeSpec spec{capability_, type};
        kernels.push_back(SampleBuilder("transpose " + name_of(type) + " " + std::to_string(rows) + "x" +
                                            std::to_string(columns),
                                        generate_transpose(spec), transpose_grid(spec, rows, columns))
                              .output("y", type, std::uint64_t{rows} * columns)
                              .input("x", type, std::uint64_t{rows} * columns)
                              .integer("rows", rows)
                              .integer("columns", columns)
                              .finish());
    }

    void add_attention(bool causal, std::uint32_t sequence, std::uint32_t heads) {
        AttentionSpec spec;
        spec.compute_capability = capability_;
        spec.causal = causal;
        spec.full_blocks = true;
        const std::uint64_t rows = std::uint64_t{heads} * sequence;
        SampleBuilder sample("attention forward bf16 d64 " + std::to_string(sequence) + " by " +
                                 std::to_string(heads) + " heads" + (causal ? " causal" : ""),
                             generate_attention_forward(spec),
                             attention_forward_grid(spec, sequence, 1, heads));
        sample.output("o", spec.type, rows * 64).output("lse", ElementType::f32, rows);
        for (const char* name : {"q", "k", "v"}) sample.input(name, spec.type, rows * 64);
        sample.integer("queries", sequence).integer("keys", sequence).integer("heads_per_kv_head", 1);
        for (const std::string prefix : {"q", "k", "v", "o"})
            sample.integer(prefix + "_row", std::uint64_t{heads} * 64)
                .integer(prefix + "_head", 64)
                .integer(prefix + "_batch", rows * 64);
        kernels.push_back(sample.real("scale", 0.125f).finish());
    }

    std::vector<LibraryKernel> kernels;

  private:
    unsigned capability_;
};

}  // namespace

std::vector<LibraryKernel> large_kernels(unsigned compute_capability) {
    LargeKernels list(compute_capability);
    const bool bf16 = target::nearest_generation(compute_capability).has_bf16;
    if (bf16)
        for (const KernelSize& s : {KernelSize{512, 512, 512}, KernelSize{1024, 1024, 1024}, KernelSize{2048, 2048, 1024}}) {
            list.add_mma(ElementType::bf16, {128, 128, 32, 2, 2, 4}, s);
            list.add_mma(ElementType::f16, {128, 256, 32, 2, 4, 3}, s);
        }
    for (const KernelSize& s : {KernelSize{512, 512, 512}, KernelSize{1024, 1024, 512}}) list.add_simt(ElementType::f32, s);
    list.add_simt(ElementType::f64, {512, 512, 256});
    for (const std::uint32_t elements : {1u << 16, 1u << 20, 1u << 24}) {
        list.add_elementwise("add", "y0 = x0 + x1", 2, ElementType::f32, elements);
        list.add_elementwise("copy", "y0 = x0", 1, ElementType::f16, elements);
        list.add_elementwise("gelu", "y0 = 0.5 * x0 * (1 + erf(x0 * 0.7071067811865476))", 1,
                             ElementType::f32, elements);
    }
    list.add_softmax(ElementType::f32, 1024, 1024);
    list.add_softmax(ElementType::f16, 4096, 512);
    list.add_softmax(ElementType::f32, 256, 16384);
    list.add_layer_norm(ElementType::f16, 1024, 1024);
    list.add_layer_norm(ElementType::f16, 4096, 4096);
    list.add_reductions(1024, 1024);
    list.add_reductions(4096, 4096);
    list.add_transpose(ElementType::f32, 1024, 1024);
    list.add_transpose(ElementType::f16, 4096, 4096);
    if (bf16) {
        list.add_attention(false, 512, 8);
        list.add_attention(true, 1024, 16);
        list.add_attention(false, 2048, 16);
    }
    return std::move(list.kernels);
}

}  // namespace heddle::capture
