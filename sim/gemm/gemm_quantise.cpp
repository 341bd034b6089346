// A of a linear layer of 8-bit floats comes as bf16.
#include <array>
#include <cmath>

#include "sim/gemm/gemm_question.h"
#include "workloads/kernels/elementwise.h"
#include "workloads/kernels/fp8_quantise.h"
#include "workloads/lowering/gpu/builder.h"

namespace heddle::sim {
namespace {

constexpr program::BufferId kQuantisedA = 0;

program::KernelLaunch launch(const kernels::GeneratedKernel& kernel, unsigned ctas,
                             const std::vector<kernels::KernelArgument>& arguments) {
    auto text = std::make_shared<const program::KernelText>(program::KernelText{kernel.text, kernel.entry});
    return lowering::launch_of(kernel, std::move(text), {ctas, 1, 1}, arguments);
}

}  // namespace

program::BufferId quantise_first(program::GpuProgram& program, const GemmQuestion& question) {
    kernels::Fp8QuantiseSpec spec;
    spec.input = kernels::ElementType::bf16;
    spec.output = kernel_type_of(question);
    const std::uint64_t elements = std::uint64_t{question.m} * question.k;
    const auto x = static_cast<program::BufferId>(program.buffers.size()), scale = x + 1;
    program.buffers.push_back({"x", elements * kernels::bytes_of(spec.input), {}});
    program.buffers.push_back({"scale", 4, {}});
    program.buffers.push_back({"scale for the product", 4, {}});
    const auto pointer_x = kernels::pointer_argument("x", x),
               pointer_scale = kernels::pointer_argument("scale", scale),
               pointer_y = kernels::pointer_argument("y", kQuantisedA),
               count = kernels::integer_argument("elements", elements);
    kernels::ElementwiseSpec cast;
    cast.compute_capability = spec.compute_capability;
    cast.expression = expression::parse("y0 = x0");
    cast.inputs = {{kernels::ElementType::f32}};
    cast.outputs = {kernels::ElementType::f32};
    const std::array<program::KernelLaunch, kQuantiseLaunches> first{
        launch(kernels::generate_clear_scale(spec.compute_capability), 1, {pointer_scale}),
        launch(kernels::generate_amax_scale(spec), spec.ctas, {pointer_x, pointer_scale, count}),
        launch(kernels::generate_quantise(spec), spec.ctas, {pointer_x, pointer_scale, pointer_y, count}),
        launch(kernels::generate_elementwise(cast), 1,
               {kernels::pointer_argument("x0", scale), kernels::pointer_argument("y0", scale + 1),
                kernels::integer_argument("elements", 1)})};
    program.launches.insert(program.launches.begin(), first.begin(), first.end());
    return x;
}

double quantise_estimate(const GemmQuestion& question, const models::gpu::GpuConfig& config,
                         const kernels::GemmSurroundings& surroundings) {
    if (!question.quantise) return 0;
    // Fitted to half of the (n, k) of recorded times (NVIDIA aiconfigurator, H100 SXM, fp8): launches, what
    // an element takes from L2, and how imperfectly that overlaps with memory: 2.8 % with the product's
    // estimate.
    constexpr double kLaunches = 9.87e-6, kElement = 1.3e-12, kOverlap = 1.5;
    constexpr double kMemoryBytes = 2 + 2 + 1;  // bf16 read twice, 8 bits written
    const kernels::GemmMachine machine = gemm_machine(config, kernel_type_of(question));
    const double resident =
        kernels::gemm_residency(machine, surroundings_of(question, surroundings), work_of(question)).a;
    const double elements = static_cast<double>(question.m) * question.k;
    const double memory = (1 - resident) * kMemoryBytes * elements / machine.memory_read;
    return kLaunches +
           std::pow(std::pow(kElement * elements, kOverlap) + std::pow(memory, kOverlap), 1 / kOverlap);
}

}  // namespace heddle::sim
