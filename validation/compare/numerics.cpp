#include "validation/compare/numerics.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "validation/compare/capture_reference.h"
#include "validation/compare/captured_gemm.h"
#include "validation/compare/gemm_orders.h"
#include "validation/read/blas_record.h"

namespace heddle::validation {
namespace {

using capture::Type;

constexpr double kKnownShare = 80;  ///< per cent of the GEMMs whose order must be known
constexpr std::size_t kWorst = 10;

/// What the section holds besides GEMMs with outputs.
struct Section {
    std::vector<CapturedGemm> gemms;
    std::vector<std::string> missing;
    std::uint64_t not_offered = 0;  ///< the library has no algorithm
    std::uint64_t unstable = 0;     ///< a second run gave other bits
};

CapturedGemm gemm_of(const CapturedRecord& record, const nlohmann::json& result, std::size_t number,
                     const capture::GemmProblem& problem, const capture::GemmInputs& inputs) {
    CapturedGemm gemm;
    gemm.id = number == 0 ? record.id : record.id + " #" + std::to_string(number + 1);
    gemm.problem = problem;
    gemm.category = category_of(problem);
    gemm.inputs = inputs;
    gemm.algorithm = algorithm_of(record, result.at("algorithm"), "results.algorithm");
    gemm.whole = record.get<bool>("whole");
    const auto deterministic = result.find("deterministic");
    if (deterministic != result.end() && !deterministic->is_boolean())
        record.fail("results.deterministic", "is neither true nor false");
    gemm.deterministic = deterministic == result.end() || deterministic->get<bool>();
    const auto hash = result.find("hash");
    const auto sample = result.find("sample");
    if (hash == result.end() || !hash->is_string()) record.fail("results.hash", "is no text");
    if (sample == result.end() || !sample->is_number_unsigned())
        record.fail("results.sample", "is no offset");
    try {
        gemm.hash = std::stoull(hash->get<std::string>(), nullptr, 16);
    } catch (const std::logic_error&) {
        record.fail("results.hash", "is no hexadecimal number");
    }
    const auto elements = record.get<std::uint64_t>("elements");
    const auto offset = sample->get<std::uint64_t>();
    if (elements > record.binary.size()) record.fail("elements", "is more than the record's bytes hold");
    const std::uint64_t bytes = elements * capture::bytes_of(problem.d);
    if (elements == 0 || bytes > record.binary.size() || offset > record.binary.size() - bytes)
        record.fail("results.sample", "lies outside of the record's bytes");
    if (gemm.whole && elements != problem.batch * problem.m * problem.n)
        record.fail("elements", "is not the number of outputs");
    const auto begin = record.binary.begin() + static_cast<std::ptrdiff_t>(offset);
    gemm.outputs.assign(begin, begin + static_cast<std::ptrdiff_t>(bytes));
    return gemm;
}

void read_record(const CapturedRecord& record, const CompareOptions& options, Section& section) {
    if (record.values.contains("kind")) return;  // an order: see gemm_orders.h
    if (record.values.contains("error")) {
        section.missing.push_back("failed when recorded: " + record.id + ": " +
                                  record.get<std::string>("error"));
        return;
    }
    const auto problem = problem_of(record, record.get<nlohmann::json>("problem"));
    const auto inputs = inputs_of(record, record.get<nlohmann::json>("inputs"));
    if (!options.selects(record.id, category_of(problem))) return;
    const auto results = record.get<nlohmann::json>("results");
    if (!results.is_array()) record.fail("results", "is no list");
    if (results.empty()) ++section.not_offered;
    for (std::size_t i = 0; i < results.size(); ++i) {
        const nlohmann::json& result = results[i];
        if (!result.is_object() || !result.contains("algorithm"))
            record.fail("results", "has an entry without an algorithm");
        if (result.contains("error")) {
            if (!result["error"].is_string()) record.fail("results.error", "is no text");
            section.missing.push_back("failed when recorded: " + record.id + ": " +
                                      result["error"].get<std::string>());
            continue;
        }
        CapturedGemm gemm = gemm_of(record, result, i, problem, inputs);
        if (gemm.deterministic)
            section.gemms.push_back(std::move(gemm));
        else
            ++section.unstable;
    }
}

Section read_section(const RecordedCapture& capture, const CompareOptions& options) {
    Section section;
    for (const CapturedRecord& record : capture.section("numerics").records)
        read_record(record, options, section);
    if (section.not_offered != 0)
        section.missing.push_back(fmt::format(
            "left out: {} products for which the library offered no algorithm", section.not_offered));
    if (section.unstable != 0)
        section.missing.push_back(fmt::format(
            "left out: {} products whose second run gave other bits than the first", section.unstable));
    return section;
}

/// What was found of one GEMM: bits when its order is known, else errors.
struct Finding {
    const CapturedGemm* gemm = nullptr;
    GemmOrder order;
    std::optional<BitCheck> bits;
    std::optional<ErrorCheck> error;
};

/// All of them, on several cores. The orders are there before the first output is looked at.
std::vector<Finding> find(const std::vector<CapturedGemm>& gemms, const GemmOrders& orders,
                          const CompareOptions& options) {
    std::vector<Finding> findings;
    findings.reserve(gemms.size());
    for (const CapturedGemm& gemm : gemms)
        findings.push_back({&gemm, orders.order_of(gemm.problem, gemm.algorithm), {}, {}});
    std::atomic<std::size_t> next{0}, done{0};
    std::mutex mutex;
    std::exception_ptr failure;
    const auto work = [&] {
        for (std::size_t i = next++; i < findings.size(); i = next++) {
            try {
                Finding& finding = findings[i];
                if (finding.order.plan)
                    finding.bits = check_bits(*finding.gemm, *finding.order.plan);
                else
                    finding.error = check_error(*finding.gemm);
                const std::lock_guard lock(mutex);
                options.progress(static_cast<double>(++done) / static_cast<double>(findings.size()),
                                 finding.gemm->id);
            } catch (...) {
                const std::lock_guard lock(mutex);
                failure = std::current_exception();
                next = findings.size();
            }
        }
    };
    const unsigned workers = options.workers != 0 ? options.workers : std::thread::hardware_concurrency();
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < workers; ++i) threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
    return findings;
}

std::string bits_text(Type type, std::uint64_t bits) {
    return fmt::format("{:0{}X} ({:.9g})", bits, 2 * capture::bytes_of(type), value_of(type, bits));
}

std::string place_text(const CapturedGemm& gemm, const capture::OutputPlace& place) {
    return gemm.problem.batch > 1 ? fmt::format("({}, {}) of batch {}", place.row, place.column, place.batch)
                                  : fmt::format("({}, {})", place.row, place.column);
}

std::string kernel_of(const CapturedGemm& gemm) {
    return gemm.algorithm.kernels.empty() ? fmt::format("algorithm {}", gemm.algorithm.id)
                                          : gemm.algorithm.kernels;
}

ComparisonRow row_of(const Finding& finding) {
    const CapturedGemm& gemm = *finding.gemm;
    ComparisonRow row;
    row.name = gemm.id;
    row.category = gemm.category;
    if (finding.bits) {
        if (finding.order.approximate) row.category += ", GELU";
        row.bits = finding.bits->bits;
        row.largest_ulp = finding.bits->largest_ulp;
        row.frobenius = finding.bits->frobenius;
        row.note = describe(*finding.order.plan) + "; " + kernel_of(gemm);
        if (finding.bits->worst) {
            const WrongOutput& worst = *finding.bits->worst;
            row.note = fmt::format("{} is {}, computed {}; {}", place_text(gemm, worst.place),
                                   bits_text(gemm.problem.d, worst.captured),
                                   bits_text(gemm.problem.d, worst.computed), row.note);
        } else if (!finding.bits->bits.all()) {
            row.note = "the recorded elements are equal, the hash of all is not; " + row.note;
        }
    } else {
        row.frobenius = finding.error->frobenius;
        row.largest_ulp = finding.error->largest_ulp;
        row.note = fmt::format("largest error is {:.3g} of its bound; {}; {}", finding.error->largest_share,
                               finding.order.origin, kernel_of(gemm));
    }
    return row;
}

void add_to(std::array<std::uint64_t, kUlpBins>& sum, const std::array<std::uint64_t, kUlpBins>& counts) {
    for (std::size_t i = 0; i < kUlpBins; ++i) sum[i] += counts[i];
}

Histogram histogram(std::string title, const std::array<std::uint64_t, kUlpBins>& counts) {
    Histogram result{std::move(title), {}};
    for (std::size_t i = 0; i < kUlpBins; ++i) result.bins.push_back({kUlpLabels[i], counts[i]});
    return result;
}

/// The worst elements with what they were made of.
ResultTable worst_table(std::vector<const Finding*> wrong) {
    std::stable_sort(wrong.begin(), wrong.end(), [](const Finding* a, const Finding* b) {
        return a->bits->worst->ulp > b->bits->worst->ulp;
    });
    if (wrong.size() > kWorst) wrong.resize(kWorst);
    ResultTable table{"Elements furthest from the captured ones",
                      {{"product", "element", "captured", "computed", "ulp", "largest factors"}},
                      {false, false, true, true, true, false}};
    for (const Finding* finding : wrong) {
        const CapturedGemm& gemm = *finding->gemm;
        const WrongOutput& worst = *finding->bits->worst;
        table.rows.push_back({gemm.id, place_text(gemm, worst.place),
                              bits_text(gemm.problem.d, worst.captured),
                              bits_text(gemm.problem.d, worst.computed),
                              worst.ulp == ~std::uint64_t{0} ? "NaN" : std::to_string(worst.ulp),
                              largest_product(gemm, worst.place)});
    }
    return table;
}

ResultTable unknown_kernels_table(const std::vector<Finding>& findings) {
    std::map<std::pair<std::string, std::string>, std::size_t> kernels;
    for (const Finding& finding : findings)
        if (!finding.order.plan) ++kernels[{kernel_of(*finding.gemm), finding.order.origin}];
    ResultTable table{
        "Kernels whose order is not known", {{"kernel", "why", "products"}}, {false, false, true}};
    for (const auto& [kernel, count] : kernels)
        table.rows.push_back({kernel.first, kernel.second, std::to_string(count)});
    return table;
}

double per_cent(std::uint64_t part, std::uint64_t all) {
    return all == 0 ? std::numeric_limits<double>::quiet_NaN()
                    : 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

Comparison known_comparison(const std::vector<Finding>& findings, const Section& section,
                            const Reference& reference) {
    Comparison comparison{"GEMMs, bit for bit", reference, {}, {}, {}, {}, {}, section.missing};
    std::array<std::uint64_t, kUlpBins> ulps{};
    std::vector<const Finding*> wrong;
    BitCount exact;
    std::uint64_t known = 0, identical = 0, by_hash = 0, approximate = 0;
    std::map<std::string, std::uint64_t> origins;
    for (const Finding& finding : findings) {
        if (!finding.order.plan) continue;
        ++known;
        ++origins[finding.order.origin.substr(0, finding.order.origin.find(": "))];
        comparison.rows.push_back(row_of(finding));
        if (finding.order.approximate) {
            ++approximate;
            continue;
        }
        exact.identical += finding.bits->bits.identical;
        exact.total += finding.bits->bits.total;
        identical += finding.bits->bits.all();
        by_hash += finding.bits->all_evaluated;
        add_to(ulps, finding.bits->ulps);
        if (finding.bits->worst) wrong.push_back(&finding);
    }
    comparison.bars.push_back(
        at_least("elements identical where the order is known", per_cent(exact.identical, exact.total), 100));
    comparison.bars.push_back(
        at_least("products whose order is known", per_cent(known, findings.size()), kKnownShare));
    comparison.histograms.push_back(histogram("ULPs between captured and computed elements", ulps));
    if (!wrong.empty()) comparison.tables.push_back(worst_table(wrong));
    comparison.notes.push_back(
        fmt::format("The order is known of {} of {} products; {} of {} are identical in every bit that was "
                    "compared, {} of "
                    "them in all of D by its hash.",
                    known, findings.size(), identical, known - approximate, by_hash));
    for (const auto& [origin, count] : origins)
        comparison.notes.push_back(fmt::format("{} orders come from: {}.", count, origin));
    if (approximate != 0)
        comparison.notes.push_back(fmt::format(
            "{} products end in GELU, whose tanh the device approximates: they are outside of the bar.",
            approximate));
    return comparison;
}

Comparison unknown_comparison(const std::vector<Finding>& findings, const Reference& reference) {
    Comparison comparison{"GEMMs whose order is not known", reference, {}, {}, {}, {}, {}, {}};
    std::array<std::uint64_t, kUlpBins> ulps{};
    double share = 0;
    std::uint64_t elements = 0;
    for (const Finding& finding : findings) {
        if (finding.order.plan) continue;
        comparison.rows.push_back(row_of(finding));
        share = std::max(share, finding.error->largest_share);
        elements += finding.error->compared;
        add_to(ulps, finding.error->ulps);
    }
    comparison.bars.push_back(
        at_most("largest error as a share of the bound for any order", 100 * share, 100));
    comparison.histograms.push_back(histogram("ULPs from the exact result, rounded once", ulps));
    comparison.tables.push_back(unknown_kernels_table(findings));
    comparison.notes.push_back(fmt::format(
        "{} recorded elements beside the exact result; the bound is gamma_K |A| |B|, of any order.",
        elements));
    return comparison;
}

}  // namespace

std::vector<Comparison> compare_numerics(const RecordedCapture& capture, const CompareOptions& options) {
    const Section section = read_section(capture, options);
    const std::vector<Finding> findings = find(section.gemms, GemmOrders(capture), options);
    const Reference reference = reference_of(capture);
    std::vector<Comparison> comparisons{known_comparison(findings, section, reference)};
    const bool unknown = std::any_of(findings.begin(), findings.end(),
                                     [](const Finding& finding) { return !finding.order.plan; });
    if (unknown) comparisons.push_back(unknown_comparison(findings, reference));
    return comparisons;
}

}  // namespace heddle::validation
