#include "validation/compare/recorded_vectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "isa/numerics/compare.h"
#include "validation/recorded/tensor_core_vectors.h"

namespace heddle::validation {
namespace {

using numerics::DotProductParameters;
using numerics::Format;

constexpr std::size_t kUlpBins = 6;
constexpr std::array<const char*, kUlpBins> kUlpLabels{"0", "1", "2-3", "4-15", "16-255", "256 and more"};

std::size_t ulp_bin(std::uint32_t ulp) {
    if (ulp <= 1) return ulp;
    if (ulp <= 3) return 2;
    if (ulp <= 15) return 3;
    return ulp <= 255 ? 4 : 5;
}

/// What one model makes of one series.
struct Score {
    std::size_t identical = 0, rows = 0;
    std::uint32_t largest_ulp = 0;
    std::size_t worst_row = 0;
    double frobenius = 0;
    std::array<std::uint64_t, kUlpBins> histogram{};
    double per_cent() const { return 100.0 * static_cast<double>(identical) / static_cast<double>(rows); }
};

std::uint32_t ulp_between(Format format, std::uint32_t a, std::uint32_t b) {
    if (format == Format::fp16)
        return numerics::ulp_distance_fp16(static_cast<std::uint16_t>(a), static_cast<std::uint16_t>(b));
    return numerics::ulp_distance(std::bit_cast<float>(a), std::bit_cast<float>(b));
}

Score score_of(const TensorCoreVectors& vectors, Format output, const TensorCoreModel& model) {
    Score score;
    score.rows = vectors.rows();
    std::vector<double> actual, expected;
    for (std::size_t row = 0; row < vectors.rows(); ++row) {
        const std::uint32_t d = model({vectors.a.data() + row * vectors.k, vectors.k},
                                      {vectors.b.data() + row * vectors.k, vectors.k}, vectors.c[row]);
        if (d == vectors.d[row]) ++score.identical;
        const std::uint32_t ulp = ulp_between(output, d, vectors.d[row]);
        ++score.histogram[ulp_bin(ulp)];
        if (ulp > score.largest_ulp) {
            score.largest_ulp = ulp;
            score.worst_row = row;
        }
        actual.push_back(numerics::to_double(output, d));
        expected.push_back(numerics::to_double(output, vectors.d[row]));
    }
    score.frobenius = numerics::relative_frobenius_error(actual, expected);
    return score;
}

TensorCoreModel definition(const DotProductParameters& parameters) {
    return [parameters](auto a, auto b, auto c) { return numerics::dot_product(parameters, a, b, c); };
}

template <typename Input, typename Output>
std::uint32_t multiply(const DotProductParameters& parameters, std::span<const std::uint32_t> a,
                       std::span<const std::uint32_t> b, std::uint32_t c) {
    const std::vector<Input> typed_a(a.begin(), a.end()), typed_b(b.begin(), b.end());
    Output d{}, typed_c;
    if constexpr (sizeof(Output) == 2) {
        typed_c = static_cast<std::uint16_t>(c);
    } else {
        typed_c = std::bit_cast<float>(c);
    }
    numerics::matrix_multiply_accumulate(parameters, 1, 1, a.size(), typed_a.data(), typed_b.data(), &typed_c,
                                         &d);
    if constexpr (sizeof(Output) == 2) {
        return d;
    } else {
        return std::bit_cast<std::uint32_t>(d);
    }
}

/// The implementation that GEMMs are evaluated with.
TensorCoreModel fast_implementation(const DotProductParameters& parameters) {
    return [parameters](auto a, auto b, std::uint32_t c) -> std::uint32_t {
        const bool narrow = parameters.output == Format::fp16;
        switch (numerics::traits(parameters.input).storage_bits) {
            case 8:
                return narrow ? multiply<std::uint8_t, std::uint16_t>(parameters, a, b, c)
                              : multiply<std::uint8_t, float>(parameters, a, b, c);
            case 16:
                return narrow ? multiply<std::uint16_t, std::uint16_t>(parameters, a, b, c)
                              : multiply<std::uint16_t, float>(parameters, a, b, c);
            default:
                return multiply<std::uint32_t, float>(parameters, a, b, c);
        }
    };
}

/// A scalar fp32 unit, k ascending; its sum rounded to the output format.
TensorCoreModel chain_of_fma(const DotProductParameters& parameters) {
    return [parameters](auto a, auto b, std::uint32_t c) {
        float sum = numerics::to_float(parameters.output, c);
        for (std::size_t k = 0; k < a.size(); ++k)
            sum = std::fma(numerics::to_float(parameters.input, a[k]),
                           numerics::to_float(parameters.input, b[k]), sum);
        return numerics::from_float(parameters.output, sum);
    };
}

/// Nearly the exact sum, rounded once.
TensorCoreModel double_rounded_once(const DotProductParameters& parameters) {
    return [parameters](auto a, auto b, std::uint32_t c) {
        double sum = numerics::to_double(parameters.output, c);
        for (std::size_t k = 0; k < a.size(); ++k)
            sum += numerics::to_double(parameters.input, a[k]) * numerics::to_double(parameters.input, b[k]);
        return static_cast<std::uint32_t>(
            numerics::convert(parameters.output, Format::fp64, std::bit_cast<std::uint64_t>(sum)));
    };
}

struct WrongModel {
    std::string name;
    TensorCoreModel model;
    /// Per cent of the H100 fp16 -> fp32 rows that it matches, as published; computed by another program.
    double published;
};

std::vector<WrongModel> wrong_models(const DotProductParameters& right) {
    DotProductParameters fewer_bits = right, shorter_blocks = right;
    --fewer_bits.alignment_fraction_bits;
    shorter_blocks.block_length /= 2;
    return {{"one alignment bit fewer", definition(fewer_bits), 76},
            {"blocks of half the length", definition(shorter_blocks), 69},
            {"fp32 FMA chain", chain_of_fma(right), 37},
            {"fp64 sum rounded once", double_rounded_once(right), 58}};
}

std::string hexadecimal(std::span<const std::uint32_t> values, unsigned digits) {
    std::string text;
    for (const std::uint32_t value : values) text += fmt::format(" {:0{}x}", value, digits);
    return text;
}

/// The worst row with its inputs, in the words of the files.
std::string worst_case(const TensorCoreSeries& series, const TensorCoreVectors& vectors, const Score& score) {
    if (score.identical == score.rows) return {};
    const std::size_t row = score.worst_row;
    const unsigned input_digits = numerics::traits(series.input).storage_bits / 4,
                   output_digits = numerics::traits(series.output).storage_bits / 4;
    const std::uint32_t computed =
        numerics::dot_product(series.parameters(), {vectors.a.data() + row * vectors.k, vectors.k},
                              {vectors.b.data() + row * vectors.k, vectors.k}, vectors.c[row]);
    return fmt::format("worst: line {}, {} ulp: recorded {:0{}x}, computed {:0{}x}; a{}; b{}; c {:0{}x}",
                       row + 1, score.largest_ulp, vectors.d[row], output_digits, computed, output_digits,
                       hexadecimal({vectors.a.data() + row * vectors.k, vectors.k}, input_digits),
                       hexadecimal({vectors.b.data() + row * vectors.k, vectors.k}, input_digits),
                       vectors.c[row], output_digits);
}

/// Everything that is said of one series.
void compare_series(const TensorCoreSeries& series, const TensorCoreVectors& vectors, Comparison& result,
                    BitCount& fast_rows) {
    const Score right = score_of(vectors, series.output, definition(series.parameters()));
    ComparisonRow row;
    row.name = series.name();
    row.category = series.device;
    row.bits = BitCount{right.identical, right.rows};
    row.largest_ulp = right.largest_ulp;
    row.frobenius = right.frobenius;
    row.note = worst_case(series, vectors, right);
    result.rows.push_back(std::move(row));
    for (std::size_t bin = 0; bin < kUlpBins; ++bin)
        result.histograms[0].bins[bin].count += right.histogram[bin];
    fast_rows.identical += count_equal(vectors, fast_implementation(series.parameters()));
    fast_rows.total += vectors.rows();
    std::vector<std::string> cells{series.name(), fmt::format("{:.1f} %", right.per_cent())};
    for (const WrongModel& wrong : wrong_models(series.parameters())) {
        const Score score = score_of(vectors, series.output, wrong.model);
        cells.push_back(fmt::format("{:.1f} %", score.per_cent()));
        if (series.name() != "H100 fp16 -> fp32") continue;
        result.bars.push_back(at_most(fmt::format("{}: {}: distance from the published {:.0f} %",
                                                  series.name(), wrong.name, wrong.published),
                                      std::abs(score.per_cent() - wrong.published), 1, "points"));
    }
    result.tables[0].rows.push_back(std::move(cells));
}

/// Without rows.
Comparison empty_comparison() {
    Comparison result;
    result.title = "Single tensor-core operations, bit for bit";
    result.reference = {"recorded vectors",
                        "Khattak and Mikaitis, MATLAB-tensor-core, arXiv 2512.07004",
                        "NVIDIA GPUs",
                        "2025",
                        "",
                        true,
                        ""};
    result.reference.brief = "Khattak and Mikaitis, MATLAB-tensor-core";
    result.tables = {{"Rows matched by the model, and by wrong ones",
                      {{"series", "the model"}},
                      {false, true, true, true, true, true}}};
    for (const WrongModel& wrong : wrong_models({})) result.tables[0].rows[0].push_back(wrong.name);
    result.histograms = {{"Distance of the model from the recorded bits, in ULP", {}}};
    for (const char* label : kUlpLabels) result.histograms[0].bins.push_back({label, 0});
    return result;
}

/// Every series that was found and is not compared, with the reason; and the known series that the folder has
/// not.
void tell_what_is_not_compared(const FoundTensorCoreSeries& found, const CompareOptions& options,
                               Comparison& result) {
    for (const FoundTensorCoreSeries::Skipped& skipped : found.skipped)
        if (options.selects(skipped.name, skipped.device))
            result.missing.push_back("skipped: " + skipped.name + ": " + skipped.reason);
    if (result.rows.empty() && !options.filter.empty())
        result.missing.push_back("no series has `" + options.filter + "` in its name");
    if (options.filter.empty() && !found.absent.empty())
        result.missing.push_back(fmt::format("not recorded there: {}", fmt::join(found.absent, ", ")));
}

}  // namespace

Comparison compare_recorded_vectors(const std::filesystem::path& folder, const CompareOptions& options) {
    Comparison result = empty_comparison();
    const FoundTensorCoreSeries found = find_tensor_core_series(folder);
    BitCount fast_rows;
    std::vector<std::string> devices;
    for (const TensorCoreSeries& series : found.series) {
        if (!options.selects(series.name(), series.device)) continue;
        options.progress(static_cast<double>(result.rows.size()) / static_cast<double>(found.series.size()),
                         series.name());
        compare_series(series, read_tensor_core_vectors(folder, series), result, fast_rows);
        if (devices.empty() || devices.back() != series.device) devices.push_back(series.device);
    }
    tell_what_is_not_compared(found, options, result);
    if (result.rows.empty()) return result;
    result.reference.device = fmt::format("NVIDIA {}", fmt::join(devices, ", "));
    result.notes.push_back(
        "An fp16 result has too few bits to tell alignments apart, rows of four products fit into a tf32 "
        "block "
        "of any length, and sums of fp8 products by way of fp16 are exact in fp32: there a wrong model may "
        "match every row. The other columns tell it.");
    BitCount rows;
    for (const ComparisonRow& row : result.rows) {
        rows.identical += row.bits->identical;
        rows.total += row.bits->total;
    }
    result.bars.insert(
        result.bars.begin(),
        {at_least("rows identical, by the definition", 100 * rows.fraction(), 100),
         at_least("rows identical, by the fast implementation", 100 * fast_rows.fraction(), 100)});
    return result;
}

}  // namespace heddle::validation
