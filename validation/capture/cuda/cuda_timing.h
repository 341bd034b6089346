// How long work takes on a GPU, by events on its stream.
//
// Warm: one CUDA graph holds enough copies of the work, back to back, to last about 200 us (at most 20), and
// a repetition is the time of one launch of the graph divided by the copies: the resolution of events (about
// half a microsecond) and the start of the graph are shared out. What stays is the gap between kernels of a
// graph, about a microsecond. Cold: before each repetition a kernel reads a buffer of twice the L2, so that
// the cache holds clean lines of no use; the graph then holds the work once, between two events. The host is
// far ahead of the device, so no time of the host's is in it; the start of a graph is (1 to 2 us on an H100),
// and "timing_overhead_us" of the device's description says how much that is: the time of an empty kernel
// measured in the same way.
#pragma once

#include <functional>
#include <vector>

#include "validation/capture/cuda/cuda_context.h"

namespace heddle::capture {

/// `flush_l2` puts the reading kernel on the stream; called for options.cold_l2 alone. Microseconds of each
/// repetition. Throws DeviceError.
std::vector<double> time_on(const CudaContext& context, const std::function<void()>& enqueue,
                            const TimingOptions& options, const std::function<void()>& flush_l2);

}  // namespace heddle::capture
