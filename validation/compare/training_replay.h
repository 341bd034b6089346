// The matrix products that a vendor's library did in a recorded training, computed again.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "validation/capture/device.h"
#include "validation/capture/training/training_run.h"
#include "validation/compare/gemm_orders.h"

namespace heddle::validation {

/// A Blas that has the algorithms of a record. A product whose order is known is evaluated from its plan, any
/// other by `stand_in`, whose order is another.
class RecordedBlas : public capture::Blas {
  public:
    /// All must outlive it. `stand_in` may be nullptr.
    RecordedBlas(capture::Device& device, capture::Blas* stand_in, const GemmOrders& orders,
                 const std::vector<capture::TrainingProduct>& products);

    std::vector<capture::GemmAlgorithm> algorithms(const capture::GemmProblem& problem,
                                                   unsigned maximum) override;
    void run(const capture::GemmProblem& problem, const capture::GemmAlgorithm& algorithm,
             const capture::GemmOperands& operands) override;
    void observe(const capture::GemmProblem&, capture::GemmAlgorithm&,
                 const capture::GemmOperands&) override {}

    /// Of the library's products in the record.
    std::size_t products() const { return products_; }
    std::size_t products_known() const { return products_known_; }
    /// "256x512x784 f32: kernel_name (why)", each once.
    const std::set<std::string>& unknown() const { return unknown_; }

  private:
    struct Product {
        capture::GemmAlgorithm algorithm;
        GemmOrder order;
    };
    void evaluate(const capture::GemmProblem& problem, const numerics::ReductionPlan& plan,
                  const capture::GemmOperands& operands);

    capture::Device& device_;
    capture::Blas* stand_in_;
    std::map<std::string, Product> by_problem_;
    std::size_t products_ = 0, products_known_ = 0;
    std::set<std::string> unknown_;
};

}  // namespace heddle::validation
