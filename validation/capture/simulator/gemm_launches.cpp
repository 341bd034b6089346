#include "validation/capture/simulator/gemm_launches.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "isa/common/error.h"
#include "isa/ptx/tensor_map.h"
#include "isa/target/generation.h"
#include "workloads/expression/expression.h"
#include "workloads/kernels/gemm_mma.h"
#include "workloads/kernels/gemm_simt.h"
#include "workloads/kernels/gemm_wgmma.h"
#include "workloads/kernels/split_k.h"

namespace heddle::capture {
namespace {

using kernels::ElementType;
using kernels::KernelArgument;

/// Pointer arguments hold the address as an offset from nowhere.
KernelArgument address_argument(const std::string& name, std::uint64_t address) {
    return kernels::pointer_argument(name, 0, address);
}

/// Largest power of two up to `most` that divides every number.
unsigned common_width(unsigned most, std::initializer_list<std::uint64_t> numbers) {
    unsigned width = most;
    for (const std::uint64_t number : numbers) {
        while (width > 1 && number % width != 0) width /= 2;
    }
    return width;
}

bool is_half(Type type) {
    return type == Type::f16 || type == Type::bf16;
}

std::uint64_t stride_a(const GemmProblem& p) {
    return p.batch > 1 ? p.elements_a() / p.batch : 0;
}
std::uint64_t stride_b(const GemmProblem& p) {
    return p.batch > 1 ? p.elements_b() / p.batch : 0;
}
std::uint64_t stride_c(const GemmProblem& p) {
    return p.batch > 1 ? p.elements_c() / p.batch : 0;
}
std::uint64_t stride_d(const GemmProblem& p) {
    return p.batch > 1 ? p.elements_d() / p.batch : 0;
}

bool has_bias(Epilogue epilogue) {
    return epilogue == Epilogue::bias || epilogue == Epilogue::relu_bias || epilogue == Epilogue::gelu_bias;
}
bool has_relu(Epilogue epilogue) {
    return epilogue == Epilogue::relu || epilogue == Epilogue::relu_bias;
}
bool has_gelu(Epilogue epilogue) {
    return epilogue == Epilogue::gelu || epilogue == Epilogue::gelu_bias;
}

ElementType accumulator_of(const GemmProblem& problem) {
    return problem.a == Type::f64 ? ElementType::f64 : ElementType::f32;
}

/// What becomes of a sum, and the scalars of its expression.
struct SumEpilogue {
    kernels::GemmEpilogue spec;
    std::vector<double> scalars;
    bool reads_c = false;
};

// x0 is the sum, x1 the bias of the column, x2 the element of C. A factor of one is left out, so that a
// product without epilogue is rounded once.
std::string expression_text(const GemmProblem& problem, std::vector<double>& scalars) {
    const auto scaled = [&](double factor, const std::string& x) {
        if (factor == 1) return x;
        scalars.push_back(factor);
        return "s" + std::to_string(scalars.size() - 1) + " * " + x;
    };
    std::string sum = scaled(problem.alpha, "x0");
    if (problem.beta != 0) sum += " + " + scaled(problem.beta, "x2");
    if (has_bias(problem.epilogue)) sum += " + x1";
    if (has_relu(problem.epilogue)) return "y0 = max(" + sum + ", 0)";
    if (has_gelu(problem.epilogue)) {
        return "t0 = " + sum +
               "; y0 = 0.5 * t0 * (1 + tanh(0.7978845608028654 * (t0 + 0.044715 * t0 * t0 * t0)))";
    }
    return sum == "x0" ? "" : "y0 = " + sum;
}

SumEpilogue epilogue_of(const GemmProblem& problem, const GemmOperands& operands) {
    SumEpilogue epilogue;
    kernels::GemmEpilogue& spec = epilogue.spec;
    spec.output = *element_type(problem.d);
    unsigned widest = bytes_of(problem.d);
    std::vector<std::pair<std::uint64_t, unsigned>> addresses{{operands.d, bytes_of(problem.d)}};
    epilogue.reads_c = problem.beta != 0;
    if (epilogue.reads_c) {
        spec.c = *element_type(problem.c);
        widest = std::max(widest, bytes_of(problem.c));
        addresses.emplace_back(operands.c, bytes_of(problem.c));
    }
    if (has_bias(problem.epilogue)) {
        spec.bias = *element_type(problem.bias);
        widest = std::max(widest, bytes_of(problem.bias));
        addresses.emplace_back(operands.bias, bytes_of(problem.bias));
    }
    const std::string text = expression_text(problem, epilogue.scalars);
    if (!text.empty()) {
        spec.expression = expression::parse(text);
        spec.expression->input_count = 3;
    }
    spec.vector_width = common_width(16 / widest, {problem.n, problem.row_d(), stride_d(problem)});
    if (epilogue.reads_c)
        spec.vector_width = common_width(spec.vector_width, {problem.row_c(), stride_c(problem)});
    for (const auto& [address, bytes] : addresses)
        spec.vector_width = common_width(spec.vector_width, {address / bytes});
    return epilogue;
}

/// Arguments that carry the epilogue out, in the kernel that ends the product.
void add_epilogue_arguments(std::vector<KernelArgument>& arguments, const GemmProblem& problem,
                            const SumEpilogue& epilogue, const GemmOperands& operands) {
    using kernels::integer_argument;
    arguments.push_back(address_argument("d", operands.d));
    arguments.push_back(integer_argument("ldd", problem.row_d()));
    arguments.push_back(integer_argument("stride_d", stride_d(problem)));
    if (epilogue.reads_c) {
        arguments.push_back(address_argument("c", operands.c));
        arguments.push_back(integer_argument("ldc", problem.row_c()));
        arguments.push_back(integer_argument("stride_c", stride_c(problem)));
    }
    if (has_bias(problem.epilogue)) arguments.push_back(address_argument("bias", operands.bias));
    for (std::size_t i = 0; i < epilogue.scalars.size(); ++i) {
        const std::string name = "s" + std::to_string(i);
        arguments.push_back(problem.a == Type::f64
                                ? kernels::f64_argument(name, epilogue.scalars[i])
                                : kernels::f32_argument(name, static_cast<float>(epilogue.scalars[i])));
    }
}

std::vector<OperandRange> epilogue_operands(const GemmProblem& problem, const SumEpilogue& epilogue,
                                            const GemmOperands& operands) {
    std::vector<OperandRange> ranges;
    if (epilogue.reads_c && operands.c != operands.d)
        ranges.push_back({operands.c, problem.elements_c() * bytes_of(problem.c)});
    if (has_bias(problem.epilogue)) ranges.push_back({operands.bias, problem.n * bytes_of(problem.bias)});
    ranges.push_back({operands.d, problem.elements_d() * bytes_of(problem.d)});
    return ranges;
}

std::vector<ParameterBytes> bytes_of_arguments(const kernels::GeneratedKernel& kernel,
                                               const std::vector<KernelArgument>& arguments) {
    const std::vector<KernelArgument> ordered = kernels::order_arguments(kernel, arguments);
    std::vector<ParameterBytes> bytes;
    for (std::size_t i = 0; i < ordered.size(); ++i) {
        const KernelArgument& argument = ordered[i];
        if (argument.tensor_map) {
            const auto map = ptx::make_tensor_map(*argument.tensor_map, argument.byte_offset).encode();
            bytes.emplace_back(map.begin(), map.end());
            continue;
        }
        const std::uint64_t value = !argument.pointer                       ? argument.bits
                                    : argument.buffer == kernels::kNoBuffer ? 0
                                                                            : argument.byte_offset;
        ParameterBytes all = parameter(value);
        all.resize(kernel.parameters[i].bytes);
        bytes.push_back(std::move(all));
    }
    return bytes;
}

GemmLaunch make_launch(kernels::GeneratedKernel kernel, const kernels::Extent3& grid,
                       const std::vector<KernelArgument>& arguments, std::vector<OperandRange> operands) {
    GemmLaunch launch;
    launch.grid = grid;
    launch.parameters = bytes_of_arguments(kernel, arguments);
    launch.kernel = std::move(kernel);
    launch.operands = std::move(operands);
    return launch;
}

GemmLaunch reduce_launch(const GemmProblem& problem, const kernels::GemmChoice& choice,
                         const SumEpilogue& epilogue, const GemmOperands& operands, std::uint64_t workspace,
                         unsigned compute_capability) {
    kernels::SplitKReduceSpec spec;
    spec.compute_capability = compute_capability;
    spec.accumulator = accumulator_of(problem);
    spec.batched = problem.batch > 1;
    spec.epilogue = epilogue.spec;
    std::vector<KernelArgument> arguments;
    add_epilogue_arguments(arguments, problem, epilogue, operands);
    arguments.push_back(address_argument("workspace", workspace));
    arguments.push_back(kernels::integer_argument("m", problem.m));
    arguments.push_back(kernels::integer_argument("n", problem.n));
    arguments.push_back(kernels::integer_argument("splits", choice.splits));
    arguments.push_back(kernels::integer_argument("slice_stride", problem.m * problem.n));
    kernels::add_divider_arguments(
        arguments, "row_vectors",
        static_cast<std::uint32_t>(problem.n / kernels::split_k_reduce_width(spec)));
    std::vector<OperandRange> ranges{{workspace, workspace_bytes(problem, choice)}};
    for (const OperandRange& range : epilogue_operands(problem, epilogue, operands)) ranges.push_back(range);
    const auto m = static_cast<std::uint32_t>(problem.m), n = static_cast<std::uint32_t>(problem.n);
    return make_launch(kernels::generate_split_k_reduce(spec),
                       kernels::split_k_reduce_grid(spec, m, n, static_cast<std::uint32_t>(problem.batch)),
                       arguments, std::move(ranges));
}

GemmLaunch wgmma_launch(const GemmProblem& problem, const kernels::GemmChoice& choice,
                        const SumEpilogue& epilogue, const GemmOperands& operands, std::uint64_t workspace,
                        const target::GpuTarget& target, std::vector<OperandRange> ranges) {
    const bool split = choice.splits > 1;
    kernels::GemmWgmmaSpec spec;
    spec.compute_capability = target.compute_capability;
    spec.type = *element_type(problem.a);
    spec.tile = *choice.wgmma;
    spec.transpose_a = problem.transpose_a;
    spec.transpose_b = problem.transpose_b;
    spec.raster_log2 = choice.raster_log2;
    spec.partition = {problem.batch > 1, split};
    spec.tensor_store = alignment_of(problem).tensor_store;
    // An operand that does not run along k is kept in whole swizzle atoms, which may leave room for fewer
    // stages.
    spec.tile.stages = std::min(spec.tile.stages, kernels::wgmma_stages(spec, target));
    if (split) {
        spec.epilogue.vector_width = common_width(4, {problem.n});
    } else {
        spec.epilogue = epilogue.spec;
    }
    kernels::GemmProblem p;
    p.m = static_cast<std::uint32_t>(problem.m);
    p.n = static_cast<std::uint32_t>(problem.n);
    p.k = static_cast<std::uint32_t>(problem.k);
    p.batch = static_cast<std::uint32_t>(problem.batch);
    p.lda = problem.row_a();
    p.ldb = problem.row_b();
    p.ldc = problem.row_c();
    p.ldd = split ? problem.n : problem.row_d();
    p.stride_a = stride_a(problem);
    p.stride_b = stride_b(problem);
    p.stride_c = stride_c(problem);
    p.stride_d = split ? problem.m * problem.n : stride_d(problem);
    p.a = address_argument("a", operands.a);
    p.b = address_argument("b", operands.b);
    p.d = address_argument("d", split ? workspace : operands.d);
    p.splits = choice.splits;
    p.k_per_split = choice.k_per_split;
    const kernels::GemmWgmmaLaunch launch = kernels::gemm_wgmma_launch(spec, p, target.sm_count);
    std::vector<KernelArgument> arguments = launch.arguments;
    if (!split) {
        if (epilogue.reads_c) arguments.push_back(address_argument("c", operands.c));
        if (has_bias(problem.epilogue)) arguments.push_back(address_argument("bias", operands.bias));
        for (std::size_t i = 0; i < epilogue.scalars.size(); ++i) {
            arguments.push_back(
                kernels::f32_argument("s" + std::to_string(i), static_cast<float>(epilogue.scalars[i])));
        }
    }
    return make_launch(kernels::generate_gemm_wgmma(spec), launch.grid, arguments, std::move(ranges));
}

}  // namespace

std::optional<ElementType> element_type(Type type) {
    switch (type) {
        case Type::f64:
            return ElementType::f64;
        case Type::f32:
            return ElementType::f32;
        case Type::f16:
            return ElementType::f16;
        case Type::bf16:
            return ElementType::bf16;
        default:
            return std::nullopt;
    }
}

std::string unsupported(const GemmProblem& problem, const target::GpuTarget& target) {
    if (problem.a != problem.b) return "A and B of two types";
    const bool half = is_half(problem.a);
    if (!half && problem.a != Type::f32 && problem.a != Type::f64)
        return std::string("no kernel for ") + name_of(problem.a);
    const bool sums = problem.a == Type::f64 ? problem.compute == Compute::f64
                      : half                 ? problem.compute == Compute::f32
                             : problem.compute == Compute::f32 || problem.compute == Compute::f32_pedantic;
    if (!sums)
        return std::string("no kernel that computes ") + name_of(problem.a) + " in " +
               name_of(problem.compute);
    const target::Generation& generation = target::generation_of(target.compute_capability);
    if (half && (problem.a == Type::f16 ? generation.mma_by_quads : !generation.has_bf16))
        return std::string("no tensor cores for ") + name_of(problem.a);
    for (const Type type : {problem.c, problem.d, problem.bias}) {
        const bool used = type == problem.d || (type == problem.c && problem.beta != 0) ||
                          (type == problem.bias && has_bias(problem.epilogue));
        const bool known = problem.a == Type::f64 ? type == Type::f64 : type == Type::f32 || is_half(type);
        if (used && !known)
            return std::string("no kernel that reads or writes ") + name_of(type) + " beside " +
                   name_of(problem.a);
    }
    constexpr std::uint64_t kLimit = 0x7fffffffu;
    if (problem.m == 0 || problem.n == 0 || problem.k == 0 || problem.batch == 0) return "an empty product";
    if (problem.m > kLimit || problem.n > kLimit || problem.k > kLimit || problem.batch > 65535 / 16)
        return "extents beyond those of the kernels";
    return {};
}

unsigned copy_elements_a(const GemmProblem& problem) {
    return common_width(16 / bytes_of(problem.a),
                        {problem.transpose_a ? problem.m : problem.k, problem.row_a(), stride_a(problem)});
}

unsigned copy_elements_b(const GemmProblem& problem) {
    return common_width(16 / bytes_of(problem.b),
                        {problem.transpose_b ? problem.k : problem.n, problem.row_b(), stride_b(problem)});
}

kernels::GemmAlignment alignment_of(const GemmProblem& problem) {
    const auto aligned = [](Type type, std::initializer_list<std::uint64_t> elements) {
        bool result = true;
        for (const std::uint64_t count : elements)
            result = result && count * bytes_of(type) % kernels::kTensorAlignment == 0;
        return result;
    };
    kernels::GemmAlignment alignment;
    alignment.copy_a = copy_elements_a(problem);
    alignment.copy_b = copy_elements_b(problem);
    alignment.tensor_maps = aligned(problem.a, {problem.row_a(), stride_a(problem)}) &&
                            aligned(problem.b, {problem.row_b(), stride_b(problem)});
    alignment.tensor_store = aligned(problem.d, {problem.row_d(), stride_d(problem)}) && problem.n % 4 == 0;
    return alignment;
}

std::uint64_t workspace_bytes(const GemmProblem& problem, const kernels::GemmChoice& choice) {
    if (choice.splits <= 1) return 0;
    return problem.m * problem.n * problem.batch * choice.splits * kernels::bytes_of(accumulator_of(problem));
}

std::vector<GemmLaunch> gemm_launches(const GemmProblem& problem, const kernels::GemmChoice& choice,
                                      const GemmOperands& operands, std::uint64_t workspace,
                                      const target::GpuTarget& target) {
    const unsigned compute_capability = target.compute_capability;
    const bool split = choice.splits > 1;
    const SumEpilogue epilogue = epilogue_of(problem, operands);
    std::vector<KernelArgument> arguments;
    std::vector<OperandRange> ranges{{operands.a, problem.elements_a() * bytes_of(problem.a)},
                                     {operands.b, problem.elements_b() * bytes_of(problem.b)}};
    if (split) {
        arguments.push_back(address_argument("d", workspace));
        arguments.push_back(kernels::integer_argument("ldd", problem.n));
        arguments.push_back(kernels::integer_argument("stride_d", problem.m * problem.n));
        ranges.push_back({workspace, workspace_bytes(problem, choice)});
    } else {
        add_epilogue_arguments(arguments, problem, epilogue, operands);
        for (const OperandRange& range : epilogue_operands(problem, epilogue, operands))
            ranges.push_back(range);
    }
    arguments.push_back(address_argument("a", operands.a));
    arguments.push_back(address_argument("b", operands.b));
    arguments.push_back(kernels::integer_argument("m", problem.m));
    arguments.push_back(kernels::integer_argument("n", problem.n));
    arguments.push_back(kernels::integer_argument("k", problem.k));
    arguments.push_back(kernels::integer_argument("lda", problem.row_a()));
    arguments.push_back(kernels::integer_argument("ldb", problem.row_b()));
    arguments.push_back(kernels::integer_argument("stride_a", stride_a(problem)));
    arguments.push_back(kernels::integer_argument("stride_b", stride_b(problem)));
    arguments.push_back(kernels::integer_argument("k_per_split", choice.k_per_split));
    arguments.push_back(kernels::integer_argument("splits", choice.splits));

    const unsigned copy_a = common_width(copy_elements_a(problem), {operands.a / bytes_of(problem.a)});
    const unsigned copy_b = common_width(copy_elements_b(problem), {operands.b / bytes_of(problem.b)});
    const auto m = static_cast<std::uint32_t>(problem.m), n = static_cast<std::uint32_t>(problem.n);
    const auto depth = static_cast<std::uint32_t>(problem.batch * choice.splits);
    const auto describe = [&](auto& spec, unsigned tile_k) {
        spec.compute_capability = compute_capability;
        spec.type = *element_type(problem.a);
        spec.transpose_a = problem.transpose_a;
        spec.transpose_b = problem.transpose_b;
        spec.full_k = problem.k % tile_k == 0 && choice.k_per_split % tile_k == 0;
        spec.raster_log2 = choice.raster_log2;
        spec.partition = {problem.batch > 1, split};
        spec.epilogue = epilogue.spec;
        if (split) {
            const ElementType accumulator = accumulator_of(problem);
            spec.epilogue = {};
            spec.epilogue.output = accumulator;
            spec.epilogue.vector_width = common_width(16 / kernels::bytes_of(accumulator), {problem.n});
        }
    };
    std::vector<GemmLaunch> launches;
    if (choice.wgmma) {
        launches.push_back(
            wgmma_launch(problem, choice, epilogue, operands, workspace, target, std::move(ranges)));
    } else if (choice.tensor_cores) {
        kernels::GemmMmaSpec spec;
        spec.tile = choice.tile;
        spec.copy_a = copy_a;
        spec.copy_b = copy_b;
        describe(spec, choice.tile.k);
        launches.push_back(make_launch(kernels::generate_gemm_mma(spec),
                                       kernels::gemm_mma_grid(spec, m, n, depth), arguments,
                                       std::move(ranges)));
    } else {
        kernels::GemmSimtSpec spec;
        spec.tile_m = choice.tile.m;
        spec.tile_n = choice.tile.n;
        spec.vector_a = copy_a;
        spec.vector_b = copy_b;
        describe(spec, kernels::kGemmSimtTileK);
        launches.push_back(make_launch(kernels::generate_gemm_simt(spec),
                                       kernels::gemm_simt_grid(spec, m, n, depth), arguments,
                                       std::move(ranges)));
    }
    if (split)
        launches.push_back(reduce_launch(problem, choice, epilogue, operands, workspace, compute_capability));
    return launches;
}

}  // namespace heddle::capture
