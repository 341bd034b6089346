#include <bit>
#include <cmath>

#include "isa/numerics/formats.h"
#include "validation/capture/sections/scalar_probe.h"

namespace heddle::capture {
namespace {

using numerics::Conversion;
using numerics::Format;
using numerics::Overflow;
using numerics::Rounding;
using Inputs = std::array<std::uint64_t, 3>;

std::function<std::uint64_t(const Inputs&)> converted(Format to, Format from, Conversion how) {
    return [=](const Inputs& in) { return numerics::convert(to, from, in[0], how); };
}

struct RoundingName {
    const char* name;
    Rounding rounding;
};
constexpr RoundingName kRoundings[] = {{"rn", Rounding::nearest_even},
                                       {"rz", Rounding::toward_zero},
                                       {"rm", Rounding::down},
                                       {"rp", Rounding::up}};

void add_float_conversions(std::vector<ScalarInstruction>& list) {
    for (const auto& [name, rounding] : kRoundings) {
        const std::string cvt = std::string("cvt.") + name;
        list.push_back({"conversion", cvt + ".f16.f32", 1, 32, 16, 70, "sm_70", "6.4",
                        converted(Format::fp16, Format::fp32, {.rounding = rounding})});
        list.push_back({"conversion", cvt + ".f32.f64", 1, 64, 32, 70, "sm_70", "6.4",
                        converted(Format::fp32, Format::fp64, {.rounding = rounding})});
    }
    list.push_back({"conversion", "cvt.rn.ftz.f16.f32", 1, 32, 16, 70, "sm_70", "6.4",
                    converted(Format::fp16, Format::fp32, {.flush_subnormal_input = true})});
    for (const auto& [name, rounding] : {kRoundings[0], kRoundings[1]}) {
        list.push_back({"conversion", std::string("cvt.") + name + ".bf16.f32", 1, 32, 16, 80, "sm_80", "7.0",
                        converted(Format::bf16, Format::fp32, {.rounding = rounding})});
        list.push_back({"conversion", std::string("cvt.") + name + ".tf32.f32", 1, 32, 32, 90, "sm_90", "7.8",
                        converted(Format::tf32, Format::fp32, {.rounding = rounding})});
    }
    list.push_back({"conversion", "cvt.rna.tf32.f32", 1, 32, 32, 80, "sm_80", "7.0",
                    converted(Format::tf32, Format::fp32, {.rounding = Rounding::nearest_away})});
    list.push_back({"conversion", "cvt.f32.f16", 1, 16, 32, 70, "sm_70", "6.4",
                    converted(Format::fp32, Format::fp16, {})});
    list.push_back({"conversion", "cvt.f32.bf16", 1, 16, 32, 90, "sm_90", "7.8",
                    converted(Format::fp32, Format::bf16, {})});
    // A NaN keeps its sign and its payload.
    list.push_back({"conversion", "cvt.f64.f32", 1, 32, 64, 70, "sm_70", "6.4", [](const Inputs& in) {
                        if ((in[0] & 0x7FFFFFFFu) <= 0x7F800000u)
                            return numerics::convert(Format::fp64, Format::fp32, in[0]);
                        return (in[0] & 0x80000000u) << 32 | 0x7FF8000000000000u |
                               (in[0] & 0x003FFFFFu) << 29;
                    }});
}

// Two numbers to a register: the first source goes to the upper half.
void add_fp8_conversions(std::vector<ScalarInstruction>& list) {
    const struct {
        const char* name;
        Format format;
    } types[] = {{"e4m3x2", Format::e4m3}, {"e5m2x2", Format::e5m2}};
    for (const auto& [name, format] : types) {
        const Format f8 = format;
        const Conversion saturate{.overflow = Overflow::saturate};
        list.push_back({"conversion", std::string("cvt.rn.satfinite.") + name + ".f32", 2, 32, 16, 89,
                        "sm_89", "8.1", [=](const Inputs& in) {
                            return numerics::convert(f8, Format::fp32, in[0], saturate) << 8 |
                                   numerics::convert(f8, Format::fp32, in[1], saturate);
                        }});
        list.push_back({"conversion", std::string("cvt.rn.satfinite.") + name + ".f16x2", 1, 32, 16, 89,
                        "sm_89", "8.1", [=](const Inputs& in) {
                            return numerics::convert(f8, Format::fp16, in[0] >> 16 & 0xFFFF, saturate) << 8 |
                                   numerics::convert(f8, Format::fp16, in[0] & 0xFFFF, saturate);
                        }});
        list.push_back({"conversion", std::string("cvt.rn.f16x2.") + name, 1, 16, 32, 89, "sm_89", "8.1",
                        [=](const Inputs& in) {
                            return numerics::convert(Format::fp16, f8, in[0] >> 8 & 0xFF) << 16 |
                                   numerics::convert(Format::fp16, f8, in[0] & 0xFF);
                        }});
    }
}

void add_integer_conversions(std::vector<ScalarInstruction>& list) {
    for (const char* rounding : {"rni", "rzi", "rmi", "rpi"}) {
        for (const char* to : {"s32", "u32", "s8"})
            list.push_back({"conversion", std::string("cvt.") + rounding + "." + to + ".f32", 1, 32, 32});
        list.push_back({"conversion", std::string("cvt.") + rounding + ".s64.f64", 1, 64, 64});
    }
    for (const auto& [name, rounding] : kRoundings) {
        const Rounding how = rounding;
        list.push_back({"conversion", std::string("cvt.") + name + ".f32.s32", 1, 32, 32, 70, "sm_70", "6.4",
                        [how](const Inputs& in) {
                            const auto value = static_cast<std::int64_t>(
                                static_cast<std::int32_t>(static_cast<std::uint32_t>(in[0])));
                            return numerics::encode(Format::fp32, value < 0,
                                                    static_cast<std::uint64_t>(value < 0 ? -value : value), 0,
                                                    {.rounding = how});
                        }});
    }
}

float as_float(std::uint64_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}
std::uint64_t bits_of(float value) {
    return std::isnan(value) ? 0x7FFFFFFFu : std::bit_cast<std::uint32_t>(value);
}
std::uint64_t flushed(std::uint64_t bits) {
    return (bits & 0x7F800000u) == 0 ? bits & 0x80000000u : bits;
}

void add_arithmetic(std::vector<ScalarInstruction>& list) {
    const auto add = [&](const char* mnemonic, unsigned inputs, std::function<float(float, float, float)> f,
                         bool flush) {
        list.push_back({"arithmetic", mnemonic, inputs, 32, 32, 70, "sm_70", "6.4",
                        [f = std::move(f), flush](const Inputs& in) {
                            if (!flush) return bits_of(f(as_float(in[0]), as_float(in[1]), as_float(in[2])));
                            return flushed(bits_of(f(as_float(flushed(in[0])), as_float(flushed(in[1])),
                                                     as_float(flushed(in[2])))));
                        }});
    };
    const auto fma = [](float a, float b, float c) { return std::fma(a, b, c); };
    add("fma.rn.f32", 3, fma, false);
    add("fma.rn.ftz.f32", 3, fma, true);
    add(
        "add.rn.f32", 2, [](float a, float b, float) { return a + b; }, false);
    add(
        "add.rn.ftz.f32", 2, [](float a, float b, float) { return a + b; }, true);
    add(
        "mul.rn.f32", 2, [](float a, float b, float) { return a * b; }, false);
    add(
        "mul.rn.ftz.f32", 2, [](float a, float b, float) { return a * b; }, true);
    add(
        "div.rn.f32", 2, [](float a, float b, float) { return a / b; }, false);
    add(
        "rcp.rn.f32", 1, [](float a, float, float) { return 1 / a; }, false);
    add(
        "sqrt.rn.f32", 1, [](float a, float, float) { return std::sqrt(a); }, false);
    for (const char* mnemonic : {"fma.rz.f32", "fma.rm.f32", "fma.rp.f32"})
        list.push_back({"arithmetic", mnemonic, 3});
    // Of several NaNs the first, quiet: the PTX manual leaves it open, and no silicon has been asked yet.
    list.push_back({"arithmetic", "fma.rn.f64", 3, 64, 64, 70, "sm_70", "6.4", [](const Inputs& in) {
                        for (const std::uint64_t bits : in)
                            if ((bits & ~(std::uint64_t{1} << 63)) > 0x7FF0000000000000u)
                                return bits | std::uint64_t{1} << 51;
                        const double value =
                            std::fma(std::bit_cast<double>(in[0]), std::bit_cast<double>(in[1]),
                                     std::bit_cast<double>(in[2]));
                        return std::bit_cast<std::uint64_t>(value);
                    }});
    list.push_back({"arithmetic", "fma.rn.f16", 3, 16, 16});
    list.push_back({"arithmetic", "fma.rn.bf16", 3, 16, 16, 80, "sm_80", "7.0"});
    list.push_back({"arithmetic", "min.f32", 2});
    list.push_back({"arithmetic", "max.NaN.f32", 2, 32, 32, 80, "sm_80", "7.0"});
}

void add_approximations(std::vector<ScalarInstruction>& list) {
    for (const char* mnemonic :
         {"ex2.approx.ftz.f32", "rcp.approx.ftz.f32", "rsqrt.approx.ftz.f32", "lg2.approx.ftz.f32",
          "sin.approx.ftz.f32", "cos.approx.ftz.f32", "sqrt.approx.ftz.f32", "ex2.approx.f32",
          "rcp.approx.f32", "rsqrt.approx.f32"})
        list.push_back({"approximation", mnemonic, 1});
    list.push_back({"approximation", "div.approx.ftz.f32", 2});
    list.push_back({"approximation", "div.full.f32", 2});
    list.push_back({"approximation", "tanh.approx.f32", 1, 32, 32, 75, "sm_75", "7.0"});
    list.push_back({"approximation", "ex2.approx.f16", 1, 16, 16, 75, "sm_75", "7.0"});
    list.push_back({"approximation", "tanh.approx.f16", 1, 16, 16, 75, "sm_75", "7.0"});
}

}  // namespace

std::vector<ScalarInstruction> scalar_instructions() {
    std::vector<ScalarInstruction> list;
    add_float_conversions(list);
    add_fp8_conversions(list);
    add_arithmetic(list);
    add_approximations(list);
    add_integer_conversions(list);
    return list;
}

}  // namespace heddle::capture
