// In which order a recorded GEMM adds, told before anyone looks at its outputs: from the attributes of its
// algorithm, or from trees that were revealed of the same algorithm.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isa/numerics/learned_orders.h"
#include "isa/numerics/reduction_plan.h"
#include "validation/capture/blas.h"
#include "validation/read/recorded_capture.h"

namespace heddle::validation {

struct GemmOrder {
    std::optional<numerics::ReductionPlan> plan;
    std::string origin;  ///< where the plan comes from; without one: why there is none
    /// The epilogue has a function (tanh) that the device approximates: the order is known, the bits are not.
    bool approximate = false;
};

class GemmOrders {
  public:
    /// Reads the orders that the sections `order` and `numerics` revealed, where the capture has them. Trees
    /// that hold for a part of the output alone are left out. Throws heddle::Error for a damaged record.
    explicit GemmOrders(const RecordedCapture& capture);

    GemmOrder order_of(const capture::GemmProblem& problem, const capture::GemmAlgorithm& algorithm) const;
    /// Recorded trees.
    std::size_t trees() const { return trees_; }

  private:
    void learn(const CapturedRecord& record);

    unsigned compute_capability_;
    bool silicon_;
    numerics::LearnedOrders learned_;
    std::size_t trees_ = 0;
};

}  // namespace heddle::validation
