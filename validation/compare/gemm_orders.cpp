#include "validation/compare/gemm_orders.h"

#include "validation/capture/simulator/gemm_algorithm.h"
#include "validation/compare/captured_gemm.h"

namespace heddle::validation {
namespace {

using capture::Compute;
using capture::GemmAlgorithm;
using capture::GemmProblem;
using capture::Type;
using numerics::Arithmetic;
using numerics::ReductionPlan;

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

/// Integers are exact in every order.
ReductionPlan plan_of_integers(const GemmProblem& problem) {
    ReductionPlan plan = plan_for(problem);
    plan.arithmetic = Arithmetic::integer;
    plan.accumulator = numerics::Element::int32;
    return plan;
}

/// Heddle's own kernels, when the simulator was captured.
ReductionPlan plan_of_own_kernel(const GemmProblem& problem, const GemmAlgorithm& algorithm,
                                 unsigned compute_capability) {
    ReductionPlan plan = plan_for(problem);
    plan.accumulator = problem.a == Type::f64 ? numerics::Element::fp64 : numerics::Element::fp32;
    plan.block_k = static_cast<unsigned>(algorithm.inner_shape);
    if (algorithm.id == capture::kSimtAlgorithm) {
        plan.arithmetic = Arithmetic::fused_multiply_add;
        plan.instruction_k = 1;
    } else {
        plan.arithmetic = Arithmetic::tensor_core;
        plan.tensor_core = numerics::parameters_for(numerics::generation_of(compute_capability),
                                                    numerics::format_of(plan.a), numerics::Format::fp32);
        plan.instruction_k = compute_capability >= 80 ? 16 : 8;
    }
    if (algorithm.split_k > 1) {
        plan.splits = static_cast<unsigned>(algorithm.split_k);
        plan.k_per_split = static_cast<unsigned>(algorithm.custom_option);
    }
    return plan;
}

}  // namespace

GemmOrders::GemmOrders(const RecordedCapture& capture)
    : compute_capability_(capture.compute_capability()), silicon_(capture.is_silicon()) {}

GemmOrder GemmOrders::order_of(const GemmProblem& problem, const GemmAlgorithm& algorithm) const {
    GemmOrder order;
    order.approximate =
        problem.epilogue == capture::Epilogue::gelu || problem.epilogue == capture::Epilogue::gelu_bias;
    if (problem.compute == Compute::i32 && problem.d == Type::i32) {
        order.plan = plan_of_integers(problem);
        order.origin = "integers";
    } else if (!silicon_ &&
               (algorithm.id == capture::kSimtAlgorithm || algorithm.id == capture::kMmaAlgorithm)) {
        order.plan = plan_of_own_kernel(problem, algorithm, compute_capability_);
        order.origin = "attributes";
    } else {
        order.origin = "no plan for algorithm " + std::to_string(algorithm.id);
    }
    return order;
}

}  // namespace heddle::validation
