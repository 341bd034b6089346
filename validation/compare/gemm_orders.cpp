#include "validation/compare/gemm_orders.h"

#include "validation/compare/gemm_attributes.h"
#include "validation/read/blas_record.h"

namespace heddle::validation {

using capture::GemmAlgorithm;
using capture::GemmProblem;

GemmOrders::GemmOrders(const RecordedCapture& capture)
    : compute_capability_(capture.compute_capability()), silicon_(capture.is_silicon()) {
    for (const char* section : {"order", "numerics"})
        if (capture.has(section))
            for (const CapturedRecord& record : capture.section(section).records) learn(record);
}

void GemmOrders::learn(const CapturedRecord& record) {
    if (record.get_or<std::string>("kind", "") != "order" || record.values.contains("places")) return;
    const std::string text = tree_of(record);
    if (text.empty()) return;
    const auto problem = problem_of(record, record.get<nlohmann::json>("problem"));
    const auto algorithm = algorithm_of(record, record.get<nlohmann::json>("algorithm"));
    numerics::SummationTree tree;
    try {
        tree = numerics::SummationTree::parse(text, problem.k);
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
    if (!silicon_) {
        order.plan = plan_of_own_kernel(problem, algorithm, compute_capability_);
        order.origin = "attributes of our own kernels";
        if (order.plan) return order;
    }
    numerics::CublasPlan plan = learned_.plan(cublas_gemm(problem, algorithm, compute_capability_));
    order.plan = plan.plan;
    order.origin = std::move(plan.reason);
    return order;
}

}  // namespace heddle::validation
