// Reductions over a thread block in the two orders that PyTorch's row kernels have.
#pragma once

#include <string>

#include "workloads/kernels/ptx_writer.h"
#include "workloads/kernels/reduction_code.h"

namespace heddle::kernels {

/// Warps by shuffles downward, their results by the first warp the same way; every thread gets the result
/// (blockReduceWarp in SoftMax.cu, BlockReduce in block_reduce.cuh). `shared` holds 4 bytes per warp. Three
/// barriers.
void emit_block_reduce_by_shuffles(PtxWriter& w, Combine combine, const Reg& value, const Reg& tid,
                                   unsigned threads, const Reg& shared);

/// Every thread's value goes through shared memory; lane l of the first warp adds those of warp l one after
/// the other, and thread 0 the warps' (blockReduce in SoftMax.cu). `shared` holds 4 bytes per thread. Four
/// barriers.
void emit_block_reduce_in_turn(PtxWriter& w, Combine combine, const Reg& value, const Reg& tid,
                               unsigned threads, const Reg& shared);

}  // namespace heddle::kernels
