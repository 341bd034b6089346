#include "workloads/kernels/softmax.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "launcher.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;

namespace {

struct RowSoftmax {
    std::vector<double> y;
    double log_sum;
};

RowSoftmax softmax(const std::vector<double>& x) {
    const double maximum = *std::max_element(x.begin(), x.end());
    RowSoftmax result{{}, 0};
    double sum = 0;
    for (const double value : x) result.y.push_back(std::exp(value - maximum)), sum += result.y.back();
    for (double& value : result.y) value /= sum;
    result.log_sum = maximum + std::log(sum);
    return result;
}

}  // namespace

TEST_CASE("Softmax and cross-entropy of rows of every length") {
    for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
        for (const std::uint32_t columns : {1u, 10u, 100u, 513u, 1000u, 5000u, 20001u}) {
            const std::uint32_t rows = columns > 4000 ? 2 : 6;
            SoftmaxSpec spec;
            spec.input = spec.output = type;
            spec.columns = columns;
            spec.vector_width = 4;
            spec.cross_entropy = true;
            spec.label = columns % 2 == 0 ? ElementType::i64 : ElementType::i32;
            const std::vector<double> x = random_reals(type, rows * columns, -12, 12, columns);
            std::vector<double> labels = random_integers(rows, 0, static_cast<int>(columns) - 1, 9);
            labels.back() = -100;  // ignored
            Device device;
            const std::uint32_t y = device.add_untouched(type, x.size()),
                                loss = device.add_untouched(ElementType::f32, rows);
            device.run(
                generate_softmax(spec), softmax_grid(spec, rows),
                {pointer_argument("y", y), pointer_argument("x", device.add(type, x)),
                 pointer_argument("labels", device.add(spec.label, labels)), pointer_argument("loss", loss),
                 integer_argument("rows", rows), integer_argument("row_stride", columns)});
            std::vector<double> reference, losses;
            for (std::uint32_t r = 0; r < rows; ++r) {
                const std::vector<double> row(x.begin() + r * columns, x.begin() + (r + 1) * columns);
                const RowSoftmax exact = softmax(row);
                reference.insert(reference.end(), exact.y.begin(), exact.y.end());
                losses.push_back(labels[r] < 0 ? 0
                                               : exact.log_sum - row[static_cast<std::size_t>(labels[r])]);
            }
            INFO(columns << " columns of " << name_of(type));
            // Exponentials to about 4 ulp and their sum; then one rounding to the output.
            check_close(device.read(y), reference, 4e-6 + unit_roundoff(type), 0x1p-126);
            check_close(device.read(loss), losses, 1e-6, 4e-6);
        }
    }
}

TEST_CASE("Softmax of masked columns") {
    for (const std::uint32_t columns : {40u, 20000u}) {
        SoftmaxSpec spec;
        spec.columns = columns;
        std::vector<double> x(columns, -INFINITY);
        x[7] = 3;
        x[columns - 1] = 3;
        Device device;
        const std::uint32_t y = device.add_untouched(ElementType::f32, columns);
        device.run(generate_softmax(spec), softmax_grid(spec, 1),
                   {pointer_argument("y", y), pointer_argument("x", device.add(ElementType::f32, x)),
                    integer_argument("rows", 1), integer_argument("row_stride", columns)});
        std::vector<double> reference(columns, 0);
        reference[7] = reference[columns - 1] = 0.5;
        check_equal(device.read(y), reference);
    }
}

TEST_CASE("Gradients of softmax and of cross-entropy") {
    for (const ElementType type : {ElementType::f32, ElementType::f16}) {
        for (const std::uint32_t columns : {6u, 130u, 1500u}) {
            const std::uint32_t rows = 5;
            const std::vector<double> y = random_reals(type, rows * columns, 0, 1, 1),
                                      dy = random_reals(type, rows * columns, -1, 1, 2);
            SoftmaxGradSpec spec;
            spec.y = spec.dy = spec.dx = type;
            spec.columns = columns;
            spec.vector_width = 2;
            Device device;
            const std::uint32_t dx = device.add_untouched(type, y.size()), y_buffer = device.add(type, y);
            device.run(generate_softmax_grad(spec), softmax_grad_grid(spec, rows),
                       {pointer_argument("dx", dx), pointer_argument("y", y_buffer),
                        pointer_argument("dy", device.add(type, dy)), integer_argument("rows", rows),
                        integer_argument("row_stride", columns)});
            std::vector<double> reference;
            double magnitude = 0;
            for (std::uint32_t r = 0; r < rows; ++r) {
                double sum = 0, absolute = 0;
                for (std::uint32_t c = 0; c < columns; ++c) {
                    sum += y[r * columns + c] * dy[r * columns + c];
                    absolute += std::fabs(y[r * columns + c] * dy[r * columns + c]);
                }
                magnitude = std::max(magnitude, absolute);
                for (std::uint32_t c = 0; c < columns; ++c) {
                    reference.push_back(y[r * columns + c] * (dy[r * columns + c] - sum));
                }
            }
            check_close(device.read(dx), reference, unit_roundoff(type), 0x1p-23 * magnitude);

            CrossEntropyGradSpec cross;
            cross.probability = cross.output = type;
            cross.vector_width = 2;
            std::vector<double> labels = random_integers(rows, 0, static_cast<int>(columns) - 1, 9);
            labels[1] = -1;
            const std::uint32_t d_logits = device.add_untouched(type, y.size());
            device.run(generate_cross_entropy_grad(cross), cross_entropy_grad_grid(cross, rows, columns),
                       {pointer_argument("dx", d_logits), pointer_argument("p", y_buffer),
                        pointer_argument("labels", device.add(ElementType::i64, labels)),
                        integer_argument("rows", rows), integer_argument("columns", columns),
                        f32_argument("scale", 0.125f)});
            std::vector<double> expected;
            for (std::uint32_t r = 0; r < rows; ++r) {
                for (std::uint32_t c = 0; c < columns; ++c) {
                    const double value = 0.125 * (y[r * columns + c] - (labels[r] == c ? 1 : 0));
                    expected.push_back(labels[r] < 0 ? 0 : rounded(type, value));
                }
            }
            check_close(device.read(d_logits), expected, 2 * unit_roundoff(type), 0);
        }
    }
}
