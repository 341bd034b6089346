// Softmax, cross-entropy and layer normalisation, forward and backward, row by row.
#include <algorithm>
#include <cmath>
#include <functional>

#include "workloads/reference/kernels.h"
#include "workloads/trace/shape.h"

namespace heddle::reference {
namespace {

struct Rows {
    std::size_t rows, columns;
};

Rows rows_of(const Tensor& tensor) {
    const auto columns = static_cast<std::size_t>(tensor.shape.back());
    return {columns == 0 ? 0 : static_cast<std::size_t>(tensor.elements()) / columns, columns};
}

/// Writes softmax(x) to y and returns log(sum(exp(x))).
double softmax_row(const double* x, double* y, std::size_t columns) {
    const double largest = *std::max_element(x, x + columns);
    double sum = 0;
    for (std::size_t j = 0; j < columns; ++j) sum += y[j] = std::exp(x[j] - largest);
    for (std::size_t j = 0; j < columns; ++j) y[j] /= sum;
    return largest + std::log(sum);
}

}  // namespace

namespace {

/// Calls visit(places in the tensor of the elements along the op's axis) for each that is normalised.
void for_each_along_axis(const Context& c,
                         const std::function<void(const std::vector<std::size_t>&)>& visit) {
    const trace::Shape& shape = c.in(0).shape;
    const auto rank = static_cast<std::int64_t>(shape.size());
    const trace::AlongAxis along = trace::along_axis(shape, c.op.get(keys::softmax.axis, rank - 1));
    std::vector<std::size_t> places(static_cast<std::size_t>(along.extent));
    for (std::int64_t outer = 0; outer < along.outer; ++outer) {
        for (std::int64_t inner = 0; inner < along.inner; ++inner) {
            for (std::int64_t a = 0; a < along.extent; ++a)
                places[static_cast<std::size_t>(a)] =
                    static_cast<std::size_t>((outer * along.extent + a) * along.inner + inner);
            visit(places);
        }
    }
}

}  // namespace

void run_softmax(const Context& c) {
    const std::vector<double> x = c.gathered_input(0);
    const bool logarithm = c.op.get(keys::softmax.logarithm) != 0;
    std::vector<double> y(x.size());
    for_each_along_axis(c, [&](const std::vector<std::size_t>& places) {
        std::vector<double> row, result(places.size());
        for (const std::size_t place : places) row.push_back(x[place]);
        const double log_sum = softmax_row(row.data(), result.data(), row.size());
        for (std::size_t j = 0; j < places.size(); ++j)
            y[places[j]] = logarithm ? row[j] - log_sum : result[j];
    });
    c.scatter_output(0, y);
}

void run_softmax_grad(const Context& c) {
    const std::vector<double> y = c.gathered_input(0), dy = c.gathered_input(1);
    const bool logarithm = c.op.get(keys::softmax.logarithm) != 0;
    std::vector<double> dx(y.size());
    for_each_along_axis(c, [&](const std::vector<std::size_t>& places) {
        double dot = 0;
        for (const std::size_t j : places) dot += logarithm ? dy[j] : y[j] * dy[j];
        for (const std::size_t j : places)
            dx[j] = logarithm ? dy[j] - std::exp(y[j]) * dot : y[j] * (dy[j] - dot);
    });
    c.scatter_output(0, dx);
}

void run_softmax_cross_entropy(const Context& c) {
    const auto [rows, columns] = rows_of(c.in(0));
    const std::vector<double> x = c.gathered_input(0), labels = c.gathered_input(1);
    std::vector<double> probabilities(x.size()), loss(rows);
    for (std::size_t i = 0; i < rows; ++i) {
        const double log_sum = softmax_row(&x[i * columns], &probabilities[i * columns], columns);
        loss[i] = log_sum - x[i * columns + checked_index(c, labels[i], static_cast<std::int64_t>(columns))];
    }
    c.scatter_output(0, loss);
    if (c.op.outputs.size() > 1) c.scatter_output(1, probabilities);
}

void run_softmax_cross_entropy_grad(const Context& c) {
    const auto [rows, columns] = rows_of(c.in(0));
    const std::vector<double> labels = c.gathered_input(1);
    std::vector<double> dx = c.gathered_input(0);
    const double scale = c.op.get(keys::softmax_cross_entropy.scale);
    const bool weighted = c.op.inputs.size() > 2;
    const std::vector<double> d_loss = weighted ? c.gathered_input(2) : std::vector<double>{};
    for (std::size_t i = 0; i < rows; ++i) {
        const double factor = scale * (weighted ? d_loss[i] : 1);
        dx[i * columns + checked_index(c, labels[i], static_cast<std::int64_t>(columns))] -= 1;
        for (std::size_t j = i * columns; j < (i + 1) * columns; ++j) dx[j] *= factor;
    }
    c.scatter_output(0, dx);
}

void run_layer_norm(const Context& c) {
    const auto [rows, columns] = rows_of(c.in(0));
    const bool weights = c.op.inputs.size() > 2;
    const std::vector<double> x = c.gathered_input(0);
    const std::vector<double> gamma = weights ? c.gathered_input(1) : std::vector<double>(columns, 1.0);
    const std::vector<double> beta = weights ? c.gathered_input(2) : std::vector<double>(columns, 0.0);
    const double epsilon = c.op.get(keys::layer_norm.epsilon);
    std::vector<double> y(x.size()), means(rows), rstds(rows);
    for (std::size_t i = 0; i < rows; ++i) {
        const double* row = &x[i * columns];
        double mean = 0, variance = 0;
        for (std::size_t j = 0; j < columns; ++j) mean += row[j];
        mean /= static_cast<double>(columns);
        for (std::size_t j = 0; j < columns; ++j) variance += (row[j] - mean) * (row[j] - mean);
        variance /= static_cast<double>(columns);
        const double rstd = 1 / std::sqrt(variance + epsilon);
        for (std::size_t j = 0; j < columns; ++j)
            y[i * columns + j] = (row[j] - mean) * rstd * gamma[j] + beta[j];
        means[i] = mean;
        rstds[i] = rstd;
    }
    c.scatter_output(0, y);
    if (c.op.outputs.size() > 1) c.scatter_output(1, means);
    if (c.op.outputs.size() > 2) c.scatter_output(2, rstds);
}

void run_layer_norm_grad(const Context& c) {
    const auto [rows, columns] = rows_of(c.in(0));
    const std::vector<double> dy = c.gathered_input(0), x = c.gathered_input(1), mean = c.gathered_input(2),
                              rstd = c.gathered_input(3), gamma = c.gathered_input(4);
    std::vector<double> dx(x.size()), d_gamma(columns, 0.0), d_beta(columns, 0.0);
    for (std::size_t i = 0; i < rows; ++i) {
        double sum = 0, dot = 0;
        for (std::size_t j = 0; j < columns; ++j) {
            const std::size_t e = i * columns + j;
            const double hat = (x[e] - mean[i]) * rstd[i];
            sum += dy[e] * gamma[j];
            dot += dy[e] * gamma[j] * hat;
            d_gamma[j] += dy[e] * hat;
            d_beta[j] += dy[e];
        }
        sum /= static_cast<double>(columns);
        dot /= static_cast<double>(columns);
        for (std::size_t j = 0; j < columns; ++j) {
            const std::size_t e = i * columns + j;
            dx[e] = rstd[i] * (dy[e] * gamma[j] - sum - (x[e] - mean[i]) * rstd[i] * dot);
        }
    }
    for (std::size_t i = 1; i < c.op.outputs.size(); ++i) {
        if (static_cast<std::size_t>(c.out(i).elements()) != columns)
            c.fail("partial sums are not executed here");
    }
    c.scatter_output(0, dx);
    if (c.op.outputs.size() > 1) c.scatter_output(1, d_gamma);
    if (c.op.outputs.size() > 2) c.scatter_output(2, d_beta);
}

}  // namespace heddle::reference
