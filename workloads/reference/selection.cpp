// Dropout, quantisation to 8-bit floats, the largest of a row, sums along an axis.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "isa/numerics/philox.h"
#include "workloads/reference/kernels.h"

namespace heddle::reference {

void run_dropout(const Context& c) {
    const double probability = c.op.get(keys::dropout.probability), scale = 1 / (1 - probability);
    const auto seed = static_cast<std::uint64_t>(c.op.get(keys::dropout.seed));
    const auto offset = static_cast<std::uint64_t>(c.op.get(keys::dropout.offset));
    std::vector<double> y = c.gathered_input(0), mask(y.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
        const float uniform = numerics::philox_uniform(seed, offset, i);
        mask[i] = uniform >= static_cast<float>(probability) ? 1 : 0;
        y[i] *= mask[i] * scale;
    }
    c.scatter_output(0, y);
    if (c.op.outputs.size() > 1) c.scatter_output(1, mask);
}

void run_quantise(const Context& c) {
    const double scale = c.op.inputs.size() > 1 ? c.gathered_input(1)[0] : 1;
    const double largest = c.out(0).type == trace::ElementType::e4m3 ? 448 : 57344;
    std::vector<double> y = c.gathered_input(0);
    double amax = 0;
    for (double& value : y) {
        amax = std::max(amax, std::fabs(value));
        value = std::clamp(value * scale, -largest, largest);
    }
    c.scatter_output(0, y);
    if (c.op.outputs.size() > 1) c.scatter_output(1, std::vector<double>{amax});
}

void run_top_k(const Context& c) {
    const auto columns = static_cast<std::size_t>(c.in(0).shape.back());
    const auto k = static_cast<std::size_t>(c.out(0).shape.back());
    const std::vector<double> x = c.gathered_input(0);
    std::vector<double> values, indices;
    for (std::size_t first = 0; first < x.size(); first += columns) {
        std::vector<std::size_t> order(columns);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return x[first + a] > x[first + b]; });
        for (std::size_t i = 0; i < k; ++i) {
            values.push_back(x[first + order[i]]);
            indices.push_back(static_cast<double>(order[i]));
        }
    }
    c.scatter_output(0, values);
    c.scatter_output(1, indices);
}

void run_expert_slots(const Context& c) {
    const std::int64_t experts = c.op.get(keys::expert_slots.experts, 1),
                       capacity = c.op.get(keys::expert_slots.capacity, 1);
    const std::vector<double> chosen = c.gathered_input(0);
    std::vector<std::int64_t> taken(static_cast<std::size_t>(experts), 0);
    std::vector<double> slots;
    for (const double index : chosen) {
        const std::size_t expert = checked_index(c, index, experts);
        const std::int64_t place = taken[expert]++;
        slots.push_back(static_cast<double>(
            place < capacity ? static_cast<std::int64_t>(expert) * capacity + place : experts * capacity));
    }
    c.scatter_output(0, slots);
}

void run_cumulative_sum(const Context& c) {
    const Shape& shape = c.in(0).shape;
    const trace::AlongAxis along = trace::along_axis(
        shape, c.op.get(keys::cumulative_sum.axis, static_cast<std::int64_t>(shape.size()) - 1));
    const bool reverse = c.op.get(keys::cumulative_sum.reverse) != 0;
    std::vector<double> y = c.gathered_input(0);
    for (std::int64_t line = 0; line < along.outer * along.inner; ++line) {
        const std::int64_t first = line / along.inner * along.extent * along.inner + line % along.inner;
        double sum = 0;
        for (std::int64_t i = 0; i < along.extent; ++i) {
            const std::int64_t place = reverse ? along.extent - 1 - i : i;
            double& element = y[static_cast<std::size_t>(first + place * along.inner)];
            sum += element;
            element = sum;
        }
    }
    c.scatter_output(0, y);
}

}  // namespace heddle::reference
