#include "validation/compare/captured_gemm.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "isa/numerics/compare.h"
#include "validation/compare/gemm_attributes.h"

namespace heddle::validation {

using capture::Compute;
using capture::GemmProblem;
using capture::Operand;
using capture::OutputPlace;
using capture::Type;

const std::array<const char*, kUlpBins> kUlpLabels{"0", "1", "2-3", "4-15", "16-255", "256 and more"};

std::size_t ulp_bin(std::uint64_t ulp) {
    if (ulp <= 1) return static_cast<std::size_t>(ulp);
    if (ulp <= 3) return 2;
    if (ulp <= 15) return 3;
    return ulp <= 255 ? 4 : 5;
}

namespace {

numerics::Format format_of(Type type) {
    return numerics::format_of(element_of(type));
}

bool is_integer(Type type) {
    return type == Type::i8 || type == Type::i32;
}

bool has_bias(capture::Epilogue epilogue) {
    using E = capture::Epilogue;
    return epilogue == E::bias || epilogue == E::relu_bias || epilogue == E::gelu_bias;
}

std::uint64_t bits_at(std::span<const std::byte> from, std::size_t index, unsigned bytes) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, from.data() + index * bytes, bytes);
    return bits;
}

std::uint64_t ulp_between(Type type, std::uint64_t a, std::uint64_t b) {
    if (!is_integer(type)) return numerics::ulp_distance(format_of(type), a, b);
    return static_cast<std::uint64_t>(std::abs(value_of(type, a) - value_of(type, b)));
}

/// One row of A, or column of B, along k.
std::vector<std::byte> line(const CapturedGemm& gemm, Operand operand, std::uint64_t batch,
                            std::uint64_t index) {
    const GemmProblem& p = gemm.problem;
    const std::uint64_t lines = operand == Operand::a ? p.m : p.n;
    std::vector<std::byte> bytes(p.k * capture::bytes_of(operand == Operand::a ? p.a : p.b));
    capture::fill_elements(p, gemm.inputs, operand, (batch * lines + index) * p.k, bytes);
    return bytes;
}

std::vector<std::byte> element(const CapturedGemm& gemm, Operand operand, std::uint64_t index) {
    std::vector<std::byte> bytes(
        capture::bytes_of(operand == Operand::c ? gemm.problem.c : gemm.problem.bias));
    capture::fill_elements(gemm.problem, gemm.inputs, operand, index, bytes);
    return bytes;
}

std::uint64_t index_of_c(const GemmProblem& p, const OutputPlace& at) {
    return (at.batch * p.m + at.row) * p.n + at.column;
}

void append(std::vector<std::byte>& to, const std::vector<std::byte>& bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
}

/// Only these elements: a small GEMM whose output (i, i) is element i.
std::vector<std::byte> evaluate_places(const CapturedGemm& gemm, const numerics::ReductionPlan& plan,
                                       std::span<const OutputPlace> places) {
    constexpr std::size_t kGroup = 32;  // rows and columns that are in memory at once
    const GemmProblem& p = gemm.problem;
    std::vector<std::byte> results;
    for (std::size_t first = 0; first < places.size(); first += kGroup) {
        const std::size_t count = std::min(kGroup, places.size() - first);
        std::vector<std::byte> a, b, c(count * count * capture::bytes_of(p.c)), bias;
        std::vector<numerics::OutputPlace> diagonal;
        for (std::size_t i = 0; i < count; ++i) {
            const OutputPlace& at = places[first + i];
            append(a, line(gemm, Operand::a, at.batch, at.row));
            append(b, line(gemm, Operand::b, at.batch, at.column));
            const std::vector<std::byte> c_element = element(gemm, Operand::c, index_of_c(p, at));
            std::memcpy(c.data() + i * (count + 1) * c_element.size(), c_element.data(), c_element.size());
            if (has_bias(p.epilogue)) append(bias, element(gemm, Operand::bias, at.column));
            diagonal.emplace_back(i, i);
        }
        append(results, numerics::evaluate_elements(plan, {count, count, p.k, a, b, c, bias}, diagonal));
    }
    return results;
}

