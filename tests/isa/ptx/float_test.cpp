// Floating-point instructions against the host's IEEE arithmetic, or against exact sums and products.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>

#include "instruction_bench.h"
#include "isa/numerics/compare.h"
#include "isa/numerics/formats.h"

using namespace heddle::ptx::test;
namespace numerics = heddle::numerics;

namespace {

float f32(std::uint64_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}
double f64(std::uint64_t bits) {
    return std::bit_cast<double>(bits);
}
std::uint64_t bits(float value) {
    // PTX: NaN results of single precision are 0x7fffffff.
    return value != value ? 0x7FFFFFFFu : std::bit_cast<std::uint32_t>(value);
}
std::uint64_t bits(double value) {
    return std::bit_cast<std::uint64_t>(value);
}

float flushed(float value) {
    return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}
float saturated(float value) {
    return !(value > 0) ? 0.0f : value > 1 ? 1.0f : value;
}

using Binary = std::function<float(float, float, float)>;

void check_f32(const std::string& operation, unsigned operands, const Binary& exact) {
    static const char* const kOperands[] = {"", " %d, %a;", " %d, %a, %b;", " %d, %a, %b, %c;"};
    const std::vector<std::string> types(operands, "f32");
    const auto run = [&](const std::string& suffix, bool ftz, bool sat) {
        check_instruction(operation + suffix + ".f32" + kOperands[operands], types, "f32",
                          [&](auto a, auto b, auto c) {
                              const auto in = [&](std::uint64_t x) { return ftz ? flushed(f32(x)) : f32(x); };
                              const float value = exact(in(a), in(b), in(c));
                              const float out = ftz ? flushed(value) : value;
                              return bits(sat ? saturated(out) : out);
                          });
    };
    run("", false, false);
    run(".ftz", true, false);
    if (operation == "add.rn" || operation == "fma.rn" || operation == "mul.rn" || operation == "sub") {
        run(".sat", false, true);
        run(".ftz.sat", true, true);
    }
}

// value + error is the exact result, |error| < 1 ulp of value: rounded to single precision in a direction.
enum class Direction { zero, down, up };
float round_exact(double value, double error, Direction direction) {
    if (std::isnan(value) || std::isinf(value)) return static_cast<float>(value);
    if (value == 0 && error == 0) return static_cast<float>(value);
    const bool negative = value < 0 || (value == 0 && error < 0);
    float result = static_cast<float>(value);
    // Exact comparison of `result` with the exact value.
    const auto above = [&](float f) {
        const double difference = static_cast<double>(f) - value;
        return difference > error || (std::isinf(f) && f > 0);
    };
    const auto below = [&](float f) {
        const double difference = static_cast<double>(f) - value;
        return difference < error || (std::isinf(f) && f < 0);
    };
    const bool downwards = direction == Direction::down || (direction == Direction::zero && !negative);
    if (downwards) {
        if (above(result)) result = std::nextafter(result, -INFINITY);
    } else {
        if (below(result)) result = std::nextafter(result, INFINITY);
    }
    // Zero after rounding keeps the sign of the exact value.
    return result == 0 ? std::copysign(0.0f, negative ? -1.0f : 1.0f) : result;
}

struct Exact {
    double value, error;
};
Exact sum(double a, double b) {
    const double s = a + b, t = s - a;
    return {s, std::isfinite(s) ? (a - (s - t)) + (b - t) : 0};
}

}  // namespace

TEST_CASE("Single precision, nearest even", "[ptx][float]") {
    check_f32("add.rn", 2, [](float a, float b, float) { return a + b; });
    check_f32("sub", 2, [](float a, float b, float) { return a - b; });
    check_f32("mul.rn", 2, [](float a, float b, float) { return a * b; });
    check_f32("fma.rn", 3, [](float a, float b, float c) { return std::fma(a, b, c); });
    check_f32("mad.rn", 3, [](float a, float b, float c) { return std::fma(a, b, c); });
    check_f32("div.rn", 2, [](float a, float b, float) { return a / b; });
    check_f32("rcp.rn", 1, [](float a, float, float) { return 1 / a; });
    check_f32("sqrt.rn", 1, [](float a, float, float) { return std::sqrt(a); });
}

