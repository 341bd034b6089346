// Samples: kernels shaped like PyTorch's and torch.compile's, norms of channels, dropout, quantisation,
// top-k.
#include "workloads/kernels/batch_norm.h"
#include "workloads/kernels/channel_norm.h"
#include "workloads/kernels/channel_rows.h"
#include "workloads/kernels/compiled_layer_norm.h"
#include "workloads/kernels/concat.h"
#include "workloads/kernels/cumulative_sum.h"
#include "workloads/kernels/dropout.h"
#include "workloads/kernels/elementwise.h"
#include "workloads/kernels/expert_slots.h"
#include "workloads/kernels/layer_norm.h"
#include "workloads/kernels/library_builder.h"
#include "workloads/kernels/quantise.h"
#include "workloads/kernels/reduction.h"
#include "workloads/kernels/top_k.h"
#include "workloads/kernels/torch_layer_norm.h"
#include "workloads/kernels/torch_reduce.h"
#include "workloads/kernels/torch_softmax.h"

namespace heddle::kernels {
namespace {

void add_torch_softmax(std::vector<LibraryKernel>& samples, unsigned capability) {
    struct Shape {
        std::uint32_t columns;
        TorchSoftmaxForm form;
        const char* name;
    };
    for (const Shape& shape : {Shape{70, TorchSoftmaxForm::staged, "short rows"},
                               Shape{2051, TorchSoftmaxForm::three_reads, "rows read three times"},
                               Shape{2056, TorchSoftmaxForm::staged, "rows staged"}}) {
        for (const bool logarithm : {false, true}) {
            TorchSoftmaxSpec spec{capability,    ElementType::f16, ElementType::f16,
                                  shape.columns, logarithm,        shape.form};
            const std::uint32_t rows = shape.columns > 1000 ? 2 : 9;
            const std::uint64_t elements = std::uint64_t{rows} * shape.columns;
            const std::string name =
                std::string(logarithm ? "log-softmax" : "softmax") + " of PyTorch, " + shape.name;
            SampleBuilder forward(name, generate_torch_softmax(spec), torch_softmax_grid(spec, rows));
            forward.output("y", ElementType::f16, elements).input("x", ElementType::f16, elements);
            samples.push_back(forward.integer("rows", rows).finish());
            if (shape.form == TorchSoftmaxForm::staged && shape.columns > 1000) continue;
            const TorchSoftmaxGradSpec grad{capability, ElementType::f16, ElementType::f16, shape.columns,
                                            logarithm};
            SampleBuilder backward(name + ", gradient", generate_torch_softmax_grad(grad),
                                   torch_softmax_grad_grid(grad, rows));
            backward.output("dx", ElementType::f16, elements)
                .input("g", ElementType::f16, elements)
                .input("y", ElementType::f16, elements);
            samples.push_back(backward.integer("rows", rows).finish());
        }
    }
}

void add_norms(std::vector<LibraryKernel>& samples, unsigned capability) {
    CompiledLayerNormSpec compiled;
    compiled.compute_capability = capability;
    compiled.x = compiled.y = ElementType::f16;
    compiled.columns = 2064;
    SampleBuilder layer("layer norm of torch.compile", generate_compiled_layer_norm(compiled), {2, 1, 1});
    layer.output("y", ElementType::f16, 4128).input("x", ElementType::f16, 4128);
    samples.push_back(layer.integer("rows", 2).real("epsilon", 1e-5f).finish());

    const std::uint32_t rows = 5, columns = 203, elements = rows * columns;
    LayerNormSpec rms;
    rms.compute_capability = capability;
    rms.columns = columns;
    rms.rms = true;
    SampleBuilder forward("RMS norm", generate_layer_norm(rms), layer_norm_grid(rms, rows));
    forward.output("y", ElementType::f32, elements)
        .output("rstd", ElementType::f32, rows)
        .input("x", ElementType::f32, elements)
        .input("gamma", ElementType::f32, columns);
    samples.push_back(forward.integer("rows", rows).real("epsilon", 1e-5f).finish());
    LayerNormGradSpec grad;
    grad.compute_capability = capability;
    grad.columns = columns;
    grad.rms = true;
    const std::uint32_t workers = layer_norm_grad_workers(grad, rows, 1);
    SampleBuilder backward("RMS norm gradient", generate_layer_norm_grad(grad),
                           layer_norm_grad_grid(workers));
    backward.output("dx", ElementType::f32, elements)
        .output("partial_gamma", ElementType::f32, std::uint64_t{workers} * columns)
        .input("dy", ElementType::f32, elements)
        .input("x", ElementType::f32, elements)
        .input("rstd", ElementType::f32, rows)
        .input("gamma", ElementType::f32, columns);
    samples.push_back(backward.integer("rows", rows).finish());

    // [3, 7, 35], batch norm.
    ChannelSets sets;
    sets.elements = 3 * 35;
    sets.run_length = sets.inner_stride = 35;
    sets.inner = 7;
    sets.run_stride = 7 * 35;
    ChannelStatisticsSpec of_sets;
    of_sets.compute_capability = capability;
    of_sets.threads = 64;
    SampleBuilder statistics("channel statistics", generate_channel_statistics(of_sets), {7, 1, 1});
    statistics.output("mean", ElementType::f32, 7)
        .output("rstd", ElementType::f32, 7)
        .input("x", ElementType::f32, 735)
        .real("epsilon", 1e-5f)
        .real("momentum", 0.1f)
        .real("unbias", 1.01f);
    add_channel_arguments(statistics.arguments(), sets);
    samples.push_back(statistics.finish());
    // [40, 7, 20], the same in one launch: by planes, 16 of which are under way at once, and staged.
    for (const bool staged : {false, true}) {
        const BatchNormShape shape{40, 20, 7 * 20};
        BatchNormSpec spec;
        spec.compute_capability = capability;
        spec.y = ElementType::f16;
        spec.running = staged;
        spec.staged_elements = staged ? 40 * 20 : 0;
        spec.run_threads = 32;
        spec.vector_width = 4;
        SampleBuilder norm(staged ? "batch norm staged with running ones" : "batch norm by planes",
                           generate_batch_norm(spec), {7, 1, 1});
        norm.output("mean", ElementType::f32, 7)
            .output("rstd", ElementType::f32, 7)
            .output("y", spec.y, 40 * 7 * 20);
        if (staged) {
            norm.input("running_mean", ElementType::f32, 7)
                .input("running_variance", ElementType::f32, 7)
                .output("new_mean", ElementType::f32, 7)
                .output("new_variance", ElementType::f32, 7);
        }
        norm.input("x", ElementType::f32, 40 * 7 * 20)
            .input("weight", ElementType::f32, 7)
            .input("bias", ElementType::f32, 7)
            .real("epsilon", 1e-5f)
            .real("momentum", 0.1f)
            .real("unbias", 1.01f);
        add_batch_norm_arguments(norm.arguments(), spec, shape);
        samples.push_back(norm.finish());
    }
    // [300, 48], the same in rows.
    for (const bool gradient : {false, true}) {
        const bool bf16 = target::nearest_generation(capability).has_bf16;
        const ElementType type = bf16 ? ElementType::bf16 : ElementType::f16;
        const ChannelRowsSpec spec = choose_channel_rows(capability, type, type, gradient, 48);
        SampleBuilder rows(gradient ? "channel rows gradient" : "channel rows", generate_channel_rows(spec),
                           channel_rows_grid(spec, 48, 2));
        rows.output(gradient ? "sum" : "mean", ElementType::f32, 96)
            .output(gradient ? "dot" : "squares", ElementType::f32, 96)
            .input("x", type, 300 * 48)
            .integer("rows", 300)
            .integer("columns", 48)
            .integer("rows_per_cta", 170);
        if (gradient)
            rows.input("dy", type, 300 * 48)
                .input("mean_of", ElementType::f32, 48)
                .input("rstd_of", ElementType::f32, 48);
        samples.push_back(rows.finish());
    }
    for (const bool running : {false, true}) {
        SampleBuilder merged(running ? "channel merge with running ones" : "channel merge",
                             generate_channel_merge({capability, running}), channel_merge_grid(48));
        merged.output("mean", ElementType::f32, 48).output("rstd", ElementType::f32, 48);
        if (running) {
            merged.input("running_mean", ElementType::f32, 48)
                .input("running_variance", ElementType::f32, 48)
                .output("new_mean", ElementType::f32, 48)
                .output("new_variance", ElementType::f32, 48);
        }
        merged.input("means", ElementType::f32, 96).input("squares", ElementType::f32, 96);
        merged.integer("rows", 300).integer("columns", 48).integer("rows_per_cta", 170).integer("splits", 2);
        samples.push_back(
            merged.real("epsilon", 1e-5f).real("momentum", 0.1f).real("unbias", 1.01f).finish());
    }
    ChannelGradSumsSpec sums;
    sums.compute_capability = capability;
    sums.threads = 64;
    SampleBuilder gradient("channel gradient sums", generate_channel_grad_sums(sums), {7, 1, 1});
    gradient.output("sum", ElementType::f32, 7)
        .output("dot", ElementType::f32, 7)
        .input("dy", ElementType::f32, 735)
        .input("x", ElementType::f32, 735)
        .input("mean", ElementType::f32, 7)
        .input("rstd", ElementType::f32, 7)
        .integer("statistics_share", 1);
    add_channel_arguments(gradient.arguments(), sets);
    samples.push_back(gradient.finish());
}

void add_torch_reductions(std::vector<LibraryKernel>& samples, unsigned capability) {
    ExtremumSpec extremum;
    extremum.compute_capability = capability;
    SampleBuilder position("position of the maximum", generate_extremum(extremum), {3, 1, 1});
    position.output("value", ElementType::f32, 3)
        .output("index", ElementType::i64, 3)
        .input("x", ElementType::f32, 3099);
    samples.push_back(
        position.integer("rows", 3).integer("columns", 1033).integer("row_stride", 1033).finish());
    ReduceColumnAloneSpec alone;
    alone.compute_capability = capability;
    alone.input = ElementType::f16;
    SampleBuilder column("sum of a column by a CTA", generate_reduce_column_alone(alone), {5, 1, 1});
    column.output("y", ElementType::f32, 5).input("x", ElementType::f16, 5 * 300);
    samples.push_back(column.integer("rows", 300).integer("columns", 5).real("scale", 1).finish());
    ReduceColumnsSpec pair;
    pair.compute_capability = capability;
    pair.row_lanes = 32;
    pair.pair = true;
    SampleBuilder both("sums of two matrices", generate_reduce_columns(pair),
                       reduce_columns_grid(pair, 40, 1));
    both.output("y", ElementType::f32, 40)
        .input("x", ElementType::f32, 40 * 70)
        .output("y1", ElementType::f32, 40)
        .input("x1", ElementType::f32, 40 * 70)
        .integer("rows", 70)
        .integer("columns", 40)
        .integer("row_stride", 40)
        .integer("rows_per_cta", 70);
    samples.push_back(both.real("scale", 1).finish());
    TorchReduceColumnsSpec columns;
    columns.compute_capability = capability;
    columns.vector_width = 4;
    columns.row_lanes = 4;
    columns.shared_columns = true;
    SampleBuilder shared("sums of columns that CTAs share", generate_torch_reduce_columns(columns),
                         {2, 3, 1});
    shared.output("y", ElementType::f32, 200)
        .input("x", ElementType::f32, 200 * 70)
        .output("partial", ElementType::f32, 2 * 3 * 128)
        .index("semaphores", ElementType::i32, 2, 1)
        .integer("rows", 70)
        .integer("columns", 200)
        .integer("row_stride", 200);
    samples.push_back(shared.real("scale", 1).finish());
    columns.shared_columns = false;
    columns.batched = true;
    SampleBuilder batched("sums of columns of several matrices", generate_torch_reduce_columns(columns),
                          {2, 1, 3});
    batched.output("y", ElementType::f32, 3 * 200)
        .input("x", ElementType::f32, 3 * 200 * 20)
        .integer("rows", 20)
        .integer("columns", 200)
        .integer("row_stride", 200);
    samples.push_back(batched.real("scale", 1).finish());
}

void add_layer_norms(std::vector<LibraryKernel>& samples, unsigned capability) {
    TorchLayerNormSpec spec;
    spec.compute_capability = capability;
    spec.columns = 36;
    constexpr std::uint32_t kRows = 300;
    const std::uint64_t elements = std::uint64_t{kRows} * spec.columns;
    SampleBuilder forward("layer norm of eager mode", generate_torch_layer_norm(spec), {kRows, 1, 1});
    forward.output("y", spec.x, elements)
        .output("mean", ElementType::f32, kRows)
        .output("rstd", ElementType::f32, kRows)
        .input("x", spec.x, elements)
        .input("gamma", spec.weight, spec.columns)
        .input("beta", spec.weight, spec.columns);
    samples.push_back(forward.real("epsilon", 1e-5f).finish());
    SampleBuilder input("layer norm of eager mode, gradient of its input",
                        generate_torch_layer_norm_grad_input(spec), {kRows, 1, 1});
    input.output("dx", spec.x, elements)
        .input("dy", spec.x, elements)
        .input("x", spec.x, elements)
        .input("mean", ElementType::f32, kRows)
        .input("rstd", ElementType::f32, kRows)
        .input("gamma", spec.weight, spec.columns);
    samples.push_back(input.finish());
    SampleBuilder weights("layer norm of eager mode, gradients of gamma and beta",
                          generate_torch_gamma_beta_grad(spec), torch_gamma_beta_grad_grid(spec));
    weights.output("dgamma", spec.weight, spec.columns)
        .output("dbeta", spec.weight, spec.columns)
        .input("dy", spec.x, elements)
        .input("x", spec.x, elements)
        .input("mean", ElementType::f32, kRows)
        .input("rstd", ElementType::f32, kRows);
    samples.push_back(weights.integer("rows", kRows).finish());
}

void add_elementwise_forms(std::vector<LibraryKernel>& samples, unsigned capability) {
    for (const ElementwiseForm form :
         {ElementwiseForm::in_turn, ElementwiseForm::casting, ElementwiseForm::chunks}) {
        ElementwiseSpec spec;
        spec.compute_capability = capability;
        spec.form = form;
        spec.expression = expression::parse("y0 = x0 + s0 * x1");
        spec.inputs = {{ElementType::f32}, {ElementType::f16}};
        spec.outputs = {ElementType::f32};
        spec.chunk_elements = 1024;
        const std::uint32_t elements = 1300;
        static constexpr const char* kNames[] = {"", "in turn", "types known at launch", "chunks"};
        SampleBuilder sample("sum, " + std::string(kNames[static_cast<int>(form)]),
                             generate_elementwise(spec), elementwise_grid(spec, elements));
        sample.output("y0", ElementType::f32, elements)
            .input("x0", ElementType::f32, elements)
            .input("x1", ElementType::f16, elements)
            .integer("elements", elements)
            .real("s0", 0.5f);
        if (form == ElementwiseForm::casting) add_type_arguments(sample.arguments(), spec);
        samples.push_back(sample.finish());
    }
}

void add_selection(std::vector<LibraryKernel>& samples, unsigned capability) {
    DropoutSpec dropout;
    dropout.compute_capability = capability;
    dropout.x = dropout.y = ElementType::f16;
    SampleBuilder drop("dropout", generate_dropout(dropout), dropout_grid(dropout, 2051, 1));
    drop.output("y", ElementType::f16, 2051).output("mask", ElementType::boolean, 2051);
    drop.input("x", ElementType::f16, 2051).integer("elements", 2051).integer("seed_low", 7);
    samples.push_back(drop.real("probability", 0.1f).real("scale", 1 / 0.9f).finish());

    TopKSpec top;
    top.compute_capability = capability;
    top.columns = 70;
    top.k = 3;
    SampleBuilder largest("three largest of 70", generate_top_k(top), top_k_grid(top, 6));
    largest.output("values", ElementType::f32, 18).output("indices", ElementType::i64, 18);
    samples.push_back(largest.input("x", ElementType::f32, 420).integer("rows", 6).finish());

    ExpertSlotsSpec places;
    places.compute_capability = capability;
    places.threads = 64;
    SampleBuilder slots("places in three experts", generate_expert_slots(places), {3, 1, 1});
    slots.output("slots", ElementType::i32, 150).index("indices", ElementType::i32, 150, 3);
    samples.push_back(slots.integer("rows", 150).integer("capacity", 40).integer("none", 120).finish());

    // A block for each row, which takes three pieces of it; four rows of a warp each; lines of integers.
    for (const unsigned threads : {64u, 32u, 0u}) {
        CumulativeSumSpec sums;
        sums.compute_capability = capability;
        sums.rows = threads != 0;
        sums.reverse = threads == 32;
        if (sums.rows) sums.threads = threads;
        if (!sums.rows) sums.x = sums.y = ElementType::i64;
        const unsigned lines = 5, extent = 150;
        SampleBuilder added("sums along " + (sums.rows ? "rows by " + std::to_string(threads) : "lines"),
                            generate_cumulative_sum(sums), cumulative_sum_grid(sums, lines));
        added.output("y", sums.y, lines * extent);
        if (sums.rows) {
            added.input("x", sums.x, lines * extent);
        } else {
            added.index("x", sums.x, lines * extent, 100).divider("inner", lines);
        }
        samples.push_back(added.integer("lines", lines).integer("extent", extent).finish());
    }

    ConcatSpec concat;
    concat.compute_capability = capability;
    SampleBuilder joined("concatenation", generate_concat(concat), {2, 2, 1});
    joined.output("y", ElementType::f32, 9 * 31)
        .input("x0", ElementType::f32, 9 * 11)
        .input("x1", ElementType::f32, 9 * 20)
        .integer("elements0", 9 * 11)
        .integer("elements1", 9 * 20)
        .integer("extent0", 11)
        .integer("extent1", 20)
        .integer("begin1", 11)
        .integer("size0", 31)
        .integer("stride0", 1)
        .integer("stride1", 31);
    samples.push_back(joined.finish());

    if (!target::nearest_generation(capability).has_fp8) return;
    for (const bool e5m2 : {false, true}) {
        QuantiseSpec quantise;
        quantise.compute_capability = capability;
        quantise.e5m2 = e5m2;
        quantise.vector_width = e5m2 ? 2 : 8;
        SampleBuilder narrow(e5m2 ? "quantise to e5m2" : "quantise to e4m3", generate_quantise(quantise),
                             quantise_grid(quantise, 4008, 1));
        narrow.output("y", ElementType::u8, 4008)
            .input("scale", ElementType::f32, 1)
            .output("amax", ElementType::f32, 1)
            .input("x", ElementType::bf16, 4008);
        samples.push_back(narrow.integer("elements", 4008).finish());
    }
}

}  // namespace

void add_torch_samples(std::vector<LibraryKernel>& samples, unsigned compute_capability) {
    add_elementwise_forms(samples, compute_capability);
    add_torch_softmax(samples, compute_capability);
    add_norms(samples, compute_capability);
    add_torch_reductions(samples, compute_capability);
    add_layer_norms(samples, compute_capability);
    add_selection(samples, compute_capability);
}

}  // namespace heddle::kernels
