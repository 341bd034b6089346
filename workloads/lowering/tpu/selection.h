// Dropout, quantisation to 8-bit floats, the largest of a row.
#pragma once

#include "workloads/lowering/tpu/program_builder.h"

namespace heddle::lowering::on_tpu {

void lower_dropout(ProgramBuilder& program);
void lower_quantise(ProgramBuilder& program);
/// The largest, k times over: XLA's own sort is not published. An assumption.
void lower_top_k(ProgramBuilder& program);
/// A token's place among those of its expert is counted by a product: a triangle of ones by who chose whom.
void lower_expert_slots(ProgramBuilder& program);

}  // namespace heddle::lowering::on_tpu