TEST_CASE("Double precision, nearest even", "[ptx][float]") {
    const auto check = [](const std::string& lines, unsigned operands,
                          const std::function<double(double, double, double)>& exact) {
        check_instruction(
            lines, std::vector<std::string>(operands, "f64"), "f64",
            [&](auto a, auto b, auto c) { return bits(exact(f64(a), f64(b), f64(c))); }, true);
    };
    check("add.f64 %d, %a, %b;", 2, [](double a, double b, double) { return a + b; });
    check("sub.rn.f64 %d, %a, %b;", 2, [](double a, double b, double) { return a - b; });
    check("mul.f64 %d, %a, %b;", 2, [](double a, double b, double) { return a * b; });
    check("fma.rn.f64 %d, %a, %b, %c;", 3, [](double a, double b, double c) { return std::fma(a, b, c); });
    check("div.rn.f64 %d, %a, %b;", 2, [](double a, double b, double) { return a / b; });
    check("rcp.rn.f64 %d, %a;", 1, [](double a, double, double) { return 1 / a; });
    check("sqrt.rn.f64 %d, %a;", 1, [](double a, double, double) { return std::sqrt(a); });
    check("neg.f64 %d, %a;", 1, [](double a, double, double) { return -a; });
    check("abs.f64 %d, %a;", 1, [](double a, double, double) { return std::fabs(a); });
}

TEST_CASE("Double precision keeps the first NaN", "[ptx][float]") {
    const auto check = [](const std::string& lines, unsigned operands,
                          const std::function<double(double, double, double)>& exact) {
        check_instruction(lines, std::vector<std::string>(operands, "f64"), "f64",
                          [&](auto a, auto b, auto c) {
                              const std::uint64_t in[] = {a, b, c};
                              for (unsigned n = 0; n < operands; ++n)
                                  if (std::isnan(f64(in[n]))) return in[n] | std::uint64_t{1} << 51;
                              return bits(exact(f64(a), f64(b), f64(c)));
                          });
    };
    check("add.f64 %d, %a, %b;", 2, [](double a, double b, double) { return a + b; });
    check("mul.f64 %d, %a, %b;", 2, [](double a, double b, double) { return a * b; });
    check("div.rn.f64 %d, %a, %b;", 2, [](double a, double b, double) { return a / b; });
    check("fma.rn.f64 %d, %a, %b, %c;", 3, [](double a, double b, double c) { return std::fma(a, b, c); });
}

TEST_CASE("Directed rounding of single precision against exact results", "[ptx][float]") {
    const std::pair<const char*, Direction> directions[] = {
        {"rz", Direction::zero}, {"rm", Direction::down}, {"rp", Direction::up}};
    for (const auto& [name, direction_value] : directions) {
        const Direction direction = direction_value;
        const std::string suffix = std::string(".") + name + ".f32 ";
        // An exact zero sum of opposite signs is -0 only when rounding down.
        const auto zero = [=](float a, float b, float rounded) {
            if (rounded != 0 || a == 0 || b == 0 || a + b != 0) return rounded;
            return direction == Direction::down ? -0.0f : 0.0f;
        };
        check_instruction("add" + suffix + "%d, %a, %b;", {"f32", "f32"}, "f32", [=](auto a, auto b, auto) {
            const float x = f32(a), y = f32(b);
            if (x == 0 && y == 0 && std::signbit(x) != std::signbit(y))
                return bits(direction == Direction::down ? -0.0f : 0.0f);
            const Exact exact = sum(x, y);
            return bits(zero(x, y, round_exact(exact.value, exact.error, direction)));
        });
        check_instruction("mul" + suffix + "%d, %a, %b;", {"f32", "f32"}, "f32", [=](auto a, auto b, auto) {
            return bits(round_exact(static_cast<double>(f32(a)) * f32(b), 0, direction));
        });
        check_instruction(
            "fma" + suffix + "%d, %a, %b, %c;", {"f32", "f32", "f32"}, "f32", [=](auto a, auto b, auto c) {
                const double product = static_cast<double>(f32(a)) * f32(b), z = f32(c);
                const Exact exact = sum(product, z);
                float rounded = round_exact(exact.value, exact.error, direction);
                if (exact.value == 0 && exact.error == 0 && std::signbit(product) != std::signbit(z)) {
                    rounded = direction == Direction::down ? -0.0f : 0.0f;
                }
                return bits(rounded);
            });
        check_instruction("sqrt" + suffix + "%d, %a;", {"f32"}, "f32", [=](auto a, auto, auto) {
            const double x = f32(a), root = std::sqrt(x);
            return bits(round_exact(
                root, std::isfinite(root) && root > 0 ? -std::fma(root, root, -x) / (2 * root) : 0,
                direction));
        });
        check_instruction("div" + suffix + "%d, %a, %b;", {"f32", "f32"}, "f32", [=](auto a, auto b, auto) {
            const double x = f32(a), y = f32(b), q = x / y;
            return bits(round_exact(q, std::isfinite(q) && std::isfinite(y) ? -std::fma(q, y, -x) / y : 0,
                                    direction));
        });
    }
}

