// What every comparison with silicon returns, whatever it compares: rows, bars, and where the other side's
// figures come from. The printers (print.h, html.h) know this shape alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle::validation {

/// Where the figures that Heddle is compared with come from: it stands on top of every page.
struct Reference {
    std::string kind;      ///< "capture", "recorded vectors", "publication"
    std::string name;      ///< folder of the capture; who published, and where
    std::string device;    ///< "NVIDIA H100 80GB HBM3"
    std::string date;      ///< "2026-11-21", or what is known of it; may be empty
    std::string driver;    ///< driver and library versions; may be empty
    bool silicon = true;   ///< false: made by Heddle itself. Never presented as measured.
    std::string hardware;  ///< the preset that was simulated; empty where none was
    /// Kind and name in a few words, for the README: "NVIDIA aiconfigurator, bf16". Empty: as they are.
    std::string brief = {};
    /// "Hopper": comparisons with one title whose boards are of one family share a row there. Empty: none do.
    std::string family = {};
};

/// How many of the compared elements (or hashes, or rows of vectors) have equal bits.
struct BitCount {
    std::uint64_t identical = 0, total = 0;
    bool all() const { return total > 0 && identical == total; }
    double fraction() const {
        return total == 0 ? 0 : static_cast<double>(identical) / static_cast<double>(total);
    }
};

/// One thing compared: a GEMM, a kernel, a micro-benchmark, a step. Either `captured` and `simulated`
/// (quantities with a unit), or `bits`, or both.
struct ComparisonRow {
    std::string name;      ///< unique in the comparison: the record's id
    std::string category;  ///< rows are summed up by category, in the order of first appearance
    std::optional<double> captured = {}, simulated = {};
    std::string unit = {};  ///< of both: "us", "cycles", "GB/s"
    /// Where `captured` is the middle of a range (several measurements, or one by place): its ends.
    std::optional<std::pair<double, double>> range = {};
    std::optional<BitCount> bits = {};
    std::optional<std::uint64_t> largest_ulp = {};
    std::optional<double> frobenius = {};  ///< relative Frobenius error of the values
    std::optional<double> bound = {};      ///< what `frobenius` may be at most, where a bound is known
    std::string note = {};  ///< algorithm, kernel, coordinates of the worst element, why it was left out
};

/// A condition that was stated before the comparison was made. One that does not hold makes the command fail.
struct Bar {
    std::string text;     ///< "elements identical where the plan is known"
    double required = 0;  ///< in `unit`
    double reached = 0;   ///< a NaN never holds
    std::string unit;     ///< "%"
    bool at_least = true;
    bool holds() const { return at_least ? reached >= required : reached <= required; }
};
Bar at_least(std::string text, double reached, double required, std::string unit = "%");
Bar at_most(std::string text, double reached, double required, std::string unit = "%");

/// Anything else to be shown as a table. The first row is the heading.
struct ResultTable {
    std::string title;
    std::vector<std::vector<std::string>> rows;
    std::vector<bool> right = {};  ///< columns of numbers
};

struct Histogram {
    std::string title;
    struct Bin {
        std::string label;  ///< "0", "1", "2-3"
        std::uint64_t count = 0;
    };
    std::vector<Bin> bins;
};

struct Comparison {
    std::string title;  ///< "GEMMs, bit for bit"
    Reference reference;
    std::vector<ComparisonRow> rows;
    std::vector<Bar> bars;
    std::vector<ResultTable> tables;
    std::vector<Histogram> histograms;
    std::vector<std::string> notes;    ///< lines, complete sentences
    std::vector<std::string> missing;  ///< "not yet recorded" and "left out" lines
    /// What was fitted to these very rows: "six numbers". Empty: nothing, or the rows' categories say it.
    std::string fitted = {};
    bool holds() const;  ///< every bar does
};

/// Rows of one category in figures. Errors are |simulated / captured - 1|, of rows with both above zero.
struct CategorySummary {
    std::string category;
    std::size_t rows = 0;
    // Quantities.
    std::size_t quantities = 0;
    double mean_error = 0;  ///< MAPE, as a fraction
    double median_error = 0, error_90 = 0, largest_error = 0;
    /// Pearson's r of the logarithms: the figures span orders of magnitude. None below three rows.
    std::optional<double> correlation;
    // Bits.
    std::size_t rows_with_bits = 0, rows_identical = 0;
    BitCount bits;
    std::optional<double> largest_frobenius;
};

/// Whether any row was compared at all: else there is nothing that could hold. Rows without the other side's
/// figures or bits were not.
bool anything_compared(const std::vector<Comparison>& comparisons);

/// |simulated / captured - 1|; none when the row has not both, above zero. Of a range: the distance to it.
std::optional<double> relative_error(const ComparisonRow& row);
// Categories of published figures, by what the hardware file makes of them.
inline constexpr const char* kUsedByHardwareFile = "used by the hardware file";
inline constexpr const char* kNotUsed = "not used";
inline constexpr const char* kNotComparable = "not comparable";

/// One of each category, and, where there is more than one, "all" at the end.
std::vector<CategorySummary> summarise(const std::vector<ComparisonRow>& rows);
/// The rows with the largest relative error, or, among those with bits, that are furthest from identical, or,
/// with neither, that are nearest to their bound.
/// Rows without any error are not among them.
std::vector<const ComparisonRow*> worst_rows(const std::vector<ComparisonRow>& rows, std::size_t count = 10);

/// What the user may choose of a comparison.
struct CompareOptions {
    std::string hardware;  ///< preset or YAML file; empty: the one that matches the capture's GPU
    std::string filter;    ///< only rows whose name or category has this in it
    unsigned workers = 0;  ///< 0: as many as there are cores
    /// Bars by category in per cent, beyond those that are built in: "gemm bf16" -> 10.
    std::map<std::string, double> error_bars = {};
    std::function<void(double fraction, const std::string& what)> progress = [](double, const std::string&) {
    };
    bool selects(const std::string& name, const std::string& category) const {
        return filter.empty() || name.find(filter) != std::string::npos ||
               category.find(filter) != std::string::npos;
    }
};

/// The bars of `options.error_bars` whose category has rows with both figures.
void add_error_bars(Comparison& comparison, const CompareOptions& options);

}  // namespace heddle::validation
