// Numbers for probes: M and the unit as products of what the formats hold.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "isa/numerics/order_probe.h"

namespace heddle::numerics {
namespace {

/// Exponents of the powers of two that a format holds, at most `kWidest` from 1.
struct Range {
    int lowest, highest;
};

// Far more than any sum needs, and far from overflow.
constexpr int kWidest = 60;

Range powers_of(Format format) {
    const FormatTraits layout = traits(format);
    const int subnormal = layout.minimum_exponent() - static_cast<int>(layout.fraction_bits);
    return {std::max(subnormal, -kWidest), std::min(layout.maximum_exponent(), kWidest)};
}

/// How many units at once, as an exponent, for M = 2^large and a unit of 2^unit; negative: none.
int room(const ProbedArithmetic& arithmetic, int large, int unit) {
    const int accumulator_bits = static_cast<int>(traits(arithmetic.accumulator).fraction_bits);
    // Lost where F bits below M are cut, or half a unit in the last place below M is rounded off.
    const int lost = std::max(arithmetic.alignment_fraction_bits + 1, accumulator_bits + 2);
    // Counted exactly in every place that holds a partial sum.
    int counted = std::min(accumulator_bits, static_cast<int>(traits(arithmetic.output).fraction_bits)) + 1;
    if (arithmetic.result_fraction_bits != 0)
        counted = std::min(counted, arithmetic.result_fraction_bits + 1);
    return std::min({large - unit - lost, counted, 31});
}

struct Choice {
    int a_large, b_large, a_unit, b_unit, room;
};

/// Moves M down and the unit up until both lie in what holds sums.
Choice fit(const ProbedArithmetic& arithmetic, const Range& a, const Range& b, bool constant_b) {
    const Range output = powers_of(arithmetic.output), accumulator = powers_of(arithmetic.accumulator);
    const int highest = std::min(output.highest, accumulator.highest);
    const int lowest = std::max(output.lowest, accumulator.lowest);
    Choice choice{a.highest, constant_b ? 0 : b.highest, a.lowest, constant_b ? 0 : b.lowest, 0};
    const auto lower = [](int& first, int& second, int excess) {
        const int part = std::min(std::max(second, 0), std::max(excess, 0));
        second -= part;
        first -= std::max(excess, 0) - part;
    };
    const auto raise = [](int& first, int& second, int lack) {
        const int part = std::min(std::max(-second, 0), std::max(lack, 0));
        second += part;
        first += std::max(lack, 0) - part;
    };
    lower(choice.a_large, choice.b_large, choice.a_large + choice.b_large - highest);
    raise(choice.a_unit, choice.b_unit, lowest - choice.a_unit - choice.b_unit);
    choice.room = room(arithmetic, choice.a_large + choice.b_large, choice.a_unit + choice.b_unit);
    return choice;
}

}  // namespace

ProbeValues probe_values(const ProbedArithmetic& arithmetic) {
    const Range a = powers_of(arithmetic.a), b = powers_of(arithmetic.b);
    Choice choice = fit(arithmetic, a, b, true);
    const Choice varying = fit(arithmetic, a, b, false);
    // A constant B costs less; below a thousand units at once it costs more.
    constexpr int kEnough = 10;
    if (choice.room < kEnough && varying.room > choice.room) choice = varying;
    if (choice.room < 0) {
        ProbeValues none;
        none.problem = std::string("no numbers of ") + traits(arithmetic.a).name + " and " +
                       traits(arithmetic.b).name + " are so far apart that units are lost beside M: 2^" +
                       std::to_string(choice.a_large + choice.b_large) + " against 2^" +
                       std::to_string(choice.a_unit + choice.b_unit) + " in sums of " +
                       traits(arithmetic.output).name;
        return none;
    }
    return {std::ldexp(1.0, choice.a_large), std::ldexp(1.0, choice.b_large), std::ldexp(1.0, choice.a_unit),
            std::ldexp(1.0, choice.b_unit),  std::uint32_t{1} << choice.room, {}};
}

void write_probe(const ProbeVector& probe, std::size_t k, Format format, double large, double unit,
                 bool signed_large, std::byte* to, std::size_t stride_elements) {
    const std::size_t bytes = traits(format).storage_bits / 8;
    const auto bits_of = [&](double value) {
        return convert(format, Format::fp64, std::bit_cast<std::uint64_t>(value));
    };
    const auto put = [&](std::size_t at, std::uint64_t bits) {
        std::memcpy(to + at * stride_elements * bytes, &bits, bytes);
    };
    // B of a zero in A may be anything finite.
    const std::uint64_t outside = signed_large ? 0 : bits_of(unit), inside = bits_of(unit);
    for (std::size_t at = 0; at < k; ++at)
        put(at, at >= probe.units_begin && at < probe.units_end ? inside : outside);
    if (probe.plus < k) put(probe.plus, bits_of(large));
    if (probe.minus < k) put(probe.minus, bits_of(signed_large ? -large : large));
}

}  // namespace heddle::numerics
