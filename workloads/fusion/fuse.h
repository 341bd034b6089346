// Fusion of elementwise ops into single kernels, as a compiler of training steps does it (torch.compile with
// its default settings).
#pragma once

#include <cstddef>

#include "workloads/trace/trace.h"

namespace heddle::fusion {

/// Whether fused ops compute with this type: f32, f16 and bf16.
bool is_fused_float(trace::ElementType type);

/// Limits on the size of a fused op.
struct FusionLimits {
    std::size_t operands = 12;  ///< inputs and results of a fused op
    std::size_t nodes = 64;     ///< nodes of its expression; a compiler limits them because of registers
};

/// What a fusion changed.
struct FusionCount {
    std::size_t before = 0, after = 0;  ///< number of ops that need a kernel
    std::size_t dropped = 0;            ///< tensors that are no longer written to memory
};

/// The same step with fewer ops. What is fused:
///  - elementwise ops, casts and fills of one shape whose only users in between are members of the chain:
///  results that
///    nobody else reads are never written; others become further results of the fused op;
///  - what is computed twice of the same operands in one phase is computed once (repetition.h);
///  - such a chain and the sum, mean, max or min that alone reads its result (the reduction's prologue).
/// What is not: across phases of the step, over results of different shapes, integers and booleans that are
/// made on the way, updates in place, products (a compiler leaves those to libraries), norms, softmax and
/// attention, which are kernels already. Numbers between fused ops are not rounded to the type of the tensor
/// that went away, as in torch.compile.
trace::Trace fuse(const trace::Trace& trace, const FusionLimits& limits = {}, FusionCount* count = nullptr);

}  // namespace heddle::fusion
