// Lists of tensors: ops that a framework carries out in one launch for many tensors, as PyTorch's fused and
// foreach optimizers do (multi_tensor_apply).
//
// Ops that follow one another with the same number in their attribute "list" are one list where they do the
// same: an elementwise expression with the same scalars and types (operands of one element are the same
// tensor), or sums of squares. The launches belong to the first of them.
#pragma once

#include "workloads/lowering/gpu/builder.h"

namespace heddle::lowering {

/// Returns how many ops from `first` on form one list; 1: they form none.
std::size_t list_length(const trace::Trace& trace, std::size_t first);

/// Throws Unsupported where an op of the list must go alone.
void lower_list(GpuProgramBuilder& builder, trace::OpId first, std::size_t count);

}  // namespace heddle::lowering
