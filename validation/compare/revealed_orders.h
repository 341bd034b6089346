// What a recorded section `order` says: the trees that were revealed, and whether the plan that the
// algorithm's attributes tell has the same tree.
#pragma once

#include <string>
#include <vector>

#include "validation/capture/blas.h"
#include "validation/compare/result.h"
#include "validation/read/recorded_capture.h"

namespace heddle::validation {

/// One algorithm whose order was revealed.
struct RecordedOrder {
    std::string id;
    capture::GemmProblem problem;
    capture::GemmAlgorithm algorithm;
    std::string tree;          ///< text of a numerics::SummationTree; empty when none was found
    std::string problem_text;  ///< then: why
    bool complete = true;      ///< false: fused nodes were sampled
    bool corner = false;       ///< only of the upper left corner of D
};

/// Throws heddle::Error for damaged records. Records that were left out are not among them.
std::vector<RecordedOrder> recorded_orders(const CapturedSection& section);

/// A row for every order whose attributes tell a plan, by what is known of cublasLt's algorithms
/// (isa/numerics/cublas_plan.h) or of Heddle's own: one bit, equal trees or not. A table of the orders whose
/// attributes tell none.
std::vector<Comparison> compare_order(const RecordedCapture& capture, const CompareOptions& options);

}  // namespace heddle::validation
