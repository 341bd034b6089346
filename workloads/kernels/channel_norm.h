// Statistics of sets of channels for group norm, and the sums that the gradients of group norm and batch norm
// need: one thread block per set of elements, Welford's method, as PyTorch's RowwiseMomentsCUDAKernel and
// batch_norm_collect_statistics_kernel. Forward batch norm of images: batch_norm.h.
#pragma once

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// A set: `runs` runs of `run_length` neighbouring elements, `run_stride` elements apart; set s begins at
/// set_begin(s) = s / inner * outer_stride + s % inner * inner_stride.
/// Batch norm of [N, C, space]: C sets, N runs of `space`, C * space apart; inner = C, inner_stride = space.
/// Group norm: N * groups sets of one run each; inner = 1, outer_stride = the length of the run.
///
/// Parameters: mean, rstd, x (pointers); elements (u32, of a set); run_length and inner (dividers);
/// run_stride, outer_stride, inner_stride (u32); epsilon, momentum, unbias (f32; the latter two without
/// effect here). Grid x is the number of sets.
struct ChannelStatisticsSpec {
    unsigned compute_capability = 80;
    ElementType x = ElementType::f32;
    unsigned threads = 512;
};
GeneratedKernel generate_channel_statistics(const ChannelStatisticsSpec& spec);

/// For each set, the sum of dy and the sum of dy * (x - mean) * rstd; the statistics of set s are
/// number s / statistics_share. Parameters: sum, dot (f32), dy, x, mean, rstd (pointers); elements,
/// run_length, inner, run_stride, outer_stride, inner_stride as above; statistics_share (u32).
struct ChannelGradSumsSpec {
    unsigned compute_capability = 80;
    ElementType x = ElementType::f32, dy = ElementType::f32;
    unsigned threads = 512;
};
GeneratedKernel generate_channel_grad_sums(const ChannelGradSumsSpec& spec);

/// How the sets lie, for both.
struct ChannelSets {
    std::uint32_t elements = 0, run_length = 1, inner = 1, run_stride = 0, outer_stride = 0, inner_stride = 0;
};
void add_channel_arguments(std::vector<KernelArgument>& arguments, const ChannelSets& sets);

}  // namespace heddle::kernels
