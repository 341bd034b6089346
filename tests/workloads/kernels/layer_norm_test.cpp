#include "workloads/kernels/layer_norm.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "isa/common/error.h"
#include "launcher.h"
#include "workloads/kernels/reduction.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;

TEST_CASE("Layer norm and its gradient") {
    for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
        for (const std::uint32_t columns : {1u, 50u, 96u, 768u, 3000u}) {
            const std::uint32_t rows = 9;
            const std::size_t elements = rows * columns;
            const std::vector<double> x = random_reals(type, elements, -2, 3, 1),
                                      dy = random_reals(type, elements, -1, 1, 2);
            const std::vector<double> gamma = random_reals(ElementType::f32, columns, 0.5, 1.5, 3);
            const std::vector<double> beta = random_reals(ElementType::f32, columns, -1, 1, 4);
            const double epsilon = 1e-5;
            std::vector<double> y, mean, rstd, dx(elements), d_gamma(columns), d_beta(columns);
            for (std::uint32_t r = 0; r < rows; ++r) {
                double sum = 0, squares = 0;
                for (std::uint32_t c = 0; c < columns; ++c) sum += x[r * columns + c];
                mean.push_back(sum / columns);
                for (std::uint32_t c = 0; c < columns; ++c)
                    squares += std::pow(x[r * columns + c] - mean[r], 2);
                rstd.push_back(1 / std::sqrt(squares / columns + epsilon));
                double along = 0, constant = 0;
                for (std::uint32_t c = 0; c < columns; ++c) {
                    const double normal = (x[r * columns + c] - mean[r]) * rstd[r], g = dy[r * columns + c];
                    y.push_back(normal * gamma[c] + beta[c]);
                    constant += g * gamma[c] / columns;
                    along += g * gamma[c] * normal / columns;
                    d_gamma[c] += g * normal;
                    d_beta[c] += g;
                }
                for (std::uint32_t c = 0; c < columns; ++c) {
                    const double normal = (x[r * columns + c] - mean[r]) * rstd[r];
                    dx[r * columns + c] =
                        rstd[r] * (dy[r * columns + c] * gamma[c] - constant - normal * along);
                }
            }
            LayerNormSpec spec;
            spec.x = spec.y = type;
            spec.columns = columns;
            spec.vector_width = 8;
            Device device;
            const std::uint32_t x_buffer = device.add(type, x),
                                gamma_buffer = device.add(ElementType::f32, gamma);
            const std::uint32_t y_out = device.add_untouched(type, elements),
                                mean_out = device.add_untouched(ElementType::f32, rows),
                                rstd_out = device.add_untouched(ElementType::f32, rows);
            device.run(
                generate_layer_norm(spec), layer_norm_grid(spec, rows),
                {pointer_argument("y", y_out), pointer_argument("mean", mean_out),
                 pointer_argument("rstd", rstd_out), pointer_argument("x", x_buffer),
                 pointer_argument("gamma", gamma_buffer),
                 pointer_argument("beta", device.add(ElementType::f32, beta)), integer_argument("rows", rows),
                 f32_argument("epsilon", static_cast<float>(epsilon))});
            INFO(columns << " columns of " << name_of(type));
            const double u = unit_roundoff(type);
            // A row of one column: x - mean is 0, nothing but rounding is left.
            check_close(device.read(mean_out), mean, 1e-6, 2e-6);
            check_close(device.read(rstd_out), rstd, 2e-6, 0);
            check_close(device.read(y_out), y, u, u + 2e-5);

            LayerNormGradSpec grad;
            grad.x = grad.dy = grad.dx = type;
            grad.columns = columns;
            grad.vector_width = 8;
            const std::uint32_t workers = layer_norm_grad_workers(grad, rows, 1);
            const std::uint32_t dx_out = device.add_untouched(type, elements),
                                partial_gamma = device.add_untouched(ElementType::f32, workers * columns),
                                partial_beta = device.add_untouched(ElementType::f32, workers * columns);
            device.run(generate_layer_norm_grad(grad), layer_norm_grad_grid(workers),
                       {pointer_argument("dx", dx_out), pointer_argument("partial_gamma", partial_gamma),
                        pointer_argument("partial_beta", partial_beta),
                        pointer_argument("dy", device.add(type, dy)), pointer_argument("x", x_buffer),
                        pointer_argument("mean", mean_out), pointer_argument("rstd", rstd_out),
                        pointer_argument("gamma", gamma_buffer), integer_argument("rows", rows)});
            // rstd of a row of one column is 316: it multiplies the rounding of the differences.
            const double scale = columns == 1 ? 400 : 1;
            check_close(device.read(dx_out), dx, u, scale * (u + 1e-5));
            ReduceColumnsSpec sum;
            const std::uint32_t out_gamma = device.add_untouched(ElementType::f32, columns),
                                out_beta = device.add_untouched(ElementType::f32, columns);
            for (const auto& [from, to] : {std::pair{partial_gamma, out_gamma}, {partial_beta, out_beta}}) {
                device.run(generate_reduce_columns(sum), reduce_columns_grid(sum, columns, 1),
                           {pointer_argument("y", to), pointer_argument("x", from),
                            integer_argument("rows", workers), integer_argument("columns", columns),
                            integer_argument("row_stride", columns),
                            integer_argument("rows_per_cta", workers), f32_argument("scale", 1)});
            }
            check_close(device.read(out_gamma), d_gamma, 1e-5, scale * 1e-5);
            check_close(device.read(out_beta), d_beta, 1e-5, 1e-6);
        }
    }
}

TEST_CASE("Layer norm refuses rows that do not fit into registers") {
    LayerNormSpec spec;
    spec.columns = 20000;
    CHECK_THROWS_AS(generate_layer_norm(spec), heddle::Error);
    LayerNormGradSpec grad;
    grad.columns = 10000;
    CHECK_THROWS_AS(generate_layer_norm_grad(grad), heddle::Error);
}
