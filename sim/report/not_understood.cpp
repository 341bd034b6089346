#include "sim/report/not_understood.h"

#include <fmt/format.h>

#include "sim/report/numbers.h"

namespace heddle::sim {

std::vector<const OpSummary*> not_understood(const RunResult& result) {
    std::vector<const OpSummary*> ops;
    for (const OpSummary& op : result.ops)
        if (op.fidelity == Fidelity::unknown && !op.measured_us && op.kind != "collective")
            ops.push_back(&op);
    return ops;
}

std::string not_understood_text(const RunResult& result) {
    constexpr std::size_t kMostNames = 4;
    const std::vector<const OpSummary*> ops = not_understood(result);
    if (ops.empty()) return {};
    std::uint64_t count = 0;
    std::string names;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        count += ops[i]->count;
        if (i < kMostNames) names += (i == 0 ? "" : "; ") + ops[i]->name;
    }
    if (ops.size() > kMostNames) names += fmt::format("; and {} more", ops.size() - kMostNames);
    return fmt::format(
        "incomplete: {} {} not understood and {} no recorded time, so the step takes longer than this says: "
        "{}",
        format_count(count), count == 1 ? "op is" : "ops are", count == 1 ? "has" : "have", names);
}

}  // namespace heddle::sim
