// Places of tokens in the buffers of a mixture of experts of limited capacity: what a permutation of tokens
// by expert is built from.
#pragma once

#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// slots[i] = e * capacity + r, where e = experts_of[i] and r counts the earlier tokens of the same expert;
/// none = experts * capacity when r >= capacity. One thread block for each expert, which counts all tokens
/// by ballots, a warp's total by a scan over warps. Parameters: slots (i32), indices (i32) (pointers); rows,
/// capacity, none (u32).
struct ExpertSlotsSpec {
    unsigned compute_capability = 80;
    unsigned threads = 1024;  ///< a multiple of 32, at most 1,024
};
GeneratedKernel generate_expert_slots(const ExpertSlotsSpec& spec);

}  // namespace heddle::kernels
