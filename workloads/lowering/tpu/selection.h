// Dropout, quantisation to 8-bit floats, the largest of a row, sums along an axis.
#pragma once

#include "workloads/lowering/tpu/program_builder.h"

namespace heddle::lowering::on_tpu {

/// These functions add the program of an op of their kind to the builder. They throw Unsupported for what has
/// no program.
void lower_dropout(ProgramBuilder& program);
void lower_quantise(ProgramBuilder& program);
/// The largest, k times over: XLA's own sort is not published. An assumption.
void lower_top_k(ProgramBuilder& program);
/// A token's place among those of its expert is counted by a product: a triangle of ones by who chose whom.
void lower_expert_slots(ProgramBuilder& program);
/// Doubling: what lies 1, 2, 4, ... elements before is added in turn, within rows in VMEM, along other axes
/// slab by slab in HBM. Which of the forms of a reduce-window XLA makes of it is not published. An
/// assumption.
void lower_cumulative_sum(ProgramBuilder& program);

}  // namespace heddle::lowering::on_tpu