TEST_CASE("Pairs of single precision are two of the scalar instruction", "[ptx][float]") {
    using One = std::function<float(float, float, float)>;
    const auto both = [](const std::string& lines, unsigned operands, bool ftz, const One& exact) {
        check_instruction(lines, std::vector<std::string>(operands, "f32x2"), "f32x2",
                          [&](std::uint64_t a, std::uint64_t b, std::uint64_t c) {
                              std::uint64_t result = 0;
                              for (const unsigned shift : {0u, 32u}) {
                                  const auto in = [&](std::uint64_t x) {
                                      const float value = f32(x >> shift);
                                      return ftz ? flushed(value) : value;
                                  };
                                  const float value = exact(in(a), in(b), in(c));
                                  result |= (bits(ftz ? flushed(value) : value) & 0xFFFFFFFFu) << shift;
                              }
                              return result;
                          });
    };
    const One plus = [](float a, float b, float) { return a + b; };
    const One minus = [](float a, float b, float) { return a - b; };
    const One times = [](float a, float b, float) { return a * b; };
    const One fused = [](float a, float b, float c) { return std::fma(a, b, c); };
    for (const bool ftz : {false, true}) {
        const std::string type = ftz ? ".ftz.f32x2 " : ".f32x2 ";
        both("add" + type + "%d, %a, %b;", 2, ftz, plus);
        both("sub.rn" + type + "%d, %a, %b;", 2, ftz, minus);
        both("mul.rn" + type + "%d, %a, %b;", 2, ftz, times);
        both("fma.rn" + type + "%d, %a, %b, %c;", 3, ftz, fused);
    }
    // A product of two floats is exact in double precision.
    for (const auto& [name, direction] : {std::pair{"rz", Direction::zero}, std::pair{"rm", Direction::down},
                                          std::pair{"rp", Direction::up}}) {
        const Direction to = direction;
        both(std::string("mul.") + name + ".f32x2 %d, %a, %b;", 2, false,
             [to](float a, float b, float) { return round_exact(static_cast<double>(a) * b, 0, to); });
    }
    const Evaluation sums =
        evaluate("fma.rz.ftz.f32x2 %d, %a, %b, %c; sub.rp.f32x2 %d, %d, %c;", {"f32x2", "f32x2", "f32x2"},
                 "f32x2", {{0x3F8000003F800000}, {0x3F80000040400000}, {0x4B8000003F800000}});
    // Low: 1 * 3 + 1 - 1; high: 1 * 1 + 2^24, cut off to 2^24, less 2^24.
    CHECK(sums.results.at(0) == 0x0000000040400000);
}

