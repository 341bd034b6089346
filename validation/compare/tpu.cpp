#include "validation/compare/tpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "isa/numerics/formats.h"
#include "validation/compare/capture_reference.h"
#include "validation/compare/tpu_product.h"
#include "validation/read/blas_record.h"

namespace heddle::validation {
namespace {

using capture::GemmInputs;
using capture::GemmProblem;
using capture::Operand;
using capture::OutputPlace;
using capture::Type;
using numerics::Distribution;

constexpr double kWholeProgram = 1 << 24;  ///< multiplications

/// A recorded product, and one of its results.
struct Product {
    GemmProblem problem;
    GemmInputs inputs;
    std::vector<OutputPlace> places;
    std::vector<std::byte> outputs;  ///< at `places`

    bool integer() const { return problem.a == Type::i8; }
    double multiplications() const {
        return static_cast<double>(problem.batch) * static_cast<double>(problem.m) *
               static_cast<double>(problem.n) * static_cast<double>(problem.k);
    }
};

bool is_of_tpu_types(const GemmProblem& problem) {
    if (problem.a == Type::i8) return problem.b == Type::i8 && problem.d == Type::i32;
    return problem.a == Type::bf16 && problem.b == Type::bf16 &&
           (problem.d == Type::bf16 || problem.d == Type::f32) && problem.compute == capture::Compute::f32;
}

bool is_plain(const GemmProblem& problem, const GemmInputs& inputs) {
    const auto kept = [](Distribution distribution) {
        return distribution != Distribution::subnormal && distribution != Distribution::specials;
    };
    const bool numbers = problem.a == Type::i8 || (kept(inputs.a) && kept(inputs.b));
    return problem.epilogue == capture::Epilogue::none && problem.alpha == 1 && problem.beta == 0 && numbers;
}

/// Row `index` of A, or column `index` of B, of all batches together.
template <typename Element>
std::vector<Element> line(const Product& product, Operand operand, std::uint64_t index) {
    std::vector<Element> elements(product.problem.k);
    capture::fill_elements(product.problem, product.inputs, operand, index * product.problem.k,
                           std::as_writable_bytes(std::span(elements)));
    return elements;
}

template <typename Element>
std::vector<Element> matrix(const Product& product, Operand operand, std::uint64_t batch) {
    const std::uint64_t lines = operand == Operand::a ? product.problem.m : product.problem.n;
    std::vector<Element> elements(lines * product.problem.k);
    capture::fill_elements(product.problem, product.inputs, operand, batch * elements.size(),
                           std::as_writable_bytes(std::span(elements)));
    return elements;
}

double captured_value(const Product& product, std::size_t element) {
    const std::size_t size = capture::bytes_of(product.problem.d);
    std::uint32_t bits = 0;
    std::memcpy(&bits, product.outputs.data() + element * size, size);
    if (product.problem.d == Type::i32) return static_cast<std::int32_t>(bits);
    if (product.problem.d == Type::bf16) return numerics::bf16_to_fp32(static_cast<std::uint16_t>(bits));
    return std::bit_cast<float>(bits);
}

/// What was found of one product.
struct Finding {
    BitCount within;           ///< elements within the bound; of integers: equal ones
    BitCount program;          ///< elements of which the TPU's program gives the bits of the definition
    double largest_share = 0;  ///< of the bound
    double error = 0, norm = 0, bounds = 0;  ///< squares
    std::string worst;

    double frobenius() const { return relative(error); }
    double frobenius_bound() const { return relative(bounds); }

