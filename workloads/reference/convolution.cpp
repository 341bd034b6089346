// Convolution and its gradients by their definition, one product at a time.
#include "workloads/reference/kernels.h"
#include "workloads/reference/window_walk.h"

namespace heddle::reference {
namespace {

struct Layouts {
    trace::ConvolutionSizes sizes;
    ChannelLayout x, w, y;

    explicit Layouts(const Context& c)
        : sizes(trace::convolution_sizes(c.trace, c.op)),
          x{sizes.channels_last, sizes.channels, sizes.space.inputs()},
          w{sizes.channels_last, sizes.group_channels(), sizes.space.positions()},
          y{sizes.channels_last, sizes.filters, sizes.space.outputs()} {}

    /// visit(element of x, element of w, element of y) for every product.
    template <class Visit>
    void for_each_product(Visit visit) const {
        for (std::int64_t item = 0; item < sizes.batch; ++item) {
            for (std::int64_t filter = 0; filter < sizes.filters; ++filter) {
                const std::int64_t first = filter / sizes.group_filters() * sizes.group_channels();
                for_each_window_position(sizes.space, [&](auto output, auto window, auto input) {
                    for (std::int64_t channel = 0; channel < sizes.group_channels(); ++channel) {
                        visit(x(item, first + channel, input), w(filter, channel, window),
                              y(item, filter, output));
                    }
                });
            }
        }
    }
};

}  // namespace

void run_convolution(const Context& c) {
    const Layouts layouts(c);
    const std::vector<double> x = c.gathered_input(0), w = c.gathered_input(1);
    std::vector<double> y(static_cast<std::size_t>(c.out(0).elements()), 0.0);
    if (c.op.inputs.size() > 2) {
        const std::vector<double> bias = c.gathered_input(2);
        const auto& sizes = layouts.sizes;
        for (std::int64_t item = 0; item < sizes.batch; ++item) {
            for (std::int64_t filter = 0; filter < sizes.filters; ++filter) {
                for (std::int64_t o = 0; o < sizes.space.outputs(); ++o)
                    y[layouts.y(item, filter, o)] = bias[static_cast<std::size_t>(filter)];
            }
        }
    }
    layouts.for_each_product([&](auto i, auto j, auto o) { y[o] += x[i] * w[j]; });
    c.scatter_output(0, y);
}

void run_convolution_data_grad(const Context& c) {
    const Layouts layouts(c);
    const std::vector<double> dy = c.gathered_input(0), w = c.gathered_input(1);
    std::vector<double> dx(static_cast<std::size_t>(c.out(0).elements()), 0.0);
    layouts.for_each_product([&](auto i, auto j, auto o) { dx[i] += dy[o] * w[j]; });
    c.scatter_output(0, dx);
}

void run_convolution_weight_grad(const Context& c) {
    const Layouts layouts(c);
    const auto& sizes = layouts.sizes;
    const std::vector<double> dy = c.gathered_input(0), x = c.gathered_input(1);
    std::vector<double> dw(static_cast<std::size_t>(c.out(0).elements()), 0.0);
    layouts.for_each_product([&](auto i, auto j, auto o) { dw[j] += dy[o] * x[i]; });
    c.scatter_output(0, dw);
    if (c.op.outputs.size() < 2) return;
    std::vector<double> bias(static_cast<std::size_t>(sizes.filters), 0.0);
    for (std::int64_t item = 0; item < sizes.batch; ++item) {
        for (std::int64_t filter = 0; filter < sizes.filters; ++filter) {
            for (std::int64_t o = 0; o < sizes.space.outputs(); ++o)
                bias[static_cast<std::size_t>(filter)] += dy[layouts.y(item, filter, o)];
        }
    }
    c.scatter_output(1, bias);
}

}  // namespace heddle::reference