TEST_CASE("Minimum, maximum, sign", "[ptx][float]") {
    const auto extreme = [](bool maximum, bool nan) {
        return [=](std::uint64_t a, std::uint64_t b, std::uint64_t) -> std::uint64_t {
            const float x = f32(a), y = f32(b);
            if (x != x || y != y) {
                if (nan || (x != x && y != y)) return 0x7FFFFFFFu;
                return bits(x != x ? y : x);
            }
            if (x == y) return (std::signbit(x) != 0) == maximum ? b : a;  // -0 is below +0
            return bits((x < y) == maximum ? y : x);
        };
    };
    check_instruction("min.f32 %d, %a, %b;", {"f32", "f32"}, "f32", extreme(false, false));
    check_instruction("max.f32 %d, %a, %b;", {"f32", "f32"}, "f32", extreme(true, false));
    check_instruction("min.NaN.f32 %d, %a, %b;", {"f32", "f32"}, "f32", extreme(false, true));
    check_instruction("max.NaN.f32 %d, %a, %b;", {"f32", "f32"}, "f32", extreme(true, true));
    check_instruction("neg.f32 %d, %a;", {"f32"}, "f32", [](auto a, auto, auto) { return a ^ 0x80000000u; });
    check_instruction("abs.f32 %d, %a;", {"f32"}, "f32", [](auto a, auto, auto) { return a & 0x7FFFFFFFu; });
    check_instruction("copysign.f32 %d, %a, %b;", {"f32", "f32"}, "f32",
                      [](auto a, auto b, auto) { return (a & 0x80000000u) | (b & 0x7FFFFFFFu); });
}

TEST_CASE("Floating-point comparison, ordered and unordered", "[ptx][float]") {
    struct Comparison {
        const char* name;
        bool (*holds)(double, double);
        bool with_nan;
    };
    const Comparison comparisons[] = {{"eq", [](double a, double b) { return a == b; }, false},
                                      {"ne", [](double a, double b) { return a != b; }, false},
                                      {"lt", [](double a, double b) { return a < b; }, false},
                                      {"le", [](double a, double b) { return a <= b; }, false},
                                      {"gt", [](double a, double b) { return a > b; }, false},
                                      {"ge", [](double a, double b) { return a >= b; }, false},
                                      {"equ", [](double a, double b) { return a == b; }, true},
                                      {"neu", [](double a, double b) { return a != b; }, true},
                                      {"ltu", [](double a, double b) { return a < b; }, true},
                                      {"leu", [](double a, double b) { return a <= b; }, true},
                                      {"gtu", [](double a, double b) { return a > b; }, true},
                                      {"geu", [](double a, double b) { return a >= b; }, true},
                                      {"num", [](double, double) { return true; }, false},
                                      {"nan", [](double, double) { return false; }, true}};
    for (const Comparison& comparison : comparisons) {
        const auto holds = [&](double a, double b) -> std::uint64_t {
            return a != a || b != b ? comparison.with_nan : comparison.holds(a, b);
        };
        const std::string name = std::string("setp.") + comparison.name;
        check_instruction(name + ".f32 %d, %a, %b;", {"f32", "f32"}, "pred",
                          [&](auto a, auto b, auto) { return holds(f32(a), f32(b)); });
        check_instruction(name + ".ftz.f32 %d, %a, %b;", {"f32", "f32"}, "pred",
                          [&](auto a, auto b, auto) { return holds(flushed(f32(a)), flushed(f32(b))); });
        check_instruction(name + ".f64 %d, %a, %b;", {"f64", "f64"}, "pred",
                          [&](auto a, auto b, auto) { return holds(f64(a), f64(b)); });
        check_instruction(name + ".f16 %d, %a, %b;", {"f16", "f16"}, "pred", [&](auto a, auto b, auto) {
            return holds(numerics::to_double(numerics::Format::fp16, a),
                         numerics::to_double(numerics::Format::fp16, b));
        });
    }
}

