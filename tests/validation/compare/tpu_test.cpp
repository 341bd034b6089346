#include "validation/compare/tpu.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cstring>

#include "../read/capture_folder.h"
#include "isa/numerics/dot_product_unit.h"
#include "validation/capture/blas_record.h"
#include "validation/capture/gemm_inputs.h"
#include "validation/capture/record.h"

using namespace heddle;
using namespace heddle::validation;
using capture::GemmInputs;
using capture::GemmProblem;
using capture::Operand;
using capture::Type;
using heddle::validation::test::CaptureFolder;

namespace {

/// Elements of A (m x k) or B (n x k), k contiguous.
template <typename Element>
std::vector<Element> operand(const GemmProblem& problem, const GemmInputs& inputs, Operand which) {
    std::vector<Element> elements((which == Operand::a ? problem.m : problem.n) * problem.k);
    capture::fill_elements(problem, inputs, which, 0, std::as_writable_bytes(std::span(elements)));
    return elements;
}

/// What a tensor core of the H100 gives, in blocks of 16 along K.
std::vector<float> on_hopper(const GemmProblem& problem, const GemmInputs& inputs) {
    const auto a = operand<std::uint16_t>(problem, inputs, Operand::a),
               b = operand<std::uint16_t>(problem, inputs, Operand::b);
    const auto parameters = numerics::parameters_for(numerics::Generation::hopper, numerics::Format::bf16,
                                                     numerics::Format::fp32);
    std::vector<float> d(problem.m * problem.n);
    numerics::matrix_multiply_accumulate(parameters, problem.m, problem.n, problem.k, a.data(), b.data(),
                                         d.data(), d.data());
    return d;
}

std::vector<std::int32_t> exact_integers(const GemmProblem& problem, const GemmInputs& inputs) {
    const auto a = operand<std::int8_t>(problem, inputs, Operand::a),
               b = operand<std::int8_t>(problem, inputs, Operand::b);
    std::vector<std::int32_t> d;
    for (std::uint64_t i = 0; i < problem.m; ++i) {
        for (std::uint64_t j = 0; j < problem.n; ++j) {
            std::int32_t sum = 0;
            for (std::uint64_t k = 0; k < problem.k; ++k)
                sum += std::int32_t{a[i * problem.k + k]} * b[j * problem.k + k];
            d.push_back(sum);
        }
    }
    return d;
}

GemmProblem problem_of_type(Type input, Type output) {
    GemmProblem problem;
    problem.m = 9;
    problem.n = 12;
    problem.k = 300;
    problem.transpose_b = true;
    problem.a = problem.b = input;
    problem.c = problem.d = output;
    problem.compute = input == Type::i8 ? capture::Compute::i32 : capture::Compute::f32;
    return problem;
}

/// A capture with one product as the section `numerics` records it, all of D.
template <typename Output>
void write_capture(const CaptureFolder& folder, const GemmProblem& problem, const GemmInputs& inputs,
                   const std::vector<Output>& d) {
    folder.write(
        "manifest.json",
        R"({"schema": 1, "silicon": false, "order": ["numerics"], "sections": {"numerics": {"complete": true}}})");
    capture::Record algorithm, result, record, recorded_inputs;
    algorithm.object("algorithm", capture::record_of(capture::GemmAlgorithm{}));
    algorithm.hexadecimal("hash", 0).flag("deterministic", true).integer("sample", 0);
    recorded_inputs.integer("generator", capture::kInputGenerator).hexadecimal("seed", inputs.seed);
    recorded_inputs.text("a", name_of(inputs.a)).text("b", name_of(inputs.b)).text("c", name_of(inputs.c));
    record.object("problem", capture::record_of(problem)).object("inputs", recorded_inputs);
    record.integer("elements", static_cast<std::int64_t>(d.size())).flag("whole", true);
    record.objects("results", {algorithm});
    std::filesystem::remove(folder.path() / "numerics.jsonl");
    std::filesystem::remove(folder.path() / "numerics.bin");
    capture::Journal journal(folder.path(), "numerics");
    journal.add("product", record, std::as_bytes(std::span(d)));
    capture::Record order;  // the section holds these too
    order.text("kind", "order").object("problem", capture::record_of(problem));
    journal.add("order 0 of product", order);
}

Comparison compared(const CaptureFolder& folder) {
    const std::vector<Comparison> comparisons =
        compare_tpu(RecordedCapture(folder.path(), true), models::TpuConfig(), {});
    REQUIRE(comparisons.size() == 1);
    return comparisons[0];
}

GemmInputs inputs_with(std::uint64_t seed) {
    GemmInputs inputs;
    inputs.seed = seed;
    return inputs;
}

}  // namespace

