#include "validation/report/readme.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "isa/common/error.h"
#include "sim/report/numbers.h"

namespace heddle::validation {
namespace {

constexpr const char* kHeading = "| what | compared with | result | bars held |\n|---|---|---|---|\n";
constexpr const char* kWords =
    "Mean error of simulated against measured figures, and p90, below which nine in ten of the rows are. "
    "*Used*: the hardware file\ntakes a value from the same source, so that the row only shows that the model does "
    "what its file says. *Not comparable*: the\nmeasurement asks another question. What stands before these was not "
    "used so, though much of it was known when parameters were\nfitted. A bar is what was promised before looking. "
    "Sources, row by row: [timing-accuracy.md](timing-accuracy.md); the words\nstand below.\n";

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

std::string joined(const std::vector<std::string>& parts, const char* between) {
    std::string text;
    for (const std::string& part : parts)
        if (!part.empty()) text += (text.empty() ? "" : between) + part;
    return text;
}

// ---- One row ----

/// The comparisons of one row: one, or those of boards of one family.
using RowGroup = std::vector<const Comparison*>;

std::vector<RowGroup> groups_of(const std::vector<Comparison>& comparisons) {
    std::vector<RowGroup> groups;
    for (const Comparison& comparison : comparisons) {
        const Reference& reference = comparison.reference;
        const auto same = std::find_if(groups.begin(), groups.end(), [&](const RowGroup& group) {
            const Reference& other = group.front()->reference;
            return !reference.family.empty() && reference.family == other.family &&
                   reference.brief == other.brief && comparison.title == group.front()->title;
        });
        if (same == groups.end()) {
            groups.push_back({&comparison});
        } else {
            same->push_back(&comparison);
        }
    }
    return groups;
}

/// "H100 SXM, H200 SXM: papers, public logs"; of a capture "H100: capture h100-a, 2026-11-21"
std::string compared_with(const RowGroup& group) {
    std::vector<std::string> devices;
    for (const Comparison* each : group) {
        const std::string& device = each->reference.device;
        constexpr const char* kMaker = "NVIDIA ";
        devices.push_back(device.starts_with(kMaker) ? device.substr(std::string(kMaker).size()) : device);
    }
    const Reference& reference = group.front()->reference;
    const std::string source = !reference.brief.empty()
                                   ? reference.brief
                                   : joined({reference.kind + " " + reference.name, reference.date}, ", ");
    return (reference.silicon ? "" : "NOT SILICON: ") + joined({joined(devices, ", "), source}, ": ");
}

std::string row_count(std::size_t rows) {
    return sim::format_count(rows) + (rows == 1 ? " row" : " rows");
}

std::string rounded_per_cent(double fraction) {
    return fmt::format("{:.1f} %", 100 * fraction);
}

/// "3.2 % mean, 7.1 % p90, 64 rows"
std::string errors_of(const CategorySummary& summary) {
    return rounded_per_cent(summary.mean_error) +
           (summary.quantities > 1 ? " mean, " + rounded_per_cent(summary.error_90) + " p90, " : ", ") +
           row_count(summary.quantities);
}

/// "gemm bf16 below 10 us", "gemm bf16 10-50 us": 10, so that what differs is left. 0 where nothing is
/// common.
std::size_t common_words(const std::vector<CategorySummary>& summaries) {
    std::string common = summaries.front().category;
    for (const CategorySummary& summary : summaries) {
        const std::string& name = summary.category;
        const auto differs = std::mismatch(common.begin(), common.end(), name.begin(), name.end()).first;
        common.erase(differs, common.end());
    }
    const std::size_t space = common.rfind(' ');
    return space == std::string::npos ? 0 : space + 1;
}

/// No unit is that of two categories: one mean over them would be of no thing.
bool units_differ(const std::vector<ComparisonRow>& rows) {
    std::map<std::string, std::set<std::string>> categories;
    for (const ComparisonRow& row : rows) categories[row.unit].insert(row.category);
    return categories.size() > 1 && std::all_of(categories.begin(), categories.end(),
                                                [](const auto& each) { return each.second.size() == 1; });
}

/// Errors of rows that are no class of their own: of all, then by category.
std::string errors_of(const std::vector<ComparisonRow>& rows) {
    std::vector<CategorySummary> summaries = summarise(rows);
    if (summaries.empty() || summaries.back().quantities == 0) return "";
    const CategorySummary all = summaries.back();
    if (summaries.size() == 1) return errors_of(all);
    summaries.pop_back();
    std::erase_if(summaries, [](const CategorySummary& each) { return each.quantities == 0; });
    const std::size_t common = common_words(summaries);
    const auto name_of = [&](const CategorySummary& each) { return each.category.substr(common); };
    std::vector<std::string> parts;
    if (summaries.size() > 1 && units_differ(rows)) {
        for (const CategorySummary& each : summaries) parts.push_back(name_of(each) + " " + errors_of(each));
        return joined(parts, "; ");
    }
    for (const CategorySummary& each : summaries)
        parts.push_back(name_of(each) + " " + rounded_per_cent(each.mean_error));
    return errors_of(all) + (summaries.size() > 1 ? " (" + joined(parts, ", ") + ")" : "");
}

std::string result_of(const RowGroup& group) {
    std::vector<ComparisonRow> predicted, used, not_comparable, all;
    for (const Comparison* comparison : group)
        for (const ComparisonRow& row : comparison->rows) {
            all.push_back(row);
            (row.category == kUsedByHardwareFile ? used
             : row.category == kNotComparable    ? not_comparable
                                                 : predicted)
                .push_back(row);
        }
    if (all.empty()) return "";
    const CategorySummary whole = summarise(all).back();
    std::vector<std::string> parts;
    if (whole.rows_with_bits > 0)
        parts.push_back(sim::format_count(whole.bits.identical) + " of " +
                        sim::format_count(whole.bits.total) + " identical in every bit");
    if (whole.largest_frobenius && *whole.largest_frobenius > 0)
        parts.push_back(fmt::format("worst relative Frobenius error {:.2g}", *whole.largest_frobenius));
    const std::string& fitted = group.front()->fitted;
    const std::string errors = errors_of(predicted);
    parts.push_back(errors + (errors.empty() || fitted.empty() ? "" : ", " + fitted + " fitted to them"));
    const auto add_class = [&](const char* name, const std::vector<ComparisonRow>& rows) {
        if (rows.empty()) return;
        const CategorySummary summary = summarise(rows).front();
        if (summary.quantities > 0)
            parts.push_back(
                fmt::format("{} {}, {}", name, rounded_per_cent(summary.mean_error), row_count(summary.quantities)));
    };
    add_class("used", used);
    add_class(kNotComparable, not_comparable);
    return joined(parts, "; ");
}

std::string bars_of(const RowGroup& group) {
    std::size_t bars = 0, held = 0;
    for (const Comparison* comparison : group) {
        bars += comparison->bars.size();
        held += static_cast<std::size_t>(std::count_if(comparison->bars.begin(), comparison->bars.end(),
                                                       [](const Bar& bar) { return bar.holds(); }));
    }
    return bars == 0 ? "" : fmt::format("{} of {}", held, bars);
}

// ---- The table ----

struct Row {
    std::string what, with, rest;  ///< cells; `rest` is result and bars, as written
    bool is(const Row& other) const { return what == other.what && with == other.with; }
};

/// "not yet recorded", and what is.
using Missing = std::vector<std::pair<std::string, std::vector<std::string>>>;

struct Table {
    std::vector<Row> rows;
    Missing missing;
};

void add_missing(Missing& missing, const std::string& state, const std::string& what) {
    auto found =
        std::find_if(missing.begin(), missing.end(), [&](const auto& each) { return each.first == state; });
    if (found == missing.end()) found = missing.insert(found, {state, {}});
    if (std::find(found->second.begin(), found->second.end(), what) == found->second.end())
        found->second.push_back(what);
}

Table table_of(const AccuracyRun& run) {
    Table table;
    for (const RowGroup& group : groups_of(run.comparisons))
        table.rows.push_back({cell(group.front()->title), cell(compared_with(group)),
                              cell(result_of(group)) + " | " + bars_of(group)});
    for (const std::string& line : run.missing) {
        // "not yet recorded: GEMMs of cuBLASLt"
        const std::size_t colon = line.find(": ");
        add_missing(table.missing, line.substr(0, colon),
                    colon == std::string::npos ? "" : line.substr(colon + 2));
    }
    return table;
}

std::string text_of(const Table& table) {
    std::string text = kHeading;
    for (const Row& row : table.rows) text += fmt::format("| {} | {} | {} |\n", row.what, row.with, row.rest);
    text += std::string("\n") + kWords;
    for (const auto& [state, subjects] : table.missing) {
        std::string sentence = joined({state, joined(subjects, "; ")}, ": ") + ".\n";
        sentence[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence[0])));
        text += "\n" + sentence;
    }
    return text;
}

