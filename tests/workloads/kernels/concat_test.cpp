#include "workloads/kernels/concat.h"

#include <catch2/catch.hpp>

#include "launcher.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;

TEST_CASE("Concatenation of three operands along every axis") {
    for (unsigned axis = 0; axis < 3; ++axis) {
        const unsigned outer_axis = 2 - axis;  // as counted from the outermost
        std::vector<std::vector<std::uint32_t>> shapes(3, {5, 7, 11});
        std::vector<std::uint32_t> whole{5, 7, 11};
        shapes[1][outer_axis] = 3;
        shapes[2][outer_axis] = 13;
        whole[outer_axis] += 16;
        ConcatSpec spec;
        spec.compute_capability = axis == 0 ? 70 : axis == 1 ? 80 : 90;
        spec.element_bytes = axis == 1 ? 2 : 4;
        spec.operands = 3;
        spec.dimensions = 3;
        spec.axis = axis;
        const ElementType type = axis == 1 ? ElementType::f16 : ElementType::i32;
        const std::uint32_t strides[] = {whole[1] * whole[2], whole[2], 1};
        std::vector<double> expected(whole[0] * whole[1] * whole[2], -1);
        Device device(spec.compute_capability);
        std::vector<KernelArgument> arguments;
        std::uint32_t begin = 0, counter = 0, most = 0;
        for (unsigned i = 0; i < 3; ++i) {
            const auto& shape = shapes[i];
            std::vector<double> x;
            for (std::uint32_t a = 0; a < shape[0]; ++a)
                for (std::uint32_t b = 0; b < shape[1]; ++b)
                    for (std::uint32_t c = 0; c < shape[2]; ++c) {
                        x.push_back(counter++ % 2000);
                        expected[begin + a * strides[0] + b * strides[1] + c] = x.back();
                    }
            const std::string number = std::to_string(i);
            most = std::max<std::uint32_t>(most, static_cast<std::uint32_t>(x.size()));
            arguments.push_back(pointer_argument("x" + number, device.add(type, x)));
            arguments.push_back(integer_argument("elements" + number, x.size()));
            arguments.push_back(integer_argument("extent" + number, shape[outer_axis]));
            arguments.push_back(integer_argument("begin" + number, begin));
            begin += shape[outer_axis] * strides[outer_axis];
        }
        for (unsigned d = 0; d < 3; ++d) {
            if (d < 2) arguments.push_back(integer_argument("size" + std::to_string(d), whole[2 - d]));
            arguments.push_back(integer_argument("stride" + std::to_string(d), strides[2 - d]));
        }
        const std::uint32_t y = device.add_untouched(type, expected.size());
        arguments.push_back(pointer_argument("y", y));
        device.run(generate_concat(spec), concat_grid(spec, most, 1), arguments);
        check_equal(device.read(y), expected);
    }
}
