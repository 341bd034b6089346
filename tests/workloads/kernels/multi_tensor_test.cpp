// Kernels over lists of tensors against their definitions in doubles.
#include "workloads/kernels/multi_tensor.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "isa/common/error.h"
#include "launcher.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;
namespace expression = heddle::expression;

namespace {

// Less than a vector's turn, whole chunks, several chunks and a rest.
const std::vector<std::uint64_t> sizes{5, 1024, 1, 2500, 777, 3072, 2};

std::string of(unsigned tensor, const std::string& operand) {
    return "t" + std::to_string(tensor) + "_" + operand;
}

}  // namespace

TEST_CASE("One launch takes a step of Adam for every tensor of a list") {
    for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
        for (const unsigned width : {1u, 4u}) {
            std::vector<std::uint64_t> list = sizes;
            if (width == 4)
                for (std::uint64_t& size : list) size *= 4;
            MultiTensorSpec spec;
            spec.tensors = static_cast<unsigned>(list.size());
            spec.expression = expression::parse(
                "t0 = x1 * x3; y1 = 0.5 * x2 + t0; y0 = x0 - s0 * y1 / (1 + sqrt(abs(y1)))");
            spec.inputs = {type, type, ElementType::f32, ElementType::f32};
            spec.input_is_scalar = {false, false, false, true};
            spec.outputs = {type, ElementType::f32};
            spec.vector_width = width;
            spec.threads = 64;
            spec.chunk_elements = 1024;
            Device device;
            const MultiTensorLaunch launch = multi_tensor_launch(list, spec.chunk_elements);
            std::vector<KernelArgument> arguments = launch.arguments;
            std::vector<std::vector<double>> parameters, gradients, momenta;
            std::vector<std::uint32_t> new_parameters, new_momenta;
            for (unsigned t = 0; t < list.size(); ++t) {
                parameters.push_back(random_reals(type, list[t], -1, 1, 3 * t));
                gradients.push_back(random_reals(type, list[t], -1, 1, 3 * t + 1));
                momenta.push_back(random_reals(ElementType::f32, list[t], -1, 1, 3 * t + 2));
                new_parameters.push_back(device.add_untouched(type, list[t]));
                new_momenta.push_back(device.add(ElementType::f32, momenta.back()));  // in place
                arguments.push_back(pointer_argument(of(t, "x0"), device.add(type, parameters.back())));
                arguments.push_back(pointer_argument(of(t, "x1"), device.add(type, gradients.back())));
                arguments.push_back(pointer_argument(of(t, "x2"), new_momenta.back()));
                arguments.push_back(pointer_argument(of(t, "y0"), new_parameters.back()));
                arguments.push_back(pointer_argument(of(t, "y1"), new_momenta.back()));
            }
            arguments.push_back(pointer_argument("x3", device.add(ElementType::f32, {0.25})));
            arguments.push_back(f32_argument("s0", 0.5f));
            device.run(generate_multi_tensor(spec), launch.grid, arguments);
            for (unsigned t = 0; t < list.size(); ++t) {
                std::vector<double> expected, momentum;
                for (std::size_t i = 0; i < list[t]; ++i) {
                    momentum.push_back(0.5 * momenta[t][i] + 0.25 * gradients[t][i]);
                    expected.push_back(parameters[t][i] -
                                       0.5 * momentum.back() / (1 + std::sqrt(std::abs(momentum.back()))));
                }
                INFO("tensor " << t << " of " << list[t] << ", " << name_of(type) << ", width " << width);
                check_close(device.read(new_momenta[t]), momentum, 0x1p-22, 0x1p-24);
                check_close(device.read(new_parameters[t]), expected, unit_roundoff(type) + 0x1p-21, 0x1p-22);
            }
        }
    }
}

