// The simulator's BLAS: products against exact and double-precision sums on the host.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "isa/numerics/counter_random.h"
#include "isa/numerics/formats.h"
#include "isa/numerics/reduction_plan.h"
#include "validation/capture/simulator/gemm_algorithm.h"
#include "validation/capture/simulator/simulator_device.h"
#include "workloads/kernels/gemm_plan.h"

using namespace heddle;
using namespace heddle::capture;

namespace {

numerics::Format format_of(Type type) {
    switch (type) {
        case Type::f64:
            return numerics::Format::fp64;
        case Type::f16:
            return numerics::Format::fp16;
        case Type::bf16:
            return numerics::Format::bf16;
        default:
            return numerics::Format::fp32;
    }
}

/// A buffer of random elements, and what they are.
struct Operand {
    Operand(Device& device, Type type, std::uint64_t count, numerics::Distribution distribution,
            std::uint64_t seed)
        : type(type), buffer(device, count * bytes_of(type)) {
        std::vector<std::byte> bytes(count * bytes_of(type));
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t bits = numerics::random_element(format_of(type), distribution, seed, i);
            std::memcpy(bytes.data() + i * bytes_of(type), &bits, bytes_of(type));
            values.push_back(numerics::to_double(format_of(type), bits));
        }
        device.write(buffer.address(), bytes);
    }
    std::vector<double> read() const {
        const std::vector<std::byte> bytes = buffer.read();
        std::vector<double> now;
        for (std::size_t i = 0; i < bytes.size() / bytes_of(type); ++i) {
            std::uint64_t bits = 0;
            std::memcpy(&bits, bytes.data() + i * bytes_of(type), bytes_of(type));
            now.push_back(numerics::to_double(format_of(type), bits));
        }
        return now;
    }
    Type type;
    DeviceBuffer buffer;
    std::vector<double> values;
};

double gelu(double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

double finished(const GemmProblem& problem, double sum, double bias) {
    switch (problem.epilogue) {
        case Epilogue::none:
            return sum;
        case Epilogue::bias:
            return sum + bias;
        case Epilogue::relu:
            return std::max(sum, 0.0);
        case Epilogue::relu_bias:
            return std::max(sum + bias, 0.0);
        case Epilogue::gelu:
            return gelu(sum);
        case Epilogue::gelu_bias:
            return gelu(sum + bias);
    }
    return 0;
}

struct Outcome {
    double worst = 0;  ///< |difference| / (1 + |A||B| + ...) over all elements
    bool padding_kept = true;
    GemmAlgorithm algorithm;
};

/// Runs algorithm number `choice` and compares with sums in double.
Outcome multiply(Device& device, const GemmProblem& problem, numerics::Distribution distribution,
                 std::size_t choice = 0) {
    const Operand a(device, problem.a, problem.elements_a(), distribution, 1);
    const Operand b(device, problem.b, problem.elements_b(), distribution, 2);
    const Operand c(device, problem.c, problem.elements_c(), distribution, 3);
    const Operand bias(device, problem.bias, problem.n, distribution, 4);
    const Operand d(device, problem.d, problem.elements_d(), distribution, 5);
    const std::vector<GemmAlgorithm> algorithms = device.blas()->algorithms(problem, 100);
    REQUIRE(algorithms.size() > choice);
    GemmOperands operands{a.buffer.address(), b.buffer.address(), problem.beta != 0 ? c.buffer.address() : 0,
                          d.buffer.address(), bias.buffer.address()};
    if (problem.in_place) operands.d = operands.c;
    Outcome outcome;
    outcome.algorithm = algorithms[choice];
    device.blas()->run(problem, outcome.algorithm, operands);
    device.blas()->observe(problem, outcome.algorithm, operands);
    const std::vector<double> result = (problem.in_place ? c : d).read();
    std::vector<bool> written(result.size(), false);
    for (std::uint64_t batch = 0; batch < problem.batch; ++batch) {
        const auto entry = [&](const Operand& operand) {
            return operand.values.size() / problem.batch * batch;
        };
        for (std::uint64_t i = 0; i < problem.m; ++i) {
            for (std::uint64_t j = 0; j < problem.n; ++j) {
                double sum = 0, magnitude = 0;
                for (std::uint64_t k = 0; k < problem.k; ++k) {
                    const double x = a.values[entry(a) + (problem.transpose_a ? k * problem.row_a() + i
                                                                              : i * problem.row_a() + k)];
                    const double y = b.values[entry(b) + (problem.transpose_b ? j * problem.row_b() + k
                                                                              : k * problem.row_b() + j)];
                    sum += x * y;
                    magnitude += std::abs(x * y);
                }
                const double old = problem.beta != 0 ? c.values[entry(c) + i * problem.row_c() + j] : 0;
                const double expected =
                    finished(problem, problem.alpha * sum + problem.beta * old, bias.values[j]);
                const std::uint64_t place = entry(problem.in_place ? c : d) + i * problem.row_d() + j;
                written[place] = true;
                outcome.worst = std::max(outcome.worst, std::abs(result[place] - expected) / (1 + magnitude));
            }
        }
    }
    for (std::size_t i = 0; i < result.size(); ++i)
        if (!written[i] && result[i] != (problem.in_place ? c : d).values[i]) outcome.padding_kept = false;
    return outcome;
}

GemmProblem problem_of(Type type, std::uint64_t m, std::uint64_t n, std::uint64_t k) {
    GemmProblem problem;
    problem.m = m;
    problem.n = n;
    problem.k = k;
    problem.a = problem.b = type;
    problem.c = problem.d = problem.bias = type == Type::f64 ? Type::f64 : Type::f32;
    problem.compute = type == Type::f64 ? Compute::f64 : Compute::f32;
    return problem;
}

}  // namespace

