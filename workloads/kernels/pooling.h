// Pooling over windows, the maximum or the mean, and its gradient. A thread has one element of the result;
// gradients gather from the windows that reach their element, so that sums have a fixed order (window
// descending). The first of equal maxima counts; a NaN is larger than anything.
#pragma once

#include <vector>

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// Parameters of the kernel.
struct PoolingSpec {
    unsigned compute_capability = 80;
    ElementType type = ElementType::f32;       ///< f32, f16 or bf16; sums in f32
    ElementType positions = ElementType::i64;  ///< i64 or i32
    bool gradient = false;
    bool maximum = true;
    bool channels_last = false;
    bool padding_counts = true;  ///< of the mean
    /// Forward: stores positions of maxima. The gradient of a maximum reads them.
    bool with_positions = false;
    unsigned axes = 2;
};

/// The sizes of a pooling; lists have one entry for each spatial axis.
struct PoolingGeometry {
    std::uint32_t batch = 1, channels = 1;
    std::vector<std::uint32_t> input, window, output, strides, dilation;
    std::vector<std::uint32_t> padding_low, padding_high;
};

/// Pointers: from (x or dy), to (y or dx), positions. Throws heddle::Error for what it cannot do.
GeneratedKernel generate_pooling(const PoolingSpec& spec);
/// The grid and the scalar arguments of a launch.
struct PoolingLaunch {
    Extent3 grid{1, 1, 1};
    std::vector<KernelArgument> scalars;
};
PoolingLaunch pooling_launch(const PoolingSpec& spec, const PoolingGeometry& geometry);

}  // namespace heddle::kernels