std::vector<std::byte> evaluate_whole(const CapturedGemm& gemm, const numerics::ReductionPlan& plan) {
    const GemmProblem& p = gemm.problem;
    std::vector<std::byte> a(p.m * p.k * capture::bytes_of(p.a)), b(p.n * p.k * capture::bytes_of(p.b)),
        c(p.beta != 0 ? p.m * p.n * capture::bytes_of(p.c) : 0),
        bias(has_bias(p.epilogue) ? p.n * capture::bytes_of(p.bias) : 0), results;
    capture::fill_elements(p, gemm.inputs, Operand::bias, 0, bias);
    for (std::uint64_t batch = 0; batch < p.batch; ++batch) {
        capture::fill_elements(p, gemm.inputs, Operand::a, batch * p.m * p.k, a);
        capture::fill_elements(p, gemm.inputs, Operand::b, batch * p.n * p.k, b);
        capture::fill_elements(p, gemm.inputs, Operand::c, batch * p.m * p.n, c);
        append(results, numerics::evaluate(plan, {p.m, p.n, p.k, a, b, c, bias}));
    }
    return results;
}

/// |captured - computed| / |captured| over finite numbers.
class FrobeniusError {
  public:
    void add(double actual, double expected) {
        if (!std::isfinite(actual) || !std::isfinite(expected)) return;
        error_ += (actual - expected) * (actual - expected);
        norm_ += expected * expected;
    }
    double value() const {
        if (error_ == 0) return 0;
        return norm_ == 0 ? std::numeric_limits<double>::infinity() : std::sqrt(error_ / norm_);
    }

  private:
    double error_ = 0, norm_ = 0;
};

void compare_outputs(const CapturedGemm& gemm, std::span<const std::byte> computed, BitCheck& check) {
    const Type type = gemm.problem.d;
    const unsigned size = capture::bytes_of(type);
    const std::vector<OutputPlace> places = gemm.places();
    FrobeniusError frobenius;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const std::uint64_t captured = bits_at(gemm.outputs, i, size), ours = bits_at(computed, i, size);
        const std::uint64_t ulp = ulp_between(type, captured, ours);
        ++check.ulps[ulp_bin(ulp)];
        frobenius.add(value_of(type, ours), value_of(type, captured));
        ++check.bits.total;
        if (captured == ours) {
            ++check.bits.identical;
        } else if (!check.worst || ulp > check.worst->ulp) {
            check.worst = WrongOutput{places[i], captured, ours, ulp};
        }
        check.largest_ulp = std::max(check.largest_ulp, ulp);
    }
    check.frobenius = frobenius.value();
}

/// Unit of the roundings of the sums, as NUMERICS has it for a bound over every order.
double sum_unit(const GemmProblem& p) {
    if (p.compute == Compute::f64) return 0x1p-53;
    if (p.compute == Compute::f16) return 0x1p-10;
    if (capture::bytes_of(p.a) == 1 && !is_integer(p.a)) return 0x1p-13;
    return 0x1p-23;
}

/// Relative error of one conversion to D's type, and the smallest number above zero.
double output_unit(Type type) {
    return std::ldexp(1.0, -static_cast<int>(traits(format_of(type)).fraction_bits));
}
double smallest(Type type) {
    const numerics::FormatTraits traits = numerics::traits(format_of(type));
    return std::ldexp(1.0, traits.minimum_exponent() - static_cast<int>(traits.fraction_bits));
}

struct Exact {
    long double value = 0;
    double bound = 0;
};

/// GELU by tanh and by erf differ by less than this, wherever they are taken.
constexpr double kGeluDifference = 5e-4;

