// Norms of channels, as XLA makes them: reductions of the whole tensor, then one pass over its elements.
#pragma once

#include "workloads/lowering/tpu/program_builder.h"

namespace heddle::lowering::on_tpu {

/// These functions add the program of a group norm or batch norm to the builder.
void lower_group_norm(ProgramBuilder& program);
void lower_group_norm_grad(ProgramBuilder& program);
void lower_batch_norm(ProgramBuilder& program);
void lower_batch_norm_grad(ProgramBuilder& program);

}  // namespace heddle::lowering::on_tpu
