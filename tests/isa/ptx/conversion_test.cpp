// cvt, and 16-bit arithmetic, against the number formats of isa/numerics and exact host arithmetic.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

#include "instruction_bench.h"
#include "isa/numerics/formats.h"

using namespace heddle::ptx::test;
using namespace heddle::numerics;

namespace {

struct FloatType {
    std::string name;
    Format format;
};
const std::vector<FloatType> kFloats = {
    {"f16", Format::fp16}, {"bf16", Format::bf16}, {"f32", Format::fp32}, {"f64", Format::fp64}};

struct Mode {
    std::string name;
    Rounding rounding;
};
const std::vector<Mode> kModes = {{"rn", Rounding::nearest_even},
                                  {"rz", Rounding::toward_zero},
                                  {"rm", Rounding::down},
                                  {"rp", Rounding::up}};

std::uint64_t rounded(Format to, Format from, std::uint64_t bits, Rounding rounding) {
    Conversion conversion;
    conversion.rounding = rounding;
    return convert(to, from, bits, conversion);
}

double exact(Format format, std::uint64_t bits) {
    return to_double(format, bits);
}

// One rounding of an exact value that a double holds.
std::uint64_t round_double(Format to, double value, Rounding rounding = Rounding::nearest_even) {
    return rounded(to, Format::fp64, std::bit_cast<std::uint64_t>(value), rounding);
}

}  // namespace

TEST_CASE("Conversion between floating-point formats", "[ptx][conversion]") {
    for (const FloatType& to : kFloats) {
        for (const FloatType& from : kFloats) {
            if (to.name == from.name || (to.name == "bf16" && from.name == "f16") ||
                (to.name == "f16" && from.name == "bf16"))
                continue;
            const bool widens = traits(to.format).fraction_bits > traits(from.format).fraction_bits;
            if (widens) {
                check_instruction(
                    "cvt." + to.name + "." + from.name + " %d, %a;", {from.name}, to.name,
                    [&](auto a, auto, auto) {
                        return rounded(to.format, from.format, a, Rounding::nearest_even);
                    },
                    true);
                continue;
            }
            for (const Mode& mode : kModes) {
                check_instruction(
                    "cvt." + mode.name + "." + to.name + "." + from.name + " %d, %a;", {from.name}, to.name,
                    [&](auto a, auto, auto) { return rounded(to.format, from.format, a, mode.rounding); },
                    true);
            }
        }
    }
}

TEST_CASE("Packing conversions and tf32", "[ptx][conversion]") {
    for (const FloatType& type : {kFloats[0], kFloats[1]}) {
        for (const Mode& mode : {kModes[0], kModes[1]}) {
            check_instruction("cvt." + mode.name + "." + type.name + "x2.f32 %d, %a, %b;", {"f32", "f32"},
                              type.name + "x2", [&](auto a, auto b, auto) {
                                  return rounded(type.format, Format::fp32, a, mode.rounding) << 16 |
                                         rounded(type.format, Format::fp32, b, mode.rounding);
                              });
        }
        check_instruction("cvt.rn.relu." + type.name + "x2.f32 %d, %a, %b;", {"f32", "f32"}, type.name + "x2",
                          [&](auto a, auto b, auto) {
                              const auto relu = [&](std::uint64_t bits) {
                                  const std::uint64_t result =
                                      rounded(type.format, Format::fp32, bits, Rounding::nearest_even);
                                  return (result & 0x8000u) != 0 ? 0 : result;  // NaN is 0x7fff: positive
                              };
                              return relu(a) << 16 | relu(b);
                          });
    }
    check_instruction("cvt.rna.tf32.f32 %d, %a;", {"f32"}, "b32", [](auto a, auto, auto) {
        return rounded(Format::tf32, Format::fp32, a, Rounding::nearest_away);
    });
    for (const FloatType& type : {FloatType{"e4m3", Format::e4m3}, FloatType{"e5m2", Format::e5m2}}) {
        check_instruction("cvt.rn.satfinite." + type.name + "x2.f32 %d, %a, %b;", {"f32", "f32"}, "b16",
                          [&](auto a, auto b, auto) {
                              Conversion conversion;
                              conversion.overflow = Overflow::saturate;
                              return convert(type.format, Format::fp32, a, conversion) << 8 |
                                     convert(type.format, Format::fp32, b, conversion);
                          });
        check_instruction("cvt.rn.f16x2." + type.name + "x2 %d, %a;", {"b16"}, "f16x2",
                          [&](auto a, auto, auto) {
                              return convert(Format::fp16, type.format, a >> 8) << 16 |
                                     convert(Format::fp16, type.format, a & 0xFF);
                          });
    }
}