  private:
    double relative(double squares) const {
        if (squares == 0) return 0;
        return norm > 0 ? std::sqrt(squares / norm) : std::numeric_limits<double>::infinity();
    }
};

/// `by_program`: what the program computed, when it was run.
void add_element(Finding& finding, const OutputPlace& place, double captured, double computed,
                 std::optional<double> by_program, double bound) {
    const double difference = std::abs(captured - computed);
    finding.error += difference * difference;
    finding.norm += captured * captured;
    finding.bounds += bound * bound;
    ++finding.within.total;
    if (difference <= bound) ++finding.within.identical;  // never for a NaN
    if (by_program) {
        ++finding.program.total;
        if (*by_program == computed) ++finding.program.identical;
    }
    const double share = difference == 0 ? 0 : difference / bound;
    if (share <= finding.largest_share && difference <= bound) return;
    finding.largest_share =
        std::isnan(share) ? std::numeric_limits<double>::infinity() : std::max(share, finding.largest_share);
    finding.worst = fmt::format("batch {} row {} column {}: captured {:.9g}, TPU {:.9g}", place.batch,
                                place.row, place.column, captured, computed);
}

Finding compare_product(const Product& product, const models::TpuConfig& device) {
    const GemmProblem& p = product.problem;
    const bool whole = product.multiplications() <= kWholeProgram;
    Finding finding;
    std::vector<float> floating;
    std::vector<std::int32_t> integers;
    std::uint64_t batch_done = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t i = 0; i < product.places.size(); ++i) {
        const OutputPlace& at = product.places[i];
        const std::uint64_t row = at.batch * p.m + at.row, column = at.batch * p.n + at.column;
        const std::size_t element = at.row * p.n + at.column;
        const double captured = captured_value(product, i);
        std::optional<double> by_program;
        if (product.integer()) {
            if (whole && batch_done != at.batch)
                integers =
                    tpu_product(device, p.m, p.n, p.k, matrix<std::int8_t>(product, Operand::a, at.batch),
                                matrix<std::int8_t>(product, Operand::b, at.batch));
            if (whole) by_program = integers[element];
            const double computed = tpu_element(line<std::int8_t>(product, Operand::a, row),
                                                line<std::int8_t>(product, Operand::b, column));
            add_element(finding, at, captured, computed, by_program, 0);
        } else {
            if (whole && batch_done != at.batch)
                floating =
                    tpu_product(device, p.m, p.n, p.k, matrix<std::uint16_t>(product, Operand::a, at.batch),
                                matrix<std::uint16_t>(product, Operand::b, at.batch));
            if (whole) by_program = floating[element];
            const auto a = line<std::uint16_t>(product, Operand::a, row),
                       b = line<std::uint16_t>(product, Operand::b, column);
            const double bound = unknown_order_bound(p.k, magnitude_of(a, b), captured, p.d == Type::bf16);
            add_element(finding, at, captured, tpu_element(device, a, b), by_program, bound);
        }
        batch_done = at.batch;
    }
    return finding;
}

std::vector<OutputPlace> places_of(const CapturedRecord& record, const GemmProblem& problem,
                                   std::uint64_t seed) {
    const auto count = record.get<std::size_t>("elements");
    if (count > record.binary.size()) record.fail("elements", "is more than the record's bytes hold");
    if (!record.get<bool>("whole")) return capture::sample_places(problem, seed, count);
    if (count != problem.batch * problem.m * problem.n)
        record.fail("elements", "is not the number of outputs");
    std::vector<OutputPlace> places;
    for (std::uint64_t i = 0; i < problem.batch * problem.m * problem.n; ++i)
        places.push_back({i / (problem.m * problem.n), i / problem.n % problem.m, i % problem.n});
    return places;
}

/// The recorded outputs of one algorithm.
std::vector<std::byte> outputs_of(const CapturedRecord& record, const nlohmann::json& result,
                                  std::size_t bytes) {
    const auto sample = result.find("sample");
    if (sample == result.end() || !sample->is_number_unsigned()) record.fail("results", "has no sample");
    const auto offset = sample->get<std::size_t>();
    if (offset > record.binary.size() || record.binary.size() - offset < bytes)
        record.fail("results", "has a sample beyond the record's bytes");
    const auto begin = record.binary.begin() + static_cast<std::ptrdiff_t>(offset);
    return {begin, begin + static_cast<std::ptrdiff_t>(bytes)};
}

ComparisonRow row_of(const std::string& name, const Product& product, const Finding& finding) {
    ComparisonRow row{name, product.integer() ? "int8" : "bf16"};
    row.frobenius = finding.frobenius();
    if (product.integer()) {
        row.bits = finding.within;
    } else {
        row.bound = finding.frobenius_bound();
        row.note = fmt::format("largest difference of an element is {:.2g} % of its bound",
                               100 * finding.largest_share);
    }
    if (!finding.within.all()) row.note += (row.note.empty() ? "" : "; ") + finding.worst;
    return row;
}

/// Counts over all products.
struct Totals {
    BitCount bf16, int8, program;
    double largest_share = 0;
    std::size_t left_out = 0;

