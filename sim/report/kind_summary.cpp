#include "sim/report/kind_summary.h"

#include <algorithm>
#include <map>

namespace heddle::sim {

std::vector<KindSummary> summarise_by_kind(const RunResult& result) {
    struct Group {
        KindSummary summary;
        std::map<std::string, double> time_by_limit;
        bool all_measured = true;
    };
    std::map<std::string, Group> groups;
    for (const OpSummary& op : result.ops) {
        Group& group = groups[op.kind];
        KindSummary& summary = group.summary;
        summary.kind = op.kind;
        summary.count += op.count;
        summary.time_us += op.time_us;
        summary.flops += op.flops;
        summary.bytes += op.bytes;
        summary.deviation_us += op.deviation_us;
        if (op.measured_us) {
            summary.measured_us = summary.measured_us.value_or(0) + *op.measured_us;
        } else {
            group.all_measured = false;
        }
        group.time_by_limit[op.bound_by] += op.time_us;
        switch (op.fidelity) {
            case Fidelity::cycle:
                summary.cycle_us += op.time_us;
                break;
            case Fidelity::estimated:
                summary.estimated_us += op.time_us;
                break;
            case Fidelity::unknown:
                summary.unknown_us += op.time_us;
                break;
        }
    }
    std::vector<KindSummary> kinds;
    for (auto& [kind, group] : groups) {
        if (!group.all_measured) group.summary.measured_us.reset();
        double longest = -1;
        for (const auto& [limit, time] : group.time_by_limit) {
            if (time <= longest) continue;
            longest = time;
            group.summary.bound_by = limit;
        }
        kinds.push_back(std::move(group.summary));
    }
    std::stable_sort(kinds.begin(), kinds.end(),
                     [](const KindSummary& a, const KindSummary& b) { return a.time_us > b.time_us; });
    return kinds;
}

std::optional<double> weighted_error(const RunResult& result) {
    double deviation = 0, measured = 0;
    for (const OpSummary& op : result.ops) {
        if (!op.measured_us || op.fidelity != Fidelity::cycle || op.phase == "communication") continue;
        deviation += op.deviation_us;
        measured += *op.measured_us;
    }
    if (measured <= 0) return std::nullopt;
    return deviation / measured;
}

double base_of_shares(const RunResult& result) {
    double sum = 0;
    for (const OpSummary& op : result.ops) sum += op.time_us;
    // Times that add up to the step but for rounding are the step's.
    return sum > result.step_time_us * (1 + 1e-9) ? sum : result.step_time_us;
}

const char* heading_of_shares(const RunResult& result) {
    return base_of_shares(result) > result.step_time_us ? "share of ops" : "share";
}

std::optional<SimulatedShare> simulated_share(const RunResult& result) {
    SimulatedShare share;
    for (const OpSummary& op : result.ops) {
        if (!op.measured_us || op.phase == "communication" || op.kind == "collective") continue;
        share.all_us += *op.measured_us;
        if (op.fidelity != Fidelity::cycle) continue;
        share.measured_us += *op.measured_us;
        share.simulated_us += op.time_us;
    }
    if (share.all_us <= 0) return std::nullopt;
    return share;
}

}  // namespace heddle::sim