TEST_CASE("Integers to floating point", "[ptx][conversion]") {
    for (const FloatType& to : kFloats) {
        for (const std::string from : {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"}) {
            const unsigned width = static_cast<unsigned>(std::stoul(from.substr(1)));
            for (const Mode& mode : kModes) {
                const std::string source = "b" + std::to_string(std::max(16u, width));
                check_instruction("cvt." + mode.name + "." + to.name + "." + from + " %d, %a;", {source},
                                  to.name, [&](auto a, auto, auto) {
                                      if (width < 64) a &= (std::uint64_t{1} << width) - 1;
                                      const bool negative = from[0] == 's' && (a >> (width - 1) & 1) != 0;
                                      if (negative && width < 64) a |= ~std::uint64_t{0} << width;
                                      Conversion conversion;
                                      conversion.rounding = mode.rounding;
                                      return encode(to.format, negative, negative ? ~a + 1 : a, 0,
                                                    conversion);
                                  });
            }
        }
    }
}

TEST_CASE("Floating point to integers clamps", "[ptx][conversion]") {
    struct Integral {
        std::string name;
        double (*round)(double);
    };
    const std::vector<Integral> roundings = {{"rni", [](double x) { return std::nearbyint(x); }},
                                             {"rzi", [](double x) { return std::trunc(x); }},
                                             {"rmi", [](double x) { return std::floor(x); }},
                                             {"rpi", [](double x) { return std::ceil(x); }}};
    for (const FloatType& from : kFloats) {
        for (const std::string to : {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"}) {
            const unsigned width = static_cast<unsigned>(std::stoul(to.substr(1)));
            const bool is_signed = to[0] == 's';
            for (const Integral& rounding : roundings) {
                const std::string destination = "b" + std::to_string(std::max(32u, width));
                check_instruction(
                    "cvt." + rounding.name + "." + to + "." + from.name + " %d, %a;", {from.name},
                    destination, [&](auto a, auto, auto) -> std::uint64_t {
                        const double x = rounding.round(exact(from.format, a));
                        // PTX ISA 9.0, cvt: NaN gives the top bit for f64 sources and 64-bit destinations.
                        const std::uint64_t top = std::uint64_t{1} << (width - 1);
                        if (x != x) {
                            if (from.name != "f64" && width != 64) return 0;
                            return is_signed && width < 64 ? ~std::uint64_t{0} << (width - 1) : top;
                        }
                        const double low = is_signed ? -std::ldexp(1.0, static_cast<int>(width) - 1) : 0;
                        const double high = std::ldexp(1.0, static_cast<int>(width) - (is_signed ? 1 : 0));
                        if (x >= high) return is_signed ? top - 1 : top - 1 + top;
                        if (x <= low) return is_signed ? ~std::uint64_t{0} << (width - 1) : 0;
                        if (x < 0) return ~static_cast<std::uint64_t>(-x) + 1;
                        return static_cast<std::uint64_t>(x);
                    });
            }
        }
    }
}

TEST_CASE("Rounding to an integral number, saturation, flushing", "[ptx][conversion]") {
    const auto f = [](std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); };
    const auto b = [](float x) -> std::uint64_t {
        return x != x ? 0x7FFFFFFFu : std::bit_cast<std::uint32_t>(x);
    };
    check_instruction("cvt.rni.f32.f32 %d, %a;", {"f32"}, "f32",
                      [&](auto a, auto, auto) { return b(std::nearbyint(f(a))); });
    check_instruction("cvt.rzi.f32.f32 %d, %a;", {"f32"}, "f32",
                      [&](auto a, auto, auto) { return b(std::trunc(f(a))); });
    check_instruction("cvt.rmi.ftz.f32.f32 %d, %a;", {"f32"}, "f32", [&](auto a, auto, auto) {
        return b(std::floor(std::fpclassify(f(a)) == FP_SUBNORMAL ? std::copysign(0.0f, f(a)) : f(a)));
    });
    check_instruction("cvt.sat.f32.f32 %d, %a;", {"f32"}, "f32", [&](auto a, auto, auto) {
        return b(!(f(a) > 0) ? 0.0f : f(a) > 1 ? 1.0f : f(a));
    });
    check_instruction(
        "cvt.ftz.f64.f32 %d, %a;", {"f32"}, "f64",
        [&](auto a, auto, auto) {
            const float x = std::fpclassify(f(a)) == FP_SUBNORMAL ? std::copysign(0.0f, f(a)) : f(a);
            return std::bit_cast<std::uint64_t>(static_cast<double>(x));
        },
        true);
    check_instruction("cvt.rn.ftz.f32.f64 %d, %a;", {"f64"}, "f32", [&](auto a, auto, auto) {
        const float x = static_cast<float>(std::bit_cast<double>(a));
        return b(std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x);
    });
}

TEST_CASE("Half and bfloat16 arithmetic rounds once", "[ptx][conversion]") {
    for (const FloatType& type : {kFloats[0], kFloats[1]}) {
        const Format format = type.format;
        const auto both = [&](const std::string& lines, unsigned operands,
                              const std::function<std::uint64_t(double, double, double)>& one) {
            const std::string tail = operands == 1   ? " %d, %a;"
                                     : operands == 2 ? " %d, %a, %b;"
                                                     : " %d, %a, %b, %c;";
            check_instruction(lines + "." + type.name + tail, std::vector<std::string>(operands, type.name),
                              type.name, [&](auto a, auto b, auto c) {
                                  return one(exact(format, a), exact(format, b), exact(format, c));
                              });
            const std::string packed = type.name + "x2";
            check_instruction(lines + "." + packed + tail, std::vector<std::string>(operands, packed), packed,
                              [&](auto a, auto b, auto c) {
                                  const auto half = [&](unsigned shift) {
                                      return one(exact(format, a >> shift & 0xFFFF),
                                                 exact(format, b >> shift & 0xFFFF),
                                                 exact(format, c >> shift & 0xFFFF))
                                             << shift;
                                  };
                                  return half(0) | half(16);
                              });
        };
        // Sums of two f16 and products of all are exact in double. Sums of bf16 may not be, but far-apart
        // terms round alike: the sum is exact in long double for all but terms 2^40 apart, which leave the
        // larger one.
        both("add", 2, [&](double a, double b, double) { return round_double(format, a + b); });
        both("sub", 2, [&](double a, double b, double) { return round_double(format, a - b); });
        both("mul", 2, [&](double a, double b, double) { return round_double(format, a * b); });
        both("fma.rn", 3, [&](double a, double b, double c) {
            // Rounded to odd by hand: the product is exact; compare the exact sum with the rounded one.
            const double product = a * b, sum = product + c;
            const double t = sum - product, error = (product - (sum - t)) + (c - t);
            if (!std::isfinite(sum) || error == 0) return round_double(format, sum);
            // Nudge by far less than half an ulp of the format so that ties break towards the exact value.
            const double nudged = std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
            return round_double(format, nudged);
        });
        both("fma.rn.relu", 3, [&](double a, double b, double c) {
            const double product = a * b, sum = product + c;
            const double t = sum - product, error = (product - (sum - t)) + (c - t);
            const double value = std::isfinite(sum) && error != 0
                                     ? std::nextafter(sum, error > 0 ? INFINITY : -INFINITY)
                                     : sum;
            return value <= 0 ? 0 : round_double(format, value);
        });
        // Signs alone, of NaNs too.
        check_instruction("neg." + type.name + "x2 %d, %a;", {type.name + "x2"}, type.name + "x2",
                          [](auto a, auto, auto) { return a ^ 0x80008000u; });
        check_instruction("abs." + type.name + " %d, %a;", {type.name}, type.name,
                          [](auto a, auto, auto) { return a & 0x7FFFu; });
    }
    check_instruction("min.bf16x2 %d, %a, %b;", {"bf16x2", "bf16x2"}, "bf16x2", [](auto a, auto b, auto) {
        const auto one = [](std::uint64_t x, std::uint64_t y) -> std::uint64_t {
            const double p = exact(Format::bf16, x), q = exact(Format::bf16, y);
            if (p != p || q != q) return p != p && q != q ? 0x7FFF : p != p ? y : x;
            if (p == q) return std::signbit(p) ? x : y;
            return p < q ? x : y;
        };
        return one(a & 0xFFFF, b & 0xFFFF) | one(a >> 16, b >> 16) << 16;
    });
    check_instruction("max.NaN.f16 %d, %a, %b;", {"f16", "f16"}, "f16",
                      [](auto a, auto b, auto) -> std::uint64_t {
                          const double p = exact(Format::fp16, a), q = exact(Format::fp16, b);
                          if (p != p || q != q) return 0x7FFF;
                          if (p == q) return std::signbit(p) ? b : a;
                          return p < q ? b : a;
                      });
    check_instruction("set.lt.f16x2.f16x2 %d, %a, %b;", {"f16x2", "f16x2"}, "f16x2",
                      [](auto a, auto b, auto) {
                          const auto one = [](std::uint64_t x, std::uint64_t y) -> std::uint64_t {
                              return exact(Format::fp16, x) < exact(Format::fp16, y) ? 0x3C00 : 0;
                          };
                          return one(a & 0xFFFF, b & 0xFFFF) | one(a >> 16, b >> 16) << 16;
                      });
    check_instruction("set.gtu.bf16.bf16 %d, %a, %b;", {"bf16", "bf16"}, "bf16",
                      [](auto a, auto b, auto) -> std::uint64_t {
                          return exact(Format::bf16, a) <= exact(Format::bf16, b) ? 0 : 0x3F80;
                      });
    check_instruction("setp.ne.ftz.f16x2 %q|%d, %a, %b;", {"f16x2", "f16x2"}, "pred",
                      [](auto a, auto b, auto) -> std::uint64_t {
                          const auto flushed = [](std::uint64_t bits) {
                              return exact(Format::fp16, (bits & 0x7C00) == 0 ? bits & 0x8000 : bits);
                          };
                          const double x = flushed(a >> 16), y = flushed(b >> 16);
                          return x < y || x > y;
                      });
    check_instruction("ex2.approx.f16x2 %d, %a;", {"f16x2"}, "f16x2", [](auto a, auto, auto) {
        return round_double(Format::fp16, std::exp2(exact(Format::fp16, a & 0xFFFF))) |
               round_double(Format::fp16, std::exp2(exact(Format::fp16, a >> 16))) << 16;
    });
    check_instruction("tanh.approx.bf16 %d, %a;", {"bf16"}, "bf16", [](auto a, auto, auto) {
        return round_double(Format::bf16, std::tanh(exact(Format::bf16, a)));
    });
}
