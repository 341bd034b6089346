#include "validation/compare/gemm_orders.h"

#include "validation/capture/simulator/gemm_algorithm.h"
#include "validation/compare/captured_gemm.h"
#include "validation/read/blas_record.h"

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
    : compute_capability_(capture.compute_capability()), silicon_(capture.is_silicon()) {
    for (const char* section : {"order", "numerics"})
        if (capture.has(section))
            for (const CapturedRecord& record : capture.section(section).records) learn(record);
}

void GemmOrders::learn(const CapturedRecord& record) {
    if (record.get_or<std::string>("kind", "") != "order" || record.values.contains("places")) return;
    std::string text = record.get_or<std::string>("tree", "");
    if (text.empty() && record.values.contains("tree_length"))
        text.assign(reinterpret_cast<const char*>(record.binary.data()), record.binary.size());
    if (text.empty()) return;
    const auto problem = problem_of(record, record.get<nlohmann::json>("problem"));
    const auto algorithm = algorithm_of(record, record.get<nlohmann::json>("algorithm"));
    numerics::SummationTree tree;
    try {
        tree = numerics::SummationTree::parse(text);
    } catch (const Error& error) {
        record.fail("tree", std::string("cannot be read: ") + error.what());
    }
    if (tree.leaf_count() != problem.k) record.fail("tree", "has not as many summands as the product");
    learned_.add(cublas_gemm(problem, algorithm, compute_capability_), tree);
    ++trees_;
}

GemmOrder GemmOrders::order_of(const GemmProblem& problem, const GemmAlgorithm& algorithm) const {
    GemmOrder order;
    order.approximate =
        problem.epilogue == capture::Epilogue::gelu || problem.epilogue == capture::Epilogue::gelu_bias;
    const bool own = algorithm.id == capture::kSimtAlgorithm || algorithm.id == capture::kMmaAlgorithm;
    if (!silicon_ && own) {
        order.plan = plan_of_own_kernel(problem, algorithm, compute_capability_);
        order.origin = "attributes of our own kernels";
        return order;
    }
    numerics::CublasPlan plan = learned_.plan(cublas_gemm(problem, algorithm, compute_capability_));
    order.plan = std::move(plan.plan);
    order.origin = std::move(plan.reason);
    return order;
}

}  // namespace heddle::validation
