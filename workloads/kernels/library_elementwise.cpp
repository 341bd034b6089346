// Samples: elementwise kernels, fill, copies, transposes.
#include "workloads/kernels/data_movement.h"
#include "workloads/kernels/elementwise.h"
#include "workloads/kernels/library_builder.h"
#include "workloads/kernels/multi_tensor.h"

namespace heddle::kernels {
namespace {

void add_contiguous(std::vector<LibraryKernel>& samples, unsigned capability) {
    // Momentum SGD, the shape of an optimizer's step.
    for (const unsigned width : {1u, 2u, 4u}) {
        for (const bool loop : {false, true}) {
            ElementwiseSpec spec;
            spec.compute_capability = capability;
            spec.expression = expression::parse("y0 = s1 * x0 + x1; y1 = x2 - s0 * y0");
            spec.inputs.assign(3, {ElementType::f32});
            spec.outputs.assign(2, ElementType::f32);
            spec.vector_width = width;
            spec.grid_stride = loop;
            const std::uint32_t elements = 1204;
            SampleBuilder sample(
                "momentum SGD, width " + std::to_string(width) + (loop ? ", grid stride" : ""),
                generate_elementwise(spec), loop ? Extent3{2, 1, 1} : elementwise_grid(spec, elements));
            for (const char* name : {"y0", "y1"}) sample.output(name, ElementType::f32, elements);
            for (const char* name : {"x0", "x1", "x2"}) sample.input(name, ElementType::f32, elements);
            sample.integer("elements", elements).real("s0", 0.1f).real("s1", 0.9f);
            samples.push_back(sample.finish());
        }
    }
    // Every type that converts, with every function.
    for (const ElementType type :
         {ElementType::f16, ElementType::bf16, ElementType::f64, ElementType::i64, ElementType::i32,
          ElementType::u8, ElementType::i8, ElementType::boolean}) {
        if (type == ElementType::bf16 && !target::nearest_generation(capability).has_bf16) continue;
        ElementwiseSpec spec;
        spec.compute_capability = capability;
        spec.expression = expression::parse("y0 = x0 > 0.5 ? x0 * 2 : x1");
        spec.inputs = {{type}, {type, AccessPattern::scalar}};
        spec.outputs = {type};
        spec.vector_width = 4;
        const std::uint32_t elements = 600;
        SampleBuilder sample("select of " + name_of(type), generate_elementwise(spec),
                             elementwise_grid(spec, elements));
        sample.output("y0", type, elements).input("x0", type, elements).input("x1", type, 1);
        samples.push_back(sample.integer("elements", elements).finish());
    }
}

void add_broadcast(std::vector<LibraryKernel>& samples, unsigned capability) {
    const std::uint32_t rows = 13, columns = 36, elements = rows * columns;
    ElementwiseSpec spec;
    spec.compute_capability = capability;
    spec.expression = expression::parse(
        "t0 = tanh(x0) + sigmoid(x1) * exp(x2) - erf(x3); y0 = t0 + sqrt(abs(x0)) / (1 + rsqrt(1 + abs(x1))) "
        "+ log(2 + x2 * "
        "x2) + (random(3) < 0.5 ? 0 : floor(x3 * 4))");
    spec.inputs = {{ElementType::f32},
                   {ElementType::f16, AccessPattern::per_column},
                   {ElementType::f32, AccessPattern::per_row},
                   {ElementType::f32, AccessPattern::scalar}};
    spec.outputs = {ElementType::f32};
    spec.vector_width = 4;
    SampleBuilder sample("every function, broadcast rows, columns and scalar", generate_elementwise(spec),
                         elementwise_grid(spec, elements));
    sample.output("y0", ElementType::f32, elements)
        .input("x0", ElementType::f32, elements)
        .input("x1", ElementType::f16, columns)
        .input("x2", ElementType::f32, rows)
        .input("x3", ElementType::f32, 1)
        .integer("elements", elements)
        .divider("columns", columns);
    samples.push_back(sample.finish());

    // A permutation of four dimensions plus an operand broadcast along the second: [5, 3, 7, 4].
    ElementwiseSpec strided;
    strided.compute_capability = capability;
    strided.expression = expression::parse("y0 = x0 - x1");
    strided.inputs = {{ElementType::f32, AccessPattern::strided}, {ElementType::f32, AccessPattern::strided}};
    strided.outputs = {ElementType::f32};
    strided.dimensions = 4;
    SampleBuilder permuted("strided operands of four dimensions", generate_elementwise(strided),
                           elementwise_grid(strided, 420));
    permuted.output("y0", ElementType::f32, 420)
        .input("x0", ElementType::f32, 420)
        .input("x1", ElementType::f32, 140);
    permuted.integer("elements", 420);
    add_offset_arguments(permuted.arguments(), strided, {5, 3, 7, 4}, {{1, 35, 5, 105}, {28, 0, 4, 1}});
    samples.push_back(permuted.finish());
}

void add_movement(std::vector<LibraryKernel>& samples, unsigned capability) {
    FillSpec fill{capability, ElementType::f16, 8};
    samples.push_back(SampleBuilder("fill f16", generate_fill(fill), fill_grid(fill, 5000))
                          .output("y", ElementType::f16, 5000)
                          .integer("elements", 5000)
                          .real("value", 1.5f)
                          .finish());
    CopyRowsSpec cast{capability, ElementType::f32, ElementType::f16, 4};
    samples.push_back(SampleBuilder("rows with a cast", generate_copy_rows(cast), copy_rows_grid(cast, 9, 40))
                          .output("y", ElementType::f16, 9 * 64)
                          .input("x", ElementType::f32, 9 * 40)
                          .integer("rows", 9)
                          .integer("x_stride", 40)
                          .integer("y_stride", 64)
                          .divider("row_vectors", 10)
                          .finish());
    for (const ElementType type : {ElementType::f16, ElementType::f32, ElementType::f64}) {
        const TransposeSpec transpose{capability, type};
        samples.push_back(SampleBuilder("transpose " + name_of(type), generate_transpose(transpose),
                                        transpose_grid(transpose, 45, 70, 2))
                              .output("y", type, 45 * 70 * 2)
                              .input("x", type, 45 * 70 * 2)
                              .integer("rows", 45)
                              .integer("columns", 70)
                              .finish());
    }
}

/// Adam over a list whose tensors end within chunks, turns and thread blocks.
void add_multi_tensor(std::vector<LibraryKernel>& samples, unsigned capability) {
    const std::vector<std::uint64_t> sizes{1204, 4, 2048, 4100, 36};
    constexpr std::uint32_t kChunk = 2048;
    const MultiTensorLaunch launch = multi_tensor_launch(sizes, kChunk);
    const auto tensors = static_cast<unsigned>(sizes.size());
    for (const unsigned width : {1u, 4u}) {
        MultiTensorSpec spec;
        spec.compute_capability = capability;
        spec.tensors = tensors;
        spec.expression = expression::parse(
            "t0 = x1 * x4; y1 = s0 * x2 + (1 - s0) * t0; y2 = s1 * x3 + (1 - s1) * t0 * t0; "
            "y0 = x0 - s2 * y1 / (sqrt(y2) + s3)");
        spec.inputs.assign(5, ElementType::f32);
        spec.input_is_scalar = {false, false, false, false, true};
        spec.outputs.assign(3, ElementType::f32);
        spec.vector_width = width;
        spec.chunk_elements = kChunk;
        SampleBuilder sample("Adam over a list, width " + std::to_string(width), generate_multi_tensor(spec),
                             launch.grid);
        for (unsigned t = 0; t < tensors; ++t) {
            const std::string name = "t" + std::to_string(t) + "_";
            for (const char* y : {"y0", "y1", "y2"}) sample.output(name + y, ElementType::f32, sizes[t]);
            for (const char* x : {"x0", "x1", "x2", "x3"}) sample.input(name + x, ElementType::f32, sizes[t]);
        }
        sample.input("x4", ElementType::f32, 1);
        sample.real("s0", 0.9f).real("s1", 0.999f).real("s2", 0.01f).real("s3", 1e-8f);
        sample.arguments().insert(sample.arguments().end(), launch.arguments.begin(), launch.arguments.end());
        samples.push_back(sample.finish());
    }
    MultiTensorNormSpec norm;
    norm.compute_capability = capability;
    norm.tensors = tensors;
    norm.vector_width = 4;
    norm.chunk_elements = kChunk;
    SampleBuilder per_tensor("sums of chunks of a list", generate_multi_tensor_sums(capability, 2),
                             {2, 1, 1});
    per_tensor.input("sums", ElementType::f32, 5);
    for (unsigned t = 0; t < 2; ++t) {
        const std::string name = "t" + std::to_string(t) + "_";
        per_tensor.output(name + "y0", ElementType::f32, 1)
            .integer(name + "first", t * 3)
            .integer(name + "count", t == 0 ? 3 : 2);
    }
    samples.push_back(per_tensor.finish());
    SampleBuilder sums("squares of a list", generate_multi_tensor_norm(norm), launch.grid);
    for (unsigned t = 0; t < tensors; ++t)
        sums.input("t" + std::to_string(t) + "_x0", ElementType::f32, sizes[t]);
    sums.output("sums", ElementType::f32, launch.grid[0]);
    sums.arguments().insert(sums.arguments().end(), launch.arguments.begin(), launch.arguments.end());
    samples.push_back(sums.finish());
    samples.push_back(SampleBuilder("clip coefficient", generate_clip_coefficient(capability), {1, 1, 1})
                          .output("total", ElementType::f32, 1)
                          .output("coefficient", ElementType::f32, 1)
                          .input("sums", ElementType::f32, 777)
                          .integer("count", 777)
                          .real("limit", 1)
                          .finish());
}

}  // namespace

void add_elementwise_samples(std::vector<LibraryKernel>& samples, unsigned compute_capability) {
    add_contiguous(samples, compute_capability);
    add_broadcast(samples, compute_capability);
    add_movement(samples, compute_capability);
    add_multi_tensor(samples, compute_capability);
}

}  // namespace heddle::kernels
