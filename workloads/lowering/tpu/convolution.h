// Convolutions on the matrix units, im2col on the fly: the pixels under a row of a window lie side by side in
// VMEM (channels last), so that an activation row of a matrix product is read straight from the image, from
// pixel to pixel. Nothing is copied but the borders' zeros.
#pragma once

#include "workloads/lowering/tpu/lowering_options.h"
#include "workloads/lowering/tpu/program_builder.h"

namespace heddle::lowering::on_tpu {

/// Adds the program of a convolution or of one of its gradients. Throws Unsupported for what has no program.
void lower_convolution(ProgramBuilder& program, const TpuLoweringOptions& options);
/// Adds the gradient of the data: each phase of the strides is a convolution of dy with the taps of the
/// window at distances of the stride.
void lower_convolution_data_grad(ProgramBuilder& program, const TpuLoweringOptions& options);
/// Adds the gradient of the weights, which sums over pixels: pixels of x under the window are the weights,
/// and the transposed dy the activations.
void lower_convolution_weight_grad(ProgramBuilder& program, const TpuLoweringOptions& options);

}  // namespace heddle::lowering::on_tpu
