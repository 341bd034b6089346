// Reductions over any set of axes: sum, mean, maximum, minimum, Euclidean norm, of an expression of the
// inputs.
#pragma once

#include "workloads/lowering/tpu/program_builder.h"

namespace heddle::lowering::on_tpu {

/// Adds the program of a reduction to the builder. Throws Unsupported for what has no program.
void lower_reduce(ProgramBuilder& program);

}  // namespace heddle::lowering::on_tpu
