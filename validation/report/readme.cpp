#include "validation/report/readme.h"

#include <fmt/format.h>

#include <algorithm>

#include "isa/common/error.h"
#include "sim/report/numbers.h"
#include "validation/report/words.h"

namespace heddle::validation {
namespace {

/// Up to so many categories are told one by one.
constexpr std::size_t kCategoriesApart = 3;

/// Where the block's contents begin and end.
struct Place {
    std::size_t begin, end;
};

Place place_of_block(const std::string& text, const std::string& file) {
    const std::size_t begin = text.find(kAccuracyBegin);
    const std::size_t end = begin == std::string::npos ? begin : text.find(kAccuracyEnd, begin);
    if (end == std::string::npos)
        throw Error("there is no place for the accuracy table", {file, 0, ""},
                    std::string("put the lines `") + kAccuracyBegin + "` and `" + kAccuracyEnd + "` there");
    return {text.find('\n', begin) + 1, end};
}

/// Cells end at a bar.
std::string cell(std::string text) {
    std::replace(text.begin(), text.end(), '|', '/');
    return text;
}

std::string source_of(const Reference& reference) {
    std::string text;
    const auto add = [&](const std::string& part) {
        if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
    };
    add(reference.device);
    add(reference.kind + (reference.name.empty() ? "" : ": " + reference.name));
    add(reference.date);
    add(reference.driver);
    return reference.silicon ? text : "NOT SILICON: " + text;
}

/// "gemm: mean error 9.1 %, median 7.0 %, 90 % below 19.0 %, r = 0.990, 120 rows"
std::string errors_of(const CategorySummary& summary, const std::string& name) {
    std::string text = fmt::format("{}mean error {:.1f} %", name, 100 * summary.mean_error);
    if (summary.quantities > 1)
        text += fmt::format(", median {:.1f} %, 90 % below {:.1f} %", 100 * summary.median_error,
                            100 * summary.error_90);
    if (summary.correlation) text += fmt::format(", r = {:.3f}", *summary.correlation);
    return text + fmt::format(", {} row{}", sim::format_count(summary.quantities),
                              summary.quantities == 1 ? "" : "s");
}

std::string result_of(const Comparison& comparison) {
    std::string text;
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
    const std::vector<CategorySummary> summaries = summarise(comparison.rows);
    if (!summaries.empty()) {
        const CategorySummary& all = summaries.back();  // "all", or the only one
        if (all.rows_with_bits > 0)
            add(sim::format_count(all.bits.identical) + " of " + sim::format_count(all.bits.total) +
                " identical in every bit");
        if (all.largest_frobenius && *all.largest_frobenius > 0)
            add(fmt::format("worst relative Frobenius error {:.2g}", *all.largest_frobenius));
        // Predictions and what the hardware file was written from are not to be mixed in one mean.
        const bool apart = summaries.size() > 1 && summaries.size() <= kCategoriesApart + 1;
        for (const CategorySummary& summary : summaries) {
            const bool shown = apart ? &summary != &all : &summary == &all;
            if (shown && summary.quantities > 0)
                add(errors_of(summary, apart ? summary.category + ": " : ""));
        }
    }
    const auto held = std::count_if(comparison.bars.begin(), comparison.bars.end(),
                                    [](const Bar& bar) { return bar.holds(); });
    if (!comparison.bars.empty()) add(fmt::format("{} of {} bars hold", held, comparison.bars.size()));
    return text;
}

}  // namespace

std::string accuracy_table(const std::vector<Comparison>& comparisons,
                           const std::vector<std::string>& missing) {
    std::string table = "| what | compared with | result |\n|---|---|---|\n";
    for (const Comparison& comparison : comparisons)
        table += fmt::format("| {} | {} | {} |\n", cell(comparison.title),
                             cell(source_of(comparison.reference)), cell(result_of(comparison)));
    for (const std::string& line : missing) {
        // "not yet recorded: GEMMs of cuBLASLt"
        const std::size_t colon = line.find(": ");
        const std::string state = line.substr(0, colon);
        const std::string what = colon == std::string::npos ? line : line.substr(colon + 2);
        table += fmt::format("| {} | | {} |\n", cell(what), cell(state));
    }
    return table;
}

std::string accuracy_block(const std::string& text, const std::string& file) {
    const Place place = place_of_block(text, file);
    return text.substr(place.begin, place.end - place.begin);
}

std::string with_accuracy_block(const std::string& text, const std::string& table, const std::string& file) {
    const Place place = place_of_block(text, file);
    return text.substr(0, place.begin) + table + text.substr(place.end);
}

}  // namespace heddle::validation
