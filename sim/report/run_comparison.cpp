#include "sim/report/run_comparison.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace heddle::sim {
namespace {

/// All occurrences of an op in one run.
struct OpTimes {
    double count = 0;  ///< of its first kernel
    double time_us = 0, cycles = 0, dram_bytes = 0, l2_bytes = 0;
    std::map<std::string, double> kernels;  ///< how often each
    std::map<std::string, double> reasons;  ///< microseconds
    std::set<std::string> fidelities;
};

using OpKey = std::tuple<std::string, std::string, std::string>;  // op, kind, phase

std::map<OpKey, OpTimes> ops_of(const StoredRun& run) {
    std::map<OpKey, OpTimes> ops;
    for (const StoredRun::Kernel& kernel : run.kernels) {
        OpTimes& op = ops[{kernel.op, kernel.kind, kernel.phase}];
        op.time_us += kernel.time_us;
        op.cycles += kernel.cycles;
        op.dram_bytes += kernel.dram_bytes;
        op.l2_bytes += kernel.l2_bytes;
        op.kernels[kernel.name] += 1;
        op.fidelities.insert(kernel.fidelity);
        for (const auto& [reason, fraction] : kernel.reasons) op.reasons[reason] += fraction * kernel.time_us;
    }
    for (auto& [key, op] : ops)
        for (const auto& [name, count] : op.kernels) op.count = std::max(op.count, count);
    return ops;
}

bool was_simulated(const OpTimes& op) {
    return op.fidelities == std::set<std::string>{"cycle"} && op.cycles > 0 && op.time_us > 0;
}

std::string names_of(const OpTimes& op) {
    std::string text;
    for (const auto& [name, count] : op.kernels) text += (text.empty() ? "" : " + ") + name;
    return text;
}

std::set<std::string> name_set(const OpTimes& op) {
    std::set<std::string> names;
    for (const auto& [name, count] : op.kernels) names.insert(name);
    return names;
}

/// Part of what L2 moved that memory did not see.
double kept_in_l2(const OpTimes& op) {
    return op.l2_bytes > 0 ? std::max(0.0, 1 - op.dram_bytes / op.l2_bytes) : 0;
}

std::string percent(double fraction) {
    return std::to_string(static_cast<int>(std::lround(100 * fraction))) + " %";
}

/// The difference of one op that both runs have, into causes; returns what to say of it.
std::string divide(const OpTimes& first, const OpTimes& second, std::map<std::string, double>& causes) {
    // As often as in the second run.
    const double times = first.count > 0 ? second.count / first.count : 1;
    const double before = first.time_us * times;
    std::string more;
    if (first.count != second.count) {
        causes["more or fewer of an op"] += before - first.time_us;
        more = std::to_string(std::lround(first.count)) + " -> " + std::to_string(std::lround(second.count)) +
               " times";
    }
    const auto say = [&](const std::string& text) { more += (more.empty() ? "" : "; ") + text; };
    if (!was_simulated(first) || !was_simulated(second)) {
        const double change = second.time_us - before;
        if (first.fidelities != second.fidelities) {
            causes["coverage: simulated in one run, not in the other"] += change;
            say("other fidelity");
        } else {
            causes["estimates and recorded times"] += change;
        }
        return more;
    }
    const double cycles = first.cycles * times;
    const double clock1 = cycles / before, clock2 = second.cycles / second.time_us;  // per microsecond
    causes["clock"] += second.cycles * (1 / clock2 - 1 / clock1);
    const double work = (second.cycles - cycles) / clock1;
    if (name_set(first) != name_set(second)) {
        causes["other kernels chosen"] += work;
        say(names_of(first) + " -> " + names_of(second));
        return more;
    }
    // The same kernels: what their cycles went to. What no reason tells remains.
    double told = 0;
    std::set<std::string> reasons;
    for (const auto& [reason, time] : first.reasons) reasons.insert(reason);
    for (const auto& [reason, time] : second.reasons) reasons.insert(reason);
    const auto at = [](const std::map<std::string, double>& map, const std::string& key) {
        const auto found = map.find(key);
        return found == map.end() ? 0.0 : found->second;
    };
    for (const std::string& reason : reasons) {
        const double part = at(second.reasons, reason) * clock2 / clock1 - at(first.reasons, reason) * times;
        causes["same kernels: " + reason] += part;
        told += part;
    }
    if (std::abs(work - told) > 1e-9 * std::max(before, second.time_us))
        causes["same kernels: not told"] += work - told;
    if (std::abs(kept_in_l2(first) - kept_in_l2(second)) > 0.01)
        say("kept in L2: " + percent(kept_in_l2(first)) + " -> " + percent(kept_in_l2(second)));
    return more;
}

std::vector<Both> rows_of(const std::map<std::string, std::pair<double, double>>& sums) {
    std::vector<Both> rows;
    rows.reserve(sums.size());
    for (const auto& [name, both] : sums) rows.push_back({name, both.first, both.second});
    return rows;
}

/// The largest differences first.
void sort_rows(std::vector<Both>& rows) {
    std::stable_sort(rows.begin(), rows.end(), [](const Both& a, const Both& b) {
        return std::abs(a.difference()) > std::abs(b.difference());
    });
}

std::vector<std::pair<std::string, std::pair<std::string, std::string>>> differing(
    const std::map<std::string, std::string>& first, const std::map<std::string, std::string>& second) {
    std::map<std::string, std::pair<std::string, std::string>> both;
    for (const auto& [name, value] : first) both[name].first = value;
    for (const auto& [name, value] : second) both[name].second = value;
    std::vector<std::pair<std::string, std::pair<std::string, std::string>>> rows;
    for (const auto& [name, values] : both)
        if (values.first != values.second) rows.emplace_back(name, values);
    return rows;
}

}  // namespace

