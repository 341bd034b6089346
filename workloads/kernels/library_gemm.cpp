// Samples: GEMM on CUDA cores and tensor cores, with TMA, split-K.
#include <algorithm>

#include "workloads/kernels/fp8_quantise.h"
#include "workloads/kernels/gemm_mma.h"
#include "workloads/kernels/gemm_simt.h"
#include "workloads/kernels/gemm_wgmma.h"
#include "workloads/kernels/gemv.h"
#include "workloads/kernels/library_builder.h"
#include "workloads/kernels/split_k.h"

namespace heddle::kernels {
namespace {

struct Problem {
    std::uint32_t m, n, k, batch = 1, splits = 1, k_per_split = 0;
    bool transpose_a = false, transpose_b = false;
};

void add_gemm(std::vector<LibraryKernel>& samples, const std::string& name, GeneratedKernel kernel,
              Extent3 grid, const Problem& p, ElementType type, ElementType output,
              const GemmEpilogue& epilogue, bool split) {
    SampleBuilder sample(name, std::move(kernel), grid);
    const std::uint64_t copies = split ? p.batch * p.splits : p.batch;
    sample.input("a", type, std::uint64_t{p.m} * p.k * p.batch)
        .input("b", type, std::uint64_t{p.k} * p.n * p.batch);
    sample.output("d", output, std::uint64_t{p.m} * p.n * copies);
    if (epilogue.expression && !split) {
        sample.input("c", epilogue.c, std::uint64_t{p.m} * p.n * p.batch).input("bias", epilogue.bias, p.n);
        for (unsigned i = 0; i < epilogue.expression->scalar_count; ++i)
            sample.real("s" + std::to_string(i), 0.5f);
    }
    sample.integer("m", p.m).integer("n", p.n).integer("k", p.k);
    sample.integer("lda", p.transpose_a ? p.m : p.k).integer("ldb", p.transpose_b ? p.k : p.n);
    sample.integer("ldc", p.n).integer("ldd", p.n);
    sample.integer("stride_a", std::uint64_t{p.m} * p.k).integer("stride_b", std::uint64_t{p.k} * p.n);
    sample.integer("stride_c", std::uint64_t{p.m} * p.n).integer("stride_d", std::uint64_t{p.m} * p.n);
    sample.integer("splits", p.splits).integer("k_per_split", p.k_per_split);
    samples.push_back(sample.finish());
}

GemmEpilogue bias_relu(ElementType output, unsigned vector_width) {
    GemmEpilogue epilogue;
    epilogue.expression = expression::parse("y0 = max(x0 + x1, 0) + s0 * x2");
    epilogue.output = epilogue.bias = epilogue.c = output;
    epilogue.vector_width = vector_width;
    return epilogue;
}

void add_simt(std::vector<LibraryKernel>& samples, unsigned capability) {
    for (const ElementType type : {ElementType::f32, ElementType::f64}) {
        for (const bool transpose_a : {false, true}) {
            for (const bool transpose_b : {false, true}) {
                GemmSimtSpec spec;
                spec.compute_capability = capability;
                spec.type = spec.epilogue.output = type;
                spec.tile_m = spec.tile_n = 64;
                spec.transpose_a = transpose_a;
                spec.transpose_b = transpose_b;
                const Problem p{70, 83, 19, 1, 1, 0, transpose_a, transpose_b};
                add_gemm(
                    samples,
                    "gemm simt " + name_of(type) + " " + layout_name(transpose_a, transpose_b) + " edges",
                    generate_gemm_simt(spec), gemm_simt_grid(spec, p.m, p.n), p, type, type, spec.epilogue,
                    false);
            }
        }
    }
    GemmSimtSpec spec;
    spec.compute_capability = capability;
    spec.vector_a = spec.vector_b = 4;
    spec.full_k = true;
    spec.epilogue = bias_relu(ElementType::f32, 4);
    const Problem p{128, 256, 32};
    spec.raster_log2 = 1;
    add_gemm(samples, "gemm simt f32 128x128 aligned, bias, ReLU and C", generate_gemm_simt(spec),
             gemm_simt_grid(spec, p.m, p.n), p, spec.type, ElementType::f32, spec.epilogue, false);
    spec.epilogue = {};
    spec.tile_m = spec.tile_n = 64;
    spec.partition = {true, true};
    const Problem split{64, 64, 64, 2, 2, 32};
    add_gemm(samples, "gemm simt f32 batched split-K", generate_gemm_simt(spec),
             gemm_simt_grid(spec, 64, 64, 4), split, spec.type, ElementType::f32, spec.epilogue, true);
}

void add_mma(std::vector<LibraryKernel>& samples, unsigned capability) {
    const target::Generation& generation = target::nearest_generation(capability);
    const ElementType type = generation.has_bf16 ? ElementType::bf16 : ElementType::f16;
    const bool asynchronous = generation.has_cp_async;
    for (const bool transpose_a : {false, true}) {
        for (const bool transpose_b : {false, true}) {
            for (const unsigned copy : {8u, 2u, 1u}) {
                GemmMmaSpec spec;
                spec.compute_capability = capability;
                spec.type = type;
                spec.tile = {64, 64, 32, 2, 2, asynchronous ? 3u : 2u};
                spec.transpose_a = transpose_a;
                spec.transpose_b = transpose_b;
                spec.copy_a = spec.copy_b = spec.epilogue.vector_width = copy;
                spec.epilogue.output = ElementType::f32;
                const Problem p = copy == 8   ? Problem{72, 88, 104, 1, 1, 0, transpose_a, transpose_b}
                                  : copy == 2 ? Problem{70, 82, 46, 1, 1, 0, transpose_a, transpose_b}
                                              : Problem{67, 71, 45, 1, 1, 0, transpose_a, transpose_b};
                add_gemm(samples,
                         "gemm mma " + name_of(type) + " " + layout_name(transpose_a, transpose_b) +
                             " copies of " + std::to_string(copy),
                         generate_gemm_mma(spec), gemm_mma_grid(spec, p.m, p.n), p, type, ElementType::f32,
                         spec.epilogue, false);
            }
        }
    }
    if (!asynchronous) return;
    for (const GemmTile& tile : {GemmTile{128, 128, 32, 2, 2, 4}, GemmTile{128, 256, 32, 2, 4, 3},
                                 GemmTile{256, 128, 64, 4, 2, 3}, GemmTile{64, 256, 32, 1, 4, 4}}) {
        GemmMmaSpec spec;
        spec.compute_capability = capability;
        spec.type = ElementType::f16;
        spec.tile = tile;
        spec.full_k = true;
        spec.raster_log2 = 1;
        spec.epilogue = bias_relu(ElementType::f16, 8);
        const Problem p{tile.m, tile.n * 2, 128};
        add_gemm(samples,
                 "gemm mma f16 " + std::to_string(tile.m) + "x" + std::to_string(tile.n) + "x" +
                     std::to_string(tile.k) + " aligned, bias, ReLU and C",
                 generate_gemm_mma(spec), gemm_mma_grid(spec, p.m, p.n), p, spec.type, ElementType::f16,
                 spec.epilogue, false);
    }
    GemmMmaSpec spec;
    spec.compute_capability = capability;
    spec.tile = {64, 64, 32, 2, 2, 3};
    spec.partition = {true, true};
    spec.epilogue.vector_width = 4;
    const Problem split{64, 72, 168, 2, 3, 64};
    add_gemm(samples, "gemm mma bf16 batched split-K", generate_gemm_mma(spec),
             gemm_mma_grid(spec, split.m, split.n, 6), split, ElementType::bf16, ElementType::f32,
             spec.epilogue, true);
}

void add_gemv(std::vector<LibraryKernel>& samples, unsigned capability) {
    struct Case {
        ElementType type;
        unsigned warps, vector;
        Problem p;
    };
    for (const Case& c : {Case{ElementType::f16, 1, 8, {1, 37, 3104}},
                          {ElementType::f16, 8, 1, {2, 5, 4321}},
                          {ElementType::f32, 4, 4, {1, 9, 2052, 2}},
                          {ElementType::f64, 16, 1, {1, 3, 1201}}}) {
        GemvSpec spec;
        spec.compute_capability = capability;
        spec.type = c.type;
        spec.warps = c.warps;
        spec.vector = c.vector;
        spec.batched = c.p.batch > 1;
        if (c.type == ElementType::f16) spec.epilogue = bias_relu(ElementType::f16, 1);
        if (c.type != ElementType::f16) spec.epilogue.output = c.type;
        Problem p = c.p;
        p.transpose_b = true;
        add_gemm(samples,
                 "gemv " + name_of(c.type) + " " + std::to_string(c.warps) + " warps, loads of " +
                     std::to_string(c.vector),
                 generate_gemv(spec), gemv_grid(spec, p.m, p.n, p.batch), p, c.type, spec.epilogue.output,
                 spec.epilogue, false);
    }
}

void add_split_k_reduce(std::vector<LibraryKernel>& samples, unsigned capability) {
    SplitKReduceSpec spec;
    spec.compute_capability = capability;
    spec.batched = true;
    spec.epilogue = bias_relu(ElementType::f16, 4);
    const std::uint32_t m = 21, n = 72, splits = 5, batch = 2;
    SampleBuilder sample("split-K reduction, batched, bias, ReLU and C", generate_split_k_reduce(spec),
                         split_k_reduce_grid(spec, m, n, batch));
    sample.input("workspace", ElementType::f32, std::uint64_t{m} * n * splits * batch)
        .input("c", ElementType::f16, std::uint64_t{m} * n * batch)
        .input("bias", ElementType::f16, n)
        .output("d", ElementType::f16, std::uint64_t{m} * n * batch)
        .integer("m", m)
        .integer("n", n)
        .integer("ldc", n)
        .integer("ldd", n)
        .integer("splits", splits)
        .integer("slice_stride", m * n)
        .integer("stride_c", m * n)
        .integer("stride_d", m * n)
        .divider("row_vectors", n / split_k_reduce_width(spec))
        .real("s0", 0.5f);
    samples.push_back(sample.finish());

    // The slices of the stream-K sample below.
    spec.batched = false;
    spec.stream_tile_m = 64;
    spec.stream_tile_n = 128;
    GemmWgmmaSpec product;
    product.tile = {.m = 64, .n = 128};
    product.partition.split_k = product.stream_k = true;
    GemmProblem shape;
    shape.m = 136;
    shape.n = 264;
    shape.k = 328;
    const StreamK stream = stream_k_of(product, shape, 4);
    const std::uint64_t results = std::uint64_t{shape.m} * shape.n;
    SampleBuilder streamed("stream-K reduction, bias, ReLU and C", generate_split_k_reduce(spec),
                           split_k_reduce_grid(spec, shape.m, shape.n));
    streamed.input("workspace", ElementType::f32, results * stream.slices)
        .input("c", ElementType::f16, results)
        .input("bias", ElementType::f16, shape.n)
        .output("d", ElementType::f16, results)
        .integer("m", shape.m)
        .integer("n", shape.n)
        .integer("ldc", shape.n)
        .integer("ldd", shape.n)
        .integer("splits", stream.slices)
        .integer("slice_stride", results)
        .integer("stride_c", results)
        .integer("stride_d", results)
        .integer("tiles_m", stream.tiles_m)
        .integer("stages_per_tile", stream.stages_per_tile)
        .divider("stages_per_cta", stream.stages_per_cta)
        .divider("row_vectors", shape.n / split_k_reduce_width(spec))
        .real("s0", 0.5f);
    samples.push_back(streamed.finish());
}

void add_wgmma_sample(std::vector<LibraryKernel>& samples, GemmWgmmaSpec spec, const GemmProblem& shape) {
    const bool split = spec.partition.split_k;
    GemmProblem p = shape;
    spec.partition.batched = p.batch > 1;
    p.lda = spec.transpose_a ? p.m : p.k;
    p.ldb = spec.transpose_b ? p.k : p.n;
    p.ldc = p.ldd = p.n;
    if (p.batch > 1) {
        p.stride_a = std::uint64_t{p.m} * p.k;
        p.stride_b = std::uint64_t{p.k} * p.n;
    }
    p.stride_c = p.stride_d = std::uint64_t{p.m} * p.n;
    p.a = pointer_argument("a", 0);
    p.b = pointer_argument("b", 1);
    p.d = pointer_argument("d", 2);
    const GemmWgmmaLaunch launch = gemm_wgmma_launch(spec, p, 4);
    GeneratedKernel kernel = generate_gemm_wgmma(spec);
    // "gemm_wgmma_f16_..." or "gemm_tcgen05_...": the first two words apart.
    const std::size_t second = kernel.entry.find('_', 5);
    const std::string name = "gemm " + kernel.entry.substr(5, second - 5) + " " + kernel.entry.substr(second + 1);
    LibraryKernel sample{name, std::move(kernel), launch.grid, {}, {}};
    const auto buffer = [&](const char* of, ElementType type, std::uint64_t elements,
                            SampleBuffer::Content content) {
        sample.buffers.push_back({of, elements * bytes_of(type), type, content, 0});
    };
    const std::uint64_t results = p.stride_d * p.batch * p.splits;
    buffer("a", spec.type, std::uint64_t{p.m} * p.k * p.batch, SampleBuffer::Content::random);
    buffer("b", spec.type, std::uint64_t{p.n} * p.k * p.batch, SampleBuffer::Content::random);
    buffer("d", split ? ElementType::f32 : spec.epilogue.output, results, SampleBuffer::Content::zeros);
    std::vector<KernelArgument> arguments = launch.arguments;
    if (spec.epilogue.expression) {
        buffer("c", spec.epilogue.c, results, SampleBuffer::Content::random);
        buffer("bias", spec.epilogue.bias, p.n, SampleBuffer::Content::random);
        arguments.push_back(pointer_argument("c", 3));
        arguments.push_back(pointer_argument("bias", 4));
        for (unsigned i = 0; i < spec.epilogue.expression->scalar_count; ++i)
            arguments.push_back(f32_argument("s" + std::to_string(i), 0.5f));
    }
    sample.arguments = order_arguments(sample.kernel, arguments);
    samples.push_back(std::move(sample));
}

GemmProblem wgmma_shape(std::uint32_t m, std::uint32_t n, std::uint32_t k, std::uint32_t batch = 1) {
    GemmProblem p;
    p.m = m;
    p.n = n;
    p.k = k;
    p.batch = batch;
    return p;
}

/// One CTA and pairs, every input type, each way out.
void add_tcgen05(std::vector<LibraryKernel>& samples, unsigned compute_capability) {
    const auto spec_of = [&](ElementType type, ElementType output, WgmmaTile tile) {
        GemmWgmmaSpec spec;
        spec.compute_capability = compute_capability;
        spec.type = type;
        spec.epilogue.output = output;
        spec.tile = tile;
        spec.tile.m = 128;
        spec.tile.consumers = 1;
        spec.transpose_b = true;
        return spec;
    };
    constexpr ElementType bf16 = ElementType::bf16;
    for (const bool transpose_a : {false, true}) {
        for (const bool transpose_b : {false, true}) {
            GemmWgmmaSpec spec = spec_of(bf16, bf16, {.n = 128, .stages = 3});
            spec.transpose_a = transpose_a;
            spec.transpose_b = transpose_b;
            add_wgmma_sample(samples, spec, wgmma_shape(328, 200, 456));
        }
    }
    GemmWgmmaSpec pair = spec_of(ElementType::f16, ElementType::f16, {.n = 256, .stages = 4, .cluster_m = 2});
    pair.raster_log2 = 1;
    add_wgmma_sample(samples, pair, wgmma_shape(600, 512, 320));
    add_wgmma_sample(samples, spec_of(bf16, bf16, {.n = 96, .stages = 2, .cluster_m = 2}), wgmma_shape(520, 192, 136));
    add_wgmma_sample(samples, spec_of(ElementType::f32, ElementType::f32, {.n = 64, .stages = 4}), wgmma_shape(136, 264, 176));
    add_wgmma_sample(samples, spec_of(ElementType::i8, ElementType::i32, {.n = 128, .stages = 4}), wgmma_shape(136, 264, 176));
    add_wgmma_sample(samples, spec_of(ElementType::e4m3, bf16, {.n = 128, .stages = 6, .cluster_m = 2}), wgmma_shape(264, 136, 176));
    GemmWgmmaSpec fused = spec_of(bf16, bf16, {.n = 64, .stages = 4});
    fused.epilogue = bias_relu(bf16, 8);
    add_wgmma_sample(samples, fused, wgmma_shape(136, 72, 64, 2));
    GemmWgmmaSpec slices = spec_of(bf16, ElementType::f32, {.n = 128, .stages = 4});
    slices.partition.split_k = true;
    GemmProblem split = wgmma_shape(128, 128, 448, 2);
    split.splits = 3;
    split.k_per_split = 192;
    add_wgmma_sample(samples, slices, split);
}

void add_wgmma(std::vector<LibraryKernel>& samples) {
    for (const bool transpose_a : {false, true}) {
        for (const bool transpose_b : {false, true}) {
            GemmWgmmaSpec spec;
            spec.transpose_a = transpose_a;
            spec.transpose_b = transpose_b;
            spec.epilogue.output = ElementType::bf16;
            spec.tile = {.m = 128, .n = 128, .stages = 4};
            add_wgmma_sample(samples, spec, wgmma_shape(328, 200, 456));
        }
    }
    constexpr WgmmaSchedule ping_pong = WgmmaSchedule::ping_pong;
    for (const WgmmaTile& tile : {WgmmaTile{.m = 128, .n = 256, .stages = 4, .cluster_m = 2},
                                  WgmmaTile{.m = 256, .n = 128, .stages = 4, .cluster_n = 2},
                                  WgmmaTile{.m = 64, .n = 256, .stages = 4, .schedule = ping_pong},
                                  WgmmaTile{.m = 48, .n = 128, .stages = 6, .swap = true}}) {
        GemmWgmmaSpec spec;
        spec.type = spec.epilogue.output = ElementType::f16;
        spec.tile = tile;
        spec.transpose_b = true;
        spec.raster_log2 = 1;
        add_wgmma_sample(samples, spec, wgmma_shape(tile.m * 3, tile.n * 2, 320));
    }
    for (const ElementType type : {ElementType::f32, ElementType::i8, ElementType::e4m3}) {
        GemmWgmmaSpec spec;
        spec.type = type;
        spec.epilogue.output = type == ElementType::i8     ? ElementType::i32
                               : type == ElementType::e4m3 ? ElementType::bf16
                                                           : ElementType::f32;
        spec.tile = {.m = 128, .n = 128, .stages = 4};
        spec.transpose_b = true;
        add_wgmma_sample(samples, spec, wgmma_shape(136, 264, 176));
    }
    GemmWgmmaSpec spec;
    spec.tile = {.m = 128, .n = 64, .stages = 4};
    spec.epilogue = bias_relu(ElementType::bf16, 8);
    add_wgmma_sample(samples, spec, wgmma_shape(136, 72, 64, 2));
    spec.epilogue = {};
    spec.partition.split_k = true;
    GemmProblem split = wgmma_shape(128, 128, 448, 2);
    split.splits = 3;
    split.k_per_split = 192;
    add_wgmma_sample(samples, spec, split);
    spec.stream_k = true;
    spec.tile = {.m = 64, .n = 128, .stages = 4, .consumers = 1};
    GemmProblem stream = wgmma_shape(136, 264, 328);
    stream.splits = stream_k_of(spec, stream, 4).slices;
    add_wgmma_sample(samples, spec, stream);
}

void add_fp8_quantise(std::vector<LibraryKernel>& samples, unsigned capability) {
    Fp8QuantiseSpec spec;
    spec.compute_capability = capability;
    spec.ctas = 2;
    constexpr std::uint64_t kElements = 9001;  // whole rounds of four, single ones, a tail
    SampleBuilder clear("scale set to zero", generate_clear_scale(capability), {1, 1, 1});
    samples.push_back(clear.output("scale", ElementType::f32, 1).finish());
    SampleBuilder amax("largest magnitude as a scale", generate_amax_scale(spec), {spec.ctas, 1, 1});
    amax.input("x", spec.input, kElements).output("scale", ElementType::f32, 1);
    samples.push_back(amax.integer("elements", kElements).finish());
    SampleBuilder divide("quantise to 8-bit floats", generate_quantise(spec), {spec.ctas, 1, 1});
    divide.input("x", spec.input, kElements).input("scale", ElementType::f32, 1);
    divide.output("y", spec.output, kElements);
    samples.push_back(divide.integer("elements", kElements).finish());
}

}  // namespace

void add_gemm_samples(std::vector<LibraryKernel>& samples, unsigned compute_capability) {
    add_simt(samples, compute_capability);
    add_gemv(samples, compute_capability);
    add_mma(samples, compute_capability);
    const target::Generation& generation = target::nearest_generation(compute_capability);
    if (generation.has_wgmma) add_wgmma(samples);
    if (generation.has_tcgen05) add_tcgen05(samples, compute_capability);
    add_split_k_reduce(samples, compute_capability);
    if (generation.has_fp8) add_fp8_quantise(samples, compute_capability);
}

void add_gemm_type_samples(std::vector<LibraryKernel>& samples, unsigned capability) {
    const target::Generation& generation = target::nearest_generation(capability);
    for (const ElementType type : {ElementType::f32, ElementType::f64, ElementType::i8, ElementType::e4m3}) {
        // Hopper's assembler unpacks 8-bit floats: never chosen there.
        if (!(generation.*mma_feature(type)) || (type == ElementType::e4m3 && !generation.gemm_takes_fp8_mma))
            continue;
        const unsigned bytes = bytes_of(type);
        for (const bool transpose_a : {false, true}) {
            for (const bool transpose_b : {false, true}) {
                if (bytes == 1 && (transpose_a || !transpose_b)) continue;
                GemmMmaSpec spec;
                spec.compute_capability = capability;
                spec.type = type;
                spec.tile = {64, 64, 128 / bytes, 2, 2, 3};
                spec.transpose_a = transpose_a;
                spec.transpose_b = transpose_b;
                spec.copy_a = spec.copy_b = 16 / bytes;
                spec.epilogue.output = mma_accumulator(type);
                const Problem p{72, 88, 208, 1, 1, 0, transpose_a, transpose_b};
                add_gemm(samples, "gemm mma " + name_of(type) + " " + layout_name(transpose_a, transpose_b),
                         generate_gemm_mma(spec), gemm_mma_grid(spec, p.m, p.n), p, type,
                         spec.epilogue.output, spec.epilogue, false);
            }
        }
    }
}

}  // namespace heddle::kernels
