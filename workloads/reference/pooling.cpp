// Pooling and its gradient by their definition. The first of equal maxima counts, in row-major order of the
// window; a NaN is larger than anything, as in PyTorch.
#include <cmath>

#include "workloads/reference/kernels.h"
#include "workloads/reference/window_walk.h"

namespace heddle::reference {
namespace {

struct Layouts {
    trace::PoolingSizes sizes;
    ChannelLayout x, y;

    explicit Layouts(const Context& c)
        : sizes(trace::pooling_sizes(c.trace, c.op)),
          x{sizes.channels_last, sizes.channels, sizes.space.inputs()},
          y{sizes.channels_last, sizes.channels, sizes.space.outputs()} {}

    template <class Visit>
    void for_each_plane(Visit visit) const {
        for (std::int64_t item = 0; item < sizes.batch; ++item) {
            for (std::int64_t channel = 0; channel < sizes.channels; ++channel) visit(item, channel);
        }
    }

    /// What the mean of an output position is divided by: the positions of its window within the input or,
    /// when the padding counts, within the padded input.
    std::vector<double> divisors() const {
        const trace::SlidingWindow& s = sizes.space;
        std::vector<double> result(static_cast<std::size_t>(s.outputs()), 1.0);
        for (std::int64_t o = 0; o < s.outputs(); ++o) {
            std::int64_t rest = o;
            for (std::size_t axis = s.axes(); axis-- > 0; rest /= s.output[axis]) {
                const std::int64_t first = rest % s.output[axis] * s.strides[axis] - s.padding_low[axis];
                std::int64_t count = 0;
                for (std::int64_t w = 0; w < s.window[axis]; ++w) {
                    const std::int64_t at = first + w * s.dilation[axis];
                    count += sizes.padding_counts
                                 ? at >= -s.padding_low[axis] && at < s.input[axis] + s.padding_high[axis]
                                 : at >= 0 && at < s.input[axis];
                }
                result[static_cast<std::size_t>(o)] *= static_cast<double>(count);
            }
        }
        return result;
    }

    /// Position of the maximum of each output position of a plane.
    std::vector<std::int64_t> maxima(const std::vector<double>& values, std::int64_t item,
                                     std::int64_t channel) const {
        std::vector<std::int64_t> result(static_cast<std::size_t>(sizes.space.outputs()), -1);
        for_each_window_position(sizes.space, [&](auto output, auto, auto input) {
            std::int64_t& best = result[static_cast<std::size_t>(output)];
            const double value = values[x(item, channel, input)];
            if (best < 0 || value > values[x(item, channel, best)] || std::isnan(value)) best = input;
        });
        return result;
    }
};

}  // namespace

void run_pooling(const Context& c) {
    const Layouts layouts(c);
    const std::vector<double> x = c.gathered_input(0), divisors = layouts.divisors();
    std::vector<double> y(static_cast<std::size_t>(c.out(0).elements()), 0.0), positions(y.size(), 0.0);
    layouts.for_each_plane([&](std::int64_t item, std::int64_t channel) {
        if (layouts.sizes.maximum) {
            const std::vector<std::int64_t> best = layouts.maxima(x, item, channel);
            for (std::size_t o = 0; o < best.size(); ++o) {
                const std::size_t place = layouts.y(item, channel, static_cast<std::int64_t>(o));
                y[place] = x[layouts.x(item, channel, best[o])];
                positions[place] = static_cast<double>(best[o]);
            }
            return;
        }
        for_each_window_position(layouts.sizes.space, [&](auto output, auto, auto input) {
            y[layouts.y(item, channel, output)] += x[layouts.x(item, channel, input)];
        });
        for (std::size_t o = 0; o < divisors.size(); ++o)
            y[layouts.y(item, channel, static_cast<std::int64_t>(o))] /= divisors[o];
    });
    c.scatter_output(0, y);
    if (c.op.outputs.size() > 1) c.scatter_output(1, positions);
}

void run_pooling_grad(const Context& c) {
    const Layouts layouts(c);
    const std::vector<double> dy = c.gathered_input(0), divisors = layouts.divisors();
    const bool known = c.op.inputs.size() > 2;
    const std::vector<double> x =
        layouts.sizes.maximum && !known ? c.gathered_input(1) : std::vector<double>{};
    const std::vector<double> positions = known ? c.gathered_input(2) : std::vector<double>{};
    std::vector<double> dx(static_cast<std::size_t>(c.out(0).elements()), 0.0);
    layouts.for_each_plane([&](std::int64_t item, std::int64_t channel) {
        if (!layouts.sizes.maximum) {
            for_each_window_position(layouts.sizes.space, [&](auto output, auto, auto input) {
                dx[layouts.x(item, channel, input)] +=
                    dy[layouts.y(item, channel, output)] / divisors[static_cast<std::size_t>(output)];
            });
            return;
        }
        const std::vector<std::int64_t> best =
            known ? std::vector<std::int64_t>{} : layouts.maxima(x, item, channel);
        for (std::int64_t o = 0; o < layouts.sizes.space.outputs(); ++o) {
            const std::size_t place = layouts.y(item, channel, o);
            const auto at =
                known ? static_cast<std::int64_t>(checked_index(c, positions[place], layouts.x.positions))
                      : best[static_cast<std::size_t>(o)];
            dx[layouts.x(item, channel, at)] += dy[place];
        }
    });
    c.scatter_output(0, dx);
}

}  // namespace heddle::reference
