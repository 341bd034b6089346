#include "workloads/importers/chakra_execution.h"

#include <algorithm>

#include "workloads/importers/import_recording.h"

namespace heddle::importers {
namespace {

std::string padded(const std::string& text, std::size_t width, bool right = false) {
    const std::string space(width > text.size() ? width - text.size() : 0, ' ');
    return right ? space + text : text + space;
}

std::string line_text(const std::string& name, const Coverage::Line& line) {
    return padded(name, 28) + padded(std::to_string(line.ops), 8, true) +
           padded(std::to_string(static_cast<long long>(line.microseconds + 0.5)), 12, true) + "\n";
}

template <class Key>
std::vector<std::pair<Key, Coverage::Line>> longest_first(const std::map<Key, Coverage::Line>& lines) {
    std::vector<std::pair<Key, Coverage::Line>> result(lines.begin(), lines.end());
    std::stable_sort(result.begin(), result.end(), [](const auto& a, const auto& b) {
        return a.second.microseconds > b.second.microseconds;
    });
    return result;
}

}  // namespace

trace::Trace import_chakra_execution(const trace::ChakraGraph& graph, const std::string& name) {
    return import_recording(Recording(graph), name);
}

Coverage coverage_of(const trace::Trace& trace) {
    Coverage coverage;
    const auto count = [](Coverage::Line& line, const trace::Op& op) {
        ++line.ops;
        line.kernels += static_cast<std::size_t>(op.integer("kernels", 1));
        line.microseconds += op.measured_us.value_or(0);
    };
    for (const trace::Op& op : trace.ops) {
        count(coverage.kinds[op.kind], op);
        count(coverage.total, op);
        if (op.kind == trace::OpKind::unknown) count(coverage.reasons[op.text("reason", "not said")], op);
    }
    return coverage;
}

std::string to_text(const Coverage& coverage) {
    std::string text = padded("kind", 28) + padded("ops", 8, true) + padded("measured us", 12, true) + "\n";
    for (const auto& [kind, line] : longest_first(coverage.kinds)) text += line_text(name_of(kind), line);
    text += line_text("total", coverage.total);
    for (const auto& [reason, line] : longest_first(coverage.reasons))
        text += line_text("unknown: " + reason, line);
    return text;
}

}  // namespace heddle::importers
