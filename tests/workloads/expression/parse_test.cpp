#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "isa/common/error.h"
#include "workloads/expression/derivative.h"
#include "workloads/expression/expression.h"

using namespace heddle::expression;

namespace {

double value(const std::string& text, std::vector<double> inputs = {}, std::vector<double> scalars = {}) {
    double result = 0;
    evaluate(parse(text), inputs, scalars, 0, {&result, 1});
    return result;
}

std::string message(const std::string& text) {
    try {
        parse(text);
    } catch (const heddle::Error& error) {
        return error.what();
    }
    return "no error";
}

}  // namespace

TEST_CASE("operators bind and associate as in C") {
    CHECK(value("y0 = 2 + 3 * 4 - 6 / 2") == 11);
    CHECK(value("y0 = 2 - 3 - 4") == -5);
    CHECK(value("y0 = 24 / 4 / 2") == 3);
    CHECK(value("y0 = -x0 * x0", {3}) == -9);
    CHECK(value("y0 = 2 - -3") == 5);
    CHECK(value("y0 = -(2 + 3) * 4") == -20);
    CHECK(value("y0 = 1 + 2 > 2 ? 10 : 20") == 10);
    CHECK(value("y0 = x0 > 0 ? 1 : x0 < 0 ? -1 : 0", {-7}) == -1);
    CHECK(value("y0 = 1e-3 * 2.5E2") == 0.25);
    CHECK(value("y0 = -inf") == -INFINITY);
}

TEST_CASE("functions follow the C library") {
    CHECK(value("y0 = tanh(x0)", {0.3}) == std::tanh(0.3));
    CHECK(value("y0 = erf(x0)", {0.3}) == std::erf(0.3));
    CHECK(value("y0 = exp(log(x0))", {5.0}) == Approx(5.0).epsilon(1e-15));
    CHECK(value("y0 = rsqrt(x0)", {16.0}) == 0.25);
    CHECK(value("y0 = reciprocal(x0)", {8.0}) == 0.125);
    CHECK(value("y0 = sigmoid(x0)", {0.0}) == 0.5);
    CHECK(value("y0 = floor(x0)", {-1.5}) == -2);
    CHECK(value("y0 = abs(x0) + max(x0, 2) + min(x0, 2)", {-5.0}) == 2);
    CHECK(value("y0 = select(x0 == 1, s0, s1)", {1.0}, {4, 5}) == 4);
    // PTX max.f32: the operand that is not NaN.
    CHECK(value("y0 = max(x0, 0)", {NAN}) == 0);
}

TEST_CASE("outputs and temporaries may be used after their definition") {
    const Expression sgd = parse("y0 = s1 * x0 + x1; y1 = x2 - s0 * y0");
    CHECK(sgd.input_count == 3);
    CHECK(sgd.scalar_count == 2);
    CHECK(operations_per_element(sgd) == 4);
    const std::vector<double> inputs{2, 3, 10}, scalars{0.5, 0.25};
    std::vector<double> outputs(2);
    evaluate(sgd, inputs, scalars, 0, outputs);
    CHECK(outputs[0] == 3.5);
    CHECK(outputs[1] == 8.25);
    CHECK(value("t0 = x0 + 1; y0 = t0 * t0", {2}) == 9);
}

TEST_CASE("errors name the column and the nearest word") {
    CHECK(message("y0 = x0 +").find("column 10") != std::string::npos);
    CHECK(message("y0 = sqr(x0)").find("did you mean sqrt?") != std::string::npos);
    CHECK(message("y0 = sqr(x0)").find("column 6") != std::string::npos);
    CHECK(message("y1 = x0").find("y0 is never assigned") != std::string::npos);
    CHECK(message("y0 = y1; y1 = x0").find("y1 is used before") != std::string::npos);
    CHECK(message("y0 = 1; y0 = 2").find("assigned twice") != std::string::npos);
    CHECK(message("y0 = x0 x1").find("column 9") != std::string::npos);
    CHECK(message("").find("no output") != std::string::npos);
    CHECK(message("z = 1").find("column 1") != std::string::npos);
    CHECK(message("y0 = max(x0)").find("expected ','") != std::string::npos);
    CHECK(message("y0 = random(x0)").find("stream") != std::string::npos);
    CHECK(message("y0 = " + std::string(100000, '(')).find("nested") != std::string::npos);
}

TEST_CASE("an expression that reads what is not given is an error") {
    double result = 0;
    CHECK_THROWS_AS(evaluate(parse("y0 = x1"), std::vector<double>{1}, {}, 0, {&result, 1}), heddle::Error);
    CHECK_THROWS_AS(evaluate(parse("y0 = s0"), {}, {}, 0, {&result, 1}), heddle::Error);
}

TEST_CASE("text of an expression parses back to the same text and the same values") {
    for (const std::string text :
         {"y0 = max(x0 + x1, 0)", "y0 = x1 > 0 ? x0 : 0", "y0 = (x0 - (x1 - x2)) / (x1 * x2)",
          "y0 = -(-x0) * (-2)", "y0 = s1 * x0 + x1; y1 = x2 - s0 * y0",
          "y0 = (x0 > 0) * (x1 ? x0 : (x2 ? 1 : 2))", "y0 = x0 - -0.1",
          "t0 = tanh(0.7978845608028654 * (x0 + 0.044715 * x0 * x0 * x0)); y0 = 0.5 * x0 * (1 + t0); y1 = t0 "
          "* t0",
          "y0 = random(3) < s0 ? x0 : 0; y1 = x0"}) {
        const Expression first = parse(text);
        const std::string printed = to_text(first);
        CAPTURE(text, printed);
        const Expression second = parse(printed);
        CHECK(to_text(second) == printed);
        CHECK(operations_per_element(second) == operations_per_element(first));
        const std::vector<double> inputs{0.7, -1.3, 2.1}, scalars{0.9, 0.1};
        std::vector<double> a(first.outputs.size()), b(second.outputs.size());
        evaluate(first, inputs, scalars, 5, a);
        evaluate(second, inputs, scalars, 5, b);
        CHECK(a == b);
    }
}

