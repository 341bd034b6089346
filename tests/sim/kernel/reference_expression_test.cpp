#include "sim/kernel/reference_expression.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "isa/common/error.h"

using heddle::kernel::ReferenceExpression;

namespace {

/// Buffer x holds 10, 11, ...; y the squares.
double value(const std::string& text, std::uint64_t i) {
    const ReferenceExpression expression(text);
    std::vector<ReferenceExpression::Source> sources;
    for (const auto& operand : expression.operands()) {
        const bool x = operand.buffer == "x";
        const double shift = operand.initial ? 0.5 : 0;
        sources.push_back({8, [x, shift](std::uint64_t k) {
                               const auto number = static_cast<double>(k);
                               return (x ? 10 + number : number * number) + shift;
                           }});
    }
    return expression.evaluate(sources, i);
}

}  // namespace

TEST_CASE("formulas follow the rules of arithmetic") {
    CHECK(value("1 + 2 * 3 - 4 / 2", 0) == 5);
    CHECK(value("-(1 + 2) * -3", 0) == 9);
    CHECK(value("10 - 3 - 2", 0) == 5);
    CHECK(value("17 % 5 + -17 % 5", 0) == 0);
    CHECK(value("i > 3 ? 1e2 : i == 3 ? .5 : 2", 4) == 100);
    CHECK(value("i > 3 ? 1e2 : i == 3 ? .5 : 2", 3) == 0.5);
    CHECK(value("i > 3 ? 1e2 : i == 3 ? .5 : 2", 1) == 2);
    CHECK(value("fma(2, 3, 4) + max(1, min(5, 3)) + abs(0 - 2)", 0) == 15);
    CHECK(value("exp(1) * sqrt(4)", 0) == Approx(2 * 2.718281828459045));
}

TEST_CASE("formulas read buffers") {
    CHECK(value("2.5 * x[i] + y[i]", 3) == 2.5 * 13 + 9);
    CHECK(value("x[count(x) - 1 - i]", 2) == 15);
    CHECK(value("x[i / 2]", 3) == 11);  // the index is rounded down
    CHECK(value("initial.y[2] - y[2]", 0) == 0.5);
    CHECK(value("sum(k, 8, x[k])", 0) == 8 * 10 + 28);
    CHECK(value("sum(r, 3, sum(k, r + 1, y[k] * (r == 2)))", 0) == 0 + 1 + 4);
    CHECK_THROWS_WITH(value("x[i + 8]", 0), Catch::Contains("buffer x") && Catch::Contains("it has 8"));
    CHECK_THROWS_WITH(value("x[0 - 1]", 0), Catch::Contains("does not exist"));
}

TEST_CASE("what is no formula is told with its column") {
    struct Case {
        const char *text, *expected;
    };
    const Case cases[] = {
        {"1 +", "column 4"},          {"2 x[i]", "column 3"},         {"a * 2", "`a` is no variable"},
        {"sine(1)", "no function"},   {"min(1)", "takes 2"},          {"(1", "expected `)`"},
        {"x[i", "expected `]`"},      {"", "expected a number"},      {"sum(k, 3)", "expected `,`"},
        {"initial.x", "expected `["}, {"k + sum(k, 1, 1)", "`k` is"},
    };
    for (const Case& test : cases) {
        CAPTURE(test.text);
        CHECK_THROWS_WITH(ReferenceExpression(test.text), Catch::Contains(test.expected));
    }
    CHECK_THROWS_AS(ReferenceExpression(std::string(100000, '(')), heddle::Error);
    CHECK_THROWS_AS(ReferenceExpression("1" + std::string(100000, '?')), heddle::Error);
    std::string branches;
    for (int i = 0; i < 100000; ++i) branches += "i ? 1 : ";
    CHECK_THROWS_WITH(ReferenceExpression(branches + "2"), Catch::Contains("nested too deeply"));
    CHECK_THROWS_WITH(ReferenceExpression(std::string(200, '(') + "1" + std::string(200, ')')),
                      Catch::Contains("nested too deeply"));
}

TEST_CASE("formulas of 200,000 terms are computed, however their terms follow one another") {
    constexpr int terms = 200'000;
    std::string sum = "x[0]", products = "1", differences = "0", signs;
    for (int i = 1; i < terms; ++i) {
        sum += " + " + std::to_string(i) + " * y[1]";
        products += i % 2 == 0 ? " * 2" : " / 2";
        differences += " - 1";
        signs += "-";
    }
    CHECK(value(sum, 0) == 10 + 0.5 * terms * (terms - 1));
    CHECK(value(products, 0) == 0.5);
    CHECK(value(differences, 0) == 1 - terms);
    CHECK(value(signs + "7", 0) == -7);
    CHECK(value(std::string(199, '(') + "7" + std::string(199, ')'), 0) == 7);
}

TEST_CASE("sums within sums, empty ones and those whose count a term decides") {
    CHECK(value("sum(a, 3, sum(b, a, 10 * a + b))", 0) == 10 + 20 + 21);
    CHECK(value("sum(a, 0, x[99]) + 5", 0) == 5);
    CHECK(value("sum(a, 0 / 0, 1)", 0) == 0);
    CHECK(value("sum(a, 2.5, 1)", 0) == 3);
    CHECK(value("2 * sum(a, 2, sum(a, 3, a)) + sum(a, 2, a)", 0) == 13);
    CHECK(value("sum(a, sum(b, 3, b), i)", 4) == 12);
}
