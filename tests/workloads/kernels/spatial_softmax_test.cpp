// Softmax along an inner axis, and its gradient, against doubles.
#include "workloads/kernels/spatial_softmax.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "isa/common/error.h"
#include "launcher.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;

namespace {

struct Tensor {
    std::uint32_t outer, axis, columns;
    std::size_t size() const { return std::size_t{outer} * axis * columns; }
    std::size_t at(std::uint32_t o, std::uint32_t a, std::uint32_t c) const {
        return (std::size_t{o} * axis + a) * columns + c;
    }
    template <class Visit>
    void for_each_column(Visit visit) const {
        for (std::uint32_t o = 0; o < outer; ++o)
            for (std::uint32_t c = 0; c < columns; ++c) visit(o, c);
    }
};

std::vector<double> softmax(const Tensor& t, const std::vector<double>& x, bool logarithm) {
    std::vector<double> y(t.size());
    t.for_each_column([&](auto o, auto c) {
        double maximum = -INFINITY, sum = 0;
        for (std::uint32_t a = 0; a < t.axis; ++a) maximum = std::max(maximum, x[t.at(o, a, c)]);
        for (std::uint32_t a = 0; a < t.axis; ++a) sum += std::exp(x[t.at(o, a, c)] - maximum);
        for (std::uint32_t a = 0; a < t.axis; ++a) {
            const double shifted = x[t.at(o, a, c)] - maximum;
            y[t.at(o, a, c)] = logarithm ? shifted - std::log(sum) : std::exp(shifted) / sum;
        }
    });
    return y;
}

std::vector<double> gradient(const Tensor& t, const std::vector<double>& dy, const std::vector<double>& y,
                             bool logarithm) {
    std::vector<double> dx(t.size());
    t.for_each_column([&](auto o, auto c) {
        double sum = 0;
        for (std::uint32_t a = 0; a < t.axis; ++a)
            sum += dy[t.at(o, a, c)] * (logarithm ? 1 : y[t.at(o, a, c)]);
        for (std::uint32_t a = 0; a < t.axis; ++a) {
            const std::size_t i = t.at(o, a, c);
            dx[i] = logarithm ? dy[i] - std::exp(y[i]) * sum : y[i] * (dy[i] - sum);
        }
    });
    return dx;
}

}  // namespace

TEST_CASE("Softmax along an inner axis, and its gradient") {
    // Fewer columns than threads, more than a block has, a long axis for many threads.
    for (const Tensor& t : {Tensor{2, 5, 7}, Tensor{3, 21, 1100}, Tensor{1, 300, 5}, Tensor{2, 1, 33}}) {
        for (const ElementType type : {ElementType::f32, ElementType::f16}) {
            for (const bool logarithm : {false, true}) {
                INFO(t.outer << " x " << t.axis << " x " << t.columns << " " << name_of(type) << logarithm);
                SpatialSoftmaxSpec spec;
                spec.input = spec.output = type;
                spec.logarithm = logarithm;
                spec = spatial_softmax_shape(spec, t.axis, t.columns);
                const Extent3 grid = spatial_softmax_grid(spec, t.outer, t.columns);
                Device device;
                const auto x = random_reals(type, t.size(), -4, 4, 1),
                           dy = random_reals(type, t.size(), -1, 1, 2);
                const std::uint32_t y = device.add_untouched(type, t.size()),
                                    dx = device.add_untouched(type, t.size());
                const auto sizes = [&](std::vector<KernelArgument> arguments) {
                    arguments.push_back(integer_argument("axis", t.axis));
                    arguments.push_back(integer_argument("columns", t.columns));
                    return arguments;
                };
                device.run(generate_spatial_softmax(spec), grid,
                           sizes({pointer_argument("y", y), pointer_argument("x", device.add(type, x))}));
                const double u = unit_roundoff(type);
                check_close(device.read(y), softmax(t, x, logarithm), u + 1e-5, 1e-6);
                spec.gradient = true;
                const std::vector<double> stored = device.read(y);
                device.run(generate_spatial_softmax(spec), grid,
                           sizes({pointer_argument("dx", dx), pointer_argument("dy", device.add(type, dy)),
                                  pointer_argument("y", y)}));
                check_close(device.read(dx), gradient(t, dy, stored, logarithm), u + 1e-4, 1e-5 + u * 0.1);
            }
        }
    }
    SpatialSoftmaxSpec spec;
    spec.columns = 24;
    CHECK_THROWS_AS(generate_spatial_softmax(spec), heddle::Error);
}
