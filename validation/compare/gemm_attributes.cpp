#include "validation/compare/gemm_attributes.h"

#include <stdexcept>

#include "isa/target/generation.h"
#include "validation/capture/simulator/gemm_algorithm.h"

namespace heddle::validation {

using capture::Compute;
using capture::GemmAlgorithm;
using capture::GemmProblem;
using capture::Type;
using numerics::Arithmetic;
using numerics::ReductionPlan;

namespace {

/// Types and epilogue, which every plan of the problem has in common.
ReductionPlan plan_for(const GemmProblem& problem) {
    using E = capture::Epilogue;
    using A = numerics::Activation;
    ReductionPlan plan;
    plan.a = element_of(problem.a, problem.compute);
    plan.b = element_of(problem.b, problem.compute);
    plan.c = element_of(problem.c);
    plan.d = element_of(problem.d);
    plan.bias = element_of(problem.bias);
    plan.epilogue.alpha = problem.alpha;
    plan.epilogue.beta = problem.beta;
    const E e = problem.epilogue;
    plan.epilogue.bias = e == E::bias || e == E::relu_bias || e == E::gelu_bias;
    if (e == E::relu || e == E::relu_bias) plan.epilogue.activation = A::relu;
    if (e == E::gelu || e == E::gelu_bias) plan.epilogue.activation = A::gelu;
    return plan;
}

numerics::CublasCompute compute_of(Compute compute) {
    using C = numerics::CublasCompute;
    switch (compute) {
        case Compute::f64:
            return C::f64;
        case Compute::f32:
            return C::f32;
        case Compute::f32_pedantic:
            return C::f32_pedantic;
        case Compute::tf32:
            return C::tf32;
        case Compute::f16:
            return C::f16;
        case Compute::i32:
            return C::i32;
    }
    return C::f32;
}

}  // namespace

numerics::Element element_of(Type type, Compute compute) {
    using numerics::Element;
    switch (type) {
        case Type::f64:
            return Element::fp64;
        case Type::f32:
            return compute == Compute::tf32 ? Element::tf32 : Element::fp32;
        case Type::f16:
            return Element::fp16;
        case Type::bf16:
            return Element::bf16;
        case Type::e4m3:
            return Element::e4m3;
        case Type::e5m2:
            return Element::e5m2;
        case Type::i8:
            return Element::int8;
        case Type::i32:
            return Element::int32;
    }
    throw std::invalid_argument("unknown type");
}

numerics::CublasGemm cublas_gemm(const GemmProblem& problem, const GemmAlgorithm& algorithm,
                                 unsigned compute_capability) {
    const ReductionPlan common = plan_for(problem);
    numerics::CublasGemm gemm;
    gemm.a = common.a;
    gemm.b = common.b;
    gemm.c = common.c;
    gemm.d = common.d;
    gemm.bias = common.bias;
    gemm.compute = compute_of(problem.compute);
    gemm.fast_accumulation = problem.fast_accumulation;
    gemm.k = problem.k;
    gemm.epilogue = common.epilogue;
    gemm.compute_capability = compute_capability;
    gemm.algorithm = algorithm.id;
    gemm.stages = algorithm.stages;
    gemm.split_k = algorithm.split_k;
    gemm.reduction_scheme = algorithm.reduction_scheme;
    gemm.custom_option = algorithm.custom_option;
    gemm.inner_shape = algorithm.inner_shape;
    gemm.numerical_flags = algorithm.numerical_flags;
    gemm.kernels = algorithm.kernels;
    return gemm;
}

std::optional<ReductionPlan> plan_of_own_kernel(const GemmProblem& problem, const GemmAlgorithm& algorithm,
                                                unsigned compute_capability) {
    const bool wgmma = algorithm.id == capture::kWgmmaAlgorithm;
    if (!wgmma && algorithm.id != capture::kSimtAlgorithm && algorithm.id != capture::kMmaAlgorithm)
        return std::nullopt;
    if (algorithm.inner_shape < 1 || (algorithm.split_k > 1 && algorithm.custom_option < 1))
        return std::nullopt;
    ReductionPlan plan = plan_for(problem);
    plan.accumulator = problem.a == Type::f64 ? numerics::Element::fp64 : numerics::Element::fp32;
    plan.block_k = static_cast<unsigned>(algorithm.inner_shape);
    // DMMA multiplies and adds in the order of k, each with one rounding.
    if (algorithm.id == capture::kSimtAlgorithm || problem.a == Type::f64) {
        plan.arithmetic = Arithmetic::fused_multiply_add;
        plan.instruction_k = 1;
    } else {
        plan.arithmetic = Arithmetic::tensor_core;
        plan.tensor_core = numerics::parameters_for(
            target::generation_of(compute_capability), numerics::format_of(plan.a), numerics::Format::fp32,
            wgmma ? numerics::Instruction::wgmma : numerics::Instruction::mma_sync);
        plan.instruction_k = target::generation_of(compute_capability).mma_k(2);
    }
    if (algorithm.split_k > 1) {
        plan.splits = static_cast<unsigned>(algorithm.split_k);
        plan.k_per_split = static_cast<unsigned>(algorithm.custom_option);
    }
    return plan;
}

}  // namespace heddle::validation