/// What text_of() wrote, read again. Throws heddle::Error where it is something else.
Table read_table(const std::string& text, const std::string& file) {
    Table table;
    if (text.find_first_not_of(" \n") == std::string::npos) return table;
    const auto other = [&] {
        return Error(
            "the accuracy table there is not one that this version writes", {file, 0, ""},
            "delete what stands between its markers, and write it anew: `heddle validate all --readme " +
                file + "`");
    };
    if (!text.starts_with(kHeading)) throw other();
    std::istringstream lines(text.substr(std::string(kHeading).size()));
    std::string line;
    while (std::getline(lines, line) && !line.empty()) {
        const std::size_t first = line.find(" | "), second = line.find(" | ", first + 1);
        if (!line.starts_with("| ") || !line.ends_with(" |") || second == std::string::npos) throw other();
        table.rows.push_back({line.substr(2, first - 2), line.substr(first + 3, second - first - 3),
                              line.substr(second + 3, line.size() - second - 5)});
    }
    while (std::getline(lines, line) && !line.empty()) {  // the words, of whatever version
    }
    while (std::getline(lines, line)) {
        if (line.empty()) continue;
        const std::size_t colon = line.find(": ");
        if (colon == std::string::npos || line.back() != '.') throw other();
        std::string state = line.substr(0, colon);
        state[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(state[0])));
        for (std::size_t at = colon + 2; at < line.size();) {
            const std::size_t next = std::min(line.find("; ", at), line.size() - 1);
            add_missing(table.missing, state, line.substr(at, next - at));
            at = next + 2;
        }
    }
    return table;
}

}  // namespace