Exact with_epilogue(const CapturedGemm& gemm, const OutputPlace& at, Exact exact) {
    using E = capture::Epilogue;
    const GemmProblem& p = gemm.problem;
    const double unit = sum_unit(p);
    if (p.beta != 0) {
        const long double c =
            static_cast<long double>(p.beta) *
            value_of(p.c, bits_at(element(gemm, Operand::c, index_of_c(p, at)), 0, capture::bytes_of(p.c)));
        exact.value += c;
        exact.bound += 2 * unit * static_cast<double>(std::abs(c));
    }
    if (has_bias(p.epilogue)) {
        const long double bias =
            value_of(p.bias, bits_at(element(gemm, Operand::bias, at.column), 0, capture::bytes_of(p.bias)));
        exact.value += bias;
        exact.bound += 2 * unit * static_cast<double>(std::abs(bias));
    }
    if (p.epilogue == E::relu || p.epilogue == E::relu_bias) exact.value = std::max(exact.value, 0.0L);
    if (p.epilogue == E::gelu || p.epilogue == E::gelu_bias) {
        exact.value = 0.5L * exact.value * (1 + std::erf(exact.value / std::sqrt(2.0L)));
        exact.bound = 1.2 * exact.bound + kGeluDifference;
    }
    const double magnitude = static_cast<double>(std::abs(exact.value));
    exact.bound += 4 * unit * magnitude + output_unit(p.d) * (magnitude + exact.bound) + smallest(p.d);
    return exact;
}

Exact exact_output(const CapturedGemm& gemm, const OutputPlace& at) {
    const GemmProblem& p = gemm.problem;
    const std::vector<std::byte> a = line(gemm, Operand::a, at.batch, at.row);
    const std::vector<std::byte> b = line(gemm, Operand::b, at.batch, at.column);
    long double sum = 0;
    double magnitude = 0, smallest_product = 0;
    for (std::uint64_t k = 0; k < p.k; ++k) {
        const long double product =
            static_cast<long double>(value_of(p.a, bits_at(a, k, capture::bytes_of(p.a)))) *
            value_of(p.b, bits_at(b, k, capture::bytes_of(p.b)));
        sum += product;
        magnitude += static_cast<double>(std::abs(product));
    }
    // Products and sums below the accumulator's smallest number may be lost, one of each for every k.
    if (p.compute != Compute::f64)
        smallest_product = static_cast<double>(p.k) * (p.compute == Compute::f16 ? 0x1p-14 : 0x1p-126);
    const double ku = (static_cast<double>(p.k) + 2) * sum_unit(p);
    const double gamma = ku < 1 ? ku / (1 - ku) : std::numeric_limits<double>::infinity();
    const double inputs = p.compute == Compute::tf32 && !gemm.inputs.tf32_numbers ? 2.1 * 0x1p-10 : 0;
    const double alpha = std::abs(p.alpha);
    Exact exact;
    exact.value = static_cast<long double>(p.alpha) * sum;
    exact.bound = alpha * ((gamma + inputs) * magnitude + smallest_product);
    return with_epilogue(gemm, at, exact);
}

}  // namespace

std::vector<OutputPlace> CapturedGemm::places() const {
    const std::size_t count = output_count();
    if (!whole) return capture::sample_places(problem, inputs.seed, count);
    std::vector<OutputPlace> all;
    for (std::size_t i = 0; i < count; ++i)
        all.push_back({i / (problem.m * problem.n), i / problem.n % problem.m, i % problem.n});
    return all;
}

std::string category_of(const GemmProblem& problem) {
    std::string text =
        std::string(name_of(problem.a)) + " " + name_of(problem.b) + " -> " + name_of(problem.d);
    if (problem.compute == Compute::tf32) text += " by tf32";
    if (problem.compute == Compute::f16) text += " in f16";
    if (problem.compute == Compute::f32_pedantic) text += " pedantic";
    if (problem.fast_accumulation) text += " fast";
    return text;
}

