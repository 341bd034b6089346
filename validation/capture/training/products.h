// Matrix products of a trace as problems for a vendor's library.
#pragma once

#include <optional>
#include <string>

#include "validation/capture/blas.h"
#include "workloads/trace/trace.h"

namespace heddle::capture {

/// The same step with every bias that a matmul adds (its third operand) as an op of its own, so that a
/// library's product is a product and nothing else.
trace::Trace with_separate_biases(const trace::Trace& trace);

/// The op's product. Nothing, and the reason in `why_not`, for what the interface of a Blas does not have:
/// strides, operands that repeat along some batch axes, epilogues, element types.
std::optional<GemmProblem> problem_of(const trace::Trace& trace, const trace::Op& op, Compute compute_of_f32,
                                      std::string& why_not);

}  // namespace heddle::capture
