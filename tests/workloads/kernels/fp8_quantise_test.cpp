// Quantisation to 8-bit floats against its definition in doubles.
#include "workloads/kernels/fp8_quantise.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "isa/common/error.h"
#include "launcher.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;

TEST_CASE("A matrix is quantised by its largest magnitude") {
    for (const ElementType output : {ElementType::e4m3, ElementType::e5m2}) {
        for (const ElementType input : {ElementType::bf16, ElementType::f32}) {
            // Tails of the thread blocks; the largest magnitude is negative and somewhere in the middle.
            std::vector<double> x = random_reals(input, 15003, -2, 2, 1);
            x[3001] = -7.5;
            Device device(90);
            const std::uint32_t at_x = device.add(input, x);
            const std::uint32_t scale = device.add(ElementType::f32, {3e9});  // of an earlier call
            const std::uint32_t y = device.add_untouched(output, x.size());
            const Fp8QuantiseSpec spec{90, input, output, 3};
            const std::vector<KernelArgument> arguments{pointer_argument("x", at_x),
                                                        pointer_argument("scale", scale),
                                                        integer_argument("elements", x.size())};
            device.run(generate_clear_scale(90), {1, 1, 1}, {pointer_argument("scale", scale)});
            device.run(generate_amax_scale(spec), {spec.ctas, 1, 1}, arguments);
            std::vector<KernelArgument> with_result = arguments;
            with_result.push_back(pointer_argument("y", y));
            device.run(generate_quantise(spec), {spec.ctas, 1, 1}, with_result);
            const float divisor = 7.5f / static_cast<float>(largest_finite(output));
            check_equal(device.read(scale), {divisor});
            std::vector<double> expected;
            for (const double value : x)
                expected.push_back(rounded(output, static_cast<float>(value) / divisor));
            CAPTURE(name_of(input), name_of(output));
            check_equal(device.read(y), expected);
            CHECK(std::abs(device.read(y)[3001]) == largest_finite(output));
        }
    }
    CHECK_THROWS_AS(generate_quantise({80, ElementType::bf16, ElementType::e4m3}), heddle::Error);
}
