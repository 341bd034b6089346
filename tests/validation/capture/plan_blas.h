// A BLAS whose algorithms are reduction plans, evaluated on the host: what it adds, and in which order, is
// known.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "isa/numerics/reduction_plan.h"
#include "validation/capture/device.h"

namespace heddle::capture::test {

class PlanBlas : public Blas {
  public:
    explicit PlanBlas(Device& device) : device_(&device) {}
    std::vector<numerics::ReductionPlan> plans;  ///< algorithm i has id i; alpha and beta are the problem's
    /// Where set: the plans of a problem.
    std::function<std::vector<numerics::ReductionPlan>(const GemmProblem&)> plans_of;

    std::vector<GemmAlgorithm> algorithms(const GemmProblem& problem, unsigned maximum) override {
        if (plans_of) plans = plans_of(problem);
        std::vector<GemmAlgorithm> list;
        for (std::size_t i = 0; i < plans.size() && i < maximum; ++i) {
            list.emplace_back();
            list.back().id = static_cast<int>(i);
        }
        return list;
    }
    void run(const GemmProblem& p, const GemmAlgorithm& algorithm, const GemmOperands& o) override {
        if (plans_of) plans = plans_of(p);
        numerics::ReductionPlan plan = plans.at(static_cast<std::size_t>(algorithm.id));
        plan.epilogue.alpha = p.alpha;
        plan.epilogue.beta = p.beta;
        std::vector<std::byte> a(p.elements_a() * bytes_of(p.a)), b(p.elements_b() * bytes_of(p.b)),
            c(p.beta == 0 ? 0 : p.elements_c() * bytes_of(p.c));
        device_->read(o.a, a);
        device_->read(o.b, b);
        if (!c.empty()) device_->read(o.c, c);
        if (p.transpose_a) a = numerics::transposed(a, p.k, p.m, bytes_of(p.a));
        if (!p.transpose_b) b = numerics::transposed(b, p.k, p.n, bytes_of(p.b));
        device_->write(o.d, numerics::evaluate(
                                plan, {.m = p.m, .n = p.n, .k = p.k, .a = a, .b = b, .c = c, .bias = {}}));
    }
    void observe(const GemmProblem&, GemmAlgorithm& algorithm, const GemmOperands&) override {
        algorithm.kernels = "plan " + std::to_string(algorithm.id);
    }

  private:
    Device* device_;
};

}  // namespace heddle::capture::test