std::string accuracy_table(const AccuracyRun& run) {
    return text_of(table_of(run));
}

std::string renewed_accuracy_table(const std::string& before, const AccuracyRun& run, const std::string& file,
                                   std::vector<std::string>* kept) {
    Table table = read_table(before, file);
    Table made = table_of(run);
    if (kept != nullptr)
        for (const Row& row : table.rows)
            if (std::none_of(made.rows.begin(), made.rows.end(),
                             [&](const Row& each) { return each.is(row); }))
                kept->push_back(row.what + ": " + row.with);
    auto place = table.rows.begin();  // of a row that is new: behind the one that the run made before it
    for (Row& row : made.rows) {
        const auto same =
            std::find_if(table.rows.begin(), table.rows.end(), [&](const Row& each) { return each.is(row); });
        if (same != table.rows.end()) {
            *same = std::move(row);
            place = same + 1;
        } else {
            place = table.rows.insert(place, std::move(row)) + 1;
        }
    }
    Missing missing;
    const auto still = [&](const std::string& subject) {
        const auto& all = run.looked_for;
        const std::string line = std::string(kNotYetRecorded) + ": " + subject;
        return std::find(all.begin(), all.end(), subject) == all.end() ||
               std::find(run.missing.begin(), run.missing.end(), line) != run.missing.end();
    };
    for (const auto& [state, subjects] : table.missing)  // what is damaged or cut off, every run says anew
        for (const std::string& subject : subjects)
            if (state == kNotYetRecorded && still(subject)) add_missing(missing, state, subject);
    for (const auto& [state, subjects] : made.missing)
        for (const std::string& subject : subjects) add_missing(missing, state, subject);
    table.missing = std::move(missing);
    return text_of(table);
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
