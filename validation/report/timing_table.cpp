#include "validation/report/timing_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "isa/common/error.h"
#include "validation/report/words.h"

namespace heddle::validation {
namespace {

constexpr const char* kIntroduction =
    "# Timing beside published measurements\n\n"
    "Made by `heddle validate timing --table docs/timing-accuracy.md`; the tests check that it is "
    "current.\n\n"
    "The same micro-benchmarks (PTX) run on the model of each GPU as others ran on the GPU, or ones of the "
    "same\n"
    "quantity. A latency must be within 5 % or 3 cycles of the published figure or range, a bandwidth or "
    "rate\n"
    "within 5 %; `heddle validate timing` ends with exit code 1 otherwise.\n\n"
    "- *file*: the hardware file takes a value from the same publication: the row shows that the model does "
    "what\n"
    "  the file says.\n"
    "- *prediction*: nothing was set by this figure alone.\n"
    "- *not comparable*: shown with the reason and not judged.\n";

/// A escaped_cell of a Markdown table.
std::string escaped_cell(std::string text) {
    for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2))
        text.replace(at, 1, "\\|");
    return text;
}

std::string kind_of(const std::string& category) {
    if (category == kUsedByHardwareFile) return "file";
    return category == kNotUsed ? "prediction" : category;
}

std::string verdict(const Comparison& comparison, const ComparisonRow& row) {
    for (const Bar& bar : comparison.bars)
        if (bar.text.rfind(row.name + " ", 0) == 0) return bar.holds() ? "holds" : "**does not hold**";
    return "";
}

std::string section(const Comparison& comparison) {
    const auto held = std::count_if(comparison.bars.begin(), comparison.bars.end(),
                                    [](const Bar& bar) { return bar.holds(); });
    // Boards of one family have all their micro-benchmarks in a section; the others say what they are about.
    const std::string subject = comparison.reference.family.empty() ? comparison.title + ": " : "";
    std::string text =
        fmt::format("\n## {}{} (`{}`)\n\n{} of {} bars hold.\n\n", subject, comparison.reference.device,
                    comparison.reference.hardware, held, comparison.bars.size());
    text += "| micro-benchmark | published | model | difference | bar | kind | source |\n";
    text += "|---|---:|---:|---:|---|---|---|\n";
    for (const ComparisonRow& row : comparison.rows) {
        text +=
            fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", escaped_cell(row.name), captured_text(row),
                        row.simulated ? format_quantity(*row.simulated, row.unit) : "", difference_text(row),
                        verdict(comparison, row), kind_of(row.category), escaped_cell(row.note));
    }
    for (const std::string& line : comparison.missing) text += "\n" + line + "\n";
    return text;
}

}  // namespace

std::string timing_accuracy_page(const std::vector<Comparison>& comparisons) {
    std::string text = kIntroduction;
    bool any = false;
    for (const Comparison& comparison : comparisons) {
        if (comparison.reference.kind != "publication" || comparison.bars.empty()) continue;
        text += section(comparison);
        any = true;
    }
    if (!any)
        throw Error("no published latencies and bandwidths were compared", {"--table", 0, ""},
                    "`heddle validate timing --table FILE.md` compares them");
    return text;
}

}  // namespace heddle::validation