TEST_CASE("Approximate functions stay within the manual's bounds", "[ptx][float]") {
    // Largest error in units in the last place of the correctly rounded single-precision result.
    const auto check = [](const std::string& lines, const std::vector<std::uint64_t>& inputs,
                          const std::function<double(double)>& exact, double ulps, double absolute = 0) {
        const Evaluation evaluation = evaluate(lines, {"f32"}, "f32", {inputs});
        double worst_ulps = 0, worst = 0;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            if (evaluation.skipped[i]) continue;
            const double expected = exact(f32(inputs[i])), given = f32(evaluation.results[i]);
            const double ulp =
                std::ldexp(1.0, std::max(std::ilogb(expected == 0 ? 1e-45 : expected), -126) - 23);
            const double error = std::fabs(given - expected);
            INFO(lines << " of " << f32(inputs[i]) << ": " << given << ", exact " << expected);
            REQUIRE(error <= std::max(ulps * ulp, absolute));
            worst = std::max(worst, error);
            worst_ulps = std::max(worst_ulps, error / ulp);
        }
        std::printf("%-38s from %9.3g to %9.3g: largest error %.3g ulp, %.3g absolute; manual:",
                    lines.c_str(), f32(inputs.front()), f32(inputs.back()), worst_ulps, worst);
        if (ulps != 0) std::printf(" %g ulp", ulps);
        if (absolute != 0) std::printf("%s %.3g absolute", ulps != 0 ? " or" : "", absolute);
        std::printf("\n");
    };
    const auto uniform = [](double low, double high) {
        Bits inputs;
        for (int i = 0; i < 40000; ++i)
            inputs.push_back(bits(static_cast<float>(low + (high - low) * i / 39999)));
        return inputs;
    };
    const auto exponential = [](double low, double high) {
        Bits inputs;
        for (int i = 0; i < 40000; ++i)
            inputs.push_back(bits(static_cast<float>(std::exp2(low + (high - low) * i / 39999))));
        return inputs;
    };
    check(
        "ex2.approx.f32 %d, %a;", uniform(-140, 127.9), [](double x) { return std::exp2(x); }, 2);
    check(
        "lg2.approx.f32 %d, %a;", exponential(-130, 127), [](double x) { return std::log2(x); }, 2,
        std::ldexp(1.0, -22));
    check(
        "rcp.approx.f32 %d, %a;", exponential(-120, 120), [](double x) { return 1 / x; }, 1);
    check(
        "rsqrt.approx.f32 %d, %a;", exponential(-130, 120), [](double x) { return 1 / std::sqrt(x); }, 2);
    check(
        "sqrt.approx.f32 %d, %a;", exponential(-120, 120), [](double x) { return std::sqrt(x); }, 1);
    check(
        "sin.approx.f32 %d, %a;", uniform(-6.28, 6.28), [](double x) { return std::sin(x); }, 0,
        std::exp2(-20.5));
    check(
        "cos.approx.f32 %d, %a;", uniform(-6.28, 6.28), [](double x) { return std::cos(x); }, 0,
        std::exp2(-20.5));
    check(
        "sin.approx.f32 %d, %a;", uniform(-20000, 20000), [](double x) { return std::sin(x); }, 0,
        std::exp2(-20.5));
    check(
        "tanh.approx.f32 %d, %a;", uniform(-9, 9), [](double x) { return std::tanh(x); }, std::exp2(13));
    check(
        "tanh.approx.f32 %d, %a;", exponential(-100, -4), [](double x) { return std::tanh(x); },
        std::exp2(13));
    check(
        "div.full.f32 %d, %a, 0f40490FDB;", exponential(-100, 100),
        [](double x) { return x / f32(0x40490FDB); }, 2);
    check(
        "div.approx.f32 %d, %a, 0f40490FDB;", exponential(-100, 100),
        [](double x) { return x / f32(0x40490FDB); }, 2);
}

