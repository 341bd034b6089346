// Applies a kernel to every element of operands with any strides: elementwise ops, copies, casts, transposes,
// fills.
#pragma once

#include "workloads/lowering/tpu/tile_transfer.h"

namespace heddle::lowering::on_tpu {

/// Outputs and inputs all have the shape of outputs[0] (stride 0 where an input repeats). `kernel` takes the
/// inputs in order and stores the outputs in order; nullptr copies inputs[0] to outputs[0] unchanged.
/// random() and the index operations of the kernel count elements of the shape in row-major order: as
/// row_index * element_stride + column_index.
void map_elements(ProgramBuilder& program, const std::shared_ptr<const tpu::VectorKernel>& kernel,
                  const std::vector<HbmView>& inputs, const std::vector<HbmView>& outputs,
                  const std::vector<float>& scalars = {});

/// These functions add the program of an op of their kind to the builder. They throw Unsupported for what has
/// no program.
void lower_elementwise(ProgramBuilder& program);
void lower_copy(ProgramBuilder& program);
void lower_concat(ProgramBuilder& program);
void lower_fill(ProgramBuilder& program);
void lower_random(ProgramBuilder& program);

/// Copies with conversion between views of one shape.
void copy_view(ProgramBuilder& program, const HbmView& from, const HbmView& to);
/// Fills a view with a number.
void fill_view(ProgramBuilder& program, const HbmView& to, double value);

}  // namespace heddle::lowering::on_tpu
