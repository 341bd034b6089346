// Units: factors are those of the SI (decimal prefixes) and IEC 80000-13 (binary prefixes).
#include "sim/config/quantity.h"

#include <catch2/catch.hpp>

#include "isa/common/error.h"

using heddle::Error;
using heddle::models::Parameter;
using heddle::models::ParameterList;
using heddle::models::Quantity;
using heddle::sim::format_parameter;
using heddle::sim::format_quantity;
using heddle::sim::format_range;
using heddle::sim::parse_parameter;
using heddle::sim::parse_quantity;

TEST_CASE("quantities are read into base units") {
    struct Case {
        const char* text;
        Quantity quantity;
        double expected;
    };
    const Case cases[] = {
        {"132", Quantity::count, 132},
        {"1.5e3", Quantity::count, 1500},
        {"1830 MHz", Quantity::frequency, 1.83e9},
        {"1.98 GHz", Quantity::frequency, 1.98e9},
        {"1980MHz", Quantity::frequency, 1.98e9},
        {"50 MiB", Quantity::bytes, 52428800},
        {"50 MB", Quantity::bytes, 50000000},
        {"80 GB", Quantity::bytes, 80e9},
        {"228 KiB", Quantity::bytes, 233472},
        {"3.35 TB/s", Quantity::bandwidth, 3.35e12},
        {"656 Gb/s", Quantity::bandwidth, 82e9},
        {"1 GiB/s", Quantity::bandwidth, 1073741824},
        {"64 B/cycle", Quantity::per_cycle, 64},
        {"29 cycles", Quantity::cycles, 29},
        {"1 cycle", Quantity::cycles, 1},
        {"1.5 us", Quantity::time, 1.5e-6},
        {"1.5 \u00b5s", Quantity::time, 1.5e-6},
        {"350 ps", Quantity::time, 350e-12},
        {"700 W", Quantity::power, 700},
        {"93 %", Quantity::ratio, 0.93},
        {"0.93", Quantity::ratio, 0.93},
        {"100 %", Quantity::ratio, 1},
    };
    for (const Case& test : cases) {
        CAPTURE(test.text);
        CHECK(parse_quantity(test.text, test.quantity) == test.expected);
    }
}

TEST_CASE("a wrong unit is told with the right one") {
    struct Case {
        const char* text;
        Quantity quantity;
        const char* expected;
    };
    const Case cases[] = {
        {"1830 MiB", Quantity::frequency, "frequency such as `1830 MHz`"},
        {"1830", Quantity::frequency, "MHz"},
        {"50 KB", Quantity::bytes, "KiB, MiB, GiB"},
        {"3.35 TB", Quantity::bandwidth, "`3.35 TB/s`"},
        {"29", Quantity::cycles, "`29 cycles`"},
        {"29 ns", Quantity::cycles, "`29 cycles`"},
        {"12 cycles", Quantity::time, "`1.5 us`"},
        {"132 SMs", Quantity::count, "bare number"},
        {"fast", Quantity::count, "bare number"},
        {"", Quantity::count, "bare number"},
        {"nan", Quantity::count, "bare number"},
        {"inf W", Quantity::power, "`700 W`"},
        {"93 percent", Quantity::ratio, "`93 %`"},
    };
    for (const Case& test : cases) {
        CAPTURE(test.text);
        REQUIRE_THROWS_WITH(parse_quantity(test.text, test.quantity), Catch::Contains(test.expected));
    }
}

TEST_CASE("values are printed in the unit that is shortest and read back exactly") {
    struct Case {
        double value;
        Quantity quantity;
        const char* expected;
    };
    const Case cases[] = {
        {132, Quantity::count, "132"},
        {1.83e9, Quantity::frequency, "1.83 GHz"},
        {1.755e9, Quantity::frequency, "1755 MHz"},
        {52428800, Quantity::bytes, "50 MiB"},
        {524288, Quantity::bytes, "512 KiB"},
        {80e9, Quantity::bytes, "80 GB"},
        {232448, Quantity::bytes, "227 KiB"},
        {3.35e12, Quantity::bandwidth, "3.35 TB/s"},
        {0, Quantity::bytes, "0 B"},
        {1, Quantity::cycles, "1 cycle"},
        {29, Quantity::cycles, "29 cycles"},
        {1.5e-6, Quantity::time, "1.5 us"},
        {0.93, Quantity::ratio, "93 %"},
        {0.07, Quantity::ratio, "7 %"},
        {700, Quantity::power, "700 W"},
    };
    for (const Case& test : cases) {
        CAPTURE(test.expected);
        CHECK(format_quantity(test.value, test.quantity) == test.expected);
        CHECK(parse_quantity(test.expected, test.quantity) == test.value);
    }
}

TEST_CASE("every value survives printing and reading") {
    // An awkward value in each quantity: no unit gives it few digits.
    for (const Quantity quantity :
         {Quantity::count, Quantity::frequency, Quantity::bytes, Quantity::bandwidth, Quantity::per_cycle,
          Quantity::cycles, Quantity::time, Quantity::power, Quantity::ratio}) {
        for (const double value : {1.0 / 3, 0.1 + 0.2, 1e-9 / 7, 12345678901.0, 123456.789}) {
            const std::string text = format_quantity(value, quantity);
            CAPTURE(text);
            CHECK(parse_quantity(text, quantity) == value);
        }
    }
}

namespace {
enum class Policy { lru, random };
}  // namespace

TEST_CASE("a parameter checks range, whole numbers and choices") {
    unsigned ways = 16;
    bool enabled = false;
    Policy policy = Policy::lru;
    ParameterList list;
    list.add("cache.ways", ways, Quantity::count, 1, 64, "ways of a set");
    list.add("cache.enabled", enabled, Quantity::count, 0, 1, "whether there is one");
    list.add_choice("cache.policy", policy, {"lru", "random"}, "which line goes");
    const Parameter& count = list.parameters()[0];
    const Parameter& flag = list.parameters()[1];
    const Parameter& choice = list.parameters()[2];

    CHECK(parse_parameter("64", count) == 64);
    CHECK_THROWS_WITH(parse_parameter("65", count),
                      Catch::Contains("out of range") && Catch::Contains("1 .. 64"));
    CHECK_THROWS_WITH(parse_parameter("0", count), Catch::Contains("out of range"));
    CHECK_THROWS_WITH(parse_parameter("1.5", count), Catch::Contains("whole number"));
    CHECK(parse_parameter("true", flag) == 1);
    CHECK(parse_parameter("0", flag) == 0);
    CHECK_THROWS_AS(parse_parameter("true", count), Error);
    CHECK(parse_parameter("random", choice) == 1);
    CHECK_THROWS_WITH(parse_parameter("randon", choice), Catch::Contains("did you mean `random`?"));
    CHECK(format_range(count) == "1 .. 64");
    CHECK(format_range(choice) == "lru | random");
    CHECK(format_parameter(flag) == "false");
    flag.set(1);
    CHECK(enabled);
    CHECK(format_parameter(flag) == "true");
}