TEST_CASE("products of integers are exact for every type and layout") {
    const auto device = make_simulator_device();
    for (const Type type : {Type::f64, Type::f32, Type::f16, Type::bf16}) {
        for (const bool transpose_a : {false, true}) {
            for (const bool transpose_b : {false, true}) {
                GemmProblem problem = problem_of(type, 48, 40, 56);
                problem.transpose_a = transpose_a;
                problem.transpose_b = transpose_b;
                const Outcome outcome = multiply(*device, problem, numerics::Distribution::integers);
                INFO(name_of(type) << " " << transpose_a << transpose_b);
                CHECK(outcome.worst == 0);
                CHECK(outcome.algorithm.id == (bytes_of(type) == 2 ? kWgmmaAlgorithm
                                               : type == Type::f64 ? kMmaAlgorithm
                                                                   : kSimtAlgorithm));
            }
        }
    }
}

TEST_CASE("odd sizes, leading dimensions, batches, alpha, beta and products in place") {
    const auto device = make_simulator_device();
    for (const Type type : {Type::f32, Type::bf16}) {
        GemmProblem problem = problem_of(type, 17, 23, 41);
        problem.batch = 3;
        problem.alpha = 2;
        problem.beta = -1;
        problem.lda = 43;
        problem.ldb = 25;
        problem.ldc = 24;
        problem.ldd = 31;
        const Outcome outcome = multiply(*device, problem, numerics::Distribution::integers);
        CHECK(outcome.worst == 0);
        CHECK(outcome.padding_kept);
        problem.ldd = problem.ldc;
        problem.in_place = true;
        const Outcome in_place = multiply(*device, problem, numerics::Distribution::integers);
        CHECK(in_place.worst == 0);
        CHECK(in_place.padding_kept);
    }
}

TEST_CASE("epilogues") {
    const auto device = make_simulator_device();
    for (const Epilogue epilogue :
         {Epilogue::bias, Epilogue::relu, Epilogue::relu_bias, Epilogue::gelu, Epilogue::gelu_bias}) {
        INFO(name_of(epilogue));
        GemmProblem problem = problem_of(Type::f16, 32, 32, 32);
        problem.epilogue = epilogue;
        const bool exact = epilogue != Epilogue::gelu && epilogue != Epilogue::gelu_bias;
        CHECK(multiply(*device, problem, numerics::Distribution::integers).worst <= (exact ? 0 : 1e-3));
    }
}

TEST_CASE("slices of K: exact for integers, rounding differs from one chain") {
    const auto device = make_simulator_device();
    for (const Type type : {Type::f32, Type::f16}) {
        GemmProblem problem = problem_of(type, 32, 40, 2048);
        const auto algorithms = device->blas()->algorithms(problem, 100);
        std::size_t split = 0;
        while (split < algorithms.size() && algorithms[split].split_k < 4) ++split;
        REQUIRE(split < algorithms.size());
        const Outcome exact = multiply(*device, problem, numerics::Distribution::integers, split);
        CHECK(exact.worst == 0);
        CHECK(exact.algorithm.reduction_scheme == 2);
        CHECK(exact.algorithm.kernels.find("; split_k_reduce") != std::string::npos);
        CHECK(exact.algorithm.workspace_bytes ==
              4u * 32 * 40 * static_cast<unsigned>(algorithms[split].split_k));
        CHECK(multiply(*device, problem, numerics::Distribution::normal, split).worst < 2048 * 0x1p-24);
        problem.allow_split_k = false;
        for (const GemmAlgorithm& algorithm : device->blas()->algorithms(problem, 100))
            CHECK(algorithm.split_k == 1);
        problem.allow_split_k = true;
        problem.workspace_bytes = 0;
        for (const GemmAlgorithm& algorithm : device->blas()->algorithms(problem, 100))
            CHECK(algorithm.split_k == 1);
    }
}