double value_of(Type type, std::uint64_t bits) {
    if (type == Type::i8) return static_cast<std::int8_t>(bits);
    if (type == Type::i32) return static_cast<std::int32_t>(bits);
    return numerics::to_double(format_of(type), bits);
}

BitCheck check_bits(const CapturedGemm& gemm, const numerics::ReductionPlan& plan,
                    std::uint64_t whole_limit) {
    const GemmProblem& p = gemm.problem;
    BitCheck check;
    const bool whole = p.batch * p.m * p.n * p.k <= whole_limit;
    const std::vector<OutputPlace> places = gemm.places();
    if (!whole) {
        compare_outputs(gemm, evaluate_places(gemm, plan, places), check);
        return check;
    }
    const std::vector<std::byte> all = evaluate_whole(gemm, plan);
    compare_outputs(gemm, capture::sample_of(p, all, places), check);
    const bool equal = numerics::hash_bits(all) == gemm.hash;
    if (equal && check.bits.all()) {
        check.all_evaluated = true;
        check.bits.identical = check.bits.total = p.batch * p.m * p.n;
    } else if (!equal && check.bits.all()) {
        ++check.bits.total;
    }
    return check;
}

ErrorCheck check_error(const CapturedGemm& gemm) {
    const Type type = gemm.problem.d;
    const std::vector<OutputPlace> places = gemm.places();
    ErrorCheck check;
    FrobeniusError frobenius;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const Exact exact = exact_output(gemm, places[i]);
        const auto rounded = static_cast<double>(exact.value);
        const std::uint64_t right =
            numerics::convert(format_of(type), numerics::Format::fp64, std::bit_cast<std::uint64_t>(rounded));
        // Infinities and NaNs of the inputs, and sums that an intermediate result may not hold.
        const double largest =
            value_of(type, numerics::convert(format_of(type), numerics::Format::fp64, 0x7FEFFFFFFFFFFFFFu,
                                             {.overflow = numerics::Overflow::saturate}));
        if (!std::isfinite(rounded) || !std::isfinite(exact.bound) ||
            std::abs(rounded) + exact.bound > 0.5 * largest)
            continue;
        const std::uint64_t captured = bits_at(gemm.outputs, i, capture::bytes_of(type));
        const double value = value_of(type, captured);
        const std::uint64_t ulp = numerics::ulp_distance(format_of(type), captured, right);
        const double share = std::abs(static_cast<double>(value - exact.value)) / exact.bound;
        ++check.compared;
        ++check.ulps[ulp_bin(ulp)];
        check.largest_ulp = std::max(check.largest_ulp, ulp);
        frobenius.add(value, rounded);
        if (!(share <= check.largest_share)) {  // also for a NaN
            check.largest_share = std::isnan(share) ? std::numeric_limits<double>::infinity() : share;
            check.worst = WrongOutput{places[i], captured, right, ulp};
        }
    }
    check.frobenius = frobenius.value();
    return check;
}

std::string largest_product(const CapturedGemm& gemm, const OutputPlace& place) {
    const GemmProblem& p = gemm.problem;
    const std::vector<std::byte> a = line(gemm, Operand::a, place.batch, place.row);
    const std::vector<std::byte> b = line(gemm, Operand::b, place.batch, place.column);
    double largest = -1;
    std::string text;
    for (std::uint64_t k = 0; k < p.k; ++k) {
        const double x = value_of(p.a, bits_at(a, k, capture::bytes_of(p.a)));
        const double y = value_of(p.b, bits_at(b, k, capture::bytes_of(p.b)));
        if (!(std::abs(x * y) > largest)) continue;
        largest = std::abs(x * y);
        char line[160];
        std::snprintf(line, sizeof line, "a(%llu, %llu) = %.9g by b(%llu, %llu) = %.9g",
                      static_cast<unsigned long long>(place.row), static_cast<unsigned long long>(k), x,
                      static_cast<unsigned long long>(k), static_cast<unsigned long long>(place.column), y);
        text = line;
    }
    return text;
}

}  // namespace heddle::validation
