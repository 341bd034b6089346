// The cell of an LSTM after the products with its weights, as one elementwise kernel over the four gates.
#pragma once

#include "workloads/lowering/tpu/program_builder.h"

namespace heddle::lowering::on_tpu {

/// These functions add the program of the op to the builder. They throw Unsupported for what has no program.
void lower_lstm_cell(ProgramBuilder& program);
void lower_lstm_cell_grad(ProgramBuilder& program);

}  // namespace heddle::lowering::on_tpu
