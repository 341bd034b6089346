#include "workloads/kernels/compiled_layer_norm.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "launcher.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;

TEST_CASE("Layer norm as torch.compile writes it, pieces whole and not") {
    for (const std::uint32_t columns : {1025u, 2048u, 4112u}) {
        for (const bool weights : {false, true}) {
            CompiledLayerNormSpec spec;
            spec.compute_capability = weights ? 90 : 80;
            spec.x = spec.y = weights ? ElementType::bf16 : ElementType::f16;
            spec.weights = weights;
            spec.columns = columns;
            const std::uint32_t rows = 3;
            const std::vector<double> x = random_reals(spec.x, rows * columns, -2, 5, columns);
            const std::vector<double> gamma = random_reals(spec.weight, columns, -1, 1, 2),
                                      beta = random_reals(spec.weight, columns, -1, 1, 3);
            Device device(spec.compute_capability);
            const std::uint32_t y = device.add_untouched(spec.y, x.size());
            std::vector<KernelArgument> arguments{
                pointer_argument("y", y), pointer_argument("x", device.add(spec.x, x)),
                integer_argument("rows", rows), f32_argument("epsilon", 1e-5f)};
            if (weights) {
                arguments.push_back(pointer_argument("gamma", device.add(spec.weight, gamma)));
                arguments.push_back(pointer_argument("beta", device.add(spec.weight, beta)));
            }
            device.run(generate_compiled_layer_norm(spec), compiled_layer_norm_grid(spec, rows), arguments);
            std::vector<double> expected;
            for (std::uint32_t r = 0; r < rows; ++r) {
                const auto row = x.begin() + r * columns;
                double mean = 0, variance = 0;
                for (std::uint32_t c = 0; c < columns; ++c) mean += row[c] / columns;
                for (std::uint32_t c = 0; c < columns; ++c)
                    variance += (row[c] - mean) * (row[c] - mean) / columns;
                for (std::uint32_t c = 0; c < columns; ++c) {
                    const double normal = (row[c] - mean) / std::sqrt(variance + 1e-5f);
                    expected.push_back(weights ? normal * gamma[c] + beta[c] : normal);
                }
            }
            INFO(columns << " columns");
            // Half a unit of the result's type; sums of f32 and the reciprocal root are far finer.
            check_close(device.read(y), expected, 1.01 * unit_roundoff(spec.y), 4e-6);
        }
    }
}
