// The sizes of a convolution or a pooling, from its operands and attributes.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/trace/trace.h"

namespace heddle::trace {

/// One to three spatial axes. An output position o along an axis looks at the input positions
/// o * stride - padding_low + w * dilation, w in [0, window).
struct SlidingWindow {
    std::vector<std::int64_t> input, window, output;  ///< extents, one per spatial axis
    std::vector<std::int64_t> strides, padding_low, padding_high, dilation;

    std::size_t axes() const { return input.size(); }
    std::int64_t inputs() const;     ///< positions of the input
    std::int64_t positions() const;  ///< positions of the window
    std::int64_t outputs() const;    ///< positions of the output
};

/// y[n, o, k] = sum over window positions w and channels c of k's group of x[n, o * stride - low + w *
/// dilation, c] * w[k, w, c].
struct ConvolutionSizes {
    bool channels_last = false;  ///< "layout": false nchw, true nhwc
    std::int64_t batch = 0, channels = 0, filters = 0, groups = 1;
    SlidingWindow space;

    std::int64_t group_channels() const { return channels / groups; }
    std::int64_t group_filters() const { return filters / groups; }
};

/// The sizes of a pooling.
struct PoolingSizes {
    bool channels_last = false;
    bool maximum = false;  ///< else the mean
    /// Whether positions in the padding count when the mean is taken. What the last window reaches beyond the
    /// padding (round_up) never counts.
    bool padding_counts = true;
    std::int64_t batch = 0, channels = 0;
    SlidingWindow space;
};

/// Return the sizes of a convolution, convolution_data_grad or convolution_weight_grad, and of a pooling or
/// pooling_grad. They throw heddle::Error that names the op when attributes or shapes do not fit.
ConvolutionSizes convolution_sizes(const Trace& trace, const Op& op);
PoolingSizes pooling_sizes(const Trace& trace, const Op& op);

}  // namespace heddle::trace