TEST_CASE("text grows with the nodes, not with the paths through them") {
    std::string text = "t0 = x0 + x1; ";
    for (int i = 1; i < 60; ++i) {
        text +=
            "t" + std::to_string(i) + " = t" + std::to_string(i - 1) + " * t" + std::to_string(i - 1) + "; ";
    }
    CHECK(to_text(parse(text + "y0 = t59")).size() < 2000);
}

TEST_CASE("sums of 200,000 terms are read, computed, derived and printed, each term once") {
    constexpr int terms = 200'000;
    std::string text = "y0 = x0";
    for (int i = 1; i < terms; ++i) text += " + " + std::to_string(i) + " * x0";
    const Expression sum = parse(text);
    CHECK(operations_per_element(sum) == 2 * (terms - 1));
    // x0 of every term is 1: 1 + (1 + 2 + ... + 199,999), exact in double.
    CHECK(value(text, {1}) == 1 + 0.5 * terms * (terms - 1));
    const std::string printed = to_text(sum);
    CHECK(printed.size() <= text.size());  // a megabyte and more: not for a message of a test
    CHECK(printed.compare(0, 30, text, 0, 30) == 0);
    CHECK(parse(printed).nodes.size() == sum.nodes.size());
    const std::string slope = to_text(gradient(sum, 0));
    CHECK(value(slope, {5, 1}) == 1 + 0.5 * terms * (terms - 1));
}

TEST_CASE("chains of calls, powers and branches print no deeper than they can be read") {
    // Each wraps the one before it; the last two chains grow on the right and on the left of an operator.
    for (const std::string wrap : {"exp(-abs(#))", "x1 - (#)", "(#) * x1 + 1", "x1 > # ? x0 : 2", "x0 ? x1 : (#)",
                                   "-#", "min(x1, # + 1)", "# / 2 + x1"}) {
        CAPTURE(wrap);
        constexpr int links = 3000;
        std::string text;
        for (int i = 0; i < links; ++i) {
            std::string link = wrap;
            const std::string before = i == 0 ? "x0" : "t" + std::to_string(i - 1);
            link.replace(link.find('#'), 1, before);
            text += "t" + std::to_string(i) + " = " + link + "; ";
        }
        const Expression chain = parse(text + "y0 = t" + std::to_string(links - 1));
        const std::string printed = to_text(chain);
        CHECK(printed.size() < 2 * text.size());
        const Expression again = parse(printed);
        CHECK(again.nodes.size() == chain.nodes.size());
        double first = 0, second = 1;
        const std::vector<double> inputs{0.75, 0.25};
        evaluate(chain, inputs, {}, 0, {&first, 1});
        evaluate(again, inputs, {}, 0, {&second, 1});
        CHECK(first == second);
    }
}

TEST_CASE("what nests as deep as a text may is printed as it was written") {
    // 200 levels: the assignment is one.
    std::string text = "x0";
    for (int i = 0; i < 196; ++i) text = "x1 - (" + text + " - x2)";
    text = "y0 = " + text;
    CHECK(to_text(parse(text)) == text);
    CHECK_NOTHROW(parse("y0 = " + std::string(199, '(') + "x0" + std::string(199, ')')));
    CHECK(message("y0 = " + std::string(200, '(') + "x0" + std::string(200, ')')).find("nested too deeply") !=
          std::string::npos);
}

TEST_CASE("random numbers are uniform, and streams and elements are independent") {
    constexpr int count = 1 << 16;
    double sum = 0, squares = 0, neighbours = 0, streams = 0, previous = 0.5;
    for (int i = 0; i < count; ++i) {
        const double u = random_uniform(0, i);
        REQUIRE(u >= 0);
        REQUIRE(u < 1);
        REQUIRE(u * 0x1p24 == std::floor(u * 0x1p24));
        sum += u;
        squares += u * u;
        neighbours += (u - 0.5) * (previous - 0.5);
        streams += (u - 0.5) * (random_uniform(1, i) - 0.5);
        previous = u;
    }
    // Mean 1/2 and mean square 1/3 within five standard errors; correlations are 0 within five.
    CHECK(sum / count == Approx(0.5).margin(5 * std::sqrt(1.0 / 12 / count)));
    CHECK(squares / count == Approx(1.0 / 3).margin(5 * std::sqrt(4.0 / 45 / count)));
    CHECK(std::fabs(neighbours / count) < 5.0 / 12 / std::sqrt(count));
    CHECK(std::fabs(streams / count) < 5.0 / 12 / std::sqrt(count));
    // The definition in expression.h, written out once more in 32-bit steps.
    const auto mix = [](std::uint32_t x) {
        x ^= x >> 16;
        x *= 0x7feb352du;
        x ^= x >> 15;
        x *= 0x846ca68bu;
        return x ^ (x >> 16);
    };
    const std::uint32_t key = mix(7u + 0x9e3779b9u);
    CHECK(random_uniform(7, 12345) == (mix(mix(12345u) + key) >> 8) / 16777216.0);
}
