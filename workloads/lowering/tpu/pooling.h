// Poolings on the vector unit: a row of results at a time, the pixels under a tap of the window as one
// operand.
#pragma once

#include "workloads/lowering/tpu/program_builder.h"

namespace heddle::lowering::on_tpu {

/// These functions add the program of the op to the builder. They throw Unsupported for what has no program.
void lower_pooling(ProgramBuilder& program);
void lower_pooling_grad(ProgramBuilder& program);

}  // namespace heddle::lowering::on_tpu
