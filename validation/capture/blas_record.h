// A GEMM and its algorithm as members of a capture's records; validation/read/blas_record.h reads them back.
#pragma once

#include "validation/capture/blas.h"
#include "validation/capture/record.h"

namespace heddle::capture {

/// Members have the names of GemmProblem's. What has its default value is left out, but for m, n, k and the
/// types.
Record record_of(const GemmProblem& problem);

/// All attributes; grid and block as [x, y, z].
Record record_of(const GemmAlgorithm& algorithm);

}  // namespace heddle::capture