RunComparison compare_runs(StoredRun first, StoredRun second) {
    RunComparison result;
    std::map<std::string, std::pair<double, double>> division, kinds, reasons;
    for (const auto& [part, time] : first.division) division[part].first = time;
    for (const auto& [part, time] : second.division) division[part].second = time;
    result.division = rows_of(division);
    std::erase_if(result.division, [](const Both& row) { return row.first == 0 && row.second == 0; });
    const auto add = [&](const StoredRun& run, auto member) {
        for (const StoredRun::Kernel& kernel : run.kernels) {
            kinds[kernel.kind].*member += kernel.time_us;
            for (const auto& [reason, fraction] : kernel.reasons)
                reasons[reason].*member += fraction * kernel.time_us;
        }
    };
    using Pair = std::pair<double, double>;
    add(first, &Pair::first);
    add(second, &Pair::second);
    result.kinds = rows_of(kinds);
    result.reasons = rows_of(reasons);

    std::map<std::string, double> causes;
    const std::map<OpKey, OpTimes> ops1 = ops_of(first), ops2 = ops_of(second);
    for (const auto& [key, op] : ops1) {
        const auto other = ops2.find(key);
        const std::string name = std::get<0>(key) + " (" + std::get<2>(key) + ")";
        if (other == ops2.end()) {
            causes["ops that the second run has not"] -= op.time_us;
            result.ops.push_back({name, op.time_us, 0, "only in the first run"});
        } else {
            const std::string more = divide(op, other->second, causes);
            result.ops.push_back({name, op.time_us, other->second.time_us, more});
        }
    }
    for (const auto& [key, op] : ops2) {
        if (ops1.contains(key)) continue;
        causes["ops that the first run has not"] += op.time_us;
        result.ops.push_back(
            {std::get<0>(key) + " (" + std::get<2>(key) + ")", 0, op.time_us, "only in the second run"});
    }
    for (const auto& [cause, part] : causes)
        if (part != 0) result.causes.push_back({cause, 0, part});
    for (std::vector<Both>* rows :
         {&result.division, &result.kinds, &result.ops, &result.reasons, &result.causes})
        sort_rows(*rows);
    result.parameters = differing(first.parameters, second.parameters);
    result.options = differing(first.options, second.options);
    result.first = std::move(first);
    result.second = std::move(second);
    return result;
}

}  // namespace heddle::sim
