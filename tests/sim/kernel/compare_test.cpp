#include "sim/kernel/compare.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace heddle::kernel;

namespace {

Buffer buffer(const std::string& name, ElementType type, const std::vector<double>& numbers) {
    Buffer result{name, type, {numbers.size()}, std::vector<std::byte>(numbers.size() * bytes_of(type))};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        store_element(type, result.values, i, from_double(type, numbers[i]));
    }
    return result;
}

CompareOutcome against_expression(const Buffer& got, const std::string& text, Tolerance tolerance) {
    CompareDeclaration declaration;
    declaration.reference = ExpressionReference{text};
    declaration.tolerance = tolerance;
    return compare(declaration, {got}, {got});
}

}  // namespace

TEST_CASE("an element passes by absolute, relative or ULP tolerance") {
    const Buffer got = buffer("y", ElementType::f32, {1, 2, 4.001, 8});
    CHECK(against_expression(got, "pow(2, i)", {0, 0, 0, false}).mismatches == 1);
    CHECK(against_expression(got, "pow(2, i)", {0.0011, 0, 0, false}).passed());
    CHECK_FALSE(against_expression(got, "pow(2, i)", {0.0009, 0, 0, false}).passed());
    CHECK(against_expression(got, "pow(2, i)", {0, 0.00026, 0, false}).passed());
    CHECK_FALSE(against_expression(got, "pow(2, i)", {0, 0.00024, 0, false}).passed());
    // 0.001 in units of 2^-21.
    CHECK(against_expression(got, "pow(2, i)", {0, 0, 2098, false}).passed());
    CHECK_FALSE(against_expression(got, "pow(2, i)", {0, 0, 2096, false}).passed());
}

TEST_CASE("a comparison counts all mismatches and lists the first") {
    const CompareOutcome outcome = against_expression(
        buffer("y", ElementType::s32, std::vector<double>(50, 7)), "i % 2 * 7", {0, 0, 0, true});
    CHECK(outcome.elements == 50);
    CHECK(outcome.mismatches == 25);
    REQUIRE(outcome.first.size() == kShownMismatches);
    CHECK(outcome.first[1].index == 2);
    CHECK(outcome.first[1].got == "7");
    CHECK(outcome.first[1].expected == "0");
    CHECK(outcome.first[1].ulp == 7);
    CHECK(outcome.largest_absolute_error == 7);
}

TEST_CASE("bit-exact tells the zeros apart, tolerance does not") {
    const Buffer got = buffer("y", ElementType::f32, {-0.0});
    CHECK_FALSE(against_expression(got, "0", {0, 0, 0, true}).passed());
    CHECK(against_expression(got, "0", {0, 0, 0, false}).passed());
}

TEST_CASE("NaN and infinity pass for themselves alone") {
    const double inf = HUGE_VAL;
    const Tolerance wide{1e30, 1, 0, false};
    CHECK(against_expression(buffer("y", ElementType::f32, {inf}), "1 / 0", wide).passed());
    CHECK_FALSE(against_expression(buffer("y", ElementType::f32, {1}), "1 / 0", wide).passed());
    CHECK_FALSE(against_expression(buffer("y", ElementType::f32, {-inf}), "1 / 0", wide).passed());
    CHECK(against_expression(buffer("y", ElementType::f32, {NAN}), "0 / 0", wide).passed());
    CHECK_FALSE(against_expression(buffer("y", ElementType::f32, {NAN}), "1", wide).passed());
    CHECK_FALSE(against_expression(buffer("y", ElementType::f32, {1}), "0 / 0", wide).passed());
}

TEST_CASE("values before the launches can be named") {
    CompareDeclaration declaration;
    declaration.reference = ExpressionReference{"initial.y[i] + 1"};
    const Buffer before = buffer("y", ElementType::f64, {1, 2, 3}),
                 after = buffer("y", ElementType::f64, {2, 3, 4});
    CHECK(compare(declaration, {after}, {before}).passed());
    CHECK(compare(declaration, {before}, {before}).mismatches == 3);
}

TEST_CASE("a matrix product is that of the textbook, in every layout") {
    // [1 2 3; 4 5 6] [1 0; 2 1; 0 3] = [5 11; 14 23]
    const std::vector<double> a{1, 2, 3, 4, 5, 6}, a_transposed{1, 4, 2, 5, 3, 6};
    const std::vector<double> b{1, 0, 2, 1, 0, 3}, b_transposed{1, 2, 0, 0, 1, 3};
    for (const bool transpose_a : {false, true}) {
        for (const bool transpose_b : {false, true}) {
            for (const bool transpose_output : {false, true}) {
                MatmulReference matmul;
                matmul.a = 0;
                matmul.b = 1;
                matmul.m = 2;
                matmul.n = 2;
                matmul.k = 3;
                matmul.transpose_a = transpose_a;
                matmul.transpose_b = transpose_b;
                matmul.transpose_output = transpose_output;
                CompareDeclaration declaration;
                declaration.buffer = 2;
                declaration.reference = matmul;
                const std::vector<double> c = transpose_output ? std::vector<double>{5, 14, 11, 23}
                                                               : std::vector<double>{5, 11, 14, 23};
                const std::vector<Buffer> buffers{
                    buffer("a", ElementType::f32, transpose_a ? a_transposed : a),
                    buffer("b", ElementType::f32, transpose_b ? b_transposed : b),
                    buffer("c", ElementType::f32, c)};
                CHECK(compare(declaration, buffers, buffers).passed());
            }
        }
    }
}

TEST_CASE("alpha and beta scale the product and what was there before") {
    MatmulReference matmul;
    matmul.a = 0;
    matmul.b = 0;
    matmul.c = 1;
    matmul.m = matmul.n = matmul.k = 1;
    matmul.alpha = 2;
    matmul.beta = -1;
    CompareDeclaration declaration;
    declaration.buffer = 1;
    declaration.reference = matmul;
    const Buffer a = buffer("a", ElementType::f32, {3});
    // 2 * 9 - 5
    CHECK(compare(declaration, {a, buffer("c", ElementType::f32, {13})},
                  {a, buffer("c", ElementType::f32, {5})})
              .passed());
}

TEST_CASE("buffers of other types and lengths") {
    CompareDeclaration declaration;
    declaration.reference = OtherBufferReference{1};
    const Buffer halves = buffer("h", ElementType::f16, {1, 2.5}),
                 floats = buffer("f", ElementType::f32, {1, 2.5});
    CHECK(compare(declaration, {halves, floats}, {}).passed());
    CHECK_THROWS_WITH(compare(declaration, {halves, buffer("f", ElementType::f32, {1})}, {}),
                      Catch::Contains("has 1 elements"));
}
