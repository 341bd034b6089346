#include "workloads/importers/chakra_execution.h"

#include <algorithm>
#include <array>

#include "isa/common/error.h"
#include "workloads/importers/rules.h"

namespace heddle::importers {
namespace {

using Rule = bool (*)(Builder&, const Launch&);

/// In order: the first that knows the kernel takes it.
constexpr std::array<Rule, 11> rules{collective_rule,    convolution_rule, matmul_rule,       attention_rule,
                                     normalisation_rule, triton_rule,      multi_tensor_rule, reduce_rule,
                                     lookup_rule,        copy_rule,        elementwise_rule};

void import_kernel(Builder& builder, const Launch& launch) {
    try {
        for (const Rule rule : rules) {
            if (rule(builder, launch)) return;
        }
        builder.add_unknown(launch, "no rule for this kernel");
    } catch (const NotUnderstood& missing) {
        builder.add_unknown(launch, missing.reason);
    }
}

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
    const Recording recording(graph);
    if (recording.kernels().empty()) {
        throw Error("the recording has no kernels", {.file = name},
                    "record with the CUDA activities of the profiler, and link both traces");
    }
    Builder builder(recording);
    for (const std::size_t position : recording.kernels()) {
        const Call& kernel = recording.call(position);
        import_kernel(builder, {recording, kernel, parse_kernel_name(kernel.node->name)});
    }
    trace::Trace trace = builder.finish(name);
    trace.check();
    return trace;
}

Coverage coverage_of(const trace::Trace& trace) {
    Coverage coverage;
    const auto count = [](Coverage::Line& line, const Op& op) {
        ++line.ops;
        line.microseconds += op.measured_us.value_or(0);
    };
    for (const Op& op : trace.ops) {
        count(coverage.kinds[op.kind], op);
        count(coverage.total, op);
        if (op.kind == OpKind::unknown) count(coverage.reasons[op.text("reason", "not said")], op);
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
