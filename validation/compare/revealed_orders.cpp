#include "validation/compare/revealed_orders.h"

#include <fmt/format.h>

#include <map>

#include "isa/numerics/cublas_plan.h"
#include "validation/capture/simulator/gemm_algorithm.h"
#include "validation/read/blas_record.h"

namespace heddle::validation {
namespace {

using capture::GemmAlgorithm;
using capture::GemmProblem;
using capture::Type;
using numerics::ReductionPlan;

numerics::Element element_of(Type type, capture::Compute compute) {
    using numerics::Element;
    switch (type) {
        case Type::f64:
            return Element::fp64;
        case Type::f32:
            return compute == capture::Compute::tf32 ? Element::tf32 : Element::fp32;
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
    return Element::fp32;
}

numerics::CublasCompute compute_of(capture::Compute compute) {
    using numerics::CublasCompute;
    switch (compute) {
        case capture::Compute::f64:
            return CublasCompute::f64;
        case capture::Compute::f32:
            return CublasCompute::f32;
        case capture::Compute::f32_pedantic:
            return CublasCompute::f32_pedantic;
        case capture::Compute::tf32:
            return CublasCompute::tf32;
        case capture::Compute::f16:
            return CublasCompute::f16;
        case capture::Compute::i32:
            return CublasCompute::i32;
    }
    return CublasCompute::f32;
}

std::optional<ReductionPlan> plan_of_cublas(const GemmProblem& problem, const GemmAlgorithm& algorithm,
                                            unsigned capability) {
    numerics::CublasGemm gemm;
    gemm.a = element_of(problem.a, problem.compute);
    gemm.b = element_of(problem.b, problem.compute);
    gemm.c = gemm.bias = element_of(problem.c, capture::Compute::f32);
    gemm.d = element_of(problem.d, capture::Compute::f32);
    gemm.compute = compute_of(problem.compute);
    gemm.fast_accumulation = problem.fast_accumulation;
    gemm.k = problem.k;
    gemm.compute_capability = capability;
    gemm.algorithm = algorithm.id;
    gemm.stages = algorithm.stages;
    gemm.split_k = algorithm.split_k;
    gemm.reduction_scheme = algorithm.reduction_scheme;
    gemm.custom_option = algorithm.custom_option;
    gemm.inner_shape = algorithm.inner_shape;
    gemm.numerical_flags = algorithm.numerical_flags;
    gemm.kernels = algorithm.kernels;
    return numerics::plan_of(gemm).plan;
}

// Heddle's own kernels, whose attributes gemm_algorithm.h explains.
std::optional<ReductionPlan> plan_of_own(const GemmProblem& problem, const GemmAlgorithm& algorithm,
                                         unsigned capability) {
    if (algorithm.id != capture::kSimtAlgorithm && algorithm.id != capture::kMmaAlgorithm)
        return std::nullopt;
    ReductionPlan plan;
    plan.a = element_of(problem.a, problem.compute);
    plan.b = element_of(problem.b, problem.compute);
    plan.c = plan.d = plan.bias = element_of(problem.d, capture::Compute::f32);
    plan.accumulator = problem.a == Type::f64 ? numerics::Element::fp64 : numerics::Element::fp32;
    plan.block_k = static_cast<unsigned>(algorithm.inner_shape);
    plan.arithmetic = numerics::Arithmetic::fused_multiply_add;
    if (algorithm.id == capture::kMmaAlgorithm) {
        plan.arithmetic = numerics::Arithmetic::tensor_core;
        plan.tensor_core = numerics::parameters_for(numerics::generation_of(capability),
                                                    numerics::format_of(plan.a), numerics::Format::fp32);
        plan.instruction_k = capability >= 80 ? 16 : 8;
    }
    if (algorithm.split_k > 1) {
        plan.splits = static_cast<unsigned>(algorithm.split_k);
        plan.k_per_split = static_cast<unsigned>(algorithm.custom_option);
    }
    return plan;
}

std::string types_of(const GemmProblem& problem) {
    return fmt::format("{} {}->{} {}{}", capture::name_of(problem.a), capture::name_of(problem.b),
                       capture::name_of(problem.d), capture::name_of(problem.compute),
                       problem.fast_accumulation ? " fast" : "");
}

std::string shortened(const std::string& text, std::size_t most) {
    return text.size() <= most ? text : text.substr(0, most) + "...";
}

std::string attributes_of(const GemmAlgorithm& a) {
    return fmt::format("{} stages {} split {} scheme {}", a.id, a.stages, a.split_k, a.reduction_scheme);
}

}  // namespace

std::vector<RecordedOrder> recorded_orders(const CapturedSection& section) {
    std::vector<RecordedOrder> orders;
    for (const CapturedRecord& record : section.records) {
        if (record.get_or<std::string>("kind", "") != "order" || !record.values.contains("algorithm"))
            continue;
        RecordedOrder order;
        order.id = record.id;
        order.problem = problem_of(record, record.values.at("problem"));
        order.algorithm = algorithm_of(record, record.values.at("algorithm"));
        order.tree = record.get_or<std::string>("tree", "");
        if (order.tree.empty() && record.values.contains("tree_length"))
            order.tree.assign(reinterpret_cast<const char*>(record.binary.data()), record.binary.size());
        order.problem_text =
            record.get_or<std::string>("error", record.get_or<std::string>("problem_text", ""));
        order.complete = record.get_or<bool>("complete", true);
        order.corner = record.get_or<std::string>("places", "") == "corner";
        orders.push_back(std::move(order));
    }
    return orders;
}

Comparison compare_orders(const RecordedCapture& capture, const PlanOfAttributes& plan_of,
                          const CompareOptions& options) {
    Comparison comparison;
    comparison.title = "Orders of sums, revealed";
    comparison.reference = {"capture",
                            capture.name(),
                            capture.device_name(),
                            capture.date(),
                            capture.driver(),
                            capture.is_silicon(),
                            ""};
    ResultTable unknown{
        "Revealed orders that no attributes tell", {{"problem", "algorithm", "kernel", "tree"}}, {}};
    std::uint64_t equal = 0, compared = 0;
    for (const RecordedOrder& order : recorded_orders(capture.section("order"))) {
        if (!options.selects(order.id, types_of(order.problem))) continue;
        if (order.tree.empty()) {
            comparison.missing.push_back(order.id + ": " + order.problem_text);
            continue;
        }
        const auto plan = plan_of(order.problem, order.algorithm);
        if (!plan) {
            unknown.rows.push_back({order.problem.name(), attributes_of(order.algorithm),
                                    order.algorithm.kernels, shortened(order.tree, 80)});
            continue;
        }
        const std::string told = numerics::summation_tree(*plan, order.problem.k).text();
        ComparisonRow row;
        row.name = order.id;
        row.category = types_of(order.problem);
        row.bits = BitCount{told == order.tree ? 1u : 0u, 1};
        row.note =
            told == order.tree
                ? fmt::format("{}: {}", order.algorithm.kernels, shortened(order.tree, 80))
                : fmt::format("{}, {}: {} revealed, {} by the attributes", attributes_of(order.algorithm),
                              order.algorithm.kernels, shortened(order.tree, 80), shortened(told, 80));
        equal += row.bits->identical;
        ++compared;
        comparison.rows.push_back(std::move(row));
    }
    if (unknown.rows.size() > 1) comparison.tables.push_back(std::move(unknown));
    if (compared > 0) {
        comparison.bars.push_back(at_least("revealed orders that are those of the algorithm's attributes",
                                           100.0 * static_cast<double>(equal) / static_cast<double>(compared),
                                           100));
    }
    return comparison;
}

std::vector<Comparison> compare_order(const RecordedCapture& capture, const CompareOptions& options) {
    const unsigned capability = capture.compute_capability();
    const bool silicon = capture.is_silicon();
    return {compare_orders(
        capture,
        [=](const GemmProblem& problem, const GemmAlgorithm& algorithm) {
            return silicon ? plan_of_cublas(problem, algorithm, capability)
                           : plan_of_own(problem, algorithm, capability);
        },
        options)};
}

}  // namespace heddle::validation
