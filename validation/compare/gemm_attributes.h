// What the attributes of a recorded GEMM tell of its arithmetic, in the terms of isa/numerics.
#pragma once

#include <optional>

#include "isa/numerics/cublas_plan.h"
#include "isa/numerics/reduction_plan.h"
#include "validation/capture/blas.h"

namespace heddle::validation {

/// Elements of a type as isa/numerics knows them; A and B of f32 are tf32 where the library computes so.
numerics::Element element_of(capture::Type type, capture::Compute compute = capture::Compute::f32);

/// A product of cublasLt, with all that isa/numerics/cublas_plan.h asks for. Compute capability times
/// ten: 90.
numerics::CublasGemm cublas_gemm(const capture::GemmProblem& problem, const capture::GemmAlgorithm& algorithm,
                                 unsigned compute_capability);

/// The plan of Heddle's own kernels, whose attributes validation/capture/simulator/gemm_algorithm.h explains;
/// nothing for the number of another algorithm.
std::optional<numerics::ReductionPlan> plan_of_own_kernel(const capture::GemmProblem& problem,
                                                          const capture::GemmAlgorithm& algorithm,
                                                          unsigned compute_capability);

}  // namespace heddle::validation
