// Dropout, quantisation to 8-bit floats, the largest of a row, sums along an axis.
#include "workloads/kernels/cumulative_sum.h"
#include "workloads/kernels/dropout.h"
#include "workloads/kernels/expert_slots.h"
#include "workloads/kernels/quantise.h"
#include "workloads/kernels/top_k.h"
#include "workloads/lowering/gpu/builder.h"
#include "workloads/lowering/gpu/elementwise_launch.h"
#include "workloads/trace/shape.h"

namespace heddle::lowering {
namespace {

std::uint32_t elements_of(const GpuProgramBuilder& b) {
    b.require_dense_outputs();
    for (std::size_t i = 0; i < b.op().inputs.size(); ++i) b.require_dense_input(i);
    const std::int64_t elements = b.input(0).elements();
    if (elements >= (std::int64_t{1} << 31))
        throw Unsupported{"no " + trace::name_of(b.op().kind) + " kernel for 2^31 elements or more"};
    return static_cast<std::uint32_t>(elements);
}

}  // namespace

void lower_dropout(GpuProgramBuilder& b) {
    const std::uint32_t elements = elements_of(b);
    if (elements == 0) return;
    kernels::DropoutSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.x = kernel_type(b.input(0).type);
    spec.y = kernel_type(b.output(0).type);
    spec.mask = b.has_output(1);
    if (spec.mask && trace::bytes_of(b.output(1).type) != 1)
        throw Unsupported{"no dropout kernel with a mask of " + trace::name_of(b.output(1).type)};
    const double probability = b.op().get(keys::dropout.probability);
    const auto seed = static_cast<std::uint64_t>(b.op().get(keys::dropout.seed)),
               offset = static_cast<std::uint64_t>(b.op().get(keys::dropout.offset));
    std::vector<kernels::KernelArgument> arguments{
        b.output_pointer("y", 0),
        b.input_pointer("x", 0),
        kernels::integer_argument("elements", elements),
        kernels::integer_argument("seed_low", seed & 0xffffffffu),
        kernels::integer_argument("seed_high", seed >> 32),
        kernels::integer_argument("offset_low", offset & 0xffffffffu),
        kernels::integer_argument("offset_high", offset >> 32),
        kernels::f32_argument("probability", static_cast<float>(probability)),
        kernels::f32_argument("scale", static_cast<float>(1 / (1 - probability)))};
    if (spec.mask) arguments.push_back(b.output_pointer("mask", 1));
    b.launch(kernels::generate_dropout(spec), kernels::dropout_grid(spec, elements, b.target().sm_count),
             arguments);
}

void lower_quantise(GpuProgramBuilder& b) {
    const std::uint32_t elements = elements_of(b);
    if (!b.generation().has_fp8)
        throw Unsupported{"no conversion to 8-bit floats before compute capability 8.9"};
    kernels::QuantiseSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.x = kernel_type(b.input(0).type);
    spec.e5m2 = b.output(0).type == trace::ElementType::e5m2;
    spec.scale = b.has_input(1);
    spec.amax = b.has_output(1);
    std::vector<kernels::KernelArgument> arguments{b.output_pointer("y", 0), b.input_pointer("x", 0),
                                                   kernels::integer_argument("elements", elements)};
    if (spec.scale) {
        if (b.input(1).type != trace::ElementType::f32)
            throw Unsupported{"no quantisation with a scale other than f32"};
        arguments.push_back(b.input_pointer("scale", 1));
    }
    if (spec.amax) {
        if (b.output(1).type != trace::ElementType::f32)
            throw Unsupported{"no quantisation with an amax other than f32"};
        arguments.push_back(b.output_pointer("amax", 1));
        launch_elementwise(b, expression::parse("y0 = 0"), {}, {1}, {}, {output_operand(b, 1)});
    }
    if (elements == 0) return;
    spec.vector_width = 16 / kernels::bytes_of(spec.x);
    while (spec.vector_width > 1 &&
           (elements % spec.vector_width != 0 || arguments[0].byte_offset % spec.vector_width != 0 ||
            arguments[1].byte_offset % (spec.vector_width * kernels::bytes_of(spec.x)) != 0))
        spec.vector_width /= 2;
    b.launch(kernels::generate_quantise(spec), kernels::quantise_grid(spec, elements, b.target().sm_count),
             arguments);
}

void lower_top_k(GpuProgramBuilder& b) {
    const std::uint32_t elements = elements_of(b);
    if (elements == 0) return;
    kernels::TopKSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.x = kernel_type(b.input(0).type);
    spec.index = kernel_type(b.output(1).type);
    spec.columns = static_cast<std::uint32_t>(b.input(0).shape.back());
    spec.k = static_cast<std::uint32_t>(b.output(0).shape.back());
    if (kernel_type(b.output(0).type) != spec.x) throw Unsupported{"no top-k kernel that converts"};
    if (spec.columns > 1024 || spec.k > 64)
        throw Unsupported{"no top-k kernel for rows of more than 1,024 columns, or for k above 64"};
    const std::uint32_t rows = elements / spec.columns;
    b.launch(kernels::generate_top_k(spec), kernels::top_k_grid(spec, rows),
             {b.output_pointer("values", 0), b.output_pointer("indices", 1), b.input_pointer("x", 0),
              kernels::integer_argument("rows", rows)});
}

void lower_expert_slots(GpuProgramBuilder& b) {
    const std::uint32_t rows = elements_of(b);
    if (rows == 0) return;
    if (b.input(0).type != trace::ElementType::i32 || b.output(0).type != trace::ElementType::i32)
        throw Unsupported{"no kernel for slots of experts that are not i32"};
    const std::int64_t experts = b.op().get(keys::expert_slots.experts, 1),
                       capacity = b.op().get(keys::expert_slots.capacity, 1);
    if (experts * capacity >= (std::int64_t{1} << 31))
        throw Unsupported{"no kernel for 2^31 slots of experts or more"};
    kernels::ExpertSlotsSpec spec;
    spec.compute_capability = b.compute_capability();
    while (spec.threads > 32 && spec.threads / 2 >= rows) spec.threads /= 2;
    b.steer_by_input(0, 0, experts);
    b.launch(
        kernels::generate_expert_slots(spec), {static_cast<std::uint32_t>(experts), 1, 1},
        {b.output_pointer("slots", 0), b.input_pointer("indices", 0), kernels::integer_argument("rows", rows),
         kernels::integer_argument("capacity", static_cast<std::uint64_t>(capacity)),
         kernels::integer_argument("none", static_cast<std::uint64_t>(experts * capacity))});
}

void lower_cumulative_sum(GpuProgramBuilder& b) {
    const std::uint32_t elements = elements_of(b);
    if (elements == 0) return;
    const auto& shape = b.input(0).shape;
    const trace::AlongAxis along = trace::along_axis(
        shape, b.op().get(keys::cumulative_sum.axis, static_cast<std::int64_t>(shape.size()) - 1));
    kernels::CumulativeSumSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.x = kernel_type(b.input(0).type);
    spec.y = kernel_type(b.output(0).type);
    spec.reverse = b.op().get(keys::cumulative_sum.reverse) != 0;
    spec.rows = along.inner == 1;
    const auto extent = static_cast<std::uint32_t>(along.extent),
               inner = static_cast<std::uint32_t>(along.inner), lines = elements / extent;
    spec.threads = kernels::cumulative_sum_threads(spec, extent);
    std::vector<kernels::KernelArgument> arguments{b.output_pointer("y", 0), b.input_pointer("x", 0),
                                                   kernels::integer_argument("lines", lines),
                                                   kernels::integer_argument("extent", extent)};
    if (!spec.rows) kernels::add_divider_arguments(arguments, "inner", inner);
    b.launch(kernels::generate_cumulative_sum(spec), kernels::cumulative_sum_grid(spec, lines), arguments);
}

}  // namespace heddle::lowering