    static void add(BitCount& sum, const BitCount& count) {
        sum.identical += count.identical;
        sum.total += count.total;
    }
    void add(const Product& product, const Finding& finding) {
        add(product.integer() ? int8 : bf16, finding.within);
        add(program, finding.program);
        if (!product.integer()) largest_share = std::max(largest_share, finding.largest_share);
    }
};

void add_bars(const Totals& totals, Comparison& comparison) {
    const auto bar = [&](const char* text, const BitCount& count) {
        if (count.total > 0) comparison.bars.push_back(at_least(text, 100 * count.fraction(), 100));
    };
    bar("bf16 elements within the bound for any order", totals.bf16);
    bar("int8 elements equal", totals.int8);
    bar("elements of which the TPU's program gives the bits of its definition", totals.program);
    if (totals.bf16.total > 0)
        comparison.notes.push_back(fmt::format(
            "Bound of a bf16 element: (gamma_K(2^-23) + gamma_K(2^-24)) |A||B| for the orders, and 2^-8 |d| "
            "where the GPU rounded to bf16; the largest difference was {:.2g} % of it. No bit-exactness to a "
            "real TPU is claimed.",
            100 * totals.largest_share));
    if (totals.left_out > 0)
        comparison.missing.push_back(fmt::format(
            "left out: {} products with epilogues, scales, subnormal numbers or specials", totals.left_out));
}

/// Every result of one record that the TPU can compute.
void compare_record(const CapturedRecord& record, const models::TpuConfig& device,
                    const CompareOptions& options, Totals& totals, Comparison& comparison) {
    // Records with a kind are orders that were revealed beside the products.
    if (record.values.contains("error") || record.values.contains("kind")) return;
    Product product;
    product.problem = problem_of(record, record.get<nlohmann::json>("problem"));
    if (!is_of_tpu_types(product.problem) || !options.selects(record.id, "TPU")) return;
    product.inputs = inputs_of(record, record.get<nlohmann::json>("inputs"));
    const auto results = record.get<nlohmann::json>("results");
    if (!is_plain(product.problem, product.inputs)) {
        totals.left_out += results.empty() ? 0 : 1;
        return;
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (results[i].contains("error")) continue;
        if (product.places.empty()) product.places = places_of(record, product.problem, product.inputs.seed);
        product.outputs =
            outputs_of(record, results[i], product.places.size() * capture::bytes_of(product.problem.d));
        const Finding finding = compare_product(product, device);
        totals.add(product, finding);
        comparison.rows.push_back(row_of(fmt::format("{} #{}", record.id, i), product, finding));
    }
}

}  // namespace

std::vector<Comparison> compare_tpu(const RecordedCapture& capture, const models::TpuConfig& device,
                                    const CompareOptions& options) {
    Comparison comparison;
    comparison.title = "Products on the TPU beside those of cuBLASLt";
    comparison.reference = reference_of(capture, device.name);
    Totals totals;
    const std::vector<CapturedRecord>& records = capture.section("numerics").records;
    for (std::size_t i = 0; i < records.size(); ++i) {
        options.progress(static_cast<double>(i) / static_cast<double>(records.size()),
                         "TPU: " + records[i].id);
        compare_record(records[i], device, options, totals, comparison);
    }
    add_bars(totals, comparison);
    if (comparison.rows.empty()) return {};
    return {std::move(comparison)};
}

}  // namespace heddle::validation
