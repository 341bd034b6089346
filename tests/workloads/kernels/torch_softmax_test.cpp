#include "workloads/kernels/torch_softmax.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "launcher.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;

namespace {

using Values = std::vector<double>;

Values softmax_of(const Values& x, std::uint32_t columns, bool logarithm) {
    Values y;
    for (std::size_t first = 0; first < x.size(); first += columns) {
        const auto begin = x.begin() + static_cast<std::ptrdiff_t>(first), end = begin + columns;
        const double maximum = *std::max_element(begin, end);
        double sum = 0;
        for (auto i = begin; i != end; ++i) sum += std::exp(*i - maximum);
        for (auto i = begin; i != end; ++i)
            y.push_back(logarithm ? *i - maximum - std::log(sum) : std::exp(*i - maximum) / sum);
    }
    return y;
}

struct Types {
    unsigned capability;
    ElementType input, output;
};
constexpr Types kTypes[] = {{70, ElementType::f16, ElementType::f16},
                            {70, ElementType::f16, ElementType::f32},
                            {80, ElementType::f32, ElementType::f32},
                            {90, ElementType::bf16, ElementType::bf16}};

}  // namespace

TEST_CASE("Softmax and log-softmax as PyTorch launches them, rows of every length and alignment") {
    for (const Types& types : kTypes) {
        for (const TorchSoftmaxForm form : {TorchSoftmaxForm::three_reads, TorchSoftmaxForm::staged}) {
            for (const std::uint32_t columns : {1u, 3u, 31u, 70u, 129u, 1000u, 1027u, 1544u, 4107u}) {
                if (form == TorchSoftmaxForm::three_reads && columns <= 1000) continue;
                const bool logarithm = columns % 2 == 1;
                const std::uint32_t rows = columns > 1000 ? 3 : 11;
                TorchSoftmaxSpec spec{types.capability, types.input, types.output, columns, logarithm, form};
                const Values x = random_reals(types.input, rows * columns, -9, 9, columns);
                Device device(types.capability);
                const std::uint32_t y = device.add_untouched(types.output, x.size());
                device.run(generate_torch_softmax(spec), torch_softmax_grid(spec, rows),
                           {pointer_argument("y", y), pointer_argument("x", device.add(types.input, x)),
                            integer_argument("rows", rows)});
                INFO(columns << " columns of " << name_of(types.input) << (logarithm ? ", logarithm" : ""));
                // The exponential is within 2 ulp, the sum of f32 terms within about log2 of their number; logarithms
                // of up to 30 lose what their size takes from the last place.
                check_close(device.read(y), softmax_of(x, columns, logarithm), 3e-6 + unit_roundoff(types.output),
                            logarithm ? 4e-6 : 0x1p-25);
            }
        }
    }
}

TEST_CASE("Softmax of rows in which all but two columns are masked") {
    for (const std::uint32_t columns : {40u, 2000u, 2001u}) {
        Values x(columns, -INFINITY), reference(columns, 0);
        x[7] = x[columns - 1] = 3;
        reference[7] = reference[columns - 1] = 0.5;
        TorchSoftmaxSpec spec;
        spec.columns = columns;
        Device device;
        const std::uint32_t y = device.add_untouched(ElementType::f32, columns);
        device.run(generate_torch_softmax(spec), torch_softmax_grid(spec, 1),
                   {pointer_argument("y", y), pointer_argument("x", device.add(ElementType::f32, x)),
                    integer_argument("rows", 1)});
        check_equal(device.read(y), reference);
    }
}

TEST_CASE("Gradients of softmax and log-softmax as PyTorch launches them") {
    for (const Types& types : kTypes) {
        for (const std::uint32_t columns : {1u, 5u, 70u, 129u, 1000u, 1027u, 4107u}) {
            const bool logarithm = columns % 2 == 1;
            const std::uint32_t rows = columns > 1000 ? 3 : 11;
            // Gradients come in the type of the result, which for "half to float" is the wider one.
            const TorchSoftmaxGradSpec spec{types.capability, types.output, types.input, columns, logarithm};
            Values y = softmax_of(random_reals(types.output, rows * columns, -4, 4, columns), columns, logarithm);
            for (double& value : y) value = rounded(types.output, value);
            const Values g = random_reals(types.output, y.size(), -1, 1, 2);
            Device device(types.capability);
            const std::uint32_t dx = device.add_untouched(types.input, y.size());
            device.run(generate_torch_softmax_grad(spec), torch_softmax_grad_grid(spec, rows),
                       {pointer_argument("dx", dx), pointer_argument("g", device.add(types.output, g)),
                        pointer_argument("y", device.add(types.output, y)), integer_argument("rows", rows)});
            Values reference;
            double largest = 0;
            for (std::size_t first = 0; first < y.size(); first += columns) {
                double sum = 0, absolute = 0;
                for (std::size_t i = first; i < first + columns; ++i) sum += g[i], absolute += std::fabs(g[i]);
                largest = std::max(largest, absolute);
                for (std::size_t i = first; i < first + columns; ++i)
                    reference.push_back(g[i] - (logarithm ? std::exp(y[i]) : y[i]) * sum);
            }
            INFO(columns << " columns of " << name_of(types.output));
            check_close(device.read(dx), reference, unit_roundoff(types.input), 0x1p-22 * largest);
        }
    }
}
