// Batch norm of [N, C, space] in training as one launch: a CTA has a channel, finds its statistics and writes
// the result, as cuDNN's kernels do.
//
// Planes (cuDNN: bn_fw_tr_1C11_kernel_NCHW<float, float, int, T, ...>): T of the 512 threads have a run of a
// channel, the channel's plane of one image, and 512 / T runs are under way at once. The channel is read
// twice; what is still in L2 comes from there.
// Staged (bn_fw_tr_1C11_singleread<float, 512, ...>): the channel's elements are dealt to the threads one by
// one and stay in shared memory between the two passes.
#pragma once

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

inline constexpr unsigned kBatchNormThreads = 512;

/// A channel: `runs` runs of `run_length` neighbouring elements, `run_stride` elements apart; channel c
/// begins at element c * run_length.
struct BatchNormShape {
    std::uint32_t runs = 0, run_length = 0, run_stride = 0;
};

/// Parameters: mean, rstd, with running statistics also running_mean, running_variance, new_mean,
/// new_variance, then y, x, weight, bias (pointers; the statistics f32, y, x, weight and bias of their
/// types); runs, run_length (staged: a divider), run_stride (u32); epsilon, momentum, unbias (f32; unbias =
/// n / (n - 1)). Grid x is the number of channels. Fewer than 2^31 elements.
struct BatchNormSpec {
    unsigned compute_capability = 80;
    ElementType x = ElementType::f32, y = ElementType::f32, weight = ElementType::f32,
                bias = ElementType::f32;
    bool running = false;
    std::uint32_t staged_elements = 0;  ///< of a channel, room for which there is in shared memory; 0: planes
    unsigned run_threads = kBatchNormThreads;  ///< T, a power of two; planes only
    unsigned vector_width = 1;                 ///< divides the run: 1 or 4; planes only
};
GeneratedKernel generate_batch_norm(const BatchNormSpec& spec);

/// Staged where the channel fits (see batch_norm.cpp), else planes with accesses of four elements where runs
/// allow it, and T so that a thread has few of a run. Types and running statistics are the caller's.
/// `aligned`: x and y begin at multiples of four elements.
BatchNormSpec choose_batch_norm(unsigned compute_capability, const BatchNormShape& shape,
                                bool aligned = true);

/// Appends the arguments of a batch-norm kernel in the order of its parameters.
void add_batch_norm_arguments(std::vector<KernelArgument>& arguments, const BatchNormSpec& spec,
                              const BatchNormShape& shape);

}  // namespace heddle::kernels
