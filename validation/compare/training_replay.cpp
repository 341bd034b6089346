#include "validation/compare/training_replay.h"

#include <span>

namespace heddle::validation {

using capture::GemmAlgorithm;
using capture::GemmOperands;
using capture::GemmProblem;

RecordedBlas::RecordedBlas(capture::Device& device, capture::Blas* stand_in, const GemmOrders& orders,
                           const std::vector<capture::TrainingProduct>& products)
    : device_(device), stand_in_(stand_in) {
    for (const capture::TrainingProduct& product : products) {
        if (!product.algorithm) continue;  // our own kernel did it then, and does it now
        const std::string name = product.problem.name();
        Product known{*product.algorithm, orders.order_of(product.problem, *product.algorithm)};
        ++products_;
        if (known.order.plan) {
            ++products_known_;
        } else {
            unknown_.insert(name + ": " +
                            (known.algorithm.kernels.empty()
                                 ? "algorithm " + std::to_string(known.algorithm.id)
                                 : known.algorithm.kernels) +
                            " (" + known.order.origin + ")");
        }
        by_problem_.insert_or_assign(name, std::move(known));
    }
}

std::vector<GemmAlgorithm> RecordedBlas::algorithms(const GemmProblem& problem, unsigned) {
    const auto found = by_problem_.find(problem.name());
    if (found == by_problem_.end()) return {};
    return {found->second.algorithm};
}

void RecordedBlas::run(const GemmProblem& problem, const GemmAlgorithm&, const GemmOperands& operands) {
    const Product& product = by_problem_.at(problem.name());
    if (product.order.plan) return evaluate(problem, *product.order.plan, operands);
    GemmProblem other = problem;
    if (other.compute == capture::Compute::tf32) other.compute = capture::Compute::f32;
    std::vector<GemmAlgorithm> algorithms;
    if (stand_in_ != nullptr) algorithms = stand_in_->algorithms(other, 1);
    if (stand_in_ == nullptr || algorithms.empty())
        throw capture::DeviceError("the order of " + problem.name() + " is not known, and nothing stands in");
    stand_in_->run(other, algorithms[0], operands);
}

void RecordedBlas::evaluate(const GemmProblem& problem, const numerics::ReductionPlan& plan,
                            const GemmOperands& operands) {
    const auto read = [&](std::uint64_t address, std::uint64_t elements, capture::Type type) {
        std::vector<std::byte> bytes(elements * bytes_of(type));
        device_.read(address, bytes);
        return bytes;
    };
    const std::vector<std::byte> all_a = read(operands.a, problem.elements_a(), problem.a),
                                 all_b = read(operands.b, problem.elements_b(), problem.b);
    const std::size_t bytes_a = all_a.size() / problem.batch, bytes_b = all_b.size() / problem.batch;
    std::vector<std::byte> d;
    for (std::uint64_t i = 0; i < problem.batch; ++i) {
        std::vector<std::byte> a(all_a.begin() + i * bytes_a, all_a.begin() + (i + 1) * bytes_a);
        std::vector<std::byte> b(all_b.begin() + i * bytes_b, all_b.begin() + (i + 1) * bytes_b);
        if (problem.transpose_a) a = numerics::transposed(a, problem.k, problem.m, bytes_of(problem.a));
        if (!problem.transpose_b) b = numerics::transposed(b, problem.k, problem.n, bytes_of(problem.b));
        numerics::PlanOperands plan_operands;
        plan_operands.m = problem.m;
        plan_operands.n = problem.n;
        plan_operands.k = problem.k;
        plan_operands.a = a;
        plan_operands.b = b;
        const std::vector<std::byte> part = numerics::evaluate(plan, plan_operands);
        d.insert(d.end(), part.begin(), part.end());
    }
    device_.write(operands.d, d);
}

}  // namespace heddle::validation
