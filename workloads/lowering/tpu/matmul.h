// Matrix products on the matrix units.
#pragma once

#include "workloads/lowering/tpu/matmul_plan.h"
#include "workloads/lowering/tpu/program_builder.h"

namespace heddle::lowering::on_tpu {

/// `passes`: 1, 3 or 6 bf16 passes per fp32 product.
void lower_matmul(ProgramBuilder& program, const TpuLoweringOptions& options);

}  // namespace heddle::lowering::on_tpu