TEST_CASE("random numbers stay within the bound, and outputs may be narrow") {
    const auto device = make_simulator_device();
    CHECK(multiply(*device, problem_of(Type::f64, 33, 20, 100), numerics::Distribution::normal).worst <
          100 * 0x1p-53);
    CHECK(multiply(*device, problem_of(Type::f32, 33, 20, 100), numerics::Distribution::normal).worst <
          100 * 0x1p-24);
    GemmProblem narrow = problem_of(Type::bf16, 64, 64, 64);
    narrow.c = narrow.d = narrow.bias = Type::bf16;
    narrow.beta = 1;
    const double worst = multiply(*device, narrow, numerics::Distribution::normal).worst;
    CHECK(worst < 0x1p-8);
    CHECK(worst > 0x1p-14);  // a bf16 result is rounded to 8 bits
}

TEST_CASE("what the library lacks has no algorithms") {
    const auto device = make_simulator_device();
    GemmProblem problem = problem_of(Type::e4m3, 32, 32, 32);
    CHECK(device->blas()->algorithms(problem, 8).empty());
    problem.a = problem.b = Type::i8;
    problem.c = problem.d = Type::i32;
    problem.compute = Compute::i32;
    CHECK(device->blas()->algorithms(problem, 8).empty());
    problem = problem_of(Type::f32, 32, 32, 32);
    problem.compute = Compute::tf32;
    CHECK(device->blas()->algorithms(problem, 8).empty());
    problem.compute = Compute::f32;
    CHECK(device->blas()->algorithms(problem, 2).size() == 2);
    GemmAlgorithm foreign;
    foreign.id = 66;
    CHECK_THROWS_AS(device->blas()->run(problem, foreign, {}), DeviceError);
}

TEST_CASE("algorithms keep the whole choice in their blob") {
    const auto device = make_simulator_device();
    for (const GemmAlgorithm& algorithm :
         device->blas()->algorithms(problem_of(Type::bf16, 512, 256, 4096), 100)) {
        const kernels::GemmChoice choice = choice_of(algorithm);
        CHECK(static_cast<int>(choice.splits) == algorithm.split_k);
        CHECK(static_cast<int>(choice.tile.m * 1000 + choice.tile.n) == algorithm.tile);
        CHECK(algorithm_of(choice).blob == algorithm.blob);
        CHECK(algorithm.blob.size() == 128);
    }
}

TEST_CASE("the choice in an algorithm tells the order of its sums: equal bits on the processor") {
    const auto device = make_simulator_device();
    for (const Type type : {Type::f64, Type::f32, Type::f16, Type::bf16}) {
        GemmProblem problem = problem_of(type, 24, 40, 1000);
        problem.transpose_b = true;
        const Operand a(*device, type, problem.elements_a(), numerics::Distribution::wide, 7);
        const Operand b(*device, type, problem.elements_b(), numerics::Distribution::wide, 8);
        const std::vector<std::byte> a_bits = a.buffer.read(), b_bits = b.buffer.read();
        std::vector<std::vector<std::byte>> distinct;
        for (const GemmAlgorithm& algorithm : device->blas()->algorithms(problem, 100)) {
            const DeviceBuffer d(*device, problem.elements_d() * bytes_of(problem.d));
            device->blas()->run(problem, algorithm, {a.buffer.address(), b.buffer.address(), 0, d.address()});
            const kernels::ElementType element = type == Type::f64   ? kernels::ElementType::f64
                                                 : type == Type::f32 ? kernels::ElementType::f32
                                                 : type == Type::f16 ? kernels::ElementType::f16
                                                                     : kernels::ElementType::bf16;
            const numerics::ReductionPlan plan = kernels::plan_of(
                choice_of(algorithm), element,
                type == Type::f64 ? kernels::ElementType::f64 : kernels::ElementType::f32, 90);
            const std::vector<std::byte> result = d.read();
            INFO(name_of(type) << " tile " << algorithm.tile << " split " << algorithm.split_k);
            CHECK(result ==
                  numerics::evaluate(plan, {problem.m, problem.n, problem.k, a_bits, b_bits, {}, {}}));
            if (std::find(distinct.begin(), distinct.end(), result) == distinct.end())
                distinct.push_back(result);
        }
        CHECK(distinct.size() > 1);  // splits round differently, or nothing was tested
    }
}