TEST_CASE("Approximate functions of special values", "[ptx][float]") {
    const std::uint64_t infinity = 0x7F800000, nan = 0x7FFFFFFF, minus = 0x80000000, one = 0x3F800000;
    struct Case {
        const char* lines;
        std::uint64_t input, result;
    };
    // PTX manual, tables of special values of each instruction.
    const Case cases[] = {
        {"ex2.approx.f32 %d, %a;", infinity, infinity},
        {"ex2.approx.f32 %d, %a;", infinity | minus, 0},
        {"ex2.approx.f32 %d, %a;", minus, one},
        {"ex2.approx.f32 %d, %a;", 0x7FC00000, nan},
        {"ex2.approx.ftz.f32 %d, %a;", 1, one},
        {"ex2.approx.f32 %d, %a;", 0xC3160000, 0},      // 2^-150 rounds to 0
        {"ex2.approx.ftz.f32 %d, %a;", 0xC3000000, 0},  // 2^-128 is flushed
        {"lg2.approx.f32 %d, %a;", 0, infinity | minus},
        {"lg2.approx.f32 %d, %a;", minus, infinity | minus},
        {"lg2.approx.f32 %d, %a;", infinity, infinity},
        {"lg2.approx.f32 %d, %a;", 0xBF800000, nan},
        {"lg2.approx.f32 %d, %a;", one, 0},
        {"lg2.approx.ftz.f32 %d, %a;", 1, infinity | minus},
        {"lg2.approx.f32 %d, %a;", 1, 0xC3150000},  // log2 of 2^-149
        {"rcp.approx.f32 %d, %a;", 0, infinity},
        {"rcp.approx.f32 %d, %a;", minus, infinity | minus},
        {"rcp.approx.f32 %d, %a;", infinity | minus, minus},
        {"rcp.approx.ftz.f32 %d, %a;", 1, infinity},
        {"rsqrt.approx.f32 %d, %a;", 0, infinity},
        {"rsqrt.approx.f32 %d, %a;", minus, infinity | minus},
        {"rsqrt.approx.f32 %d, %a;", 0xBF800000, nan},
        {"rsqrt.approx.f32 %d, %a;", infinity, 0},
        {"sqrt.approx.f32 %d, %a;", minus, minus},
        {"sqrt.approx.f32 %d, %a;", 0xBF800000, nan},
        {"sin.approx.f32 %d, %a;", infinity, nan},
        {"sin.approx.f32 %d, %a;", minus, minus},
        {"cos.approx.f32 %d, %a;", 0, one},
        {"cos.approx.f32 %d, %a;", infinity | minus, nan},
        {"tanh.approx.f32 %d, %a;", infinity, one},
        {"tanh.approx.f32 %d, %a;", infinity | minus, one | minus},
        {"tanh.approx.f32 %d, %a;", minus, minus},
        {"tanh.approx.f32 %d, %a;", 0x7F800001, nan},
    };
    for (const Case& one_case : cases) {
        const Evaluation evaluation = evaluate(one_case.lines, {"f32"}, "f32", {{one_case.input}});
        INFO(one_case.lines << std::hex << " of 0x" << one_case.input << " gives 0x"
                            << evaluation.results[0]);
        CHECK(evaluation.results[0] == one_case.result);
    }
    // Dividing by more than 2^126 approximately gives zero, an infinity NaN.
    CHECK(evaluate("div.approx.f32 %d, %a, 0f7F000000;", {"f32"}, "f32", {{0x7F000000}}).results[0] == 0);
    CHECK(evaluate("div.approx.f32 %d, %a, 0fFF000000;", {"f32"}, "f32", {{0x7F000000}}).results[0] == minus);
    CHECK(evaluate("div.approx.f32 %d, %a, 0f7F000000;", {"f32"}, "f32", {{infinity}}).results[0] == nan);
}

TEST_CASE("Classes of numbers", "[ptx][float]") {
    const auto check = [](const std::string& name, const std::function<bool(double, int)>& holds) {
        check_instruction(
            "testp." + name + ".f32 %d, %a;", {"f32"}, "pred",
            [&](auto a, auto, auto) -> std::uint64_t { return holds(f32(a), std::fpclassify(f32(a))); });
        check_instruction(
            "testp." + name + ".f64 %d, %a;", {"f64"}, "pred",
            [&](auto a, auto, auto) -> std::uint64_t { return holds(f64(a), std::fpclassify(f64(a))); });
    };
    check("finite", [](double x, int) { return std::isfinite(x); });
    check("infinite", [](double x, int) { return std::isinf(x); });
    check("number", [](double x, int) { return !std::isnan(x); });
    check("notanumber", [](double x, int) { return std::isnan(x); });
    check("normal", [](double, int c) { return c == FP_NORMAL || c == FP_ZERO; });  // by the manual
    check("subnormal", [](double, int c) { return c == FP_SUBNORMAL; });
}
