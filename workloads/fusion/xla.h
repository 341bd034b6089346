// A step as XLA compiles it for a TPU: products with what follows them.
//
// Public of it are the rules in OpenXLA's documentation and the names of fusions in profiles; XLA's backend
// for TPUs is not. So these are the rules that matter in a training step, each told apart in the counts:
//  - Images have their channels last inside the step (layout.h).
//  - Casts of parameters are read through: a product reads the f32 weights and rounds them on their way into
//  the
//    matrix units. Nobody writes a copy in 16 bits. (A weight that more than kMostReaders ops read keeps its
//    copy.)
//  - Transposes between the rows of a layer and the heads of its attention are layouts: the product writes
//  rows,
//    attention reads the rows of a head with a stride. Heads narrower than a register (128 lanes) keep the
//    copy.
//  - Elementwise ops that read a product's result become its epilogue (an output fusion), with further
//  operands and
//    results: bias, activation and its gradient, residual sums, sums of gradients, casts, and the optimizer's
//    update of a weight, as the gradient leaves the matrix units. What the backward pass computes again stays
//    there: its result would be held from the forward pass on.
//  - A cast that alone reads a result of another op is that op's own last step.
//  - What is left of elementwise chains is fused as in fuse.h.
// Numbers between fused ops are not rounded to the type of the tensor that went away. An op moves only where
// nobody sees it: no operand changes on the way, no result is needed before.
#pragma once

#include <cstddef>

#include "workloads/fusion/fuse.h"
#include "workloads/fusion/layout.h"
#include "workloads/trace/trace.h"

namespace heddle::fusion {

/// Options of the fusion for a TPU.
struct XlaOptions : FusionLimits {
    /// The optimizer's ops become epilogues, too; gradients of weights are then never written. Without, they
    /// can be looked at.
    bool updates = true;
};

/// What the fusion changed, by rule.
struct XlaCount : FusionCount {
    std::size_t casts = 0, layouts = 0, epilogues = 0;  ///< ops that vanished by these rules
    LayoutCount images;
};

/// Returns the same step with fewer ops. Tensors keep their numbers.
trace::Trace fuse_as_xla(const trace::Trace& trace, const XlaOptions& options = {},
                         XlaCount* count = nullptr);

}  // namespace heddle::fusion
