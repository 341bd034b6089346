#include "validation/compare/revealed_orders.h"

#include <fmt/format.h>

#include <map>

#include "isa/numerics/cublas_plan.h"
#include "validation/compare/capture_reference.h"
#include "validation/compare/gemm_attributes.h"
#include "validation/read/blas_record.h"

namespace heddle::validation {
namespace {

using capture::GemmAlgorithm;
using capture::GemmProblem;
using numerics::ReductionPlan;

std::optional<ReductionPlan> plan_by_attributes(const RecordedCapture& capture, const GemmProblem& problem,
                                                const GemmAlgorithm& algorithm) {
    const unsigned capability = capture.compute_capability();
    if (!capture.is_silicon()) return plan_of_own_kernel(problem, algorithm, capability);
    return numerics::plan_of(cublas_gemm(problem, algorithm, capability)).plan;
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
        order.problem = problem_of(record, record.get<nlohmann::json>("problem"));
        order.algorithm = algorithm_of(record, record.values.at("algorithm"));
        order.tree = tree_of(record);
        order.problem_text =
            record.get_or<std::string>("error", record.get_or<std::string>("problem_text", ""));
        order.complete = record.get_or<bool>("complete", true);
        order.corner = record.get_or<std::string>("places", "") == "corner";
        orders.push_back(std::move(order));
    }
    return orders;
}

std::vector<Comparison> compare_order(const RecordedCapture& capture, const CompareOptions& options) {
    Comparison comparison;
    comparison.title = "Orders of sums, revealed";
    comparison.reference = reference_of(capture);
    ResultTable unknown{
        "Revealed orders that no attributes tell", {{"problem", "algorithm", "kernel", "tree"}}, {}};
    std::uint64_t equal = 0, compared = 0;
    for (const RecordedOrder& order : recorded_orders(capture.section("order"))) {
        if (!options.selects(order.id, types_of(order.problem))) continue;
        if (order.tree.empty()) {
            comparison.missing.push_back(order.id + ": " + order.problem_text);
            continue;
        }
        const auto plan = plan_by_attributes(capture, order.problem, order.algorithm);
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
    return {std::move(comparison)};
}

}  // namespace heddle::validation
