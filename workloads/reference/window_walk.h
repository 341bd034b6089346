// The pairs of elements that a convolution or a pooling combines, one pair of positions at a time.
#pragma once

#include <cstddef>

#include "workloads/trace/sliding_window.h"

namespace heddle::reference {

/// Calls visit(output position, window position, input position) for each pair whose input position is not in
/// the padding; positions are row-major within their spatial axes, visited in this order.
template <class Visit>
void for_each_window_position(const trace::SlidingWindow& s, Visit visit) {
    for (std::int64_t o = 0; o < s.outputs(); ++o) {
        for (std::int64_t w = 0; w < s.positions(); ++w) {
            std::int64_t output_rest = o, window_rest = w, position = 0, step = 1;
            bool inside = true;
            for (std::size_t axis = s.axes(); axis-- > 0;) {
                const std::int64_t at = output_rest % s.output[axis] * s.strides[axis] - s.padding_low[axis] +
                                        window_rest % s.window[axis] * s.dilation[axis];
                inside = inside && at >= 0 && at < s.input[axis];
                position += at * step;
                step *= s.input[axis];
                output_rest /= s.output[axis];
                window_rest /= s.window[axis];
            }
            if (inside) visit(o, w, position);
        }
    }
}

/// The layout of a tensor of `channels` channels and `positions` positions; a call returns the position of
/// [item, channel, position].
struct ChannelLayout {
    bool channels_last;
    std::int64_t channels, positions;

    std::size_t operator()(std::int64_t item, std::int64_t channel, std::int64_t position) const {
        return static_cast<std::size_t>(channels_last ? (item * positions + position) * channels + channel
                                                      : (item * channels + channel) * positions + position);
    }
};

}  // namespace heddle::reference
