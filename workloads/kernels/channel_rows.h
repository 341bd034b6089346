// Statistics of the columns of a matrix of rows, and the sums that their gradients need: batch norm with
// channels last. A CTA has neighbouring columns and some of the rows; what CTAs found of a column comes
// together in a second launch, as in the two phases of PyTorch's
// batch_norm_collect_statistics_channels_last_kernel and batch_norm_backward_reduce_channels_last_kernel,
// which meet within one launch by semaphores.
#pragma once

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// Parameters of the two kernels.
struct ChannelRowsSpec {
    unsigned compute_capability = 80;
    ElementType x = ElementType::f32, dy = ElementType::f32;
    bool gradient = false;
    unsigned vector_width = 1;  ///< divides the columns: 1, 2, 4 or 8, of at most 16 bytes
    unsigned lanes = 32;        ///< side by side along the columns, a power of two up to 32
    unsigned threads = 256;
};

/// Statistics. Parameters: mean, squares (f32 [splits, columns]: of the rows of a CTA, the mean and the sum
/// of squared differences from it, by Welford's method), x (pointers); rows, columns, rows_per_cta (u32).
/// Gradient. Parameters: sum, dot (f32 [splits, columns]: of dy, and of dy * (x - mean) * rstd), dy, x,
/// mean_of, rstd_of (f32 [columns]; pointers); the same numbers. They are then added by reduce_columns.
GeneratedKernel generate_channel_rows(const ChannelRowsSpec& spec);
Extent3 channel_rows_grid(const ChannelRowsSpec& spec, std::uint32_t columns, std::uint32_t splits);

/// Returns the widest accesses and the lanes for `columns` columns.
ChannelRowsSpec choose_channel_rows(unsigned compute_capability, ElementType x, ElementType dy, bool gradient,
                                    std::uint32_t columns);
/// Returns the rows of a CTA for one wave of full SMs; each thread has at least 16.
std::uint32_t channel_rows_per_cta(const ChannelRowsSpec& spec, std::uint32_t rows, std::uint32_t columns,
                                   unsigned sm_count);

/// Parameters of the kernel that computes the statistics of all rows from those of the CTAs.
struct ChannelMergeSpec {
    unsigned compute_capability = 80;
    bool running = false;
};

/// Parameters: mean, rstd, with running statistics also running_mean, running_variance, new_mean,
/// new_variance, then means, squares (f32 [splits, columns]); rows, columns, rows_per_cta, splits (u32);
/// epsilon, momentum, unbias (f32) as of generate_channel_statistics().
GeneratedKernel generate_channel_merge(const ChannelMergeSpec& spec);
Extent3 channel_merge_grid(std::uint32_t columns);

}  // namespace heddle::kernels
