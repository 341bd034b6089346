// Ops that move data: lookups, copies, concatenation, fills, host copies, collectives of one rank.
#include <algorithm>
#include <cmath>

#include "workloads/expression/expression.h"
#include "workloads/reference/kernels.h"

namespace heddle::reference {
namespace {

/// Positions that gather and scatter address: a tensor seen as [outer, axes that the indices replace, inner].
struct AxisView {
    std::size_t outer = 1, extent = 1, inner = 1;

    AxisView(const Shape& shape, std::size_t axis, std::size_t count = 1) {
        for (std::size_t i = 0; i < shape.size(); ++i) {
            (i < axis ? outer : i < axis + count ? extent : inner) *= static_cast<std::size_t>(shape[i]);
        }
    }
};

/// Calls visit(position in the indexed tensor, element of the result or of the updates).
template <class Visit>
void for_each_lookup(const Context& c, std::size_t index_tensors, std::size_t looked_up, Visit visit) {
    const Shape& shape = c.in(0).shape;
    const auto axis = static_cast<std::size_t>(c.op.get(keys::gather.axis));
    const AxisView view(shape, axis, index_tensors);
    // Several index tensors are the coordinates of one position in the axes that they replace.
    std::vector<std::size_t> indices(static_cast<std::size_t>(c.in(1).elements()), 0);
    for (std::size_t k = 0; k < index_tensors; ++k) {
        const std::vector<double> coordinate = c.gathered_input(k + 1);
        const std::int64_t extent = shape[axis + k];
        for (std::size_t e = 0; e < indices.size(); ++e) {
            indices[e] =
                indices[e] * static_cast<std::size_t>(extent) + checked_index(c, coordinate[e], extent);
        }
    }
    // With "along" every row has indices of its own, otherwise all rows share them.
    const bool along = c.op.get(keys::gather.along) != 0;
    const std::size_t rows = view.outer * view.inner;
    const std::size_t per_row = along ? (rows == 0 ? 0 : indices.size() / rows) : indices.size();
    if (per_row * rows != looked_up) c.fail("the indices do not fit the result");
    for (std::size_t e = 0; e < looked_up; ++e) {
        const std::size_t i = e % view.inner, n = e / view.inner % per_row, o = e / view.inner / per_row;
        visit((o * view.extent + indices[along ? e : n]) * view.inner + i, e);
    }
}

double converted(double value, trace::ElementType type) {
    if (type == trace::ElementType::boolean) return value != 0 ? 1 : 0;
    return type >= trace::ElementType::i64 ? std::trunc(value) : value;
}

}  // namespace

void run_embedding(const Context& c) {
    const std::vector<double> table = c.gathered_input(0), indices = c.gathered_input(1);
    const std::int64_t rows = c.in(0).shape[0];
    const auto columns = static_cast<std::size_t>(c.in(0).shape[1]);
    std::vector<double> result(indices.size() * columns);
    for (std::size_t i = 0; i < indices.size(); ++i) {
        const std::size_t row = checked_index(c, indices[i], rows);
        std::copy_n(&table[row * columns], columns, &result[i * columns]);
    }
    c.scatter_output(0, result);
}

void run_embedding_grad(const Context& c) {
    const std::vector<double> d_out = c.gathered_input(0), indices = c.gathered_input(1);
    const std::int64_t rows = c.out(0).shape[0];
    const auto columns = static_cast<std::size_t>(c.out(0).shape[1]);
    std::vector<double> result(static_cast<std::size_t>(c.out(0).elements()), 0.0);
    for (std::size_t i = 0; i < indices.size(); ++i) {
        const std::size_t row = checked_index(c, indices[i], rows);
        for (std::size_t j = 0; j < columns; ++j) result[row * columns + j] += d_out[i * columns + j];
    }
    c.scatter_output(0, result);
}

void run_copy(const Context& c) {
    const std::vector<double> x = c.gathered_input(0);
    const Shape &from = c.in(0).shape, &to = c.out(0).shape;
    const std::vector<std::int64_t> permutation = c.op.get(keys::copy.permutation);
    std::vector<double> y(static_cast<std::size_t>(c.out(0).elements()));
    if (!permutation.empty()) {
        const Shape plain = trace::broadcast_strides(from, from);
        Shape strides;
        for (const std::int64_t axis : permutation) strides.push_back(plain[static_cast<std::size_t>(axis)]);
        for (std::size_t e = 0; e < y.size(); ++e) y[e] = x[broadcast_position(e, to, strides)];
    } else if (x.size() == y.size()) {
        y = x;
    } else {
        const Shape strides = trace::broadcast_strides(from, to);
        for (std::size_t e = 0; e < y.size(); ++e) y[e] = x[broadcast_position(e, to, strides)];
    }
    for (double& value : y) value = converted(value, c.out(0).type);
    c.scatter_output(0, y);
}

void run_concat(const Context& c) {
    const auto axis = static_cast<std::size_t>(c.op.get(keys::concat.axis));
    const AxisView whole(c.out(0).shape, axis);
    std::vector<double> result(static_cast<std::size_t>(c.out(0).elements()));
    std::size_t offset = 0;
    for (std::size_t part = 0; part < c.op.inputs.size(); ++part) {
        const std::vector<double> x = c.gathered_input(part);
        const AxisView view(c.in(part).shape, axis);
        const std::size_t run = view.extent * view.inner;
        for (std::size_t o = 0; o < view.outer; ++o) {
            std::copy_n(
                x.begin() + static_cast<std::ptrdiff_t>(o * run), run,
                result.begin() + static_cast<std::ptrdiff_t>((o * whole.extent + offset) * whole.inner));
        }
        offset += view.extent;
    }
    c.scatter_output(0, result);
}

void run_fill(const Context& c) {
    const double value = c.op.get(keys::fill.value), step = c.op.get(keys::fill.step);
    for (std::size_t i = 0; i < c.op.outputs.size(); ++i) {
        std::vector<double> result(static_cast<std::size_t>(c.out(i).elements()));
        for (std::size_t e = 0; e < result.size(); ++e) result[e] = value + static_cast<double>(e) * step;
        c.scatter_output(i, result);
    }
}

void run_gather(const Context& c) {
    const std::vector<double> x = c.gathered_input(0);
    std::vector<double> y(static_cast<std::size_t>(c.out(0).elements()));
    for_each_lookup(c, c.op.inputs.size() - 1, y.size(),
                    [&](std::size_t position, std::size_t element) { y[element] = x[position]; });
    c.scatter_output(0, y);
}

void run_scatter(const Context& c) {
    std::vector<double> y = c.gathered_input(0);
    const std::size_t last = c.op.inputs.size() - 1;
    const std::vector<double> updates = c.gathered_input(last);
    const bool accumulate = c.op.get(keys::gather.accumulate) != 0;
    for_each_lookup(c, last - 1, updates.size(), [&](std::size_t position, std::size_t element) {
        y[position] = accumulate ? y[position] + updates[element] : updates[element];
    });
    c.scatter_output(0, y);
}

void run_random(const Context& c) {
    const double low = c.op.get(keys::random.low), high = c.op.get(keys::random.high);
    const auto stream = static_cast<std::uint64_t>(c.op.get(keys::random.stream));
    const bool integers = c.op.get(keys::random.distribution) == "integer";
    for (std::size_t i = 0; i < c.op.outputs.size(); ++i) {
        std::vector<double> result(static_cast<std::size_t>(c.out(i).elements()));
        for (std::size_t e = 0; e < result.size(); ++e) {
            const double value = low + (high - low) * expression::random_uniform(stream, e);
            result[e] = integers ? std::floor(value) : value;
        }
        c.scatter_output(i, result);
    }
}

void run_host_copy(const Context& c) {
    // Host and device tensors are both in TensorValues; a copy to or from an unnamed place moves nothing
    // here.
    if (!c.op.inputs.empty() && !c.op.outputs.empty()) c.scatter_output(0, c.gathered_input(0));
}

void run_collective(const Context& c) {
    if (c.op.get(keys::collective.ranks, 1) != 1)
        c.fail("collectives over several ranks are not executed by the reference");
    for (std::size_t i = 0; i < std::min(c.op.inputs.size(), c.op.outputs.size()); ++i) {
        if (c.op.inputs[i] != c.op.outputs[i]) c.scatter_output(i, c.gathered_input(i));
    }
}

}  // namespace heddle::reference