TEST_CASE("Gradients of a list are clipped to a norm, as clip_grad_norm_ does") {
    for (const double limit : {1.0, 1000.0}) {
        Device device;
        MultiTensorNormSpec norm;
        norm.tensors = static_cast<unsigned>(sizes.size());
        norm.threads = 64;
        norm.chunk_elements = 1024;
        const MultiTensorLaunch launch = multi_tensor_launch(sizes, norm.chunk_elements);
        std::vector<std::uint32_t> gradients;
        std::vector<std::vector<double>> before;
        double square = 0;
        std::vector<KernelArgument> arguments = launch.arguments;
        for (unsigned t = 0; t < sizes.size(); ++t) {
            before.push_back(random_reals(ElementType::f32, sizes[t], -1, 1, t));
            for (const double x : before.back()) square += x * x;
            gradients.push_back(device.add(ElementType::f32, before.back()));
            arguments.push_back(pointer_argument(of(t, "x0"), gradients.back()));
        }
        const std::uint32_t sums = device.add_untouched(ElementType::f32, launch.grid[0]),
                            of_tensors = device.add_untouched(ElementType::f32, sizes.size()),
                            total = device.add_untouched(ElementType::f32, 1),
                            coefficient = device.add_untouched(ElementType::f32, 1);
        arguments.push_back(pointer_argument("sums", sums));
        device.run(generate_multi_tensor_norm(norm), launch.grid, arguments);
        // What the chunks of each tensor add up to.
        std::vector<KernelArgument> per_tensor{pointer_argument("sums", sums)};
        std::vector<double> squares(sizes.size(), 0);
        std::uint32_t first = 0;
        for (unsigned t = 0; t < sizes.size(); ++t) {
            const std::uint32_t count = divide_up(sizes[t], norm.chunk_elements);
            per_tensor.push_back(pointer_argument(of(t, "y0"), of_tensors, 4 * t));
            per_tensor.push_back(integer_argument(of(t, "first"), first));
            per_tensor.push_back(integer_argument(of(t, "count"), count));
            first += count;
            for (const double x : before[t]) squares[t] += x * x;
        }
        device.run(generate_multi_tensor_sums(80, norm.tensors), {norm.tensors, 1, 1}, per_tensor);
        check_close(device.read(of_tensors), squares, 1e-6, 0);
        device.run(generate_clip_coefficient(80), {1, 1, 1},
                   {pointer_argument("total", total), pointer_argument("coefficient", coefficient),
                    pointer_argument("sums", sums), integer_argument("count", launch.grid[0]),
                    f32_argument("limit", static_cast<float>(limit))});
        MultiTensorSpec scale;
        scale.tensors = norm.tensors;
        scale.expression = expression::parse("y0 = x0 * x1");
        scale.inputs = {ElementType::f32, ElementType::f32};
        scale.input_is_scalar = {false, true};
        scale.outputs = {ElementType::f32};
        scale.threads = 64;
        scale.chunk_elements = 1024;
        arguments = launch.arguments;
        for (unsigned t = 0; t < sizes.size(); ++t) {
            arguments.push_back(pointer_argument(of(t, "x0"), gradients[t]));
            arguments.push_back(pointer_argument(of(t, "y0"), gradients[t]));
        }
        arguments.push_back(pointer_argument("x1", coefficient));
        device.run(generate_multi_tensor(scale), launch.grid, arguments);
        const double expected = std::min(1.0, limit / (std::sqrt(square) + 1e-6));
        CHECK(device.read(total)[0] == Approx(std::sqrt(square)).epsilon(1e-6));
        CHECK(device.read(coefficient)[0] == Approx(expected).epsilon(1e-6));
        for (unsigned t = 0; t < sizes.size(); ++t) {
            std::vector<double> after;
            for (const double x : before[t]) after.push_back(x * expected);
            check_close(device.read(gradients[t]), after, 1e-6, 0);
        }
    }
}

TEST_CASE("Lists that do not fit one launch are refused") {
    MultiTensorSpec spec;
    spec.expression = expression::parse("y0 = x0");
    spec.inputs = spec.outputs = {ElementType::f32};
    spec.input_is_scalar = {false};
    spec.tensors = kMostListedTensors + 1;
    CHECK_THROWS_AS(generate_multi_tensor(spec), heddle::Error);
    spec.tensors = kMostListedTensors;
    CHECK_NOTHROW(generate_multi_tensor(spec));
    spec.expression = expression::parse("y0 = random(1)");
    CHECK_THROWS_AS(generate_multi_tensor(spec), heddle::Error);
    CHECK_THROWS_AS(generate_multi_tensor_sums(80, kMostListedTensors + 1), heddle::Error);
    CHECK_THROWS_AS(multi_tensor_launch({3, 0}, 1024), heddle::Error);
}
