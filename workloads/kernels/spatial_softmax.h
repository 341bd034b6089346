// Softmax along an axis that is not the last one, as PyTorch's cunn_SpatialSoftMaxForward and ...Backward do
// it: neighbouring threads have neighbouring columns, and walk along the axis three times (forward: maximum,
// sum, result) or twice (gradient: sum, result). Long axes with few columns are shared by several threads of
// a column.
#pragma once

#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// Parameters of the kernel.
struct SpatialSoftmaxSpec {
    unsigned compute_capability = 80;
    ElementType input = ElementType::f32, output = ElementType::f32;  ///< gradient: of dy and y, of dx
    bool logarithm = false;                                           ///< log-softmax
    bool gradient = false;
    unsigned columns = 128;   ///< of a thread block
    unsigned along_axis = 1;  ///< threads for a column; columns * along_axis: a multiple of 32, at most 1024
};

/// Tensors are [outer, axis, columns], dense. Parameters, in order: forward y, x, gradient dx, dy, y
/// (pointers); axis, columns (u32). Sums and maxima are in f32: each thread's in ascending order, then those
/// of the threads of a column from first to last.
GeneratedKernel generate_spatial_softmax(const SpatialSoftmaxSpec& spec);
/// Threads of a block as PyTorch divides them: as many columns as there are, the rest along the axis.
SpatialSoftmaxSpec spatial_softmax_shape(SpatialSoftmaxSpec spec, std::uint32_t axis, std::uint32_t columns);
Extent3 spatial_softmax_grid(const SpatialSoftmaxSpec& spec, std::uint32_t outer, std::uint32_t columns);

}  // namespace heddle::kernels
