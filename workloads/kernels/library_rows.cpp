// Samples: reductions, softmax, layer norm, rows by index.
#include "workloads/kernels/embedding_sums.h"
#include "workloads/kernels/layer_norm.h"
#include "workloads/kernels/library_builder.h"
#include "workloads/kernels/reduction.h"
#include "workloads/kernels/rows_by_index.h"
#include "workloads/kernels/softmax.h"
#include "workloads/kernels/spatial_softmax.h"

namespace heddle::kernels {
namespace {

void add_row_reductions(std::vector<LibraryKernel>& samples, unsigned capability) {
    for (const Reduction reduction : {Reduction::sum, Reduction::maximum, Reduction::sum_of_squares}) {
        for (const bool warp : {false, true}) {
            ReduceRowsSpec spec;
            spec.compute_capability = capability;
            spec.reduction = reduction;
            spec.input = ElementType::f16;
            spec.vector_width = 4;
            spec.warp_per_row = warp;
            const std::uint32_t rows = 7, columns = 2100;
            samples.push_back(SampleBuilder("reduce rows " + std::to_string(static_cast<int>(reduction)) +
                                                (warp ? " by warps" : " by CTAs"),
                                            generate_reduce_rows(spec), reduce_rows_grid(spec, rows))
                                  .output("y", ElementType::f32, rows)
                                  .input("x", ElementType::f16, std::uint64_t{rows} * columns)
                                  .integer("rows", rows)
                                  .integer("columns", columns)
                                  .integer("row_stride", columns)
                                  .integer("elements", rows * columns)
                                  .real("scale", 1)
                                  .finish());
        }
        ReduceColumnsSpec spec;
        spec.compute_capability = capability;
        spec.reduction = reduction;
        spec.vector_width = 2;
        const std::uint32_t rows = 75, columns = 90, splits = 2;
        samples.push_back(SampleBuilder("reduce columns " + std::to_string(static_cast<int>(reduction)),
                                        generate_reduce_columns(spec),
                                        reduce_columns_grid(spec, columns, splits))
                              .output("y", ElementType::f32, columns * splits)
                              .input("x", ElementType::f32, std::uint64_t{rows} * columns)
                              .integer("rows", rows)
                              .integer("columns", columns)
                              .integer("row_stride", columns)
                              .integer("rows_per_cta", 40)
                              .real("scale", 1)
                              .finish());
    }
}

void add_softmax(std::vector<LibraryKernel>& samples, unsigned capability) {
    for (const std::uint32_t columns : {100u, 1000u, 17000u}) {
        for (const bool cross_entropy : {false, true}) {
            SoftmaxSpec spec;
            spec.compute_capability = capability;
            spec.columns = columns;
            spec.vector_width = 4;
            spec.cross_entropy = cross_entropy;
            const std::uint32_t rows = columns > 10000 ? 1 : 6;
            SampleBuilder sample((cross_entropy ? "softmax and cross-entropy of " : "softmax of ") +
                                     std::to_string(columns) + " columns",
                                 generate_softmax(spec), softmax_grid(spec, rows));
            sample.output("y", ElementType::f32, std::uint64_t{rows} * columns)
                .input("x", ElementType::f32, std::uint64_t{rows} * columns)
                .integer("rows", rows)
                .integer("row_stride", columns);
            if (cross_entropy) {
                sample.index("labels", ElementType::i64, rows, columns)
                    .output("loss", ElementType::f32, rows);
            }
            samples.push_back(sample.finish());
        }
    }
    SoftmaxGradSpec grad;
    grad.compute_capability = capability;
    grad.columns = 130;
    grad.vector_width = 2;
    SampleBuilder sample("softmax gradient", generate_softmax_grad(grad), softmax_grad_grid(grad, 6));
    sample.output("dx", ElementType::f32, 780)
        .input("y", ElementType::f32, 780)
        .input("dy", ElementType::f32, 780);
    samples.push_back(sample.integer("rows", 6).integer("row_stride", 130).finish());

    CrossEntropyGradSpec cross;
    cross.compute_capability = capability;
    cross.vector_width = 2;
    SampleBuilder gradient("cross-entropy gradient", generate_cross_entropy_grad(cross),
                           cross_entropy_grad_grid(cross, 6, 130));
    gradient.output("dx", ElementType::f32, 780)
        .input("p", ElementType::f32, 780)
        .index("labels", ElementType::i64, 6, 130);
    samples.push_back(gradient.integer("rows", 6).integer("columns", 130).real("scale", 0.25f).finish());
}

void add_layer_norm(std::vector<LibraryKernel>& samples, unsigned capability) {
    for (const std::uint32_t columns : {96u, 1000u}) {
        const std::uint32_t rows = 11;
        const std::uint64_t elements = std::uint64_t{rows} * columns;
        LayerNormSpec spec;
        spec.compute_capability = capability;
        spec.x = spec.y = ElementType::f16;
        spec.columns = columns;
        spec.vector_width = 8;
        SampleBuilder sample("layer norm of " + std::to_string(columns) + " columns",
                             generate_layer_norm(spec), layer_norm_grid(spec, rows));
        sample.output("y", ElementType::f16, elements)
            .output("mean", ElementType::f32, rows)
            .output("rstd", ElementType::f32, rows)
            .input("x", ElementType::f16, elements)
            .input("gamma", ElementType::f32, columns)
            .input("beta", ElementType::f32, columns)
            .integer("rows", rows)
            .real("epsilon", 1e-5f);
        samples.push_back(sample.finish());

        LayerNormGradSpec grad;
        grad.compute_capability = capability;
        grad.x = grad.dy = grad.dx = ElementType::f16;
        grad.columns = columns;
        grad.vector_width = 8;
        const std::uint32_t workers = layer_norm_grad_workers(grad, rows, 1);
        SampleBuilder gradient("layer norm gradient of " + std::to_string(columns) + " columns",
                               generate_layer_norm_grad(grad), layer_norm_grad_grid(workers));
        gradient.output("dx", ElementType::f16, elements)
            .output("partial_gamma", ElementType::f32, std::uint64_t{workers} * columns)
            .output("partial_beta", ElementType::f32, std::uint64_t{workers} * columns)
            .input("dy", ElementType::f16, elements)
            .input("x", ElementType::f16, elements)
            .input("mean", ElementType::f32, rows)
            .input("rstd", ElementType::f32, rows)
            .input("gamma", ElementType::f32, columns)
            .integer("rows", rows);
        samples.push_back(gradient.finish());
    }
}

void add_embedding_sums(std::vector<LibraryKernel>& samples, unsigned capability) {
    const std::uint32_t rows = 70, limit = 9, columns = 40;
    EmbeddingSumsSpec spec;
    spec.compute_capability = capability;
    spec.x = spec.y = ElementType::f16;
    samples.push_back(SampleBuilder("sums of embedding gradients", generate_embedding_sums(spec),
                                    embedding_sums_grid(columns))
                          .output("y", spec.y, limit * columns)
                          .input("x", spec.x, rows * columns)
                          .index("index", spec.index, rows, limit)
                          .integer("rows", rows)
                          .integer("columns", columns)
                          .finish());
}

void add_elements_by_index(std::vector<LibraryKernel>& samples, unsigned capability) {
    const std::uint32_t rows = 70, limit = 9, columns = 41;
    ElementsByIndexSpec spec;
    spec.compute_capability = capability;
    spec.type = ElementType::f16;
    samples.push_back(SampleBuilder("gather elements", generate_elements_by_index(spec),
                                    elements_by_index_grid(rows * columns, 1))
                          .output("y", spec.type, rows * columns)
                          .input("x", spec.type, limit * columns)
                          .index("index", spec.index, rows, limit)
                          .integer("elements", rows * columns)
                          .integer("columns", columns)
                          .integer("limit", limit)
                          .finish());
}

void add_rows_by_index(std::vector<LibraryKernel>& samples, unsigned capability) {
    for (const RowMove move : {RowMove::gather, RowMove::scatter, RowMove::scatter_add}) {
        RowsByIndexSpec spec;
        spec.compute_capability = capability;
        spec.move = move;
        spec.index = move == RowMove::gather ? ElementType::i64 : ElementType::i32;
        spec.vector_width = 4;
        const std::uint32_t rows = 14, limit = 23, columns = 40;
        const bool gather = move == RowMove::gather;
        static constexpr const char* kNames[] = {"gather rows", "scatter rows", "scatter and add rows"};
        samples.push_back(SampleBuilder(kNames[static_cast<int>(move)], generate_rows_by_index(spec),
                                        rows_by_index_grid(spec, rows, columns))
                              .output("y", ElementType::f32, (gather ? rows : limit) * columns)
                              .input("x", ElementType::f32, (gather ? limit : rows) * columns)
                              .index("index", spec.index, rows, limit)
                              .integer("rows", rows)
                              .integer("limit", limit)
                              .integer("x_stride", columns)
                              .integer("y_stride", columns)
                              .divider("row_vectors", columns / 4)
                              .finish());
        if (move != RowMove::scatter_add) continue;
        spec.x = spec.y =
            target::nearest_generation(capability).has_bf16_reduction ? ElementType::bf16 : ElementType::f16;
        samples.push_back(SampleBuilder("scatter and add 16-bit rows", generate_rows_by_index(spec),
                                        rows_by_index_grid(spec, rows, columns))
                              .output("y", spec.y, limit * columns)
                              .input("x", spec.x, rows * columns)
                              .index("index", spec.index, rows, limit)
                              .integer("rows", rows)
                              .integer("limit", limit)
                              .integer("x_stride", columns)
                              .integer("y_stride", columns)
                              .divider("row_vectors", columns / 4)
                              .finish());
    }
}

void add_spatial_softmax(std::vector<LibraryKernel>& samples, unsigned capability) {
    for (const bool gradient : {false, true}) {
        for (const std::uint32_t columns : {5u, 70u}) {
            constexpr std::uint32_t kOuter = 2, kAxis = 90;
            SpatialSoftmaxSpec spec;
            spec.compute_capability = capability;
            spec.logarithm = gradient;
            spec.gradient = gradient;
            spec = spatial_softmax_shape(spec, kAxis, columns);
            const std::uint64_t elements = std::uint64_t{kOuter} * kAxis * columns;
            SampleBuilder sample((gradient ? "spatial log-softmax gradient, " : "spatial softmax, ") +
                                     std::to_string(columns) + " columns",
                                 generate_spatial_softmax(spec), spatial_softmax_grid(spec, kOuter, columns));
            for (const char* name : {gradient ? "dy" : "x", "y"}) {
                if (std::string(name) == "y" && !gradient) continue;
                sample.input(name, spec.input, elements);
            }
            sample.output(gradient ? "dx" : "y", spec.output, elements);
            samples.push_back(sample.integer("axis", kAxis).integer("columns", columns).finish());
        }
    }
}

}  // namespace

void add_row_samples(std::vector<LibraryKernel>& samples, unsigned compute_capability) {
    add_row_reductions(samples, compute_capability);
    add_softmax(samples, compute_capability);
    add_layer_norm(samples, compute_capability);
    add_embedding_sums(samples, compute_capability);
    add_elements_by_index(samples, compute_capability);
    add_rows_by_index(samples, compute_capability);
    add_spatial_softmax(samples, compute_capability);
}

}  // namespace heddle::kernels