TEST_CASE("bf16 products of a tensor core are within the TPU's bound, and equal bits are not needed") {
    const CaptureFolder folder("tpu");
    const GemmProblem problem = problem_of_type(Type::bf16, Type::f32);
    write_capture(folder, problem, inputs_with(7), on_hopper(problem, inputs_with(7)));
    const Comparison comparison = compared(folder);
    CHECK(comparison.holds());
    CHECK(comparison.bars.size() == 2);
    REQUIRE(comparison.rows.size() == 1);
    CHECK_FALSE(comparison.rows[0].bits);  // nothing is claimed of bits
    CHECK(*comparison.rows[0].frobenius < *comparison.rows[0].bound);
    CHECK(*comparison.rows[0].frobenius > 0);  // other orders, other bits
    CHECK(*comparison.rows[0].frobenius < 1e-5);
}

TEST_CASE("an element that is off by more than any order could make it is found, with its place") {
    const CaptureFolder folder("tpu");
    const GemmProblem problem = problem_of_type(Type::bf16, Type::f32);
    std::vector<float> d = on_hopper(problem, inputs_with(7));
    d[5 * 12 + 3] += 0.05f;  // the bound is about 0.01
    write_capture(folder, problem, inputs_with(7), d);
    const Comparison comparison = compared(folder);
    CHECK_FALSE(comparison.holds());
    CHECK(comparison.bars[0].reached == Approx(100.0 * 107 / 108));
    CHECK_THAT(comparison.rows[0].note, Catch::Contains("row 5 column 3"));
}

TEST_CASE("a NaN in a captured product is not within any bound") {
    const CaptureFolder folder("tpu");
    const GemmProblem problem = problem_of_type(Type::bf16, Type::f32);
    std::vector<float> d = on_hopper(problem, inputs_with(7));
    d[0] = std::bit_cast<float>(0x7FFFFFFFu);
    write_capture(folder, problem, inputs_with(7), d);
    CHECK_FALSE(compared(folder).holds());
}

TEST_CASE("int8 products must be equal to the last bit") {
    const CaptureFolder folder("tpu");
    const GemmProblem problem = problem_of_type(Type::i8, Type::i32);
    GemmInputs inputs = inputs_with(8);
    inputs.a = inputs.b = numerics::Distribution::uniform;
    std::vector<std::int32_t> d = exact_integers(problem, inputs);
    write_capture(folder, problem, inputs, d);
    CHECK(compared(folder).holds());
    d[100] ^= 1;
    write_capture(folder, problem, inputs, d);
    const Comparison comparison = compared(folder);
    CHECK_FALSE(comparison.holds());
    CHECK_THAT(comparison.rows[0].note, Catch::Contains("row 8 column 4"));
}

TEST_CASE("products that a TPU does not compute are left out, and counted") {
    const CaptureFolder folder("tpu");
    GemmProblem problem = problem_of_type(Type::bf16, Type::f32);
    problem.alpha = 0.5;
    write_capture(folder, problem, inputs_with(7), on_hopper(problem, inputs_with(7)));
    CHECK(compare_tpu(RecordedCapture(folder.path(), true), models::TpuConfig(), {}).empty());
}
