#include "workloads/expression/expression.h"
#include "workloads/reference/kernels.h"

namespace heddle::reference {
namespace {

/// Element strides of the last two axes of an operand, in the order (row of the product, contraction) for A
/// and (contraction, column) for B.
struct Steps {
    std::int64_t first, second;
};

Steps steps(const Shape& shape, bool transposed) {
    const std::int64_t columns = shape.back();
    return transposed ? Steps{1, columns} : Steps{columns, 1};
}

}  // namespace

void run_matmul(const Context& c) {
    const Shape &a_shape = c.in(0).shape, &b_shape = c.in(1).shape, &y_shape = c.out(0).shape;
    const bool ta = c.op.get(keys::matmul.transpose_a) != 0, tb = c.op.get(keys::matmul.transpose_b) != 0;
    const std::int64_t m = y_shape[y_shape.size() - 2], n = y_shape.back();
    const std::int64_t k = ta ? a_shape[a_shape.size() - 2] : a_shape.back();
    const Steps a_steps = steps(a_shape, ta), b_steps = steps(b_shape, tb);
    const Shape batch(y_shape.begin(), y_shape.end() - 2);
    const auto batch_strides = [&](const Shape& shape) {
        return trace::broadcast_strides(Shape(shape.begin(), shape.end() - 2), batch);
    };
    const Shape a_batch = batch_strides(a_shape), b_batch = batch_strides(b_shape);
    const std::vector<double> a = c.gathered_input(0), b = c.gathered_input(1);
    std::vector<double> product(static_cast<std::size_t>(c.out(0).elements()), 0.0);

    const std::int64_t batches = trace::element_count(batch);
    for (std::int64_t item = 0; item < batches; ++item) {
        const std::size_t a_start = broadcast_position(static_cast<std::size_t>(item), batch, a_batch);
        const std::size_t b_start = broadcast_position(static_cast<std::size_t>(item), batch, b_batch);
        const double* left = a.data() + static_cast<std::int64_t>(a_start) * m * k;
        const double* right = b.data() + static_cast<std::int64_t>(b_start) * k * n;
        double* y = product.data() + item * m * n;
        for (std::int64_t i = 0; i < m; ++i) {
            for (std::int64_t p = 0; p < k; ++p) {
                const double x = left[i * a_steps.first + p * a_steps.second];
                const double* row = right + p * b_steps.first;
                for (std::int64_t j = 0; j < n; ++j) y[i * n + j] += x * row[j * b_steps.second];
            }
        }
    }

    const std::size_t extra = c.op.inputs.size() - 2;
    if (extra > 0 || c.op.has(keys::matmul.epilogue)) {
        const auto epilogue =
            expression::parse(c.op.get(keys::matmul.epilogue, extra > 0 ? "y0 = x0 + x1" : "y0 = x0"));
        const std::vector<double> scalars = c.op.get(keys::matmul.scalars);
        std::vector<std::vector<double>> operands;
        std::vector<Shape> strides;
        for (std::size_t i = 0; i < extra; ++i) {
            operands.push_back(c.gathered_input(i + 2));
            strides.push_back(trace::broadcast_strides(c.in(i + 2).shape, y_shape));
        }
        std::vector<std::vector<double>> results(epilogue.outputs.size(),
                                                 std::vector<double>(product.size()));
        std::vector<double> arguments(extra + 1), values(results.size());
        for (std::size_t element = 0; element < product.size(); ++element) {
            arguments[0] = product[element];
            for (std::size_t i = 0; i < extra; ++i) {
                arguments[i + 1] = operands[i][broadcast_position(element, y_shape, strides[i])];
            }
            expression::evaluate(epilogue, arguments, scalars, element, values);
            for (std::size_t i = 0; i < results.size(); ++i) results[i][element] = values[i];
        }
        for (std::size_t i = 0; i < results.size(); ++i) c.scatter_output(i, results[i]);
        return;
    }
    c.scatter_output(0, product);
}

}  // namespace heddle::reference
