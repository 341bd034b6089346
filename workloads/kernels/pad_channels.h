// The innermost axis of a tensor padded with zeroes, or cut back: what cuDNN's nhwcAddPaddingKernel does for
// a convolution whose channels allow no wide accesses, as the three of a picture.
#pragma once

#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// y[r, c] = x[r, c], or 0 where x has no such c. Parameters: y, x (pointers; dense), rows (u32). A thread
/// has a row; the wider of the two is read or written in one access.
struct PadChannelsSpec {
    unsigned compute_capability = 80;
    ElementType type = ElementType::bf16;
    unsigned from = 3, to = 4;  ///< of one row; the larger: 2, 4 or 8 elements, of at most 16 bytes
};
GeneratedKernel generate_pad_channels(const PadChannelsSpec& spec);
Extent3 pad_channels_grid(std::uint32_t rows);

}  // namespace heddle::kernels
