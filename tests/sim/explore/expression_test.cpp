// Formulas with units, against arithmetic done by hand.
#include "sim/explore/expression.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "isa/common/error.h"

using namespace heddle::explore;
using heddle::Error;

namespace {

const std::vector<std::string> kKnown{"hbm.stacks", "hbm.bandwidth", "sm.count", "power.limit", "area.total"};

std::optional<Value> lookup(const std::string& name) {
    if (name == "hbm.stacks") return Value{5, {}};
    if (name == "sm.count") return Value{132, {}};
    if (name == "hbm.bandwidth") return Value{3.35e12, dimension_of(heddle::models::Quantity::bandwidth)};
    if (name == "power.limit") return Value{700, dimension_of(heddle::models::Quantity::power)};
    if (name == "area.total") return Value{814, {0, 0, 0, 0, 1}};
    return std::nullopt;
}

double number(const std::string& text) {
    return Expression::parse(text, "--link").evaluate(lookup, kKnown).number;
}

std::string error_of(const std::string& text) {
    try {
        (void)number(text);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

double violation(const std::string& text) {
    return Constraint::parse(text).violation(lookup, kKnown);
}

}  // namespace

TEST_CASE("formulas follow the rules of arithmetic") {
    CHECK(number("2 + 3 * 4") == 14);
    CHECK(number("(2 + 3) * 4") == 20);
    CHECK(number("2 - 3 - 4") == -5);
    CHECK(number("2 ^ 3 ^ 2") == 512);
    CHECK(number("-2 ^ 2") == -4);
    CHECK(number("12 / 4 / 3") == 1);
    CHECK(number("sm.count/2") == 66);
    CHECK(number("min(3, 2) + max(3, 2) + round(2.6) + floor(2.6) + ceil(2.1) + sqrt(16)") ==
          2 + 3 + 3 + 2 + 3 + 4);
}

TEST_CASE("units carry their factors and their dimensions") {
    CHECK(number("hbm.stacks * 670 GB/s") == 3.35e12);
    CHECK(number("50MiB") == 50.0 * 1024 * 1024);
    CHECK(number("2 KiB / 1 B") == 2048);
    CHECK(number("93 %") == 0.93);
    const Value time = Expression::parse("16 GiB / hbm.bandwidth", "--link").evaluate(lookup, kKnown);
    CHECK(name_of(time.dimension) == "s");
    CHECK(time.number == Approx(16.0 * 1024 * 1024 * 1024 / 3.35e12));
    CHECK(name_of(Expression::parse("power.limit * 2 s", "--link").evaluate(lookup, kKnown).dimension) ==
          "J");
}

TEST_CASE("what is wrong with a formula is said with its token") {
    CHECK(error_of("hbm.stack * 2").find("did you mean `hbm.stacks`") != std::string::npos);
    CHECK(error_of("2 *").find("ends too early") != std::string::npos);
    CHECK(error_of("2 * (3").find("ends too early") != std::string::npos);
    CHECK(error_of("2 ) 3").find("cannot read `) 3`") != std::string::npos);
    CHECK(error_of("5 parsecs").find("no unit `parsecs`") != std::string::npos);
    CHECK(error_of("log(3)").find("no function `log`") != std::string::npos);
    CHECK(error_of("5 W + 3 B").find("W beside B") != std::string::npos);
    CHECK(error_of(std::string(5000, '(')).size() > 0);
    CHECK_THROWS_AS(Constraint::parse("sm.count"), Error);
    CHECK_THROWS_AS(Link::parse("sm.count"), Error);
    CHECK_THROWS_AS(violation("area.total <= 814 W"), Error);
}

TEST_CASE("constraints hold or say by how much they do not") {
    CHECK(violation("power.limit <= 700 W") == 0);
    CHECK(violation("power.limit < 700 W") > 0);
    CHECK(violation("area.total <= 814 mm2") == 0);
    CHECK(violation("area.total <= 407 mm2") == Approx(0.5));
    CHECK(violation("sm.count >= 264") == Approx(0.5));
    CHECK(violation("sm.count == 132") == 0);
}

TEST_CASE("formulas may be nested two hundred deep, and no deeper") {
    CHECK(number(std::string(198, '-') + "7") == 7);
    CHECK(number(std::string(190, '(') + "7" + std::string(190, ')')) == 7);
    for (const char* deep : {"-", "(", "2^", "min(1,"}) {
        std::string text;
        for (unsigned i = 0; i < 100000; ++i) text += deep;
        CHECK(error_of(text + "1").find("nested too deeply") != std::string::npos);
    }
}

TEST_CASE("sums of 200,000 terms are computed") {
    std::string sum = "1 W";
    for (unsigned i = 1; i < 200'000; ++i) sum += " + 1 W";
    CHECK(number(sum) == 200'000);
}

TEST_CASE("powers of quantities are whole and small, those of numbers what they may") {
    CHECK(number("2 ^ 0.5 ^ 2") == Approx(std::pow(2, 0.25)));
    for (const char* text : {"power.limit ^ 1e300", "power.limit ^ (1 / 0)", "power.limit ^ 0.5"})
        CHECK(error_of(text).find("bare number") != std::string::npos);
    // Powers of powers, beyond what an int counts.
    CHECK(error_of("power.limit ^ 1000 ^ 1 + power.limit").find("beside") != std::string::npos);
    CHECK(error_of("((power.limit ^ 1000) ^ 1000) ^ 1000 + power.limit").find("beside") != std::string::npos);
}
