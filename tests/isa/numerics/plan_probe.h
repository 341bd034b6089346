// Probes as rows of a GEMM that a plan computes.
#pragma once

#include <algorithm>
#include <cstring>

#include "isa/numerics/order_probe.h"
#include "isa/numerics/reduction_plan.h"

namespace heddle::numerics::test {

inline ProbeValues probe_values_of(const ReductionPlan& plan) {
    ProbedArithmetic arithmetic{.a = format_of(plan.a),
                                .b = format_of(plan.b),
                                .output = format_of(plan.d),
                                .accumulator = format_of(plan.accumulator),
                                .alignment_fraction_bits = 0};
    if (plan.arithmetic == Arithmetic::tensor_core)
        arithmetic.alignment_fraction_bits = plan.tensor_core.alignment_fraction_bits;
    return probe_values(arithmetic);
}

/// A GEMM of `rows` rows and one column for every list of so many probes; with a B that varies one by one.
template <typename Gemm>
ProbedSum probed_gemm(std::size_t k, Format a_format, Format b_format, Format d_format,
                      const ProbeValues& values, const Gemm& gemm) {
    return [=](std::span<const ProbeVector> probes) {
        std::vector<double> counts;
        const std::size_t a_bytes = traits(a_format).storage_bits / 8,
                          b_bytes = traits(b_format).storage_bits / 8,
                          d_bytes = traits(d_format).storage_bits / 8;
        const std::size_t most = values.constant_b() ? 64 : 1;
        for (std::size_t first = 0; first < probes.size(); first += most) {
            const std::size_t rows = std::min(most, probes.size() - first);
            std::vector<std::byte> a(rows * k * a_bytes), b(k * b_bytes);
            for (std::size_t row = 0; row < rows; ++row)
                write_probe(probes[first + row], k, a_format, values.a_large, values.a_unit, true,
                            a.data() + row * k * a_bytes);
            write_probe(probes[first], k, b_format, values.b_large, values.b_unit, false, b.data());
            const std::vector<std::byte> d = gemm(rows, a, b);
            for (std::size_t row = 0; row < rows; ++row) {
                std::uint64_t bits = 0;
                std::memcpy(&bits, d.data() + row * d_bytes, d_bytes);
                counts.push_back(to_double(d_format, bits) / values.unit());
            }
        }
        return counts;
    };
}

inline RevealedOrder reveal(const ReductionPlan& plan, std::size_t k) {
    const ProbeValues values = probe_values_of(plan);
    const auto gemm = [&](std::size_t rows, const std::vector<std::byte>& a,
                          const std::vector<std::byte>& b) {
        return evaluate(plan, {.m = rows, .n = 1, .k = k, .a = a, .b = b, .c = {}, .bias = {}});
    };
    return reveal_order(k,
                        probed_gemm(k, format_of(plan.a), format_of(plan.b), format_of(plan.d), values, gemm),
                        {.maximum_units = values.maximum_units});
}

}  // namespace heddle::numerics::test
