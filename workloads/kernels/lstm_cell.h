// The pointwise part of an LSTM cell, after the products with its weights, as cuDNN and PyTorch fuse it, and
// its gradient. Gates are in the order input, forget, cell, output; everything between load and store is f32.
#pragma once

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// Parameters of the kernel.
struct LstmCellSpec {
    unsigned compute_capability = 80;
    ElementType type = ElementType::f32;  ///< f32, f16 or bf16, of every operand
    unsigned biases = 0;                  ///< 0 to 2 (forward)
    bool keeps_gates = false;             ///< forward: stores the gates for the gradient
    bool gradient = false;
};

/// Forward, pointers: from_x, from_h [rows, 4 columns], c [rows, columns], bias0, bias1 [4 columns], new_h,
/// new_c [rows, columns], gates [rows, 4 columns]. Gradient: dh, dc, c, new_c, gates, d_gates, d_old.
/// Scalars: elements (rows * columns), the divider columns.
GeneratedKernel generate_lstm_cell(const LstmCellSpec& spec);
Extent3 lstm_cell_grid(std::uint32_t elements);

}  // namespace heddle::kernels
