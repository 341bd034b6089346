#include "validation/capture/sections/gemm_order_probe.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "validation/capture/type_format.h"

namespace heddle::capture {
namespace {

using numerics::Format;
using numerics::ProbeVector;

constexpr std::size_t kCorner = 16;  // rows and columns: inside one tile of any kernel

// One row of A (or column of B): `large` at plus and minus, `unit` between, `outside` elsewhere.
struct RowBits {
    std::uint64_t plus, minus, unit, outside;
};

template <typename Word>
void fill_row(const ProbeVector& probe, std::size_t k, const RowBits& bits, std::byte* to,
              std::size_t stride) {
    const auto put = [&](std::size_t at, std::uint64_t value) {
        const Word word = static_cast<Word>(value);
        std::memcpy(to + at * stride * sizeof(Word), &word, sizeof(Word));
    };
    const std::size_t begin = std::min<std::size_t>(probe.units_begin, k),
                      end = std::clamp<std::size_t>(probe.units_end, begin, k);
    for (std::size_t at = 0; at < begin; ++at) put(at, bits.outside);
    for (std::size_t at = begin; at < end; ++at) put(at, bits.unit);
    for (std::size_t at = end; at < k; ++at) put(at, bits.outside);
    if (probe.plus < k) put(probe.plus, bits.plus);
    if (probe.minus < k) put(probe.minus, bits.minus);
}

void fill_row(Format format, const ProbeVector& probe, std::size_t k, const RowBits& bits, std::byte* to,
              std::size_t stride) {
    switch (numerics::traits(format).storage_bits) {
        case 8:
            return fill_row<std::uint8_t>(probe, k, bits, to, stride);
        case 16:
            return fill_row<std::uint16_t>(probe, k, bits, to, stride);
        case 32:
            return fill_row<std::uint32_t>(probe, k, bits, to, stride);
        default:
            return fill_row<std::uint64_t>(probe, k, bits, to, stride);
    }
}

std::uint64_t bits_of(Format format, double value) {
    return numerics::convert(format, Format::fp64, std::bit_cast<std::uint64_t>(value));
}

}  // namespace

std::optional<numerics::ProbedArithmetic> probed_arithmetic(const GemmProblem& problem) {
    const auto a = format_of(problem.a), b = format_of(problem.b), d = format_of(problem.d);
    if (!a || !b || !d) return std::nullopt;
    numerics::ProbedArithmetic arithmetic;
    arithmetic.a = *a;
    arithmetic.b = *b;
    arithmetic.output = *d;
    const bool fp8 = problem.a == Type::e4m3 || problem.a == Type::e5m2;
    switch (problem.compute) {
        case Compute::f64:
            arithmetic.accumulator = Format::fp64;
            arithmetic.alignment_fraction_bits = 0;
            break;
        case Compute::f32_pedantic:
            arithmetic.alignment_fraction_bits = 0;
            break;
        case Compute::f16:
            arithmetic.accumulator = Format::fp16;
            break;
        case Compute::tf32:
            arithmetic.a = arithmetic.b = Format::tf32;
            break;
        default:
            break;
    }
    if (fp8) arithmetic.result_fraction_bits = 13;
    return arithmetic;
}

GemmOrderProbe::GemmOrderProbe(Device& device, const GemmProblem& problem)
    : device_(&device), problem_(problem) {
    if (device.blas() == nullptr) throw DeviceError("this device has no BLAS");
    const auto arithmetic = probed_arithmetic(problem);
    if (!arithmetic) throw std::invalid_argument("sums of integers are exact: they have no order to reveal");
    arithmetic_ = *arithmetic;
    values_ = numerics::probe_values(arithmetic_);
    if (!values_.problem.empty()) throw std::invalid_argument(values_.problem);
    a_bytes_.resize(problem.elements_a() * bytes_of(problem.a));
    b_bytes_.resize(problem.elements_b() * bytes_of(problem.b));
    d_bytes_.resize(problem.elements_d() * bytes_of(problem.d));
    a_.emplace(device, a_bytes_.size());
    b_.emplace(device, b_bytes_.size());
    d_.emplace(device, d_bytes_.size());
    device.write(a_->address(), a_bytes_);
    if (!values_.constant_b()) return;
    const RowBits same{0, 0, bits_of(arithmetic_.b, values_.b_unit), bits_of(arithmetic_.b, values_.b_unit)};
    fill_row(arithmetic_.b, ProbeVector{}, problem.elements_b(), same, b_bytes_.data(), 1);
    device.write(b_->address(), b_bytes_);
}

std::size_t GemmOrderProbe::probes_at_once(Places places) const {
    const std::size_t rows =
        places == Places::corner ? std::min<std::size_t>(kCorner, problem_.m) : problem_.m;
    // With a B that varies probe p has column p to itself.
    return values_.constant_b() ? rows : std::min<std::size_t>(rows, problem_.n);
}

void GemmOrderProbe::fill(std::span<const ProbeVector> probes) {
    const std::size_t k = problem_.k;
    const auto place = [](std::vector<std::byte>& bytes, bool by_k, std::size_t row, std::size_t leading,
                          std::size_t width) { return bytes.data() + (by_k ? row * leading : row) * width; };
    const RowBits a{bits_of(arithmetic_.a, values_.a_large), bits_of(arithmetic_.a, -values_.a_large),
                    bits_of(arithmetic_.a, values_.a_unit), 0};
    for (std::size_t row = 0; row < probes.size(); ++row) {
        fill_row(arithmetic_.a, probes[row], k, a,
                 place(a_bytes_, !problem_.transpose_a, row, problem_.row_a(), bytes_of(problem_.a)),
                 problem_.transpose_a ? problem_.row_a() : 1);
    }
    // Rows of earlier probes stay as they are: nobody reads their results.
    if (problem_.transpose_a) {
        device_->write(a_->address(), a_bytes_);
    } else {
        const std::size_t bytes =
            std::min(a_bytes_.size(), probes.size() * problem_.row_a() * bytes_of(problem_.a));
        device_->write(a_->address(), std::span(a_bytes_).first(bytes));
    }
    if (values_.constant_b()) return;
    const std::uint64_t large = bits_of(arithmetic_.b, values_.b_large),
                        unit = bits_of(arithmetic_.b, values_.b_unit);
    for (std::size_t column = 0; column < probes.size(); ++column) {
        fill_row(arithmetic_.b, probes[column], k, {large, large, unit, unit},
                 place(b_bytes_, problem_.transpose_b, column, problem_.row_b(), bytes_of(problem_.b)),
                 problem_.transpose_b ? 1 : problem_.row_b());
    }
    device_->write(b_->address(), b_bytes_);
}

std::vector<double> GemmOrderProbe::sums(const GemmAlgorithm& algorithm, std::span<const ProbeVector> probes,
                                         Places places) {
    const std::size_t at_once = probes_at_once(places), width = bytes_of(problem_.d);
    std::vector<double> results;
    results.reserve(probes.size());
    for (std::size_t first = 0; first < probes.size(); first += at_once) {
        if (stop()) throw std::runtime_error("interrupted");
        const auto some = probes.subspan(first, std::min(at_once, probes.size() - first));
        fill(some);
        GemmOperands operands;
        operands.a = a_->address();
        operands.b = b_->address();
        operands.c = operands.d = d_->address();
        device_->blas()->run(problem_, algorithm, operands);
        ++multiplications_;
        device_->read(d_->address(), std::span(d_bytes_).first(some.size() * problem_.row_d() * width));
        for (std::size_t row = 0; row < some.size(); ++row) {
            // Neighbouring rows answer in columns far apart.
            const std::size_t columns =
                places == Places::corner ? std::min<std::size_t>(kCorner, problem_.n) : problem_.n;
            const std::size_t column = values_.constant_b() ? row * 37 % columns : row;
            std::uint64_t bits = 0;
            std::memcpy(&bits, &d_bytes_[(row * problem_.row_d() + column) * width], width);
            results.push_back(numerics::to_double(arithmetic_.output, bits) / values_.unit());
        }
    }
    return results;
}

numerics::RevealedOrder GemmOrderProbe::reveal(const GemmAlgorithm& algorithm, Places places) {
    numerics::ProbeOptions options;
    options.maximum_units = values_.maximum_units;
    options.complete_up_to = 512;
    options.maximum_probes = std::size_t{1} << 19;
    return numerics::reveal_order(
        problem_.k, [&](std::span<const ProbeVector> probes) { return sums(algorithm, probes, places); },
        options);
}

}  // namespace heddle::capture
