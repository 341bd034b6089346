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
    CHECK_THROWS_AS(ReferenceExpression(std::string(100000, '-') + "1"), heddle::Error);
}
